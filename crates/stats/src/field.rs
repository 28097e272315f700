//! All trials of a comparison, and what they tell of every pair of stacks.
//!
//! The method in one place. For two stacks the logarithms of their ratio, round by round, have a
//! [typical value](crate::typical); around it is an interval by Student's t, made wider for
//! everything that would make it too short:
//!
//! - *Failures.* A trial without a value was perhaps the one that matters. For one end of the
//!   interval it counts as the best trial that anybody had, for the other as the worst possible.
//! - *Granularity.* Half a step of what was measured is added for each stack.
//! - *Dependence.* The error grows by what successive rounds may share.
//! - *Few rounds.* A variance of six values is itself uncertain: it is drawn towards that of all
//!   pairs, as far as they are alike (Smyth 2004).
//!
//! No interval depends on the tie.

mod within;

use crate::additive::stack_effects;
use crate::dependence::{Dependence, estimate};
use crate::estimate::mean;
use crate::granularity::half_steps;
use crate::interval::Interval;
use crate::question::{Better, Question};
use crate::shrink::VariancePrior;
use crate::special::t_quantile_upper;
use crate::typical::{Typical, typical};
use std::collections::BTreeMap;
use within::Within;

/// A trial of one stack in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observed {
    /// None was to be run, or not yet.
    NotRun,
    /// It was run and gave no value.
    Failed,
    /// It was run, and something makes its value doubtful: as if it had failed, but no reason against
    /// the stack.
    Doubtful,
    /// Its value. What is not a positive number counts as failed.
    Value(f64),
}

impl Observed {
    /// A trial that was run: without a value it failed.
    #[must_use]
    pub fn run(value: Option<f64>) -> Self {
        value.map_or(Self::Failed, Self::Value)
    }

    /// The logarithm of one whose value is its logarithm.
    fn log(&self) -> Option<f64> {
        match self {
            Self::Value(log) => Some(*log),
            Self::NotRun | Self::Failed | Self::Doubtful => None,
        }
    }
}

/// Degrees of freedom that the variances of the other pairs are worth at most.
const MOST_BORROWED: f64 = 12.0;

/// Pairs that are looked at for what variances have in common, about.
const PAIRS: usize = 200;

/// All trials of a comparison, as logarithms that are the larger the worse.
#[derive(Clone, Debug)]
pub struct Field {
    /// Trials whose values are logarithms.
    logs: Vec<Vec<Observed>>,
    effects: Vec<Option<f64>>,
    best: f64,
    half_steps: Vec<f64>,
    dependence: Dependence,
    /// The same of the rounds of each node.
    within: Option<Within>,
    spreads: Vec<f64>,
    prior: Option<VariancePrior>,
    exact: bool,
    proven: Proven,
}

/// Proofs of earlier looks at the same run: a stack is worse than another by no less than
/// this, as a logarithm. All looks together err no more often than is permitted, so that what one of
/// them has proved stays proved.
#[derive(Clone, Debug, Default)]
pub struct Proven(BTreeMap<(usize, usize), f64>);

/// Estimate of one stack's ratio to another.
#[derive(Clone, Debug)]
pub struct Pair {
    /// "Worse by" in the rounds in which both have a value.
    pub worse_by: Vec<f64>,
    /// Rounds in which both were run.
    pub rounds: usize,
    /// Of these, rounds in which one of them failed.
    pub failed: usize,
    /// With every failure turned in favour of the stack, and against it.
    ends: [Option<Typical>; 2],
    half_step: f64,
    /// Dependence of the rounds in the order of the plan, and of those of one node with their part.
    dependence: Dependence,
    within: Option<Within>,
    prior: Option<VariancePrior>,
    /// Bounds of earlier looks.
    proven: [f64; 2],
}

impl Field {
    /// Looks at all trials together.
    #[must_use]
    pub fn new(values: &[Vec<Observed>], question: &Question) -> Self {
        let sign = match question.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        };
        let log = |seen: &Observed| match seen {
            Observed::Value(value) if *value > 0.0 && value.is_finite() => {
                Observed::Value(sign * value.ln())
            }
            Observed::Value(_) => Observed::Failed,
            other => *other,
        };
        let logs: Vec<Vec<Observed>> =
            values.iter().map(|row| row.iter().map(log).collect()).collect();
        let plain = plain(&logs);
        let residuals = residuals(&plain);
        let best = plain.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min);
        let present = |row: &Vec<Option<f64>>| -> Vec<f64> {
            row.iter().flatten().map(|log| log.exp()).collect()
        };
        let exact = question.exact;
        let half_steps = if exact {
            vec![0.0; logs.len()]
        } else {
            half_steps(&plain.iter().map(present).collect::<Vec<_>>())
        };
        let spreads = residuals.iter().map(|row| spread_of(row)).collect();
        let mut field = Self {
            effects: effects(&logs, &plain, &residuals),
            dependence: if exact { Dependence::default() } else { estimate(&residuals) },
            within: None,
            logs,
            best,
            half_steps,
            spreads,
            prior: None,
            exact,
            proven: Proven::default(),
        };
        if !exact {
            field.prior = field.common_variance();
        }
        field
    }

    /// With what earlier looks have proved of the same stacks.
    #[must_use]
    pub fn with_proven(mut self, proven: Proven) -> Self {
        self.proven = proven;
        self
    }

    /// Number of stacks.
    #[must_use]
    pub fn stacks(&self) -> usize {
        self.logs.len()
    }

    /// Returns true if a stack has any value.
    #[must_use]
    pub fn has_value(&self, stack: usize) -> bool {
        self.logs[stack].iter().any(|cell| cell.log().is_some())
    }

    /// Trials of a stack that were run, and those of them that failed; doubtful ones did not.
    #[must_use]
    pub fn run_and_failed(&self, stack: usize) -> (usize, usize) {
        run_and_failed(&self.logs[stack])
    }

    /// Trials of a stack with a value that counts.
    #[must_use]
    pub fn values(&self, stack: usize) -> usize {
        self.logs[stack].iter().filter(|cell| cell.log().is_some()).count()
    }

    /// Variance of one trial of a stack, after stack and round are taken out.
    #[must_use]
    pub fn variance(&self, stack: usize) -> f64 {
        self.spreads[stack]
    }

    /// Largest error of a stack's typical value by the resolution of its values.
    #[must_use]
    pub fn half_step(&self, stack: usize) -> f64 {
        self.half_steps[stack]
    }

    /// "Worse by" of a stack against another, by round, where both have a value.
    #[must_use]
    pub fn differences(&self, stack: usize, other: usize) -> Vec<(usize, f64)> {
        let both = self.logs[stack].iter().zip(&self.logs[other]).enumerate();
        both.filter_map(|(round, (a, b))| Some((round, a.log()? - b.log()?))).collect()
    }

    /// Serial correlation in the order of the rounds, estimated and assumed.
    #[must_use]
    pub fn dependence(&self) -> &Dependence {
        &self.dependence
    }

    /// Stacks from the best on, by their typical value after the rounds are taken out. A stack of
    /// which so many trials failed that it has no typical value comes after all that have one.
    #[must_use]
    pub fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.stacks()).filter(|s| self.has_value(*s)).collect();
        let key = |stack: &usize| self.effects[*stack].unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        order
    }

    /// A stack against another.
    #[must_use]
    pub fn pair(&self, stack: usize, leader: usize) -> Pair {
        let (mut worse_by, mut rounds, mut failed) = (Vec::new(), 0, 0);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (a, b) in self.logs[stack].iter().zip(&self.logs[leader]) {
            if *a == Observed::NotRun || *b == Observed::NotRun {
                continue;
            }
            rounds += 1;
            let (a, b) = (a.log(), b.log());
            failed += usize::from(a.is_none() || b.is_none());
            worse_by.extend(a.zip(b).map(|(a, b)| a - b));
            let against = |a: Option<f64>, b: Option<f64>| match b {
                // The other failed, and would have been as bad as can be.
                None => f64::NEG_INFINITY,
                Some(b) => a.unwrap_or(self.best) - b,
            };
            low.push(against(a, b));
            high.push(-against(b, a));
        }
        let ends = if failed == 0 { [typical(&low); 2] } else { [typical(&low), typical(&high)] };
        Pair {
            worse_by,
            rounds,
            failed,
            ends,
            half_step: self.half_steps[stack] + self.half_steps[leader],
            dependence: self.dependence,
            within: self.within,
            prior: self.prior,
            proven: [self.proven.low(stack, leader), -self.proven.low(leader, stack)],
        }
    }

    /// Rounds of the stack that has most.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.logs.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Prior of the variances of all pairs.
    fn common_variance(&self) -> Option<VariancePrior> {
        let present: Vec<usize> = (0..self.stacks()).filter(|s| self.has_value(*s)).collect();
        let count = present.len();
        if count < 3 {
            return None;
        }
        let apart = (PAIRS / count).clamp(1, count - 1);
        let mut own = Vec::new();
        for (index, &a) in present.iter().enumerate() {
            for &b in present.iter().skip(index + 1).take(apart) {
                let pair = self.pair(a, b);
                if let Some(found) = typical(&pair.worse_by) {
                    own.push((found.variance, found.freedom));
                }
            }
        }
        // Pairs that share a stack are alike by that, which hides some of how they differ.
        let alike = count as f64 / (count as f64 - 1.0);
        let prior = VariancePrior::of(&own, alike)?;
        Some(VariancePrior { weight: prior.weight.min(MOST_BORROWED), ..prior })
    }
}

/// Trials that were run, and those of them that failed.
pub(crate) fn run_and_failed(trials: &[Observed]) -> (usize, usize) {
    let count = |wanted: fn(&&Observed) -> bool| trials.iter().filter(wanted).count();
    (count(|cell| **cell != Observed::NotRun), count(|cell| **cell == Observed::Failed))
}

impl Proven {
    /// Keeps a bound if none kept is stricter.
    pub fn keep(&mut self, stack: usize, other: usize, low: f64) {
        let kept = self.0.entry((stack, other)).or_insert(f64::NEG_INFINITY);
        *kept = kept.max(low);
    }

    /// The bounds of these stacks, which get their positions in the list as indices.
    #[must_use]
    pub fn of(&self, stacks: &[usize]) -> Self {
        let at = |stack: &usize| stacks.iter().position(|other| other == stack);
        let kept = self.0.iter().filter_map(|((a, b), low)| Some(((at(a)?, at(b)?), *low)));
        Self(kept.collect())
    }

    fn low(&self, stack: usize, other: usize) -> f64 {
        self.0.get(&(stack, other)).copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// The logarithms of trials that have a value.
fn plain(logs: &[Vec<Observed>]) -> Vec<Vec<Option<f64>>> {
    logs.iter().map(|row| row.iter().map(Observed::log).collect()).collect()
}

/// Residuals of all values after removing "stack + round".
fn residuals(logs: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let stacks = stack_effects(logs);
    let rounds = logs.iter().map(Vec::len).max().unwrap_or(0);
    let offset = |round: usize| {
        let values: Vec<f64> = logs
            .iter()
            .zip(&stacks)
            .filter_map(|(row, effect)| Some(row.get(round).copied().flatten()? - (*effect)?))
            .collect();
        mean(&values).unwrap_or(0.0)
    };
    let offsets: Vec<f64> = (0..rounds).map(offset).collect();
    logs.iter()
        .zip(&stacks)
        .map(|(row, effect)| {
            let rest = |(value, offset): (&Option<f64>, &f64)| {
                value.map(|value| value - effect.unwrap_or(0.0) - offset)
            };
            row.iter().zip(&offsets).map(rest).collect()
        })
        .collect()
}

/// Typical value of each stack after the rounds are taken out, failures counted as the worst.
fn effects(
    logs: &[Vec<Observed>],
    plain: &[Vec<Option<f64>>],
    residuals: &[Vec<Option<f64>>],
) -> Vec<Option<f64>> {
    logs.iter()
        .zip(residuals)
        .zip(stack_effects(plain))
        .map(|((row, rest), effect)| {
            let values: Vec<f64> = row
                .iter()
                .zip(rest)
                .filter(|(cell, _)| **cell != Observed::NotRun)
                .map(|(_, rest)| rest.unwrap_or(f64::INFINITY))
                .collect();
            let centre = match values.as_slice() {
                [one] => Some(*one).filter(|one| one.is_finite()),
                many => typical(many).map(|found| found.centre),
            };
            Some(effect? + centre?)
        })
        .collect()
}

fn spread_of(residuals: &[Option<f64>]) -> f64 {
    let present: Vec<f64> = residuals.iter().flatten().copied().collect();
    typical(&present).map_or(0.0, |found| found.variance)
}

impl Pair {
    /// Typical "worse by": in the middle between the ends that failures leave open. `None` below 2
    /// rounds, or when failures leave it wholly open.
    #[must_use]
    pub fn centre(&self) -> Option<f64> {
        typical(&self.worse_by).map(|found| found.centre)
    }

    /// Standard deviation of one round's "worse by", with what is borrowed.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        typical(&self.worse_by).map(|found| self.moderated(&found).0.sqrt())
    }

    /// The same, as large as dependent rounds make it count.
    #[must_use]
    pub fn inflated_spread(&self) -> Option<f64> {
        let inflation = self.inflation(self.worse_by.len());
        self.spread().map(|spread| spread * inflation.sqrt())
    }

    /// Factor on the variance of a mean of `rounds` rounds: the worse of both orders.
    fn inflation(&self, rounds: usize) -> f64 {
        let within = self.within.as_ref().map_or(1.0, |within| within.inflation(rounds));
        self.dependence.inflation(rounds).max(within)
    }

    /// Returns true if the resolution of the values is unknown, because all are the same.
    #[must_use]
    pub fn is_unmeasurable(&self) -> bool {
        self.half_step.is_infinite()
    }

    /// Least "worse by" that is not excluded with this chance of error.
    #[must_use]
    pub fn low(&self, error: f64) -> f64 {
        self.ends[0].map_or(f64::NEG_INFINITY, |found| found.centre - self.reach(&found, error))
    }

    /// Largest "worse by" that is not excluded with this chance of error.
    #[must_use]
    pub fn high(&self, error: f64) -> f64 {
        self.ends[1].map_or(f64::INFINITY, |found| found.centre + self.reach(&found, error))
    }

    /// Least "worse by" that neither this look nor an earlier one excludes.
    #[must_use]
    pub fn proven_low(&self, error: f64) -> f64 {
        self.low(error).max(self.proven[0])
    }

    /// Least "worse by" that earlier looks leave.
    #[must_use]
    pub fn proven_before(&self) -> f64 {
        self.proven[0]
    }

    /// Largest "worse by" that neither this look nor an earlier one excludes.
    #[must_use]
    pub fn proven_high(&self, error: f64) -> f64 {
        self.high(error).min(self.proven[1])
    }

    /// The interval whose ends each miss with this chance; `None` below 2 rounds with values.
    #[must_use]
    pub fn interval(&self, error: f64) -> Option<Interval> {
        let centre = self.centre()?;
        Some(Interval {
            low: self.low(error).min(centre),
            centre,
            high: self.high(error).max(centre),
        })
    }

    /// Variance of one round and its degrees of freedom, with what is borrowed.
    fn moderated(&self, found: &Typical) -> (f64, f64) {
        let Some(prior) = self.prior else { return (found.variance, found.freedom) };
        let freedom = prior.weight + found.freedom;
        let variance = (prior.weight * prior.typical + found.freedom * found.variance) / freedom;
        (variance, freedom)
    }

    fn reach(&self, found: &Typical, error: f64) -> f64 {
        let (variance, freedom) = self.moderated(found);
        let variance = variance * self.inflation(found.count) / found.count as f64;
        if variance == 0.0 {
            return self.half_step;
        }
        let left = self.within.as_ref().map_or(1.0, |within| within.dependence.freedom());
        let freedom = (freedom * self.dependence.freedom().min(left)).max(1.0);
        t_quantile_upper(error, freedom) * variance.sqrt() + self.half_step
    }
}

#[cfg(test)]
mod tests;
