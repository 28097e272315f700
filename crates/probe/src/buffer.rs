//! The disk's buffer: cost of a command and rate of the bus, read-ahead, segments.

use super::head::{BLOCK, Head, align, middle};
use super::tape::{Class, Draws as _, Judged};
use super::{Interval, ProbeError, Result};

/// Reads behind others, some of which the buffer serves.
const AFTER_PAUSE: Class = Class::of("reads behind others after a pause", Judged::Last);

/// Places at which each experiment is made.
const TIMES: usize = 9;

/// Pause in which a disk reads ahead as far as it will, in nanoseconds.
const IDLE_NS: u64 = 120_000_000;

/// Largest read-ahead and most segments looked for.
const MOST_SECTORS: u64 = 32 << 11;
const MOST_SEGMENTS: usize = 64;

/// Longest hit that tells the rate of the bus on a noisy host, in sectors.
const LONG_HIT: u32 = 256;

/// Length of a long run: segments up to this size are found.
const RUN_SECTORS: u64 = 16 << 11;

/// Most segments that a device file may have.
const ANY_SEGMENTS: f64 = 65_536.0;

/// The buffer, as far as reads tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// Command and electronics of a read that the buffer serves, in nanoseconds; `None` when it served none.
    pub hit_ns: Option<Interval>,
    /// Rate at which data moves, in 10^6 bytes a second; `None` without hits, or when hits of different length take the
    /// same time.
    pub mb_per_s: Option<Interval>,
    /// Reads in a row before it reads ahead: 0 or 1; `None` without read-ahead.
    pub read_ahead_after: Option<u32>,
    /// Sectors behind the last read one that it reads ahead.
    pub read_ahead_sectors: Interval,
    /// Places it remembers at once.
    pub segments: Interval,
    /// True when data that was delivered serves a second read.
    pub keeps_delivered: bool,
    /// Sectors of a segment: those read ahead, and those before them that are still there.
    pub segment_sectors: Interval,
    /// True when it reads ahead again once the data read ahead is used up.
    pub resumes_read_ahead: bool,
    /// Time below which a read of a block comes from the buffer, in nanoseconds; 0 when the buffer serves none.
    pub hit_below_ns: u64,
}

/// Time that tells the buffer from the medium, given the time of a block from the buffer. The margin is that of a
/// host's clock and interrupts; a block of the medium takes less only when it happens to be under the head.
fn below(hit_ns: f64, noise_ns: f64) -> u64 {
    (hit_ns * 1.2 + 6.0 * noise_ns) as u64 + 15_000
}

/// Finds command cost, bus and buffer.
pub(super) fn find(head: &mut Head<'_>) -> Result<Buffer> {
    let after_one = follow_up(head, 0, BLOCK)?;
    let after_two = follow_up(head, 1, BLOCK)?;
    // A read of the medium waits half a turn on average, so a quarter of it tells the two apart.
    let limit = head.turn_ns / 4.0;
    let (before, small) = match (after_one.value < limit, after_two.value < limit) {
        (true, _) => (0, after_one),
        (false, true) => (1, after_two),
        (false, false) => return Ok(none()),
    };
    let most = head.target.geometry().max_request_bytes / 512;
    head.hit_below_ns = below(small.value, head.noise_ns);
    let (per_sector_ns, read_ahead_sectors);
    if head.is_noisy() {
        // Only a long hit tells the bus from the noise, and it must not reach beyond what was read ahead.
        read_ahead_sectors = read_ahead(head, before)?;
        let half = align(read_ahead_sectors.value as u64 / 2) as u32;
        let large = most.min(half).clamp(BLOCK, LONG_HIT);
        let sectors = f64::from(large.saturating_sub(BLOCK));
        per_sector_ns = per_sector(small, follow_up(head, before, large)?, sectors);
    } else {
        let large = most.clamp(BLOCK, 32);
        let sectors = f64::from(large.saturating_sub(BLOCK));
        per_sector_ns = per_sector(small, follow_up(head, before, large)?, sectors);
        read_ahead_sectors = read_ahead(head, before)?;
    }
    let moving_ns = per_sector_ns.map_or(0.0, |ns| ns.value * f64::from(BLOCK));
    let mb_per_s = per_sector_ns.map(|ns| Interval {
        value: 512e3 / ns.value,
        low: 512e3 / ns.high,
        high: 512e3 / ns.low,
    });
    let ahead = read_ahead_sectors.value as u64;
    let keeps_delivered = keeps_delivered(head, before, ahead)?;
    let behind = if keeps_delivered { behind(head)? } else { Interval::exact(0.0) };
    let segment_sectors = Interval {
        value: read_ahead_sectors.value + behind.value,
        low: read_ahead_sectors.low + behind.low,
        high: read_ahead_sectors.high + behind.high,
    };
    Ok(Buffer {
        hit_ns: Some(small.map(|ns| (ns - moving_ns).max(0.0))),
        mb_per_s,
        read_ahead_after: Some(before),
        read_ahead_sectors,
        segments: segments(head, before)?,
        keeps_delivered,
        segment_sectors,
        resumes_read_ahead: resumes(head, before, ahead)?,
        hit_below_ns: head.hit_below_ns,
    })
}

/// A disk that reads nothing ahead, or whose hits cannot be told from reads of the medium.
fn none() -> Buffer {
    Buffer {
        hit_ns: None,
        mb_per_s: None,
        read_ahead_after: None,
        read_ahead_sectors: Interval::exact(0.0),
        segments: Interval { value: 1.0, low: 1.0, high: ANY_SEGMENTS },
        keeps_delivered: false,
        segment_sectors: Interval::exact(0.0),
        resumes_read_ahead: false,
        hit_below_ns: 0,
    }
}

/// Time of one further sector, from hits of a block and of `sectors` more; `None` when their times cannot be told apart.
fn per_sector(small: Interval, large: Interval, sectors: f64) -> Option<Interval> {
    if sectors < 1.0 || large.low <= small.high {
        return None;
    }
    Some(Interval {
        value: (large.value - small.value) / sectors,
        low: (large.low - small.high) / sectors,
        high: (large.high - small.low) / sectors,
    })
}

/// Reads one block and `more` behind it at a new place; the sector behind them.
fn start(head: &mut Head<'_>, more: u32) -> Result<u64> {
    let room = head.sectors() - 2 * MOST_SECTORS;
    let lba = head.below(room) / 8 * 8;
    for index in 0..=more {
        head.read(lba + u64::from(index * BLOCK), BLOCK)?;
    }
    Ok(lba + u64::from((more + 1) * BLOCK))
}

/// Time of a read of `sectors` behind one block and `more`, made after an idle time, in nanoseconds: the median, and the
/// second smallest and second largest of nine, between which it lies with a probability of 0.96.
fn follow_up(head: &mut Head<'_>, more: u32, sectors: u32) -> Result<Interval> {
    let times = head.repeat(AFTER_PAUSE, TIMES, |head| {
        let next = start(head, more)?;
        head.wait(IDLE_NS);
        Ok(head.read(next, sectors)?.took_ns() as f64)
    })?;
    Ok(middle(times))
}

/// Sectors read ahead after an idle time, by bisection: each step at a new place.
fn read_ahead(head: &mut Head<'_>, before: u32) -> Result<Interval> {
    farthest(head, [BLOCK.into(), MOST_SECTORS], |head, sectors| {
        let next = start(head, before)?;
        head.wait(IDLE_NS);
        is_hit(head, next + sectors - u64::from(BLOCK))
    })
}

/// The largest number of sectors for which something is mostly true: between the last where it was and the first where it
/// was not.
fn farthest(
    head: &mut Head<'_>,
    [mut low, mut high]: [u64; 2],
    is_true: impl Fn(&mut Head<'_>, u64) -> Result<bool>,
) -> Result<Interval> {
    while high - low > u64::from(BLOCK) {
        let middle = align(u64::midpoint(low, high));
        let holds = head.mostly(AFTER_PAUSE, |head| is_true(head, middle))?;
        if holds { low = middle } else { high = middle }
    }
    Ok(Interval { value: low as f64, low: low as f64, high: high as f64 })
}

/// Places whose read-ahead is still there after as many others were read.
fn segments(head: &mut Head<'_>, before: u32) -> Result<Interval> {
    let mut is_kept = |others: usize| {
        // A delay of the host makes a hit look like a miss, so that a miss is tried again.
        for _ in 0..if head.is_noisy() { 2 } else { 1 } {
            let next = start(head, before)?;
            head.wait(IDLE_NS);
            for _ in 0..others {
                start(head, before)?;
                head.wait(IDLE_NS);
            }
            // Each step takes seconds, so none is sealed.
            let kept = head.drawn(false, AFTER_PAUSE, |head| is_hit(head, next))?;
            if kept == Some(true) {
                return Ok(true);
            }
        }
        Ok::<bool, ProbeError>(false)
    };
    let (mut kept, mut gone) = (0, MOST_SEGMENTS);
    while gone - kept > 1 {
        let middle = usize::midpoint(kept, gone);
        if is_kept(middle)? { kept = middle } else { gone = middle }
    }
    // Only here the upper end was never tried.
    if gone == MOST_SEGMENTS && is_kept(MOST_SEGMENTS)? {
        let low = MOST_SEGMENTS as f64 + 1.0;
        return Ok(Interval { value: low, low, high: ANY_SEGMENTS });
    }
    let (low, high) = (kept as f64 + 1.0, gone as f64);
    Ok(Interval { value: low, low, high })
}

/// Reads a block of the read-ahead twice. A block before it would not do: what was read ahead may have pushed it out.
fn keeps_delivered(head: &mut Head<'_>, before: u32, ahead: u64) -> Result<bool> {
    head.mostly(AFTER_PAUSE, |head| {
        let lba = start(head, before)? + align(ahead / 4);
        head.wait(IDLE_NS);
        head.read(lba, BLOCK)?;
        is_hit(head, lba)
    })
}

/// Sectors before the end of a long run of reads that are still there, by bisection: each step at a new place.
fn behind(head: &mut Head<'_>) -> Result<Interval> {
    farthest(head, [0, RUN_SECTORS], |head, sectors| {
        let end = read_run(head)?;
        head.wait(IDLE_NS);
        is_hit(head, end - sectors)
    })
}

/// Reads a long run at a new place; the sector behind it.
fn read_run(head: &mut Head<'_>) -> Result<u64> {
    let most = head.target.geometry().max_request_bytes / 512;
    let length = align(most.clamp(BLOCK, 256).into());
    let first = align(head.below(head.sectors() - 2 * RUN_SECTORS));
    let count = RUN_SECTORS / length;
    for index in 0..count {
        head.read(first + index * length, length as u32)?;
    }
    Ok(first + count * length)
}

/// Uses most of the read-ahead, and looks behind its end after an idle time.
fn resumes(head: &mut Head<'_>, before: u32, ahead: u64) -> Result<bool> {
    head.mostly(AFTER_PAUSE, |head| {
        let next = start(head, before)?;
        head.wait(IDLE_NS);
        head.read(next + align(ahead * 3 / 4), BLOCK)?;
        head.wait(IDLE_NS);
        is_hit(head, next + ahead)
    })
}

/// Reads a block; true when it comes from the buffer.
fn is_hit(head: &mut Head<'_>, lba: u64) -> Result<bool> {
    Ok(head.read(lba, BLOCK)?.took_ns() < head.hit_below_ns)
}
