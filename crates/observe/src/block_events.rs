//! The stream of block requests of one device, from the kernel's own tracing.
//!
//! Events `block:block_rq_issue` and `block:block_rq_complete` are read in their binary form from
//! a tracing instance of our own, so that other users of tracing are not disturbed. Nothing stays
//! mounted: tracefs is reached through a mount that is attached nowhere. The instance itself
//! outlives a killed process; [`remove_unused_instances`] is for those who clean up after one.

mod ring;
mod tracefs;

use crate::clock::monotonic_ns;
use crate::error::ObserveError;
use ring::EventFormats;
use rustix::io::Errno;
use seekwell_model::record::{BlockEvent, BlockEvents};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tracefs::{Instance, Tracefs};

/// Names of tracing instances of this program begin so.
pub const INSTANCE_PREFIX: &str = "seekwell-";

/// Time between two reads of the rings: at 100,000 requests a second and CPU the default buffer holds
/// ten times as much.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);

/// Major and minor number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl DeviceNumber {
    /// The number of a disk or partition by kernel name, from sysfs under `root`.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn read(root: &Path, kernel_name: &str) -> Result<Self, ObserveError> {
        let path = crate::counters::stat_path(root, kernel_name)?.with_file_name("dev");
        let text = std::fs::read_to_string(&path).map_err(ObserveError::io("read", &path))?;
        let parsed = text.trim().split_once(':').and_then(|(major, minor)| {
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        parsed.ok_or_else(|| ObserveError::Malformed {
            path,
            text: text.trim().chars().take(60).collect(),
            expected: "MAJOR:MINOR",
        })
    }

    /// As the kernel keeps it (`MKDEV` of `linux/kdev_t.h`) and trace events show it.
    fn kernel_value(self) -> u32 {
        (self.major << 20) | self.minor
    }
}

/// Settings of a recording.
#[derive(Clone, Debug)]
pub struct BlockEventOptions {
    /// Name of the tracing instance, from [`instance_name`].
    pub instance: String,
    /// The device. Requests to a partition carry the number of its disk.
    pub device: DeviceNumber,
    /// Size of the kernel's buffer per CPU.
    pub buffer_kib_per_cpu: u32,
    /// Events kept; more are counted as lost.
    pub limit: usize,
    /// `CLOCK_MONOTONIC` when the trial began: events count from it.
    pub origin_ns: u64,
}

impl BlockEventOptions {
    /// 8 MiB per CPU, at most 4 million events (about 100 MB in memory).
    #[must_use]
    pub fn new(instance: String, device: DeviceNumber, origin_ns: u64) -> Self {
        Self { instance, device, buffer_kib_per_cpu: 8192, limit: 4_000_000, origin_ns }
    }
}

/// Name of the tracing instance of a trial. Characters that could leave the folder become `_`.
#[must_use]
pub fn instance_name(run: &str, trial: u32) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let run: String = run.chars().map(safe).take(64).collect();
    format!("{INSTANCE_PREFIX}{run}-{trial}")
}

/// Name of the tracing instance of a process that watches.
#[must_use]
pub fn watcher_name(process: u32) -> String {
    format!("{INSTANCE_PREFIX}watch-{process}")
}

/// Removes the tracing instances of `seekwell watch` processes that were killed, and returns their
/// number. An instance that cannot be removed stays for the next time.
///
/// # Errors
/// When tracefs is not available.
pub fn remove_dead_watchers() -> Result<usize, ObserveError> {
    let tracefs = Tracefs::open()?;
    let alive = |process: &str| Path::new("/proc").join(process).exists();
    let prefix = watcher_name(0);
    let prefix = prefix.trim_end_matches('0');
    let dead = |name: &String| {
        let process = name.strip_prefix(prefix);
        process.is_some_and(|process| process.parse::<u32>().is_ok() && !alive(process))
    };
    let names = tracefs.instances()?;
    Ok(names.iter().filter(|name| dead(name) && Instance::remove(&tracefs, name).is_ok()).count())
}

/// Removes a tracing instance that a killed process left behind. `false` when there is none.
///
/// # Errors
/// When the name is not that of a Seekwell instance, tracefs is not available, or another process still
/// reads from the instance.
pub fn remove_instance(name: &str) -> Result<bool, ObserveError> {
    let tracefs = Tracefs::open()?;
    Instance::remove(&tracefs, name)
}

/// Removes the unused tracing instances of Seekwell and returns their names. Only killed processes
/// leave such instances behind.
///
/// # Errors
/// When tracefs is not available.
pub fn remove_unused_instances() -> Result<Vec<String>, ObserveError> {
    Instance::remove_unused(&Tracefs::open()?, INSTANCE_PREFIX)
}

/// A running stream. Dropping it removes the instance and forgets the events.
#[derive(Debug)]
pub struct BlockEventStream {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<BlockEvents, ObserveError>>>,
}

impl BlockEventStream {
    /// Makes the tracing instance and starts reading. Events of requests issued after this call
    /// are in the stream.
    ///
    /// # Errors
    /// When tracing is not available (it needs root), or an instance of this name exists.
    pub fn start(options: &BlockEventOptions) -> Result<Self, ObserveError> {
        Self::spawn(Collector::open(options)?)
    }

    /// As [`BlockEventStream::start`], for a live display: the events are sent in batches
    /// while they come, each CPU's in order and the CPUs' among each other not, and [`stop`] gives
    /// back how many were lost and no events. `limit` holds for one batch.
    ///
    /// # Errors
    /// As [`BlockEventStream::start`].
    ///
    /// [`stop`]: BlockEventStream::stop
    pub fn start_live(
        options: &BlockEventOptions,
    ) -> Result<(Self, Receiver<Vec<BlockEvent>>), ObserveError> {
        let (sender, receiver) = channel();
        let mut collector = Collector::open(options)?;
        collector.live = Some(sender);
        Ok((Self::spawn(collector)?, receiver))
    }

    fn spawn(collector: Collector) -> Result<Self, ObserveError> {
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let thread = std::thread::Builder::new()
            .name("block-events".to_owned())
            .spawn(move || collector.run(&stop))
            .map_err(|source| ObserveError::Thread { what: "block event", source })?;
        Ok(Self { stopping, thread: Some(thread) })
    }

    /// Stops tracing, removes the instance and gives the events back, in order of time.
    ///
    /// # Errors
    /// When the kernel's buffer could not be read to its end or the instance not be removed.
    pub fn stop(mut self) -> Result<BlockEvents, ObserveError> {
        match self.join() {
            Some(result) => result,
            None => Err(ObserveError::Program {
                program: "the block event thread".to_owned(),
                problem: "ended early; report this as a defect".to_owned(),
            }),
        }
    }

    fn join(&mut self) -> Option<Result<BlockEvents, ObserveError>> {
        self.stopping.store(true, Ordering::Release);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for BlockEventStream {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// The instance with its open rings, and what was read so far.
#[derive(Debug)]
struct Collector {
    rings: Vec<OwnedFd>,
    instance: Instance,
    formats: EventFormats,
    page: Vec<u8>,
    events: Vec<BlockEvent>,
    over_limit: u64,
    limit: usize,
    origin_ns: u64,
    live: Option<Sender<Vec<BlockEvent>>>,
}

impl Collector {
    fn open(options: &BlockEventOptions) -> Result<Self, ObserveError> {
        let instance = Instance::create(Tracefs::open()?, &options.instance)?;
        let device = options.device.kernel_value();
        let formats = EventFormats::parse(
            &instance.read("events/block/block_rq_issue/format")?,
            &instance.read("events/block/block_rq_complete/format")?,
            device,
        )
        .ok_or_else(|| ObserveError::Malformed {
            path: instance.path("events/block/block_rq_issue/format"),
            text: "an unknown layout".to_owned(),
            expected: "fields dev, sector, nr_sector and rwbs",
        })?;
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &options.buffer_kib_per_cpu.to_string())?;
        // A full buffer then drops the newest events and counts them, so that what was kept is
        // one piece.
        instance.write("options/overwrite", "0")?;
        for event in ["block_rq_issue", "block_rq_complete"] {
            instance.write(&format!("events/block/{event}/filter"), &format!("dev == {device}"))?;
        }
        let rings = instance.open_rings()?;
        for event in ["block_rq_issue", "block_rq_complete"] {
            instance.write(&format!("events/block/{event}/enable"), "1")?;
        }
        let page = vec![0; instance.page_bytes()?];
        Ok(Self {
            rings,
            instance,
            formats,
            page,
            events: Vec::new(),
            over_limit: 0,
            limit: options.limit,
            origin_ns: options.origin_ns,
            live: None,
        })
    }

    fn run(mut self, stopping: &AtomicBool) -> Result<BlockEvents, ObserveError> {
        let mut due_ns = monotonic_ns();
        while !stopping.load(Ordering::Acquire) {
            self.drain()?;
            self.send();
            due_ns += u64::try_from(DRAIN_INTERVAL.as_nanos()).unwrap_or(u64::MAX);
            std::thread::park_timeout(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())));
        }
        self.instance.write("tracing_on", "0")?;
        self.drain()?;
        self.send();
        let lost = self.instance.lost_events()? + self.over_limit;
        drop(self.rings);
        self.instance.close()?;
        // Each CPU's ring is in order; the rings among each other are not.
        self.events.sort_by_key(|event| event.at_ns);
        Ok(BlockEvents { events: self.events, lost })
    }

    /// Hands the events so far to who looks on.
    fn send(&mut self) {
        if let Some(live) = &self.live
            && !self.events.is_empty()
        {
            // Whoever hung up wants no more events; the stream ends when it is stopped.
            let _ = live.send(std::mem::take(&mut self.events));
        }
    }

    /// Reads every ring until it is empty.
    fn drain(&mut self) -> Result<(), ObserveError> {
        for ring in &self.rings {
            loop {
                match rustix::io::read(ring, &mut self.page) {
                    Ok(0) | Err(Errno::AGAIN) => break,
                    Ok(length) => {
                        let room = self.limit.saturating_sub(self.events.len());
                        let before = self.events.len();
                        self.formats.decode_page(
                            &self.page[..length],
                            self.origin_ns,
                            &mut self.events,
                        );
                        let kept = (self.events.len() - before).min(room);
                        self.over_limit += (self.events.len() - before - kept) as u64;
                        self.events.truncate(before + kept);
                    }
                    Err(Errno::INTR) => {}
                    Err(error) => {
                        let path = self.instance.path("per_cpu/cpu*/trace_pipe_raw");
                        return Err(ObserveError::io("read", path)(error));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
