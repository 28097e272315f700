//! Captures: the file system calls and block requests of running programs, recorded with eBPF.
//!
//! The programs in `bpf/` are attached to tracepoints of the kernel and write into one ring buffer
//! per CPU. [`capture`] empties the rings, follows descriptors and paths, and writes a trace (room
//! `trace`). Nothing is changed in the traced program, and nothing stays attached when this process
//! ends, however it ends.

mod around;
mod bpf;
mod btf;
mod container;
mod error;
pub mod guest;
mod kernel;
mod live;
mod load;
mod mappings;
mod output;
mod processes;
mod record;
mod recorder;
mod resolve;
mod ring;
mod target;
mod walk;

pub use container::{cgroup_of, cgroup_of_container};
pub use error::CaptureError;
pub use live::Live;
pub use target::{Command, Environment, Target};

use kernel::Select;
use load::Loaded;
use recorder::Recorder;
use resolve::Resolver;
use rustix::time::{ClockId, clock_gettime};
use seekwell_trace::meta::{
    LOST_32_BIT, LOST_CALLS, LOST_FAULTS, LOST_OPERATIONS, LOST_REQUESTS, Lost, Meta,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::Running;

/// Time between two looks at the rings. At a million calls a second a ring gets 2.1 MiB in it.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at the rings between two looks at the free space: a second.
const LOOKS_AT_SPACE: u32 = 50;
/// A record may arrive in its ring this much later than its time says.
const LATE_NS: u64 = 2_000_000;
/// Names of losses, in the order of the programs' `enum loss`.
const LOSSES: [&str; 10] = [
    LOST_CALLS, "paths", "processes", LOST_REQUESTS, "threads", "unreadable paths",
    LOST_OPERATIONS, "wake-ups", LOST_FAULTS, LOST_32_BIT,
];

/// Size of each CPU's ring where nothing is recorded, bytes.
const CHECKED_RING_BYTES: u32 = 1 << 20;

/// Settings of a capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the trace; it is made.
    pub output: PathBuf,
    /// Processes to record.
    pub target: Target,
    /// Directories to record; empty for all.
    pub paths: Vec<PathBuf>,
    /// Longest time.
    pub time: Option<Duration>,
    /// Record block requests too, of all devices and processes.
    pub block: bool,
    /// Allow the output on the device of a traced directory.
    pub same_device: bool,
    /// Record the state of the traced directories before the start; of the working directory of a
    /// command without any.
    pub walk: bool,
    /// Replace names by words without meaning.
    pub anonymize: bool,
    /// End when the trace has this size, bytes.
    pub max_bytes: Option<u64>,
    /// Size of each CPU's ring, bytes: a power of two.
    pub ring_bytes: u32,
    /// Called when a step begins.
    pub tell: fn(&Options, Step<'_>),
}

/// A step of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The state of these trees is recorded.
    Walk(&'a [PathBuf]),
    /// The target is recorded; a command starts.
    Record,
}

/// Reason why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The command or process ended.
    Target,
    /// The time is over.
    Time,
    /// The caller asked for it.
    Stopped,
    /// The trace has its largest size.
    Size,
    /// The filesystem of the trace is nearly full: less than 5 % is free, and less than 1 GiB.
    Space,
}

impl Options {
    /// A capture of `target` with everything, for as long as it runs.
    #[must_use]
    pub fn new(output: PathBuf, target: Target) -> Self {
        Self {
            output,
            target,
            paths: Vec::new(),
            time: None,
            block: true,
            same_device: false,
            walk: true,
            anonymize: false,
            max_bytes: None,
            ring_bytes: 64 << 20,
            tell: |_, _| {},
        }
    }
}

/// A finished capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Calls and block requests in the trace.
    pub events: u64,
    /// Lost events, by CPU and kind.
    pub lost: Vec<Lost>,
    /// Length.
    pub duration: Duration,
    /// CPU time of this process in it and until the trace was sealed: of the recorder alone, without
    /// loading its programs and the walk before the start.
    pub recorder_cpu: Duration,
    /// Reason of the end.
    pub ended: Ended,
    /// Exit status of the command; `None` for other targets and when it still runs.
    pub status: Option<std::process::ExitStatus>,
}

/// Checks that the kernel takes the programs of a capture; nothing is recorded.
///
/// # Errors
/// When it lacks something or refuses.
pub fn check() -> Result<(), CaptureError> {
    load::load(Select::Chosen, CHECKED_RING_BYTES, true).map(drop)
}

/// Records until the target ends, the time is over or `stop` is set; `watch` gets the load of each
/// second.
///
/// # Errors
/// When the kernel, the target or the output cannot be used.
pub fn capture(
    options: &Options,
    stop: &AtomicBool,
    mut watch: Option<&mut dyn FnMut(&Live)>,
) -> Result<Captured, CaptureError> {
    let paths = target::checked_paths(options)?;
    let select = match options.target {
        Target::Command(_) | Target::Process(_) => Select::Chosen,
        Target::Cgroup(_) => Select::Cgroup,
        Target::System => Select::System,
    };
    let mut loaded = load::load(select, options.ring_bytes, options.block)?;
    let resolver = Resolver::new(now_ns(), std::process::id(), paths.clone());
    let mut recorder = Recorder::create(options, resolver, description(options, &paths, &loaded))?;
    let (started, mut running) = match begin(options, stop, &mut loaded, &mut recorder) {
        Ok(begun) => begun,
        Err(error) => {
            recorder.writer.abandon();
            return Err(error);
        }
    };
    let cpu_before = cpu();
    if watch.is_some() {
        recorder.resolver.counting = Some(live::Counting::new());
    }
    let rows = recorder.start();
    let mut looks = 0_u32;
    let ended = loop {
        let is_due = looks.is_multiple_of(LOOKS_AT_SPACE);
        if let Some(ended) = over(options, stop, started, &mut running, rows.bytes(), is_due) {
            break ended;
        }
        looks = looks.wrapping_add(1);
        running.follow(&loaded)?;
        let until_ns = now_ns().saturating_sub(LATE_NS);
        let lost = lost(&loaded)?;
        if !rows.take(&mut loaded, until_ns, lost) {
            // The thread of the rows has an error, which its end tells.
            break Ended::Stopped;
        }
        if let (Some(watch), Some(live)) = (&mut watch, rows.live()) {
            watch(&live);
        }
        std::thread::sleep(LOOK);
    };
    loaded.detach();
    let (duration, end_ns) = (started.elapsed(), now_ns());
    std::thread::sleep(Duration::from_nanos(LATE_NS));
    let lost = lost(&loaded)?;
    rows.take(&mut loaded, u64::MAX, lost.clone());
    let in_progress = loaded.in_progress()?;
    let mut recorder = rows.finish(lost.clone())?;
    recorder.leave(&in_progress, end_ns);
    let events = recorder.finish(end_ns)?;
    let recorder_cpu = cpu().saturating_sub(cpu_before);
    Ok(Captured { events, lost, duration, recorder_cpu, ended, status: running.status() })
}

/// Walks the trees, then starts or finds the target.
fn begin(
    options: &Options,
    stop: &AtomicBool,
    loaded: &mut Loaded,
    recorder: &mut Recorder,
) -> Result<(Instant, Running), CaptureError> {
    let roots = target::walked(options);
    if options.walk && !roots.is_empty() {
        (options.tell)(options, Step::Walk(&roots));
    }
    if options.walk {
        recorder.walk(&roots, &options.output, stop)?;
    }
    if stop.load(Ordering::Relaxed) {
        let said = "interrupted before the start; nothing was started or recorded";
        return Err(CaptureError::NotStarted(said.to_owned()));
    }
    recorder.begin(now_ns(), since_1970_ns());
    let started = Instant::now();
    // A command may write to the same terminal; another target may not be there.
    let is_command = matches!(options.target, Target::Command(_));
    if is_command {
        (options.tell)(options, Step::Record);
    }
    let running = Running::start(&options.target, loaded, recorder)?;
    if !is_command {
        (options.tell)(options, Step::Record);
    }
    Ok((started, running))
}

fn since_1970_ns() -> Option<u64> {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_1970.ok().and_then(|time| u64::try_from(time.as_nanos()).ok())
}

/// The reason to end now, if there is one.
fn over(
    options: &Options,
    stop: &AtomicBool,
    started: Instant,
    running: &mut Running,
    bytes: u64,
    look_at_space: bool,
) -> Option<Ended> {
    if running.ended() {
        return Some(Ended::Target);
    }
    let reasons = [
        (stop.load(Ordering::Relaxed), Ended::Stopped),
        (options.time.is_some_and(|time| started.elapsed() >= time), Ended::Time),
        (options.max_bytes.is_some_and(|most| bytes >= most), Ended::Size),
        (look_at_space && is_nearly_full(&options.output), Ended::Space),
    ];
    reasons.into_iter().find(|(is_so, _)| *is_so).map(|(_, ended)| ended)
}

/// True when an ordinary user could write little more to the filesystem of `folder`.
fn is_nearly_full(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|space| {
        let bytes = |blocks: u64| u128::from(blocks) * u128::from(space.f_frsize);
        is_little(bytes(space.f_bavail), bytes(space.f_blocks))
    })
}

/// True for less than 5 % of the whole and less than 1 GiB. Without the second limit a large
/// filesystem with tens of GiB left would take no trace.
fn is_little(free_bytes: u128, whole_bytes: u128) -> bool {
    const LEAST_PERCENT: u128 = 5;
    const ENOUGH_BYTES: u128 = 1 << 30;
    free_bytes < ENOUGH_BYTES && free_bytes * 100 < whole_bytes * LEAST_PERCENT
}

fn description(options: &Options, paths: &[String], loaded: &Loaded) -> Meta {
    let mut gaps = vec![
        if loaded.faults {
            "page faults: the kernel maps up to 16 pages around one from the page cache, and no fault \
             tells of those; pages of the programs themselves are not recorded"
        } else {
            "page faults of mapped files are not recorded, only mmap, msync and munmap: this kernel \
             has no tracepoint for them"
        }
        .to_owned(),
        if loaded.uring {
            "asynchronous I/O: operations of io_uring on the network are not recorded, of those on \
             names only the kind; an operation of libaio ends when the program asks for its result, \
             and is not recorded when the program takes it from the ring itself"
                .to_owned()
        } else {
            "io_uring: this kernel does not show the single operations, only the calls that submit \
             and await; with block requests their I/O is in `requests`"
                .to_owned()
        },
        "names in calls that open nothing are as the program gave them: links are not followed"
            .to_owned(),
        "contents of files before the capture are not recorded".to_owned(),
    ];
    if options.same_device {
        gaps.push(
            "the trace itself may be written to a traced device: of its writes `requests` holds those \
             that the kernel's threads issue, and depths count all of them"
                .to_owned(),
        );
    }
    if options.anonymize {
        gaps.push(
            "names are replaced by words without meaning, equal names by equal words".to_owned(),
        );
    }
    if !options.block {
        gaps.push("block requests were left out".to_owned());
    }
    if options.walk {
        gaps.push(
            "directories were read before the start: reading names and attributes from the device \
             is not in it"
                .to_owned(),
        );
    }
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    Meta {
        kernel: Some(kernel),
        started_unix_ns: since_1970_ns(),
        paths: paths.to_vec(),
        requests: options.block,
        faults: loaded.faults,
        gaps,
        ..Meta::new("capture")
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    whole + u64::try_from(now.tv_nsec).unwrap_or(0)
}

fn lost(loaded: &Loaded) -> Result<Vec<Lost>, CaptureError> {
    let mut all = Vec::new();
    for (kind, counts) in LOSSES.iter().zip(loaded.losses()?) {
        for (cpu, count) in (0_u32..).zip(counts).filter(|(_, count)| *count > 0) {
            all.push(Lost { cpu: Some(cpu), kind: (*kind).to_owned(), count });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
