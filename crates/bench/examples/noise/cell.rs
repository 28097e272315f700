//! One cell of the table: a noise, so many stacks and rounds, by two designs.

use super::noises::{Noise, Setting, Values};
use seekwell_stats::design::Design;
use seekwell_stats::race::{Race, RaceConfig, Step, looks_for};
use seekwell_stats::{Better, Comparison, Finding, Question, Rng, compare, derive_seed, seeded};

/// Size of a laboratory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Stacks.
    pub stacks: usize,
    /// Rounds at most.
    pub rounds: usize,
    /// Standard deviation of a trial's logarithm.
    pub spread: f64,
    /// Tie width.
    pub tie: f64,
}

/// Rounds that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All rounds of every stack, one look.
    Fixed,
    /// Stacks leave at planned looks.
    Looks,
}

/// True differences between the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// All the same.
    Equal,
    /// Drawn, some just beyond the tie width, some far.
    Unequal,
}

/// Result of one simulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// True if anything was certified.
    pub certified: bool,
    /// True if one stack was named winner.
    pub winner: bool,
    /// True if a named stack is worse than the best by more than the tie width.
    pub wrong: bool,
    /// True if the single interval of the second stack against the leader contains the truth;
    /// `None` without an interval.
    pub covered: Option<bool>,
    /// Trials.
    pub trials: usize,
}

/// Runs one laboratory.
pub fn run(noise: &Noise, size: Size, plan: Plan, truth: Truth, case: usize, seeds: &str) -> Ended {
    let seed = derive_seed(case as u64, seeds);
    let mut rng = seeded(derive_seed(seed, noise.name));
    let truth = truths(&mut rng, size, truth);
    let setting = Setting { truth: &truth, rounds: size.rounds, spread: size.spread };
    let values = (noise.draw)(&mut rng, &setting);
    let question = Question::new(Better::Lower, size.tie, 0.95);
    let (comparison, trials) = match plan {
        Plan::Fixed => {
            let found = compare(&values, &question).expect("rounds match");
            (Some(found), size.stacks * size.rounds)
        }
        Plan::Looks => by_looks(&values, size, question, seed),
    };
    ended(comparison.as_ref(), &truth, size, trials)
}

fn truths(rng: &mut Rng, size: Size, truth: Truth) -> Vec<f64> {
    if truth == Truth::Equal {
        return vec![0.0; size.stacks];
    }
    let width = if rng.uniform() < 0.5 { 2.0 * size.tie } else { 0.15 };
    let best = rng.index(size.stacks);
    let draw = |rng: &mut Rng| size.tie.ln_1p() * 1.05 + width * rng.normal().abs();
    (0..size.stacks).map(|stack| if stack == best { 0.0 } else { draw(rng) }).collect()
}

/// The race over a matrix, fed as the runner feeds it.
fn by_looks(
    values: &Values,
    size: Size,
    question: Question,
    seed: u64,
) -> (Option<Comparison>, usize) {
    let config = RaceConfig {
        looks: looks_for(size.rounds),
        finalists: size.stacks.max(2),
        ..RaceConfig::new(question, seed)
    };
    let mut race = Race::new(Design::unstructured(size.stacks), config).expect("a sound race");
    while let Step::Run(plan) = race.next_round() {
        let row: Vec<(usize, Option<f64>)> =
            plan.order.iter().map(|stack| (*stack, values[*stack][plan.round])).collect();
        race.record(&row).expect("the stacks asked for");
    }
    let outcome = race.outcome();
    (outcome.comparison, outcome.trials)
}

fn ended(found: Option<&Comparison>, truth: &[f64], size: Size, trials: usize) -> Ended {
    let named: Vec<usize> = match found.map(|found| &found.finding) {
        Some(Finding::Winner { stack }) => vec![*stack],
        Some(Finding::Tie { set, .. }) => set.clone(),
        _ => vec![],
    };
    let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
    let bad = |stack: &usize| truth[*stack] - best > size.tie.ln_1p() + 1e-9;
    let covered = found.and_then(|found| {
        let leader = found.baseline?;
        let row = found.rows.iter().find(|row| row.stack != leader)?;
        Some(row.ratio?.contains((truth[row.stack] - truth[leader]).exp()))
    });
    Ended {
        certified: !named.is_empty(),
        winner: matches!(found.map(|found| &found.finding), Some(Finding::Winner { .. })),
        wrong: named.iter().any(bad),
        covered,
        trials,
    }
}
