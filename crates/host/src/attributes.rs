//! Attributes of a request queue in sysfs: their names, and the scheduler in force.

pub(crate) const SCHEDULER: &str = "scheduler";
pub(crate) const NR_REQUESTS: &str = "nr_requests";
pub(crate) const READ_AHEAD: &str = "read_ahead_kb";
pub(crate) const MAX_SECTORS: &str = "max_sectors_kb";
pub(crate) const ROTATIONAL: &str = "rotational";
pub(crate) const WRITE_CACHE: &str = "write_cache";
pub(crate) const DISCARD: &str = "discard_max_bytes";

/// Write-back throttling, which a scheduler switch also changes: bfq turns it off.
pub(crate) const WRITEBACK_THROTTLING: &str = "wbt_lat_usec";

/// The scheduler in brackets, or the only word.
pub(crate) fn in_force(text: &str) -> Option<String> {
    let marked = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    marked.or_else(|| text.split_whitespace().next()).map(str::to_owned)
}
