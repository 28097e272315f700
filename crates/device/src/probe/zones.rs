//! Zones: sectors of a track over the capacity, from the angle between blocks that are a known way apart.

use super::head::{BLOCK, Head, align, median};
use super::{Interval, ProbeError};

/// Places at which tracks are measured first; the ends of zones are then bisected between them.
const PLACES: u64 = 96;

/// Blocks at each place.
const BLOCKS: u64 = 9;

/// Distance of blocks in the first, coarse pass: less than half of the shortest track of a disk since 1990.
const COARSE_SECTORS: u64 = 24;

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
pub(super) fn find(head: &mut Head<'_>) -> Result<Vec<FoundZone>, ProbeError> {
    let room = head.sectors() - (1 << 14);
    let places: Vec<u64> = (0..PLACES).map(|nth| align(room / (PLACES - 1) * nth)).collect();
    let mut measured = measure(head, &places)?;
    let nearest = head.sectors() as f64 * ZONE_END;
    loop {
        let apart = |pair: &[Measured]| (pair[1].lba - pair[0].lba) as f64 > nearest;
        let ends: Vec<u64> = measured
            .windows(2)
            .filter(|pair| {
                !same(pair[0].sectors_per_track, pair[1].sectors_per_track) && apart(pair)
            })
            .map(|pair| align(u64::midpoint(pair[0].lba, pair[1].lba)))
            .collect();
        if ends.is_empty() {
            break;
        }
        measured.extend(measure(head, &ends)?);
        measured.sort_by_key(|place| place.lba);
    }
    Ok(join(&measured, head.sectors()))
}

/// Two measurements of tracks that are equally long as far as angles tell.
fn same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.002
}

fn measure(head: &mut Head<'_>, places: &[u64]) -> Result<Vec<Measured>, ProbeError> {
    let coarse =
        passes(head, &places.iter().map(|lba| (*lba, COARSE_SECTORS)).collect::<Vec<_>>())?;
    // The blocks of the second pass are spread over a whole track, so that an error of the clock counts little.
    let fine: Vec<(u64, u64)> = places
        .iter()
        .zip(&coarse)
        .map(|(lba, found)| (*lba, align((found / 10.0) as u64).max(COARSE_SECTORS)))
        .collect();
    let found = passes(head, &fine)?;
    let place = |(lba, sectors_per_track): (&u64, f64)| Measured { lba: *lba, sectors_per_track };
    Ok(places.iter().zip(found).map(place).collect())
}

/// Sectors of the track at each place, from blocks `step` sectors apart. Each pass reads one block of every place,
/// backwards, so that reading ahead brings none of the next ones into the buffer.
fn passes(head: &mut Head<'_>, places: &[(u64, u64)]) -> Result<Vec<f64>, ProbeError> {
    let mut angles = vec![Vec::new(); places.len()];
    for block in (0..BLOCKS).rev() {
        for ((lba, step), angles) in places.iter().zip(&mut angles) {
            angles.push(head.angle(lba + block * step)?);
        }
    }
    let turn_ns = head.turn_ns;
    let of_place = |((_, step), angles): (&(u64, u64), &Vec<f64>)| {
        let pairs = angles.windows(2).map(|pair| (pair[0] - pair[1]).rem_euclid(turn_ns));
        // Most pairs lie on one track; those across its end are off by the skew.
        let between_ns = median(pairs.collect())?;
        (between_ns > 0.0).then(|| *step as f64 * turn_ns / between_ns)
    };
    let reason = "reads of neighbouring blocks end at the same angle; is the device a disk?";
    let unclear = ProbeError::Unclear { quantity: "the length of a track", reason };
    places.iter().zip(&angles).map(of_place).collect::<Option<Vec<f64>>>().ok_or(unclear)
}

/// Neighbours with tracks of one length are one zone.
fn join(measured: &[Measured], sectors: u64) -> Vec<FoundZone> {
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for place in measured {
        match groups.last_mut() {
            Some(group)
                if group.first().is_some_and(|first| {
                    same(first.sectors_per_track, place.sectors_per_track)
                }) =>
            {
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
        let value = median(lengths).unwrap_or(low);
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
