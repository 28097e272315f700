//! The cause of a difference in a sentence and as a waterfall, where laws were switched off to find it.

mod what_if;

use crate::answer_text::{Effect, Measure, Sides};
use crate::factor::list;
use crate::next_step::shell_word;
use crate::number::{Scale, percent, three_digits, unit_of};
use crate::text::{Palette, Table, harmless, paragraph, width as columns};
use crate::traffic_text;
use crate::view::RunView;
use seekwell_model::laws::Law;
use seekwell_model::metrics::Unit;
use seekwell_model::why::{Cause, DEVICE, OnHost, Twin, Why};
use std::path::Path;

#[cfg(test)]
mod tests;

/// Causes below this part of the difference are not in the sentence.
const SAID: f64 = 0.05;
/// Causes of the sentence at most.
const CAUSES: usize = 3;
/// Small laws of one part that are named.
const NAMED: usize = 3;
/// Interactions in words at most, the strongest.
const INTERACTIONS: usize = 2;
/// Longest bar.
const LONGEST: usize = 32;
/// Name of what is left with every law off.
const REST: &str = "timers and waits of the kernel";
/// Name of what is left on a real machine.
const REST_ON_HOST: &str = "CPU, memory and kernel";
/// Name of what memory in place of a real device removes.
const REST_OF_DEVICE: &str = "the device, flushes apart";

/// One line of the waterfall: it starts at the end of the line before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The amount with its sign and unit; that of a stack without a sign.
    pub(crate) amount: String,
    /// Start and end of the bar, 0 to 1 of the longest.
    pub(crate) bar: [f64; 2],
}

/// The explanation of a run in words.
#[derive(Clone, Debug)]
pub(crate) struct WhyText {
    /// `btrfs takes 1.7 times as long as ext4: 61 % of the difference is waiting for flushes …`
    pub(crate) sentence: String,
    /// Better stack, causes, worse stack.
    pub(crate) rows: Vec<Row>,
    /// Origins of the requests behind the largest causes, where the kernel recorded them.
    pub(crate) mechanism: Option<String>,
    /// Interactions and the method.
    pub(crate) notes: Vec<String>,
    /// Single improvements of the better stack; empty unless they were asked for.
    pub(crate) what_if: Option<Table>,
}

impl WhyText {
    /// `None` for a run whose difference was not explained.
    pub(crate) fn of(view: &RunView) -> Option<Self> {
        let why = view.why.as_ref().filter(|why| why.difference() != 0.0)?;
        let mechanism = traffic_text::mechanism(why, &large(why));
        Some(Self {
            sentence: said(view, why),
            rows: rows(why),
            mechanism,
            notes: notes(view, why),
            what_if: what_if::table(why),
        })
    }

    /// The sentence for a comparison whose cause was not tested, with the command that tests it; `None` where nothing
    /// can be tested.
    pub(crate) fn untested(view: &RunView, path: &Path) -> Option<String> {
        let compared = view.verdict.ratios.iter().filter(|row| row.ratio.is_some()).count();
        let is_open = view.why.is_none() && view.is_over && compared > 1;
        let path = shell_word(&path.display().to_string());
        is_open.then(|| format!("no cause was tested: seekwell why {path}"))
    }

    /// The waterfall as lines of this width.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let widest = |of: fn(&Row) -> &String| {
            self.rows.iter().map(|row| columns(of(row))).max().unwrap_or(0)
        };
        let (names, amounts) = (widest(|row| &row.name), widest(|row| &row.amount));
        let room = width.saturating_sub(names + amounts + 3).clamp(8, LONGEST);
        let line = |row: &Row| {
            let column = |share: f64| (share * room as f64).round() as usize;
            let [from, to] = row.bar.map(column);
            let (from, to) = (from.min(to), from.max(to));
            let bar =
                " ".repeat(from) + &"\u{2588}".repeat((to - from).max(usize::from(to > from)));
            let name = &row.name;
            let gap = " ".repeat(names - columns(name) + amounts - columns(&row.amount));
            format!("{name}{gap} {}  {bar}", row.amount).trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// The cause of a run's difference with its waterfall and notes; empty for a run without one.
#[must_use]
pub fn why_text(view: &RunView, width: usize) -> String {
    let Some(text) = WhyText::of(view) else { return String::new() };
    let mut out = paragraph("", &text.sentence, width);
    out.push('\n');
    text.lines(width).iter().for_each(|line| out.push_str(&format!("  {}\n", harmless(line))));
    out.push('\n');
    if let Some(mechanism) = &text.mechanism {
        out.push_str(&paragraph("", mechanism, width));
        out.push('\n');
    }
    if let Some(why) = &view.why
        && let Some(table) = traffic_text::table(why)
    {
        out.push_str(&table.render(width, usize::MAX, Palette { colour: false }).0);
        out.push('\n');
        for line in traffic_text::picture(why, width) {
            out.push_str(format!("  {}", harmless(&line)).trim_end());
            out.push('\n');
        }
    }
    if let Some(table) = text.what_if {
        out.push_str(&table.render(width, 3, Palette { colour: false }).0);
        out.push('\n');
    }
    text.notes.iter().for_each(|note| out.push_str(&paragraph("", note, width)));
    out
}

/// A cause in words: `waiting for flushes`; small ones together by name, or by their number.
fn cause(cause: &Cause) -> String {
    match cause.laws.as_slice() {
        [only] => {
            let known = Law::from_name(only).map(|law| law.definition().cause);
            let known = known.or((only == DEVICE).then_some(REST_OF_DEVICE));
            // A law of a later version has its name alone.
            known.unwrap_or(only).to_owned()
        }
        few if few.len() <= NAMED => format!("{} together", list(few)),
        many => format!("{} other laws", many.len()),
    }
}

/// Name of what is left.
fn rest(why: &Why) -> &'static str {
    if why.on_host.is_some() { REST_ON_HOST } else { REST }
}

/// Counters of a cause, if they explain it: `412 flushes against 96`. Fewer flushes of the worse stack do not explain why
/// flushes cost it more.
fn counters(of: &Cause) -> Option<String> {
    let counted = of.counted.as_ref().filter(|counted| {
        let more = (counted.at_worse + 1.0) / (counted.at_better + 1.0);
        if of.amount < 0.0 { more < 0.8 } else { more >= 1.25 }
    })?;
    let number = |value: f64| match value.fract() {
        0.0 => format!("{value:.0}"),
        _ => three_digits(value),
    };
    let [worse, better] = [counted.at_worse, counted.at_better].map(number);
    Some(format!("{worse} {} against {better}", counted.what))
}

/// Causes with their shares; counters that several of them have in common come once.
fn shares(why: &Why, causes: &[&Cause]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let one = |one: &&Cause| {
        let new = counters(one).filter(|numbers| !known.contains(numbers));
        known.extend(new.clone());
        let numbers = new.map_or_else(String::new, |numbers| format!(" ({numbers})"));
        format!("{} {}{numbers}", percent(why.share(one.amount)), cause(one))
    };
    causes.iter().map(one).collect()
}

/// Causes that are more than the noise of their rounds by their share, the largest first.
fn sorted(why: &Why) -> Vec<&Cause> {
    let known = why.causes.iter().enumerate().filter(|(at, one)| is_known(why, *at, one.amount));
    let mut causes: Vec<&Cause> = known.map(|(_, one)| one).collect();
    causes.sort_by(|one, two| why.share(two.amount).total_cmp(&why.share(one.amount)));
    causes
}

/// Causes of the sentence.
fn large(why: &Why) -> Vec<&Cause> {
    let is_large = |cause: &&Cause| why.share(cause.amount) >= SAID;
    sorted(why).into_iter().filter(is_large).take(CAUSES).collect()
}

/// Returns true if the amount of a cause, or of the rest after the last, is more than the noise of its rounds.
fn is_known(why: &Why, at: usize, amount: f64) -> bool {
    let error = why.on_host.as_ref().and_then(|host| host.errors.get(at + 1));
    error.is_none_or(|error| amount.abs() > *error)
}

fn said(view: &RunView, why: &Why) -> String {
    let noise = why.on_host.as_ref().and_then(|host| host.errors.first());
    if noise.is_some_and(|noise| why.difference() <= *noise) {
        return format!(
            "{} and {} differ by less than the noise of their rounds, so no cause can be named; ask for more --rounds.",
            why.worse, why.better
        );
    }
    let ratio = why.at_worse / why.at_better;
    let sides = Sides { worse: &why.worse, is_plural: false, better: &why.better, both: true };
    let effect = Effect { from: ratio, to: ratio, ends: None };
    let clause = Measure::of(view).clause(&sides, effect);
    let share = |cause: &&Cause| why.share(cause.amount);
    let causes = sorted(why);
    let mut parts = shares(why, &large(why));
    if why.share(why.rest) >= SAID && is_known(why, why.causes.len(), why.rest) {
        parts.push(format!("{} {}", percent(why.share(why.rest)), rest(why)));
    }
    if let Some(first) = parts.first_mut() {
        *first = first.replacen(" %", " % of the difference is", 1);
    }
    let against: Vec<String> = causes
        .iter()
        .rev()
        .filter(|cause| share(cause) <= -SAID)
        .take(CAUSES)
        .map(|one| format!("{} ({})", cause(one), percent(share(one))))
        .collect();
    let against = match against.as_slice() {
        [] => String::new(),
        some => format!("; in its favour: {}", list(some)),
    };
    match parts.is_empty() {
        true => {
            format!("{clause}: no single law accounts for {} of the difference.", percent(SAID))
        }
        false => format!("{clause}: {}{against}.", list(&parts)),
    }
}

/// Unit of the costs: of a rate the time for each of what it counts.
fn unit(why: &Why) -> Option<Unit> {
    match unit_of(&why.metric) {
        Some(Unit::PerSecond | Unit::MegabytesPerSecond) => Some(Unit::Seconds),
        other => other,
    }
}

/// The lines from the better stack to the worse: what is printed adds up.
fn rows(why: &Why) -> Vec<Row> {
    let scale = Scale::fit(unit(why), [why.at_better, why.at_worse]);
    let per = match unit_of(&why.metric) {
        Some(Unit::PerSecond) => " each",
        Some(Unit::MegabytesPerSecond) => " per MB",
        _ => "",
    };
    let rest = (rest(why).to_owned(), why.rest);
    let parts = why.causes.iter().map(|one| (cause(one), one.amount)).chain([rest]);
    let mut reached = why.at_better;
    let mut steps: Vec<(String, f64, f64)> = Vec::new();
    for (name, amount) in parts {
        steps.push((name, reached, reached + amount));
        reached += amount;
    }
    let ends = steps.iter().flat_map(|(_, from, to)| [*from, *to]);
    let longest = ends.chain([why.at_better, why.at_worse]).fold(f64::MIN_POSITIVE, f64::max);
    let with_unit = |value: f64| format!("{}{per}", scale.with_unit(value));
    let stack = |name: &str, value: f64| Row {
        name: name.to_owned(),
        amount: with_unit(value),
        bar: [0.0, value / longest],
    };
    // Ends are rounded and not amounts, so that the rounded amounts add up too.
    let rounded = |value: f64| scale.rounded(value);
    let step = |(name, from, to): &(String, f64, f64)| {
        let amount = rounded(*to) - rounded(*from);
        let sign = if amount < 0.0 { "\u{2212}" } else { "+" };
        Row {
            name: name.clone(),
            amount: format!("{sign}{}", with_unit(amount.abs())),
            bar: [from / longest, to / longest].map(|end| end.max(0.0)),
        }
    };
    let steps = steps.iter().map(step);
    let first = [stack(&why.better, why.at_better)];
    first.into_iter().chain(steps).chain([stack(&why.worse, why.at_worse)]).collect()
}

/// The laws without which the better stack would gain most: `Without waiting for flushes xfs would cost 45 % less, …`.
fn improvements(view: &RunView, why: &Why) -> Option<String> {
    if !why.what_if.is_empty() {
        return Some(what_if::sentence(view, why));
    }
    let gain = |at: f64| 1.0 - at / why.at_better;
    let name = |law: &String| cause(&Cause { laws: vec![law.clone()], ..Cause::default() });
    let all = why.improvements.iter().map(|one| (gain(one.at_better), name(&one.law)));
    let mut all: Vec<(f64, String)> = all.filter(|(gain, _)| *gain >= SAID).collect();
    all.sort_by(|one, two| two.0.total_cmp(&one.0));
    let all = all.iter().take(CAUSES).map(|(gain, name)| format!("{name} ({})", percent(*gain)));
    let said: Vec<String> = all.collect();
    (!said.is_empty())
        .then(|| format!("{} alone would gain most without {}.", why.better, list(&said)))
}

fn notes(view: &RunView, why: &Why) -> Vec<String> {
    let mut notes: Vec<String> = why
        .interactions
        .iter()
        .take(INTERACTIONS)
        .map(|found| {
            let [one, two] = found.laws.clone().map(|law| {
                cause(&Cause { laws: vec![law], ..Cause::default() })
            });
            let share = percent(why.share(found.amount).abs());
            match why.share(found.amount) > 0.0 {
                true => format!("Only together {one} and {two} cost {share} of the difference."),
                false => format!(
                    "{} and {two} hide each other: {share} of the difference goes only without both.",
                    crate::text::capital(&one)
                ),
            }
        })
        .collect();
    notes.extend(improvements(view, why));
    if let Some(host) = &why.on_host {
        notes.extend(on_host(why, host));
        notes.extend(host.twin.iter().flat_map(|twin| of_twin(view, why, twin)));
        return notes;
    }
    notes.extend(beyond_pairs(why));
    notes.extend(traffic_text::known(why));
    notes.push(format!(
        "Found by experiment: the trials of round {} were repeated {} times with laws of their machines switched off. \
         Shares are Shapley values and add up.",
        why.round, why.trials
    ));
    if !why.repeats {
        notes.push(
            "This version measures slightly different values than the run file has; the shares are those of this version."
                .to_owned(),
        );
    }
    notes
}

/// The part of the difference that no law and no pair of laws explains.
fn beyond_pairs(why: &Why) -> Option<String> {
    let beyond = 1.0 - why.share(why.within_pairs?);
    (beyond.abs() >= SAID).then(|| match beyond > 0.0 {
        true => format!("{} of the difference takes three or more laws at once.", percent(beyond)),
        false => format!(
            "Three or more laws hide each other: single laws and pairs would make {} of the difference.",
            percent(1.0 - beyond)
        ),
    })
}

/// Precision and limits of experiments on a real machine.
fn on_host(why: &Why, host: &OnHost) -> [String; 2] {
    let scale = Scale::fit(unit(why), [why.at_better, why.at_worse]);
    let mut errors = host.errors.iter().map(|error| scale.with_unit(*error));
    let whole = errors.next().unwrap_or_default();
    let names = why.causes.iter().map(cause).chain([rest(why).to_owned()]);
    let parts: Vec<String> =
        names.zip(errors).map(|(name, error)| format!("{name} \u{b1}{error}")).collect();
    let advice = match host.twin {
        None => " A model of the device has them all: ask again with --twin.",
        Some(_) => "",
    };
    [
        format!(
            "Found by experiment on this machine: means of {} rounds in random order, {} trials. The difference is known \
             to \u{b1}{whole} (95 %), {}.",
            host.rounds,
            why.trials,
            list(&parts)
        ),
        format!("Not tested: {}.{advice}", host.not_tested.join("; ")),
    ]
}

/// The causes on the twin, if it ranks the stacks as the run does; if not, that alone.
fn of_twin(view: &RunView, why: &Why, twin: &Twin) -> Vec<String> {
    let name = match twin.nearest_to.as_str() {
        "" => format!("the modelled {}", twin.model),
        disk => format!("the modelled {} (the nearest: {disk})", twin.model),
    };
    if let Some(reason) = &twin.impossible {
        let reason = reason.trim_end_matches('.');
        return vec![match twin.model.as_str() {
            "" => format!("No twin: {reason}."),
            _ => format!("No twin on {name}: {reason}."),
        }];
    }
    let pairs = twin.pairs;
    if let Some([better, worse]) = twin.disagree.first() {
        let count = twin.disagree.len();
        return vec![format!(
            "The twin on {name} does not rank the stacks as this run does: of {pairs} pairs that the run separates {count} \
             differ, such as {better} before {worse}. Its causes are not shown."
        )];
    }
    let Some(found) = &twin.why else {
        let (better, worse) = (&why.better, &why.worse);
        return vec![format!(
            "The twin on {name} explains nothing: the trials of this run do not separate {better} and {worse}. Add \
             rounds to the run first."
        )];
    };
    let mechanism = traffic_text::mechanism(found, &large(found));
    let cause = format!("On the twin, {}", said(view, found));
    [
        format!("The twin on {name} ranks every pair of stacks that the run separates ({pairs}) as the run does."),
        mechanism.map_or(cause.clone(), |mechanism| format!("{cause} {mechanism}")),
    ]
    .into()
}
