//! Zones: sectors of a track over the capacity, from the angle between blocks that are a known way apart.

use super::head::{BLOCK, Head, align, median};
use super::tape::{Class, Draws as _, Judged};
use super::{Interval, ProbeError, Result};

/// Places at which tracks are measured first; the ends of zones are then bisected between them.
const PLACES: u64 = 96;

/// Blocks at each place in the first, coarse pass and in the second one. Of each three one is sealed.
const BLOCKS: [u64; 2] = [6, 12];

/// Distance of blocks in the first pass: three of them are less than the shortest track of a disk since 1990.
const COARSE_SECTORS: u64 = 16;

/// Distance of blocks in the second pass as a part of a track, so that they are spread over most of it.
const FINE: f64 = 1.0 / 13.5;

const FAR_APART: Class = Class::of("reads a hundredth of the disk apart", Judged::Last);

/// The end of a zone is found to this part of the capacity.
const ZONE_END: f64 = 0.001;

/// A zone as found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundZone {
    /// First sector.
    pub first_lba: u64,
    /// One past the last sector.
    pub end_lba: u64,
    /// Sectors of 512 bytes on a track.
    pub sectors_per_track: Interval,
}

/// A place and the sectors of its track.
#[derive(Clone, Copy, Debug)]
struct Measured {
    lba: u64,
    sectors_per_track: f64,
}

/// Finds the zones.
pub(super) fn find(head: &mut Head<'_>) -> Result<Vec<FoundZone>> {
    let room = head.sectors() - (1 << 14);
    let places: Vec<u64> = (0..PLACES).map(|nth| align(room / (PLACES - 1) * nth)).collect();
    let mut measured = measure(head, &places)?;
    let tolerance = tolerance(head);
    settle(head, &mut measured, tolerance)?;
    let nearest = head.sectors() as f64 * ZONE_END;
    loop {
        let apart = |pair: &[Measured]| (pair[1].lba - pair[0].lba) as f64 > nearest;
        let ends: Vec<u64> = measured
            .windows(2)
            .filter(|pair| !same(pair[0], pair[1], tolerance) && apart(pair))
            .map(|pair| align(u64::midpoint(pair[0].lba, pair[1].lba)))
            .collect();
        if ends.is_empty() {
            break;
        }
        measured.extend(measure(head, &ends)?);
        measured.sort_by_key(|place| place.lba);
        settle(head, &mut measured, tolerance)?;
    }
    Ok(join(&measured, head.sectors(), tolerance))
}

/// Difference of two lengths of one track, as a part of it, that angles may show: four standard errors of what the fit of
/// [`length`] makes of the scatter, when the end of the track is in the middle of its blocks.
fn tolerance(head: &Head<'_>) -> f64 {
    const EXACT: f64 = 0.002;
    const OF_SCATTER: f64 = 11.0;
    const MOST: f64 = 0.02;
    (EXACT + OF_SCATTER * head.noise_ns / head.turn_ns).min(MOST)
}

/// Two measurements of tracks that are equally long as far as angles tell.
fn same(one: Measured, other: Measured, tolerance: f64) -> bool {
    (one.sectors_per_track / other.sectors_per_track - 1.0).abs() < tolerance
}

/// Measures places again that differ from both of their neighbours, which agree: no zone is between two parts of another
/// one. What differs twice takes the length of its neighbours.
fn settle(head: &mut Head<'_>, measured: &mut [Measured], tolerance: f64) -> Result<()> {
    if !head.is_noisy() {
        return Ok(());
    }
    let lonely = |places: &[Measured]| -> Vec<usize> {
        let is_lonely = |three: &[Measured]| {
            same(three[0], three[2], tolerance) && !same(three[0], three[1], tolerance)
        };
        let found = places.windows(3).enumerate().filter(|(_, three)| is_lonely(three));
        found.map(|(index, _)| index + 1).collect()
    };
    let again: Vec<u64> =
        lonely(measured).into_iter().filter_map(|index| Some(measured.get(index)?.lba)).collect();
    if again.is_empty() {
        return Ok(());
    }
    for found in measure(head, &again)? {
        if let Some(place) = measured.iter_mut().find(|place| place.lba == found.lba) {
            *place = found;
        }
    }
    for index in lonely(measured) {
        let before = measured.get(index - 1).map(|place| place.sectors_per_track);
        if let (Some(place), Some(sectors)) = (measured.get_mut(index), before) {
            place.sectors_per_track = sectors;
        }
    }
    Ok(())
}

fn measure(head: &mut Head<'_>, places: &[u64]) -> Result<Vec<Measured>> {
    let [few, many] = BLOCKS;
    let first: Vec<(u64, u64)> = places.iter().map(|lba| (*lba, COARSE_SECTORS)).collect();
    let coarse = passes(head, &first, few)?;
    // The blocks of the second pass are spread over a whole track, so that an error of the clock counts little.
    let fine: Vec<(u64, u64)> = places
        .iter()
        .zip(&coarse)
        .map(|(lba, found)| (*lba, align((found * FINE) as u64).max(COARSE_SECTORS)))
        .collect();
    let found = passes(head, &fine, many)?;
    let place = |(lba, sectors_per_track): (&u64, f64)| Measured { lba: *lba, sectors_per_track };
    Ok(places.iter().zip(found).map(place).collect())
}

/// Sectors of the track at each place, from blocks `step` sectors apart. Each pass reads one block of every place,
/// backwards, so that reading ahead brings none of the next ones into the buffer.
fn passes(head: &mut Head<'_>, places: &[(u64, u64)], count: u64) -> Result<Vec<f64>> {
    let sealed = head.tape().draws(places.len() * count as usize);
    let of_block = |block: u64| {
        let at = places.iter().zip(sealed.chunks(count as usize));
        at.map(move |((lba, step), sealed)| {
            (lba + block * step, sealed.get(block as usize).copied().unwrap_or(false))
        })
    };
    let blocks: Vec<(u64, bool)> = (0..count).rev().flat_map(of_block).collect();
    let angles = head.angles(FAR_APART, &blocks)?;
    let (turn_ns, noise_ns, is_noisy) = (head.turn_ns, head.noise_ns, head.is_noisy());
    let of_place = |(nth, (_, step)): (usize, &(u64, u64))| {
        // In the order of the blocks.
        let angles = angles.iter().skip(nth).step_by(places.len()).rev();
        let seen: Vec<(f64, f64)> = angles
            .enumerate()
            .filter_map(|(block, angle)| Some((block as f64, (*angle)?)))
            .collect();
        let between_ns = match is_noisy {
            true => slope(&seen, turn_ns, noise_ns)?,
            // Most pairs lie on one track; those across its end are off by the skew.
            false => typical(&seen, turn_ns)?,
        };
        (between_ns > 0.0).then(|| *step as f64 * turn_ns / between_ns)
    };
    let reason = "reads of neighbouring blocks end at the same angle; is the device a disk?";
    let unclear = ProbeError::Unclear { quantity: "the length of a track", reason };
    places.iter().enumerate().map(of_place).collect::<Option<Vec<f64>>>().ok_or(unclear)
}

/// Time from block to block, the middle one of neighbours. A point is a block's number and its angle; sealed blocks are
/// missing.
fn typical(seen: &[(f64, f64)], turn_ns: f64) -> Option<f64> {
    let pairs = seen.windows(2).map(|pair| {
        let (blocks, ns) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        ns.rem_euclid(turn_ns) / blocks
    });
    median(&pairs.collect::<Vec<_>>())
}

/// Time from block to block, from their angles: the slope of a straight line, or of two lines side by side where the end of
/// the track shifts all later blocks by the skew.
fn slope(seen: &[(f64, f64)], turn_ns: f64, noise_ns: f64) -> Option<f64> {
    let typical = typical(seen, turn_ns)?;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(seen.len());
    for (block, angle) in seen {
        // A block that came a little earlier than the one before it is not nearly a turn later.
        let ns = points.last().map_or(*angle, |(before, ns)| {
            let expected = ns + (block - before) * typical;
            angle - ((angle - expected) / turn_ns).round() * turn_ns
        });
        points.push((*block, ns));
    }
    let [whole, left] = fit(&[&points])?;
    let scatter = (left / points.len() as f64).sqrt();
    if scatter < 2.0 * noise_ns {
        return Some(whole);
    }
    let splits = (1..points.len()).filter_map(|at| {
        let (before, behind) = points.split_at(at);
        fit(&[before, behind])
    });
    splits.min_by(|one, other| one[1].total_cmp(&other[1])).map(|[slope, _]| slope)
}

/// Common slope of the parts of a series, and the sum of the squares that it leaves over.
fn fit(parts: &[&[(f64, f64)]]) -> Option<[f64; 2]> {
    let points: Vec<(f64, f64)> = parts
        .iter()
        .flat_map(|part| {
            let mean = |of: fn(&(f64, f64)) -> f64| {
                part.iter().map(of).sum::<f64>() / part.len().max(1) as f64
            };
            let (x, y) = (mean(|point| point.0), mean(|point| point.1));
            part.iter().map(move |point| (point.0 - x, point.1 - y))
        })
        .collect();
    let square = points.iter().map(|(x, _)| x * x).sum::<f64>();
    let slope = points.iter().map(|(x, y)| x * y).sum::<f64>() / square;
    let left = points.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
    (square > 0.0).then_some([slope, left])
}

/// Neighbours with tracks of one length are one zone.
fn join(measured: &[Measured], sectors: u64, tolerance: f64) -> Vec<FoundZone> {
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for place in measured {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|first| same(*first, *place, tolerance)) => {
                group.push(*place);
            }
            _ => groups.push(vec![*place]),
        }
    }
    let starts: Vec<u64> = groups.iter().filter_map(|group| group.first()).map(|p| p.lba).collect();
    let ends: Vec<u64> = groups.iter().filter_map(|group| group.last()).map(|p| p.lba).collect();
    let border = |index: usize| match (ends.get(index), starts.get(index + 1)) {
        (Some(end), Some(start)) => align(u64::midpoint(*end, *start)),
        _ => sectors,
    };
    let zone = |(index, group): (usize, &Vec<Measured>)| {
        let lengths: Vec<f64> = group.iter().map(|place| place.sectors_per_track).collect();
        let low = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let high = lengths.iter().copied().fold(0.0, f64::max);
        let value = median(&lengths).unwrap_or(low);
        FoundZone {
            first_lba: index.checked_sub(1).map_or(0, border),
            end_lba: border(index),
            sectors_per_track: Interval { value: value.round(), low, high },
        }
    };
    // A zone seen at one place only is the end of its neighbours met half-way; it is too small to matter.
    groups
        .iter()
        .enumerate()
        .map(zone)
        .filter(|zone| zone.end_lba > zone.first_lba + u64::from(BLOCK))
        .collect()
}
