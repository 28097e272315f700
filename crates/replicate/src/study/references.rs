//! Names of measures in formulas: groups, missing ones, circles.

use super::Measure;
use crate::formula::Formula;
use std::collections::BTreeMap;

/// Returns the measures that these names mean, groups by their first letters and `*`, each once in their order.
pub(crate) fn cells(names: &[String], measures: &BTreeMap<String, Measure>) -> Vec<String> {
    let is_of = |known: &String| {
        names.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => known.starts_with(begin),
            None => known == name,
        })
    };
    measures.keys().filter(|known| is_of(known)).cloned().collect()
}

/// Returns a measure that a formula names and that does not exist.
pub(crate) fn unknown(formula: &Formula, measures: &BTreeMap<String, Measure>) -> Option<String> {
    formula.measures().into_iter().find(|name| match name.strip_suffix('*') {
        Some(begin) => !measures.keys().any(|known| known.starts_with(begin)),
        None => !measures.contains_key(name),
    })
}

/// Returns true if a measure depends on itself.
pub(crate) fn needs_itself(name: &str, measures: &BTreeMap<String, Measure>) -> bool {
    let mut open = vec![name.to_owned()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(next) = open.pop() {
        let Some(measure) = measures.get(&next) else { continue };
        for needed in measure.formula.measures() {
            let names: Vec<String> = match needed.strip_suffix('*') {
                Some(begin) => {
                    measures.keys().filter(|known| known.starts_with(begin)).cloned().collect()
                }
                None => vec![needed],
            };
            for needed in names {
                if needed == name {
                    return true;
                }
                if !seen.contains(&needed) {
                    seen.push(needed.clone());
                    open.push(needed);
                }
            }
        }
    }
    false
}
