//! Replays on the stack of their capture, before the trials of a run: the one stack on which the program's time is
//! known.

use seekwell_host::confine::{Reach, read_confined};
use seekwell_host::recorded::{
    CheckDirectory, DiskCounters, RecordedFile, RecordedFilesystem, counters,
};
use seekwell_host::sysfs::System;
use seekwell_model::lab::{Effort, Workload};
use seekwell_model::replay_check::{
    CheckResult, Compared, FewerSyncs, LIMIT, ReplayCheck, ReplayComparison,
};
use seekwell_model::workloads::replay::ReplaySpeed;
use seekwell_model::workloads::{CacheState, ReplayParams, WorkloadParams};
use seekwell_recordings::info::{AT_STAKE, SYNC_EVERY};
use seekwell_replay::{Choice, Content, Options, Plan, ReplayError, Replayed, Speed};
use seekwell_trace::{Operation, Trace};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Replays of a check whose first one is off: a single one may have been disturbed.
const REPLAYS: usize = 3;
/// Files of a recording that are looked for here.
const MAX_FILES: usize = 10_000;
/// A replay leaves one of this many bytes of the filesystem free.
const KEPT_FREE: u64 = 20;
/// Time between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);

/// The workloads of a plan that a check can compare, by name.
pub(crate) fn replayed(workloads: &[Workload]) -> impl Iterator<Item = (&str, &ReplayParams)> {
    workloads.iter().flat_map(|workload| {
        let parts = workload.parts.iter().filter_map(|part| match part {
            WorkloadParams::Replay(params) => Some(params),
            _ => None,
        });
        // Other speeds have no recorded time.
        let has_time = |one: &&ReplayParams| one.speed == ReplaySpeed::Recorded && one.scale == 1.0;
        let compared = parts.filter(has_time).filter(|one| !one.unchecked);
        compared.map(|params| (workload.name.as_str(), params))
    })
}

/// Histogram of a replay's syncs.
const SYNCS: &str = "fsync";

/// Part of a run's time that its checks may take: a quarter.
const SHARE_OF_TIME: u64 = 4;

/// Place and time of checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    /// Folder of the undo lists.
    pub(crate) lists: &'a Path,
    /// Time of all trials together.
    pub(crate) effort: Effort,
    /// Ends a check early.
    pub(crate) stop: &'a AtomicBool,
}

impl Bounds<'_> {
    /// True if replays that take so long leave time for the trials.
    fn has_time(&self, replays_ns: u64) -> bool {
        match self.effort {
            // Each stack takes as long several times.
            Effort::Rounds(_) => true,
            Effort::Budget(time) => replays_ns <= time.0 / SHARE_OF_TIME,
        }
    }
}

/// Checks the replays of a lab. `None` when it was stopped.
pub(crate) fn check(workloads: &[Workload], bounds: &Bounds<'_>) -> Option<Vec<ReplayCheck>> {
    let mut checks: Vec<ReplayCheck> = Vec::new();
    let mut seen: Vec<&ReplayParams> = Vec::new();
    for (workload, params) in replayed(workloads) {
        let is_same =
            |other: &ReplayParams| (&other.trace, &other.only) == (&params.trace, &params.only);
        let known = seen.iter().position(|other| is_same(other));
        let result = match known {
            Some(at) => checks[at].result.clone(),
            None => match compare(params, bounds) {
                Ok(found) => CheckResult::Compared(Box::new(found)),
                Err(reason) => CheckResult::Unchecked(reason),
            },
        };
        if bounds.stop.load(Ordering::Relaxed) {
            return None;
        }
        seen.push(params);
        checks.push(ReplayCheck { workload: workload.to_owned(), result });
    }
    Some(checks)
}

/// The parts of a trace that a check needs.
struct Recording {
    plan: Plan,
    kernel: Option<String>,
    files: Vec<RecordedFile>,
}

impl Recording {
    fn read(params: &ReplayParams) -> Result<Self, ReplayError> {
        read_confined(&Reach::default().reading_trace(&params.trace), || {
            let trace = Trace::open(&params.trace)?;
            let plan = plan(&trace, params, 1)?;
            Ok(Self { plan, kernel: trace.meta().kernel.clone(), files: files(&trace, params)? })
        })
    }
}

/// The plan of a load, with one sync for so many.
pub(crate) fn plan(
    trace: &Trace,
    params: &ReplayParams,
    sync_every: u32,
) -> Result<Plan, ReplayError> {
    let choice = Choice { only: params.only.clone(), sync_every, ..Choice::default() };
    seekwell_replay::plan(trace, &choice)
}

/// Files of the load with device and inode.
fn files(trace: &Trace, params: &ReplayParams) -> Result<Vec<RecordedFile>, ReplayError> {
    let mut found = Vec::new();
    let only = params.only.as_deref().map(Path::new);
    let mut add = |path: &str, device: Option<u32>, inode: Option<u64>| {
        let path = PathBuf::from(path);
        let is_below = only.is_none_or(|only| path.starts_with(only));
        if let (Some(device), Some(inode), true) = (device, inode, is_below)
            && path.is_absolute()
            && found.len() < MAX_FILES
        {
            found.push(RecordedFile { path, device, inode });
        }
    };
    trace.initial(|entry| {
        add(&entry.path, entry.device, entry.inode);
        Ok(())
    })?;
    for file in trace.files()? {
        add(file.path.as_deref().unwrap_or_default(), file.device, file.inode);
    }
    Ok(found)
}

/// Replays a recording on its own filesystem; the error is the reason why that cannot be done.
fn compare(params: &ReplayParams, bounds: &Bounds<'_>) -> Result<ReplayComparison, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("that needs root".to_owned());
    }
    let system = System::host();
    let recording = Recording::read(params).map_err(|error| error.to_string())?;
    let folder = params.only.as_deref().map(Path::new);
    let kernel = recording.kernel.as_deref();
    let found = RecordedFilesystem::find(&system, kernel, &recording.files, folder);
    let found = found.map_err(|error| error.to_string())?;
    let on = found.map_err(|absent| absent.to_string())?;
    if !bounds.has_time(recording.plan.recorded().elapsed_ns) {
        return Err("that takes more than a quarter of the time of the run".to_owned());
    }
    let place = Place { system: &system, recording: &recording, params, on: &on, bounds };
    let mut directory =
        CheckDirectory::make(&system, bounds.lists, &on).map_err(|error| error.to_string())?;
    let ran = place.replays(&mut directory);
    // A replay that fails with fewer syncs takes nothing from the comparison.
    let fewer =
        ran.as_ref().ok().and_then(|ran| place.fewer_syncs(&mut directory, ran).ok()).flatten();
    let removed = directory.remove().map_err(|error| error.to_string());
    let ran = ran.and_then(|ran| removed.map(|()| ran))?;
    place.comparison(&ran, fewer)
}

/// One replay with what the disk did.
struct Ran {
    replayed: Replayed,
    disk: Option<DiskCounters>,
}

struct Place<'a> {
    system: &'a System,
    recording: &'a Recording,
    params: &'a ReplayParams,
    on: &'a RecordedFilesystem,
    bounds: &'a Bounds<'a>,
}

impl Place<'_> {
    fn content(&self) -> Content {
        if self.params.zeros { Content::Zeros } else { Content::Random }
    }

    /// A replay with fewer syncs, where syncs take a part of the time that is worth it.
    fn fewer_syncs(
        &self,
        directory: &mut CheckDirectory,
        ran: &[Ran],
    ) -> Result<Option<FewerSyncs>, String> {
        let Some(Ran { replayed, .. }) = ran.get(ran.len() / 2) else { return Ok(None) };
        let syncs = replayed.latencies.get(SYNCS).filter(|syncs| syncs.count() > SYNC_EVERY.into());
        let in_syncs_ns = syncs.and_then(|syncs| Some(syncs.mean_ns()? * syncs.count() as f64));
        let is_much = in_syncs_ns.is_some_and(|took| took >= AT_STAKE * replayed.elapsed_ns as f64);
        let took_ns = ran.iter().map(|one| one.replayed.elapsed_ns).sum::<u64>();
        let has_time = self.bounds.has_time(took_ns.saturating_add(replayed.elapsed_ns));
        if !is_much || !has_time || self.bounds.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let path = &self.params.trace;
        let changed = read_confined(&Reach::default().reading_trace(path), || {
            plan(&Trace::open(path)?, self.params, SYNC_EVERY)
        });
        let changed = changed.map_err(|error: ReplayError| error.to_string())?;
        directory.renew().map_err(|error| error.to_string())?;
        let took = self.replay(&changed, directory)?.replayed;
        let elapsed_s = took.elapsed_ns as f64 / 1e9;
        Ok((!took.stopped).then_some(FewerSyncs { every: SYNC_EVERY, elapsed_s }))
    }

    /// One replay, and more if it is off, by elapsed time.
    fn replays(&self, directory: &mut CheckDirectory) -> Result<Vec<Ran>, String> {
        let recorded = self.recording.plan.recorded().elapsed_ns as f64;
        let (mut all, mut took_ns) = (Vec::new(), 0_u64);
        while all.len() < REPLAYS {
            let ran = self.replay(&self.recording.plan, directory)?;
            let ratio = ran.replayed.elapsed_ns as f64 / recorded;
            took_ns = took_ns.saturating_add(ran.replayed.elapsed_ns);
            all.push(ran);
            let is_off = !(LIMIT.recip()..=LIMIT).contains(&ratio);
            let is_enough = all.len() == 1 && !is_off;
            let has_time = self.bounds.has_time(took_ns.saturating_mul(2));
            if is_enough || !has_time || self.bounds.stop.load(Ordering::Relaxed) {
                break;
            }
            directory.renew().map_err(|error| error.to_string())?;
        }
        all.sort_by_key(|one| one.replayed.elapsed_ns);
        Ok(all)
    }

    fn replay(&self, plan: &Plan, directory: &CheckDirectory) -> Result<Ran, String> {
        let failed = |error: ReplayError| error.to_string();
        let here = |error: seekwell_host::Error| error.to_string();
        let target = directory.path();
        let free = rustix::fs::statvfs(&target).map_err(|error| error.to_string())?;
        let kept = free.f_blocks.saturating_mul(free.f_frsize) / KEPT_FREE;
        seekwell_replay::check_room(plan, &target, kept).map_err(failed)?;
        seekwell_replay::rebuild(plan, &target, self.content(), Some(self.bounds.stop))
            .map_err(failed)?;
        directory.sync().map_err(here)?;
        if self.params.cache == CacheState::Cold {
            directory.drop_pages().map_err(here)?;
        }
        let disk = self.on.disk(self.system);
        let count = || disk.and_then(|disk| counters(self.system, disk));
        let before = count();
        let replayed = stopping(self.bounds.stop, |stop| {
            let options = Options {
                speed: Speed::Recorded(1.0),
                content: self.content(),
                stop,
                kept,
                ..Options::default()
            };
            seekwell_replay::replay(plan, &target, &options)
        });
        let replayed = replayed.map_err(failed)?;
        let disk = count().zip(before).map(|(after, before)| after.since(before));
        Ok(Ran { replayed, disk })
    }

    /// The replay of middle length, set against the recording.
    fn comparison(
        &self,
        ran: &[Ran],
        fewer_syncs: Option<FewerSyncs>,
    ) -> Result<ReplayComparison, String> {
        let middle = ran.get(ran.len() / 2).ok_or("it was stopped")?;
        let recorded = self.recording.plan.recorded();
        let disk = match self.on.disk(self.system).filter(|_| middle.disk.is_some()) {
            Some(disk) => self.recorded_disk(disk).map_err(|error| error.to_string())?,
            None => None,
        };
        let replayed = &middle.replayed;
        let disks = disk.zip(middle.disk);
        let of_disks = |get: fn(DiskCounters) -> u64| {
            let (recorded, replayed) = disks?;
            Some(Compared { recorded: get(recorded) as f64, replayed: get(replayed) as f64 })
        };
        let depth = |disk: DiskCounters, elapsed_ns: u64| {
            disk.in_progress_ms as f64 * 1e6 / (elapsed_ns as f64).max(1.0)
        };
        Ok(ReplayComparison {
            stack: self.on.words(),
            replays: u32::try_from(ran.len()).unwrap_or(u32::MAX),
            elapsed_s: seconds(recorded.elapsed_ns, replayed.elapsed_ns),
            calls_s: seconds(recorded.inside_ns, replayed.inside_ns),
            computing_s: recorded.computing_ns.map(|own_ns| seconds(own_ns, replayed.awake_ns)),
            device_read_bytes: of_disks(|disk| disk.read_bytes),
            device_written_bytes: of_disks(|disk| disk.written_bytes),
            requests: of_disks(|disk| disk.requests),
            depth: disks.map(|(was, is)| Compared {
                recorded: depth(was, recorded.elapsed_ns),
                replayed: depth(is, replayed.elapsed_ns),
            }),
            is_asynchronous: recorded.asynchronous >= recorded.planned.div_ceil(10).max(1),
            overhead_s: replayed.overhead_ns as f64 / 1e9,
            fewer_syncs,
        })
    }

    /// Requests of a disk while the program ran; `None` for a recording without requests.
    fn recorded_disk(&self, disk: u32) -> Result<Option<DiskCounters>, ReplayError> {
        let plan = &self.recording.plan;
        let span = plan.first_ns()..=plan.first_ns().saturating_add(plan.recorded().elapsed_ns);
        let path = &self.params.trace;
        read_confined(&Reach::default().reading_trace(path), || {
            let trace = Trace::open(path)?;
            let (mut sum, mut in_progress_ns) = (DiskCounters::default(), 0_u64);
            trace.requests(|request| {
                let bytes = match request.operation {
                    Operation::Read => &mut sum.read_bytes,
                    Operation::Write => &mut sum.written_bytes,
                    _ => return Ok(()),
                };
                if request.device == disk && span.contains(&request.start_ns) {
                    *bytes = bytes.saturating_add(request.bytes);
                    sum.requests += 1;
                    in_progress_ns =
                        in_progress_ns.saturating_add(request.duration_ns.unwrap_or(0));
                }
                Ok(())
            })?;
            sum.in_progress_ms = in_progress_ns / 1_000_000;
            Ok(trace.meta().requests.then_some(sum))
        })
    }
}

fn seconds(recorded_ns: u64, replayed_ns: u64) -> Compared {
    Compared { recorded: recorded_ns as f64 / 1e9, replayed: replayed_ns as f64 / 1e9 }
}

/// Does the work with a flag of its own that follows `stop`.
fn stopping<T>(stop: &AtomicBool, work: impl FnOnce(Option<Arc<AtomicBool>>) -> T) -> T {
    let (flag, over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                flag.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                std::thread::park_timeout(LOOK);
            }
        });
        let _over = Over(&over);
        work(Some(Arc::clone(&flag)))
    })
}

/// Sets the flag when it goes, also by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
