//! Resolution (step) of a clock or counter, and the error that it causes.
//!
//! A timer that ticks every 10 ms reports 30 ms for everything between 25 and 35. Repetition averages
//! that out only if noise spreads the values over several ticks. With less noise, the true value may
//! differ by half a step from the mean, however many rounds are run.

use crate::estimate::quantile;

/// Values are looked at as multiples of this, in their own unit: a nanosecond of values in seconds.
const FINEST: f64 = 1e-9;

/// A value counts as a multiple of [`FINEST`] when it is within this part of one.
const OFF_BY: f64 = 1e-3;

/// Larger multiples than this are not exact in a floating-point number.
const LARGEST: f64 = 9e15;

/// Largest error of the typical value of each stack that the step of its values can cause, in
/// logarithms: 0 if no value of a stack repeats or its values spread over a step or more, infinite if
/// every value of all stacks is the same.
///
/// The step is the greatest common divisor of all values if they are decimal fractions of up to nine
/// digits; otherwise the distance from a stack's median to the nearest other value of any stack.
#[must_use]
pub fn half_steps(values: &[Vec<f64>]) -> Vec<f64> {
    if !values.iter().any(|row| repeats(row)) {
        return vec![0.0; values.len()];
    }
    let mut all: Vec<f64> = values.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    let divisor = common_divisor(&all);
    values.iter().map(|row| half_step(row, &all, divisor)).collect()
}

fn repeats(row: &[f64]) -> bool {
    let mut sorted = row.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

fn half_step(row: &[f64], all: &[f64], divisor: Option<f64>) -> f64 {
    if !repeats(row) {
        return 0.0;
    }
    if all.len() == 1 {
        return f64::INFINITY;
    }
    let mut sorted = row.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted[(sorted.len() - 1) / 2];
    let step = divisor.map_or_else(|| nearest(middle, all), |divisor| divisor / middle);
    let logs: Vec<f64> = row.iter().map(|value| value.ln()).collect();
    let at = |share| quantile(&logs, share).unwrap_or(0.0);
    // Two thirds of the values within a step: they do not average over it.
    if 0.5 * (at(0.84) - at(0.16)) >= step {
        return 0.0;
    }
    -(-0.5 * step.min(1.999)).ln_1p()
}

/// Relative distance from a value to the nearest other one.
fn nearest(value: f64, all: &[f64]) -> f64 {
    let distance = |other: &f64| (other / value - 1.0).abs();
    all.iter().filter(|other| **other != value).map(distance).fold(f64::INFINITY, f64::min)
}

/// The greatest common divisor of decimal fractions, in their unit.
fn common_divisor(values: &[f64]) -> Option<f64> {
    let whole = |value: &f64| {
        let multiple = value / FINEST;
        let near = (multiple - multiple.round()).abs() < OFF_BY && multiple < LARGEST;
        (near && multiple >= 1.0).then(|| multiple.round() as u64)
    };
    let multiples: Option<Vec<u64>> = values.iter().map(whole).collect();
    let divisor = multiples?.into_iter().fold(0, gcd);
    (divisor > 0).then_some(divisor as f64 * FINEST)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests;
