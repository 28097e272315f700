//! The answer of a run in sentences, for every form of the report: what to pick and what it can cost, what
//! is too close to call, what is out, the main doubt, what matters, where the time goes.

mod axis;
mod derived;
mod names;
mod size;

use crate::factor::list;
use crate::model_error::on_device;
use crate::number::{Scale, exact_percent, percent, unit_of};
use crate::text::capital;
use crate::view::{RunView, count};
use names::{Group, by_name, plural, values_of};
use seekwell_model::answer::{Answer, Doubt, TimeRow};
use seekwell_model::lab::Better;
use seekwell_model::verdict::{DurabilityClass, Evidence, Ratio, VerdictKind};
use seekwell_model::warning::{Phase, Warning, WarningCode};
use std::borrow::Cow;

pub(crate) use names::Axes;
pub(crate) use size::{Effect, FACTOR, Measure, Sides};

#[cfg(test)]
mod tests;

/// Largest loss of a pick that is recommended; above it the pick is a guess.
const GUESS: f64 = 0.5;
/// Numbers up to this one are written as words.
const WORDS: [&str; 13] = [
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

/// Warnings that could change the pick, the gravest first: the judged step may not have measured the device, or
/// not what the lab means to ask.
const DOUBTS: [WarningCode; 11] = [
    WarningCode::DataSetInMemory,
    WarningCode::JudgedByFixedTime,
    WarningCode::JudgedWithoutDurability,
    WarningCode::TooShort,
    WarningCode::DeviceBusy,
    WarningCode::BusyProcessors,
    WarningCode::SourceBound,
    WarningCode::InForceDiffers,
    WarningCode::DeviceSmallForFilesystem,
    WarningCode::DeviceNearlyFull,
    WarningCode::VirtualCpuFree,
];
/// Share of the judged step in which a device is busy; below it the time of the CPU would count too.
const BUSY: f64 = 0.5;

/// A stack that is so many times worse than the pick stays behind on a larger device.
const FAR_BEHIND: f64 = 3.0;

/// The answer mentions flash that lasts for less than this.
const SOON_YEARS: f64 = 1.0;

/// Emphasis of a part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// The stack to pick.
    Pick,
    /// Stacks or values that are out.
    Out,
}

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl Span {
    fn new(text: &str, role: Role) -> Self {
        Self { text: text.to_owned(), role }
    }

    fn plain(text: &str) -> Self {
        Self::new(text, Role::Plain)
    }
}

/// The text of spans.
pub(crate) fn joined(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

/// Place of a stack in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Pick,
    /// Its difference is too small to be noticed.
    AsGood,
    Close,
    Out,
    /// Trials set no bound on it.
    Undecided,
    /// It may lose data that the pick keeps.
    NotEligible,
    /// It has no usable value.
    Unmeasured,
}

/// The doubt that could change the pick, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoubtText {
    pub(crate) text: String,
    /// Empty if nothing can be done.
    pub(crate) remedy: String,
}

impl DoubtText {
    fn of(doubt: &Doubt) -> Self {
        let remedy = doubt.remedy.trim();
        let remedy = if remedy.is_empty() { String::new() } else { sentence(remedy) };
        Self { text: sentence(&doubt.text), remedy }
    }

    /// The stacks of which no trial has a value: nothing was compared with them.
    fn of_unmeasured(view: &RunView) -> Option<Self> {
        let answer = answer(view);
        let has_value = |label: &str| {
            view.verdict.ratios.iter().any(|row| row.stack == label && row.median.is_some())
        };
        let mut all = answer.unmeasured.iter().filter(|one| !has_value(&one.stack));
        let first = all.next().filter(|_| answer.pick.is_some())?;
        let (are, them) = match all.count() {
            0 => (" was".to_owned(), "it"),
            1 => (" and one other were".to_owned(), "them"),
            more => (format!(" and {} others were", word(more)), "them"),
        };
        let text = format!("{}{are} not compared, because no trial of {them} counts.", first.stack);
        Some(Self { text, remedy: "What happened to them is listed below.".to_owned() })
    }

    /// The first warning of [`DOUBTS`] that concerns the judged step or the whole run.
    fn of_warnings(view: &RunView) -> Option<Self> {
        let pick = answer(view).pick.as_deref().and_then(|label| view.stack(label)).cloned()?;
        let (step, _) = view.verdict.metric.split_once('.').unwrap_or_default();
        let rests = answer(view).time.as_ref().is_some_and(|time| {
            time.rows.iter().any(|row| row.busy.is_some_and(|share| share < BUSY))
        });
        let concerns = |warning: &&Warning, code: WarningCode| match code.definition().phase {
            _ if code == WarningCode::VirtualCpuFree => rests,
            // The workload's own threads may wait for each other's CPUs; that is what is measured.
            _ if code == WarningCode::BusyProcessors => {
                warning.text.starts_with("other programs")
                    || view.verdict.kind == VerdictKind::Unresolved
            }
            // It ends with the steps that the page cache may serve.
            _ if code == WarningCode::DataSetInMemory => {
                let steps = warning.text.rsplit(" in ").next().unwrap_or_default();
                steps.split(", ").any(|one| one == step)
            }
            Phase::Step => warning.text.starts_with(&format!("{step}: ")),
            // A larger device can only help a filesystem that is picked although this one hampers it, and brings no
            // filesystem up that is far behind.
            _ if code == WarningCode::DeviceSmallForFilesystem => {
                let is_small_for = |stack: &str| {
                    let kind = view.stack(stack).map_or("", |stack| &stack.filesystem.kind);
                    warning.text.contains(&format!(" for {kind},"))
                };
                let is_near =
                    |row: &Ratio| row.ratio.is_none_or(|ratio| ratio.max(1.0 / ratio) < FAR_BEHIND);
                let mut rows = view.verdict.ratios.iter();
                !is_small_for(&pick.label)
                    && rows.any(|row| is_small_for(&row.stack) && is_near(row))
            }
            _ => true,
        };
        let found = DOUBTS.into_iter().find_map(|code| {
            view.warnings.iter().find(|warning| warning.is(code) && concerns(warning, code))
        })?;
        // The trials that it was seen in are in the list of warnings.
        let is_count =
            |trials: &str| trials.contains(" times, in ") || trials.starts_with("the first of ");
        let text = found.text.rsplit_once(" (").filter(|(_, trials)| is_count(trials));
        let text = text.map_or(found.text.as_str(), |(text, _)| text);
        Some(Self { text: sentence(text), remedy: sentence(&found.remedy) })
    }

    /// The doubt that a difference on modelled devices is no larger than the known error of the models.
    fn on_model(view: &RunView) -> Option<Self> {
        let is_open = view.verdict.kind == VerdictKind::Unresolved;
        let found = on_device(view).filter(|found| !is_open && found.holds != Some(true))?;
        let remedy = "Run the best two on a real device.".to_owned();
        // A difference above the known error raises no doubt; one that no figure checks does.
        let is_large = found.advantage.is_some_and(|[low, _]| low > 1.0);
        let skipped = usize::from(is_large && found.sentences.len() > 1);
        Some(Self { text: found.sentences[skipped..].join(" "), remedy })
    }
}

/// The answer for one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AxisLine {
    pub(crate) axis: String,
    /// True if some value is worse than another.
    pub(crate) matters: bool,
    pub(crate) text: String,
}

/// The first sentences of a report, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerText {
    /// `Pick ext4 with scheduler none: at most 9 % slower than the best of the nine.`
    pub(crate) pick: Vec<Span>,
    /// Reason for a pick without a bound; `None` for others.
    pub(crate) cause: Option<String>,
    /// Stacks that are too close to call.
    pub(crate) close: Option<Vec<Span>>,
    /// Stacks that are out, with sizes.
    pub(crate) out: Option<Vec<Span>>,
    /// `95 % confidence, 14 rounds.`; empty without a round.
    pub(crate) basis: String,
    /// Power cuts that took nothing from the pick, stacks that lost more in them than their options promise, flash that
    /// is soon worn out, and faster stacks that may lose data.
    pub(crate) weaker: Option<String>,
    pub(crate) doubt: Option<DoubtText>,
    pub(crate) axes: Vec<AxisLine>,
}

impl AnswerText {
    /// The sentences of a run.
    pub(crate) fn of(view: &RunView) -> Self {
        let answer = answer(view);
        let said =
            Said { view, answer: &answer, axes: Axes::of(&view.plan), measure: Measure::of(view) };
        Self {
            pick: said.pick(),
            cause: said.cause(),
            close: said.close(),
            out: said.out(),
            basis: said.basis_and_check(),
            weaker: [said.cuts(), said.surprise(), said.wear(), said.weaker()]
                .into_iter()
                .flatten()
                .reduce(|a, b| a + " " + &b),
            doubt: answer
                .doubt
                .as_ref()
                .map(DoubtText::of)
                .or_else(|| DoubtText::of_unmeasured(view))
                .or_else(|| DoubtText::of_warnings(view))
                .or_else(|| DoubtText::on_model(view)),
            axes: said.axis_lines(),
        }
    }

    /// Sentences about the close and the out, and the basis; empty if nothing is said of them.
    pub(crate) fn others(&self) -> String {
        let spans = self.close.iter().chain(&self.out).map(|spans| joined(spans));
        let texts = spans.chain([self.basis.clone()]).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(" ")
    }
}

/// The answer of the verdict; of verdicts made before there was one what follows from them.
pub(crate) fn answer(view: &RunView) -> Cow<'_, Answer> {
    match &view.verdict.answer {
        Some(answer) => Cow::Borrowed(answer),
        None => Cow::Owned(derived::answer(view)),
    }
}

/// Returns true for a run that compares nothing and is shown by workload.
pub(crate) fn is_by_workload(view: &RunView) -> bool {
    let answer = answer(view);
    answer.pick.is_none() || (answer.among < 2 && view.plan.workloads.len() > 1)
}

/// Place of a stack in the answer.
pub(crate) fn standing(answer: &Answer, evidence: &Evidence, row: &Ratio) -> Standing {
    let label = &row.stack;
    if answer.pick.as_ref() == Some(label) {
        Standing::Pick
    } else if answer.close.contains(label) || answer.out.contains(label) {
        let effect = row.ratio.map(|ratio| Effect::one(Better::Lower, ratio, row.low, row.high));
        let is_as_good = effect.is_some_and(Effect::is_surely_nothing);
        match (is_as_good, answer.close.contains(label)) {
            (true, _) => Standing::AsGood,
            (false, true) if is_withheld(answer) => Standing::Undecided,
            (false, true) => Standing::Close,
            (false, false) => Standing::Out,
        }
    } else if row.median.is_none() || answer.unmeasured.iter().any(|one| one.stack == *label) {
        Standing::Unmeasured
    } else if keeps_less(answer, evidence, label) {
        Standing::NotEligible
    } else {
        Standing::Undecided
    }
}

/// Returns true for an answer without a bound because its replays are too unlike their programs: the order of the
/// stacks is that of the replays.
fn is_withheld(answer: &Answer) -> bool {
    answer.loss.is_none() && answer.cause.as_deref().is_some_and(|cause| cause.contains("replay"))
}

/// Returns true for a stack that may lose what the pick keeps.
fn keeps_less(answer: &Answer, evidence: &Evidence, label: &str) -> bool {
    let class = |label: &str| evidence.durability_of(label).map(|found| found.class);
    match (class(label), answer.pick.as_deref().and_then(class)) {
        (Some(class), Some(pick)) => class > pick.max(DurabilityClass::Synced),
        _ => answer.weaker.is_some(),
    }
}

/// A text as a sentence: a capital first, a full stop last.
pub(crate) fn sentence(text: &str) -> String {
    let text = capital(text.trim());
    if text.ends_with(['.', '?', '!', ':']) { text } else { format!("{text}.") }
}

/// A small number as a word.
pub(crate) fn word(number: usize) -> String {
    WORDS.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// All that the sentences are made from.
struct Said<'a> {
    view: &'a RunView,
    answer: &'a Answer,
    axes: Axes<'a>,
    measure: Measure,
}

impl Said<'_> {
    fn pick(&self) -> Vec<Span> {
        let Self { answer, axes, .. } = self;
        let so_far = self.so_far();
        let Some(pick) = &answer.pick else {
            let cause = answer.cause.as_deref().unwrap_or("no stack has a value");
            let cause = if so_far.is_empty() { capital(cause) } else { cause.to_owned() };
            return vec![Span::plain(&sentence(&format!("{so_far}{cause}")))];
        };
        let is_guess = self.is_guess();
        let mut said = vec![Span::plain(&match (so_far.as_str(), is_guess) {
            ("", false) => "Pick ".to_owned(),
            ("", true) => "If you must choose: ".to_owned(),
            (so_far, false) => format!("{so_far}pick "),
            (so_far, true) => format!("{so_far}if you must choose, "),
        })];
        said.extend(axes.stack(pick, Role::Pick));
        let joint = if so_far.is_empty() { ": " } else { ", " };
        said.push(Span::plain(&match answer.loss {
            _ if answer.among < 2 => format!("{joint}{}", self.alone()),
            Some(loss) if !is_guess => format!("{joint}{}.", self.cost(loss)),
            _ => ".".to_owned(),
        }));
        said
    }

    /// Returns true if no one would recommend the pick.
    fn is_guess(&self) -> bool {
        self.answer.among > 1 && self.answer.loss.is_none_or(|loss| loss > GUESS)
    }

    /// `So far, after 4 of 14 rounds: `, or within one; empty for a run that is over.
    fn so_far(&self) -> String {
        let Self { view, answer, .. } = self;
        if view.is_over {
            return String::new();
        }
        let trials = view.plan.trials.iter().map(|trial| trial.round + 1);
        let planned = trials.max().filter(|_| view.plan.race.is_none());
        let rounds = answer.rounds;
        match planned {
            Some(planned) if view.verdict.rounds < rounds && rounds <= planned => {
                format!("So far, in round {rounds} of {planned}: ")
            }
            Some(planned) if rounds < planned => {
                format!("So far, after {rounds} of {planned} rounds: ")
            }
            _ => format!("So far, after {}: ", count(rounds as usize, "round")),
        }
    }

    /// End of the sentence for a stack that was compared with no other.
    fn alone(&self) -> &'static str {
        if self.view.verdict.evidence.durability_differs() {
            "every other stack may lose data that it keeps."
        } else if self.view.plan.ranked() > 1 {
            "no other stack has a value."
        } else {
            "it is the only stack."
        }
    }

    /// `at most 9 % slower than the best of the nine`.
    fn cost(&self, loss: f64) -> String {
        let among = self.answer.among as usize;
        if loss < NO_LOSS {
            let is_open = !self.by_size(&self.answer.close).1.is_empty();
            return match among {
                _ if is_open => "no other is shown to be better".to_owned(),
                2 => "it is the better of the two".to_owned(),
                _ => format!("it is the best of the {}", word(among)),
            };
        }
        let than = match among {
            2 => "the other".to_owned(),
            _ => format!("the best of the {}", word(among)),
        };
        format!("at most {} {} than {than}", percent(loss), self.measure.slower())
    }

    /// The reason why a pick is a guess.
    fn cause(&self) -> Option<String> {
        let Self { view, answer, .. } = self;
        answer.pick.as_ref().filter(|_| self.is_guess())?;
        let Some(loss) = answer.loss else {
            let cause = answer.cause.as_deref();
            return Some(sentence(cause.unwrap_or("the trials set no bound on the loss")));
        };
        let up_to = self.measure.gain(Effect { from: 1.0 + loss, to: 1.0 + loss, ends: None });
        let rounds = count(answer.rounds as usize, "round");
        let cannot = match crate::noise::spread(view) {
            Some(spread) => format!("trials vary by {}, and {rounds} cannot tell", percent(spread)),
            None => format!("{rounds} cannot tell"),
        };
        Some(format!("Another may be far better, up to {up_to}: {cannot}."))
    }

    fn close(&self) -> Option<Vec<Span>> {
        let Self { answer, axes, .. } = self;
        let pick = answer.pick.as_ref()?;
        let (mut as_good, close) = self.by_size(&answer.close);
        as_good.extend(self.by_size(&answer.out).0);
        let said = |stacks: &[String], what: &str| {
            let Group { text, is_plural } = axes.close(pick, stacks);
            let are = if is_plural { "are" } else { "is" };
            format!("{} {are} {what}.", first_word(&text))
        };
        let what = if is_withheld(answer) { "not ruled out" } else { "too close to call" };
        let equal = (!as_good.is_empty()).then(|| said(&as_good, "as good"));
        let close = (!close.is_empty()).then(|| said(&close, what));
        let text: Vec<String> = equal.into_iter().chain(close).collect();
        (!text.is_empty()).then(|| vec![Span::plain(&text.join(" "))])
    }

    fn out(&self) -> Option<Vec<Span>> {
        let Self { answer, axes, .. } = self;
        let (as_good, out) = self.by_size(&answer.out);
        if out.is_empty() {
            return None;
        }
        let (out, mut said) = (&out, Vec::new());
        let (close_good, close) = self.by_size(&answer.close);
        let equal = as_good.len() + close_good.len();
        let is_all = close.is_empty() && out.len() + equal + 1 == answer.among as usize;
        if is_all && out.len() + equal > 1 {
            self.all_out(out, &mut said);
            return Some(said);
        }
        let (values, left) = axes.whole_values(out, &self.slower_and_weaker());
        for axis in axes.names() {
            let (of_axis, of_others): (Vec<_>, Vec<_>) =
                values.iter().partition(|(of, _)| of == axis);
            // A list of small and large differences would give the small ones the size of the large.
            let size = |(axis, value): &(&str, &'_ str)| self.of_value(axis, value, &of_others);
            let is_small = |value: &(&str, &str)| size(value).is_some_and(|size| size.to < FACTOR);
            let (small, large): (Vec<_>, Vec<_>) = of_axis.into_iter().partition(is_small);
            for values in [small, large].iter().filter(|values| !values.is_empty()) {
                let sizes: Vec<Effect> = values.iter().filter_map(size).collect();
                let effect = match sizes.as_slice() {
                    [only] => Some(*only),
                    all => Effect::spanning(all),
                };
                let names: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
                self.out_group(&values_of(axis, &names), effect, &mut said);
            }
        }
        if !left.is_empty() {
            let group = by_name(&left);
            self.out_group(&group, self.range(left.iter().map(String::as_str)), &mut said);
        }
        Some(said)
    }

    /// Stacks that differ from the pick by nothing, and the others: exact trials find differences of a millionth too.
    fn by_size(&self, stacks: &[String]) -> (Vec<String>, Vec<String>) {
        let is_as_good = |stack: &String| self.row(stack).is_some_and(Effect::is_surely_nothing);
        stacks.iter().cloned().partition(is_as_good)
    }

    /// Stacks that may lose data that the pick keeps and are slower as well.
    fn slower_and_weaker(&self) -> Vec<&str> {
        let better = self.view.verdict.better;
        let is_slower = |row: &&Ratio| {
            let effect =
                row.ratio.and_then(|ratio| Effect::one(better, ratio, row.low, row.high).ends);
            standing(self.answer, &self.view.verdict.evidence, row) == Standing::NotEligible
                && effect.is_some_and(|(low, _)| low > 1.0)
                && self.answer.weaker.as_ref().is_none_or(|weaker| weaker.stack != row.stack)
        };
        let rows = self.view.verdict.ratios.iter().filter(is_slower);
        rows.map(|row| row.stack.as_str()).collect()
    }

    /// Nothing is out for good while a run has too few rounds for a bound.
    fn out_word(&self) -> &'static str {
        let is_early = !self.view.is_over && self.answer.loss.is_none();
        if is_early { "behind so far" } else { "out" }
    }

    /// Every other stack is out: the sizes of the next and the last.
    fn all_out(&self, out: &[String], said: &mut Vec<Span>) {
        let sides = Sides { worse: "it", is_plural: false, better: "the pick", both: false };
        let (Some(first), Some(last)) = (out.first(), out.last()) else { return };
        let space = if said.is_empty() { "" } else { " " };
        let every = format!("{space}Every other stack is {}", self.out_word());
        said.extend([Span::new(&every, Role::Out), Span::plain(".")]);
        let ends = [("Next", first), ("Last", last)];
        for (which, stack) in ends.into_iter().take(out.len()) {
            let Some(effect) = self.row(stack) else { continue };
            let size = self.measure.clause(&sides, effect);
            said.push(Span::plain(&format!(" {which} is {stack}: {size}.")));
        }
    }

    /// The effect of a value: the average over its stacks with the interval, or the range of those that are out where
    /// one is outside of it, so that the average would hide what the value does with the pick's others. Stacks that are
    /// out by a value of another axis already say nothing of this one.
    fn of_value(&self, axis: &str, value: &str, of_others: &[(&str, &str)]) -> Option<Effect> {
        let by_others: Vec<&str> =
            of_others.iter().flat_map(|(axis, value)| self.axes.with(axis, value)).collect();
        let is_out = |label: &&str| self.answer.out.iter().any(|out| out == label);
        let all: Vec<&str> = self.axes.with(axis, value).into_iter().filter(is_out).collect();
        let own: Vec<&str> =
            all.iter().copied().filter(|label| !by_others.contains(label)).collect();
        let range = self.range(if own.is_empty() { all } else { own }.into_iter())?;
        let found = self.answer.axes.iter().filter(|answer| answer.axis.starts_with(axis));
        let average = found.flat_map(|answer| &answer.out).find(|out| out.value == value);
        let average = average.map(|only| self.effect(only.ratio, only.low, only.high));
        let holds = |one: &Effect| {
            one.ends.is_some_and(|(low, high)| low <= range.from && range.to <= high)
                && (range.from..=range.to).contains(&one.from)
        };
        Some(average.filter(holds).unwrap_or(range))
    }

    fn out_group(&self, group: &Group, effect: Option<Effect>, said: &mut Vec<Span>) {
        let too = said.iter().any(|span| span.role == Role::Out);
        if !said.is_empty() {
            said.push(Span::plain(" "));
        }
        let (are, it) = if group.is_plural { ("are", "they") } else { ("is", "it") };
        let text = first_word(&group.text);
        said.push(Span::new(&format!("{text} {are} {}", self.out_word()), Role::Out));
        let sides =
            Sides { worse: it, is_plural: group.is_plural, better: "the pick", both: false };
        let size = effect.map(|effect| self.measure.clause(&sides, effect));
        let size = size.map_or_else(String::new, |size| format!(": {size}"));
        said.push(Span::plain(&format!("{}{size}.", if too { " too" } else { "" })));
    }

    fn effect(&self, ratio: f64, low: Option<f64>, high: Option<f64>) -> Effect {
        Effect::one(self.view.verdict.better, ratio, low, high)
    }

    /// The effect of a stack against the leader.
    fn row(&self, stack: &str) -> Option<Effect> {
        let row = self.view.verdict.ratios.iter().find(|row| row.stack == stack)?;
        Some(self.effect(row.ratio?, row.low, row.high))
    }

    /// The range of the effects of some stacks; of a single one with its interval.
    fn range<'s>(&self, stacks: impl Iterator<Item = &'s str>) -> Option<Effect> {
        let all: Vec<&str> = stacks.collect();
        if let [only] = all.as_slice() {
            return self.row(only);
        }
        let rows = self.view.verdict.ratios.iter();
        let rows = rows.filter(|row| all.contains(&row.stack.as_str()));
        Effect::range(self.view.verdict.better, rows.filter_map(|row| row.ratio))
    }

    /// The basis, and how near replays come to their programs.
    fn basis_and_check(&self) -> String {
        let all = [self.basis(), crate::replay_check::sentences(self.view)];
        all.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn basis(&self) -> String {
        let Self { view, answer, .. } = self;
        let verdict = &view.verdict;
        let rounds = count(answer.rounds as usize, "round");
        if answer.rounds == 0 {
            return String::new();
        }
        if answer.loss.is_none() || answer.among < 2 {
            return format!("{}.", capital(&rounds));
        }
        let tie = exact_percent(verdict.tie);
        let within = match answer.loss {
            Some(loss) if answer.certified && loss >= NO_LOSS => {
                format!("; the bound is within the lab's tie of {tie}")
            }
            _ => String::new(),
        };
        let is_point = |row: &Ratio| row.low.is_some() && row.low == row.high;
        let is_exact = verdict.ratios.len() > 1 && verdict.ratios.iter().all(is_point);
        if is_exact {
            return format!("Exact: the trials of a stack do not vary; {rounds}{within}.");
        }
        format!("{} confidence, {rounds}{within}.", exact_percent(verdict.confidence))
    }

    /// The power cuts that took nothing synced from the pick.
    fn cuts(&self) -> Option<String> {
        let found = self.view.verdict.evidence.durability_of(self.answer.pick.as_deref()?)?;
        let counts = found.cuts.filter(|counts| counts.cuts > 0 && counts.lossy() == 0)?;
        Some(format!("None of {} power cuts took synced data from the pick.", counts.cuts))
    }

    /// The stack that lost the most in power cuts although its options promise to keep what was synced.
    fn surprise(&self) -> Option<String> {
        let all = self.view.verdict.evidence.durability.iter();
        let found = all.filter_map(|one| Some((one, one.surprise()?)));
        let (worst, counts) = found.max_by_key(|(_, counts)| counts.lossy())?;
        let stack = joined(&self.axes.stack(&worst.stack, Role::Plain));
        let (lost, cuts) = (counts.lossy(), counts.cuts);
        let took = "took synced data or the filesystem";
        Some(format!(
            "{stack} keeps synced data by its options, but {lost} of {cuts} power cuts {took}."
        ))
    }

    /// Time to the rated erases of the pick's flash, below [`SOON_YEARS`].
    fn wear(&self) -> Option<String> {
        let [_, years] = self.view.wear().map(|column| column.metric);
        let pick = self.answer.pick.as_deref()?;
        let soon = self.view.by_stack().median(pick, &years).filter(|years| *years < SOON_YEARS)?;
        let time = Scale::fit(unit_of(&years), [soon]).with_unit(soon);
        Some(format!(
            "Run without a pause, this load reaches the rated erases of the pick's flash in {time}."
        ))
    }

    fn weaker(&self) -> Option<String> {
        let weaker = self.answer.weaker.as_ref()?;
        let effect = weaker.ratio.map(|ratio| self.effect(ratio, weaker.low, weaker.high).turned());
        let gain = match effect {
            None => String::new(),
            Some(effect) if effect.is_nothing() => " would be no faster, and".to_owned(),
            // Nothing is said of the size of a gain that may be a loss.
            Some(Effect { ends: Some((low, _)), .. }) if low < 1.0 => {
                format!(" may be {}, but", self.measure.faster())
            }
            Some(effect) => format!(" would be {}, but", self.measure.gain(effect)),
        };
        let stack = joined(&self.axes.stack(&weaker.stack, Role::Plain));
        let loses = weaker.loses.trim_end_matches('.');
        let others = match weaker.stacks {
            0 | 1 => "it is not eligible".to_owned(),
            2 => "it and one other that may lose data are not eligible".to_owned(),
            more => format!(
                "it and {} others that may lose data are not eligible",
                word(more as usize - 1)
            ),
        };
        Some(format!("{stack}{gain} {loses}: {others}."))
    }
}

/// The start of a sentence; names of values stay as they are.
fn first_word(text: &str) -> String {
    let ours =
        ["the", "layer", "layers", "journal", "journals", "scheduler", "schedulers", "memory"];
    let first = text.split(' ').next().unwrap_or_default();
    if first.len() < text.len() && ours.contains(&first) { capital(text) } else { text.to_owned() }
}

/// Losses below this are none.
const NO_LOSS: f64 = 5e-4;

/// The share of the judged step in which the device was busy: `22 to 30 %`.
pub(crate) fn busy_share(rows: &[TimeRow]) -> Option<String> {
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.busy).collect();
    let low = shares.iter().copied().reduce(f64::min)?;
    let high = shares.iter().copied().reduce(f64::max)?;
    Some(match (percent(low), percent(high)) {
        (low, high) if low == high => high,
        (low, high) => format!("{} to {high}", low.trim_end_matches(" %")),
    })
}

/// The same as a sentence.
pub(crate) fn busy(rows: &[TimeRow]) -> Option<String> {
    Some(format!("The device is busy {} of the time.", busy_share(rows)?))
}

/// Heading of the rows of time.
pub(crate) fn time_heading(axis: &str, others: &[&str]) -> String {
    let rest: Vec<String> =
        others.iter().filter(|name| !axis.starts_with(**name)).map(|name| plural(name)).collect();
    if axis.is_empty() || rest.is_empty() {
        String::new()
    } else {
        format!("medians over the {}", list(&rest))
    }
}
