//! The decision of a verdict, in one sentence to act on.

use super::percent;
use seekwell_model::answer::Answer;
use seekwell_model::lab::Better;
use seekwell_model::metrics::{Unit, metric};
use seekwell_model::verdict::{Decision, Verdict};
use seekwell_stats::paired::Finding;

/// Sentence of a run of which nothing can be said.
pub(super) const NOTHING: &str = "Nothing can be compared yet.";

/// The decision of a comparison.
pub(super) fn of(found: &Finding) -> Decision {
    match found {
        Finding::Winner { .. } => Decision::Winner,
        Finding::Tie { set, .. } if set.len() > 1 => Decision::EquivalentSet,
        Finding::Tie { .. } => Decision::BestChoice,
        Finding::Unresolved { .. } => Decision::Inconclusive,
    }
}

/// A number with three significant digits.
pub(super) fn three(value: f64) -> String {
    let digits = match value.abs() {
        value if !value.is_finite() => return "unknown".to_owned(),
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 || value == 0.0 => 2,
        value => (2 - value.log10().floor() as i32).clamp(0, 9) as usize,
    };
    format!("{value:.digits$}")
}

/// The answer in one sentence.
pub(super) fn sentence(answer: &Answer, verdict: &Verdict) -> String {
    let (Some(pick), among) = (&answer.pick, answer.among) else { return NOTHING.to_owned() };
    let Some(loss) = answer.loss else {
        let cause = answer.cause.as_deref().unwrap_or("the trials set no bound");
        return format!("If you must choose: {pick}; {cause}.");
    };
    let name = verdict.metric.split_once('.').map_or("", |(_, name)| name);
    let is_time = metric(name).is_some_and(|known| known.unit == Unit::Seconds);
    let word = if is_time && verdict.better == Better::Lower { "slower" } else { "worse" };
    let most = percent((1000.0 * loss).ceil() / 1000.0);
    format!("Take {pick}: at most {most} {word} than the best of the {among} stacks.")
}

/// Names in a list: `a, b and c`.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests;
