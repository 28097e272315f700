//! Experiments that write: the write cache, how it drains, flushes, and settling before a write.
//!
//! Everything on the device is lost. Times that the cache hides are found by flushing, and parameters that act only
//! together (candidates among which the drive sorts, settling) by comparison with the file's own model.

use seekwell_stats::{Rng, seeded};

use super::accuracy::nearest;
use super::describe::built;
use super::head::{BLOCK, align, median, middle};
use super::line::{Point, line};
use super::simulated::Simulated;
use super::tape::{Class, Draws, Judged, RANDOM, SYNCED, Tape, TapedWrites};
use super::write_cache::{Drain, WriteCache, Writes};
use super::{
    Findings, Interval, News, ProbeError, Result, Span, Stage, Timed, WriteFailed, WriteTarget,
};

/// Pause in which a drive writes what little is in its cache, in nanoseconds.
const IDLE_NS: u64 = 200_000_000;

/// Single writes whose cost is measured.
const SINGLE: usize = 15;

/// Lists, each with an answer of its own, so that the answers show how sure they are.
const LISTS: usize = 3;

/// Writes of a list, each flushed; a third of them is sealed.
const FLUSHED: usize = 210;

/// Flushes of many writes that make an answer.
const FLUSHES_SORTED: usize = 5;

/// Most writes of a block before the cache counts as endless: 512 MiB.
const MOST_WRITES: u64 = 1 << 17;

/// Writes before a flush, and how often.
const DIRTY: [(u64, usize); 5] = [(1, 12), (4, 8), (16, 6), (64, 5), (256, 3)];

/// Writes in steady state of which a rate is taken, and how many rates.
const STEADY: [usize; 2] = [100, 4];

/// Most candidates for writing among which a drive may sort.
const MOST_WINDOW: u32 = 64;

/// Writes in a row before the cache is full, as a multiple of its size: it drains meanwhile.
const FILLINGS: u64 = 4;

const AFTER_REST: Class = Class::of("single writes after a rest", Judged::Last);
const EMPTY_FLUSHES: Class = Class::of("flushes of an empty cache", Judged::Last);
const INTO_CACHE: Class = Class::of("writes into the cache", Judged::Early);
const FLUSHES: Class = Class::of("flushes after random writes", Judged::Last);
const WRITTEN: Class = Class::of("reads of what was just written", Judged::Last);
const CLEARED: Class = Class::of("reads behind others after a write", Judged::Last);

/// Times that a drive may let pass before it writes, in nanoseconds: longest one looked for.
const LONGEST_DELAY_NS: u64 = 12_800_000_000;

/// The device with random places.
pub(super) struct Pen<'t> {
    pub(super) target: &'t mut dyn TapedWrites,
    random: Rng,
}

impl Draws for Pen<'_> {
    fn tape(&mut self) -> &mut Tape {
        self.target.tape()
    }
}

impl<'t> Pen<'t> {
    pub(super) fn new(target: &'t mut dyn TapedWrites, seed: u64) -> Self {
        Self { target, random: seeded(seed) }
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// Blocks anywhere on the device.
    pub(super) fn places(&mut self, count: usize, sectors: u32) -> Vec<Span> {
        let blocks = self.target.geometry().sectors_512.saturating_sub(sectors.into()) / 8;
        (0..count).map(|_| Span { lba: self.below(blocks) * 8, sectors }).collect()
    }

    /// Sectors of a long write: 64 KiB, or the longest that the device takes.
    pub(super) fn long(&self) -> u32 {
        (self.target.geometry().max_request_bytes / 512).clamp(BLOCK, 16 * BLOCK)
    }

    /// Writes behind one another at a random place.
    pub(super) fn row(&mut self, sectors: u32, count: u64) -> Vec<Span> {
        let all = self.target.geometry().sectors_512;
        let count = count.min(all / u64::from(sectors));
        let first = align(self.below((all - count * u64::from(sectors)).max(1)));
        (0..count).map(|nth| Span { lba: first + nth * u64::from(sectors), sectors }).collect()
    }

    pub(super) fn write(&mut self, span: Span) -> Result<Timed> {
        Ok(self.target.write_one(span)?)
    }

    /// Empties the cache and lets the drive rest.
    pub(super) fn rest(&mut self) -> Result<()> {
        self.target.flush()?;
        self.wait(IDLE_NS);
        Ok(())
    }

    pub(super) fn wait(&mut self, ns: u64) {
        self.target.pause(ns);
    }
}

/// Finds all that writes tell.
pub(super) fn find(
    target: &mut dyn TapedWrites,
    findings: &Findings,
    seed: u64,
    tell: &mut dyn FnMut(News),
) -> Result<Writes> {
    let mut pen = Pen::new(target, seed);
    tell(News::Begins(Stage::WriteCache));
    let write_ns = single(&mut pen)?;
    let is_cached = write_ns.value < findings.turn_ns.value / 4.0;
    let mut writes = Writes { write_ns, settle_ns: Interval::exact(0.0), cache: None };
    if is_cached {
        writes.cache = Some(cache(&mut pen, findings, tell)?);
    }
    tell(News::Begins(Stage::Settling));
    writes.settle_ns = settle(&mut pen, findings, &writes)?;
    if is_cached {
        let window = window(&mut pen, findings, &writes)?;
        if let Some(cache) = &mut writes.cache {
            cache.window = window;
        }
    }
    Ok(writes)
}

/// Times of single writes, each after a rest.
fn single(pen: &mut Pen<'_>) -> Result<Interval> {
    let times = pen.repeat(AFTER_REST, SINGLE, |pen| {
        pen.rest()?;
        let span = pen.places(1, BLOCK).remove(0);
        Ok(pen.write(span)?.took_ns() as f64)
    })?;
    Ok(middle(times))
}

/// The cache by itself. The number of candidates that it sorts is found later.
fn cache(pen: &mut Pen<'_>, findings: &Findings, tell: &mut dyn FnMut(News)) -> Result<WriteCache> {
    let stall_ns = (findings.turn_ns.value / 4.0) as u64;
    let flushes = pen.repeat(EMPTY_FLUSHES, SINGLE, |pen| {
        pen.rest()?;
        Ok(pen.target.flush()?.took_ns() as f64)
    })?;
    let empty_flush_ns = middle(flushes);
    let small = fill(pen, BLOCK, stall_ns)?;
    let drains = vec![drain(pen, 1)?, drain(pen, 2)?];
    let per_ns = drains.first().map_or(0.0, |drain| drain.per_second.value / 1e9);
    let longest = pen.long();
    let large = fill(pen, longest, stall_ns)?;
    let [small, large] = [small, large].map(|filled| size(&filled, per_ns));
    let is_divided = large.value > 2.0 * small.value;
    tell(News::Begins(Stage::Flushes));
    let most = (small.value / f64::from(BLOCK) / 2.0) as u64;
    let points = flushes_of(pen, most)?;
    Ok(WriteCache {
        sectors: if is_divided { large } else { small },
        runs: is_divided.then(|| (small.value / f64::from(BLOCK)).round() as u32),
        empty_flush_ns,
        flush: line(&points),
        flushes: points,
        delay_ns: delay(pen, empty_flush_ns.value as u64 + stall_ns)?,
        drains,
        run_sectors: run(pen, if is_divided { large } else { small })?,
        window: [1, MOST_WINDOW],
        serves_written: serves_written(pen, stall_ns)?,
        clears_read_ahead: clears_read_ahead(pen, findings)?,
    })
}

/// Writes until one had to wait: their sectors, the time of all, and the sectors of one.
struct Filled {
    sectors: u64,
    elapsed_ns: u64,
    one: u64,
}

/// Fills the empty cache, a few times. One of them is sealed: a large cache takes a minute to be empty again.
fn fill(pen: &mut Pen<'_>, sectors: u32, stall_ns: u64) -> Result<Vec<Filled>> {
    // A large write keeps the bus busy for longer than a small one.
    let stall_ns = stall_ns + u64::from(sectors) * 10_000;
    let mut found = Vec::with_capacity(LISTS);
    for is_sealed in pen.tape().draws(LISTS) {
        pen.rest()?;
        found.extend(pen.drawn(is_sealed, INTO_CACHE, |pen| filled(pen, sectors, stall_ns))?);
    }
    Ok(found)
}

fn filled(pen: &mut Pen<'_>, sectors: u32, stall_ns: u64) -> Result<Filled> {
    let begun_ns = pen.target.now_ns();
    let mut filled = Filled { sectors: 0, elapsed_ns: 0, one: sectors.into() };
    while filled.sectors < MOST_WRITES * u64::from(BLOCK) {
        let span = pen.places(1, sectors).remove(0);
        let timed = pen.write(span)?;
        if timed.took_ns() > stall_ns {
            break;
        }
        filled.sectors += u64::from(sectors);
        filled.elapsed_ns = timed.end_ns - begun_ns;
    }
    Ok(filled)
}

/// Size of the cache: all that fitted, less what was drained meanwhile.
fn size(filled: &[Filled], drained_per_ns: f64) -> Interval {
    let sizes = filled.iter().map(|filled| {
        let drained = drained_per_ns * filled.elapsed_ns as f64 * filled.one as f64;
        filled.sectors as f64 - drained.min(filled.sectors as f64 / 2.0)
    });
    let found = interval(&sizes.collect::<Vec<_>>());
    let most = filled.iter().map(|filled| filled.sectors + filled.one).max().unwrap_or(0);
    Interval { high: found.high.max(most as f64), ..found }
}

/// Rate of random writes with the cache full, as the writes before have left it.
fn drain(pen: &mut Pen<'_>, depth: u32) -> Result<Drain> {
    let [writes, rates] = STEADY;
    let warm = pen.places(writes, BLOCK);
    pen.target.write_all(&warm, depth)?;
    let class = Class::of(RANDOM, Judged::Each).at(depth);
    let mut found = Vec::with_capacity(rates);
    for is_sealed in pen.tape().draws(rates * 3 / 2) {
        found.extend(pen.drawn(is_sealed, class, |pen| {
            let spans = pen.places(writes, BLOCK);
            let begun_ns = pen.target.now_ns();
            pen.target.write_all(&spans, depth)?;
            let elapsed_ns = pen.target.now_ns() - begun_ns;
            Ok(writes as f64 / elapsed_ns.max(1) as f64 * 1e9)
        })?);
    }
    Ok(Drain { depth, per_second: interval(&found) })
}

/// Sectors from stop to stop of writes in a row with the cache full: each stop ends when a run is on the medium.
fn run(pen: &mut Pen<'_>, size: Interval) -> Result<Option<Interval>> {
    const COUNTED: u64 = 1000;
    // Long writes, because short ones may come no faster than the medium takes them.
    let length = pen.long();
    let mut found = Vec::with_capacity(LISTS);
    for is_sealed in pen.tape().draws(LISTS) {
        pen.rest()?;
        let filling = (size.high / f64::from(length)) as u64 * FILLINGS;
        let row = pen.row(length, filling + COUNTED);
        let (filling, row) = row.split_at((filling as usize).min(row.len()));
        pen.target.write_all(filling, 1)?;
        found.extend(pen.drawn(is_sealed, Class::of(ROW, Judged::Each), |pen| {
            let times = pen.target.write_all(row, 1)?;
            let took: Vec<f64> = times.iter().map(|time| time.took_ns() as f64).collect();
            let stop_ns = 1.4 * median(&took).unwrap_or_default() + 50_000.0;
            let stops = took.iter().filter(|took| **took > stop_ns).count();
            let sectors = (took.len() as u64 * u64::from(length)) as f64;
            Ok((stops > 2).then(|| sectors / stops as f64))
        })?);
    }
    // A drive that writes more slowly than it takes data stops in every list.
    let found: Option<Vec<f64>> = found.into_iter().collect();
    Ok(found.map(|found| interval(&found)))
}

/// Flushes after some random writes, at most so many.
fn flushes_of(pen: &mut Pen<'_>, most: u64) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for (dirty, times) in DIRTY.into_iter().filter(|(dirty, _)| *dirty <= most.max(1)) {
        let found = pen.repeat(FLUSHES, times, |pen| {
            pen.rest()?;
            let spans = pen.places(dirty as usize, BLOCK);
            Ok(flushed(pen.target, &spans)? as f64)
        })?;
        let sum_ns = found.iter().sum::<f64>();
        points.push(Point { dirty, times: times as u64, mean_ns: sum_ns / times as f64 });
    }
    Ok(points)
}

/// Time of a flush after these writes.
fn flushed(target: &mut dyn WriteTarget, spans: &[Span]) -> Result<u64> {
    target.write_all(spans, 1)?;
    Ok(target.flush()?.took_ns())
}

/// Idle time after which a flush finds the cache empty: doubled until it does. It takes up to half a minute, so none is sealed.
fn delay(pen: &mut Pen<'_>, empty_ns: u64) -> Result<Interval> {
    // Shorter times could not be told from the time that the write itself takes.
    let (mut low, mut wait_ns) = (0, 100_000_000);
    while wait_ns <= LONGEST_DELAY_NS {
        let mut emptied = 0;
        for span in pen.places(3, BLOCK) {
            pen.rest()?;
            pen.write(span)?;
            pen.wait(wait_ns);
            let flush = pen.drawn(false, FLUSHES, |pen| Ok(pen.target.flush()?))?;
            emptied += usize::from(flush.is_some_and(|flush| flush.took_ns() <= empty_ns));
        }
        if emptied >= 2 {
            break;
        }
        low = wait_ns;
        wait_ns *= 2;
    }
    let (low, high) = (low as f64, wait_ns as f64);
    Ok(Interval { value: if low > 0.0 { f64::midpoint(low, high) } else { 0.0 }, low, high })
}

/// Reads the last of some writes, which still wait.
fn serves_written(pen: &mut Pen<'_>, stall_ns: u64) -> Result<bool> {
    const WAITING: usize = 16;
    pen.mostly(WRITTEN, |pen| {
        pen.rest()?;
        let spans = pen.places(WAITING, BLOCK);
        pen.target.write_all(&spans, 1)?;
        let times = pen.target.read_all(spans.get(WAITING - 1..).unwrap_or_default(), 1)?;
        Ok(times.iter().all(|time| time.took_ns() < stall_ns))
    })
}

/// Reads ahead, writes elsewhere, and looks for what was read ahead.
fn clears_read_ahead(pen: &mut Pen<'_>, findings: &Findings) -> Result<Option<bool>> {
    let Some(before) = findings.buffer.read_ahead_after else { return Ok(None) };
    let is_cleared = pen.mostly(CLEARED, |pen| {
        let at = pen.places(1, 64 * BLOCK).remove(0).lba;
        for index in 0..=before {
            let lba = at + u64::from(index * BLOCK);
            pen.target.read_all(&[Span { lba, sectors: BLOCK }], 1)?;
        }
        pen.wait(IDLE_NS);
        let elsewhere = pen.places(1, BLOCK).remove(0);
        pen.write(elsewhere)?;
        pen.rest()?;
        let next = Span { lba: at + u64::from((before + 1) * BLOCK), sectors: BLOCK };
        let times = pen.target.read_all(&[next], 1)?;
        Ok(times.iter().any(|time| time.took_ns() >= findings.buffer.hit_below_ns))
    })?;
    Ok(Some(is_cleared))
}

/// Settling, from writes that are each flushed: what the device takes longer than its model without any.
fn settle(pen: &mut Pen<'_>, findings: &Findings, writes: &Writes) -> Result<Interval> {
    let mut found = Vec::with_capacity(LISTS);
    for _ in 0..LISTS {
        let spans = pen.places(FLUSHED, BLOCK);
        let sealed = pen.tape().draws(FLUSHED);
        pen.rest()?;
        let mut seen = Vec::with_capacity(FLUSHED);
        for (span, is_sealed) in spans.iter().zip(&sealed) {
            let class = Class::of(SYNCED, Judged::Whole);
            seen.extend(pen.drawn(*is_sealed, class, |pen| Ok(synced(pen.target, *span)?))?);
        }
        let device_ns = mean_ns(&seen);
        let mut settle_ns = 0.0;
        // The second step makes up for turns that the first one crossed.
        for _ in 0..2 {
            let tried = Writes { settle_ns: Interval::exact(settle_ns), ..writes.clone() };
            let mut modelled = Vec::new();
            for phase in 1..=4 {
                let mut model = simulated(findings, &tried, phase)?;
                let mut times = Vec::with_capacity(FLUSHED);
                for (span, is_sealed) in spans.iter().zip(&sealed) {
                    let time = synced(&mut model, *span)?;
                    times.extend((!is_sealed).then_some(time));
                }
                modelled.push(mean_ns(&times));
            }
            let model_ns = modelled.iter().sum::<f64>() / modelled.len() as f64;
            settle_ns += device_ns - model_ns;
        }
        found.push(settle_ns);
    }
    Ok(interval(&found))
}

/// A write with its flush.
fn synced(target: &mut dyn WriteTarget, span: Span) -> Result<Timed, WriteFailed> {
    let start_ns = target.write_one(span)?.start_ns;
    Ok(Timed { start_ns, end_ns: target.flush()?.end_ns })
}

fn mean_ns(times: &[Timed]) -> f64 {
    times.iter().map(|time| time.took_ns() as f64).sum::<f64>() / times.len().max(1) as f64
}

/// Candidates among which the drive chooses, from flushes of many writes.
fn window(pen: &mut Pen<'_>, findings: &Findings, writes: &Writes) -> Result<[u32; 2]> {
    let points = writes.cache.iter().flat_map(|cache| &cache.flushes);
    let most = points.map(|point| point.dirty).max().unwrap_or(1);
    if most < 4 {
        return Ok([1, MOST_WINDOW]);
    }
    let mut answers = Vec::new();
    // Settling costs as much time as sorting saves, so each of its bounds has a list.
    let Interval { value, low, high } = writes.settle_ns;
    for settle_ns in [low, value, high] {
        let writes = &Writes { settle_ns: Interval::exact(settle_ns), ..writes.clone() };
        let measured = pen.repeat(FLUSHES, FLUSHES_SORTED, |pen| {
            let spans = pen.places(most.min(64) as usize, BLOCK);
            pen.rest()?;
            let device_ns = flushed(pen.target, &spans)? as f64;
            Ok((spans, device_ns))
        })?;
        answers.push(nearest(MOST_WINDOW, |window| off(findings, writes, window, &measured))?);
    }
    let low = answers.iter().copied().min().unwrap_or(1);
    Ok([low, answers.iter().copied().max().unwrap_or(low)])
}

/// Distance of the model with a window from the measured flushes: square of the logarithm of the ratio of the sums.
fn off(
    findings: &Findings,
    writes: &Writes,
    window: u32,
    measured: &[(Vec<Span>, f64)],
) -> Result<f64> {
    let mut tried = writes.clone();
    if let Some(cache) = &mut tried.cache {
        cache.window = [window, window];
    }
    let mut model = simulated(findings, &tried, 1)?;
    let (mut device_ns, mut model_ns) = (0.0, 0.0);
    for (spans, took_ns) in measured {
        device_ns += took_ns;
        model_ns += flushed(&mut model, spans)? as f64;
    }
    Ok((model_ns / f64::max(device_ns, 1.0)).ln().powi(2))
}

/// The model of the findings with these writes.
pub(super) fn simulated(findings: &Findings, writes: &Writes, seed: u64) -> Result<Simulated> {
    let with = Findings { writes: Some(writes.clone()), ..findings.clone() };
    let file = built(&with).ok_or_else(|| ProbeError::file_refused("the write cache"))?;
    Ok(Simulated::new(seekwell_device::build(&file, seed)))
}

/// Class of sequential writes in steady state.
pub(super) const ROW: &str = "writes in a row";

/// Mean, smallest and largest.
pub(super) fn interval(values: &[f64]) -> Interval {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Interval { value: mean, low, high }
}
