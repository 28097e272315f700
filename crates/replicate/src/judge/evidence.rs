//! Results that are no evidence, and so are left out of the score.
//!
//! The score counts the claims that a study makes, each once. It leaves out comparisons of numbers that the models were
//! fitted to, and claims that the study's file names, such as repeats.

#[cfg(test)]
mod tests;

use crate::claims::{Claims, Judgeable};
use crate::study::Study;
use seekwell_model::replication::{Agreement, NotCounted, NotCountedKind, ValueUse};

/// Returns the reason for which a result does not count; `None` when it counts.
pub(super) fn not_counted(
    claim: &Judgeable,
    agreement: Option<Agreement>,
    claims: &Claims,
    study: &Study,
) -> Option<NotCounted> {
    if let Some(reason) = study.not_evidence.get(&claim.id) {
        return Some(NotCounted { kind: NotCountedKind::Stated, reason: reason.clone() });
    }
    agreement.filter(|_| is_fitted(claim, claims)).map(|_| NotCounted {
        kind: NotCountedKind::FittedValues,
        reason: "the models were fitted to every number that it compares".to_owned(),
    })
}

/// Returns true if the claim compares published values and all of them were fitted.
fn is_fitted(claim: &Judgeable, claims: &Claims) -> bool {
    let names = claim.form.names();
    let fit = |name: &&str| claims.value(name).is_some_and(|value| value.usage == ValueUse::Fit);
    !names.is_empty() && names.iter().all(fit)
}
