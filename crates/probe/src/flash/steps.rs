//! Requests of a row that take longer than the others, at a period of their own.

use super::super::Interval;
use super::super::head::median;

#[cfg(test)]
mod tests;

/// Fewest periods that count.
const LEAST: usize = 3;

/// Part of the periods that must be as long as the usual one before they count as regular.
pub(super) const REGULAR: f64 = 0.75;

/// Periods of a row of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steps {
    /// The usual period, in the unit of a request's length.
    pub(super) period: u64,
    /// The same with the bounds between which four in five periods lie.
    pub(super) between: Interval,
    /// Time beyond that of the other requests, in nanoseconds.
    pub(super) above_ns: Interval,
    /// Periods seen.
    pub(super) count: usize,
    /// Part of them that is as long as the usual one.
    pub(super) regular: f64,
}

/// The periods of a row of requests of `length` each, from their times in nanoseconds. Long requests closer to one
/// another than half of the usual period are one step.
pub(super) fn steps(took: &[f64], length: u64) -> Option<Steps> {
    let usual = median(took)?;
    let mut sorted = took.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let third = sorted.get(LEAST - 1).copied()?;
    let is_clear = |limit: f64| took.iter().filter(|took| **took > limit).count() > LEAST;
    let [low, high] = [usual * 1.4 + 20_000.0, f64::midpoint(usual, third)];
    let at = |limit: f64| of_limit(took, length, usual, limit);
    let of_low = is_clear(low).then(|| at(low)).flatten();
    if of_low.is_some_and(|found| found.regular >= REGULAR) {
        return of_low;
    }
    // Late answers of the host are long, too, but shorter than the steps, and follow no period.
    let of_high = (third >= usual * 1.1 && is_clear(high)).then(|| at(high)).flatten();
    [of_low, of_high]
        .into_iter()
        .flatten()
        .reduce(|one, other| if other.regular > one.regular { other } else { one })
}

/// The periods of the requests that took longer than `limit`.
fn of_limit(took: &[f64], length: u64, usual: f64, limit: f64) -> Option<Steps> {
    let places = starts(took, limit);
    let mut gaps: Vec<u64> =
        places.iter().zip(places.iter().skip(1)).map(|(one, next)| (next - one) as u64).collect();
    gaps.sort_unstable();
    if gaps.len() < LEAST {
        return None;
    }
    let at = |part: usize| gaps.get((gaps.len() - 1) * part / 10).copied().unwrap_or_default();
    let [low, middle, high] = [1, 5, 9].map(at);
    let is_usual = |gap: &&u64| gap.abs_diff(middle) <= 1 + middle / 16;
    let regular = gaps.iter().filter(is_usual).count() as f64 / gaps.len() as f64;
    let [low, period, high] = [low, middle, high].map(|gap| gap * length);
    let mut above: Vec<f64> =
        places.iter().filter_map(|place| Some(took.get(*place)? - usual)).collect();
    above.sort_by(f64::total_cmp);
    let ns = |part: usize| above.get((above.len() - 1) * part / 10).copied().unwrap_or_default();
    Some(Steps {
        period,
        between: Interval { value: period as f64, low: low as f64, high: high as f64 },
        above_ns: Interval { value: ns(5), low: ns(1), high: ns(9) },
        count: gaps.len(),
        regular,
    })
}

/// Requests above the limit that open a step.
fn starts(took: &[f64], limit: f64) -> Vec<usize> {
    let above: Vec<usize> =
        took.iter().enumerate().filter(|(_, took)| **took > limit).map(|(at, _)| at).collect();
    let mut gaps: Vec<usize> =
        above.iter().zip(above.iter().skip(1)).map(|(one, next)| next - one).collect();
    gaps.sort_unstable();
    // Bursts have many short gaps and few long ones: the longest of them sets the scale.
    let longest = gaps.get(gaps.len().saturating_sub(LEAST)).copied().unwrap_or(1);
    let mut places = Vec::new();
    let mut last = None;
    for at in above {
        if last.is_none_or(|last| 2 * (at - last) > longest) {
            places.push(at);
        }
        last = Some(at);
    }
    places
}
