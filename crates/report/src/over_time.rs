//! Runs of one lab over time: pick and bound of each run, and each stack against the first run.

mod page;

use crate::answer_text::{Axes, Effect, Measure, Role, answer, joined, sentence, word};
use crate::compare_text::{cells, difference, ink, scale};
use crate::factor::{benefit, factor, list};
use crate::markdown::{escape, table};
use crate::number::{exact_percent, percent};
use crate::stack_table::direction;
use crate::text::{Ink, Palette, Table, bullets, paragraph};
use crate::view::{RunView, count};
use seekwell_model::comparison::{Change, RunComparison, StackComparison};

/// Rows of a table that does not show everything.
const ROWS: usize = 12;
/// Stacks named in the sentence about the others.
const NAMED: usize = 3;
/// Picks that are listed before they are counted.
const PICKS: usize = 4;
/// Factor of the tallest bar; larger ones are as tall.
const TALLEST: f64 = 1.25;
/// Loss from which on a bound is a factor.
const FACTOR: f64 = 0.5;
/// Drawn anew for every run, and no part of a stack.
const SEED: &str = "seed";
/// Bars of a trend, from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One of several runs of a lab, as far as the report over time shows it.
pub struct PastRun {
    name: String,
    lab: String,
    question: String,
    /// `2026-11-28 17:29`.
    when: String,
    /// Label and name of the pick.
    pick: Option<(String, String)>,
    bound: String,
    close: Vec<String>,
    rounds: u32,
    measure: Measure,
    heading: String,
}

impl PastRun {
    /// A run of this name, made at this time (RFC 3339).
    #[must_use]
    pub fn of(name: &str, created_at: &str, view: &RunView) -> Self {
        let (answer, measure) = (answer(view), Measure::of(view));
        let axes = Axes::of(&view.plan);
        let pick = answer.pick.as_ref();
        let bound = match answer.loss {
            _ if pick.is_none() || answer.among < 2 => "-".to_owned(),
            Some(loss) if loss <= 0.0 => "none is better".to_owned(),
            Some(loss) if loss < FACTOR => format!("{} {}", percent(loss), measure.slower()),
            Some(loss) => format!("a factor of {}", factor(1.0 + loss)),
            None => "no bound".to_owned(),
        };
        Self {
            name: name.to_owned(),
            lab: view.plan.lab.name.clone(),
            question: view.plan.lab.question.clone(),
            when: created_at.get(..16).unwrap_or(created_at).replace('T', " "),
            pick: pick.map(|label| (label.clone(), joined(&axes.stack(label, Role::Plain)))),
            bound,
            close: answer.close.clone(),
            rounds: answer.rounds,
            heading: measure.heading(&view.verdict),
            measure,
        }
    }

    fn label(&self) -> Option<&str> {
        self.pick.as_ref().map(|(label, _)| label.as_str())
    }

    fn said_pick(&self) -> &str {
        self.pick.as_ref().map_or("no pick", |(_, said)| said)
    }

    /// The cells of its row: number, time, pick, bound, rounds, name.
    fn cells(&self, number: usize) -> Vec<String> {
        let pick = self.label().unwrap_or("-").to_owned();
        let rounds = self.rounds.to_string();
        let (when, bound, name) = (self.when.clone(), self.bound.clone(), self.name.clone());
        vec![number.to_string(), when, pick, bound, rounds, name]
    }
}

/// Titles of the columns of the runs, and those that are numbers.
const RUN_COLUMNS: [(&str, bool); 6] = [
    ("run", true),
    ("made", false),
    ("pick", false),
    ("at most", false),
    ("rounds", true),
    ("file", false),
];

/// Runs of one lab, oldest first, each later one compared with the first.
pub struct OverTime<'a> {
    runs: &'a [PastRun],
    changes: &'a [RunComparison],
    last: &'a RunComparison,
}

/// A stack: its last run against the first, and the ratio of every run to the first, with its interval.
struct Row<'a> {
    last: &'a StackComparison,
    ratios: Vec<Option<[f64; 3]>>,
}

impl<'a> OverTime<'a> {
    /// The report of these runs; `changes` has one comparison with the first run for each other run. `None` with
    /// fewer than two runs.
    #[must_use]
    pub fn of(runs: &'a [PastRun], changes: &'a [RunComparison]) -> Option<Self> {
        let last = changes.last().filter(|_| runs.len() == changes.len() + 1)?;
        Some(Self { runs, changes, last })
    }

    /// For a terminal of `width` columns (at least 60 are used); at most 12 stacks unless `all`.
    #[must_use]
    pub fn text(&self, width: usize, colour: bool, all: bool) -> String {
        let (width, palette) = (width.max(60), Palette { colour });
        let mut out = palette.paint(Ink::Heading, paragraph("", &self.head(), width).trim_end());
        out.push_str("\n\n");
        let ink = if self.is_worse() { Ink::Doubt } else { Ink::Good };
        let said = paragraph("  ", &self.sentence(), width);
        said.lines().for_each(|line| out.push_str(&(palette.paint(ink, line) + "\n")));
        for more in self.others().into_iter().chain([self.basis()]) {
            out.push_str(&paragraph("  ", &more, width));
        }
        if let Some(doubt) = self.doubt() {
            out.push_str(&format!("\n{}", paragraph("  Main doubt: ", &doubt, width)));
        }
        out.push_str(&format!("\n{}\n", self.run_table().render(width, 4, palette).0));
        let rows = self.rows();
        let shown = if all { rows.len() } else { rows.len().min(ROWS) };
        out.push_str(&paragraph("", &self.heading(), width));
        out.push_str(&self.table(&rows[..shown]).render(width, 5, palette).0);
        if shown < rows.len() {
            let more = count(rows.len() - shown, "more stack");
            out.push_str(&paragraph("", &format!("{more}: --all shows them"), width));
        }
        let title = (Ink::Doubt, "Not the same as in the first run");
        out + &bullets(title, "  ! ", &self.differences(), width, palette)
    }

    /// The same as Markdown. No text of a run becomes markup.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out =
            format!("### {}\n\n**{}**\n\n", escape(&self.head()), escape(&self.sentence()));
        let doubt = self.doubt().map(|doubt| format!("Main doubt: {doubt}"));
        for more in self.others().into_iter().chain([self.basis()]).chain(doubt) {
            out.push_str(&format!("{}\n\n", escape(&more)));
        }
        table(&self.run_table(), &mut out);
        out.push_str(&format!("\n{}\n\n", escape(&self.heading())));
        table(&self.table(&self.rows()), &mut out);
        for (number, text) in self.differences().iter().enumerate() {
            let gap = if number == 0 { "\n" } else { "" };
            out.push_str(&format!("{gap}- {}\n", escape(text)));
        }
        out
    }

    fn latest(&self) -> &PastRun {
        &self.runs[self.runs.len() - 1]
    }

    fn head(&self) -> String {
        let PastRun { lab, question, .. } = self.latest();
        let runs = count(self.runs.len(), "run");
        if question.is_empty() {
            format!("{lab}: {runs}")
        } else {
            format!("{lab}, {runs}: {question}")
        }
    }

    /// `Pick ext4 with scheduler none in all three runs; it is 4 % slower since run 2 (2 to 6 %).`
    fn sentence(&self) -> String {
        sentence(&format!("{}{}", self.picks(), self.change()))
    }

    fn picks(&self) -> String {
        let mut groups: Vec<(&PastRun, usize, usize)> = Vec::new();
        for (number, run) in (1..).zip(self.runs) {
            match groups.last_mut() {
                Some((first, _, to)) if first.label() == run.label() => *to = number,
                _ => groups.push((run, number, number)),
            }
        }
        let number = self.runs.len();
        let all = if number == 2 { "both".to_owned() } else { format!("all {}", word(number)) };
        match groups.as_slice() {
            [(run, ..)] if run.pick.is_some() => format!("Pick {} in {all} runs", run.said_pick()),
            [_] => format!("No pick in {all} runs"),
            groups if groups.len() > PICKS => {
                let changes = groups.len() - 1;
                format!(
                    "The pick changed {changes} times; in the last run it is {}",
                    self.latest().said_pick()
                )
            }
            groups => {
                let said = |(run, from, to): &(&PastRun, usize, usize)| {
                    let runs = match (*from, *to) {
                        (from, to) if to == number && from < to => format!("since run {from}"),
                        (from, to) if from == to => format!("in run {from}"),
                        (from, to) => format!("in runs {from} to {to}"),
                    };
                    format!("{} {runs}", run.label().unwrap_or("no pick"))
                };
                let said: Vec<String> = groups.iter().map(said).collect();
                let before = groups[groups.len() - 2].0.label().unwrap_or_default();
                let is_close = self.latest().close.iter().any(|label| label == before);
                let close = if is_close {
                    format!(" ({before} is too close to call)")
                } else {
                    String::new()
                };
                format!("The pick changed: {}{close}", said.join(", "))
            }
        }
    }

    /// The change of the last pick since the first run, as the end of a sentence.
    fn change(&self) -> String {
        let of_pick = |change: &RunComparison| -> Option<StackComparison> {
            let label = self.latest().label()?;
            change.stacks.iter().find(|stack| stack.stack == label).cloned()
        };
        let Some(last) = of_pick(self.last) else { return String::new() };
        match last.change {
            Change::Better | Change::Worse => {
                let same = |change: &&RunComparison| {
                    of_pick(change).is_some_and(|stack| stack.change == last.change)
                };
                let since =
                    self.runs.len() + 1 - self.changes.iter().rev().take_while(same).count();
                format!("; it {}", self.size(&last, since).unwrap_or_default())
            }
            Change::Same => format!("; within {} of the first run", exact_percent(self.last.tie)),
            Change::NotResolved => match self.largest(&last) {
                Some(largest) => format!("; no change above {} is shown", percent(largest)),
                None => "; a change cannot be told".to_owned(),
            },
            Change::TooFew => "; too few trials to see a change".to_owned(),
        }
    }

    /// `is 4 % slower since run 2 (2 to 6 %)`.
    fn size(&self, stack: &StackComparison, since: usize) -> Option<String> {
        let effect = Effect::one(self.last.better, stack.ratio?, stack.low, stack.high);
        let measure = &self.latest().measure;
        Some(match stack.change {
            Change::Better => format!("is {} since run {since}", measure.gain(effect.turned())),
            _ => match measure.loss(effect) {
                Some(loss) => format!("is {loss} since run {since}"),
                None => format!("was {} before run {since}", measure.gain(effect)),
            },
        })
    }

    /// The largest change that the interval leaves open.
    fn largest(&self, stack: &StackComparison) -> Option<f64> {
        let (low, high) = stack.low.zip(stack.high)?;
        Some(high.max(1.0 / low) - 1.0).filter(|size| size.is_finite())
    }

    fn is_worse(&self) -> bool {
        self.last.stacks.iter().any(|stack| stack.change == Change::Worse)
    }

    /// The other stacks that changed, the largest change first.
    fn others(&self) -> Option<String> {
        let pick = self.latest().label();
        let changed =
            |stack: &&StackComparison| is_changed(stack) && Some(stack.stack.as_str()) != pick;
        let mut others: Vec<&StackComparison> = self.last.stacks.iter().filter(changed).collect();
        others.sort_by(|one, other| size_of(other).total_cmp(&size_of(one)));
        let said = |stack: &&StackComparison| {
            let effect = Effect::one(self.last.better, stack.ratio?, None, None);
            let measure = &self.latest().measure;
            let size = match stack.change {
                Change::Better => measure.gain(effect.turned()),
                _ => measure
                    .loss(effect)
                    .unwrap_or_else(|| format!("{} in the first run", measure.gain(effect))),
            };
            Some(format!("{} ({size})", stack.stack))
        };
        let mut texts: Vec<String> = others.iter().take(NAMED).filter_map(said).collect();
        if others.len() > NAMED {
            texts.push(format!("{} more", others.len() - NAMED));
        }
        (!texts.is_empty()).then(|| format!("Also changed: {}.", list(&texts)))
    }

    fn basis(&self) -> String {
        format!(
            "Each run is compared with the first; {} confidence over all runs and stacks together.",
            exact_percent(self.last.confidence)
        )
    }

    fn doubt(&self) -> Option<String> {
        if let Some(why) = self.changes.iter().rev().find_map(|change| change.withheld.as_ref()) {
            return Some(format!("{why}: that alone makes runs differ."));
        }
        let any = self.changes.iter().flat_map(|change| &change.stacks).any(is_changed);
        (any && self.last.backend != "virtual").then(|| {
            "One run before and one after cannot separate a change of the setup from a change of the machine. \
             Give three or more of each to `seekwell compare`."
                .to_owned()
        })
    }

    fn heading(&self) -> String {
        format!(
            "{} ({}); the last run relative to the first; a taller bar is worse",
            self.latest().heading,
            direction(self.last.better)
        )
    }

    fn run_table(&self) -> Table {
        let mut table = Table::default();
        RUN_COLUMNS.iter().for_each(|(title, is_number)| table.column(title, "", *is_number));
        (1..).zip(self.runs).for_each(|(number, run)| table.row(None, run.cells(number)));
        table
    }

    /// Every stack of the last comparison: the pick, then those that changed, then the others.
    fn rows(&self) -> Vec<Row<'a>> {
        let mut rows: Vec<Row<'a>> = self.last.stacks.iter().map(|stack| self.row(stack)).collect();
        let pick = self.latest().label();
        rows.sort_by_key(|row| match row.last.change {
            _ if Some(row.last.stack.as_str()) == pick => 0,
            Change::Worse => 1,
            Change::Better => 2,
            _ => 3,
        });
        rows
    }

    fn row(&self, last: &'a StackComparison) -> Row<'a> {
        let of_run = |change: &RunComparison| {
            let stack = change.stacks.iter().find(|stack| stack.stack == last.stack)?;
            let ratios = [stack.ratio?, stack.low?, stack.high?];
            let usable = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
            let [centre, low, high] = ratios.map(|ratio| benefit(change.better, ratio));
            ratios.iter().all(usable).then_some([centre, low.min(high), low.max(high)])
        };
        let first = last.first_median.map(|_| [1.0; 3]);
        let later = self.changes.iter().map(of_run);
        Row { last, ratios: std::iter::once(first).chain(later).collect() }
    }

    fn table(&self, rows: &[Row<'_>]) -> Table {
        let scale = scale(self.last);
        let mut table = Table::default();
        table.column("stack", "", false);
        table.column("trend", "", false);
        for title in ["first", "last"] {
            table.column(title, scale.symbol(), true);
        }
        table.numbers(["ratio", "interval"]);
        table.column("finding", "", false);
        let reach = reach(rows, self.last.tie).min(TALLEST.ln());
        for row in rows {
            let [stack, first, last, ratio, interval, _, finding] = cells(row.last, scale);
            let trend = trend(&row.ratios, reach);
            table.row(ink(row.last), vec![stack, trend, first, last, ratio, interval, finding]);
        }
        table
    }

    /// Settings and versions that are not those of the first run, at the first run that has them.
    fn differences(&self) -> Vec<String> {
        let mut said = Vec::new();
        for (at, change) in self.changes.iter().enumerate() {
            let is_new = |one: &&seekwell_model::comparison::Difference| {
                one.what != SEED && (at == 0 || !self.changes[at - 1].differences.contains(one))
            };
            let texts = change.differences.iter().filter(is_new);
            said.extend(texts.map(|one| format!("run {}: {}", at + 2, difference(one))));
        }
        said
    }
}

fn is_changed(stack: &StackComparison) -> bool {
    matches!(stack.change, Change::Better | Change::Worse)
}

/// The size of a change, whatever its direction.
fn size_of(stack: &StackComparison) -> f64 {
    stack.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

/// The largest logarithm of a ratio, and no less than the tie's.
fn reach(rows: &[Row<'_>], tie: f64) -> f64 {
    let centres = rows.iter().flat_map(|row| row.ratios.iter().flatten());
    centres.map(|[centre, ..]| centre.ln().abs()).fold(tie.max(0.01).ln_1p(), f64::max)
}

/// One bar for each run; the first is in the middle, a dot has no value.
fn trend(ratios: &[Option<[f64; 3]>], reach: f64) -> String {
    let bar = |ratio: &Option<[f64; 3]>| {
        let Some([centre, ..]) = ratio else { return '\u{b7}' };
        let height = (centre.ln() / reach).clamp(-1.0, 1.0) * 3.5 + 3.5;
        BARS[(height.round() as usize).min(BARS.len() - 1)]
    };
    ratios.iter().map(bar).collect()
}

#[cfg(test)]
mod tests;
