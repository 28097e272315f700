//! One trial: the stack is brought up, the steps run, the stack is taken down.

use crate::context::{Saying, Trial};
use crate::error::{Fault, TrialError};
use crate::measure::{beside_record, latency_ratio};
use crate::stack::attached::Attached;
use crate::stack::limits::{Memory, Queues};
use crate::stack::made::Made;
use crate::stack::mounted::{Mounted, not_repaired};
use crate::stack::observed::Observed;
use crate::stack::ready::{Ready, Target};
use crate::stack::standing;
use crate::strays::end_strays;
use crate::survey::{self, Rows};
use seekwell_capture::guest::Recording;
use seekwell_host::sysfs::System;
use seekwell_host::undo::Undo;
use seekwell_model::agent::{TrialPart, TrialRequest};
use seekwell_model::filesystems::FilesystemDefinition;
use seekwell_model::lab::ALONE;
use seekwell_model::record::{Record, Status, StepRecord};
use seekwell_model::workloads::{CacheState, StepOutline, WorkloadParams};
use seekwell_observe::clock::monotonic_ns;
use seekwell_stats::derive_seed;
use seekwell_workload::{Beside, Step};

pub use crate::context::Say;
use seekwell_model::power_cut::SURVEY;

const SETUP: &str = "setup";
/// Stage of the background workload.
const BESIDE: &str = "beside";

/// Runs a trial. A failure is in the record.
#[must_use]
pub fn run(request: &TrialRequest, say: &mut Say<'_>) -> Record {
    let origin_ns = monotonic_ns();
    let system = System::host();
    let mut trial = Trial {
        request,
        origin_ns,
        record: Record::blank(),
        undo: Undo::in_memory(&system),
        cpus: vec![],
        system,
        say,
    };
    let done = bring_up(&mut trial);
    let mut record = trial.record;
    if let Err(error) = done {
        record.status = Status::Failed { reason: error.reason(), stage: error.stage };
    }
    record.elapsed_ns = monotonic_ns().saturating_sub(origin_ns);
    record
}

/// Brings the stack up in the order in which it must be (limits, devices, settings, observation,
/// filesystem), runs the workload, and takes everything down in the reverse order.
fn bring_up(trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
    let definition = trial.step(SETUP, |trial| {
        trial.pin()?;
        trial.open_undo()?;
        trial.definition()
    })?;
    let attached = trial.stage(SETUP, |trial| Attached::attach(trial, definition))?;
    standing(trial, attached, |trial, attached| {
        standing(trial, Memory::default(), |trial, memory| {
            trial.stage(SETUP, |trial| memory.set(trial))?;
            with_settings(trial, attached, definition)
        })
    })
}

fn with_settings(
    trial: &mut Trial<'_, '_>,
    attached: &Attached,
    definition: &'static FilesystemDefinition,
) -> Result<(), TrialError> {
    standing(trial, Queues::of(attached), |trial, queues| {
        trial.stage(SETUP, |trial| queues.set(trial, attached))?;
        let sector_bytes = queues.sector_bytes();
        let observed = trial.stage(SETUP, |trial| Observed::start(trial, attached))?;
        standing(trial, observed, |trial, observed| {
            trial.stage(SETUP, |trial| observed.look_closer(trial, attached))?;
            if definition.is_raw() {
                on_raw(trial, attached, sector_bytes)
            } else {
                on_filesystem(trial, attached, definition, sector_bytes)
            }
        })
    })
}

fn on_raw(
    trial: &mut Trial<'_, '_>,
    attached: &Attached,
    sector_bytes: u32,
) -> Result<(), TrialError> {
    let mut ready = trial.stage(SETUP, |trial| Ready::raw(trial, attached, sector_bytes))?;
    let done = run_workload(&mut ready, trial);
    end_strays(&trial.request.stack);
    done
}

fn on_filesystem(
    trial: &mut Trial<'_, '_>,
    attached: &Attached,
    definition: &'static FilesystemDefinition,
    sector_bytes: u32,
) -> Result<(), TrialError> {
    let part = trial.request.part;
    let made = match part {
        // An earlier part made it.
        TrialPart::Measure | TrialPart::Made | TrialPart::Survey => {
            Made { definition, devices: attached }
        }
        TrialPart::Whole | TrialPart::Prepare | TrialPart::Make => {
            Made::make(trial, definition, attached)?
        }
    };
    if part == TrialPart::Make {
        return Ok(());
    }
    let mounted = match Mounted::mount(trial, made) {
        Err(error) if part == TrialPart::Survey => repair(trial, made, error)?,
        mounted => mounted?,
    };
    standing(trial, mounted, |trial, mounted| {
        if part == TrialPart::Survey {
            return survey(trial, mounted);
        }
        mounted.read_back(trial)?;
        let target = Target::Filesystem(&mut mounted.mount);
        let mut ready = Ready::new(trial, attached, target, sector_bytes);
        if !trial.request.record_data {
            return run_workload(&mut ready, trial);
        }
        let recording = trial.stage(SETUP, |_| {
            let recording = Recording::open()?;
            recording.begin_own()?;
            Ok(recording)
        })?;
        ready.acknowledged = Some(Rows(recording));
        run_workload(&mut ready, trial)?;
        let rows = ready.acknowledged.take();
        trial.stage(SETUP, |_| rows.map_or(Ok(()), |Rows(recording)| Ok(recording.end()?)))
    })
}

/// Mounts again what could not be mounted, once its checker has repaired it.
fn repair<'d>(
    trial: &mut Trial<'_, '_>,
    made: Made<'d>,
    error: TrialError,
) -> Result<Mounted<'d>, TrialError> {
    if !made.repair(trial)? {
        trial.record.add_warning(not_repaired());
        return Err(error);
    }
    Mounted::mount(trial, made)
}

/// Says which files and which database a power cut left.
fn survey(trial: &mut Trial<'_, '_>, mounted: &mut Mounted<'_>) -> Result<(), TrialError> {
    let top = mounted.mount.directory();
    let has_database =
        trial.request.workload.parts.iter().any(|part| matches!(part, WorkloadParams::Sqlite(_)));
    trial.step(SURVEY, |trial| {
        survey::visit(&top, &mut |file| (trial.say)(Saying::Found(file)))
            .map_err(Fault::io("look at the files after a power cut"))?;
        if has_database && let Some(found) = survey::database(&top) {
            (trial.say)(Saying::Database(found));
        }
        Ok(())
    })
}

fn run_workload(ready: &mut Ready<'_>, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
    let request = trial.request;
    let workload = &request.workload;
    let mut begun = false;
    let mut recording = None;
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
            let is_command = matches!(params, WorkloadParams::Command(_));
            if accompanied && outline.measured {
                run_accompanied(ready, step.as_mut(), &outline, trial)?;
            } else if request.record && outline.measured && is_command {
                if recording.is_none() {
                    recording = Some(trial.stage(&outline.name, |_| prepare_recording(ready))?);
                }
                run_step(ready, step.as_mut(), outline, recording.as_ref(), trial)?;
            } else {
                run_step(ready, step.as_mut(), outline, None, trial)?;
            }
        }
    }
    Ok(())
}

/// Records the files as they are, before the cache gets the state that the step starts from.
fn prepare_recording(ready: &Ready<'_>) -> Result<Recording, Fault> {
    let recording = Recording::open()?;
    if let Some(directory) = ready.directory() {
        recording.walk(&directory)?;
    }
    Ok(recording)
}

fn run_step(
    ready: &mut Ready<'_>,
    step: &mut dyn Step,
    outline: StepOutline,
    recording: Option<&Recording>,
    trial: &mut Trial<'_, '_>,
) -> Result<(), TrialError> {
    trial.stage(&outline.name, |_| ready.prepare(&outline))?;
    trial.step(&outline.name, |trial| {
        let directory = ready.directory();
        let body = || {
            recording.map_or(Ok(()), Recording::begin)?;
            let outcome = step.run(&ready.context(directory.as_deref()));
            recording.map_or(Ok(()), Recording::end)?;
            let outcome = outcome?;
            if !outline.writes && directory.is_some() {
                // Reading may have written, by access times: that reaches the device while its
                // counters still belong to this step, and after its own clock has stopped.
                ready.make_durable()?;
            }
            Ok(outcome)
        };
        let mut make_durable = || ready.make_durable();
        let (done, clock_cost) = ready.observer().workload(&outline, body, &mut make_durable)?;
        trial.record.clock_cost_ns = clock_cost.or(trial.record.clock_cost_ns);
        trial.record.add_step(done);
        Ok(())
    })
}

/// Measures a step alone, and again with the background workload. That has written its files before
/// either, so that both see the same filesystem.
fn run_accompanied(
    ready: &mut Ready<'_>,
    step: &mut dyn Step,
    outline: &StepOutline,
    trial: &mut Trial<'_, '_>,
) -> Result<(), TrialError> {
    let mut beside = prepare_beside(ready, trial)?;
    let mut alone = outline.clone();
    alone.name.push_str(ALONE);
    run_step(ready, step, alone, None, trial)?;
    // Remounting under the background workload is not possible: before it starts.
    trial.stage(&outline.name, |_| ready.prepare(outline))?;
    let together = run_together(ready, step, outline, &mut beside, trial);
    // It is ended also when the step failed, so that the filesystem can be unmounted.
    let ended: Vec<_> = beside.iter_mut().map(Beside::stop).collect();
    trial.record.add_step(together?);
    if let Some(ratio) = latency_ratio(&trial.record.steps, &outline.name)
        && let Some(step) = trial.record.steps.last_mut()
    {
        step.metrics.insert("latency_ratio".to_owned(), ratio);
    }
    trial.stage(BESIDE, |trial| {
        for found in ended {
            trial.record.steps.extend(found?.into_iter().map(beside_record));
        }
        Ok(())
    })
}

fn run_together(
    ready: &Ready<'_>,
    step: &mut dyn Step,
    outline: &StepOutline,
    beside: &mut [Beside],
    trial: &mut Trial<'_, '_>,
) -> Result<StepRecord, TrialError> {
    let directory = ready.directory();
    let mut context = ready.context(directory.as_deref());
    trial.stage(BESIDE, |_| {
        Ok(beside.iter_mut().try_for_each(|companion| companion.start(&context))?)
    })?;
    if step.outline().cache != CacheState::Cold {
        // Other offsets than alone, which have just been read and may be in a cache of the device.
        context.seed = derive_seed(trial.request.seed, "together");
    }
    trial.step(&outline.name, |_| {
        let body = || Ok(step.run(&context)?);
        let mut make_durable = || ready.make_durable();
        ready.observer().accompanied(outline, body, &mut make_durable)
    })
}

fn prepare_beside(ready: &Ready<'_>, trial: &mut Trial<'_, '_>) -> Result<Vec<Beside>, TrialError> {
    let mut all = Vec::new();
    let directory = ready.directory();
    for (index, params) in trial.request.workload.beside.iter().enumerate() {
        (trial.say)(Saying::Step(&format!("{} {BESIDE}", params.kind_name())));
        trial.stage(BESIDE, |trial| {
            let context = ready.context(directory.as_deref());
            let (beside, prepared) = Beside::prepare(params, index, &context)?;
            trial.record.steps.extend(prepared.into_iter().map(beside_record));
            all.push(beside);
            Ok(())
        })?;
    }
    trial.stage(BESIDE, |_| ready.make_durable())?;
    Ok(all)
}
