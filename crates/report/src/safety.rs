//! Speed against loss: the fastest stack of each level of loss, and the stacks that are worth their loss.

use crate::answer_text::{Effect, Measure, Sides};
use crate::number::{Scale, unit_of};
use crate::view::{RunView, count};
use seekwell_model::power_cut::{CutCounts, CutLosses};
use seekwell_model::verdict::{DurabilityClass, Ratio, StackDurability};

#[cfg(test)]
mod tests;

/// Stacks that a power cut costs the same.
pub(crate) struct Level<'a> {
    /// Loss in words: `6 of 150 power cuts lost synced data`.
    pub(crate) loss: String,
    /// Rows of the verdict with a ratio, fastest first; never empty.
    pub(crate) stacks: Vec<&'a Ratio>,
    /// True if the fastest is faster than every stack that loses less.
    pub(crate) is_on_frontier: bool,
}

impl Level<'_> {
    /// The fastest stack.
    pub(crate) fn fastest(&self) -> &Ratio {
        self.stacks[0]
    }
}

/// The class in words.
pub(crate) fn class_words(class: DurabilityClass) -> &'static str {
    match class {
        DurabilityClass::EveryWrite => "every write survives",
        DurabilityClass::Synced => "synced data survives",
        DurabilityClass::Unordered => {
            "synced data survives; other files may be lost, old or damaged"
        }
        DurabilityClass::Unsafe => "even synced data may be lost",
        DurabilityClass::Volatile => "nothing is left",
    }
}

/// Class, and share of the power cuts that took synced data: the larger, the worse.
fn rank(found: &StackDurability) -> (DurabilityClass, u64) {
    let share = found.cuts.filter(|counts| counts.cuts > 0);
    let share = share.map_or(0, |counts| counts.lossy() * 1_000_000 / counts.cuts);
    (found.class.max(DurabilityClass::Synced), share)
}

fn loss(found: &StackDurability) -> String {
    match found.cuts.filter(|counts| counts.cuts > 0) {
        Some(counts) if counts.lossy() > 0 => {
            let (lost, cuts) = (counts.lossy(), counts.cuts);
            let worst = worst(&counts);
            format!("{lost} of {cuts} power cuts lost synced data or the filesystem{worst}")
        }
        Some(counts) if found.class <= DurabilityClass::Synced => {
            format!(
                "nothing synced was lost in {} power cuts{}",
                counts.cuts,
                loss_bound(counts.cuts)
            )
        }
        Some(counts) if found.class == DurabilityClass::Unsafe => {
            format!(
                "{}, though none of {} power cuts took any",
                class_words(found.class),
                counts.cuts
            )
        }
        _ => class_words(found.class.max(DurabilityClass::Synced)).to_owned(),
    }
}

/// Losses that this number of cuts without one does not exclude: `, so at most 1 in 100 loses some, with 95 %`.
#[must_use]
pub fn loss_bound(cuts: u64) -> String {
    let share = 1.0 - 0.05_f64.powf(1.0 / cuts as f64);
    format!(", so at most 1 in {} loses some, with 95 %", (1.0 / share).floor())
}

/// Losses of the worst cut: `, at worst 3 files and 8192 bytes`, of a database its transactions; nothing for runs that did not measure them.
pub(crate) fn worst(counts: &CutCounts) -> String {
    let is_loss = |losses: &CutLosses| losses.lost_bytes_max.max(losses.lost_files_max) > 0;
    let Some(losses) = counts.losses.filter(is_loss) else {
        return String::new();
    };
    if let Some(lost) = losses.lost_transactions_max.filter(|lost| *lost > 0) {
        return format!(", at worst {}", count(lost as usize, "committed transaction"));
    }
    let files = match losses.lost_files_max {
        0 => String::new(),
        1 => "1 file and ".to_owned(),
        files => format!("{files} files and "),
    };
    format!(", at worst {files}{} bytes", losses.lost_bytes_max)
}

/// The levels, safest first; none where no stack of the run loses more than another.
pub(crate) fn levels(view: &RunView) -> Vec<Level<'_>> {
    let verdict = &view.verdict;
    let cost = |row: &Ratio| row.ratio.map(|ratio| Effect::one(verdict.better, ratio, None, None));
    let cost = |row: &Ratio| cost(row).map_or(f64::INFINITY, |effect| effect.from);
    let rows = verdict.ratios.iter().filter(|row| cost(row).is_finite());
    let mut all: Vec<(&StackDurability, &Ratio)> =
        rows.filter_map(|row| Some((verdict.evidence.durability_of(&row.stack)?, row))).collect();
    all.sort_by(|one, other| {
        rank(one.0).cmp(&rank(other.0)).then(cost(one.1).total_cmp(&cost(other.1)))
    });
    let mut levels: Vec<Level<'_>> = Vec::new();
    for same in all.chunk_by(|one, other| rank(one.0) == rank(other.0)) {
        let safer = levels.iter().map(|level| cost(level.fastest())).fold(f64::INFINITY, f64::min);
        levels.push(Level {
            loss: loss(same[0].0),
            is_on_frontier: cost(same[0].1) < safer,
            stacks: same.iter().map(|(_, row)| *row).collect(),
        });
    }
    if levels.len() > 1 { levels } else { vec![] }
}

/// The wear of the pick's flash by the judged step, and of the stack that wears it most; `None` for runs
/// without modelled flash.
pub(crate) fn wear(view: &RunView) -> Option<String> {
    let trials = view.by_stack();
    let [erases, years] = view.wear().map(|column| column.metric);
    let median = |stack: &str, metric: &str| {
        let value = trials.median(stack, metric)?;
        Some((value, Scale::fit(unit_of(metric), [value]).with_unit(value)))
    };
    let said = |stack: &str| {
        let (_, erases) = median(stack, &erases)?;
        let years =
            median(stack, &years).map(|(_, years)| format!(" and reaches its rating in {years}"));
        Some(format!(
            "{stack} erases {erases} flash blocks per MB written{}",
            years.unwrap_or_default()
        ))
    };
    let pick = crate::answer_text::answer(view).pick.clone()?;
    let known = view
        .verdict
        .ratios
        .iter()
        .filter_map(|row| Some((median(&row.stack, &erases)?.0, row.stack.as_str())));
    let (_, most) = known.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let others = (most != pick).then(|| said(most)).flatten();
    Some(said(&pick).into_iter().chain(others).collect::<Vec<_>>().join("; "))
}

/// Heading of the sentences and of the picture.
pub(crate) const TITLE: &str = "Fast and safe, against the pick";

/// A sentence for each level: its fastest stack, and the speed that its loss buys. None for a run without a pick.
pub(crate) fn sentences(view: &RunView) -> Vec<String> {
    let Some(pick) = crate::answer_text::answer(view).pick.clone() else { return vec![] };
    let one = |level: &Level<'_>| {
        let (row, loss) = (level.fastest(), crate::text::capital(&level.loss));
        match &row.stack {
            stack if *stack == pick => format!("{loss}; fastest is {stack}, the pick"),
            stack => format!("{loss}; fastest is {stack}: {}", bought(view, level)),
        }
    };
    levels(view).iter().map(one).collect()
}

/// The speed that a loss buys, or that a smaller loss costs.
pub(crate) fn bought(view: &RunView, level: &Level<'_>) -> String {
    let (row, measure) = (level.fastest(), Measure::of(view));
    let effect = row.ratio.map(|ratio| Effect::one(view.verdict.better, ratio, row.low, row.high));
    let Some(effect) = effect.filter(|_| level.is_on_frontier) else {
        return "no faster than a stack that loses less".to_owned();
    };
    if effect.from > 1.0 {
        let sides = Sides { worse: "it", is_plural: false, better: "the pick", both: false };
        return measure.clause(&sides, effect);
    }
    let effect = effect.turned();
    match effect.ends {
        Some((low, _)) if low <= 1.0 => "not shown to be faster".to_owned(),
        _ => measure.gain(effect),
    }
}
