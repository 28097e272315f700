//! `replay`: the calls of a trace below the mounted directory.

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use seekwell_host::confine::{Reach, read_confined};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::replay::{GUEST_TRACES, ReplaySpeed, guest_trace};
use seekwell_model::workloads::{ReplayParams, StepOutline};
use seekwell_replay::{
    Choice, Content, Difference, Fidelity, Options, Plan, Recorded, ReplayError, Replayed, Speed,
    check_room, plan, rebuild, replay,
};
use seekwell_trace::Trace;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Kinds of differences and of reasons that a warning names.
const SHOWN: usize = 5;

/// The plan that the rebuild makes and the replay uses, and the directory that is their root.
type SharedPlan = Arc<Mutex<Option<(Arc<Plan>, PathBuf)>>>;

/// Directory of an empty filesystem.
const LOST_AND_FOUND: &str = "lost+found";

/// The steps of a `replay` workload.
#[must_use]
pub fn steps(params: &ReplayParams, place: Place) -> Vec<Box<dyn Step>> {
    let shared = SharedPlan::default();
    step::each(params.steps(), |outline| {
        let (params, shared) = (params.clone(), Arc::clone(&shared));
        Replay { outline, params, place, shared }
    })
}

/// Speed of a replay.
pub(crate) fn speed(speed: ReplaySpeed, scale: f64) -> Speed {
    match speed {
        ReplaySpeed::Recorded => Speed::Recorded(scale),
        ReplaySpeed::Asap => Speed::AsFastAsPossible,
        ReplaySpeed::Open => Speed::Open(scale),
    }
}

/// Content of what a replay writes.
pub(crate) fn content(zeros: bool) -> Content {
    if zeros { Content::Zeros } else { Content::Random }
}

/// The rebuild or the replay.
#[derive(Debug)]
struct Replay {
    outline: StepOutline,
    params: ReplayParams,
    place: Place,
    shared: SharedPlan,
}

impl Replay {
    fn failed<E: Into<ReplayError>>(&self) -> impl Fn(E) -> WorkloadError + '_ {
        |source| WorkloadError::Replay { step: self.outline.name.clone(), source: source.into() }
    }

    /// Makes the directory of the replay. An empty filesystem is it itself: filesystems place directories of their
    /// root unlike those below.
    fn make_target(&self, context: &StepContext<'_>) -> Result<PathBuf, WorkloadError> {
        let directory = context.mounted(&self.outline.name)?;
        if self.place == Place::Main && is_empty(directory)? {
            return Ok(directory.to_owned());
        }
        let target = directory.join(self.place.name("replay"));
        std::fs::create_dir(&target).map_err(WorkloadError::file("make the directory", &target))?;
        Ok(target)
    }

    /// Reads the trace, and makes the files that it found.
    fn rebuild(&self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let start = Instant::now();
        let guest = is_guest().then(|| guest_trace(&self.params.trace));
        let folder = guest.as_ref().unwrap_or(&self.params.trace);
        let params = &self.params;
        let choice = Choice {
            only: params.only.clone(),
            sync_every: params.sync_every,
            ..Choice::default()
        };
        // The rights to format and mount are not for what parses the recording of others.
        let made = read_confined(&Reach::default().reading_trace(folder), || {
            plan(&Trace::open(folder)?, &choice)
        });
        let made = made.map_err(self.failed())?;
        if self.params.speed == ReplaySpeed::Recorded {
            made.check_pauses().map_err(self.failed())?;
        }
        let target = self.make_target(context)?;
        let directory = context.mounted(&self.outline.name)?;
        let kept = kept_free(directory).map_err(WorkloadError::file("examine", directory))?;
        check_room(&made, &target, kept).map_err(self.failed())?;
        let stop = context.stop.as_deref();
        let rebuilt =
            rebuild(&made, &target, content(self.params.zeros), stop).map_err(self.failed())?;
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Arc::new(made), target));
        Ok(StepOutcome {
            ops: rebuilt.files,
            app_bytes_written: rebuilt.bytes,
            elapsed_ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            stopped: context.is_stopped(),
            ..StepOutcome::default()
        })
    }

    fn replay(&self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let directory = context.mounted(&self.outline.name)?;
        // A second run of the step finds the files changed: its calls have other results, and it says so.
        let made = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((made, target)) = made else {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(WorkloadError::file("find the rebuilt files in", directory)(missing));
        };
        let speed = speed(self.params.speed, self.params.scale);
        if is_guest() {
            await_timers();
        }
        let (content, stop) = (content(self.params.zeros), context.stop.clone());
        // In virtual time a thread that waits awake would wait without end.
        let kept = kept_free(directory).map_err(WorkloadError::file("examine", directory))?;
        let options = Options { speed, content, stop, awake: !is_guest(), kept };
        let replayed = replay(&made, &target, &options).map_err(self.failed())?;
        Ok(outcome(&self.outline, self.params.speed, made.recorded(), replayed))
    }
}

/// Bytes that a replay leaves free on a filesystem that other programs use: less than a second of writes,
/// and of a small filesystem a twentieth.
const MAX_KEPT: u64 = 1 << 30;

/// Bytes to leave free on the filesystem of this directory: none on one whose root it is, which was
/// mounted for the replay.
fn kept_free(directory: &Path) -> io::Result<u64> {
    let device = |path: &Path| std::fs::metadata(path).map(|facts| facts.dev());
    if device(directory)? != device(directory.parent().unwrap_or(directory))? {
        return Ok(0);
    }
    let facts = rustix::fs::statvfs(directory)?;
    Ok((facts.f_blocks.saturating_mul(facts.f_frsize) / 20).min(MAX_KEPT))
}

/// True when the directory holds nothing but what its filesystem came with.
fn is_empty(directory: &Path) -> Result<bool, WorkloadError> {
    let failed = WorkloadError::file("read the directory", directory);
    let read = std::fs::read_dir(directory).and_then(|mut entries| {
        let of_others = |entry: &io::Result<std::fs::DirEntry>| {
            entry.as_ref().map_or(true, |entry| entry.file_name() != LOST_AND_FOUND)
        };
        entries.find(of_others).transpose()
    });
    read.map(|other| other.is_none()).map_err(failed)
}

/// Virtual time after which sleeps of a guest end when they should: before its first ticks, the first of
/// them at 10 ms, they end at the next tick.
const FINE_TIMERS: Duration = Duration::from_millis(40);

/// Waits until sleeps of this guest are exact. Most guests have run for longer when a replay begins.
fn await_timers() {
    let since_start = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let since_start = Duration::try_from(since_start).unwrap_or(FINE_TIMERS);
    std::thread::sleep(FINE_TIMERS.saturating_sub(since_start));
}

/// True in a guest of the virtual backend.
pub(crate) fn is_guest() -> bool {
    Path::new(GUEST_TRACES).is_dir()
}

impl Step for Replay {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        if self.outline.measured { self.replay(context) } else { self.rebuild(context) }
    }
}

fn outcome(
    outline: &StepOutline,
    speed: ReplaySpeed,
    recorded: &Recorded,
    replayed: Replayed,
) -> StepOutcome {
    let mut fidelity = Fidelity::of(recorded, &replayed);
    if speed != ReplaySpeed::Recorded {
        // Only pauses depend on durations.
        fidelity.untimed = 0;
    }
    let mut outcome = StepOutcome {
        ops: replayed.issued,
        app_bytes_read: replayed.bytes_read,
        app_bytes_written: replayed.bytes_written,
        cpu_ns: replayed.cpu_ns,
        elapsed_ns: replayed.elapsed_ns,
        stopped: replayed.stopped,
        ..StepOutcome::default()
    };
    if !replayed.stopped {
        outcome.warnings = warnings(&outline.name, &fidelity, &replayed);
    }
    for (kind, histogram) in replayed.latencies {
        outcome.keep(kind, histogram);
    }
    outcome.compute(&outline.metrics);
    let lost: u64 = fidelity.lost.values().sum();
    let lateness = replayed.lateness.percentile_ns(0.99).map(|ns| ns as f64);
    outcome.set([
        ("time_in_calls", Some(replayed.inside_ns as f64 / 1e9)),
        ("fidelity", fidelity.share()),
        ("calls_differing", Some(fidelity.differing as f64)),
        ("calls_left_out", Some(lost as f64)),
        ("files_unknown", Some(fidelity.unknown_files as f64)),
        ("concurrency", fidelity.concurrency),
        ("concurrency_recorded", fidelity.concurrency_recorded),
        ("lateness_p99", lateness),
        ("device_read_recorded", recorded.device_bytes.map(|bytes| bytes.read as f64)),
        ("device_written_recorded", recorded.device_bytes.map(|bytes| bytes.written as f64)),
    ]);
    outcome
}

fn warnings(step: &str, fidelity: &Fidelity, replayed: &Replayed) -> Vec<Warning> {
    let Some(share) = fidelity.share() else { return Vec::new() };
    let lost: u64 = fidelity.lost.values().sum();
    let notes = notes(fidelity, replayed);
    if fidelity.differing == 0 && lost == 0 && notes.is_empty() {
        return Vec::new();
    }
    let code = match share < Fidelity::SUFFICIENT {
        true => WarningCode::LowFidelity,
        false => WarningCode::ReplayDiffers,
    };
    let reasons = fidelity.lost.iter().map(|(reason, count)| (*count, reason.name().to_owned()));
    let mut causes: Vec<(u64, String)> = reasons
        .chain(replayed.differences.iter().map(|(one, count)| (*count, difference(one))))
        .collect();
    causes.sort_by(|a, b| b.cmp(a));
    causes.truncate(SHOWN);
    causes.extend(notes);
    let shown: Vec<String> =
        causes.iter().map(|(count, cause)| format!("{count} × {cause}")).collect();
    let text = format!(
        "{step}: {} of {} recorded calls left out, {} with another result: {}",
        lost,
        fidelity.calls,
        fidelity.differing,
        shown.join("; ")
    );
    vec![Warning::new(code, text)]
}

/// Counts of what a replay does otherwise than its program, besides calls that are left out or have another result.
fn notes(fidelity: &Fidelity, replayed: &Replayed) -> Vec<(u64, String)> {
    let spared = match replayed.spared {
        0 => String::new(),
        calls => format!(" ({calls} calls that copied were not made)"),
    };
    let cloned = "file cloned where the recording copied it, or copied where it cloned";
    let all = [
        (fidelity.unknown_files, "file removed or cut before its size was recorded".to_owned()),
        (fidelity.mapped_writes, "mapping that the program may have written through".to_owned()),
        (fidelity.asynchronous, "asynchronous operation made by a thread".to_owned()),
        (replayed.cloned_otherwise, format!("{cloned}{spared}")),
        (fidelity.special_bits, "set-user-ID or set-group-ID bits left out".to_owned()),
        (fidelity.contradictions, "path that could not be followed through the trace".to_owned()),
        (
            fidelity.untimed,
            "call without a recorded duration, which is slept as a pause".to_owned(),
        ),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).collect()
}

fn difference(one: &Difference) -> String {
    let result = |number: i64, other: &str| match number {
        0 => "success".to_owned(),
        1 => other.to_owned(),
        error => {
            let error = i32::try_from(error.unsigned_abs()).unwrap_or(0);
            let text = io::Error::from_raw_os_error(error).to_string();
            text.split(" (os").next().unwrap_or_default().to_owned()
        }
    };
    format!(
        "{}: {} recorded, {} replayed",
        one.call.call().name,
        result(one.recorded, "success"),
        result(one.replayed, "another number")
    )
}

#[cfg(test)]
mod tests;
