//! The time that every request needs on its way to the server and back, whatever the model says.

use rustix::fs::{Mode, OFlags, open};
use seekwell_engine::buffer::Aligned;
use seekwell_engine::{Clock as _, MonotonicClock};
use seekwell_model::units::Bytes;
use seekwell_stats::Histogram;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const READ: u64 = 4096;

/// Pause before a read.
const PAUSE_NS: u64 = 1_000_000;

/// A step that reaches every part of a device.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Response times of reads of 4 KiB from a served device whose model takes no time, each after a pause: the server and the
/// kernel sleep then, as they do between the requests of most programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// Median of reads one right after another, in nanoseconds: no process of the way sleeps long.
    pub together_ns: u64,
    /// Median in nanoseconds.
    pub median_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

/// Measures it with `reads` reads of 4 KiB past the page cache, after pauses, and as many without.
///
/// # Errors
/// When the device cannot be read.
pub fn floor(device: &Path, size: Bytes, reads: u64) -> io::Result<Floor> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(open(device, flags, Mode::empty())?);
    let mut buffer = Aligned::zeroed(READ);
    let [mut apart, mut together] = [Histogram::new(), Histogram::new()];
    for nth in 0..2 * reads.max(1) {
        let block = nth.wrapping_mul(STEP) % (size.0 / READ).max(1);
        if nth % 2 == 0 {
            MonotonicClock.sleep_until_ns(MonotonicClock.now_ns() + PAUSE_NS);
        }
        let times = if nth % 2 == 0 { &mut apart } else { &mut together };
        let begun_ns = MonotonicClock.now_ns();
        file.read_exact_at(&mut buffer, block * READ)?;
        times.record((MonotonicClock.now_ns() - begun_ns).max(1));
    }
    let at = |q| apart.percentile_ns(q).unwrap_or_default();
    let together_ns = together.percentile_ns(0.5).unwrap_or_default();
    Ok(Floor { together_ns, median_ns: at(0.5), p99_ns: at(0.99) })
}
