//! One cell of the table: one noise, number of stacks and number of rounds.

use super::noises::{Noise, Setting, Values};
use seekwell_stats::axis::{AxisFound, Compared, axes};
use seekwell_stats::design::Design;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::race::{Race, RaceConfig, Step};
use seekwell_stats::{Better, Comparison, Finding, Question, Rng, derive_seed, seeded};

/// Size of a laboratory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Stacks; nine are three filesystems under three schedulers.
    pub stacks: usize,
    /// Rounds that the budget holds.
    pub rounds: usize,
    /// Standard deviation of a trial's logarithm.
    pub spread: f64,
}

/// Tie of every laboratory.
pub const TIE: f64 = 0.05;

/// The best stack is followed by others that are up to this much worse.
const CLOSE: f64 = 0.06;

/// Result of one simulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The loss bound, as a fraction; infinite where there is none.
    pub bound: f64,
    /// True if the pick is worse than the best stack by more than the bound.
    pub missed: bool,
    /// True if the bound is within the tie and a verdict was reached.
    pub decided: bool,
    /// Sentences about an axis, and those of them that are wrong.
    pub axis_lines: (usize, usize),
    /// Trials.
    pub trials: usize,
}

/// Runs one laboratory as the runner does: stacks leave at looks, up to the horizon.
pub fn run(noise: &Noise, size: Size, case: usize, seeds: &str) -> Ended {
    let seed = derive_seed(case as u64, seeds);
    let mut rng = seeded(derive_seed(seed, noise.name));
    let design =
        if size.stacks == 9 { Design::product(&[3, 3]) } else { Design::unstructured(size.stacks) };
    let truth = truths(&mut rng, size, &design);
    let setting = Setting { truth: &truth, rounds: size.rounds, spread: size.spread };
    let values = (noise.draw)(&mut rng, &setting);
    let question = Question::new(Better::Lower, TIE, 0.95);
    let (found, rows, trials) = by_looks(&values, size, question);
    let pick = found.baseline.unwrap_or(0);
    let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
    let bound = found.loss.unwrap_or(f64::INFINITY);
    Ended {
        bound,
        missed: truth[pick] - best > bound.ln_1p() + 1e-9,
        decided: !matches!(found.finding, Finding::Unresolved { .. }),
        axis_lines: axis_lines(&design, &rows, &found, &question, &truth),
        trials,
    }
}

/// True logarithms: of nine stacks two filesystems are close and the third is much slower, and schedulers
/// differ by little; otherwise all are close.
fn truths(rng: &mut Rng, size: Size, design: &Design) -> Vec<f64> {
    if size.stacks != 9 {
        return (0..size.stacks).map(|_| CLOSE * rng.uniform()).collect();
    }
    let filesystem = [0.0, CLOSE * rng.uniform(), 0.5];
    let scheduler = [0.0, 0.03 * rng.uniform(), 0.03 * rng.uniform()];
    let of = |stack: usize| filesystem[design.level(stack, 0)] + scheduler[design.level(stack, 1)];
    (0..9).map(of).collect()
}

type Rows = Vec<Vec<Observed>>;

/// The race over a matrix, and the trials that it ran.
fn by_looks(values: &Values, size: Size, question: Question) -> (Comparison, Rows, usize) {
    let config = RaceConfig {
        finalists: size.stacks.max(2),
        horizon: Some(size.rounds),
        most_rounds: size.rounds,
        ..RaceConfig::new(question)
    };
    let mut race = Race::new(Design::unstructured(size.stacks), config).expect("a sound race");
    let mut rows = vec![vec![Observed::NotRun; size.rounds]; size.stacks];
    while let Step::Run(plan) = race.next_round() {
        let trial = |stack: &usize| (*stack, Observed::run(values[*stack][plan.round]));
        let trials: Vec<(usize, Observed)> = plan.stacks.iter().map(trial).collect();
        for (stack, trial) in &trials {
            rows[*stack][plan.round] = *trial;
        }
        race.record(&trials).expect("the stacks asked for");
    }
    let outcome = race.outcome();
    (outcome.comparison.expect("a look was held"), rows, outcome.trials)
}

/// Counts the sentences about an axis, and those that are wrong: an average outside its interval, or a
/// value that is called out and is not worse by so much.
fn axis_lines(
    design: &Design,
    rows: &Rows,
    found: &Comparison,
    question: &Question,
    truth: &[f64],
) -> (usize, usize) {
    if design.axes() == 0 {
        return (0, 0);
    }
    let field = Field::new(rows, question);
    let mut is_out = vec![false; rows.len()];
    for row in found.rows.iter().filter(|row| row.is_out(Better::Lower)) {
        is_out[row.stack] = true;
    }
    let all = axes(design, &field, &is_out, question);
    let mean = |axis: usize, value: usize, among: &[usize]| {
        let of = |other: &usize| {
            let stack = (0..truth.len()).find(|stack| {
                design.level(*stack, axis) == value && design.level(*stack, 1 - axis) == *other
            });
            truth[stack.expect("a full product")]
        };
        among.iter().map(of).sum::<f64>() / among.len() as f64
    };
    let wrong = |axis: &&AxisFound| {
        let others: Vec<usize> =
            axis.averaged.iter().map(|stack| design.level(*stack, 1 - axis.axis)).collect();
        let misses = |one: &Compared, among: &[usize]| {
            let log = mean(axis.axis, one.value, among) - mean(axis.axis, one.against, among);
            !one.ratio.contains(log.exp())
        };
        axis.pairs.iter().any(|one| misses(one, &others))
            || axis.out.iter().any(|one| misses(one, &[0, 1, 2]))
    };
    (all.len(), all.iter().filter(wrong).count())
}
