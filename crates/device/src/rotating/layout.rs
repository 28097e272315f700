//! Layout of sectors: zones, cylinders, heads, skew, and the angle at which each sector passes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{DeviceError, refuse, within};

#[cfg(test)]
pub(super) mod tests;

/// A band of cylinders with equally many sectors on each track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// First sector.
    pub first_lba: u64,
    /// Sectors that have an address.
    pub sectors: u64,
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// Its cylinders.
    pub cylinders: u32,
    /// Sectors of 512 bytes on a track.
    pub sectors_per_track: u32,
    /// By how many sectors the first sector of a track lags behind that of the track before it in the cylinder.
    pub(crate) track_skew: u32,
    /// The same from the last track of a cylinder to the first of the next.
    pub(crate) cylinder_skew: u32,
    /// Sectors before the first that has an address.
    front: u64,
    /// Sectors of a range that has its own spares at its end, and how many of them have an address.
    range: u64,
    usable: u64,
    /// Sectors that are passed over, counted from the start of the zone, rising.
    slips: Vec<u64>,
}

/// A zone as a device file gives it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneParameters {
    /// Cylinders with data or spares.
    pub cylinders: u32,
    /// Sectors of 512 bytes on a track.
    pub sectors_per_track: u32,
    /// Number of its first cylinder; the one behind the zone before when absent.
    pub first_cylinder: Option<u32>,
    /// Skew from track to track of a cylinder; by the layout's time when absent.
    pub track_skew_sectors: Option<u32>,
    /// Skew from cylinder to cylinder; by the layout's time when absent.
    pub cylinder_skew_sectors: Option<u32>,
    /// Sectors at the front without an address.
    #[serde(default)]
    pub unused_front_sectors: u64,
    /// Spare sectors at the end of the zone, or of each part of it.
    #[serde(default)]
    pub spare_sectors: u64,
    /// Cylinders of such a part; the zone as a whole when absent.
    pub spare_every_cylinders: Option<u32>,
    /// Sectors without an address because they are bad, counted from the start of the zone.
    #[serde(default)]
    pub slips: Vec<u64>,
}

impl ZoneParameters {
    pub(crate) fn plain([cylinders, sectors_per_track]: [u32; 2]) -> Self {
        Self { cylinders, sectors_per_track, ..Self::default() }
    }

    pub(crate) fn check(&self, heads: u32) -> Result<(), DeviceError> {
        const SLIPS: usize = 4096;
        within("rotating.layout.zones (cylinders)", self.cylinders.into(), 1.0, MOST)?;
        let key = "rotating.layout.zones (sectors per track)";
        within(key, self.sectors_per_track.into(), 4.0, 1e6)?;
        let first = self.first_cylinder.unwrap_or(0);
        within("rotating.layout.zone (first_cylinder)", first.into(), 0.0, MOST)?;
        let per_track = f64::from(self.sectors_per_track - 1);
        for skew in [self.track_skew_sectors, self.cylinder_skew_sectors].into_iter().flatten() {
            within("rotating.layout.zone (skew)", skew.into(), 0.0, per_track)?;
        }
        let part = self.spare_every_cylinders.unwrap_or(self.cylinders);
        let key = "rotating.layout.zone (spare_every_cylinders)";
        within(key, part.into(), 1.0, self.cylinders.into())?;
        let per_cylinder = f64::from(heads) * f64::from(self.sectors_per_track);
        let spares = self.spare_sectors as f64 + self.slips.len() as f64;
        let most = per_cylinder * f64::from(part) - 1.0;
        within("rotating.layout.zone (spare_sectors)", spares, 0.0, most)?;
        let front = self.unused_front_sectors as f64;
        let most = per_cylinder * f64::from(self.cylinders) - spares - 1.0;
        within("rotating.layout.zone (unused_front_sectors)", front, 0.0, most)?;
        within("rotating.layout.zone (slips)", self.slips.len() as f64, 0.0, SLIPS as f64)?;
        self.check_parts(u64::from(heads) * u64::from(self.sectors_per_track))
    }

    /// Bad sectors of a part with its own spares must find room among them.
    fn check_parts(&self, per_cylinder: u64) -> Result<(), DeviceError> {
        let Some(cylinders) = self.spare_every_cylinders else { return Ok(()) };
        let part = u64::from(cylinders) * per_cylinder;
        let front = self.unused_front_sectors;
        let mut bad = BTreeMap::<u64, u64>::new();
        for slip in self.slips.iter().filter_map(|slip| slip.checked_sub(front)) {
            *bad.entry(slip / part).or_default() += 1;
        }
        match bad.values().max() {
            Some(most) if *most > self.spare_sectors => {
                let reason = format!("{most} bad sectors in one part do not fit into its spares");
                Err(refuse("rotating.layout.zone (spare_sectors)", self.spare_sectors, reason))
            }
            _ => Ok(()),
        }
    }
}

const MOST: f64 = (1 << 30) as f64;

/// The order in which a cylinder's tracks are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadOrder {
    /// From the first head to the last, in every cylinder.
    #[default]
    Straight,
    /// Back and forth, so that the next cylinder starts with the same head.
    Serpentine,
    /// The same, starting with the first head in every zone.
    SerpentineByZone,
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
    /// Sectors that follow one another on the track from this one on, itself among them.
    pub(crate) run: u32,
}

/// All zones of a disk, outermost first, with tracks filled head by head and cylinder by cylinder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    zones: Vec<Zone>,
    heads: u32,
    order: HeadOrder,
    /// Time of one turn.
    pub turn_ns: u64,
}

/// Time by which a track or a cylinder is skewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    pub(crate) track_ns: u64,
    pub(crate) cylinder_ns: u64,
}

impl Layout {
    /// A layout from zones, outermost first; skews in time are rounded up to whole sectors.
    pub(crate) fn new(
        zones: &[ZoneParameters],
        heads: u32,
        turn_ns: u64,
        skew: Skew,
        order: HeadOrder,
    ) -> Self {
        let mut made: Vec<Zone> = Vec::with_capacity(zones.len());
        for given in zones {
            let (lba, cylinder) = made.last().map_or((0, 0), |zone| {
                (zone.first_lba + zone.sectors, zone.first_cylinder + zone.cylinders)
            });
            made.push(Zone::new(given, heads, turn_ns, skew, (lba, cylinder)));
        }
        Self { zones: made, heads, order, turn_ns }
    }

    /// The zones, outermost first.
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Sectors of all zones together.
    pub(crate) fn sectors(&self) -> u64 {
        self.zones.last().map_or(0, |zone| zone.first_lba + zone.sectors)
    }

    /// Returns the place of `lba`, which must be on the disk.
    pub(crate) fn place(&self, lba: u64) -> Place {
        let after = self.zones.partition_point(|zone| zone.first_lba <= lba);
        let zone = &self.zones[after.max(1) - 1];
        let sectors_per_track = u64::from(zone.sectors_per_track);
        let (physical, free) = zone.physical(lba - zone.first_lba);
        let track = physical / sectors_per_track;
        let sector = physical % sectors_per_track;
        let heads = u64::from(self.heads);
        let (cylinder, nth) = (track / heads, track % heads);
        let per_cylinder = (heads - 1) * u64::from(zone.track_skew) + u64::from(zone.cylinder_skew);
        let skew = cylinder * per_cylinder + nth * u64::from(zone.track_skew);
        let slot = (sector + skew) % sectors_per_track;
        let in_zone = u32::try_from(cylinder).unwrap_or(u32::MAX);
        let backwards = match self.order {
            HeadOrder::Straight => false,
            HeadOrder::Serpentine => (zone.first_cylinder + in_zone) % 2 == 1,
            HeadOrder::SerpentineByZone => in_zone % 2 == 1,
        };
        let head = if backwards { heads - 1 - nth } else { nth };
        Place {
            cylinder: zone.first_cylinder + in_zone,
            head: u32::try_from(head).unwrap_or(u32::MAX),
            sector: u32::try_from(sector).unwrap_or(u32::MAX),
            sectors_per_track: zone.sectors_per_track,
            slot: u32::try_from(slot).unwrap_or(u32::MAX),
            angle_ns: slot * self.turn_ns / sectors_per_track,
            run: u32::try_from(free.min(sectors_per_track - sector)).unwrap_or(u32::MAX),
        }
    }

    /// One past the last address on the track of `lba`.
    pub(crate) fn track_end(&self, lba: u64) -> u64 {
        let (first, mut end) = (self.place(lba), lba);
        while end < self.sectors() {
            let place = self.place(end);
            if (place.cylinder, place.head) != (first.cylinder, first.head) {
                break;
            }
            end += u64::from(place.run);
        }
        end
    }
}

impl Zone {
    fn new(
        given: &ZoneParameters,
        heads: u32,
        turn_ns: u64,
        skew: Skew,
        (first_lba, next_cylinder): (u64, u32),
    ) -> Self {
        let sectors_per_track = given.sectors_per_track;
        let sectors = |ns: u64| {
            let sectors = (ns * u64::from(sectors_per_track)).div_ceil(turn_ns);
            u32::try_from(sectors).unwrap_or(u32::MAX) % sectors_per_track
        };
        let per_cylinder = u64::from(heads) * u64::from(sectors_per_track);
        let all = u64::from(given.cylinders) * per_cylinder - given.unused_front_sectors;
        let mut slips = given.slips.clone();
        slips.sort_unstable();
        slips.dedup();
        let (range, usable) = match given.spare_every_cylinders {
            Some(part) => {
                let range = u64::from(part) * per_cylinder;
                (range, range - given.spare_sectors)
            }
            None => (all, all - given.spare_sectors.max(slips.len() as u64)),
        };
        Self {
            first_lba,
            sectors: all / range * usable + (all % range).min(usable),
            first_cylinder: given.first_cylinder.unwrap_or(next_cylinder).max(next_cylinder),
            cylinders: given.cylinders,
            sectors_per_track,
            track_skew: given.track_skew_sectors.unwrap_or_else(|| sectors(skew.track_ns)),
            cylinder_skew: given.cylinder_skew_sectors.unwrap_or_else(|| sectors(skew.cylinder_ns)),
            front: given.unused_front_sectors,
            range,
            usable,
            slips,
        }
    }

    /// The sector of the zone that has the address `index`, and how many addresses follow on without a gap, itself
    /// among them.
    fn physical(&self, index: u64) -> (u64, u64) {
        let (part, offset) = (index / self.usable, index % self.usable);
        let start = self.front + part * self.range;
        let mut sector = start + offset;
        let mut free = self.usable - offset;
        let first = self.slips.partition_point(|slip| *slip < start);
        for slip in self.slips.iter().skip(first) {
            if *slip > sector {
                free = free.min(*slip - sector);
                break;
            }
            sector += 1;
        }
        (sector, free)
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
