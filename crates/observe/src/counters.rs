//! Counters of a block device, and what iostat makes of two readings of them.
//!
//! The fields are those of `Documentation/block/stat.rst` of the kernel; the columns are those of
//! `iostat -x` in sysstat 12 (`write_ext_stat`, `write_plain_ext_stat`,
//! `compute_ext_disk_stats`), with two differences: a mean over no request is absent where
//! sysstat prints 0, and a counter that ran backwards makes the whole interval absent.

use crate::error::ObserveError;
use seekwell_model::record::{DeviceTotals, Sample};
use std::path::{Path, PathBuf};

/// Bytes of the unit in which the kernel counts, whatever the device's sector size.
const SECTOR_BYTES: u64 = 512;

/// One reading of a block device's counters. Requests count when they complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Reads completed.
    pub reads: u64,
    /// Reads merged into another request before they were issued.
    pub reads_merged: u64,
    /// Sectors of 512 bytes read.
    pub sectors_read: u64,
    /// Milliseconds that reads took, summed over the reads.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Sectors of 512 bytes written.
    pub sectors_written: u64,
    /// Milliseconds that writes took, summed over the writes.
    pub write_ms: u64,
    /// Milliseconds in which the device had work.
    pub busy_ms: u64,
    /// Milliseconds that all requests took, summed over the requests.
    pub weighted_ms: u64,
    /// Sectors of 512 bytes discarded; `None` before Linux 4.18.
    pub sectors_discarded: Option<u64>,
    /// Flushes completed; `None` before Linux 5.5.
    pub flushes: Option<u64>,
}

/// Numbers of a line, without allocation. The field of requests in flight is the only one that
/// old kernels print below zero; nothing here uses it.
pub(crate) fn parse_fields(text: &[u8], fields: &mut [u64; 17]) -> Option<usize> {
    let mut count = 0;
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        let Some(field) = fields.get_mut(count) else { break };
        let digits = word.strip_prefix(b"-").unwrap_or(word);
        *field = std::str::from_utf8(digits).ok()?.parse().ok()?;
        count += 1;
    }
    Some(count)
}

impl DeviceCounters {
    /// Reads the counters of a disk or partition.
    ///
    /// `root` is `/`, or a directory that holds `sys` or `proc` as a test made them.
    ///
    /// # Errors
    /// When the device does not exist or the kernel's file is not as documented.
    pub fn read(root: &Path, kernel_name: &str) -> Result<Self, ObserveError> {
        let path = stat_path(root, kernel_name)?;
        match std::fs::read(&path) {
            Ok(text) => Self::parse(&text).ok_or_else(|| malformed(&path, &text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::read_diskstats(root, kernel_name)
            }
            Err(error) => Err(ObserveError::io("read", path)(error)),
        }
    }

    /// Reads the content of `/sys/class/block/NAME/stat`: 11, 15 or 17 numbers by the kernel's
    /// age. `None` when there are fewer, or something else than numbers.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut fields = [0; 17];
        let count = parse_fields(text, &mut fields)?;
        if count < 11 {
            return None;
        }
        Some(Self {
            reads: fields[0],
            reads_merged: fields[1],
            sectors_read: fields[2],
            read_ms: fields[3],
            writes: fields[4],
            writes_merged: fields[5],
            sectors_written: fields[6],
            write_ms: fields[7],
            busy_ms: fields[9],
            weighted_ms: fields[10],
            sectors_discarded: (count >= 15).then(|| fields[13]),
            flushes: (count >= 17).then(|| fields[15]),
        })
    }

    /// The same numbers behind major, minor and name: for systems without sysfs.
    fn read_diskstats(root: &Path, kernel_name: &str) -> Result<Self, ObserveError> {
        let missing =
            || ObserveError::NoCounters { name: kernel_name.to_owned(), root: root.to_owned() };
        let path = root.join("proc/diskstats");
        let text = std::fs::read_to_string(&path).map_err(|_| missing())?;
        let line = text
            .lines()
            .find(|line| line.split_whitespace().nth(2) == Some(kernel_name))
            .ok_or_else(missing)?;
        let numbers = line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
        Self::parse(numbers.as_bytes()).ok_or_else(|| malformed(&path, line.as_bytes()))
    }
}

/// The path of a device's counters. A `/` in a kernel name is a `!` in sysfs.
pub(crate) fn stat_path(root: &Path, kernel_name: &str) -> Result<PathBuf, ObserveError> {
    let name = kernel_name.replace('/', "!");
    if name.is_empty() || name == "." || name == ".." || name.contains('\0') {
        return Err(ObserveError::DeviceName(kernel_name.to_owned()));
    }
    Ok(root.join("sys/class/block").join(name).join("stat"))
}

pub(crate) fn malformed(path: &Path, text: &[u8]) -> ObserveError {
    ObserveError::Malformed {
        path: path.to_owned(),
        text: String::from_utf8_lossy(text).trim().chars().take(60).collect(),
        expected: "at least 11 numbers",
    }
}

/// The way a counter went, or `None` when it went backwards. 32-bit kernels wrap all counters and
/// 64-bit kernels those of milliseconds at 2^32 (`unsigned int` in `part_stat_show`). A step back
/// that would be a wrap by more than half of that is another device, or one that was reset.
fn advance(before: u64, after: u64) -> Option<u64> {
    if after >= before {
        return Some(after - before);
    }
    let wrapped = after.wrapping_sub(before) & u64::from(u32::MAX);
    (before <= u64::from(u32::MAX) && wrapped < 1 << 31).then_some(wrapped)
}

/// Presence is part of the reading: a counter must be in both, or in neither.
fn advance_optional(before: Option<u64>, after: Option<u64>) -> Option<Option<u64>> {
    match (before, after) {
        (Some(before), Some(after)) => advance(before, after).map(Some),
        _ => Some(None),
    }
}

/// The increase of every counter.
fn advance_all(before: &DeviceCounters, after: &DeviceCounters) -> Option<DeviceCounters> {
    Some(DeviceCounters {
        reads: advance(before.reads, after.reads)?,
        reads_merged: advance(before.reads_merged, after.reads_merged)?,
        sectors_read: advance(before.sectors_read, after.sectors_read)?,
        read_ms: advance(before.read_ms, after.read_ms)?,
        writes: advance(before.writes, after.writes)?,
        writes_merged: advance(before.writes_merged, after.writes_merged)?,
        sectors_written: advance(before.sectors_written, after.sectors_written)?,
        write_ms: advance(before.write_ms, after.write_ms)?,
        busy_ms: advance(before.busy_ms, after.busy_ms)?,
        weighted_ms: advance(before.weighted_ms, after.weighted_ms)?,
        sectors_discarded: advance_optional(before.sectors_discarded, after.sectors_discarded)?,
        flushes: advance_optional(before.flushes, after.flushes)?,
    })
}

/// Totals of a device between two readings. `None` when a counter ran backwards and did not wrap:
/// the name stands for another device now.
#[must_use]
pub fn totals_between(before: &DeviceCounters, after: &DeviceCounters) -> Option<DeviceTotals> {
    let passed = advance_all(before, after)?;
    Some(DeviceTotals {
        reads: passed.reads,
        reads_merged: passed.reads_merged,
        read_bytes: passed.sectors_read * SECTOR_BYTES,
        writes: passed.writes,
        writes_merged: passed.writes_merged,
        written_bytes: passed.sectors_written * SECTOR_BYTES,
        discarded_bytes: passed.sectors_discarded.map(|sectors| sectors * SECTOR_BYTES),
        flushes: passed.flushes,
        busy_ms: passed.busy_ms,
    })
}

/// The columns of `iostat -x` between two readings that are `interval_ns` apart; `at_ns` is the
/// time of the second one. Memory and pressure are left absent. `None` when the interval is empty
/// or a counter ran backwards, as in [`totals_between`].
#[must_use]
pub fn sample_between(
    before: &DeviceCounters,
    after: &DeviceCounters,
    interval_ns: u64,
    at_ns: u64,
) -> Option<Sample> {
    if interval_ns == 0 {
        return None;
    }
    let passed = advance_all(before, after)?;
    let interval_ms = interval_ns as f64 / 1e6;
    let per_s = |count: u64| count as f64 / interval_ms * 1e3;
    let mean = |total: u64, count: u64| (count > 0).then(|| total as f64 / count as f64);
    Some(Sample {
        at_ns,
        reads_per_s: per_s(passed.reads),
        writes_per_s: per_s(passed.writes),
        read_kib_per_s: per_s(passed.sectors_read) / 2.0,
        written_kib_per_s: per_s(passed.sectors_written) / 2.0,
        reads_merged_per_s: per_s(passed.reads_merged),
        writes_merged_per_s: per_s(passed.writes_merged),
        read_await_ms: mean(passed.read_ms, passed.reads),
        write_await_ms: mean(passed.write_ms, passed.writes),
        queue_size: passed.weighted_ms as f64 / interval_ms,
        read_request_kib: mean(passed.sectors_read, passed.reads).map(|sectors| sectors / 2.0),
        write_request_kib: mean(passed.sectors_written, passed.writes).map(|sectors| sectors / 2.0),
        flushes_per_s: passed.flushes.map(per_s),
        utilisation_percent: passed.busy_ms as f64 / interval_ms * 100.0,
        ..Sample::default()
    })
}

#[cfg(test)]
mod tests;
