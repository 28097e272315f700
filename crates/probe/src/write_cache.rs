//! Findings of writes.

use super::Interval;
use super::line::{Line, Point};

/// Everything that writes told.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// A write of a block after an idle time, in nanoseconds: into the cache, or onto the medium without one.
    pub write_ns: Interval,
    /// Settling before a write, beyond that of a read, in nanoseconds; negative where reads settle longer.
    pub settle_ns: Interval,
    /// The write cache; `None` when a write completes on the medium.
    pub cache: Option<WriteCache>,
}

/// A write cache.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteCache {
    /// Size in sectors.
    pub sectors: Interval,
    /// Most runs of data at once, where fewer bytes fit in small writes than in large ones.
    pub runs: Option<u32>,
    /// A flush of the empty cache, in nanoseconds.
    pub empty_flush_ns: Interval,
    /// A flush by the number of random writes before it, in nanoseconds.
    pub flush: Line,
    /// Means of these flushes: writes before it, nanoseconds.
    pub flushes: Vec<Point>,
    /// Idle time after which the drive writes from the cache, in nanoseconds.
    pub delay_ns: Interval,
    /// Rates of random writes of a block with the cache full, by depth.
    pub drains: Vec<Drain>,
    /// Sectors that the drive writes at once of a long run; `None` when writes in a row show no stops.
    pub run_sectors: Option<Interval>,
    /// Runs of data among which the drive chooses: fewest and most that fit.
    pub window: [u32; 2],
    /// True when a read of data that waits to be written is served from the cache.
    pub serves_written: bool,
    /// True when a write discards what was read ahead elsewhere; `None` without read-ahead.
    pub clears_read_ahead: Option<bool>,
}

/// Random writes of a block with the cache full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drain {
    /// Writes at a time.
    pub depth: u32,
    /// Writes a second.
    pub per_second: Interval,
}
