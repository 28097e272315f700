//! Where sectors lie: zones, cylinders, heads, skew; and from there, at which angle each passes.

use crate::file::{DeviceError, refuse};

#[cfg(test)]
pub(super) mod tests;

/// A band of cylinders with equally many sectors on each track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) first_lba: u64,
    pub(crate) first_cylinder: u32,
    pub(crate) cylinders: u32,
    /// Sectors of 512 bytes on a track.
    pub(crate) sectors_per_track: u32,
    /// By how many sectors the first sector of a track lags behind that of the track before it in the cylinder.
    pub(crate) track_skew: u32,
    /// The same from the last track of a cylinder to the first of the next.
    pub(crate) cylinder_skew: u32,
}

/// The place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
    /// Number on its track.
    pub(crate) sector: u32,
    pub(crate) sectors_per_track: u32,
    /// Number on its track counted from index, skew included.
    pub(crate) slot: u32,
    /// The turn, in nanoseconds from index, at which its first bit comes under the head.
    pub(crate) angle_ns: u64,
}

/// All zones of a disk, outermost first, with tracks filled head by head and cylinder by cylinder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    zones: Vec<Zone>,
    heads: u32,
    /// Time of one turn.
    pub(crate) turn_ns: u64,
}

/// Time by which a track or a cylinder is skewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    pub(crate) track_ns: u64,
    pub(crate) cylinder_ns: u64,
}

impl Layout {
    /// A layout from pairs of (cylinders, sectors per track), outermost first; skews are rounded up to whole sectors.
    pub(crate) fn new(bands: &[[u32; 2]], heads: u32, turn_ns: u64, skew: Skew) -> Self {
        let mut zones = Vec::with_capacity(bands.len());
        let (mut first_lba, mut first_cylinder) = (0_u64, 0_u32);
        for &[cylinders, sectors_per_track] in bands {
            let sectors = |ns: u64| {
                let sectors = (ns * u64::from(sectors_per_track)).div_ceil(turn_ns);
                u32::try_from(sectors).unwrap_or(u32::MAX) % sectors_per_track
            };
            zones.push(Zone {
                first_lba,
                first_cylinder,
                cylinders,
                sectors_per_track,
                track_skew: sectors(skew.track_ns),
                cylinder_skew: sectors(skew.cylinder_ns),
            });
            first_lba += u64::from(cylinders) * u64::from(heads) * u64::from(sectors_per_track);
            first_cylinder += cylinders;
        }
        Self { zones, heads, turn_ns }
    }

    /// Sectors of all zones together.
    pub(crate) fn sectors(&self) -> u64 {
        self.zones.last().map_or(0, |zone| zone.first_lba + zone.sectors(self.heads))
    }

    pub(crate) fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders)
    }

    /// The place of `lba`, which must lie on the disk.
    pub(crate) fn place(&self, lba: u64) -> Place {
        let after = self.zones.partition_point(|zone| zone.first_lba <= lba);
        let zone = &self.zones[after.max(1) - 1];
        let sectors_per_track = u64::from(zone.sectors_per_track);
        let in_zone = lba - zone.first_lba;
        let track = in_zone / sectors_per_track;
        let sector = in_zone % sectors_per_track;
        let heads = u64::from(self.heads);
        let (cylinder, head) = (track / heads, track % heads);
        let per_cylinder = (heads - 1) * u64::from(zone.track_skew) + u64::from(zone.cylinder_skew);
        let skew = cylinder * per_cylinder + head * u64::from(zone.track_skew);
        let slot = (sector + skew) % sectors_per_track;
        Place {
            cylinder: zone.first_cylinder + u32::try_from(cylinder).unwrap_or(u32::MAX),
            head: u32::try_from(head).unwrap_or(u32::MAX),
            sector: u32::try_from(sector).unwrap_or(u32::MAX),
            sectors_per_track: zone.sectors_per_track,
            slot: u32::try_from(slot).unwrap_or(u32::MAX),
            angle_ns: slot * self.turn_ns / sectors_per_track,
        }
    }
}

impl Zone {
    pub(crate) fn sectors(&self, heads: u32) -> u64 {
        u64::from(self.cylinders) * u64::from(heads) * u64::from(self.sectors_per_track)
    }
}

/// Bands for a disk of which only the outermost and innermost track are known: `bands` zones of equally many
/// cylinders, their sectors per track falling evenly, as many cylinders as the capacity needs.
pub(crate) fn even_bands(
    sectors: u64,
    heads: u32,
    bands: u32,
    outer: u32,
    inner: u32,
) -> Result<Vec<[u32; 2]>, DeviceError> {
    let steps = u64::from(bands.max(2) - 1);
    let per_track = |band: u32| {
        if bands < 2 {
            return outer.midpoint(inner);
        }
        let fall = u64::from(outer - inner) * u64::from(band) / steps;
        outer - u32::try_from(fall).unwrap_or(0)
    };
    let per_cylinder_of_each: u64 =
        (0..bands).map(|band| u64::from(per_track(band)) * u64::from(heads)).sum();
    let cylinders = sectors.div_ceil(per_cylinder_of_each);
    let cylinders = u32::try_from(cylinders)
        .ok()
        .filter(|count| u64::from(*count) * u64::from(bands) < 1 << 30)
        .ok_or_else(|| {
            refuse("rotating.layout", sectors, "needs more than 2^30 cylinders; check the tracks")
        })?;
    Ok((0..bands).map(|band| [cylinders, per_track(band)]).collect())
}
