//! The decision of a verdict, in one sentence to act on.

use seekwell_model::lab::Better;
use seekwell_model::metrics::{Unit, metric};
use seekwell_model::plan::Plan;
use seekwell_model::verdict::{Basis, Decision, Ratio};
use seekwell_stats::paired::Finding;

/// Stacks named in a sentence at most.
const NAMED: usize = 4;

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

/// Words for the verdict of one lab.
pub(super) struct Words<'a> {
    plan: &'a Plan,
    tie: String,
}

impl<'a> Words<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self { plan, tie: super::percent(plan.lab.judge.tie) }
    }

    pub(super) fn nothing(&self) -> String {
        "Inconclusive: nothing can be compared yet.".to_owned()
    }

    pub(super) fn not_over(&self) -> String {
        "Inconclusive so far: the run is not over.".to_owned()
    }

    /// The sentence of a decision. `ratios` are the rows that decided, the best first; `out` counts
    /// the stacks that cannot be the best any more.
    pub(super) fn sentence(
        &self,
        decision: Decision,
        stacks: &[String],
        ratios: &[Ratio],
        out: usize,
    ) -> String {
        let first = stacks.first().map_or("?", String::as_str);
        let tie = &self.tie;
        match decision {
            Decision::Winner => {
                let next = self.next(first, ratios);
                format!("{first} is the best, by more than {tie} against every other stack{next}.")
            }
            Decision::BestChoice => {
                let next = self.next(first, ratios);
                format!("Take {first}: no other stack is better by more than {tie}{next}.")
            }
            Decision::EquivalentSet => format!(
                "Take any of {}: they differ by no more than {tie}, and no other stack is better by more than that.",
                list(stacks)
            ),
            Decision::Inconclusive => {
                let gone = match out {
                    0 => String::new(),
                    1 => "; 1 stack is out".to_owned(),
                    out => format!("; {out} stacks are out"),
                };
                match stacks.len() {
                    0 | 1 => self.nothing(),
                    _ => format!("Inconclusive: the best may be {}{gone}.", list(stacks)),
                }
            }
        }
    }

    /// The next best stack with its ratio.
    fn next(&self, first: &str, ratios: &[Ratio]) -> String {
        let paired = |row: &&Ratio| row.stack != first && row.basis == Basis::Paired;
        let Some(row) = ratios.iter().find(paired) else { return String::new() };
        let (Some(ratio), Some(low), Some(high)) = (row.ratio, row.low, row.high) else {
            return String::new();
        };
        let (ratio, low, high) = (three(ratio), three(low), three(high));
        let path = &self.plan.lab.judge.metric;
        let name = path.split_once('.').map_or(path.as_str(), |(_, name)| name);
        let is_time = metric(name).is_some_and(|known| known.unit == Unit::Seconds);
        let text = match self.plan.lab.judge.better {
            Better::Lower if is_time => format!("takes {ratio} times as long ({low} to {high})"),
            _ => format!("has {ratio} times its {path} ({low} to {high})"),
        };
        format!("; the next, {}, {text}", row.stack)
    }
}

/// Names in a list: "a, b and c".
fn list(names: &[String]) -> String {
    let shown = &names[..names.len().min(NAMED)];
    match (shown, names.len() - shown.len()) {
        ([], _) => "none".to_owned(),
        ([one], 0) => one.clone(),
        ([all @ .., last], 0) => format!("{} or {last}", all.join(", ")),
        (shown, more) => format!("{} or {more} others", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
