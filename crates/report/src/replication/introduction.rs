//! The introduction of the Markdown comparison, with results in place of their names.

use super::{number, with_unit};
use crate::markdown::escape;
use seekwell_model::replication::{Also, Quantity, Replication};

/// The introduction with the result of each `{{ID}}`: a measured value with its unit, or the quantity of a claim's first
/// condition. `{{ID#2}}` is the second further quantity of a value or claim. A name without a result stays.
pub(super) fn filled(introduction: &str, found: &Replication) -> String {
    let mut out = String::new();
    let mut rest = introduction;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        match result(name, found) {
            Some(text) => out.push_str(&escape(&text)),
            None => out.push_str(&format!("{{{{{name}}}}}")),
        }
        rest = behind;
    }
    out + rest
}

fn result(name: &str, found: &Replication) -> Option<String> {
    let (id, nth) = match name.split_once('#') {
        Some((id, nth)) => (id, Some(nth.parse().ok()?)),
        None => (name, None),
    };
    let mut values = found.studies.iter().flat_map(|study| &study.values);
    if let Some(value) = values.find(|value| value.id == id) {
        let quantity = nth.map_or(value.measured, |nth| further(&value.also, nth))?;
        return Some(with_unit(quantity.centre, &value.unit));
    }
    let mut claims = found.studies.iter().flat_map(|study| &study.claims);
    let claim = claims.find(|claim| claim.id == id)?;
    let quantity = match nth {
        Some(nth) => further(&claim.also, nth)?,
        None => claim.tests.first()?.found?,
    };
    Some(number(quantity.centre))
}

fn further(also: &[Also], nth: usize) -> Option<Quantity> {
    also.get(nth.checked_sub(1)?)?.found
}
