//! Forecast of the remaining time of a race: its own future, simulated from the data so far.

use crate::estimate::quantile;
use crate::question::Better;
use crate::race::{Race, Step};
use crate::rng::{derive_seed, seeded};

/// Trials that a race still needs. The range holds in about 7 of 10 races, not in 8, because the
/// spread of single stacks is known from few trials; and as a race ends at a look, it is wide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remaining {
    /// In the middle of the simulated futures.
    pub typical: f64,
    /// 9 of 10 simulated futures need at least this…
    pub low: f64,
    /// … and 9 of 10 at most this many.
    pub high: f64,
}

/// Trials that the common variance of all stacks is taken to be worth when a stack's spread is
/// drawn: few, so that a noisy stack seen a few times only may turn out calm, and a calm one noisy.
const PRIOR_TRIALS: f64 = 1.0;

/// Simulates the rest of a race so many times: true effects drawn from the estimates and their
/// errors, trials from the estimated spreads, the race's own rules for the rest. `None` before
/// any round, or when no stack has a value.
///
/// A simulation costs as much as deciding the real race, some ms to some 100 ms.
#[must_use]
pub fn remaining(race: &Race, simulations: u64) -> Option<Remaining> {
    let estimates = race.estimates();
    let known: Vec<f64> = estimates.iter().flatten().map(|e| e.spread).collect();
    let typical_spread = quantile(&known, 0.5)?;
    let sign = match race.config().question.better {
        Better::Lower => 1.0,
        Better::Higher => -1.0,
    };
    let run = |simulation: u64| -> Option<f64> {
        let label = format!("forecast {simulation}");
        let mut rng = seeded(derive_seed(race.config().seed, &label));
        let truth: Vec<(f64, f64)> = estimates
            .iter()
            .map(|estimate| match estimate {
                Some(e) => {
                    let freedom = e.trials as f64 + PRIOR_TRIALS;
                    let unsure = (rng.normal() / (2.0 * freedom).sqrt()).exp();
                    (e.worse + e.error * rng.normal(), e.spread * unsure)
                }
                None => (0.0, typical_spread),
            })
            .collect();
        let mut future = race.clone();
        let mut trials = 0;
        while let Step::Run(plan) = future.next_round() {
            let mut values = Vec::with_capacity(plan.order.len());
            for stack in plan.order {
                let (worse, spread) = truth[stack];
                values.push((stack, Some((sign * (worse + spread * rng.normal())).exp())));
            }
            trials += values.len();
            future.record(&values).ok()?;
        }
        Some(trials as f64)
    };
    let trials: Vec<f64> = (0..simulations).filter_map(run).collect();
    Some(Remaining {
        typical: quantile(&trials, 0.5)?,
        low: quantile(&trials, 0.1)?,
        high: quantile(&trials, 0.9)?,
    })
}

#[cfg(test)]
mod tests;
