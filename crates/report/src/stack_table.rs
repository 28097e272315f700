//! The table of stacks: its columns and cells as every report shows them.

use crate::clusters;
use crate::number::{DASH, Scale, ratio, unit_of};
use crate::view::{ByStack, Counts, RunView, StepColumn};
use seekwell_model::lab::Better;
use seekwell_model::power_cut::CutCounts;
use seekwell_model::verdict::{Basis, Ratio};

/// One row per stack, best first.
pub(crate) struct StackTable {
    /// Scale of the judged metric.
    pub(crate) scale: Scale,
    /// Metrics of the other steps, each with its scale.
    pub(crate) others: Vec<(StepColumn, Scale)>,
    /// True if the durability classes differ: each row shows its class.
    pub(crate) power_cut: bool,
    /// True if the power of a stack was cut: each row shows how many cuts it survived.
    pub(crate) cuts: bool,
    /// True if the price of a device is known: each row shows that of its device.
    pub(crate) price: bool,
    /// True if a ratio is an estimate from the screen of a race.
    pub(crate) estimates: bool,
    pub(crate) rows: Vec<StackRow>,
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
    pub(crate) power_cut: String,
    /// `99 of 100`.
    pub(crate) cuts: String,
    pub(crate) price: String,
    pub(crate) others: Vec<String>,
}

impl StackTable {
    pub(crate) fn of(view: &RunView) -> Self {
        let verdict = &view.verdict;
        let trials = view.by_stack();
        let ratios = trials.rows();
        let scale =
            Scale::fit(unit_of(&verdict.metric), ratios.iter().filter_map(|row| row.median));
        let cuts = verdict.evidence.has_cuts();
        // Next to the losses.
        let wear = view.wear().into_iter().filter(|_| cuts);
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
        let rows = ratios
            .into_iter()
            .map(|row| {
                let best = pick.as_ref() == Some(&row.stack);
                StackRow::of(&trials, row, scale, &others, best)
            })
            .collect();
        let power_cut = verdict.evidence.durability_differs();
        let price = view.plan.stacks.iter().any(|stack| stack.device.price.is_some());
        Self { scale, others, power_cut, cuts, price, estimates, rows }
    }
}

impl StackRow {
    fn of(
        all: &ByStack<'_>,
        row: Ratio,
        scale: Scale,
        others: &[(StepColumn, Scale)],
        best: bool,
    ) -> Self {
        let view = all.view;
        let verdict = &view.verdict;
        let medians = others
            .iter()
            .map(|(column, scale)| scale.number(all.median(&row.stack, &column.metric)));
        let class = verdict.evidence.durability_of(&row.stack);
        let price = view.stack(&row.stack).and_then(|stack| stack.device.price);
        Self {
            best,
            median: median(all, &row, scale),
            ratio_text: ratio(row.ratio),
            interval: interval(&row, verdict.baseline.as_deref()),
            trials: trials(all.counts(&row.stack)),
            power_cut: class.map_or(DASH, |stack| stack.class.word()).to_owned(),
            cuts: class.and_then(|stack| stack.cuts).map_or(DASH.to_owned(), survived),
            price: price.map_or(DASH.to_owned(), |price| price.to_string()),
            others: medians.collect(),
            ratio: row,
        }
    }
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

/// Title of the column with the power cuts.
pub(crate) const CUTS: &str = "cuts survived";

fn survived(counts: CutCounts) -> String {
    format!("{} of {}", counts.survived, counts.cuts)
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
pub(crate) fn trials(counts: Counts) -> String {
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
