//! Outcomes of the trials of a run so far, and the candidates that are not tried again.
//!
//! An [`Outcome`] is the part of a [`Record`] that looks and verdicts use: some hundred bytes of a record that may have
//! a hundred thousand. A session keeps outcomes alone in memory; whole records are in the run file.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::power_cut::CutCounts;
use seekwell_model::record::{DeviceInForce, InForce, QueueSettings, Record, Status, StepRecord};
use seekwell_model::shared::{Pool, Shared};
use std::borrow::Borrow;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// A candidate whose trials failed so many times in a row is not tried again in this run.
pub const FAILURES_BEFORE_QUARANTINE: u32 = 3;

/// Whole records, by trial index.
pub type Records = BTreeMap<u32, (PlannedTrial, Record)>;

/// Outcomes so far, by trial index.
pub type Outcomes = BTreeMap<u32, (PlannedTrial, Outcome)>;

/// End of a trial, as [`Status`] without words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every step ran; the values may be compared.
    Ok,
    /// Every step ran, and something makes the values doubtful.
    Marked,
    /// A step failed.
    Failed,
}

/// The part of a record that looks and verdicts use.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// End of the trial.
    pub end: End,
    /// The judged metric; `None` if it was not measured.
    pub value: Option<f64>,
    /// Time of the trial, ns.
    pub elapsed_ns: u64,
    /// Part of the run's budget that it used, ns.
    pub cost_ns: Option<u64>,
    /// Mount options, write cache and node alone.
    pub(crate) in_force: Shared<InForce>,
    /// Bytes that the device moved in all steps; `None` if no step counted them.
    pub(crate) moved_bytes: Option<f64>,
    /// Power cuts of the trial.
    pub(crate) cuts: Option<Box<CutCounts>>,
    /// The judged step of a trial that may be ranked.
    pub(crate) judged: Option<Box<JudgedStep>>,
}

/// The judged step of a trial.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JudgedStep {
    /// Time in which the device was busy, and the time of the step, ns.
    pub(crate) busy: Option<(u64, u64)>,
    /// Time of the step, and that until its bytes were on the device, s.
    pub(crate) elapsed: Option<f32>,
    pub(crate) durable: Option<f32>,
    /// CPU time of the workload, s.
    pub(crate) cpu: Option<f32>,
    /// Time in calls of all threads of a replay, s.
    pub(crate) in_calls: Option<f32>,
    /// Writes and flushes where the journal has a device of its own.
    pub(crate) apart: Option<Box<Apart>>,
}

/// Requests of a step on two devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Apart {
    /// Writes of the data's device.
    pub(crate) writes: u64,
    /// Flushes of the data's device.
    pub(crate) flushes: u64,
    /// Flushes of the journal's device.
    pub(crate) journal_flushes: u64,
    /// Time of the step, s.
    pub(crate) seconds: f64,
}

impl Apart {
    /// `None` without a journal device, or on a kernel that does not count flushes.
    fn of(step: &StepRecord) -> Option<Self> {
        let (data, journal) = (step.device?, step.journal?);
        let (flushes, journal_flushes) = (data.flushes?, journal.flushes?);
        let seconds = *step.metrics.get("elapsed_durable").or(step.metrics.get("elapsed"))?;
        Some(Self { writes: data.writes, flushes, journal_flushes, seconds })
    }
}

/// Takes outcomes out of the records of one run. Settings in force, of which a run has few, are kept once.
#[derive(Debug)]
pub struct Extractor {
    metric: String,
    in_force: Pool<InForce>,
}

impl Extractor {
    /// For the records of this plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { metric: plan.lab.judge.metric.clone(), in_force: Pool::default() }
    }

    /// The outcome that a record tells.
    pub fn outcome(&mut self, record: &Record) -> Outcome {
        let mut in_force = Shared::from(told(&record.in_force));
        in_force.share(&mut self.in_force);
        let step = self.metric.split_once('.').map(|(step, _)| step);
        let judged = record.steps.iter().find(|one| Some(&*one.name) == step);
        Outcome {
            end: match record.status {
                Status::Ok => End::Ok,
                Status::Marked => End::Marked,
                Status::Failed { .. } => End::Failed,
            },
            value: record.metric(&self.metric),
            elapsed_ns: record.elapsed_ns,
            cost_ns: record.cost_ns,
            in_force,
            moved_bytes: moved_bytes(record),
            cuts: CutCounts::of(&record.steps).map(Box::new),
            judged: judged.filter(|_| record.status == Status::Ok).map(|step| {
                let metric = |name: &str| step.metrics.get(name).map(|value| *value as f32);
                Box::new(JudgedStep {
                    busy: busy(step),
                    elapsed: metric("elapsed"),
                    durable: metric("elapsed_durable"),
                    cpu: metric("cpu"),
                    in_calls: metric("time_in_calls"),
                    apart: Apart::of(step).map(Box::new),
                })
            }),
        }
    }
}

/// The outcomes of records, each of which is dropped before the next is taken.
#[must_use]
pub fn outcomes<R: Borrow<Record>>(
    plan: &Plan,
    records: impl IntoIterator<Item = (PlannedTrial, R)>,
) -> Outcomes {
    let mut extractor = Extractor::new(plan);
    let one = |(trial, record): (PlannedTrial, R)| {
        (trial.index, (trial, extractor.outcome(record.borrow())))
    };
    records.into_iter().map(one).collect()
}

/// The outcomes of records that stay.
#[must_use]
pub fn outcomes_of(plan: &Plan, records: &Records) -> Outcomes {
    outcomes(plan, records.values().map(|(trial, record)| (*trial, record)))
}

/// The settings in force that a verdict tells of.
fn told(found: &InForce) -> InForce {
    let queue = QueueSettings {
        write_cache: found.device.queue.write_cache.clone(),
        ..QueueSettings::default()
    };
    InForce {
        device: DeviceInForce { queue, ..DeviceInForce::default() },
        mount: found.mount.clone(),
        node: found.node.clone(),
        ..InForce::default()
    }
}

fn moved_bytes(record: &Record) -> Option<f64> {
    let devices = record.steps.iter().filter_map(|step| step.device);
    let moved = devices.map(|device| (device.read_bytes + device.written_bytes) as f64);
    moved.reduce(|sum, bytes| sum + bytes)
}

/// Time in which the device was busy, and the time of the step, ns.
fn busy(step: &StepRecord) -> Option<(u64, u64)> {
    let device = step.device.as_ref()?;
    let seconds = step.metrics.get("elapsed_durable").or(step.metrics.get("elapsed"));
    let elapsed_ns = seconds.map(|seconds| (seconds * 1e9) as u64)?;
    Some((device.busy_ms.saturating_mul(1_000_000), elapsed_ns))
}

/// Returns true if a candidate's last trials before this one all failed: it is not tried again.
#[must_use]
pub fn is_quarantined(outcomes: &Outcomes, candidate: u32, before: u32) -> bool {
    let failed = outcomes
        .range(..before)
        .rev()
        .filter(|(_, (trial, _))| trial.candidate == candidate)
        .take_while(|(_, (_, outcome))| outcome.end == End::Failed)
        .take(FAILURES_BEFORE_QUARANTINE as usize)
        .count();
    failed == FAILURES_BEFORE_QUARANTINE as usize
}

/// Returns true if no trial so far can be ranked, and a mark is the reason: more rounds of the same lab will
/// not be better.
#[must_use]
pub fn is_all_marked(outcomes: &Outcomes) -> bool {
    let ends = || outcomes.values().map(|(_, outcome)| outcome.end);
    ends().any(|end| end == End::Marked) && ends().all(|end| end != End::Ok)
}

/// Trials that need not run again when a run is resumed. A failed trial is run again, except where
/// its failure has counted already: in a race, where later trials depend on it, and in a verdict that
/// more rounds are added to (`extends_verdict`).
#[must_use]
pub fn worth_keeping(plan: &Plan, mut outcomes: Outcomes, extends_verdict: bool) -> Outcomes {
    let has_counted = plan.race.is_some() || plan.prolonged.is_some() || extends_verdict;
    outcomes.retain(|_, (_, outcome)| has_counted || outcome.end != End::Failed);
    outcomes
}
