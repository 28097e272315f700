//! Results that are no evidence, and so are left out of the score.
//!
//! The score counts the claims that a study makes, each once. It leaves out pairs of published numbers that
//! no sentence compares, comparisons of numbers that the models were fitted to, claims that a tie confirms as well as
//! a win and that agree by ties, and claims that the study's file names, such as repeats.

#[cfg(test)]
mod tests;

use super::bounds::differs_from;
use super::tested::Judge;
use crate::claims::{Claims, Judgeable};
use seekwell_model::replication::{Agreement, NotCounted, NotCountedKind, ValueUse};

/// Returns the reason for which a result does not count; `None` when it counts.
pub(super) fn not_counted(
    claim: &Judgeable,
    agreement: Option<Agreement>,
    claims: &Claims,
    judge: &Judge<'_>,
) -> Option<NotCounted> {
    let because = |kind, reason: String| Some(NotCounted { kind, reason });
    if claim.generated {
        let reason = "a pair of published numbers; no sentence of the study compares them";
        return because(NotCountedKind::GeneratedPair, reason.to_owned());
    }
    if let Some(reason) = judge.study.not_evidence.get(&claim.id) {
        return because(NotCountedKind::Stated, reason.clone());
    }
    agreement?;
    if is_fitted(claim, claims) {
        let reason = "the models were fitted to every number that it compares";
        return because(NotCountedKind::FittedValues, reason.to_owned());
    }
    let tie = judge.tie(claim);
    let weakest = judge
        .winning_ratios(claim)
        .into_iter()
        .min_by(|one, two| one.ln().abs().total_cmp(&two.ln().abs()))
        .filter(|_| agreement == Some(Agreement::Agrees))?;
    if differs_from(weakest, tie) {
        return None;
    }
    let reason =
        format!("a ratio of {weakest:.3} is within the lab's tie width of {} %", 100.0 * tie);
    because(NotCountedKind::WithinTie, reason)
}

/// Returns true if the claim compares published values and all of them were fitted.
fn is_fitted(claim: &Judgeable, claims: &Claims) -> bool {
    let names = claim.form.names();
    !names.is_empty() && names.iter().all(|name| claims.usage(name) == Some(ValueUse::Fit))
}
