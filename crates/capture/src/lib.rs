//! Captures: the file system calls and block requests of running programs, recorded with eBPF.
//!
//! The programs in `bpf/` are attached to tracepoints of the kernel and write into one ring buffer
//! per CPU. [`capture`] empties the rings, follows descriptors and paths, and writes a trace (room
//! `trace`). Nothing is changed in the traced program, and nothing stays attached when this process
//! ends, however it ends.

mod bpf;
mod btf;
mod error;
mod load;
mod processes;
mod record;
mod recorder;
mod resolve;
mod ring;
mod target;

pub use error::CaptureError;
pub use target::{Command, Target, cgroup_of};

use load::{Loaded, Select};
use recorder::Recorder;
use resolve::Resolver;
use rustix::time::{ClockId, clock_gettime};
use seekwell_trace::meta::{Lost, Meta};
use seekwell_trace::{Limits, TraceWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::Running;

/// Time between two looks at the rings. At a million calls a second a ring gets 2.1 MiB in it.
const LOOK: Duration = Duration::from_millis(20);
/// A record may arrive in its ring this much later than its time says.
const LATE_NS: u64 = 2_000_000;
/// Names of losses, in the order of the programs' `enum loss`.
const LOSSES: [&str; 6] =
    ["calls", "paths", "processes", "block requests", "threads", "unreadable paths"];

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
    /// Size of each CPU's ring, bytes: a power of two.
    pub ring_bytes: u32,
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
            ring_bytes: 64 << 20,
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
    /// Exit status of the command; `None` for other targets and when it still runs.
    pub status: Option<std::process::ExitStatus>,
}

/// Records until the target ends, the time is over or `stop` is set.
///
/// # Errors
/// When the kernel, the target or the output cannot be used.
pub fn capture(options: &Options, stop: &AtomicBool) -> Result<Captured, CaptureError> {
    let paths = target::checked_paths(options)?;
    let select = match options.target {
        Target::Command(_) | Target::Process(_) => Select::Chosen,
        Target::Cgroup(_) => Select::Cgroup,
        Target::System => Select::System,
    };
    let mut loaded = load::load(select, options.ring_bytes, options.block)?;
    let origin_ns = now_ns();
    let mut meta = description(options, &paths);
    let writer = TraceWriter::create(&options.output, &meta, Limits::default())?;
    let resolver = Resolver::new(origin_ns, std::process::id(), paths);
    let mut recorder = Recorder::new(resolver, writer);
    let started = Instant::now();
    let mut running = match Running::start(&options.target, &mut loaded, &mut recorder) {
        Ok(running) => running,
        Err(error) => {
            recorder.writer.abandon();
            return Err(error);
        }
    };
    let over = |running: &mut Running| {
        stop.load(Ordering::Relaxed)
            || options.time.is_some_and(|time| started.elapsed() >= time)
            || running.ended()
    };
    let rows = recorder.start(meta.clone());
    while !over(&mut running) {
        let until_ns = now_ns().saturating_sub(LATE_NS);
        let lost = lost(&loaded)?;
        if !rows.take(&mut loaded, until_ns, lost) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    loaded.detach();
    let duration = started.elapsed();
    std::thread::sleep(Duration::from_nanos(LATE_NS));
    meta.lost = lost(&loaded)?;
    rows.take(&mut loaded, u64::MAX, meta.lost.clone());
    let recorder = rows.finish(meta.lost.clone())?;
    meta.duration_ns = Some(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let events = recorder.writer.events();
    recorder.writer.finish(&meta)?;
    Ok(Captured { events, lost: meta.lost, duration, status: running.status() })
}

fn description(options: &Options, paths: &[String]) -> Meta {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut gaps = vec![
        "page faults of mapped files are not recorded, only mmap, msync and munmap".to_owned(),
        "io_uring and libaio: the calls that submit and await are recorded, not the single \
         operations; with block requests their I/O is in `requests`"
            .to_owned(),
        "names in calls that open nothing are as the program gave them: links are not followed"
            .to_owned(),
        "contents of files before the capture are not recorded".to_owned(),
    ];
    if options.same_device {
        gaps.push(
            "the trace itself may be written to a traced device: `requests` then holds its writes"
                .to_owned(),
        );
    }
    if !options.block {
        gaps.push("block requests were left out".to_owned());
    }
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    Meta {
        kernel: Some(kernel),
        started_unix_ns: since_1970.ok().and_then(|time| u64::try_from(time.as_nanos()).ok()),
        paths: paths.to_vec(),
        requests: options.block,
        gaps,
        ..Meta::new("capture")
    }
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
