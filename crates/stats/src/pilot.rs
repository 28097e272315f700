//! Pilot of a race: a few stacks and two rounds measure the noise of a trial and the time it takes.

use crate::design::Design;
use crate::estimate::{mean, median};
use crate::linear::weighted_least_squares;
use crate::race::RaceConfig;

/// One trial of a pilot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotTrial {
    /// Index of the stack.
    pub stack: usize,
    /// Number of the round.
    pub round: usize,
    /// Judged metric; `None` for a failed trial.
    pub value: Option<f64>,
    /// Time the whole trial took, mkfs to tear-down, in s.
    pub seconds: f64,
}

/// Result of a pilot.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Standard deviation of a single trial's logarithm inside rounds (about the coefficient of
    /// variation). `None` without a stack tried twice.
    pub spread: Option<f64>,
    /// Predicted time of a trial of every stack of the design, in s.
    pub seconds: Vec<f64>,
}

/// Stacks for a pilot: few, but every value of every axis at least once, so that the time of
/// every other stack can be predicted from the axes; at least 2 where the design has them.
#[must_use]
pub fn pilot_stacks(design: &Design) -> Vec<usize> {
    let mut missing: Vec<Vec<bool>> =
        (0..design.axes()).map(|axis| vec![true; design.size(axis)]).collect();
    let mut chosen = Vec::new();
    loop {
        let gain = |stack: usize| {
            (0..design.axes()).filter(|a| missing[*a][design.level(stack, *a)]).count()
        };
        let best = (0..design.stacks())
            .filter(|s| !chosen.contains(s))
            .max_by_key(|s| (gain(*s), std::cmp::Reverse(*s)));
        let Some(stack) = best.filter(|s| gain(*s) > 0 || chosen.len() < 2) else { break };
        for (axis, values) in missing.iter_mut().enumerate() {
            values[design.level(stack, axis)] = false;
        }
        chosen.push(stack);
    }
    chosen.sort_unstable();
    chosen
}

/// Evaluates a pilot. Trials that failed count for time only; times that are not positive are
/// left out.
#[must_use]
pub fn evaluate(design: &Design, trials: &[PilotTrial]) -> Pilot {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    let log = |trial: &PilotTrial, value: f64| (trial.stack, value.ln());
    let times: Vec<(usize, f64)> =
        trials.iter().filter(|t| positive(t.seconds)).map(|t| log(t, t.seconds)).collect();
    Pilot {
        spread: spread(trials),
        seconds: by_axes(design, &times).into_iter().map(f64::exp).collect(),
    }
}

/// Trials of the screen by their round sizes, as the race will run them.
#[must_use]
pub fn screen_rounds(stacks: usize, config: &RaceConfig) -> Vec<usize> {
    let mut left = stacks;
    let mut rounds = Vec::new();
    while left > config.finalists {
        for _ in 0..crate::race::rounds_per_cut(stacks, left) {
            rounds.push(left);
        }
        left = left.div_ceil(2).max(config.finalists);
    }
    rounds
}

/// Pooled spread inside rounds.
fn spread(trials: &[PilotTrial]) -> Option<f64> {
    let rounds = 1 + trials.iter().map(|t| t.round).max().unwrap_or(0);
    let stacks = 1 + trials.iter().map(|t| t.stack).max().unwrap_or(0);
    let mut logs = vec![vec![None; rounds]; stacks];
    for trial in trials {
        let value = trial.value.filter(|v| *v > 0.0 && v.is_finite());
        logs[trial.stack][trial.round] = value.map(f64::ln);
    }
    // Stacks complete over all rounds: two-way residuals with (stacks - 1)(rounds - 1) degrees.
    let full: Vec<Vec<f64>> =
        logs.iter().filter_map(|row| row.iter().copied().collect::<Option<Vec<f64>>>()).collect();
    if rounds < 2 || full.is_empty() {
        return None;
    }
    let round_means: Vec<f64> = (0..rounds)
        .filter_map(|r| mean(&full.iter().map(|row| row[r]).collect::<Vec<_>>()))
        .collect();
    let freedom = ((full.len() - 1) * (rounds - 1)) as f64;
    if freedom < 1.0 {
        return None;
    }
    let grand = round_means.iter().sum::<f64>() / rounds as f64;
    let squares: f64 = full
        .iter()
        .map(|row| {
            let own = row.iter().sum::<f64>() / rounds as f64;
            row.iter().zip(&round_means).map(|(v, r)| (v - own - r + grand).powi(2)).sum::<f64>()
        })
        .sum();
    Some((squares / freedom).sqrt())
}

/// A logarithm for every stack: the additive model fitted to the pilot, with a mild pull towards
/// the typical value for axis values it did not run. Empty without trials.
fn by_axes(design: &Design, logs: &[(usize, f64)]) -> Vec<f64> {
    let usable: Vec<(usize, f64)> =
        logs.iter().copied().filter(|(stack, _)| *stack < design.stacks()).collect();
    let Some(typical) = median(&usable.iter().map(|(_, log)| *log).collect::<Vec<_>>()) else {
        return Vec::new();
    };
    let rows: Vec<Vec<f64>> = (0..design.stacks()).map(|s| design.main_effects(s)).collect();
    let columns = design.main_columns();
    // A ridge by pseudo-trials: each coefficient but the mean is seen once as 0 with little weight.
    let pull: Vec<Vec<f64>> =
        (1..columns).map(|c| (0..columns).map(|i| f64::from(u8::from(i == c))).collect()).collect();
    let fit = weighted_least_squares(
        columns,
        usable
            .iter()
            .map(|(stack, log)| (rows[*stack].as_slice(), log - typical, 1.0))
            .chain(pull.iter().map(|row| (row.as_slice(), 0.0, PULL))),
    );
    rows.iter().map(|row| typical + fit.predict(row)).collect()
}

/// Weight of the pull against that of one pilot trial: the noise of a trial (about 5 %)
/// against the usual differences between axis values (about 15 %), squared.
const PULL: f64 = 0.1;

#[cfg(test)]
mod tests;
