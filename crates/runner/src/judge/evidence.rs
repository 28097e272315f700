//! Evidence for an answer: share of device time.

use crate::records::Outcomes;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::StorageShare;
use seekwell_stats::estimate::median;

/// Share of a step without the device above which no storage could make it 5 % faster.
const SEES_NO_STORAGE: f64 = 0.95;

/// Returns the share of the judged step in which the device was busy, for the stack with the largest.
pub(super) fn storage(plan: &Plan, outcomes: &Outcomes) -> Option<StorageShare> {
    let mut of_stacks = vec![(Vec::new(), true); plan.ranked()];
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        let Some((shares, blind)) = of_stacks.get_mut(stack) else { continue };
        let Some((busy_ns, elapsed_ns)) = outcome.judged.as_ref().and_then(|step| step.busy) else {
            continue;
        };
        if elapsed_ns == 0 {
            continue;
        }
        // A device that takes no time at all saves only the time in which it was busy (Amdahl 1967).
        let rest = 1.0 - busy_ns.min(elapsed_ns) as f64 / elapsed_ns as f64;
        shares.push(1.0 - rest);
        *blind &= rest > SEES_NO_STORAGE;
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
