//! Conversions into whole nanoseconds, which is the only unit of time that models calculate with.

/// Nanoseconds from microseconds as device files give them, rounded to the nearest.
pub(crate) fn ns(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}

/// Time for `bytes` at a rate in 10^6 bytes a second, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    bytes_per_s: u64,
}

impl Rate {
    pub(crate) fn from_mb_per_s(mb_per_s: f64) -> Self {
        Self { bytes_per_s: ((mb_per_s * 1e6).round() as u64).max(1) }
    }

    pub(crate) fn ns(self, bytes: u64) -> u64 {
        let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.bytes_per_s));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}
