//! Names of measures in formulas: groups, missing ones, circles.

use super::Measure;
use crate::formula::Formula;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the measures that a name means: several for a group, the first letters and `*`.
fn meant<'m>(name: &str, measures: &'m BTreeMap<String, Measure>) -> Vec<&'m String> {
    match name.strip_suffix('*') {
        Some(begin) => measures.keys().filter(|known| known.starts_with(begin)).collect(),
        None => measures.get_key_value(name).map(|(known, _)| known).into_iter().collect(),
    }
}

/// Returns the measures that these names mean, each once in their order.
pub(crate) fn cells(names: &[String], measures: &BTreeMap<String, Measure>) -> Vec<String> {
    let all: BTreeSet<&String> = names.iter().flat_map(|name| meant(name, measures)).collect();
    all.into_iter().cloned().collect()
}

/// Returns a measure that a formula names and that does not exist.
pub(crate) fn unknown(formula: &Formula, measures: &BTreeMap<String, Measure>) -> Option<String> {
    formula.measures().into_iter().find(|name| meant(name, measures).is_empty())
}

/// Returns true if a measure depends on itself.
pub(crate) fn needs_itself(name: &str, measures: &BTreeMap<String, Measure>) -> bool {
    let mut open = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(measure) = open.pop().and_then(|next| measures.get(next)) {
        for needed in measure.formula.measures().iter().flat_map(|name| meant(name, measures)) {
            if needed == name {
                return true;
            }
            if seen.insert(needed) {
                open.push(needed);
            }
        }
    }
    false
}
