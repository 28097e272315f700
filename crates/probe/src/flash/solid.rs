//! Solid-state disks: what the flash translation behind the buffer shows. Each quantity by an experiment of its own.
//!
//! Two reads at once that take twice as long as one need the same die, which tells stripe and dies (Chen, Hou, Lee:
//! Internal parallelism of flash memory-based solid-state drives, ACM Transactions on Storage 12(3), 2016). Flushes
//! tell the time of a program, and with it the end of a cache of faster cells and the erasing of blocks.

use super::super::accuracy::elapsed_ns;
use super::super::head::{BLOCK, median, middle};
use super::super::tape::{Class, Draws, Judged, Tape};
use super::super::writes::{Pen, interval};
use super::super::{Interval, News, Result, Span, Stage, Timed};
use super::steps::{REGULAR, Steps, steps};
use super::wear::{Cliff, Erases, Faster};
use super::{FLUSHED, RANDOM_READS, ROWS, minus, report, wear};

/// Times that a single request is measured, and measurements of which so many are seen.
const TIMES: usize = 15;
const DRAWN: usize = TIMES * 3 / 2;

const BURSTS: Class = Class::of("random writes after a rest", Judged::Last);
const SINGLE: Class = Class::of("single writes after a rest", Judged::Last);
const EMPTY_FLUSHES: Class = Class::of("flushes of an empty buffer", Judged::Last);
const WRITTEN: Class = Class::of("reads of what was just written", Judged::Last);
const STRIPES: Class = Class::of("stripes in a row, each flushed", Judged::Whole);
const NEIGHBOURS: Class = Class::of("reads of neighbouring blocks", Judged::Last);

/// Times that reads are repeated whose shortest time counts.
const AGAIN: usize = 3;

/// Part of the device that reads are made in: at most 64 MiB.
const MOST_REGION: u64 = 1 << 17;

/// Blocks over which the boundaries of stripes and pages are looked for.
const SCANNED: u64 = 512;

/// Most dies looked for.
const MOST_DIES: u64 = 512;

/// Requests at once for the rates at depth.
const DEEP: u32 = 32;

/// Everything found about a solid-state disk. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// A write of a block after an idle time.
    pub write_ns: Interval,
    /// A flush when nothing was written.
    pub flush_ns: Interval,
    /// A flush after one write of a block.
    pub synced_ns: Interval,
    /// True if the kernel takes the cache of writes for volatile, and sends flushes.
    pub is_volatile: bool,
    /// A sector over the bus.
    pub sector_ns: Interval,
    /// A read of a block that is in the cells.
    pub read_ns: Interval,
    /// A read of a block that was just written.
    pub buffered_ns: Interval,
    /// Sectors of a stripe, which one die programs at once; `None` when reads tell no dies apart.
    pub stripe_sectors: Option<Interval>,
    /// Dies among which stripes go round: fewest and most that fit.
    pub dies: Option<[u32; 2]>,
    /// Sectors of a page; `None` when the stripe is not known.
    pub page_sectors: Option<Interval>,
    /// A sector over the channel of a die.
    pub channel_sector_ns: Interval,
    /// Random reads of a block a second, at depth.
    pub deep_reads: Rate,
    /// Random writes of a block a second into the buffer, at depth.
    pub deep_writes: Rate,
    /// Size of the buffer; `None` when the cells take data as fast as the bus brings it.
    pub buffer_bytes: Option<Interval>,
    /// The cache of faster cells; `None` when it showed no end.
    pub faster: Option<Faster>,
    /// Rate of writes in a row of which no faster cells took any, in 10^6 bytes a second.
    pub row_mb_per_s: Interval,
    /// Erase block; `None` when too little could be written, or nothing showed.
    pub erases: Option<Erases>,
    /// Random writes to the full device; `None` when too little could be written.
    pub cliff: Option<Cliff>,
    /// Bytes of the device.
    pub capacity_bytes: u64,
    /// Bytes written in all.
    pub written_bytes: u64,
}

/// Requests a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests at a time.
    pub depth: u32,
    /// Requests a second.
    pub per_second: Interval,
}

impl Solid {
    /// True when a flush after a write takes as long as one of nothing: capacitors save the buffer, or
    /// programs are too short to show. Which of both cannot be seen in times.
    #[must_use]
    pub fn flushes_at_once(&self) -> bool {
        let after = self.faster.as_ref().map_or(0.0, |faster| faster.synced_after_ns.value);
        self.synced_ns.value.max(after) < 1.05 * self.flush_ns.value + 2_000.0
    }

    /// True when the end of the faster cells lowers the rate of writes in a row.
    #[must_use]
    pub fn faster_shows_in_rate(&self) -> bool {
        self.faster
            .as_ref()
            .is_some_and(|faster| faster.after_mb_per_s.value < 0.9 * faster.before_mb_per_s.value)
    }

    /// Time of a stripe on the channel of its die, which comes before its program.
    #[must_use]
    pub fn stripe_over_channel_ns(&self) -> Interval {
        let sectors = self.stripe_sectors.map_or(0.0, |stripe| stripe.value);
        super::scaled(self.channel_sector_ns, sectors)
    }

    /// Time of a program, with its data's way over the channel, once faster cells are used up; `None` when flushes do not wait for one.
    #[must_use]
    pub fn program_ns(&self) -> Option<Interval> {
        if self.flushes_at_once() {
            return None;
        }
        let synced_ns =
            self.faster.as_ref().map_or(self.synced_ns, |faster| faster.synced_after_ns);
        Some(minus(synced_ns, self.flush_ns))
    }
}

/// The disk with the bytes that the probe may still write.
pub(super) struct Disk<'p, 't> {
    pub(super) pen: &'p mut Pen<'t>,
    pub(super) budget_bytes: u64,
    pub(super) written_bytes: u64,
    /// Next sector of the writes in a row.
    pub(super) next: u64,
}

impl Draws for Disk<'_, '_> {
    fn tape(&mut self) -> &mut Tape {
        self.pen.tape()
    }
}

impl Disk<'_, '_> {
    pub(super) fn sectors(&self) -> u64 {
        self.pen.target.geometry().sectors_512
    }

    pub(super) fn left_bytes(&self) -> u64 {
        self.budget_bytes.saturating_sub(self.written_bytes)
    }

    pub(super) fn depth(&self) -> u32 {
        self.pen.target.geometry().queue_depth.min(DEEP)
    }

    pub(super) fn write_all(&mut self, spans: &[Span], depth: u32) -> Result<Vec<Timed>> {
        self.written_bytes += spans.iter().map(|span| u64::from(span.sectors) * 512).sum::<u64>();
        Ok(self.pen.target.write_all(spans, depth)?)
    }

    /// Time of all of these writes.
    fn single(&mut self, spans: &[Span]) -> Result<f64> {
        Ok(elapsed_ns(&self.write_all(spans, 1)?))
    }

    fn read(&mut self, lba: u64, sectors: u32) -> Result<f64> {
        Ok(self.pen.target.read_one(Span { lba, sectors })?.took_ns() as f64)
    }

    /// Two blocks at once: from the start of the first read to the end of the last. The shortest of a few, since a host
    /// only ever adds to a time.
    fn pair(&mut self, one: u64, other: u64) -> Result<f64> {
        let times = self.repeat(NEIGHBOURS.at(2), AGAIN, |disk| disk.both(one, other))?;
        Ok(times.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// The same, where the answer decides nothing but whether others count.
    fn least_of_both(&mut self, one: u64, other: u64) -> Result<f64> {
        let mut least_ns = f64::INFINITY;
        for _ in 0..AGAIN {
            least_ns = least_ns.min(self.both(one, other)?);
        }
        Ok(least_ns)
    }

    fn both(&mut self, one: u64, other: u64) -> Result<f64> {
        let spans = [one, other].map(|lba| Span { lba, sectors: BLOCK });
        Ok(elapsed_ns(&self.pen.target.read_all(&spans, 2)?))
    }

    /// The shortest of a few reads of the same sectors.
    fn least(&mut self, lba: u64, sectors: u32) -> Result<f64> {
        let times = self.repeat(NEIGHBOURS, AGAIN, |disk| disk.read(lba, sectors))?;
        Ok(times.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// Writes in a row, from the end of the device on at its start again.
    pub(super) fn row(&mut self, bytes: u64, length: u32) -> Vec<Span> {
        let count = (bytes / 512 / u64::from(length)).max(1);
        let sectors = self.sectors();
        let mut spans = Vec::with_capacity(count as usize);
        for _ in 0..count {
            if self.next + u64::from(length) > sectors {
                self.next = 0;
            }
            spans.push(Span { lba: self.next, sectors: length });
            self.next += u64::from(length);
        }
        spans
    }

    /// Time of a flush after one write.
    pub(super) fn synced(&mut self, length: u32) -> Result<f64> {
        let row = self.row(0, length);
        self.write_all(&row, 1)?;
        Ok(self.pen.target.flush()?.took_ns() as f64)
    }
}

/// Finds all about a solid-state disk; at most `budget_bytes` are written.
pub(super) fn find(
    pen: &mut Pen<'_>,
    budget_bytes: u64,
    tell: &mut dyn FnMut(News),
) -> Result<Solid> {
    let mut disk = Disk { pen, budget_bytes, written_bytes: 0, next: 0 };
    tell(News::Begins(Stage::Commands));
    let [write_ns, flush_ns, synced_ns, sector_ns, buffered_ns] = singles(&mut disk)?;
    let deep_writes = deep_writes(&mut disk)?;
    let times = [write_ns, buffered_ns, flush_ns, synced_ns];
    report::found(tell, report::of_commands(times, deep_writes));
    tell(News::Begins(Stage::Parallelism));
    let region = region(&mut disk)?;
    let read_ns = random_reads(&mut disk, region)?;
    let deep_reads = deep_reads(&mut disk, region)?;
    let shape = shape(&mut disk, region, read_ns.value, buffered_ns.value)?;
    let stripe = [shape.page, shape.stripe];
    report::found(tell, report::of_dies(read_ns, deep_reads, stripe, shape.dies));
    let channel_sector_ns = channel(&mut disk, region, shape, sector_ns)?;
    let mut solid = Solid {
        write_ns,
        flush_ns,
        synced_ns,
        is_volatile: disk.pen.target.geometry().write_cache,
        sector_ns,
        read_ns,
        buffered_ns,
        stripe_sectors: shape.stripe,
        dies: shape.dies,
        page_sectors: shape.page,
        channel_sector_ns,
        deep_reads,
        deep_writes,
        buffer_bytes: None,
        faster: None,
        row_mb_per_s: Interval::exact(0.0),
        erases: None,
        cliff: None,
        capacity_bytes: disk.sectors() * 512,
        written_bytes: 0,
    };
    wear::find(&mut disk, &mut solid, tell)?;
    solid.written_bytes = disk.written_bytes;
    Ok(solid)
}

/// Single requests: a write, a flush of nothing, one of a write, a sector over the bus, and a read of the buffer.
fn singles(disk: &mut Disk<'_, '_>) -> Result<[Interval; 5]> {
    let long = disk.pen.long();
    let (mut written, mut longer, mut flushed, mut synced, mut buffered) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..DRAWN {
        disk.pen.rest()?;
        let flush = |disk: &mut Disk<'_, '_>| Ok(disk.pen.target.flush()?.took_ns() as f64);
        flushed.extend(disk.one(EMPTY_FLUSHES, flush)?);
        let spans = disk.pen.places(1, BLOCK);
        written.extend(disk.one(SINGLE, |disk| disk.single(&spans))?);
        let lba = spans.first().map_or(0, |span| span.lba);
        buffered.extend(disk.one(WRITTEN, |disk| disk.read(lba, BLOCK))?);
        disk.pen.rest()?;
        let spans = disk.pen.places(1, long);
        longer.extend(disk.one(SINGLE, |disk| disk.single(&spans))?);
        disk.pen.rest()?;
        synced.extend(disk.one(FLUSHED, |disk| disk.synced(BLOCK))?);
    }
    let write_ns = middle(written);
    let moved = minus(middle(longer), write_ns);
    let by = 1.0 / f64::from((long - BLOCK).max(1));
    let sector_ns = super::scaled(moved, by);
    Ok([write_ns, middle(flushed), middle(synced), sector_ns, middle(buffered)])
}

/// Short bursts of random writes at depth, each into the empty buffer.
fn deep_writes(disk: &mut Disk<'_, '_>) -> Result<Rate> {
    const BURST: usize = 256;
    let depth = disk.depth();
    let class = Class { depth, ..BURSTS };
    let rates = disk.repeat(class, 5, |disk| {
        disk.pen.rest()?;
        let spans = disk.pen.places(BURST, BLOCK);
        let times = disk.write_all(&spans, depth)?;
        Ok(BURST as f64 / elapsed_ns(&times) * 1e9)
    })?;
    Ok(Rate { depth, per_second: interval(&rates) })
}

/// Rows that are written to find the buffer. One of them is sealed.
const BUFFER_TRIES: u64 = 3;

/// Bytes of all rows that are written to find the buffer.
pub(super) fn buffer_bytes(disk: &Disk<'_, '_>) -> u64 {
    const MOST: u64 = 128 << 20;
    BUFFER_TRIES * (disk.sectors() * 512 / 64).min(MOST)
}

/// The buffer, from writes in a row: they go in at the rate of the bus until it is full, and then at that of the cells.
/// The line of the last quarter, drawn back to the first write, begins at the size of the buffer, less what the cells take
/// in the time of a program: so long the first data stays in the buffer.
pub(super) fn buffer(
    disk: &mut Disk<'_, '_>,
    sector_ns: f64,
    program_ns: f64,
) -> Result<Option<Interval>> {
    let length = disk.pen.long();
    let bytes = buffer_bytes(disk) / BUFFER_TRIES;
    if disk.left_bytes() < BUFFER_TRIES * bytes {
        return Ok(None);
    }
    let mut found = Vec::new();
    let depth = disk.depth();
    for is_sealed in disk.tape().draws(BUFFER_TRIES as usize) {
        disk.pen.rest()?;
        let row = disk.row(bytes, length);
        let times = disk.drawn(is_sealed, ROWS.at(depth), |disk| disk.write_all(&row, depth))?;
        let Some(times) = times else { continue };
        let begun_ns = times.iter().map(|time| time.start_ns).min().unwrap_or(0);
        let mut ends: Vec<f64> = times.iter().map(|time| (time.end_ns - begun_ns) as f64).collect();
        ends.sort_by(f64::total_cmp);
        let last = ends.len().saturating_sub(1);
        let late = last / 4 * 3;
        let (Some(late_ns), Some(end_ns)) = (ends.get(late), ends.get(last)) else {
            return Ok(None);
        };
        let bytes = |index: usize| (index + 1) as f64 * f64::from(length) * 512.0;
        let per_ns = (bytes(last) - bytes(late)) / (end_ns - late_ns).max(1.0);
        // Within a tenth of the rate of the bus nothing fills.
        if per_ns * sector_ns / 512.0 > 0.9 {
            return Ok(None);
        }
        found.push((bytes(last) - per_ns * (end_ns - program_ns)).max(0.0));
    }
    Ok(Some(interval(&found)))
}

/// Sectors that hold data in a row: the first and their number.
type Region = (u64, u64);

/// Writes a region in a row, slowly enough that stripes go to the dies in turn.
fn region(disk: &mut Disk<'_, '_>) -> Result<Region> {
    const PAUSE_NS: u64 = 1_000_000;
    let sectors = (disk.sectors() / 8).min(MOST_REGION);
    let length = disk.pen.long();
    disk.next = 0;
    disk.pen.rest()?;
    for span in disk.row(sectors * 512, length) {
        disk.write_all(&[span], 1)?;
        disk.pen.wait(PAUSE_NS);
    }
    disk.pen.rest()?;
    Ok((0, sectors / u64::from(length) * u64::from(length)))
}

fn blocks(disk: &mut Disk<'_, '_>, (first, sectors): Region, count: usize) -> Vec<Span> {
    let block = u64::from(BLOCK);
    let lba = |disk: &mut Disk<'_, '_>| first + disk.pen.below(sectors / block) * block;
    (0..count).map(|_| Span { lba: lba(disk), sectors: BLOCK }).collect()
}

fn random_reads(disk: &mut Disk<'_, '_>, region: Region) -> Result<Interval> {
    let mut times = Vec::with_capacity(4 * DRAWN);
    for span in blocks(disk, region, 4 * DRAWN) {
        times.extend(disk.one(RANDOM_READS, |disk| disk.read(span.lba, span.sectors))?);
    }
    Ok(middle(times))
}

fn deep_reads(disk: &mut Disk<'_, '_>, region: Region) -> Result<Rate> {
    const COUNT: usize = 2000;
    let depth = disk.depth();
    let rates = disk.repeat(RANDOM_READS.at(depth), 3, |disk| {
        let spans = blocks(disk, region, COUNT);
        let times = disk.pen.target.read_all(&spans, depth)?;
        Ok(COUNT as f64 / elapsed_ns(&times) * 1e9)
    })?;
    Ok(Rate { depth, per_second: interval(&rates) })
}

/// Sizes of page and stripe in sectors, and dies.
#[derive(Clone, Copy, Default)]
struct Shape {
    stripe: Option<Interval>,
    dies: Option<[u32; 2]>,
    page: Option<Interval>,
}

/// Stripe, dies and page from reads that need the same die.
fn shape(
    disk: &mut Disk<'_, '_>,
    (first, sectors): Region,
    read_ns: f64,
    buffered_ns: f64,
) -> Result<Shape> {
    if disk.depth() < 2 {
        return Ok(Shape::default());
    }
    let block = u64::from(BLOCK);
    let cells_ns = (read_ns - buffered_ns).max(0.0);
    let conflict_ns = apart_ns(disk, (first, sectors), read_ns + 0.7 * cells_ns)?
        .unwrap_or(read_ns)
        + 0.5 * cells_ns;
    let scanned = SCANNED.min(sectors / block / 2);
    let begin = first + (sectors / 4) / block * block;
    let mut ends = Vec::new();
    for nth in 0..scanned {
        let lba = begin + nth * block;
        if disk.pair(lba, lba + block)? < conflict_ns {
            ends.push(lba + block);
        }
    }
    let gaps: Vec<u64> =
        ends.iter().zip(ends.iter().skip(1)).map(|(one, next)| next - one).collect();
    let Some(stripe) = usual(gaps) else { return Ok(Shape::default()) };
    let [length, ..] = stripe;
    let mut counts = Vec::new();
    for start in ends.iter().copied().take(9) {
        let most = ((first + sectors - start) / length).min(MOST_DIES);
        for nth in 1..most {
            if disk.pair(start, start + nth * length)? > conflict_ns {
                counts.push(nth);
                break;
            }
        }
    }
    let Some(dies) = usual(counts) else { return Ok(Shape::default()) };
    if !is_shape(disk, (first, sectors), [length, dies[0]], cells_ns)? {
        return Ok(Shape::default());
    }
    let dies = Some([dies[1] as u32, dies[2] as u32]);
    let page = page(disk, &ends, length, read_ns - buffered_ns)?;
    Ok(Shape { stripe: Some(between(stripe)), dies, page })
}

/// True when blocks that should be on one die take longer at once than those that should not: on a device that spreads its
/// data otherwise, or where a host adds more to a time than cells take, they do not.
fn is_shape(
    disk: &mut Disk<'_, '_>,
    (first, sectors): Region,
    [stripe, dies]: [u64; 2],
    cells_ns: f64,
) -> Result<bool> {
    const PAIRS: u64 = 24;
    // One die leaves nothing to compare.
    if dies < 2 {
        return Ok(false);
    }
    let (round, block) = (stripe * dies, u64::from(BLOCK));
    let places = (sectors.saturating_sub(4 * round) / block).max(1);
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for nth in 0..PAIRS {
        // All over the region, in no order.
        let lba = first + nth * 7_919 % places * block;
        same.push(disk.least_of_both(lba, lba + (1 + nth % 3) * round)?);
        other.push(disk.least_of_both(lba, lba + (1 + nth % (dies - 1)) * stripe)?);
    }
    let more_ns = median(&same).zip(median(&other)).map_or(0.0, |(same, other)| same - other);
    Ok(more_ns > 0.4 * cells_ns)
}

/// Two blocks at once on different dies: the lower quartile of random pairs, as most are. `None` when these take longer
/// than `most_ns`, so that there is one die.
fn apart_ns(disk: &mut Disk<'_, '_>, region: Region, most_ns: f64) -> Result<Option<f64>> {
    const PAIRS: usize = 32;
    let mut times = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let [one, other] = [(); 2].map(|()| blocks(disk, region, 1));
        let lba = |spans: &[Span]| spans.first().map_or(0, |span| span.lba);
        times.push(disk.pair(lba(&one), lba(&other))?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(PAIRS / 4).copied().filter(|ns| *ns < most_ns))
}

/// The most frequent of some numbers, with the bounds of those between the first and the last tenth.
fn usual(mut numbers: Vec<u64>) -> Option<[u64; 3]> {
    numbers.sort_unstable();
    let at = |part: usize| numbers.get((numbers.len().max(1) - 1) * part / 10).copied();
    Some([at(5)?, at(1)?, at(9)?])
}

fn between([value, low, high]: [u64; 3]) -> Interval {
    Interval { value: value as f64, low: low as f64, high: high as f64 }
}

/// The page: a read of two blocks inside a stripe takes longer where it needs two pages.
fn page(
    disk: &mut Disk<'_, '_>,
    starts: &[u64],
    stripe: u64,
    cells_ns: f64,
) -> Result<Option<Interval>> {
    let block = u64::from(BLOCK);
    let mut lengths = Vec::new();
    for start in starts.iter().copied().take(9) {
        let mut took = Vec::new();
        for nth in 0..(stripe / block).saturating_sub(1) {
            took.push(disk.least(start + nth * block, 2 * BLOCK)?);
        }
        let least = took.iter().copied().fold(f64::INFINITY, f64::min);
        // One block to a page makes every read of two a read of two pages.
        let alone = disk.least(start, BLOCK)?;
        let base = if least > alone + 0.7 * cells_ns { alone } else { least };
        let crossing = took.iter().position(|took| *took > base + 0.5 * cells_ns);
        lengths.push(crossing.map_or(stripe, |nth| (nth as u64 + 1) * block));
    }
    Ok(usual(lengths).map(between))
}

/// A sector over the channel: what a second block of the same page adds beyond its way over the bus.
fn channel(
    disk: &mut Disk<'_, '_>,
    (first, sectors): Region,
    shape: Shape,
    sector_ns: Interval,
) -> Result<Interval> {
    let nothing = Interval::exact(0.0);
    let Some(page) = shape.page.filter(|page| page.value >= f64::from(2 * BLOCK)) else {
        return Ok(nothing);
    };
    let apart = page.value as u64;
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for nth in 0..4 * DRAWN as u64 {
        let lba = first + (nth * 7 * apart) % (sectors / 2) / apart * apart;
        short.extend(disk.one(NEIGHBOURS, |disk| disk.read(lba, BLOCK))?);
        long.extend(disk.one(NEIGHBOURS, |disk| disk.read(lba, 2 * BLOCK))?);
    }
    let more = super::scaled(minus(middle(long), middle(short)), 1.0 / f64::from(BLOCK));
    Ok(minus(more, sector_ns))
}

/// Blocks erased, from the times of flushes or the gaps between completions of writes in a row.
pub(super) fn erases(disk: &mut Disk<'_, '_>, solid: &Solid) -> Result<Option<Erases>> {
    const MOST: usize = 1 << 16;
    const SLICE: u64 = 1024;
    let stripe = solid.stripe_sectors.map_or(64.0, |stripe| stripe.value) as u32;
    let length = stripe.clamp(BLOCK, disk.pen.target.geometry().max_request_bytes / 512);
    let bytes = u64::from(length) * 512 * SLICE;
    // Stripes that are flushed one by one go to the dies in turn, each of which erases at times of its own.
    let dies = match solid.flushes_at_once() {
        true => 1,
        false => solid.dies.map_or(1, |[low, _]| low as usize),
    };
    let mut took = Vec::new();
    while took.len() < MOST && disk.left_bytes() > bytes {
        if solid.flushes_at_once() {
            let row = disk.row(bytes, length);
            let depth = disk.depth();
            let list = |disk: &mut Disk<'_, '_>| disk.write_all(&row, depth);
            let times = disk.drawn(false, ROWS.at(depth), list)?.unwrap_or_default();
            let mut ends: Vec<u64> = times.iter().map(|time| time.end_ns).collect();
            ends.sort_unstable();
            took.extend(ends.iter().zip(ends.iter().skip(1)).map(|(one, end)| (end - one) as f64));
        } else {
            for _ in 0..SLICE {
                took.extend(disk.drawn(false, STRIPES, |disk| disk.synced(length))?);
            }
        }
        // A period of one round of the dies is that of their programs.
        let round = solid.dies.map_or(1, |[_, high]| u64::from(high)) * u64::from(length) * 512;
        let is_erase = |found: &Erases| found.superblock_bytes.low > 1.5 * round as f64;
        if let Some(found) = of_dies(&took, length, dies).filter(is_erase) {
            seal_stripes(disk, solid, length, took.len() / 2)?;
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Seals stripes behind those that were seen: a period needs all of its writes.
fn seal_stripes(disk: &mut Disk<'_, '_>, solid: &Solid, length: u32, count: usize) -> Result<()> {
    let bytes = u64::from(length) * 512;
    let count = (count as u64).min(disk.left_bytes() / bytes);
    if solid.flushes_at_once() {
        let (row, depth) = (disk.row(count * bytes, length), disk.depth());
        disk.drawn(true, ROWS.at(depth), |disk| disk.write_all(&row, depth))?;
        return Ok(());
    }
    for _ in 0..count {
        disk.drawn(true, STRIPES, |disk| disk.synced(length))?;
    }
    Ok(())
}

/// Periods of the erases on each die, together; `None` until every die has shown some.
fn of_dies(took: &[f64], length: u32, dies: usize) -> Option<Erases> {
    const LEAST: usize = 6;
    let all = u64::from(length) * dies as u64 * 512;
    let of_die = |die: usize| {
        let took: Vec<f64> = took.iter().skip(die).step_by(dies).copied().collect();
        steps(&took, all).filter(|found| found.count >= LEAST && found.regular >= REGULAR)
    };
    let found: Option<Vec<Steps>> = (0..dies).map(of_die).collect();
    let found = found?;
    let join = |of: fn(&Steps) -> Interval| {
        let values: Vec<f64> = found.iter().map(|found| of(found).value).collect();
        let low = found.iter().map(|found| of(found).low).fold(f64::INFINITY, f64::min);
        let high = found.iter().map(|found| of(found).high).fold(0.0, f64::max);
        Interval { value: median(&values).unwrap_or_default(), low, high }
    };
    Some(Erases {
        superblock_bytes: join(|found| found.between),
        erase_ns: join(|found| found.above_ns),
    })
}

/// The middle of some times and all of them.
pub(super) fn of(times: &[f64]) -> Interval {
    let found = interval(times);
    Interval { value: median(times).unwrap_or(found.value), ..found }
}
