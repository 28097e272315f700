//! Sensitivity of a workload to the storage.
//!
//! A workload that computes for 95 % of its time ranks every filesystem equal, truthfully and
//! uselessly. (Slowing the filesystem of a compile benchmark 32 times changed it by 2–5 %:
//! Traeger et al., ACM TOS 2008.) Two tests: slow the device down on purpose and see what the
//! metric does; or, without touching anything, ask how much of the time the device was busy.

use crate::interval::{Interval, mean_interval};

/// Share of a device slow-down that must reach the metric for the workload to count as seeing
/// the storage: a device twice as slow must change the metric by more than 5 %.
pub const LEAST_RESPONSE: f64 = 0.070_389_327_891_397_95; // ln(1.05) / ln(2)

/// Result of a test of sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The workload responds to the device.
    Yes,
    /// It does not: "your workload does not see the storage".
    No,
    /// The data leave both open.
    Unclear,
}

/// Response of a metric to a device slowed down on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Metric with the slow device : metric with the device as it is.
    pub change: Interval,
    /// log(change) / log(factor): 1 when the metric follows the device, 0 when it ignores it.
    pub elasticity: Interval,
    /// The judgement.
    pub sees: Sees,
}

/// Compares paired rounds with the device as it is and slowed down `factor` times. `None` with
/// fewer than 2 pairs, values that are not positive, or a factor not above 1.
#[must_use]
pub fn response(
    as_it_is: &[f64],
    slowed: &[f64],
    factor: f64,
    confidence: f64,
) -> Option<Response> {
    let positive = |values: &[f64]| values.iter().all(|v| *v > 0.0 && v.is_finite());
    if as_it_is.len() != slowed.len() || !positive(as_it_is) || !positive(slowed) || factor <= 1.0 {
        return None;
    }
    let logs: Vec<f64> = as_it_is.iter().zip(slowed).map(|(a, b)| (b / a).ln()).collect();
    let change = mean_interval(&logs, 1.0 - confidence)?;
    let per = 1.0 / factor.ln();
    let elasticity = Interval {
        low: change.low * per,
        centre: change.centre * per,
        high: change.high * per,
        ..change
    };
    let sees = if elasticity.low > LEAST_RESPONSE || elasticity.high < -LEAST_RESPONSE {
        Sees::Yes
    } else if elasticity.high < LEAST_RESPONSE && elasticity.low > -LEAST_RESPONSE {
        Sees::No
    } else {
        Sees::Unclear
    };
    Some(Response { change: change.exp(), elasticity, sees })
}

/// The most that any storage could gain: a device that takes no time at all saves only the time
/// it was busy. Returns the least possible elapsed time as a share of the measured one (Amdahl
/// 1967). `None` when nothing elapsed.
///
/// `busy_ns` is the time with at least one request in flight (the `%util` time of iostat).
#[must_use]
pub fn share_without_device(busy_ns: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| 1.0 - busy_ns.min(elapsed_ns) as f64 / elapsed_ns as f64)
}

/// Judges by busy time alone: below 5 % busy, no device can make the workload 5 % faster.
/// `Unclear` otherwise, because a busy device need not be waited for.
#[must_use]
pub fn sees_by_busy_time(busy_ns: u64, elapsed_ns: u64) -> Option<Sees> {
    share_without_device(busy_ns, elapsed_ns)
        .map(|rest| if rest > 0.95 { Sees::No } else { Sees::Unclear })
}

#[cfg(test)]
mod tests;
