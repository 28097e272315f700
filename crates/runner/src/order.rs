//! From stacks and workloads to an ordered plan.
//!
//! Every round holds one trial of every candidate in an order of its own, drawn from the lab's
//! seed: comparisons are made inside rounds, so that a machine that drifts does not favour the
//! stack that happened to run first.

use crate::predict;
use seekwell_model::lab::{Effort, Lab};
use seekwell_model::plan::{Candidate, Cost, LeftOut, PlaceFacts, Plan, PlannedTrial};
use seekwell_model::stack::Stack;
use seekwell_model::units::Nanos;
use seekwell_model::warning::Warning;
use seekwell_stats::rng;

/// Fewest rounds that can make a winner: with 5 pairs even five wins of five leave a two-sided
/// sign test at p = 0.0625.
pub const FEWEST_ROUNDS: u32 = 6;

/// Most rounds that a budget is turned into.
pub const MOST_ROUNDS: u32 = 1_000;

/// Most trials of one plan: a year of one-second trials is 31 million, and nobody reads a table
/// of a million.
pub const MOST_TRIALS: u64 = 1_000_000;

/// Why no plan could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More trials than a plan may have.
    #[error(
        "{candidates} stack and workload pairs times {rounds} rounds are {trials} trials, more than {MOST_TRIALS}; \
         shorten an axis, add [[exclude]] tables, or ask for fewer rounds"
    )]
    TooManyTrials {
        /// Pairs of stack and workload.
        candidates: u64,
        /// Rounds asked for.
        rounds: u32,
        /// Their product.
        trials: u64,
    },
}

/// What an expanded lab gives to a plan.
#[derive(Clone, Debug, Default)]
pub struct Expanded {
    /// Stacks that can run.
    pub stacks: Vec<Stack>,
    /// Stack and workload pairs.
    pub candidates: Vec<Candidate>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// Doubts so far.
    pub warnings: Vec<Warning>,
}

/// Orders the trials of an expanded lab. Touches nothing.
///
/// # Errors
/// [`PlanError::TooManyTrials`] when the product of pairs and rounds is beyond [`MOST_TRIALS`].
pub fn plan(lab: &Lab, expanded: Expanded, facts: &PlaceFacts) -> Result<Plan, PlanError> {
    let Expanded { stacks, candidates, left_out, warnings } = expanded;
    let costs: Vec<Cost> = candidates
        .iter()
        .map(|candidate| {
            let stack = &stacks[candidate.stack as usize];
            predict::cost(stack, &lab.workloads[candidate.workload as usize], facts)
        })
        .collect();
    let rounds = rounds(lab.judge.effort, &costs);
    let trials = order(lab.seed, candidates.len() as u64, rounds)?;
    let workloads = lab.workloads.clone();
    Ok(Plan {
        lab: lab.clone(),
        stacks,
        workloads,
        candidates,
        trials,
        left_out,
        costs,
        warnings,
        race: None,
        control: None,
    })
}

/// Rounds that the effort buys at the predicted cost.
fn rounds(effort: Effort, costs: &[Cost]) -> u32 {
    match effort {
        Effort::Rounds(rounds) => rounds,
        Effort::Budget(Nanos(budget_ns)) => {
            let round_ns =
                costs.iter().map(|cost| cost.time_ns).fold(0, u64::saturating_add).max(1);
            let fit = u32::try_from(budget_ns / round_ns).unwrap_or(MOST_ROUNDS);
            fit.clamp(FEWEST_ROUNDS, MOST_ROUNDS)
        }
    }
}

fn order(seed: u64, candidates: u64, rounds: u32) -> Result<Vec<PlannedTrial>, PlanError> {
    let trials = candidates.saturating_mul(u64::from(rounds));
    if trials > MOST_TRIALS {
        return Err(PlanError::TooManyTrials { candidates, rounds, trials });
    }
    Ok((0..rounds).flat_map(|round| round_order(seed, candidates as u32, round)).collect())
}

/// The trials of one round, in random order; index and seed depend on nothing but the arguments,
/// so that a resumed or prolonged run goes on with the same trials.
#[must_use]
pub fn round_order(seed: u64, candidates: u32, round: u32) -> Vec<PlannedTrial> {
    let mut sequence: Vec<u32> = (0..candidates).collect();
    let mut random = rng::seeded(rng::derive_seed(seed, &format!("order of round {round}")));
    random.shuffle(&mut sequence);
    let work_seed = rng::derive_seed(seed, &format!("work of round {round}"));
    let first = round * candidates;
    let trial = |(position, candidate): (usize, u32)| PlannedTrial {
        index: first + position as u32,
        round,
        candidate,
        seed: work_seed,
    };
    sequence.into_iter().enumerate().map(trial).collect()
}

#[cfg(test)]
mod tests;
