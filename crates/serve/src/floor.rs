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

/// A step that reaches every part of a device.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Response times of reads of 4 KiB from a served device whose model takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// Median in nanoseconds.
    pub median_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// Measures it with `reads` reads of 4 KiB, one after another, past the page cache.
///
/// # Errors
/// When the device cannot be read.
pub fn floor(device: &Path, size: Bytes, reads: u64) -> io::Result<Floor> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(open(device, flags, Mode::empty())?);
    let mut buffer = Aligned::zeroed(READ);
    let mut times = Histogram::new();
    for nth in 0..reads.max(1) {
        let block = nth.wrapping_mul(STEP) % (size.0 / READ).max(1);
        let begun_ns = MonotonicClock.now_ns();
        file.read_exact_at(&mut buffer, block * READ)?;
        times.record((MonotonicClock.now_ns() - begun_ns).max(1));
    }
    let at = |q| times.percentile_ns(q).unwrap_or_default();
    Ok(Floor { median_ns: at(0.5), p99_ns: at(0.99), max_ns: at(1.0) })
}
