//! Judged steps that are too short to compare.

use super::median;
use seekwell_model::metrics::{self, Unit};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::Backing;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WorkloadParams;

#[cfg(test)]
mod tests;

/// Below this an interrupt, a timer tick or a write-back that happens to run is a large share of a
/// step.
const SHORT_S: f64 = 0.1;

/// Time that the warning asks for.
const ENOUGH_S: f64 = 0.5;

/// Warns when the step that a run is judged by lasts less than 0.1 s at the median, with the size
/// that lasts about 0.5 s. On modelled devices a short step is as exact as a long one.
pub(super) fn too_short(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Option<Warning> {
    let (step, name) = plan.lab.judge.metric.split_once('.')?;
    let timed = matches!(
        metrics::metric(name)?.unit,
        Unit::Seconds | Unit::PerSecond | Unit::MegabytesPerSecond
    );
    let modelled = |stack: &seekwell_model::stack::Stack| {
        matches!(stack.device.backing, Backing::Model { .. })
    };
    if !timed || plan.stacks.iter().all(modelled) {
        return None;
    }
    let elapsed = |(_, record): &(PlannedTrial, Record)| {
        let ok = !matches!(record.status, Status::Failed { .. });
        let step = record.steps.iter().find(|one| ok && one.name == step)?;
        let metric = if name == "elapsed_durable" { name } else { "elapsed" };
        step.metrics.get(metric).copied()
    };
    let times: Vec<Option<f64>> = records.iter().map(elapsed).collect();
    let typical = median(&times)?;
    if typical >= SHORT_S || typical <= 0.0 {
        return None;
    }
    let factor = (ENOUGH_S / typical).ceil() as u64;
    let text = format!(
        "{step} takes {:.3} ms (median of the trials): too short to compare; an interrupt or a timer \
         tick is a large share of it",
        typical * 1e3
    );
    Some(Warning::new(WarningCode::TooShort, text).with_remedy(remedy(plan, step, factor)))
}

/// The field that makes the step longer, with its new value where it is known.
fn remedy(plan: &Plan, step: &str, factor: u64) -> String {
    let part = plan.workloads.iter().find_map(|workload| {
        let found = workload.outlines().into_iter().find(|one| one.outline.name == step)?;
        let side = if found.beside { &workload.beside } else { &workload.parts };
        side.get(found.part)
    });
    match part {
        Some(WorkloadParams::Mail(mail)) => {
            format!("write files = {}", mail.files.saturating_mul(factor))
        }
        Some(WorkloadParams::Io(io)) if io.count.is_some() => {
            format!("write count = {}", io.count.unwrap_or(1).saturating_mul(factor))
        }
        _ => format!("give it {factor} times as much to do"),
    }
}
