//! Time spent in the judged step, by value of the axis that matters most.

use crate::axes::axes;
use crate::durability;
use crate::records::{JudgedStep, Outcomes};
use seekwell_model::answer::{Answer, TimeRow, TimeSpent};
use seekwell_model::plan::Plan;
use seekwell_stats::estimate::median;

/// Rows at most: the best values, and the pick's own among them.
const ROWS: usize = 8;

/// The rows; `None` where the judged step has no time.
pub(super) fn spent(plan: &Plan, outcomes: &Outcomes, answer: &Answer) -> Option<TimeSpent> {
    let (names, design) = axes(plan, plan.ranked());
    let found = answer.axes.first()?;
    let axis = names.iter().position(|axis| axis.name == found.axis)?;
    // As in the answer, without stacks that may lose what the pick keeps.
    let barred = durability::ineligible(plan, outcomes);
    let values = found.left.iter().chain(found.out.iter().map(|out| &out.value));
    let row = |value: &String| {
        let level = names[axis].values.iter().position(|known| known == value)?;
        let steps: Vec<&JudgedStep> = outcomes
            .values()
            .filter(|(trial, _)| {
                let stack = plan.candidates[trial.candidate as usize].stack as usize;
                stack < design.stacks()
                    && design.level(stack, axis) == level
                    && !barred.contains(&stack)
            })
            .filter_map(|(_, outcome)| outcome.judged.as_deref())
            .collect();
        of_steps(value, &steps)
    };
    let mut rows: Vec<TimeRow> = values.filter_map(row).take(ROWS).collect();
    rows.sort_by_key(|row| row.elapsed_ns);
    (!rows.is_empty()).then(|| TimeSpent { axis: found.axis.clone(), rows })
}

/// Medians over steps of one value.
fn of_steps(value: &str, steps: &[&JudgedStep]) -> Option<TimeRow> {
    let middle = |of: &dyn Fn(&JudgedStep) -> Option<f32>| {
        median(&steps.iter().filter_map(|step| of(step).map(f64::from)).collect::<Vec<f64>>())
    };
    let elapsed = middle(&|step| step.elapsed.or(step.durable))?;
    let writing_out = middle(&|step| Some((step.durable? - step.elapsed?).max(0.0)));
    let computing = middle(&|step| step.cpu).map(|cpu| cpu.min(elapsed));
    let busy = middle(&|step| {
        let (busy_ns, elapsed_ns) = step.busy?;
        (elapsed_ns > 0).then(|| (busy_ns as f32 / elapsed_ns as f32).min(1.0))
    });
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let writing_out_ns = writing_out.map_or(0, ns);
    Some(TimeRow {
        value: value.to_owned(),
        elapsed_ns: ns(elapsed) + writing_out_ns,
        computing_ns: computing.map(ns),
        waiting_ns: computing.map(|computing| ns(elapsed - computing)),
        writing_out_ns,
        busy,
    })
}
