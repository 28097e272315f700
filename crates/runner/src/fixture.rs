//! Plans and records for the tests of this room.

use crate::order;
use crate::records::{Extractor, Outcome, Records, outcomes_of};
use seekwell_model::lab::{Effort, Lab, Method, Workload};
use seekwell_model::plan::{BackendFacts, Candidate, Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::{Backing, Scheduler, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::verdict::Verdict;

/// A stack on a RAM disk of 64 MiB that differs from others by its name alone.
pub fn stack(label: &str) -> Stack {
    let mut stack = seekwell_fixtures::named_stack(label);
    stack.device.backing = Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) };
    stack
}

pub fn lab(effort: Effort, workloads: Vec<Workload>) -> Lab {
    seekwell_fixtures::lab("step.elapsed", effort, workloads)
}

pub fn workload(step: &str) -> Workload {
    let mut values = seekwell_model::field::Values::default();
    values.set("run", seekwell_model::field::Value::Text("true".into()));
    values.set("step", seekwell_model::field::Value::Text(step.into()));
    let kind = seekwell_model::workloads::workload_kind("command").unwrap();
    Workload { name: step.into(), parts: vec![kind.params(&values).unwrap()], beside: vec![] }
}

pub fn plan(labels: &[&str], effort: Effort) -> Plan {
    let stacks: Vec<Stack> = labels.iter().map(|label| stack(label)).collect();
    let candidates =
        (0..labels.len()).map(|index| Candidate { stack: index as u32, workload: 0 }).collect();
    let expanded = order::Expanded { stacks, candidates, left_out: vec![], warnings: vec![] };
    order::plan(&lab(effort, vec![workload("step")]), expanded, &BackendFacts::default()).unwrap()
}

/// Makes every device of a plan a model, whose values are exact.
pub fn on_models(mut plan: Plan) -> Plan {
    for stack in &mut plan.stacks {
        stack.device.backing =
            Backing::Model { model: "sata-2tb-5400".into(), size: None, start: None };
    }
    plan
}

pub fn outcome(plan: &Plan, record: &Record) -> Outcome {
    Extractor::new(plan).outcome(record)
}

/// The verdict of whole records.
pub fn judge(plan: &Plan, records: &Records) -> Verdict {
    crate::judge::judge(plan, &outcomes_of(plan, records))
}

pub fn record(elapsed_s: f64) -> Record {
    seekwell_fixtures::record(vec![seekwell_fixtures::step("step", "elapsed", elapsed_s)])
}

pub fn failed(reason: &str) -> Record {
    let status = Status::Failed { stage: "step".into(), reason: reason.into() };
    Record { status, steps: vec![], ..record(1.0) }
}

/// A race of every filesystem under every scheduler; `change` may alter the lab first.
pub fn race(filesystems: u32, schedulers: u32, change: impl FnOnce(&mut Lab)) -> Plan {
    let mut lab = lab(Effort::Rounds(80), vec![workload("step")]);
    lab.judge.method = Method::Race;
    change(&mut lab);
    let names = (0..filesystems).flat_map(|f| (0..schedulers).map(move |s| (f, s)));
    let stacks: Vec<Stack> = names
        .map(|(f, s)| {
            let mut stack = stack(&format!("fs{f}"));
            stack.scheduler = Scheduler::plain(&format!("sched{s}"));
            stack.label = format!("fs{f}/sched{s}");
            stack
        })
        .collect();
    let candidates =
        (0..stacks.len()).map(|index| Candidate { stack: index as u32, workload: 0 }).collect();
    let expanded = order::Expanded { stacks, candidates, left_out: vec![], warnings: vec![] };
    order::plan(&lab, expanded, &BackendFacts::default()).unwrap()
}

/// Record of a trial of a race: every filesystem is slower than the one before by `step`, with noise
/// that depends on the trial alone.
pub fn raced(plan: &Plan, trial: &PlannedTrial, step: f64, noise: f64) -> Record {
    let (stack, _) = plan.pair(trial);
    let number: f64 = stack.filesystem.name.trim_start_matches("fs").parse().unwrap();
    let seed = seekwell_stats::derive_seed(7, &format!("{} {}", trial.round, stack.label));
    let drawn = seekwell_stats::seeded(seed).normal();
    record((1.0 + step).powf(number) * (noise * drawn).exp())
}
