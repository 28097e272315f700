//! The question of a plan, as the statistics take it.

use seekwell_model::lab::Better;
use seekwell_model::plan::Plan;
use seekwell_model::stack::Backing;
use seekwell_stats::question::{self, Question};

/// Question for the comparison.
#[must_use]
pub fn question(plan: &Plan) -> Question {
    let judge = &plan.lab.judge;
    let better = match judge.better {
        Better::Lower => question::Better::Lower,
        Better::Higher => question::Better::Higher,
    };
    Question { exact: is_exact(plan), ..Question::new(better, judge.tie, judge.confidence) }
}

/// Returns true if all devices are models, in virtual time: rounds are independent, and values exact.
#[must_use]
pub fn is_exact(plan: &Plan) -> bool {
    !plan.stacks.is_empty()
        && plan.stacks.iter().all(|stack| matches!(stack.device.backing, Backing::Model { .. }))
}
