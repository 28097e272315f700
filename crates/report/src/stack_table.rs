//! The table of stacks: its columns and cells as every report shows them.

use crate::answer_text::{Standing, standing};
use crate::clusters;
use crate::number::{DASH, Scale, ratio, unit_of};
use crate::text::{Ink, Table};
use crate::view::{ByStack, Counts, RunView, StepColumn};
use seekwell_model::answer::Answer;
use seekwell_model::lab::Better;
use seekwell_model::verdict::{Basis, Ratio};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// One row per stack, best first.
pub(crate) struct StackTable {
    /// Scale of the judged metric.
    pub(crate) scale: Scale,
    /// Metrics of the other steps, each with its scale.
    pub(crate) others: Vec<(StepColumn, Scale)>,
    /// Columns that only some runs have.
    pub(crate) extra: Vec<Extra>,
    /// True if a ratio is an estimate from the screen of a race.
    pub(crate) estimates: bool,
    pub(crate) rows: Vec<StackRow>,
}

/// A column that only some runs have.
pub(crate) struct Extra {
    pub(crate) title: &'static str,
    pub(crate) is_number: bool,
    cell: fn(&RunView, &str) -> String,
}

/// The cells of one stack as text.
pub(crate) struct StackRow {
    /// The row of the verdict, for drawings.
    pub(crate) ratio: Ratio,
    /// True for the pick.
    pub(crate) best: bool,
    pub(crate) median: String,
    pub(crate) ratio_text: String,
    /// `1.087–1.190`; the leader has none to itself.
    pub(crate) interval: String,
    pub(crate) trials: String,
    pub(crate) extra: Vec<String>,
    pub(crate) others: Vec<String>,
}

/// Rows by the place of their stack in the answer.
pub(crate) fn by_standing<R: Borrow<StackRow>>(
    view: &RunView,
    answer: &Answer,
    rows: impl IntoIterator<Item = R>,
) -> BTreeMap<Standing, Vec<R>> {
    let mut groups: BTreeMap<Standing, Vec<R>> = BTreeMap::new();
    for row in rows {
        let place = standing(answer, &view.verdict.evidence, &row.borrow().ratio);
        groups.entry(place).or_default().push(row);
    }
    groups
}

impl StackTable {
    pub(crate) fn of(view: &RunView) -> Self {
        let verdict = &view.verdict;
        let trials = view.by_stack();
        let ratios = trials.rows();
        let scale =
            Scale::fit(unit_of(&verdict.metric), ratios.iter().filter_map(|row| row.median));
        // Next to the losses.
        let wear = view.wear().into_iter().filter(|_| verdict.evidence.has_cuts());
        let others: Vec<(StepColumn, Scale)> = wear
            .chain(view.other_steps())
            .filter_map(|column| {
                let medians = ratios.iter().map(|row| trials.median(&row.stack, &column.metric));
                let values: Vec<f64> = medians.flatten().collect();
                let scale = Scale::fit(unit_of(&column.metric), values.iter().copied());
                (!values.is_empty()).then_some((column, scale))
            })
            .collect();
        let estimates = ratios.iter().any(|row| row.basis == Basis::Screen);
        let pick = crate::answer_text::answer(view).pick.clone();
        let extra = extra(view);
        let row = |row: Ratio| {
            let median_of = |(column, scale): &(StepColumn, Scale)| {
                scale.number(trials.median(&row.stack, &column.metric))
            };
            StackRow {
                best: pick.as_ref() == Some(&row.stack),
                median: median(&trials, &row, scale),
                ratio_text: ratio(row.ratio),
                interval: interval(&row, verdict.baseline.as_deref()),
                trials: trials_text(trials.counts(&row.stack)),
                extra: extra.iter().map(|extra| (extra.cell)(view, &row.stack)).collect(),
                others: others.iter().map(median_of).collect(),
                ratio: row,
            }
        };
        let rows = ratios.into_iter().map(row).collect();
        Self { scale, others, extra, estimates, rows }
    }

    /// The table as text. `title` names the columns of other steps; `to_the_right` aligns words behind the first column
    /// as numbers.
    pub(crate) fn table(&self, title: fn(&StepColumn) -> &str, to_the_right: bool) -> Table {
        let mut table = Table::default();
        table.column("stack", "", false);
        table.column("median", self.scale.symbol(), true);
        table.numbers(["ratio", "interval", "trials"]);
        for extra in &self.extra {
            table.column(extra.title, "", extra.is_number || to_the_right);
        }
        for (column, scale) in &self.others {
            table.column(title(column), scale.symbol(), true);
        }
        for row in &self.rows {
            let own = [&row.ratio.stack, &row.median, &row.ratio_text, &row.interval, &row.trials];
            let cells = own.into_iter().chain(&row.extra).chain(&row.others).cloned();
            table.row(row.best.then_some(Ink::Good), cells.collect());
        }
        table
    }
}

/// The class where they differ, the cuts survived where power was cut, and prices where one is known.
fn extra(view: &RunView) -> Vec<Extra> {
    let evidence = &view.verdict.evidence;
    let has_price = view.plan.stacks.iter().any(|stack| stack.device.price.is_some());
    let class: fn(&RunView, &str) -> String = |view, stack| {
        let found = view.verdict.evidence.durability_of(stack);
        found.map_or(DASH, |found| found.class.word()).to_owned()
    };
    let cuts: fn(&RunView, &str) -> String = |view, stack| {
        let counts = view.verdict.evidence.durability_of(stack).and_then(|found| found.cuts);
        counts.map_or(DASH.to_owned(), |counts| format!("{} of {}", counts.survived, counts.cuts))
    };
    let price: fn(&RunView, &str) -> String = |view, stack| {
        let price = view.stack(stack).and_then(|stack| stack.device.price);
        price.map_or(DASH.to_owned(), |price| price.to_string())
    };
    let all = [
        (evidence.durability_differs(), "power cut", false, class),
        (evidence.has_cuts(), "cuts survived", true, cuts),
        (has_price, "price", true, price),
    ];
    all.into_iter()
        .filter(|(is_shown, ..)| *is_shown)
        .map(|(_, title, is_number, cell)| Extra { title, is_number, cell })
        .collect()
}

/// The median, or the medians of two groups of values.
fn median(all: &ByStack<'_>, row: &Ratio, scale: Scale) -> String {
    match clusters::two(&all.values(&row.stack, &all.view.verdict.metric)) {
        Some([low, high]) => {
            format!("{}, {}", scale.number(Some(low.median)), scale.number(Some(high.median)))
        }
        None => scale.number(row.median),
    }
}

/// The direction of the judged metric.
pub(crate) fn direction(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

fn interval(row: &Ratio, baseline: Option<&str>) -> String {
    if baseline == Some(row.stack.as_str()) {
        return "leader".to_owned();
    }
    match (row.low, row.high) {
        (Some(low), Some(high)) => {
            let mark = if row.basis == Basis::Screen { "~" } else { "" };
            format!("{mark}{}–{}", ratio(Some(low)), ratio(Some(high)))
        }
        _ => DASH.to_owned(),
    }
}

/// `8`, `6 + 2 marked`, `0 + 8 failed`.
pub(crate) fn trials_text(counts: Counts) -> String {
    let mut text = counts.ok.to_string();
    let others =
        [(counts.marked, "marked"), (counts.failed, "failed"), (counts.without, "without a value")];
    for (number, word) in others {
        if number > 0 {
            text.push_str(&format!(" + {number} {word}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
