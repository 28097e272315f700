//! One cell of the table: one noise, number of stacks and number of rounds.

use super::noises::{Noise, Setting};
use seekwell_runner::order::round_order;
use seekwell_stats::axis::{AxisFound, Compared, axes};
use seekwell_stats::design::Design;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::race::{Race, RaceConfig};
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

/// The same where what a trial leaves behind is tried: some picks must be worse than the tie.
const CARRIED: f64 = 0.1;

/// Result of one simulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The loss bound, as a fraction; infinite where there is none.
    pub bound: f64,
    /// True if the pick is worse than the best stack by more than the bound.
    pub missed: bool,
    /// True if the bound is within the tie and a verdict was reached.
    pub decided: bool,
    /// True if it was, and the pick is worse than the best stack by more than the tie.
    pub wrong: bool,
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
    ended(size, &design, &truth, |round, stacks| {
        stacks.iter().map(|stack| (*stack, Observed::run(values[*stack][round]))).collect()
    })
}

/// Runs one laboratory whose trials take longer after some stacks than after others: by `range` after
/// the stack that harms its successor most. `Order::Random` shows what the order of the runner removes.
pub fn run_carrying(range: f64, order: Order, size: Size, case: usize, seeds: &str) -> Ended {
    let seed = derive_seed(case as u64, seeds);
    let mut rng = seeded(derive_seed(seed, "carry-over"));
    let truth: Vec<f64> = (0..size.stacks).map(|_| CARRIED * rng.uniform()).collect();
    let mut harms: Vec<f64> = (0..size.stacks).map(|at| at as f64).collect();
    let most = (size.stacks - 1) as f64;
    harms.iter_mut().for_each(|harm| *harm *= range.ln_1p() / most);
    rng.shuffle(&mut harms);
    let mut before: Option<usize> = None;
    ended(size, &Design::unstructured(size.stacks), &truth, |round, stacks| {
        let mut sequence = order.of_round(seed, size, round, &mut rng);
        sequence.retain(|stack| stacks.contains(stack));
        let trial = |stack: usize| {
            let carried = before.replace(stack).map_or(0.0, |last| harms[last]);
            let log = truth[stack] + carried + size.spread * rng.normal();
            (stack, Observed::run(Some(log.exp())))
        };
        sequence.into_iter().map(trial).collect()
    })
}

/// Order of the trials of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each round begins with the stack that ended the last, as the runner does it.
    Chained,
    /// Any order, each round for itself.
    Random,
}

impl Order {
    fn of_round(self, seed: u64, size: Size, round: usize, rng: &mut Rng) -> Vec<usize> {
        if self == Self::Random {
            let mut sequence: Vec<usize> = (0..size.stacks).collect();
            rng.shuffle(&mut sequence);
            return sequence;
        }
        let trials = round_order(seed, size.stacks as u32, round as u32);
        trials.into_iter().map(|trial| trial.candidate as usize).collect()
    }
}

/// Runs a laboratory round by round and holds its answer against the truth.
fn ended(
    size: Size,
    design: &Design,
    truth: &[f64],
    round: impl FnMut(usize, &[usize]) -> Vec<(usize, Observed)>,
) -> Ended {
    let question = Question::new(Better::Lower, TIE, 0.95);
    let (found, rows, trials) = by_looks(round, size, question);
    let pick = found.baseline.unwrap_or(0);
    let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
    let bound = found.loss.unwrap_or(f64::INFINITY);
    let loss = truth[pick] - best;
    let decided = !matches!(found.finding, Finding::Unresolved { .. });
    Ended {
        bound,
        missed: loss > bound.ln_1p() + 1e-9,
        decided,
        wrong: decided && loss > TIE.ln_1p() + 1e-9,
        axis_lines: axis_lines(design, &rows, &found, &question, truth),
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

/// The race over rounds that give the trials of the asked stacks, and how many it ran.
fn by_looks(
    mut round: impl FnMut(usize, &[usize]) -> Vec<(usize, Observed)>,
    size: Size,
    question: Question,
) -> (Comparison, Rows, usize) {
    let config = RaceConfig {
        finalists: size.stacks.max(2),
        horizon: Some(size.rounds),
        most_rounds: size.rounds,
        ..RaceConfig::new(question)
    };
    let mut race = Race::new(Design::unstructured(size.stacks), config).expect("a sound race");
    let mut rows = vec![vec![Observed::NotRun; size.rounds]; size.stacks];
    while let Some(plan) = race.next_round() {
        let trials = round(plan.round, &plan.stacks);
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
