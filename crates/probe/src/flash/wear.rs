//! Findings of much writing: the cache of faster cells, the write cliff, the steady state behind it and the
//! erase block.

use super::super::accuracy::elapsed_ns;
use super::super::head::BLOCK;
use super::super::tape::{Class, Draws as _, Judged};
use super::super::{Interval, News, Result, Stage};
use super::solid::{Disk, Solid, buffer, buffer_bytes, erases, of};
use super::{FLUSHED, RANDOM, ROW, minus, report};

/// Windows into which the writing is divided.
const WINDOWS: u64 = 256;

/// Bounds of a window in bytes.
const WINDOW_BYTES: [u64; 2] = [1 << 20, 64 << 20];

/// Flushes after single writes at the end of each window, of which a third is sealed.
const SYNCED: usize = 6;

/// Part of the first rate below which a rate counts as fallen.
const FALLEN: f64 = 0.75;

/// Windows that must have fallen in a row, and of which the rate afterwards is taken.
const CONFIRMED: usize = 3;

/// Idle time in which a cache of faster cells is emptied, in nanoseconds.
const REFILL_NS: u64 = 20_000_000_000;

/// Idle time before they are filled, in nanoseconds.
const EMPTY_NS: u64 = 60_000_000_000;

/// Part of the cells beyond the capacity that writes in a row must fill before blocks are erased for sure.
const BEYOND: f64 = 0.35;

/// A cache of faster cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Faster {
    /// Its size.
    pub bytes: Interval,
    /// Rate of writes in a row before its end, in 10^6 bytes a second.
    pub before_mb_per_s: Interval,
    /// The same after it.
    pub after_mb_per_s: Interval,
    /// A flush after one write, in nanoseconds, before its end.
    pub synced_before_ns: Interval,
    /// The same after it.
    pub synced_after_ns: Interval,
    /// Rate at which an idle device empties it, in 10^6 bytes a second; `None` when a pause emptied none.
    pub refill_mb_per_s: Option<Interval>,
}

/// Blocks that are erased together.
#[derive(Clone, Debug, PartialEq)]
pub struct Erases {
    /// Bytes of a block on every die.
    pub superblock_bytes: Interval,
    /// Time of an erase in nanoseconds.
    pub erase_ns: Interval,
}

/// Random writes of a block to the full device, at depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Cliff {
    /// Requests at a time.
    pub depth: u32,
    /// Bytes until the rate falls; `None` when it never does.
    pub after_bytes: Option<Interval>,
    /// Writes a second in the end.
    pub steady_per_second: Interval,
    /// True when the last windows differ by less than a tenth.
    pub is_steady: bool,
}

/// A window of writes in a row that was not sealed.
struct Window {
    /// Bytes written at its end, those that fill stripes up among them.
    end_bytes: f64,
    mb_per_s: f64,
    synced_ns: f64,
}

/// Finds what the bytes that may be written allow.
pub(super) fn find(
    disk: &mut Disk<'_, '_>,
    solid: &mut Solid,
    tell: &mut dyn FnMut(News),
) -> Result<()> {
    tell(News::Begins(Stage::FasterCells));
    let (capacity, all_bytes) = (disk.sectors() * 512, disk.budget_bytes);
    let window = (capacity / WINDOWS).clamp(WINDOW_BYTES[0], WINDOW_BYTES[1]);
    disk.next = 0;
    // What the experiments before have left in faster cells goes elsewhere meanwhile.
    disk.pen.wait(EMPTY_NS);
    // The rows that tell the buffer have to be paid for, too.
    let kept = buffer_bytes(disk);
    disk.budget_bytes -= kept.min(disk.left_bytes() / 2);
    let begun_bytes = disk.written_bytes;
    // Erased cells tell the buffer best; where they are as fast as the bus, those behind the faster ones may not be.
    let program_ns = minus(solid.synced_ns, solid.flush_ns).value;
    solid.buffer_bytes = buffer(disk, solid.sector_ns.value, program_ns)?;
    let before = disk.written_bytes - begun_bytes;
    let windows = pour(disk, solid, [before, window, capacity])?;
    disk.budget_bytes = all_bytes;
    solid.row_mb_per_s = rates(&windows);
    if solid.buffer_bytes.is_none() {
        let last_ns = windows.last().map_or(0.0, |window| window.synced_ns);
        let program_ns = (last_ns - solid.flush_ns.value).max(0.0);
        solid.buffer_bytes = buffer(disk, solid.sector_ns.value, program_ns)?;
    }
    if let Some(at) = fall(&windows) {
        let mut faster = faster(&windows, at, window);
        faster.refill_mb_per_s = refill(disk, solid, window, &faster)?;
        solid.row_mb_per_s = faster.after_mb_per_s;
        solid.faster = Some(faster);
    }
    report::found(tell, report::of_buffer(solid.buffer_bytes));
    report::found(tell, report::of_faster(solid.faster.as_ref()));
    if disk.left_bytes() < capacity * 2 {
        return Ok(());
    }
    tell(News::Begins(Stage::Cliff));
    in_a_row(disk, capacity)?;
    solid.cliff = Some(cliff(disk, capacity)?);
    report::found(tell, report::of_cliff(solid.cliff.as_ref()));
    tell(News::Begins(Stage::EraseUnits));
    let needed = (capacity as f64 * (1.0 + BEYOND)) as u64;
    if disk.left_bytes() > needed + capacity / 4 {
        in_a_row(disk, needed)?;
        solid.erases = erases(disk, solid)?;
    }
    report::found(tell, report::of_erases(solid.erases.as_ref(), true));
    Ok(())
}

/// Writes in a row until the device is full, the bytes are used up, or the rate has fallen for good: bytes written before,
/// of a window, and of all.
fn pour(
    disk: &mut Disk<'_, '_>,
    solid: &Solid,
    [before, window, most_bytes]: [u64; 3],
) -> Result<Vec<Window>> {
    let length = disk.pen.target.geometry().max_request_bytes / 512 / BLOCK * BLOCK;
    let stripe = solid.stripe_sectors.map_or(0.0, |stripe| stripe.value * 512.0);
    let depth = disk.depth();
    let mut windows: Vec<Window> = Vec::new();
    let mut written = before as f64;
    while (written as u64) + window <= most_bytes && disk.left_bytes() > window {
        let row = disk.row(window, length.max(BLOCK));
        let class = Class::of(ROW, Judged::First).at(depth);
        let took_ns = disk.one(class, |disk| {
            let begun_ns = disk.pen.target.now_ns();
            disk.write_all(&row, depth)?;
            disk.pen.target.flush()?;
            Ok((disk.pen.target.now_ns() - begun_ns).max(1))
        })?;
        let bytes = row.iter().map(|span| u64::from(span.sectors) * 512).sum::<u64>() as f64;
        let mut synced = Vec::with_capacity(SYNCED);
        for _ in 0..SYNCED {
            synced.extend(disk.one(FLUSHED, |disk| disk.synced(BLOCK))?);
        }
        // Each of the single writes takes a whole stripe.
        written += bytes + SYNCED as f64 * stripe.max(4096.0);
        let Some(took_ns) = took_ns else { continue };
        let mb_per_s = bytes / took_ns as f64 * 1e3;
        windows.push(Window { end_bytes: written, mb_per_s, synced_ns: of(&synced).value });
        if fall(&windows).is_some_and(|at| windows.len() >= at + 2 * CONFIRMED) {
            break;
        }
    }
    Ok(windows)
}

/// The first window after the end of the faster cells: from it on the rate is lower, or a flush takes longer.
fn fall(windows: &[Window]) -> Option<usize> {
    let first = windows.get(..CONFIRMED)?;
    let mb_per_s = rates(first);
    let synced = flushes(first);
    let limit_ns = (synced.value * 1.02).max(synced.high + 3.0 * (synced.high - synced.low));
    let is_slow =
        |window: &Window| window.mb_per_s < FALLEN * mb_per_s.value || window.synced_ns > limit_ns;
    let at = windows.windows(CONFIRMED).position(|some| some.iter().all(is_slow))?;
    (at > 0).then_some(at)
}

fn rates(windows: &[Window]) -> Interval {
    of(&windows.iter().map(|window| window.mb_per_s).collect::<Vec<_>>())
}

fn flushes(windows: &[Window]) -> Interval {
    of(&windows.iter().map(|window| window.synced_ns).collect::<Vec<_>>())
}

fn faster(windows: &[Window], at: usize, window: u64) -> Faster {
    let end = |index: usize| windows.get(index).map_or(0.0, |window| window.end_bytes);
    let before = windows.get(..at.saturating_sub(1).max(1)).unwrap_or_default();
    let after = windows.get(at + 1..).unwrap_or_default();
    let low = (end(at - 1) - window as f64).max(0.0);
    // The window before may have been the one in which it ended, or a sealed one in between.
    let sealed = (end(at) - end(at - 1) - window as f64).max(0.0);
    Faster {
        bytes: Interval { value: end(at - 1) + sealed / 2.0, low, high: end(at) },
        before_mb_per_s: rates(before),
        after_mb_per_s: rates(after),
        synced_before_ns: flushes(before),
        synced_after_ns: flushes(after),
        refill_mb_per_s: None,
    }
}

/// Effect of a pause: writes in a row are fast again for so many bytes.
fn refill(
    disk: &mut Disk<'_, '_>,
    solid: &Solid,
    window: u64,
    faster: &Faster,
) -> Result<Option<Interval>> {
    disk.pen.wait(REFILL_NS);
    let fine = (window / 8).max(WINDOW_BYTES[0]);
    let windows = pour(disk, solid, [0, fine, faster.bytes.value as u64])?;
    let is_fast = |window: &&Window| {
        let middle = f64::midpoint(faster.synced_before_ns.value, faster.synced_after_ns.value);
        let rate = f64::midpoint(faster.before_mb_per_s.value, faster.after_mb_per_s.value);
        let by_rate = faster.after_mb_per_s.value < FALLEN * faster.before_mb_per_s.value;
        if by_rate { window.mb_per_s > rate } else { window.synced_ns < middle }
    };
    let fast = windows.iter().take_while(is_fast).count();
    if fast == 0 || fast == windows.len() {
        return Ok(None);
    }
    let end = |index: usize| windows.get(index).map_or(0.0, |window| window.end_bytes);
    let seconds = REFILL_NS as f64 / 1e9;
    let mb = |bytes: f64| bytes / 1e6 / seconds;
    Ok(Some(Interval {
        value: mb(end(fast - 1)),
        low: mb(end(fast - 1) - fine as f64).max(0.0),
        // The time that it waits before it begins is not known.
        high: mb(end(fast)) * seconds / (seconds - 5.0),
    }))
}

/// Writes so many bytes in a row from the start of the device on.
fn in_a_row(disk: &mut Disk<'_, '_>, bytes: u64) -> Result<()> {
    const AT_ONCE: u64 = 64 << 20;
    let length = disk.pen.target.geometry().max_request_bytes / 512 / BLOCK * BLOCK;
    let depth = disk.depth();
    disk.next = 0;
    let mut left = bytes;
    while left > 0 {
        let row = disk.row(left.min(AT_ONCE), length.max(BLOCK));
        disk.write_all(&row, depth)?;
        left = left.saturating_sub(AT_ONCE);
    }
    disk.pen.target.flush()?;
    Ok(())
}

/// Random writes until their rate stays.
fn cliff(disk: &mut Disk<'_, '_>, capacity: u64) -> Result<Cliff> {
    let depth = disk.depth();
    let count = (capacity / 128 / 4096).clamp(64, 1 << 18) as usize;
    let bytes = (count * 4096) as u64;
    let mut rates: Vec<f64> = Vec::new();
    // Bytes written at the end of each window that was not sealed.
    let mut ends: Vec<u64> = Vec::new();
    let mut written = 0;
    // What is needed afterwards for the erase block stays.
    let keep = (capacity as f64 * (1.3 + BEYOND)) as u64;
    let is_steady = |rates: &[f64]| {
        let last = rates.get(rates.len().saturating_sub(8)..).unwrap_or_default();
        let found = of(last);
        last.len() == 8 && found.high - found.low < 0.1 * found.value
    };
    while written < 3 * capacity && disk.left_bytes() > bytes {
        let is_done = written >= capacity && is_steady(&rates);
        if is_done || (written >= capacity && disk.left_bytes() < keep) {
            break;
        }
        let spans = disk.pen.places(count, BLOCK);
        let class = Class::of(RANDOM, Judged::Last).at(depth);
        let times = disk.one(class, |disk| disk.write_all(&spans, depth))?;
        written += bytes;
        if let Some(times) = times {
            rates.push(count as f64 / elapsed_ns(&times) * 1e9);
            ends.push(written);
        }
    }
    let first = of(rates.get(..2).unwrap_or_default());
    let fallen = rates.iter().position(|rate| *rate < FALLEN * first.value);
    // One window before the first that has fallen, and one after it.
    let end = |nth: usize| ends.get(nth).map_or(0.0, |end| *end as f64);
    Ok(Cliff {
        depth,
        after_bytes: fallen.map(|nth| Interval {
            value: end(nth) - bytes as f64,
            low: (end(nth.saturating_sub(1)) - bytes as f64).max(0.0),
            high: end(nth),
        }),
        steady_per_second: of(rates.get(rates.len().saturating_sub(8)..).unwrap_or_default()),
        is_steady: is_steady(&rates),
    })
}
