//! Distributions in a few numbers.

use crate::info::bucket;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parts that a description keeps of a distribution.
const PARTS: usize = 32;

/// A distribution: parts with their smallest, mean and largest value and their number of values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spectrum {
    parts: Vec<(u64, u64, u64, u64)>,
}

/// Values while they are collected: smallest, sum, largest and number by bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected(BTreeMap<usize, (u64, u128, u64, u64)>);

impl Collected {
    pub(super) fn add(&mut self, value: u64) {
        let part = self.0.entry(bucket(value)).or_insert((value, 0, value, 0));
        let (low, sum, high, count) = *part;
        *part = (low.min(value), sum + u128::from(value), high.max(value), count + 1);
    }

    /// The distribution in at most [`PARTS`] parts: the rarest are joined with their neighbours.
    pub(super) fn spectrum(&self) -> Spectrum {
        let mut parts: Vec<(u64, u128, u64, u64)> = self.0.values().copied().collect();
        while parts.len() > PARTS {
            let pairs = parts.windows(2).map(|pair| pair[0].3 + pair[1].3).enumerate();
            let Some((at, _)) = pairs.min_by_key(|(_, count)| *count) else { break };
            let (_, sum, high, count) = parts.remove(at + 1);
            let (low, own, _, before) = parts[at];
            parts[at] = (low, own + sum, high, before + count);
        }
        let mean = |sum: u128, count: u64| u64::try_from(sum / u128::from(count.max(1)));
        let part = |(low, sum, high, count): (u64, u128, u64, u64)| {
            (low, mean(sum, count).unwrap_or(high), high, count)
        };
        Spectrum { parts: parts.into_iter().map(part).collect() }
    }
}

impl Spectrum {
    /// A random value; `None` without values.
    pub(super) fn draw(&self, random: &mut impl Rng) -> Option<u64> {
        pick(random, self.parts.iter().map(|part| part.3)).map(|at| self.value(at, random))
    }

    /// Numbers of values of the parts.
    pub(super) fn counts(&self) -> Vec<u64> {
        self.parts.iter().map(|part| part.3).collect()
    }

    /// A random value of a part, with the part's mean.
    pub(super) fn value(&self, at: usize, random: &mut impl Rng) -> u64 {
        let Some(&(low, mean, high, _)) = self.parts.get(at) else { return 0 };
        let reach = mean.saturating_sub(low).min(high.saturating_sub(mean));
        let low = mean.saturating_sub(reach);
        low + below(random, reach.saturating_mul(2).saturating_add(1))
    }
}

/// Draws without putting back: as often as its counts say, then from the start again.
#[derive(Clone, Debug, Default)]
pub(super) struct Urn {
    counts: Vec<u64>,
    left: Vec<u64>,
    remaining: u64,
}

impl Urn {
    pub(super) fn new(counts: Vec<u64>) -> Self {
        let remaining = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        Self { left: counts.clone(), counts, remaining }
    }

    /// Draws that are left until it starts again.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Starts again.
    pub(super) fn refill(&mut self) {
        *self = Self::new(std::mem::take(&mut self.counts));
    }

    /// An index; `None` when all are drawn.
    pub(super) fn take(&mut self, random: &mut impl Rng) -> Option<usize> {
        let at = pick(random, self.left.iter().copied())?;
        self.left[at] -= 1;
        self.remaining -= 1;
        Some(at)
    }

    /// An index, of those of the first list that has any left; `None` when all are drawn.
    pub(super) fn take_first(&mut self, lists: &[&[bool]], random: &mut impl Rng) -> Option<usize> {
        let of = |(count, is_in): (&u64, &bool)| if *is_in { *count } else { 0 };
        let found = lists.iter().find_map(|list| pick(random, self.left.iter().zip(*list).map(of)));
        let Some(at) = found else { return self.take(random) };
        self.left[at] -= 1;
        self.remaining -= 1;
        Some(at)
    }

    /// An index; `None` when there are no counts.
    pub(super) fn draw(&mut self, random: &mut impl Rng) -> Option<usize> {
        if self.remaining == 0 {
            self.refill();
        }
        self.take(random)
    }

    /// A value of the distribution that this urn was made of.
    pub(super) fn value(&mut self, of: &Spectrum, random: &mut impl Rng) -> Option<u64> {
        self.draw(random).map(|at| of.value(at, random))
    }
}

/// A random number below `bound`, which is not 0.
pub(super) fn below(random: &mut impl Rng, bound: u64) -> u64 {
    let wide = u128::from(random.next_u64()) * u128::from(bound.max(1));
    u64::try_from(wide >> 64).unwrap_or(0)
}

/// A random index by weights; `None` when all are 0.
pub(super) fn pick(
    random: &mut impl Rng,
    weights: impl Iterator<Item = u64> + Clone,
) -> Option<usize> {
    let total = weights.clone().fold(0, u64::saturating_add);
    if total == 0 {
        return None;
    }
    let mut left = below(random, total);
    for (at, weight) in weights.enumerate() {
        if left < weight {
            return Some(at);
        }
        left -= weight;
    }
    None
}

/// A random distance of those counted by powers of two: 1, 2 to 3, 4 to 7 …
pub(super) fn gap(random: &mut impl Rng, doubling: usize) -> u64 {
    let low = 1_u64 << doubling.min(62);
    low + below(random, low)
}

/// Counts a distance, which is at least 1.
pub(super) fn count_gap(gaps: &mut Vec<u64>, gap: u64) {
    let doubling = gap.max(1).ilog2() as usize;
    if gaps.len() <= doubling {
        gaps.resize(doubling + 1, 0);
    }
    gaps[doubling] += 1;
}
