//! Limits of a certificate where rounds depend on each other.
//!
//! Of 100 certificates at most two are to be wrong. Two noises break that, as
//! `docs/statistics-table.md` shows: spells of slow rounds that hit single stacks, and few rounds that
//! resemble their neighbours.

use seekwell_model::verdict::{Decision, Verdict};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::{Comparison, Finding};

#[cfg(test)]
mod tests;

/// Correlation of neighbours from which few rounds are not enough.
const STRONG: f64 = 0.45;

/// Rounds that are enough where neighbours resemble each other.
const ENOUGH_OF_ALIKE: u32 = 20;

/// Probability of spells from which they are reported.
const LIKELY: f64 = 0.5;

/// Rounds that show spells of eight rounds.
const ENOUGH_OF_SPELLS: u32 = 40;

/// Limits of a certificate from so many rounds, as the end of its reason.
pub(super) fn limits(comparison: &Comparison) -> &'static str {
    let rounds = comparison.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let certified = !matches!(comparison.finding, Finding::Unresolved { .. });
    let estimated = comparison.dependence.is_some();
    if certified && estimated && rounds < ENOUGH_OF_SPELLS as usize {
        "; slow spells of several rounds that hit single stacks cannot be seen in fewer than 40 rounds, \
         and may make the verdict wrong"
    } else {
        ""
    }
}

/// Warns of a certificate from few rounds that depend on each other, as far as the trials show it.
#[must_use]
pub fn dependent_rounds(verdict: &Verdict) -> Option<Warning> {
    let certified = verdict.decision.is_some_and(|decision| decision != Decision::Inconclusive);
    let found = verdict.evidence.dependence.as_ref().filter(|found| certified && found.told)?;
    let (rounds, correlation) = (verdict.rounds, found.correlation.unwrap_or(0.0));
    let spells = found.spells.unwrap_or(0.0);
    let text = if spells >= LIKELY && rounds < ENOUGH_OF_SPELLS {
        format!(
            "single stacks seem to have slow or fast spells of several rounds (probability {:.0} %), and \
             {rounds} rounds are too few to average them out",
            100.0 * spells
        )
    } else if correlation >= STRONG && rounds < ENOUGH_OF_ALIKE {
        format!(
            "successive rounds resemble each other (correlation {correlation:.2}), and {rounds} of them \
             are too few for a verdict that is as certain as it says"
        )
    } else {
        return None;
    };
    Some(Warning::new(WarningCode::DependentRounds, text))
}
