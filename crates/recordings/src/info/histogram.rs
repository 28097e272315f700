//! Distributions of sizes and durations in fixed room.

use serde::Serialize;

/// Buckets for each doubling: values are known within 7 %.
const STEPS: u64 = 8;
const STEP_BITS: u32 = STEPS.ilog2();

/// Percentiles of a distribution, each within 7 %; the maximum is exact. `None` without values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Largest value.
    pub max: Option<u64>,
}

/// Values of a bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    low: u64,
    high: u64,
}

/// Counts of values, by logarithmic buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<Bucket>,
    total: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, value: u64) {
        let at = bucket(value);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, Bucket { count: 0, low: u64::MAX, high: 0 });
        }
        let bucket = &mut self.counts[at];
        bucket.count += 1;
        bucket.low = bucket.low.min(value);
        bucket.high = bucket.high.max(value);
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// Middle of the values in the smallest bucket that has `percent` of all at or below it: exact
    /// where all its values are equal, as sizes of requests often are.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let wanted = self.total.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().find(|bucket| {
            seen += bucket.count;
            seen >= wanted
        })?;
        Some(bucket.low.midpoint(bucket.high))
    }

    pub(crate) fn spread(&self) -> Spread {
        Spread {
            p50: self.percentile(50),
            p90: self.percentile(90),
            p99: self.percentile(99),
            max: (self.total > 0).then_some(self.max),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "at most 64 * STEPS")]
pub(crate) fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let doubling = value.ilog2() - STEP_BITS;
    ((u64::from(doubling) + 1) * STEPS + (value >> doubling) - STEPS) as usize
}

#[cfg(test)]
mod tests;
