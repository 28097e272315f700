//! The disk's buffer: cost of a command and rate of the bus, read-ahead, segments.

use super::head::{BLOCK, Head, median};
use super::{Interval, ProbeError};

/// Places at which each experiment is made.
const TIMES: usize = 9;

/// Pause in which a disk reads ahead as far as it will, in nanoseconds.
const IDLE_NS: u64 = 120_000_000;

/// Largest read-ahead and most segments looked for.
const MOST_SECTORS: u64 = 32 << 11;
const MOST_SEGMENTS: usize = 64;

/// The buffer, as far as reads tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// Command and electronics of a read that the buffer serves, in nanoseconds; `None` when it served none.
    pub hit_ns: Option<Interval>,
    /// Rate at which data moves, in 10^6 bytes a second; `None` without hits.
    pub mb_per_s: Option<Interval>,
    /// Reads in a row before it reads ahead: 0 or 1; `None` without read-ahead.
    pub read_ahead_after: Option<u32>,
    /// Sectors behind the last read one that it reads ahead.
    pub read_ahead_sectors: Interval,
    /// Places it remembers at once.
    pub segments: Interval,
    /// True when data that was delivered serves a second read.
    pub keeps_delivered: bool,
}

impl Buffer {
    /// Time below which a read of a block comes from the buffer; 0 when the buffer serves none.
    pub(super) fn hit_below_ns(&self) -> u64 {
        match (self.hit_ns, self.mb_per_s) {
            (Some(hit), Some(rate)) => below(hit.value + f64::from(BLOCK) * 512e3 / rate.value),
            _ => 0,
        }
    }
}

/// Time that tells the buffer from the medium, given the time of a block from the buffer. The margin is that of a
/// host's clock and interrupts; a block of the medium takes less only when it happens to be under the head.
fn below(hit_ns: f64) -> u64 {
    (hit_ns * 1.2) as u64 + 15_000
}

/// Finds command cost, bus and buffer.
pub(super) fn find(head: &mut Head<'_>) -> Result<Buffer, ProbeError> {
    let after_one = follow_up(head, 0, BLOCK)?;
    let after_two = follow_up(head, 1, BLOCK)?;
    // A read of the medium waits half a turn on average, so a quarter of it tells the two apart.
    let limit = head.turn_ns / 4.0;
    let (read_ahead_after, small_ns) = match (after_one < limit, after_two < limit) {
        (true, _) => (Some(0), after_one),
        (false, true) => (Some(1), after_two),
        (false, false) => (None, f64::INFINITY),
    };
    let Some(before) = read_ahead_after else { return Ok(none()) };
    let most = head.target.geometry().max_request_bytes / 512;
    let large = most.clamp(BLOCK, 32);
    let large_ns = follow_up(head, before, large)?;
    let per_sector_ns = (large_ns - small_ns).max(1.0) / f64::from(large - BLOCK).max(1.0);
    let hit_ns = (small_ns - per_sector_ns * f64::from(BLOCK)).max(0.0);
    let mb_per_s = 512e3 / per_sector_ns;
    head.hit_below_ns = below(small_ns);
    let read_ahead_sectors = read_ahead(head, before)?;
    Ok(Buffer {
        hit_ns: Some(around(hit_ns, 0.02)),
        mb_per_s: Some(around(mb_per_s, 0.05)),
        read_ahead_after,
        read_ahead_sectors,
        segments: segments(head, before)?,
        keeps_delivered: keeps_delivered(head)?,
    })
}

/// A disk that reads nothing ahead, or whose hits cannot be told from reads of the medium.
fn none() -> Buffer {
    Buffer {
        hit_ns: None,
        mb_per_s: None,
        read_ahead_after: None,
        read_ahead_sectors: Interval { value: 0.0, low: 0.0, high: 0.0 },
        segments: Interval { value: 1.0, low: 1.0, high: MOST_SEGMENTS as f64 },
        keeps_delivered: false,
    }
}

fn around(value: f64, part: f64) -> Interval {
    Interval { value, low: value * (1.0 - part), high: value * (1.0 + part) }
}

/// Reads one block and `more` behind it at a new place; the sector behind them.
fn start(head: &mut Head<'_>, more: u32) -> Result<u64, ProbeError> {
    let room = head.sectors() - 2 * MOST_SECTORS;
    let lba = head.below(room) / 8 * 8;
    for index in 0..=more {
        head.read(lba + u64::from(index * BLOCK), BLOCK)?;
    }
    Ok(lba + u64::from((more + 1) * BLOCK))
}

/// Time of a read of `sectors` behind one block and `more`, made after an idle time, in nanoseconds.
fn follow_up(head: &mut Head<'_>, more: u32, sectors: u32) -> Result<f64, ProbeError> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let next = start(head, more)?;
        head.wait(IDLE_NS);
        times.push(head.read(next, sectors)?.took_ns() as f64);
    }
    let reason = "no read came to an end";
    median(times).ok_or(ProbeError::Unclear { quantity: "the cost of a command", reason })
}

/// Sectors read ahead after an idle time, by bisection: each step at a new place.
fn read_ahead(head: &mut Head<'_>, before: u32) -> Result<Interval, ProbeError> {
    let mut is_there = |sectors: u64| {
        let mut hits = 0;
        for _ in 0..3 {
            let next = start(head, before)?;
            head.wait(IDLE_NS);
            let found = head.read(next + sectors - u64::from(BLOCK), BLOCK)?;
            hits += usize::from(found.took_ns() < head.hit_below_ns);
        }
        Ok::<bool, ProbeError>(hits >= 2)
    };
    let (mut low, mut high) = (u64::from(BLOCK), MOST_SECTORS);
    while high - low > u64::from(BLOCK) {
        let middle = (u64::midpoint(low, high)) / 8 * 8;
        if is_there(middle)? { low = middle } else { high = middle }
    }
    Ok(Interval { value: low as f64, low: low as f64, high: high as f64 })
}

/// Places whose read-ahead is still there after as many others were read.
fn segments(head: &mut Head<'_>, before: u32) -> Result<Interval, ProbeError> {
    let mut is_kept = |others: usize| {
        let next = start(head, before)?;
        head.wait(IDLE_NS);
        for _ in 0..others {
            start(head, before)?;
            head.wait(IDLE_NS);
        }
        let found = head.read(next, BLOCK)?;
        Ok::<bool, ProbeError>(found.took_ns() < head.hit_below_ns)
    };
    let (mut kept, mut gone) = (0, MOST_SEGMENTS);
    while gone - kept > 1 {
        let middle = usize::midpoint(kept, gone);
        if is_kept(middle)? { kept = middle } else { gone = middle }
    }
    let (low, high) = (kept as f64 + 1.0, gone as f64);
    Ok(Interval { value: low, low, high })
}

fn keeps_delivered(head: &mut Head<'_>) -> Result<bool, ProbeError> {
    let lba = head.anywhere();
    head.read(lba, BLOCK)?;
    head.wait(IDLE_NS);
    Ok(head.read(lba, BLOCK)?.took_ns() < head.hit_below_ns)
}
