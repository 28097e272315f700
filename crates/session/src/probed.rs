//! A block device as the probe reads it: past the page cache, at chosen times. Only one that is claimed is opened for
//! writing, too.

use rustix::fs::{FileType, Mode, OFlags};
use seekwell_device::Geometry;
use seekwell_engine::buffer::{Aligned, Arena, ArenaShape, DataShape};
use seekwell_engine::{Clock as _, MonotonicClock};
use seekwell_host::guard::{self, Context, Purpose};
use seekwell_host::queue;
use seekwell_host::sysfs::{self, System};
use seekwell_probe::{
    Direction, ProbeError, ReadFailed, Span, Target, Timed, WriteFailed, WriteTarget,
};
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{io, thread};

/// Most reads in flight.
const MOST_DEPTH: u32 = 32;

/// Longest read that the probe makes, in KiB: it needs no longer ones, and larger buffers cost time to map.
const LONGEST_KIB: u32 = 512;

/// A sleep may end this late; the rest is waited for by reading the clock.
const LATE_NS: u64 = 200_000;

/// Error of opening a device to probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbedError {
    /// The path cannot be opened or its size not be read.
    #[error("cannot open {} for reading: {source}", path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The path is no block device.
    #[error("{} is not a block device; name a disk such as /dev/sdb", .0.display())]
    NotBlock(PathBuf),
    /// Its queue cannot be read.
    #[error(transparent)]
    Host(#[from] seekwell_host::Error),
    /// There is no memory for the data to write.
    #[error("no memory for the data to be written to {}: {source}", path.display())]
    Memory {
        /// The path of the device.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// It must not be written.
    #[error(transparent)]
    Refused(#[from] seekwell_host::refusal::Refusal),
}

/// A block device that is open for reading alone.
#[derive(Debug)]
pub struct ProbedDevice {
    file: File,
    geometry: Geometry,
    scheduler: Option<String>,
    buffers: Vec<Buffers>,
    /// Counters of the whole disk, which other programs share; `None` where there are none.
    stat: PathBuf,
    begun: Option<Counters>,
    own: Own,
}

/// Memory of one request at a time.
#[derive(Debug)]
struct Buffers {
    incoming: Aligned,
    /// Data that compresses not and repeats nothing: disks that shorten what they write would be faster
    /// with zeroes. `None` where the device is not written.
    outgoing: Option<Arena>,
}

/// Sectors that the probe itself read and wrote.
#[derive(Debug, Default)]
struct Own {
    read: AtomicU64,
    written: AtomicU64,
}

/// A claimed block device that the probe writes to.
#[derive(Debug)]
pub struct ProbedWrites {
    device: ProbedDevice,
}

/// Requests of a disk since it was attached, as its `stat` counts them.
#[derive(Clone, Copy, Debug)]
struct Counters {
    sectors_read: u64,
    sectors_written: u64,
}

impl ProbedDevice {
    /// Opens a device.
    ///
    /// # Errors
    /// When it cannot be opened, is no block device, or has no queue.
    pub fn open(system: &System, path: &Path) -> Result<Self, ProbedError> {
        let wrong = |source: io::Error| ProbedError::Open { path: path.to_owned(), source };
        let real = std::fs::canonicalize(path).map_err(wrong)?;
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        let facts = rustix::fs::stat(&real).map_err(|error| wrong(error.into()))?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::BlockDevice {
            return Err(ProbedError::NotBlock(path.to_owned()));
        }
        let opened = rustix::fs::open(&real, flags, Mode::empty());
        Self::with(system, &real, File::from(opened.map_err(|error| wrong(error.into()))?))
    }

    /// The device behind an open file.
    fn with(system: &System, real: &Path, mut file: File) -> Result<Self, ProbedError> {
        let wrong = |source: io::Error| ProbedError::Open { path: real.to_owned(), source };
        let bytes = file.seek(SeekFrom::End(0)).map_err(wrong)?;
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let settings = queue::read(system, &name)?;
        let whole = system.disk_of(&name)?;
        // Disks behind the SCSI layer tell the commands that they take; for others the queue of the host is all there is.
        let depth_file = system.block(&whole).join("device/queue_depth");
        let depth = sysfs::read_number::<u32>(&depth_file)?.or(settings.nr_requests);
        let zeroes = system.queue(&name)?.join("write_zeroes_max_bytes");
        let longest_kib = settings.max_sectors_kb.unwrap_or(LONGEST_KIB).clamp(4, LONGEST_KIB);
        let geometry = Geometry {
            sectors_512: bytes / 512,
            logical_block: settings.logical_block_bytes.unwrap_or(512),
            physical_block: settings.physical_block_bytes.unwrap_or(512),
            queue_depth: depth.unwrap_or(1).max(1),
            max_request_bytes: longest_kib * 1024,
            rotational: settings.rotational.unwrap_or(false),
            write_cache: settings.write_cache.as_deref() == Some("write back"),
            max_discard_sectors: sectors_of(settings.discard_max_bytes),
            max_write_zeroes_sectors: sectors_of(sysfs::read_number(&zeroes)?),
            wraps_at: None,
        };
        let incoming = || Aligned::zeroed(geometry.max_request_bytes.into());
        let buffer = |_| Buffers { incoming: incoming(), outgoing: None };
        let buffers = (0..geometry.queue_depth.min(MOST_DEPTH)).map(buffer).collect();
        let stat = system.block(&whole).join("stat");
        let begun = counters(&stat);
        let (scheduler, own) = (settings.scheduler, Own::default());
        Ok(Self { file, geometry, scheduler, buffers, stat, begun, own })
    }

    /// I/O scheduler in force; it reorders waiting reads before the device can.
    #[must_use]
    pub fn scheduler(&self) -> Option<&str> {
        self.scheduler.as_deref()
    }
}

impl Target for ProbedDevice {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    fn wait_until(&mut self, at_ns: u64) {
        if at_ns > self.now_ns() + LATE_NS {
            MonotonicClock.sleep_until_ns(at_ns - LATE_NS);
        }
        while self.now_ns() < at_ns {
            std::hint::spin_loop();
        }
    }

    fn disturbance(&self) -> Option<String> {
        let (now, begun) = (counters(&self.stat)?, self.begun?);
        let read = now.sectors_read.saturating_sub(begun.sectors_read);
        let read = read.saturating_sub(self.own.read.load(Ordering::Relaxed));
        let written = now.sectors_written.saturating_sub(begun.sectors_written);
        let written = written.saturating_sub(self.own.written.load(Ordering::Relaxed));
        let text = format!(
            "other programs read {} KiB from the disk and wrote {} KiB to it meanwhile, which spoils the times; \
             unmount its filesystems and probe it again",
            read / 2,
            written / 2
        );
        (read + written > 0).then_some(text)
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        self.own.read.fetch_add(sectors(requests), Ordering::Relaxed);
        self.run(requests, depth, read)
    }
}

impl ProbedDevice {
    /// Requests `depth` at a time.
    fn run<R: Copy + Sync, E: Send>(
        &mut self,
        requests: &[R],
        depth: u32,
        one: fn(&File, &mut Buffers, R) -> Result<Timed, E>,
    ) -> Result<Vec<Timed>, E> {
        let file = &self.file;
        if depth <= 1 || requests.len() <= 1 {
            let Some(buffer) = self.buffers.first_mut() else { return Ok(Vec::new()) };
            return requests.iter().map(|request| one(file, buffer, *request)).collect();
        }
        let workers = self.buffers.len().min(requests.len()).min(depth as usize);
        let together = Together::of(workers);
        let next = AtomicUsize::new(0);
        let times = Mutex::new(vec![Timed { start_ns: 0, end_ns: 0 }; requests.len()]);
        let work = |buffer: &mut Buffers| {
            together.wait();
            while let Some((index, request)) = take(&next, requests) {
                let timed = one(file, buffer, request)?;
                let mut times = times.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Some(place) = times.get_mut(index) {
                    *place = timed;
                }
            }
            Ok(())
        };
        let work = &work;
        let buffers = self.buffers.iter_mut().take(workers);
        thread::scope(|scope| {
            let workers: Vec<_> = buffers.map(|buffer| scope.spawn(move || work(buffer))).collect();
            workers.into_iter().try_for_each(|worker| {
                // A panic of a worker goes on here.
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        Ok(times.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl ProbedWrites {
    /// Opens a claimed device, whose contents will be lost, for this process alone. The guard checks it as it checks
    /// the devices of a run.
    ///
    /// # Errors
    /// When the guard refuses it, it cannot be opened, or has no queue.
    pub fn open(system: &System, path: &Path, context: &Context) -> Result<Self, ProbedError> {
        let token = guard::check(system, path, Purpose::Write, context)?.permit()?;
        let real = token.path().to_owned();
        let mut device = ProbedDevice::with(system, &real, token.open_alone()?)?;
        let shape = ArenaShape {
            block_bytes: device.geometry.max_request_bytes,
            depth: 1,
            reads: false,
            writes: true,
            data: DataShape::default(),
        };
        for (seed, buffer) in (0..).zip(&mut device.buffers) {
            let memory = Arena::new(shape, seed);
            let wrong = |source| ProbedError::Memory { path: real.clone(), source };
            buffer.outgoing = Some(memory.map_err(wrong)?);
        }
        Ok(Self { device })
    }

    /// I/O scheduler in force.
    #[must_use]
    pub fn scheduler(&self) -> Option<&str> {
        self.device.scheduler()
    }
}

impl Target for ProbedWrites {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.device.wait_until(at_ns);
    }

    fn disturbance(&self) -> Option<String> {
        self.device.disturbance()
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        self.device.read_all(requests, depth)
    }
}

impl WriteTarget for ProbedWrites {
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed> {
        self.device.own.written.fetch_add(sectors(requests), Ordering::Relaxed);
        self.device.run(requests, depth, write)
    }

    fn mix_all(
        &mut self,
        requests: &[(Direction, Span)],
        depth: u32,
    ) -> Result<Vec<Timed>, ProbeError> {
        let own = &self.device.own;
        for (direction, span) in requests {
            let counter = match direction {
                Direction::Read => &own.read,
                Direction::Write => &own.written,
            };
            counter.fetch_add(span.sectors.into(), Ordering::Relaxed);
        }
        self.device.run(requests, depth, read_or_write)
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        let start_ns = MonotonicClock.now_ns();
        let failed = |error: io::Error| WriteFailed::Flush { reason: error.to_string() };
        self.device.file.sync_data().map_err(failed)?;
        Ok(Timed { start_ns, end_ns: MonotonicClock.now_ns() })
    }
}

/// Threads that begin at the same time. Started in turn, the two of a pair begin some 27 us apart, a good part of a read of
/// flash; so 0.5 us (loop device, medians of ten runs of each). More threads than CPUs only begin as they are started.
struct Together {
    missing: AtomicUsize,
}

impl Together {
    fn of(threads: usize) -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Self { missing: AtomicUsize::new(if threads <= cpus { threads } else { 0 }) }
    }

    fn wait(&self) {
        const LONGEST_NS: u64 = 10_000_000;
        let left = |missing: usize| missing.checked_sub(1);
        // None are waited for where there are too many.
        let _ = self.missing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
        let until_ns = MonotonicClock.now_ns() + LONGEST_NS;
        while self.missing.load(Ordering::SeqCst) > 0 && MonotonicClock.now_ns() < until_ns {
            std::hint::spin_loop();
        }
    }
}

/// A limit in bytes as sectors; `None` when the device does not know the command.
fn sectors_of(bytes: Option<u64>) -> Option<u32> {
    let sectors = bytes.filter(|bytes| *bytes > 0)? / 512;
    Some(u32::try_from(sectors).unwrap_or(u32::MAX))
}

fn sectors(requests: &[Span]) -> u64 {
    requests.iter().map(|span| u64::from(span.sectors)).sum()
}

/// The counters of a disk; `None` where the kernel tells none.
fn counters(stat: &Path) -> Option<Counters> {
    let text = sysfs::read(stat).ok()?;
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    // Reads, merged reads, sectors read, milliseconds of reading; then the same of writes.
    Some(Counters { sectors_read: fields.nth(2)??, sectors_written: fields.nth(3)?? })
}

fn take<R: Copy>(next: &AtomicUsize, requests: &[R]) -> Option<(usize, R)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    requests.get(index).map(|request| (index, *request))
}

fn read_or_write(
    file: &File,
    buffer: &mut Buffers,
    (direction, span): (Direction, Span),
) -> Result<Timed, ProbeError> {
    Ok(match direction {
        Direction::Read => read(file, buffer, span)?,
        Direction::Write => write(file, buffer, span)?,
    })
}

fn read(file: &File, buffer: &mut Buffers, span: Span) -> Result<Timed, ReadFailed> {
    let bytes = span.sectors as usize * 512;
    let failed = |reason: String| ReadFailed { span, reason };
    let Some(part) = buffer.incoming.get_mut(..bytes) else {
        return Err(failed(format!("longer than {LONGEST_KIB} KiB")));
    };
    let start_ns = MonotonicClock.now_ns();
    file.read_exact_at(part, span.lba * 512).map_err(|error| failed(error.to_string()))?;
    Ok(Timed { start_ns, end_ns: MonotonicClock.now_ns() })
}

fn write(file: &File, buffer: &mut Buffers, span: Span) -> Result<Timed, WriteFailed> {
    let bytes = span.sectors as usize * 512;
    let failed = |reason: String| WriteFailed::Write { span, reason };
    let data = buffer.outgoing.as_mut().map(Arena::block);
    let Some(part) = data.and_then(|data| data.get(..bytes)) else {
        return Err(failed(format!("longer than {LONGEST_KIB} KiB")));
    };
    let start_ns = MonotonicClock.now_ns();
    file.write_all_at(part, span.lba * 512).map_err(|error| failed(error.to_string()))?;
    Ok(Timed { start_ns, end_ns: MonotonicClock.now_ns() })
}
