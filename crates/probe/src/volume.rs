//! Volumes of clouds: what counts is not the medium but a limit of requests, and one of bytes, that the service keeps.
//!
//! Such a volume makes as many requests a second whether they are short or long, and near to each other or far apart; no
//! medium does. Reads alone tell that, so that a volume with data on it can be probed.

use seekwell_stats::{Rng, seeded};

use super::accuracy::{Judging, mixed_trace, read_trace};
use super::believed::Accuracy;
use super::describe::UNNAMED;
use super::head::{BLOCK, median, middle};
use super::tape::{Class, Draws, Judged, Recorder, Tape, Taped, TapedWrites};
use super::writes::interval;
use super::{Interval, News, ProbeError, Result, Span, Stage, Target, Timed, WriteTarget, found};
use seekwell_device::model::Geometry;

mod file;
mod report;

#[cfg(test)]
mod tests;

pub use file::volume_file;
pub use report::volume_summary;

/// Fewest sectors that are looked at: 256 MiB.
const LEAST_SECTORS: u64 = 1 << 19;

/// Deepest list, and the longest request in sectors.
const DEEPEST: u32 = 32;
const LONGEST: u32 = 512;

/// Seconds that a list lasts, and bounds of its requests.
const LIST_S: f64 = 0.5;
const LIST: [f64; 2] = [256.0, 8192.0];

/// Time for which requests are made before lists count, so that what was saved up in an idle time is used by then: at most so
/// many requests.
const SAVED_NS: u64 = 2_000_000_000;
const MOST_SAVED: usize = 16_384;
const AT_ONCE: usize = 256;

/// Lengths in sectors whose rates are the same on a volume, and how much the rates may differ.
const ALIKE: [u32; 3] = [BLOCK, 2 * BLOCK, 4 * BLOCK];
const DIFFER: f64 = 1.04;

/// Least latency of a volume in nanoseconds. Where a bridge or the host limits the rate of a fast disk, that is even, too,
/// but a read takes less than over a network.
const LEAST_NS: f64 = 250_000.0;

/// Part of the rate that the latency alone would allow, above which no limit shows.
const SHOWS: f64 = 0.7;

/// Part of the device to which reads are held for the comparison with reads all over it.
const NARROW: u64 = 64;

/// Pause before a single request, so that no earlier one counts.
const REST_NS: u64 = 50_000_000;

/// Single requests and lists that are seen.
const SINGLE: usize = 20;
const LISTS: usize = 5;

const READS: Names = Names {
    single: Class::of("single reads after a rest", Judged::Last),
    long: Class::of("single long reads after a rest", Judged::Last),
    row: Class::of("random reads", Judged::Last),
    bytes: Class::of("long random reads", Judged::Last),
};
const WRITES: Names = Names {
    single: Class::of("single writes after a rest", Judged::Last),
    long: Class::of("single long writes after a rest", Judged::Last),
    row: Class::of("random writes", Judged::Last),
    bytes: Class::of("long random writes", Judged::Last),
};
const FLUSHES: Class = Class::of("flushes after a write", Judged::Last);

/// Classes of one direction.
#[derive(Clone, Copy, Debug)]
struct Names {
    single: Class,
    long: Class,
    row: Class,
    bytes: Class,
}

/// Everything found about a volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Capacity, blocks and limits.
    pub geometry: Geometry,
    /// Requests at a time for the rates.
    pub depth: u32,
    /// Reads.
    pub reads: Paced,
    /// Writes and flushes; `None` when nothing was written.
    pub writes: Option<PacedWrites>,
}

/// Requests of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paced {
    /// A request of a block after an idle time, in nanoseconds.
    pub single_ns: Interval,
    /// A sector over the link, in nanoseconds.
    pub sector_ns: Interval,
    /// Random requests of a block a second, at depth.
    pub per_second: Interval,
    /// Random requests of the longest size, at depth, in 10^6 bytes a second.
    pub mb_per_s: Interval,
    /// Sectors of such a request.
    pub longest: u32,
}

impl Paced {
    /// Latency without the way over the link, in nanoseconds.
    pub(super) fn latency_ns(&self) -> Interval {
        let bus_ns = f64::from(BLOCK) * self.sector_ns.value;
        self.single_ns.map(|ns| (ns - bus_ns).max(0.0))
    }

    /// Rate of the link in 10^6 bytes a second; `None` when a longer request takes no longer.
    #[must_use]
    pub fn link_mb_per_s(&self) -> Option<f64> {
        (self.sector_ns.value > 0.0).then(|| 512e3 / self.sector_ns.value)
    }

    /// Limit of bytes in 10^6 bytes a second; `None` when the longest requests come as often as short ones, or as fast as
    /// the link brings them.
    #[must_use]
    pub fn limit_mb_per_s(&self) -> Option<Interval> {
        let by_requests = self.per_second.value * f64::from(self.longest) * 512.0 / 1e6;
        let by_link = self.link_mb_per_s().unwrap_or(f64::INFINITY);
        (self.mb_per_s.value < 0.95 * by_requests.min(by_link)).then_some(self.mb_per_s)
    }
}

/// Findings of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacedWrites {
    /// The writes.
    pub paced: Paced,
    /// A flush after a write, in nanoseconds.
    pub flush_ns: Interval,
}

/// Looks for a limit of requests, for a few seconds, with reads alone. `None` when the device shows none: then its medium
/// has to be probed.
///
/// # Errors
///
/// [`ProbeError::Read`].
pub fn probe_volume(
    target: &mut dyn Target,
    tape: &mut Tape,
    seed: u64,
    tell: &mut dyn FnMut(News),
) -> Result<Option<Volume>> {
    let geometry = target.geometry();
    if geometry.sectors_512 < LEAST_SECTORS || geometry.queue_depth < 2 {
        return Ok(None);
    }
    let mut recorder = Recorder::new(target, tape);
    let mut asked =
        Asked::new(&mut recorder, seed, |target, spans, depth| Ok(target.read_all(spans, depth)?));
    if !asked.is_limited()? {
        return Ok(None);
    }
    tell(News::Begins(Stage::Limits));
    let reads = asked.paced(READS)?;
    found(tell, report::of_reads(&reads));
    Ok(Some(Volume { geometry, depth: asked.depth, reads, writes: None }))
}

/// Adds to `volume` what only writes tell. The contents of the device are lost.
///
/// # Errors
///
/// [`ProbeError`].
pub fn probe_volume_writes(
    target: &mut dyn WriteTarget,
    tape: &mut Tape,
    volume: &mut Volume,
    seed: u64,
    tell: &mut dyn FnMut(News),
) -> Result<()> {
    let mut recorder = Recorder::new(target, tape);
    let mut asked =
        Asked::new(
            &mut recorder,
            !seed,
            |target, spans, depth| Ok(target.write_all(spans, depth)?),
        );
    tell(News::Begins(Stage::LimitsOfWrites));
    let paced = asked.paced(WRITES)?;
    let writes = PacedWrites { paced, flush_ns: asked.flushes()? };
    found(tell, report::of_writes(&writes));
    volume.writes = Some(writes);
    Ok(())
}

/// Compares the file made of `volume` with the device on the measurements that the tape sealed, and on a mixed trace of reads.
///
/// # Errors
///
/// [`ProbeError`].
pub fn judge_volume(
    target: &mut dyn Target,
    tape: &Tape,
    volume: &Volume,
    seed: u64,
) -> Result<Accuracy> {
    judging(tape, volume)?
        .mixed(whole(volume), seed, false, |trace| Ok(read_trace(target, trace, u64::MAX)?.0))
}

/// The same with writes in the mixed trace. The contents of the device are lost.
///
/// # Errors
///
/// [`ProbeError`].
pub fn judge_volume_writes(
    target: &mut dyn WriteTarget,
    tape: &Tape,
    volume: &Volume,
    seed: u64,
) -> Result<Accuracy> {
    let judging = judging(tape, volume)?;
    judging.mixed(whole(volume), seed, true, |trace| mixed_trace(target, trace))
}

fn judging<'t>(tape: &'t Tape, volume: &Volume) -> Result<Judging<'t>> {
    let file = seekwell_device::file::load(&volume_file(UNNAMED, volume, None)).ok();
    Judging::new(tape, volume.geometry, file)
}

/// The region of the device that is all of it.
fn whole(volume: &Volume) -> (u64, u64) {
    (0, volume.geometry.sectors_512)
}

type Ask<T> = fn(&mut T, &[Span], u32) -> Result<Vec<Timed>>;

/// Requests of one direction at random places.
struct Asked<'t, T: ?Sized> {
    target: &'t mut T,
    ask: Ask<T>,
    random: Rng,
    depth: u32,
    sectors: u64,
    longest: u32,
}

impl<T: Taped + ?Sized> Draws for Asked<'_, T> {
    fn tape(&mut self) -> &mut Tape {
        self.target.tape()
    }
}

impl<'t, T: Taped + ?Sized> Asked<'t, T> {
    fn new(target: &'t mut T, seed: u64, ask: Ask<T>) -> Self {
        let geometry = target.geometry();
        Self {
            ask,
            random: seeded(seed),
            depth: geometry.queue_depth.min(DEEPEST),
            sectors: geometry.sectors_512,
            longest: (geometry.max_request_bytes / 512).clamp(BLOCK, LONGEST),
            target,
        }
    }

    fn places(&mut self, count: usize, sectors: u32, among: u64) -> Vec<Span> {
        let places = among.saturating_sub(u64::from(sectors)) / u64::from(BLOCK);
        let mut lba = || self.random.below(places) * u64::from(BLOCK);
        (0..count).map(|_| Span { lba: lba(), sectors }).collect()
    }

    /// Uses up what was saved in an idle time. Returns the requests of a list that lasts long enough to be measured.
    fn use_up(&mut self, sectors: u32) -> Result<usize> {
        let until_ns = self.target.now_ns() + SAVED_NS;
        let (mut made, mut rate) = (0, 0.0);
        while made < MOST_SAVED && self.target.now_ns() < until_ns {
            let spans = self.places(AT_ONCE, sectors, self.sectors);
            rate = self.rate(&spans)?;
            made += AT_ONCE;
        }
        let [least, most] = LIST;
        Ok((rate * LIST_S).clamp(least, most) as usize)
    }

    /// Requests a second of a list at depth, in its second half: what was saved up before is used by then.
    fn rate(&mut self, spans: &[Span]) -> Result<f64> {
        let times = (self.ask)(self.target, spans, self.depth)?;
        let mut ends: Vec<u64> = times.iter().map(|time| time.end_ns).collect();
        ends.sort_unstable();
        let half = ends.len() / 2;
        let (Some(middle_ns), Some(end_ns)) = (ends.get(half), ends.last()) else { return Ok(0.0) };
        let count = (ends.len() - 1 - half) as f64;
        Ok(count * 1e9 / end_ns.saturating_sub(*middle_ns).max(1) as f64)
    }

    fn after_rest(&mut self, span: Span) -> Result<f64> {
        self.target.pause(REST_NS);
        let times = (self.ask)(self.target, &[span], 1)?;
        let reason = "a request after a pause has no time; probe the volume again";
        let unclear = ProbeError::Unclear { quantity: "the latency", reason };
        Ok(times.first().ok_or(unclear)?.took_ns() as f64)
    }

    /// True when requests of several lengths, near and far, come at one rate, and their latency would allow a higher one.
    fn is_limited(&mut self) -> Result<bool> {
        let mut single = Vec::new();
        for span in self.places(5, BLOCK, self.sectors) {
            single.push(self.after_rest(span)?);
        }
        let single_ns = median(&single).unwrap_or_default().max(1.0);
        if single_ns < LEAST_NS {
            return Ok(false);
        }
        let most = SHOWS * f64::from(self.depth) * 1e9 / single_ns;
        let count = self.use_up(BLOCK)?;
        let narrow = self.places(count, BLOCK, self.sectors / NARROW);
        let mut low = self.rate(&narrow)?;
        let mut high = low;
        for sectors in ALIKE {
            let spans = self.places(count, sectors, self.sectors);
            let rate = self.rate(&spans)?;
            (low, high) = (low.min(rate), high.max(rate));
            if high > DIFFER * low || high > most {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn paced(&mut self, names: Names) -> Result<Paced> {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        let longest = self.longest;
        while short.len().min(long.len()) < SINGLE {
            let span = self.places(1, BLOCK, self.sectors);
            short.extend(self.single(names.single, &span)?);
            let span = self.places(1, longest, self.sectors);
            long.extend(self.single(names.long, &span)?);
        }
        let single_ns = middle(short);
        let by = 1.0 / f64::from((longest - BLOCK).max(1));
        let more = super::flash::minus(middle(long), single_ns);
        let sector_ns = super::flash::scaled(more, by);
        let per_second = self.rates(names.row, BLOCK)?;
        let long = self.rates(names.bytes, longest)?;
        let mb_per_s = super::flash::scaled(long, f64::from(longest) * 512.0 / 1e6);
        Ok(Paced { single_ns, sector_ns, per_second, mb_per_s, longest })
    }

    fn single(&mut self, class: Class, spans: &[Span]) -> Result<Option<f64>> {
        let Some(span) = spans.first() else { return Ok(None) };
        self.one(class, |asked| asked.after_rest(*span))
    }

    fn rates(&mut self, class: Class, sectors: u32) -> Result<Interval> {
        let count = self.use_up(sectors)?;
        let rates = self.repeat(class.at(self.depth), LISTS, |asked| {
            let spans = asked.places(count, sectors, asked.sectors);
            asked.rate(&spans)
        })?;
        Ok(interval(&rates))
    }
}

impl<T: TapedWrites + ?Sized> Asked<'_, T> {
    fn flushes(&mut self) -> Result<Interval> {
        let took = self.repeat(FLUSHES, SINGLE, |asked| {
            let spans = asked.places(1, BLOCK, asked.sectors);
            (asked.ask)(asked.target, &spans, 1)?;
            Ok(asked.target.flush()?.took_ns() as f64)
        })?;
        Ok(middle(took))
    }
}
