//! Checks for effects that disturb a measurement: drift, order, carry-over, dependence.
//!
//! All checks use the residuals of the logarithms after removing "stack + round". Rounds in random
//! order keep these effects out of the comparison. The checks report them all the same, because they
//! widen the intervals and reveal properties of the device.

use crate::interval::Interval;
use crate::linear::{Projector, Row};
use crate::serial::von_neumann;
use crate::special::{f_upper_tail, t_quantile_upper, t_upper_tail};

/// A check speaks up below this chance of being wrong. Several checks run on every run, so it is
/// stricter than the usual 5 %.
pub const DETECT_BELOW: f64 = 0.01;

/// Residual degrees of freedom below which a check says nothing.
const LEAST_FREEDOM: usize = 4;

/// One trial, in the order in which they ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Index of the stack.
    pub stack: usize,
    /// Number of the round.
    pub round: usize,
    /// Place in the round, from 0.
    pub position: usize,
    /// Judged metric, positive.
    pub value: f64,
}

/// A steady change with something that can be counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Factor on the metric over the whole range seen (first round to last, first place to last),
    /// with its interval at 95 %.
    pub change: Interval,
    /// Chance of a trend this strong without any.
    pub p: f64,
}

/// Effect of the preceding trial on a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarryOver {
    /// Factor between the best and the worst predecessor. An estimate from the data, biased
    /// upwards where nothing is there: judge by `p`.
    pub factor: f64,
    /// Chance of such differences between predecessors without carry-over (F test).
    pub p: f64,
}

/// All checks of a run. `None` where there are too few trials to say anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checks {
    /// Change from the first round to the last.
    pub drift: Option<Trend>,
    /// Change from the first place of a round to the last.
    pub order: Option<Trend>,
    /// Dependence on the stack that ran before.
    pub carry_over: Option<CarryOver>,
    /// Chance of successive residuals being as alike as they are if they were independent.
    pub dependence_p: Option<f64>,
}

impl Trend {
    /// Returns true if the effect is there beyond reasonable doubt.
    #[must_use]
    pub fn detected(&self) -> bool {
        self.p < DETECT_BELOW
    }
}

impl CarryOver {
    /// Returns true if the effect is there beyond reasonable doubt.
    #[must_use]
    pub fn detected(&self) -> bool {
        self.p < DETECT_BELOW
    }
}

/// Runs all checks over trials in the order in which they ran. Trials whose value is not a
/// positive number are left out.
#[must_use]
pub fn check(trials: &[Trial]) -> Checks {
    let trials = usable(trials);
    let Some(base) = Base::new(&trials) else {
        return Checks { drift: None, order: None, carry_over: None, dependence_p: None };
    };
    let positions: Vec<f64> = trials.iter().map(|t| t.position as f64).collect();
    Checks {
        drift: drift(&base),
        order: trend(&base, &positions),
        carry_over: carry_over(&trials, &base),
        dependence_p: von_neumann(&base.residuals),
    }
}

fn usable(trials: &[Trial]) -> Vec<Trial> {
    trials.iter().copied().filter(|t| t.value > 0.0 && t.value.is_finite()).collect()
}

/// Number of each distinct item in order of first appearance.
fn numbered(items: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut known = std::collections::BTreeMap::new();
    let numbers = items
        .map(|item| {
            let next = known.len();
            *known.entry(item).or_insert(next)
        })
        .collect();
    (numbers, known.len())
}

/// The fit "stack + round".
struct Base {
    rows: Vec<Row>,
    columns: usize,
    logs: Vec<f64>,
    residuals: Vec<f64>,
    squares: f64,
    /// Effect of each round, in order of running; the first is 0.
    rounds: Vec<f64>,
}

impl Base {
    /// `None` with fewer than 2 rounds, or when rounds and stacks cannot be told apart.
    fn new(trials: &[Trial]) -> Option<Self> {
        let (stack, stacks) = numbered(trials.iter().map(|t| t.stack));
        let (round, rounds) = numbered(trials.iter().map(|t| t.round));
        if rounds < 2 {
            return None;
        }
        // The first round has no column.
        let of_round = |r: usize| (r > 0).then(|| (stacks + r - 1, 1.0));
        let rows = stack.iter().zip(&round);
        let rows: Vec<Row> =
            rows.map(|(&s, &r)| std::iter::once((s, 1.0)).chain(of_round(r)).collect()).collect();
        let columns = stacks + rounds - 1;
        let logs: Vec<f64> = trials.iter().map(|t| t.value.ln()).collect();
        let fit = Projector::of_rows(columns, rows.clone())?;
        let solved = fit.solve(&logs);
        let residuals = fit.residuals(&logs, &solved);
        let squares = residuals.iter().map(|r| r * r).sum();
        let rounds = std::iter::once(0.0).chain(solved[stacks..].iter().copied()).collect();
        Some(Self { rows, columns, logs, residuals, squares, rounds })
    }

    /// The fit with further columns, and its residual degrees of freedom.
    fn with(&self, extra: &[Vec<f64>]) -> Option<(Projector, usize)> {
        let columns = self.columns + extra.first().map_or(0, Vec::len);
        let freedom = self.rows.len().checked_sub(columns)?;
        (freedom >= LEAST_FREEDOM).then_some(())?;
        let with = |(row, more): (&Row, &Vec<f64>)| {
            let more = (self.columns..).zip(more.iter().copied()).filter(|(_, x)| *x != 0.0);
            row.iter().copied().chain(more).collect()
        };
        let rows = self.rows.iter().zip(extra).map(with).collect();
        Some((Projector::of_rows(columns, rows)?, freedom))
    }
}

/// Trend of the round effects over the number of the round.
fn drift(base: &Base) -> Option<Trend> {
    let count = base.rounds.len();
    if count < LEAST_FREEDOM + 2 {
        return None;
    }
    let rows = (0..count).map(|r| vec![1.0, r as f64]).collect();
    let fit = Projector::new(rows)?;
    let solved = fit.solve(&base.rounds);
    let squares = fit.residual_squares(&base.rounds, &solved);
    let freedom = count - 2;
    let range = (count - 1) as f64;
    Some(slope_trend(solved[1], fit.variance_of(&[0.0, 1.0]) * squares, freedom, range))
}

/// Trend of single trials with a number given for each.
fn trend(base: &Base, values: &[f64]) -> Option<Trend> {
    let extra: Vec<Vec<f64>> = values.iter().map(|v| vec![*v]).collect();
    let (fit, freedom) = base.with(&extra)?;
    let solved = fit.solve(&base.logs);
    let squares = fit.residual_squares(&base.logs, &solved);
    let mut unit = vec![0.0; fit.columns()];
    unit[base.columns] = 1.0;
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let slope = solved[base.columns];
    Some(slope_trend(slope, fit.variance_of(&unit) * squares, freedom, highest - lowest))
}

/// `scaled_squares` is the slope's variance for unit errors times the residual sum of squares.
fn slope_trend(slope: f64, scaled_squares: f64, freedom: usize, range: f64) -> Trend {
    let df = freedom as f64;
    let error = (scaled_squares / df).sqrt();
    let centre = slope * range;
    let reach = t_quantile_upper(0.025, df) * error * range;
    let p = if error > 0.0 {
        2.0 * t_upper_tail((slope / error).abs(), df)
    } else {
        f64::from(u8::from(slope == 0.0))
    };
    let change = Interval { low: centre - reach, centre, high: centre + reach }.exp();
    Trend { change, p }
}

/// F test of the predecessor's stack, nested over "stack + round".
fn carry_over(trials: &[Trial], base: &Base) -> Option<CarryOver> {
    // The first trial has no predecessor; it takes part with the average one.
    let before: Vec<usize> = trials.windows(2).map(|w| w[0].stack).collect();
    let (number, kinds) = numbered(before.into_iter());
    if kinds < 2 {
        return None;
    }
    let columns = kinds - 1;
    let mut extra = vec![vec![0.0; columns]];
    extra.extend(number.iter().map(|&kind| {
        (0..columns)
            .map(|c| if kind == columns { -1.0 } else { f64::from(u8::from(kind == c)) })
            .collect::<Vec<f64>>()
    }));
    let (fit, freedom) = base.with(&extra)?;
    let solved = fit.solve(&base.logs);
    let squares = fit.residual_squares(&base.logs, &solved);
    let explained = (base.squares - squares).max(0.0) / columns as f64;
    let mut effects = solved[base.columns..].to_vec();
    effects.push(-effects.iter().sum::<f64>());
    let highest = effects.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = effects.iter().copied().fold(f64::INFINITY, f64::min);
    // Exact data leave only rounding errors; nothing can be concluded from their ratio.
    let noise = squares / freedom as f64;
    let p = if noise > 1e-20 {
        f_upper_tail(explained / noise, columns as f64, freedom as f64)
    } else {
        f64::from(u8::from(explained < 1e-18))
    };
    Some(CarryOver { factor: (highest - lowest).exp(), p })
}

#[cfg(test)]
mod tests;
