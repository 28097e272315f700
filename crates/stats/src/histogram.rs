//! Latency histogram with 3 significant digits over 0 ns to more than one hour.

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// Significant decimal digits kept of every value: each slot is at most 0.1 % wide.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The slot that counts everything above the range. The slots of a high dynamic range histogram
/// end at a power of two; the last one below 2^42 ns (73 min) serves as the overflow count, so
/// that overflow survives merging and serialising like any other data.
const OVERFLOW_NS: u64 = (1 << 42) - 1;

/// Error in a serialised histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The bytes are not a V2 histogram.
    #[error("cannot read histogram from {length} bytes: {source}; the record is damaged")]
    Decode {
        /// Number of bytes given.
        length: usize,
        /// Error of the decoder.
        source: hdrhistogram::serialization::DeserializeError,
    },
    /// The histogram has another precision than this program writes.
    #[error(
        "histogram keeps {0} significant digits, expected {SIGNIFICANT_DIGITS}; \
         it was not written by this program"
    )]
    Precision(u8),
    /// The histogram holds values beyond the range of this program.
    #[error(
        "histogram holds {0} ns, beyond the {OVERFLOW_NS} ns this program writes; \
         it was not written by this program"
    )]
    Range(u64),
    /// The bytes continue after the histogram.
    #[error("{0} bytes follow the histogram; the record is damaged")]
    Trailing(usize),
}

/// Counts of durations in ns.
///
/// The whole range (0 ns to 2^42 ns) is allocated once in [`Histogram::new`], about 270 KB;
/// recording never allocates. A value of 73 min or more is not lost: it is counted in the last
/// slot, so that maximum and mean are lower bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Hdr<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram over the full range.
    ///
    /// # Panics
    /// Never: the bounds are constants that a test constructs.
    #[must_use]
    pub fn new() -> Self {
        match Hdr::new_with_bounds(1, OVERFLOW_NS, SIGNIFICANT_DIGITS) {
            Ok(counts) => Self { counts },
            Err(error) => unreachable!("constant bounds are valid: {error:?}"),
        }
    }

    /// Counts one value in ns. Does not allocate, does not fail; saturates at the overflow slot.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.counts.saturating_record(value_ns.min(OVERFLOW_NS));
    }

    /// Counts one value in ns `count` times. As [`Histogram::record`].
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        self.counts.saturating_record_n(value_ns.min(OVERFLOW_NS), count);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (value_ns, count) in other.iter() {
            self.record_n(value_ns, count);
        }
    }

    /// Forgets all counts, keeps the allocation.
    pub fn clear(&mut self) {
        self.counts.reset();
    }

    /// Number of values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Returns true if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Arithmetic mean in ns (each value taken at the middle of its slot), `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.counts.mean())
    }

    /// Smallest value in ns, rounded down to its slot, `None` when empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.min())
    }

    /// Largest value in ns, rounded up to its slot, `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.max())
    }

    /// The value in ns that a fraction `q` (0 to 1, clamped) of all values does not exceed,
    /// rounded up to its slot. `None` when empty or when `q` is not a number.
    #[must_use]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        (!self.is_empty() && !q.is_nan()).then(|| self.counts.value_at_quantile(q.clamp(0.0, 1.0)))
    }

    /// The non-empty slots in rising order: lowest value of the slot in ns, and its count.
    /// Recording these pairs into an empty histogram gives an equal histogram.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter_recorded().map(|slot| {
            (self.counts.lowest_equivalent(slot.value_iterated_to()), slot.count_at_value())
        })
    }

    /// Serialises in the HdrHistogram V2 format (not compressed).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match V2Serializer::new().serialize(&self.counts, &mut bytes) {
            Ok(_) => bytes,
            // A count above i64::MAX is the format's only limit and needs 290 years at 1 GHz.
            Err(error) => unreachable!("writing to memory cannot fail: {error:?}"),
        }
    }

    /// Reads what [`Histogram::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are not exactly one V2 histogram of this program's precision and range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let mut rest = bytes;
        let read: Hdr<u64> = Deserializer::new()
            .deserialize(&mut rest)
            .map_err(|source| HistogramError::Decode { length: bytes.len(), source })?;
        if read.sigfig() != SIGNIFICANT_DIGITS {
            return Err(HistogramError::Precision(read.sigfig()));
        }
        if read.max() > OVERFLOW_NS {
            return Err(HistogramError::Range(read.max()));
        }
        if !rest.is_empty() {
            return Err(HistogramError::Trailing(rest.len()));
        }
        let mut histogram = Self::new();
        histogram.merge(&Self { counts: read });
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests;
