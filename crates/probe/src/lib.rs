//! A device file from a disk itself: small experiments that only read, and what each of them tells.
//!
//! Everything rests on one fact: a read from the medium ends when its last sector has passed under the head, so the
//! end of a read tells the angle of its sectors. From angles follow rotation, sectors of a track and skews; from the
//! shortest time in which a read can follow another, the seek curve. After Worthington, Ganger, Patt and Wilkes:
//! On-line extraction of SCSI disk drive parameters, SIGMETRICS 1995.
//!
//! [`probe`] writes nothing to the device. Parameters that only writes could tell are assumed, and the file says so;
//! [`probe_writes`] finds them on a device whose contents may be lost.
//!
//! A third of the measurements is drawn by lot and sealed in a [`Tape`]: no experiment sees them. [`judge`] opens them when
//! everything is found, and compares them, and a mixed trace made for it alone, with the model of the found file.

use seekwell_device::model::Geometry;

mod accuracy;
mod believed;
mod buffer;
mod describe;
mod draft;
mod flash;
mod head;
mod line;
mod mixed;
mod report;
mod rotation;
mod seek;
mod simulated;
mod tape;
mod tracks;
mod volume;
mod write_cache;
mod writes;
mod zones;

#[cfg(test)]
mod tests;

pub use accuracy::{judge, judge_writes};
pub use believed::{Accuracy, ClassAccuracy};
pub use buffer::Buffer;
pub use describe::{Label, device_file};
pub use flash::{
    Card, Cliff, Erases, Faster, FlashFindings, FlashKind, Rate, Solid, flash_file, flash_summary,
    judge_flash, probe_flash,
};
pub use line::{Line, Point};
pub use report::summary;
pub use seek::SeekPoint;
pub use simulated::Simulated;
pub use tape::Tape;
pub use tracks::Tracks;
pub use volume::{
    Paced, PacedWrites, Volume, judge_volume, judge_volume_writes, probe_volume,
    probe_volume_writes, volume_file, volume_summary,
};
pub use write_cache::{Drain, WriteCache, Writes};
pub use zones::FoundZone;

use head::Head;
use tape::{Recorder, Taped as _};

/// A device that can be read at chosen times.
pub trait Target {
    /// Capacity, blocks and limits.
    fn geometry(&self) -> Geometry;

    /// The current time in nanoseconds, on the clock of all other times.
    fn now_ns(&self) -> u64;

    /// Lets time pass until `at_ns`; returns at once when it is over.
    fn wait_until(&mut self, at_ns: u64);

    /// Lets this number of nanoseconds pass.
    fn pause(&mut self, ns: u64) {
        self.wait_until(self.now_ns() + ns);
    }

    /// Requests of other programs since the device was opened, with a remedy; `None` if there were none.
    fn disturbance(&self) -> Option<String> {
        None
    }

    /// Reads past every cache of the host, `depth` requests at a time, in this order; start and end of each, in the
    /// order of `requests`.
    ///
    /// # Errors
    ///
    /// [`ReadFailed`] for the first read that failed.
    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed>;

    /// A single read.
    ///
    /// # Errors
    ///
    /// [`ReadFailed`], also for a device that tells no time.
    fn read_one(&mut self, span: Span) -> Result<Timed, ReadFailed> {
        let times = self.read_all(&[span], 1)?;
        times.first().copied().ok_or_else(|| ReadFailed { span, reason: NO_TIME.to_owned() })
    }
}

/// Reason of a request that was made and whose time is not known.
const NO_TIME: &str = "its time is not known";

/// A device that can be written, too. Its contents are lost.
pub trait WriteTarget: Target {
    /// Writes past every cache of the host, `depth` requests at a time, in this order; start and end of each, in the
    /// order of `requests`.
    ///
    /// # Errors
    ///
    /// [`WriteFailed`] for the first write that failed.
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed>;

    /// A single write.
    ///
    /// # Errors
    ///
    /// [`WriteFailed`], also for a device that tells no time.
    fn write_one(&mut self, span: Span) -> Result<Timed, WriteFailed> {
        let times = self.write_all(&[span], 1)?;
        let reason = || NO_TIME.to_owned();
        times.first().copied().ok_or_else(|| WriteFailed::Write { span, reason: reason() })
    }

    /// Reads and writes past every cache of the host, `depth` requests at a time, in this order; start and end of each,
    /// in the order of `requests`.
    ///
    /// # Errors
    ///
    /// [`ProbeError::Read`] or [`ProbeError::Write`] for the first request that failed.
    fn mix_all(&mut self, requests: &[(Direction, Span)], depth: u32) -> Result<Vec<Timed>>;

    /// Makes everything durable that was written.
    ///
    /// # Errors
    ///
    /// [`WriteFailed::Flush`].
    fn flush(&mut self) -> Result<Timed, WriteFailed>;
}

/// Direction of a request of a mixed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A read.
    Read,
    /// A write.
    Write,
}

/// Sectors to read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First sector of 512 bytes.
    pub lba: u64,
    /// Sectors.
    pub sectors: u32,
}

/// Times of a request, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Submission.
    pub start_ns: u64,
    /// Completion.
    pub end_ns: u64,
}

impl Timed {
    /// Response time.
    #[must_use]
    pub const fn took_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A read that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {} sectors at sector {}: {reason}", .span.sectors, .span.lba)]
pub struct ReadFailed {
    /// The sectors.
    pub span: Span,
    /// Cause, with a remedy where there is one.
    pub reason: String,
}

/// A write or flush that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailed {
    /// A write.
    #[error("cannot write {} sectors at sector {}: {reason}", .span.sectors, .span.lba)]
    Write {
        /// The sectors.
        span: Span,
        /// Cause, with a remedy where there is one.
        reason: String,
    },
    /// A flush.
    #[error("cannot flush the device: {reason}")]
    Flush {
        /// Cause, with a remedy where there is one.
        reason: String,
    },
}

/// The end of a probe without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The device does not answer.
    #[error("the probe ended at a read that failed; check the device with smartctl")]
    Read(#[from] ReadFailed),
    /// The device takes no writes.
    #[error("the probe ended at a write that failed; check the device with smartctl")]
    Write(#[from] WriteFailed),
    /// The device has too few sectors.
    #[error(
        "the device has {sectors} sectors; probing needs at least {least}; name the whole disk, not a small partition"
    )]
    TooSmall {
        /// Its sectors.
        sectors: u64,
        /// The least.
        least: u64,
    },
    /// The time was over before a quantity was found that every model needs.
    #[error(
        "the step '{}' took too long for a probe of {} minutes, and no disk can be modelled without it; \
         end other programs that use the disk, and check it with smartctl",
        .0.name(),
        LONGEST_NS / 60_000_000_000
    )]
    Late(Stage),
    /// Reads show no period of rotation.
    #[error(
        "no rotation found: the ends of reads follow no period between 3,000 and 20,000 turns a minute; flash is probed with --write, which destroys its content"
    )]
    NoRotation,
    /// An experiment came to no result.
    #[error("{quantity} cannot be found: {reason}")]
    Unclear {
        /// The quantity.
        quantity: &'static str,
        /// Cause and remedy.
        reason: &'static str,
    },
}

/// Result of an experiment.
type Result<T, E = ProbeError> = std::result::Result<T, E>;

impl ProbeError {
    /// The file made of the findings cannot be loaded, so that the quantity is not found.
    const fn file_refused(quantity: &'static str) -> Self {
        let reason = "the file made of the findings is refused; send the findings to the authors";
        Self::Unclear { quantity, reason }
    }
}

/// A quantity with the bounds between which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Best estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// A number that is known exactly.
    const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Its value and ends by a function that never falls.
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { value: of(self.value), low: of(self.low), high: of(self.high) }
    }
}

/// Everything found about a rotating disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Capacity, blocks and limits.
    pub geometry: Geometry,
    /// Time of a turn in nanoseconds.
    pub turn_ns: Interval,
    /// Zones, outermost first.
    pub zones: Vec<FoundZone>,
    /// Heads and skews.
    pub tracks: Tracks,
    /// Command, bus and read-ahead.
    pub buffer: Buffer,
    /// Read of eight sectors of the track under the head, without waiting for them, in nanoseconds.
    pub media_ns: Interval,
    /// Switch to the next head in nanoseconds; `None` when the heads are not known.
    pub head_switch_ns: Option<Interval>,
    /// Seeks by distance.
    pub seeks: Vec<SeekPoint>,
    /// Waiting reads that the disk sorts: fewest and most that fit. `None` when depth makes no difference.
    pub window: Option<[u32; 2]>,
    /// Findings that only writes tell; `None` when nothing was written.
    pub writes: Option<Writes>,
    /// Experiments that the end of the time cut short, or left out.
    pub unreached: Vec<Stage>,
}

/// News of a probe under way, for a display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A step begins.
    Begins(Stage),
    /// A quantity was found: its name and its value with bounds, for people.
    Found(String, String),
}

/// Tells of findings as soon as there are any.
fn found(tell: &mut dyn FnMut(News), lines: Vec<(impl Into<String>, String)>) {
    lines.into_iter().for_each(|(name, value)| tell(News::Found(name.into(), value)));
}

/// A step of the probe, for a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Time of a turn.
    Rotation,
    /// Command cost, bus, read-ahead, segments.
    Buffer,
    /// Sectors per track over the capacity.
    Zones,
    /// Skews and heads.
    Tracks,
    /// Seek curve.
    Seeks,
    /// Reads that are sorted.
    Depth,
    /// Size and state of the write cache, and how fast it drains.
    WriteCache,
    /// Flushes by the data before them.
    Flushes,
    /// Settling before writes, and writes that are sorted.
    Settling,
    /// A card or a solid-state disk.
    Kind,
    /// Pages of a card.
    Pages,
    /// Erase units.
    EraseUnits,
    /// Units of a card that may be open.
    OpenUnits,
    /// Single requests of a solid-state disk.
    Commands,
    /// Its dies.
    Parallelism,
    /// Its cache of faster cells.
    FasterCells,
    /// Random writes to it when it is full.
    Cliff,
    /// Limits of requests and bytes of a volume.
    Limits,
    /// The same of its writes.
    LimitsOfWrites,
    /// Withheld probes.
    Accuracy,
}

impl Stage {
    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Buffer => "command, bus, read-ahead",
            Self::Zones => "zones",
            Self::Tracks => "heads and skews",
            Self::Seeks => "seek curve",
            Self::Depth => "reads that are sorted",
            Self::WriteCache => "write cache",
            Self::Flushes => "flushes",
            Self::Settling => "settling before writes, writes that are sorted",
            Self::Kind => "kind of flash",
            Self::Pages => "pages",
            Self::EraseUnits => "erase units",
            Self::OpenUnits => "open units, copying",
            Self::Commands => "commands, bus, flushes",
            Self::Parallelism => "dies, stripes, pages",
            Self::FasterCells => "faster cells",
            Self::Cliff => "write cliff, steady state",
            Self::Limits => "limits of requests and bytes",
            Self::LimitsOfWrites => "limits of writes, flushes",
            Self::Accuracy => "withheld requests",
        }
    }
}

/// Fewest sectors that can be probed: 256 MiB.
const LEAST_SECTORS: u64 = 1 << 19;

/// A probe that only reads ends by then, measured or not.
pub const LONGEST_NS: u64 = 10 * 60_000_000_000;

/// Part of it for the withheld requests, and part that is left for requests under way.
const JUDGING_NS: u64 = 100_000_000_000;
const SPARE_NS: u64 = 20_000_000_000;

/// Probes a rotating disk, for [`LONGEST_NS`] at most with [`judge`]; `tell` hears of each stage before it begins, and of what it found. The seed chooses the places,
/// that of the tape the measurements that no experiment sees.
///
/// # Errors
///
/// [`ProbeError`].
pub fn probe(
    target: &mut dyn Target,
    tape: &mut Tape,
    seed: u64,
    tell: &mut dyn FnMut(News),
) -> Result<Findings> {
    let geometry = target.geometry();
    if geometry.sectors_512 < LEAST_SECTORS {
        return Err(ProbeError::TooSmall { sectors: geometry.sectors_512, least: LEAST_SECTORS });
    }
    let mut recorder = Recorder::new(target, tape);
    let begun_ns = recorder.tape().begun_ns().unwrap_or_else(|| recorder.now_ns());
    let mut head = Head::new(&mut recorder, seed);
    head.until_ns = begun_ns + LONGEST_NS - JUDGING_NS - SPARE_NS;
    begin(&mut head, Stage::Rotation, tell);
    let turn_ns = rotation::find(&mut head)?;
    head.turn_ns = turn_ns.value;
    found(tell, report::of_rotation(turn_ns));
    begin(&mut head, Stage::Buffer, tell);
    let buffer = buffer::find(&mut head)?;
    head.hit_below_ns = buffer.hit_below_ns;
    found(tell, report::of_buffer(&buffer));
    begin(&mut head, Stage::Zones, tell);
    let zones = zones::find(&mut head)?;
    found(tell, report::of_zones(&zones));
    begin(&mut head, Stage::Tracks, tell);
    let tracks = tracks::find(&mut head, &zones)?;
    found(tell, report::of_tracks(&tracks));
    begin(&mut head, Stage::Seeks, tell);
    let seeks = seek::find(&mut head, &zones, &tracks)?;
    let mut findings = Findings {
        geometry,
        turn_ns,
        zones,
        tracks,
        buffer,
        media_ns: seeks.media_ns,
        head_switch_ns: seeks.head_switch_ns,
        seeks: seeks.points,
        window: None,
        writes: None,
        unreached: seeks.is_cut.then_some(Stage::Seeks).into_iter().collect(),
    };
    found(tell, report::of_seeks(&findings));
    begin(&mut head, Stage::Depth, tell);
    match accuracy::window(&mut head, &findings) {
        Err(ProbeError::Late(stage)) => findings.unreached.push(stage),
        window => findings.window = window?,
    }
    found(tell, report::of_window(findings.window));
    found(tell, report::of_unreached(&findings.unreached));
    Ok(findings)
}

/// Begins a step.
fn begin(head: &mut Head<'_>, stage: Stage, tell: &mut dyn FnMut(News)) {
    head.stage = stage;
    tell(News::Begins(stage));
}

/// Adds to `findings` of a rotating disk what only writes tell. The contents of the device are lost.
///
/// # Errors
///
/// [`ProbeError`].
pub fn probe_writes(
    target: &mut dyn WriteTarget,
    tape: &mut Tape,
    findings: &mut Findings,
    seed: u64,
    tell: &mut dyn FnMut(News),
) -> Result<()> {
    let writes = writes::find(&mut Recorder::new(target, tape), findings, seed, tell)?;
    found(tell, report::of_writes(&writes));
    findings.writes = Some(writes);
    Ok(())
}
