//! Factors between a stack and the leader, in words.

use crate::number::unit_of;
use seekwell_model::lab::Better;
use seekwell_model::metrics::Unit;
use seekwell_model::verdict::Verdict;

/// Returns true for a speed or a time: stacks are faster then, and better otherwise.
pub(crate) fn is_speed(verdict: &Verdict) -> bool {
    matches!(
        (unit_of(&verdict.metric), verdict.better),
        (Some(Unit::Seconds | Unit::Nanoseconds), Better::Lower)
            | (Some(Unit::PerSecond | Unit::MegabytesPerSecond), Better::Higher)
    )
}

/// Returns the factor by which the leader is better than a stack with this ratio.
pub(crate) fn benefit(better: Better, ratio: f64) -> f64 {
    match better {
        Better::Lower => ratio,
        Better::Higher => 1.0 / ratio,
    }
}

/// Two digits, three from 100 on: `1.9`, `52`, `137`, `17,700`.
pub(crate) fn factor(value: f64) -> String {
    match value {
        small if small < 9.95 => format!("{small:.1}"),
        large if large >= 999.5 && large.is_finite() => {
            let digit = 10_f64.powf(large.log10().floor() - 2.0);
            thousands(((large / digit).round() * digit) as u64)
        }
        value => format!("{value:.0}"),
    }
}

/// A whole number with commas: `17,700`.
fn thousands(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        more => format!("{},{:03}", thousands(more), number % 1000),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { list_with(names, "and") }
}

/// The same with another word before the last name; empty without one.
pub(crate) fn list_with<T: AsRef<str>>(names: &[T], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        names => names.concat(),
    }
}
