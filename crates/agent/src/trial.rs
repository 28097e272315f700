//! One trial: the stack is brought up, the steps run, the stack is taken down.

use crate::bring_up::BroughtUp;
use crate::measure::{beside_record, latency_ratio};
use seekwell_model::agent::{TrialPart, TrialRequest};
use seekwell_model::lab::ALONE;
use seekwell_model::record::{InForce, Record, Status, StepRecord};
use seekwell_model::warning::Warning;
use seekwell_model::workloads::{CacheState, StepOutline};
use seekwell_observe::clock::monotonic_ns;
use seekwell_stats::derive_seed;
use seekwell_workload::{Beside, Step};

/// Stage of what runs beside the measured workload.
const BESIDE: &str = "beside";
/// Mark of a step that was to come from the device and did not: its trial is kept and not ranked.
const SERVED_FROM_CACHE: &str = "served-from-cache";

/// Where and why a trial failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct TrialError {
    /// A step's name, `setup` or `teardown`.
    pub stage: String,
    /// What happened, with its causes, and what to do.
    pub what: String,
}

impl TrialError {
    /// A failure in a stage, with the chain of causes as one text.
    pub fn new(stage: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut what = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let message = next.to_string();
            if !what.contains(&message) {
                what = format!("{what}: {message}");
            }
            cause = next.source();
        }
        Self { stage: stage.to_owned(), what }
    }

    /// A failure for which there are only words.
    pub fn words(stage: &str, what: impl Into<String>) -> Self {
        Self { stage: stage.to_owned(), what: what.into() }
    }

    /// Wraps errors of a stage.
    pub fn in_stage<E: std::error::Error + 'static>(stage: &str) -> impl FnOnce(E) -> Self + '_ {
        move |error| Self::new(stage, &error)
    }
}

/// Hears the name of each step that begins.
pub type Say<'a> = dyn FnMut(&str) + 'a;

/// Runs a trial. What fails is in the record.
#[must_use]
pub fn run(request: &TrialRequest, say: &mut Say<'_>) -> Record {
    let origin_ns = monotonic_ns();
    let mut record = blank_record();
    let mut stack = BroughtUp::new(request, origin_ns);
    let mut done = stack
        .bring_up(&mut record, say)
        .and_then(|()| run_workload(&mut stack, request, &mut record, say));
    let down = stack.take_down(&mut record, say);
    if done.is_ok() {
        done = down;
    }
    if let Err(TrialError { stage, what }) = done {
        record.status = Status::Failed { stage, reason: what };
    }
    record.elapsed_ns = monotonic_ns().saturating_sub(origin_ns);
    record
}

fn blank_record() -> Record {
    Record {
        status: Status::Ok,
        in_force: InForce::default(),
        steps: vec![],
        timeline: vec![],
        journal_timeline: vec![],
        clock_cost_ns: None,
        smart: None,
        block_events: None,
        fingerprint: None,
        elapsed_ns: 0,
        warnings: vec![],
    }
}

fn run_workload(
    stack: &mut BroughtUp<'_>,
    request: &TrialRequest,
    record: &mut Record,
    say: &mut Say<'_>,
) -> Result<(), TrialError> {
    let workload = &request.workload;
    let mut begun = false;
    for (position, params) in workload.parts.iter().enumerate() {
        let accompanied = workload.is_accompanied() && position + 1 == workload.parts.len();
        for mut step in seekwell_workload::steps(params) {
            let outline = step.outline().clone();
            begun |= outline.measured;
            match request.part {
                TrialPart::Prepare if begun => return Ok(()),
                TrialPart::Measure if !begun => continue,
                _ => {}
            }
            if accompanied && outline.measured {
                run_accompanied(stack, request, step.as_mut(), &outline, record, say)?;
            } else {
                let done = run_step(stack, step.as_mut(), outline, record, say)?;
                record.steps.push(done);
            }
        }
    }
    Ok(())
}

fn run_step(
    stack: &mut BroughtUp<'_>,
    step: &mut dyn Step,
    outline: StepOutline,
    record: &mut Record,
    say: &mut Say<'_>,
) -> Result<StepRecord, TrialError> {
    stack.prepare(&outline)?;
    say(&outline.name);
    let observer = stack.observer(&outline.name)?;
    let directory = stack.directory();
    let body = || {
        let context = stack.context(directory.as_deref())?;
        let outcome = step.run(&context).map_err(|error| TrialError::new(&outline.name, &error))?;
        if !outline.writes && directory.is_some() {
            // Reading may have written, by access times: that reaches the device while its
            // counters still belong to this step, and after its own clock has stopped.
            stack.make_durable(&outline.name)?;
        }
        Ok(outcome)
    };
    let mut make_durable = || stack.make_durable(&outline.name);
    let (done, clock_cost) = observer.workload(&outline, body, &mut make_durable)?;
    record.clock_cost_ns = clock_cost.or(record.clock_cost_ns);
    if done.warnings.iter().any(|warning| warning.code == SERVED_FROM_CACHE) {
        doubt(record);
    }
    Ok(done)
}

/// Measures a step alone, and again with the others beside it. What runs beside has written its
/// files before either, so that both see the same filesystem.
fn run_accompanied(
    stack: &mut BroughtUp<'_>,
    request: &TrialRequest,
    step: &mut dyn Step,
    outline: &StepOutline,
    record: &mut Record,
    say: &mut Say<'_>,
) -> Result<(), TrialError> {
    let mut beside = prepare_beside(stack, request, record, say)?;
    let mut alone = outline.clone();
    alone.name.push_str(ALONE);
    let done = run_step(stack, step, alone, record, say)?;
    record.steps.push(done);
    // Remounting under what runs beside is not possible: before it starts.
    stack.prepare(outline)?;
    let together = run_together(stack, request, step, outline, &mut beside, say);
    // They are ended also when the step failed, so that the filesystem can be unmounted.
    let ended: Vec<_> = beside.iter_mut().map(Beside::stop).collect();
    record.steps.push(together?);
    if let Some(ratio) = latency_ratio(&record.steps, &outline.name)
        && let Some(step) = record.steps.last_mut()
    {
        step.metrics.insert("latency_ratio".to_owned(), ratio);
    }
    for found in ended {
        let found = found.map_err(TrialError::in_stage(BESIDE))?;
        record.steps.extend(found.into_iter().map(beside_record));
    }
    Ok(())
}

fn run_together(
    stack: &BroughtUp<'_>,
    request: &TrialRequest,
    step: &mut dyn Step,
    outline: &StepOutline,
    beside: &mut [Beside],
    say: &mut Say<'_>,
) -> Result<StepRecord, TrialError> {
    let directory = stack.directory();
    let mut context = stack.context(directory.as_deref())?;
    for companion in beside {
        companion.start(&context).map_err(TrialError::in_stage(BESIDE))?;
    }
    if step.outline().cache != CacheState::Cold {
        // Other offsets than alone, which have just been read and may be in a cache of the device.
        context.seed = derive_seed(request.seed, "together");
    }
    say(&outline.name);
    let body = || step.run(&context).map_err(|error| TrialError::new(&outline.name, &error));
    let mut make_durable = || stack.make_durable(&outline.name);
    stack.observer(&outline.name)?.accompanied(outline, body, &mut make_durable)
}

fn prepare_beside(
    stack: &BroughtUp<'_>,
    request: &TrialRequest,
    record: &mut Record,
    say: &mut Say<'_>,
) -> Result<Vec<Beside>, TrialError> {
    let mut all = Vec::new();
    let directory = stack.directory();
    for (index, params) in request.workload.beside.iter().enumerate() {
        say(&format!("{} {BESIDE}", params.kind_name()));
        let context = stack.context(directory.as_deref())?;
        let (beside, prepared) =
            Beside::prepare(params, index, &context).map_err(TrialError::in_stage(BESIDE))?;
        record.steps.extend(prepared.into_iter().map(beside_record));
        all.push(beside);
    }
    stack.make_durable(BESIDE)?;
    Ok(all)
}

/// Adds a doubt that keeps a trial from being ranked.
pub fn mark(record: &mut Record, warning: Warning) {
    record.warnings.push(warning);
    doubt(record);
}

fn doubt(record: &mut Record) {
    if record.status == Status::Ok {
        record.status = Status::Marked;
    }
}
