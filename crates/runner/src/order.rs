//! From stacks and workloads to an ordered plan.
//!
//! Every round holds one trial of every candidate in an order of its own, drawn from the lab's
//! seed: comparisons are made inside rounds, so that a machine that drifts does not favour the
//! stack that happened to run first. Each round begins with the candidate that ended the last one:
//! every candidate then follows every candidate, itself included, equally often, so that what a trial
//! leaves behind favours none. Random order alone would favour, of two stacks, the one that harms its
//! successor by half of the harm.

use crate::axes::axes;
use crate::predict;
use crate::question::{is_exact, question};
use seekwell_model::lab::{Effort, FINAL_AT_ONCE, Lab, Method, RACE_ABOVE};
use seekwell_model::plan::{
    BackendFacts, Candidate, Cost, LeftOut, Plan, PlannedRace, PlannedTrial,
};
use seekwell_model::stack::Stack;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::METHOD;
use seekwell_model::warning::Warning;
use seekwell_stats::looks;
use seekwell_stats::race::RaceConfig;
use seekwell_stats::{pilot, rng};

/// Fewest rounds that can make a winner: with 5 pairs even five wins of five leave a two-sided
/// sign test at p = 0.0625.
pub const FEWEST_ROUNDS: u32 = 6;

/// Rounds of a race's pilot: two give a spread, which is all that is needed.
pub const PILOT_ROUNDS: u32 = 2;

/// Most rounds that a budget is turned into.
pub const MOST_ROUNDS: u32 = 1_000;

/// Most trials of one plan: a table of a million trials is unreadable, and a year of one-second trials
/// is 31 million.
pub const MOST_TRIALS: u64 = 1_000_000;

/// The reason why a lab has no plan: more trials than a plan may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub(crate) String);

/// Parts of an expanded lab that a plan needs.
#[derive(Clone, Debug, Default)]
pub struct Expanded {
    /// Stacks that can run.
    pub stacks: Vec<Stack>,
    /// Stack and workload pairs.
    pub candidates: Vec<Candidate>,
    /// Combinations that were left out.
    pub left_out: Vec<LeftOut>,
    /// Doubts so far.
    pub warnings: Vec<Warning>,
}

/// Orders the trials of an expanded lab. Touches nothing.
///
/// # Errors
/// [`PlanError`] when the product of pairs and rounds is beyond [`MOST_TRIALS`].
pub fn plan(lab: &Lab, expanded: Expanded, facts: &BackendFacts) -> Result<Plan, PlanError> {
    let Expanded { stacks, candidates, left_out, warnings } = expanded;
    let costs: Vec<Cost> = candidates
        .iter()
        .map(|candidate| {
            let stack = &stacks[candidate.stack as usize];
            predict::cost(stack, &lab.workloads[candidate.workload as usize], facts)
        })
        .collect();
    let mut plan = Plan {
        lab: lab.clone(),
        stacks,
        workloads: lab.workloads.clone(),
        candidates,
        trials: vec![],
        left_out,
        costs,
        warnings,
        race: None,
        control: None,
        prolonged: None,
        replay_checks: vec![],
    };
    if starts_in_final(&plan) {
        plan.race = Some(finals(&plan));
        plan.trials = order(lab.seed, plan.candidates.len() as u64, FEWEST_ROUNDS)?;
    } else if lab.judge.races(plan.ranked()) {
        let race = race(&plan);
        plan.trials = pilot_trials(&plan, &race);
        plan.race = Some(race);
    } else {
        let rounds = rounds(lab.judge.effort, &plan.costs);
        plan.trials = order(lab.seed, plan.candidates.len() as u64, rounds)?;
    }
    Ok(plan)
}

/// Returns true if the run is its final alone, in which stacks leave at planned looks: in every run of
/// few stacks with a budget of time. Models repeat exactly, or the question is their spread: all their
/// rounds run.
fn starts_in_final(plan: &Plan) -> bool {
    let judge = &plan.lab.judge;
    judge.method == Method::Auto
        && matches!(judge.effort, Effort::Budget(_))
        && (2..=FINAL_AT_ONCE).contains(&plan.ranked())
        && !is_exact(plan)
}

/// A race that is its final alone.
fn finals(plan: &Plan) -> PlannedRace {
    let most = MOST_ROUNDS as usize;
    PlannedRace {
        finalists: plan.stacks.len() as u32,
        looks: looks_until(plan.ranked(), most, most),
        method: METHOD,
        ..PlannedRace::default()
    }
}

fn race(plan: &Plan) -> PlannedRace {
    let ranked = plan.ranked();
    let (_, design) = axes(plan, ranked);
    let config = RaceConfig { finalists: RACE_ABOVE, ..RaceConfig::new(question(plan)) };
    let rounds = plan.lab.judge.final_rounds() as usize;
    let count = |numbers: Vec<usize>| numbers.into_iter().map(|number| number as u32).collect();
    PlannedRace {
        pilot: count(pilot::pilot_stacks(&design)),
        pilot_rounds: PILOT_ROUNDS,
        screen: count(pilot::screen_rounds(ranked, &config)),
        finalists: ranked.min(RACE_ABOVE) as u32,
        looks: looks_until(RACE_ABOVE, rounds, rounds),
        method: METHOD,
    }
}

/// Looks of a final with this horizon, up to `rounds`.
fn looks_until(stacks: usize, horizon: usize, rounds: usize) -> Vec<u32> {
    let mut all = vec![];
    let mut look = looks::next(0, stacks, horizon);
    while look < rounds {
        all.push(look as u32);
        look = looks::next(look, stacks, horizon);
    }
    all.push(rounds as u32);
    all
}

/// The trials of the pilot: what can be said before anything is found.
fn pilot_trials(plan: &Plan, race: &PlannedRace) -> Vec<PlannedTrial> {
    let candidates: Vec<u32> = (0..plan.candidates.len() as u32)
        .filter(|index| race.pilot.contains(&plan.candidates[*index as usize].stack))
        .collect();
    let each = candidates.len() as u32;
    (0..race.pilot_rounds)
        .flat_map(|round| {
            trials_of_round(plan.lab.seed, candidates.clone(), round, round * each, None)
        })
        .collect()
}

/// Gives a plan another seed, and with it other orders and other work. Plans on models keep theirs: it is
/// a part of the world that they repeat exactly.
pub fn reseed(plan: &mut Plan, seed: u64) {
    if is_exact(plan) {
        return;
    }
    plan.lab.seed = seed;
    plan.trials = match &plan.race {
        Some(race) if race.pilot_rounds > 0 => pilot_trials(plan, race),
        _ => {
            let candidates = plan.candidates.len() as u32;
            (0..plan.rounds()).flat_map(|round| round_order(seed, candidates, round)).collect()
        }
    };
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
        return Err(PlanError(format!(
            "{candidates} stack and workload pairs times {rounds} rounds are {trials} trials, \
             more than {MOST_TRIALS}; \
             shorten an axis, add [[exclude]] tables, or ask for fewer rounds"
        )));
    }
    Ok((0..rounds).flat_map(|round| round_order(seed, candidates as u32, round)).collect())
}

/// The trials of one round; index, order and seed depend on nothing but the arguments, so that a
/// resumed or prolonged run continues with the same trials.
#[must_use]
pub fn round_order(seed: u64, candidates: u32, round: u32) -> Vec<PlannedTrial> {
    let ends =
        Ends { begin: ending(seed, candidates, round), end: ending(seed, candidates, round + 1) };
    trials_of_round(seed, (0..candidates).collect(), round, round * candidates, Some(ends))
}

/// The candidate that ends the round before this one, and begins this one: never the same twice in a
/// row, and known without the rounds before.
fn ending(seed: u64, candidates: u32, round: u32) -> u32 {
    let drawn = |round: u32, among: u32| {
        let label = format!("end before round {round}");
        rng::seeded(rng::derive_seed(seed, &label)).index(among.max(1) as usize) as u32
    };
    if candidates <= 2 {
        return (drawn(0, candidates) + round) % candidates.max(1);
    }
    if round.is_multiple_of(2) {
        return drawn(round, candidates);
    }
    let neighbours = [drawn(round - 1, candidates), drawn(round + 1, candidates)];
    let others: Vec<u32> = (0..candidates).filter(|one| !neighbours.contains(one)).collect();
    others[drawn(round, others.len() as u32) as usize]
}

/// First and last candidate of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The candidate that ended the round before.
    pub begin: u32,
    /// The last one; where it is `begin`, any.
    pub end: u32,
}

/// The trials of a round of these candidates, in random order between its ends, the first with index
/// `first`. Ends that do not take part are ignored.
#[must_use]
pub fn trials_of_round(
    seed: u64,
    mut sequence: Vec<u32>,
    round: u32,
    first: u32,
    ends: Option<Ends>,
) -> Vec<PlannedTrial> {
    let mut random = rng::seeded(rng::derive_seed(seed, &format!("order of round {round}")));
    random.shuffle(&mut sequence);
    if let Some(Ends { begin, end }) = ends {
        let last = sequence.len().saturating_sub(1);
        if let Some(place) = sequence.iter().position(|one| *one == begin) {
            sequence.swap(0, place);
        }
        if let Some(place) = sequence.iter().position(|one| *one == end).filter(|_| begin != end) {
            sequence.swap(last, place);
        }
    }
    let work_seed = rng::derive_seed(seed, &format!("work of round {round}"));
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
