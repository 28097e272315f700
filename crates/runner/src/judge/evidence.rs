//! Evidence for an answer: activity of the devices, share of device time.

use crate::records::Outcomes;
use crate::records::quantities::QUANTITIES;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::{Beside, StorageShare};
use seekwell_stats::estimate::median;
use seekwell_stats::sensitivity::{self, Sees};

/// Number of other differences shown with an effect.
const BESIDE: usize = 2;

/// A quantity that differs by less than this factor is not worth naming.
const WORTH_NAMING: f64 = 1.25;

/// The other differences between the trials of two sets of stacks: `side(stack)` is 0 or 1, for those at
/// the highest and lowest value, or `None`.
pub(super) fn beside(
    plan: &Plan,
    outcomes: &Outcomes,
    side: impl Fn(usize) -> Option<usize>,
) -> Vec<Beside> {
    let mut found: [[Vec<f64>; 2]; QUANTITIES.len()] = Default::default();
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        let Some(side) = side(stack) else { continue };
        for (number, amount) in outcome.judged.iter().flat_map(|step| step.quantities.iter()) {
            found[number][side].push(amount);
        }
    }
    let mut all: Vec<(f64, Beside)> = found
        .into_iter()
        .zip(QUANTITIES)
        .filter_map(|([highest, lowest], (what, floor))| {
            let [at_highest, at_lowest] = [median(&highest)?, median(&lowest)?];
            let apart = ((at_highest + floor) / (at_lowest + floor)).ln().abs();
            let beside = Beside { what: what.to_owned(), at_highest, at_lowest };
            (apart > WORTH_NAMING.ln()).then_some((apart, beside))
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(BESIDE).map(|(_, beside)| beside).collect()
}

/// Returns the share of the judged step in which the device was busy, for the stack with the largest.
pub(super) fn storage(plan: &Plan, outcomes: &Outcomes) -> Option<StorageShare> {
    let mut of_stacks = vec![(Vec::new(), true); plan.ranked()];
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        let Some((shares, blind)) = of_stacks.get_mut(stack) else { continue };
        let Some((busy_ns, elapsed_ns)) = outcome.judged.as_ref().and_then(|step| step.busy) else {
            continue;
        };
        let Some(rest) = sensitivity::share_without_device(busy_ns, elapsed_ns) else { continue };
        shares.push(1.0 - rest);
        *blind &= sensitivity::sees_by_busy_time(busy_ns, elapsed_ns) == Some(Sees::No);
    }
    let mut busiest: Option<(f64, bool)> = None;
    for (shares, blind) in of_stacks {
        if let Some(share) = median(&shares)
            && busiest.is_none_or(|(most, _)| share > most)
        {
            busiest = Some((share, !blind));
        }
    }
    busiest.map(|(busy, seen)| StorageShare { busy, seen })
}

#[cfg(test)]
mod tests;
