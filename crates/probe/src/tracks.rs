//! Skews and heads: by how much the angle jumps from track to track, and after how many tracks it jumps farther.

use super::head::{BLOCK, Head, align, median};
use super::tape::{Class, Draws as _, Judged};
use super::zones::FoundZone;
use super::{Interval, ProbeError, Result};

/// Tracks that are looked at: twice as many as the most heads of a disk, and some more.
const TRACKS: u64 = 44;

/// Distance of the blocks read, as a part of a track. At most two in a row are sealed, and three of these distances are less
/// than a track, so that none is missed.
const APART: f64 = 0.27;

const BACKWARDS: Class = Class::of("reads backwards in a track", Judged::Last);

/// Heads and skews of the largest zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracks {
    /// Data surfaces; `None` when all skews are alike, so that they cannot be counted.
    pub heads: Option<u32>,
    /// Skew from one track of a cylinder to the next, in sectors; that of cylinders when `heads` is `None`.
    pub track_skew_sectors: Interval,
    /// Skew from one cylinder to the next, in sectors.
    pub cylinder_skew_sectors: Interval,
    /// Zone in which they were found, by its number.
    pub zone: usize,
    /// First sector of a cylinder in it.
    pub cylinder_start: u64,
}

/// A change of track between two blocks.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Number of the block before it.
    index: usize,
    /// Blocks from there to the next one that was seen.
    blocks: usize,
    /// Skew in sectors.
    sectors: f64,
}

/// Finds heads and skews in the largest zone.
pub(super) fn find(head: &mut Head<'_>, zones: &[FoundZone]) -> Result<Tracks> {
    let unclear = |reason| ProbeError::Unclear { quantity: "the skew of tracks", reason };
    let largest = zones.iter().enumerate().max_by_key(|(_, zone)| zone.end_lba - zone.first_lba);
    let (zone, found) = largest.ok_or(unclear("there are no zones"))?;
    let per_track = found.sectors_per_track.value;
    let step = align((per_track * APART) as u64);
    let count = (TRACKS as f64 / APART) as u64;
    if found.end_lba - found.first_lba < 2 * count * step || step == 0 {
        return Err(unclear("the zones are too small; probe the whole disk"));
    }
    let base = align(u64::midpoint(found.first_lba, found.end_lba - count * step));
    let sealed = head.tape().draws(count as usize);
    let blocks: Vec<(u64, bool)> =
        (0..count).rev().map(|index| base + index * step).zip(sealed).collect();
    let angles = head.angles(BACKWARDS, &blocks)?;
    let angles: Vec<(usize, f64)> = angles
        .into_iter()
        .rev()
        .enumerate()
        .filter_map(|(block, angle)| Some((block, angle?)))
        .collect();
    let sector_ns = head.turn_ns / per_track;
    let slack_ns = head.slack_ns(sector_ns);
    let jumps = jumps(&angles, [step as f64 * sector_ns, head.turn_ns, sector_ns, slack_ns]);
    let jumps = if head.is_noisy() { alike(jumps, slack_ns / sector_ns) } else { jumps };
    let groups = groups(&jumps, slack_ns / sector_ns);
    let (first, tracks) = match groups {
        Groups::One(skew) => {
            let first = jumps.first().copied().ok_or(unclear("no change of track was seen"))?;
            (first, [skew, skew])
        }
        Groups::Two { track, cylinder, first } => (first, [track, cylinder]),
    };
    let heads = match groups {
        Groups::One(_) => None,
        Groups::Two { .. } => heads(&jumps, tracks),
    };
    let low = base + first.index as u64 * step;
    Ok(Tracks {
        heads,
        track_skew_sectors: whole(tracks[0]),
        cylinder_skew_sectors: whole(tracks[1]),
        zone,
        cylinder_start: border(head, low, step * first.blocks as u64, sector_ns)?,
    })
}

fn whole(sectors: f64) -> Interval {
    Interval { value: sectors.round(), low: sectors.round() - 0.5, high: sectors.round() + 0.5 }
}

/// Changes of track among blocks, by number and angle, that are `step_ns` apart on one track.
fn jumps(angles: &[(usize, f64)], [step_ns, turn_ns, sector_ns, slack_ns]: [f64; 4]) -> Vec<Jump> {
    let jump = |pair: &[(usize, f64)]| {
        let (index, blocks) = (pair[0].0, pair[1].0 - pair[0].0);
        let ns = (pair[1].1 - pair[0].1 - blocks as f64 * step_ns).rem_euclid(turn_ns);
        // Nearly a turn is a little less than nothing.
        let is_none = ns < slack_ns || ns > turn_ns - slack_ns;
        (!is_none).then_some(Jump { index, blocks, sectors: ns / sector_ns })
    };
    angles.windows(2).filter_map(jump).collect()
}

/// Jumps that have another one of their size: one alone is a delay of the host, as a skew recurs from cylinder to cylinder.
fn alike(jumps: Vec<Jump>, nearest: f64) -> Vec<Jump> {
    let sizes: Vec<f64> = jumps.iter().map(|jump| jump.sectors).collect();
    let of_size = |size: f64| sizes.iter().filter(|other| (*other - size).abs() < nearest).count();
    jumps.into_iter().filter(|jump| of_size(jump.sectors) > 1).collect()
}

/// Skews by size.
#[derive(Clone, Copy, Debug)]
enum Groups {
    /// All alike.
    One(f64),
    /// Two kinds, with the first change of cylinder.
    Two { track: f64, cylinder: f64, first: Jump },
}

/// Divides the jumps at the widest gap between sizes; the rarer, or of equally many the larger, are changes of
/// cylinder.
fn groups(jumps: &[Jump], least_gap: f64) -> Groups {
    let mut sizes: Vec<f64> = jumps.iter().map(|jump| jump.sectors).collect();
    sizes.sort_by(f64::total_cmp);
    let middle = median(&sizes).unwrap_or(0.0);
    let gaps = sizes.windows(2).enumerate().map(|(index, pair)| (index, pair[1] - pair[0]));
    let widest = gaps.max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((index, _)) = widest.filter(|(_, gap)| *gap >= least_gap) else {
        return Groups::One(middle);
    };
    let (small, large) = sizes.split_at(index + 1);
    let large_are_cylinders = large.len() <= small.len() + 2;
    let (tracks, cylinders) = if large_are_cylinders { (small, large) } else { (large, small) };
    let limit = f64::midpoint(sizes[index], sizes[index + 1]);
    let is_cylinder = |jump: &&Jump| (jump.sectors > limit) == large_are_cylinders;
    match (median(tracks), median(cylinders), jumps.iter().find(is_cylinder)) {
        (Some(track), Some(cylinder), Some(first)) => {
            Groups::Two { track, cylinder, first: *first }
        }
        _ => Groups::One(middle),
    }
}

/// Tracks from one change of cylinder to the next, if it is always the same number.
fn heads(jumps: &[Jump], [track, cylinder]: [f64; 2]) -> Option<u32> {
    let limit = f64::midpoint(track, cylinder);
    let is_cylinder = |jump: &Jump| (jump.sectors > limit) == (cylinder > track);
    let at: Vec<usize> = jumps
        .iter()
        .enumerate()
        .filter(|(_, jump)| is_cylinder(jump))
        .map(|(nth, _)| nth)
        .collect();
    let periods: Vec<usize> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let first = periods.first().copied()?;
    let alike = periods.iter().filter(|period| **period == first).count();
    (alike * 10 >= periods.len() * 8).then(|| u32::try_from(first).ok()).flatten()
}

/// First sector behind the change of track between `low` and `step` sectors farther.
fn border(head: &mut Head<'_>, low: u64, step: u64, sector_ns: f64) -> Result<u64> {
    let end_of_low = head.angles(BACKWARDS, &[(low, false)])?;
    let end_of_low = end_of_low.first().copied().flatten().unwrap_or(0.0);
    let (unit, slack_ns) = (head.unit(), head.slack_ns(sector_ns));
    // A read that ends on the track of `low` ends at the angle that its distance says.
    let mut is_behind = |lba: u64, sectors: u32| {
        let distance = (lba + u64::from(sectors)) as f64 - (low + u64::from(BLOCK)) as f64;
        // One that another program delayed seems to be behind: it is read again.
        for reading in 0..head.readings() {
            if reading > 0 {
                head.evict()?;
            }
            let read = head.drawn(false, BACKWARDS, |head| head.medium(lba, sectors))?;
            let end_ns = read.map_or(0, |read| read.end_ns);
            let off =
                (head.phase(end_ns) - end_of_low - distance * sector_ns).rem_euclid(head.turn_ns);
            if off < slack_ns || off > head.turn_ns - slack_ns {
                return Ok(false);
            }
        }
        Ok::<bool, ProbeError>(true)
    };
    let (mut before, mut behind) = (low, low + step);
    while behind - before > u64::from(BLOCK) {
        let middle = align(u64::midpoint(before, behind));
        if is_behind(middle, BLOCK)? { behind = middle } else { before = middle }
    }
    // The block at `behind` ends on the new track; it may begin on the old one.
    let sectors = u32::try_from(unit).unwrap_or(BLOCK);
    let mut first = behind;
    while first < behind + u64::from(BLOCK) - unit && !is_behind(first, sectors)? {
        first += unit;
    }
    Ok(first)
}
