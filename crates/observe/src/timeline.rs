//! A thread that samples one or two devices and the machine's memory and pressure.

use crate::clock::monotonic_ns;
use crate::counters::{DeviceCounters, malformed, sample_between, stat_path};
use crate::error::ObserveError;
use crate::machine::{MemoryState, PressureTotals};
use seekwell_model::record::Sample;
use seekwell_model::warning::{Warning, WarningCode};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Settings of the sampler.
#[derive(Clone, Debug)]
pub struct TimelineOptions {
    /// `/`, or a directory that holds `sys` and `proc` as a test made them.
    pub root: PathBuf,
    /// Kernel name of the data device.
    pub device: String,
    /// Kernel name of the external journal's device.
    pub journal: Option<String>,
    /// Time between samples. At least 1 ms; less is taken as 1 ms.
    pub interval: Duration,
    /// `CLOCK_MONOTONIC` when the trial began, see [`monotonic_ns`]: samples count from it.
    pub origin_ns: u64,
}

/// The samples of a [`Timeline`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timelines {
    /// Samples of the data device.
    pub device: Vec<Sample>,
    /// Samples of the journal device; empty where there was none.
    pub journal: Vec<Sample>,
    /// Samples that could not be taken in time; the one after a gap covers all of it.
    pub late: u64,
    /// Doubts: a device that vanished, a thread that was kept from running.
    pub warnings: Vec<Warning>,
}

/// A running sampler. Dropping it stops it and forgets the samples.
#[derive(Debug)]
pub struct Timeline {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Timelines>>,
}

impl Timeline {
    /// Opens the kernel's files, takes the first reading in the caller's thread, so that work
    /// begun after this call is inside the timeline, and starts the sampling thread.
    ///
    /// # Errors
    /// When a device has no counters, or no thread can be had. Memory and pressure files that are
    /// missing are no error: their columns stay absent.
    pub fn start(options: &TimelineOptions) -> Result<Self, ObserveError> {
        let mut sampler = Sampler::open(options)?;
        let interval = options.interval.max(Duration::from_millis(1));
        sampler.read(monotonic_ns());
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("timeline".to_owned())
            .spawn(move || run(sampler, interval, &stopped))
            .map_err(|source| ObserveError::Thread { what: "timeline", source })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Takes the last reading, so that the timeline ends now, and gives the samples back.
    #[must_use]
    pub fn stop(mut self) -> Timelines {
        drop(self.stop.take());
        let joined = self.thread.take().map(JoinHandle::join);
        match joined {
            Some(Ok(timelines)) => timelines,
            _ => Timelines {
                warnings: vec![Warning::new(
                    WarningCode::NoTimeline,
                    "the sampling thread ended early",
                )],
                ..Timelines::default()
            },
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already printed by its hook, and there is nobody to tell.
            let _ = thread.join();
        }
    }
}

/// A sampler without a thread: whoever watches takes the samples when they like.
#[derive(Debug)]
pub struct Live {
    sampler: Sampler,
    seen: usize,
}

impl Live {
    /// Opens the kernel's files and takes the first reading. `interval` is not used.
    ///
    /// # Errors
    /// When a device has no counters.
    pub fn start(options: &TimelineOptions) -> Result<Self, ObserveError> {
        let mut sampler = Sampler::open(options)?;
        sampler.read(monotonic_ns());
        Ok(Self { sampler, seen: 0 })
    }

    /// The columns of the data device since the last call; `None` within the same tick of the
    /// clock.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn sample(&mut self) -> Result<Option<Sample>, ObserveError> {
        self.sampler.read(monotonic_ns());
        let Some(track) = self.sampler.tracks.first_mut() else { return Ok(None) };
        if let Some(lost) = track.lost.take() {
            return Err(lost);
        }
        let newest = track.samples.get(self.seen).copied();
        self.seen = track.samples.len();
        Ok(newest)
    }

    /// All samples so far.
    #[must_use]
    pub fn finish(self) -> Timelines {
        self.sampler.finish()
    }
}

/// Samples at multiples of the interval after the start, so that lateness does not add up.
fn run(mut sampler: Sampler, interval: Duration, stopped: &Receiver<()>) -> Timelines {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let mut due_ns = monotonic_ns().saturating_add(interval_ns);
    loop {
        let wait = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        match stopped.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let now_ns = monotonic_ns();
        sampler.read(now_ns);
        let missed = now_ns.saturating_sub(due_ns) / interval_ns;
        sampler.late += missed;
        due_ns = due_ns.saturating_add((missed + 1).saturating_mul(interval_ns));
    }
    sampler.read_last(monotonic_ns(), interval_ns);
    sampler.finish()
}

/// Everything that one reading holds.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    at_ns: u64,
    counters: DeviceCounters,
    memory: MemoryState,
    pressure: PressureTotals,
}

fn sample(before: &Reading, after: &Reading) -> Option<Sample> {
    let interval_ns = after.at_ns.checked_sub(before.at_ns)?;
    let columns = sample_between(&before.counters, &after.counters, interval_ns, after.at_ns)?;
    let (from, to) = (&before.pressure, &after.pressure);
    Some(Sample {
        dirty_bytes: after.memory.dirty_bytes,
        writeback_bytes: after.memory.writeback_bytes,
        io_pressure_percent: PressureTotals::percent(from.io_us, to.io_us, interval_ns),
        cpu_pressure_percent: PressureTotals::percent(from.cpu_us, to.cpu_us, interval_ns),
        memory_pressure_percent: PressureTotals::percent(from.memory_us, to.memory_us, interval_ns),
        ..columns
    })
}

/// Ten minutes at the default interval: no allocation in any trial of usual length.
const RESERVED_SAMPLES: usize = 6_000;

/// One device's samples.
#[derive(Debug)]
struct Track {
    name: String,
    path: PathBuf,
    file: File,
    previous: Option<Reading>,
    before_previous: Option<Reading>,
    samples: Vec<Sample>,
    lost: Option<ObserveError>,
}

impl Track {
    fn open(options: &TimelineOptions, name: &str) -> Result<Self, ObserveError> {
        let path = stat_path(&options.root, name)?;
        let file = File::open(&path).map_err(|_| ObserveError::NoCounters {
            name: name.to_owned(),
            root: options.root.clone(),
        })?;
        Ok(Self {
            name: name.to_owned(),
            path,
            file,
            previous: None,
            before_previous: None,
            samples: Vec::with_capacity(RESERVED_SAMPLES),
            lost: None,
        })
    }

    fn counters(&self, buffer: &mut [u8]) -> Result<DeviceCounters, ObserveError> {
        let length = self.file.read_at(buffer, 0).map_err(ObserveError::io("read", &self.path))?;
        let text = &buffer[..length];
        DeviceCounters::parse(text).ok_or_else(|| malformed(&self.path, text))
    }

    /// Adds the counters of this device to a reading whose other values all tracks share.
    fn read(&mut self, shared: &Reading, buffer: &mut [u8]) {
        if self.lost.is_some() {
            return;
        }
        match self.counters(buffer) {
            Ok(counters) => self.push(Reading { counters, ..*shared }),
            Err(error) => self.lost = Some(error),
        }
    }

    fn push(&mut self, reading: Reading) {
        if let Some(previous) = self.previous {
            match sample(&previous, &reading) {
                Some(sample) => self.samples.push(sample),
                // Two readings in one tick of the clock: the next interval covers both.
                None if reading.at_ns <= previous.at_ns => return,
                None => {
                    self.lost = Some(ObserveError::NoCounters {
                        name: self.name.clone(),
                        root: self.path.clone(),
                    });
                    return;
                }
            }
        }
        self.before_previous = self.previous.replace(reading);
    }

    /// Forgets the latest interval, so that the next reading covers it too.
    fn reopen_last(&mut self) {
        if self.samples.pop().is_some() {
            self.previous = self.before_previous.take();
        }
    }
}

/// The open files. Reads without allocating: descriptors stay open and the buffer is kept.
#[derive(Debug)]
struct Sampler {
    origin_ns: u64,
    tracks: Vec<Track>,
    meminfo: Option<File>,
    /// Pressure of I/O, CPU and memory.
    pressure: [Option<File>; 3],
    buffer: Vec<u8>,
    late: u64,
}

impl Sampler {
    fn open(options: &TimelineOptions) -> Result<Self, ObserveError> {
        let mut tracks = vec![Track::open(options, &options.device)?];
        if let Some(journal) = &options.journal {
            tracks.push(Track::open(options, journal)?);
        }
        let optional = |path: &str| File::open(options.root.join(path)).ok();
        Ok(Self {
            origin_ns: options.origin_ns,
            tracks,
            meminfo: optional("proc/meminfo"),
            pressure: ["io", "cpu", "memory"]
                .map(|name| optional(&format!("proc/pressure/{name}"))),
            buffer: vec![0; 16 * 1024],
            late: 0,
        })
    }

    /// One reading of everything at `now_ns` of the monotonic clock.
    fn read(&mut self, now_ns: u64) {
        let [io_us, cpu_us, memory_us] = self
            .pressure
            .each_ref()
            .map(|file| PressureTotals::parse_total(content(file.as_ref()?, &mut self.buffer)?));
        let pressure = PressureTotals { io_us, cpu_us, memory_us };
        let memory = self
            .meminfo
            .as_ref()
            .and_then(|file| content(file, &mut self.buffer))
            .map_or_else(MemoryState::default, MemoryState::parse);
        let at_ns = now_ns.saturating_sub(self.origin_ns);
        let shared = Reading { at_ns, memory, pressure, ..Reading::default() };
        for track in &mut self.tracks {
            track.read(&shared, &mut self.buffer);
        }
    }

    /// The last reading ends a shortened interval. Rates over a sliver of time mislead, so a last
    /// interval below a quarter of the usual one joins the one before.
    fn read_last(&mut self, now_ns: u64, interval_ns: u64) {
        let at_ns = now_ns.saturating_sub(self.origin_ns);
        for track in &mut self.tracks {
            let sliver = track
                .previous
                .is_some_and(|previous| at_ns.saturating_sub(previous.at_ns) < interval_ns / 4);
            if sliver {
                track.reopen_last();
            }
        }
        self.read(now_ns);
    }

    fn finish(mut self) -> Timelines {
        let mut warnings = Vec::new();
        for track in &self.tracks {
            if let Some(error) = &track.lost {
                warnings.push(Warning::new(
                    WarningCode::TimelineEnded,
                    format!("the timeline of {} ends early: {error}", track.name),
                ));
            }
        }
        let taken = self.tracks.first().map_or(0, |track| track.samples.len()) as u64;
        if self.late >= 3 && self.late * 20 > taken {
            warnings.push(Warning::new(
                WarningCode::TimelineLate,
                format!("{} of {} samples were late", self.late, taken + self.late),
            ));
        }
        let mut samples = self.tracks.drain(..).map(|track| track.samples);
        Timelines {
            device: samples.next().unwrap_or_default(),
            journal: samples.next().unwrap_or_default(),
            late: self.late,
            warnings,
        }
    }
}

fn content<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let length = file.read_at(buffer, 0).ok()?;
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests;
