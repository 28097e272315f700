//! A mixed trace, of which nothing is fitted: lists of requests of several sizes, depths and patterns, with pauses and flushes
//! between them.

use seekwell_stats::{Rng, seeded};

use super::{Direction, Span};
use seekwell_device::model::Geometry;

#[cfg(test)]
mod tests;

/// Lists of a trace, and the bounds of their length.
const LISTS: usize = 100;
const LENGTH: [u64; 2] = [8, 24];

/// Sizes in sectors: 4 to 256 KiB. With longer writes than the longest one a list fills the write cache, which has classes of
/// its own, and in which of them a write waits is chance: the model against itself, with pauses of 0.3 ms more, had a demerit
/// of up to 32 %.
const SIZES: [u32; 6] = [8, 16, 32, 64, 128, 512];
const LONGEST_WRITE: u32 = 128;

/// Longest pause before a list, in nanoseconds.
const LONGEST_PAUSE_NS: u64 = 20_000_000;

/// Deepest list.
const DEEPEST: u32 = 32;

/// Requests that are made together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) pause_ns: u64,
    pub(super) requests: Vec<(Direction, Span)>,
    pub(super) depth: u32,
    /// True when a flush follows.
    pub(super) is_flushed: bool,
}

/// The deepest list that a device takes.
pub(super) fn deepest(geometry: &Geometry) -> u32 {
    geometry.queue_depth.clamp(1, DEEPEST)
}

/// A trace in a region of the device, which is its first sector and its sectors.
pub(super) fn lists(geometry: &Geometry, region: (u64, u64), seed: u64, writes: bool) -> Vec<List> {
    let mut draw = seeded(seed);
    (0..LISTS).map(|_| list(geometry, region, &mut draw, writes)).collect()
}

fn among<T: Copy>(draw: &mut Rng, all: &[T], other: T) -> T {
    let nth = draw.below(all.len() as u64) as usize;
    all.get(nth).copied().unwrap_or(other)
}

fn list(geometry: &Geometry, (first, all): (u64, u64), draw: &mut Rng, writes: bool) -> List {
    let [least, most] = LENGTH;
    let count = least + draw.below(most - least + 1);
    let depth = (1 << draw.below(6)).min(deepest(geometry));
    // Reads alone, writes alone, or both in one list.
    let of_ten_writes = if writes { among(draw, &[0, 3, 5, 7, 10], 0) } else { 0 };
    let longest = if of_ten_writes > 0 { LONGEST_WRITE } else { geometry.max_request_bytes / 512 };
    let sectors = among(draw, &SIZES, SIZES[0]).min(longest).min(geometry.max_request_bytes / 512);
    let length = u64::from(sectors.max(8));
    let places = (all / length).max(count) - count;
    let row = draw.below(places + 1) * length;
    let in_a_row = draw.below(5) < 2;
    let requests = (0..count).map(|nth| {
        let offset = if in_a_row { row + nth * length } else { draw.below(places + 1) * length };
        let direction = match draw.below(10) < of_ten_writes {
            true => Direction::Write,
            false => Direction::Read,
        };
        (direction, Span { lba: first + offset, sectors: length as u32 })
    });
    let requests: Vec<(Direction, Span)> = requests.collect();
    let has_writes = requests.iter().any(|(direction, _)| *direction == Direction::Write);
    List {
        pause_ns: draw.below(LONGEST_PAUSE_NS),
        requests,
        depth,
        is_flushed: draw.below(4) == 0 && has_writes,
    }
}
