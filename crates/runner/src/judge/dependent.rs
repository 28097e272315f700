//! Limits of an answer where rounds depend on each other.

use seekwell_model::verdict::{Decision, Verdict};
use seekwell_model::warning::{Warning, WarningCode};

#[cfg(test)]
mod tests;

/// Correlation of neighbours from which few rounds are not enough.
const STRONG: f64 = 0.45;

/// Rounds that are enough where neighbours resemble each other.
const ENOUGH: u32 = 20;

/// Warns of a certificate from few rounds that depend on each other, as far as the trials show it.
#[must_use]
pub fn dependent_rounds(verdict: &Verdict) -> Option<Warning> {
    let certified = verdict.decision.is_some_and(|decision| decision != Decision::Inconclusive);
    let found = verdict.evidence.dependence.as_ref().filter(|_| certified)?;
    let (rounds, correlation) = (verdict.rounds, found.correlation?);
    if correlation < STRONG || rounds >= ENOUGH {
        return None;
    }
    let text = format!(
        "successive rounds resemble each other (correlation {correlation:.2}), and {rounds} of them \
         are too few for a bound that is as certain as it says"
    );
    Some(Warning::new(WarningCode::DependentRounds, text))
}
