//! A disk that turns: seeks, rotation, zones and skew, read-ahead, write-back, flushes and a sorted queue.
//!
//! The position of the platters follows from the virtual clock alone, so the same request at another instant
//! takes another time. Not modelled: thermal recalibration, defects and spares, several actuators.

use serde::Deserialize;

use crate::bus::Link;
use crate::clock::ns;
use crate::error::{DeviceError, refuse, within};
use crate::presented::Presented;

mod calibrate;
mod disk;
mod layout;
pub(crate) mod mechanics;
mod seek;
mod segments;
mod service;
mod shingled;

#[cfg(test)]
mod tests;

pub(crate) use disk::Disk;
pub use seek::SeekParameters;
pub(crate) use shingled::Shingled;
pub use shingled::ShingledParameters;

use calibrate::calibrate;
pub use layout::{HeadOrder, ZoneParameters};
use layout::{Layout, Skew, even_bands};
use mechanics::Mechanics;

/// Parameters of a rotating disk. Times in microseconds, sizes in KiB.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotatingParameters {
    /// Turns a minute.
    pub rpm: f64,
    /// Data surfaces.
    pub heads: u32,
    /// Changing to another head of the same cylinder.
    pub head_switch_us: f64,
    /// Extra settling before a write, after the arm moved: the average seek of a data sheet for writes, less that for
    /// reads.
    pub write_settle_us: f64,
    /// The same after a change to another head or to the next cylinder: track to track for writes, less that for
    /// reads. `write_settle_us` when absent.
    pub write_track_settle_us: Option<f64>,
    /// Extra settling before a read, after the arm moved farther than to the next cylinder: of a drive that settles
    /// longer for reads than its seek curve has. 0 when absent.
    pub read_settle_us: Option<f64>,
    /// Measured mean of random reads of 4 KiB over the whole disk, one at a time. The time
    /// missing from the data sheet's numbers becomes a settling of every read that moves the arm.
    pub measured_qd1_read_us: Option<f64>,
    /// Layout of the sectors.
    pub layout: LayoutParameters,
    /// Seek times of the arm.
    pub seek: SeekParameters,
    /// Time that the electronics add.
    pub overhead: OverheadParameters,
    /// The buffer.
    pub buffer: BufferParameters,
    /// Waiting reads among which the nearest is chosen, oldest first; as many as there are when absent.
    pub reorder_window: Option<u32>,
    /// Longest time that nearer requests may overtake a request, in milliseconds.
    #[serde(default = "half_a_second")]
    pub passed_over_ms: f64,
    /// Tracks that overlap, managed by the disk itself; absent for other disks.
    pub shingled: Option<ShingledParameters>,
}

const fn half_a_second() -> f64 {
    500.0
}

/// The layout of sectors. Either `zones` or `zone`, or the tracks' ends and the number of zones between them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutParameters {
    /// Pairs of cylinders and sectors per track, outermost first.
    pub zones: Option<Vec<[u32; 2]>>,
    /// Zones with skews, spares and bad sectors of their own, outermost first.
    pub zone: Option<Vec<ZoneParameters>>,
    /// The order in which a cylinder's tracks are filled.
    #[serde(default)]
    pub head_order: HeadOrder,
    /// Number of zones, where only their ends are known.
    pub bands: Option<u32>,
    /// Sectors of 512 bytes on the outermost track.
    pub outer_sectors_per_track: Option<u32>,
    /// Sectors of 512 bytes on the innermost track.
    pub inner_sectors_per_track: Option<u32>,
    /// Skew from track to track of a cylinder. The head switch and the settling of a write must fit into it. As much
    /// as they need when absent.
    pub track_skew_us: Option<f64>,
    /// Skew from cylinder to cylinder; the seek to the next one must fit into it in the same way.
    pub cylinder_skew_us: Option<f64>,
    /// Says that the skews are known and too small: the drive loses a turn where it changes tracks.
    #[serde(default)]
    pub loses_turns: bool,
}

/// Time that the electronics add to each command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverheadParameters {
    /// A read that the buffer serves.
    pub read_hit_us: f64,
    /// The same where the command before was a write; as after a read when absent.
    pub read_hit_after_write_us: Option<f64>,
    /// The same for a command that starts where the last one ended; as for any other if absent.
    pub read_sequential_us: Option<f64>,
    /// A read that needs the arm.
    pub read_miss_us: f64,
    /// The same where the command before was a write; as after a read when absent.
    pub read_miss_after_write_us: Option<f64>,
    /// A write.
    pub write_us: f64,
    /// The same where the command before was a write; as after a read when absent.
    pub write_after_write_us: Option<f64>,
    /// A write that completes on the medium; as one that the buffer completes when absent.
    pub write_through_us: Option<f64>,
    /// The same where the command before was a write; as after a read when absent.
    pub write_through_after_write_us: Option<f64>,
    /// The same for a command that starts where the last one ended; as for any other if absent.
    pub write_sequential_us: Option<f64>,
    /// A flush, after all it waits for is on the medium.
    pub flush_us: f64,
}

/// The buffer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferParameters {
    /// Segments for reading.
    pub read_segments: u32,
    /// Size of one.
    pub segment_kib: u32,
    /// Read-ahead after the last read sector; 0 for none.
    pub read_ahead_kib: u32,
    /// Reads ahead to the end of the track, and of the next where the run began on an earlier one, however
    /// small a segment is: the last of it stays. `read_ahead_kib` then only turns reading ahead on.
    #[serde(default)]
    pub read_ahead_by_track: bool,
    /// Keeps the sectors that pass on the track before the first requested one.
    #[serde(default)]
    pub reads_before: bool,
    /// Reads one after the other that must be seen before it reads ahead: 0 always, 1 from the second on.
    #[serde(default)]
    pub read_ahead_after: u32,
    /// True if it reads ahead again once half of the data read ahead has been used.
    #[serde(default = "yes")]
    pub resumes_read_ahead: bool,
    /// True if data that went to the host may serve a later read.
    #[serde(default = "yes")]
    pub keeps_delivered: bool,
    /// True if data still to be written may serve a read.
    #[serde(default = "yes")]
    pub serves_written: bool,
    /// True if any write discards the data read ahead.
    #[serde(default)]
    pub write_clears: bool,
    /// True if a write discards all of each segment that holds some of its sectors, not these alone.
    #[serde(default)]
    pub write_clears_segments: bool,
    /// True if a write is complete as soon as the buffer has it.
    pub write_back: bool,
    /// Room for data to be written.
    pub write_kib: u32,
    /// Completes a write from the buffer only while the disk writes nothing else.
    #[serde(default)]
    pub write_back_when_idle: bool,
    /// Most runs of written data in the buffer at once, where it is divided into segments; no limit when absent.
    pub write_segments: Option<u32>,
    /// Gives each run of written data a segment of the read buffer, where later reads find it.
    #[serde(default)]
    pub shares_segments: bool,
    /// Idle time after which the disk writes from the buffer.
    #[serde(default)]
    pub destage_delay_us: f64,
    /// Longest run written at once.
    pub destage_run_kib: u32,
    /// Runs of data, oldest first, among which the drive chooses the one that it reaches first.
    #[serde(default = "four")]
    pub destage_window: u32,
    /// Age from which data takes turns with waiting reads, in milliseconds; younger data waits until there are none.
    #[serde(default = "five_seconds")]
    pub age_limit_ms: f64,
}

const fn yes() -> bool {
    true
}

/// Measured on a Seagate ST2000DM006 (ublk-disksim, docs/VALIDATION.md): each further random write adds 9.4 ms to a
/// flush, which four candidates give with the seeks of its data sheet.
const fn four() -> u32 {
    4
}

const fn five_seconds() -> f64 {
    5000.0
}

impl RotatingParameters {
    pub(crate) fn check(&self, presented: &Presented, link: Link) -> Result<(), DeviceError> {
        within("rotating.rpm", self.rpm, 60.0, 60_000.0)?;
        within("rotating.heads", self.heads.into(), 1.0, 64.0)?;
        within("rotating.head_switch_us", self.head_switch_us, 0.0, 1e5)?;
        within("rotating.write_settle_us", self.write_settle_us, 0.0, 1e5)?;
        let track_settle_us = self.write_track_settle_us.unwrap_or(self.write_settle_us);
        within("rotating.write_track_settle_us", track_settle_us, 0.0, 1e5)?;
        within("rotating.read_settle_us", self.read_settle_us.unwrap_or_default(), 0.0, 1e5)?;
        if let Some(settle_us) = self.read_settle_us.filter(|_| self.measured_qd1_read_us.is_some())
        {
            let reason = "follows from measured_qd1_read_us; give one of them";
            return Err(refuse("rotating.read_settle_us", settle_us, reason));
        }
        within("rotating.passed_over_ms", self.passed_over_ms, 0.0, 1e6)?;
        within("rotating.reorder_window", self.reorder_window.unwrap_or(1).into(), 1.0, 65536.0)?;
        self.overhead.check()?;
        self.buffer.check()?;
        let limits = [
            ("presented.max_discard_kib", presented.max_discard_kib),
            ("presented.max_write_zeroes_kib", presented.max_write_zeroes_kib),
        ];
        if let Some((key, limit)) = limits.into_iter().find_map(|(key, limit)| Some((key, limit?)))
        {
            let reason = "this disk model does not support this command; remove it";
            return Err(refuse(key, limit, reason));
        }
        let mut sectors = presented.sectors;
        if let Some(shingled) = &self.shingled {
            shingled.check()?;
            sectors += shingled.cache_sectors();
        }
        let mechanics = self.mechanics(sectors, 0, link)?;
        if mechanics.layout.sectors() < sectors {
            let held = mechanics.layout.sectors();
            let reason = format!("the zones hold only {held} sectors; add cylinders");
            return Err(refuse("presented.sectors", presented.sectors, reason));
        }
        Ok(())
    }

    pub(crate) fn turn_ns(&self) -> u64 {
        (60e9 / self.rpm).round() as u64
    }

    /// The zones as they are given or follow from the tracks' ends.
    fn zones(&self, sectors: u64) -> Result<Vec<ZoneParameters>, DeviceError> {
        const KEY: &str = "rotating.layout";
        let given = &self.layout;
        let ends = (given.bands, given.outer_sectors_per_track, given.inner_sectors_per_track);
        let plain = |bands: &[[u32; 2]]| -> Vec<ZoneParameters> {
            bands.iter().copied().map(ZoneParameters::plain).collect()
        };
        let zones: Vec<ZoneParameters> = match (&given.zones, &given.zone, ends) {
            (Some(zones), None, (None, None, None)) => plain(zones),
            (None, Some(zones), (None, None, None)) => zones.clone(),
            (None, None, (Some(bands), Some(outer), Some(inner))) => {
                within("rotating.layout.bands", bands.into(), 1.0, 1024.0)?;
                within("rotating.layout.inner_sectors_per_track", inner.into(), 4.0, 1e6)?;
                within("rotating.layout.outer_sectors_per_track", outer.into(), inner.into(), 1e6)?;
                plain(&even_bands(sectors, self.heads, bands, outer, inner)?)
            }
            _ => {
                let reason = "give either zones, or zone, or bands, outer_sectors_per_track and \
                              inner_sectors_per_track";
                return Err(refuse(KEY, "{…}", reason));
            }
        };
        if zones.is_empty() {
            return Err(refuse("rotating.layout.zones", "[]", "needs at least one zone"));
        }
        zones.iter().try_for_each(|zone| zone.check(self.heads))?;
        let mut next = 0_u64;
        for zone in &zones {
            let first = zone.first_cylinder.map_or(next, u64::from);
            if first < next {
                let reason = format!("the zone before ends with cylinder {}", next - 1);
                return Err(refuse("rotating.layout.zone (first_cylinder)", first, reason));
            }
            next = first + u64::from(zone.cylinders);
        }
        within("rotating.layout (cylinders in all)", next as f64, 1.0, f64::from(1 << 30))?;
        Ok(zones)
    }

    pub(crate) fn mechanics(
        &self,
        sectors: u64,
        phase_ns: u64,
        link: Link,
    ) -> Result<Mechanics, DeviceError> {
        let zones = self.zones(sectors)?;
        let cylinders = zones.iter().fold(0_u32, |next, zone| {
            zone.first_cylinder.unwrap_or(next).saturating_add(zone.cylinders)
        });
        let seek = self.seek.curve(cylinders)?;
        let settle_us = self.write_track_settle_us.unwrap_or(self.write_settle_us);
        let changes = TrackChange {
            heads: self.heads,
            head_switch_ns: ns(self.head_switch_us),
            next_cylinder_ns: seek.ns(1),
            write_settle_ns: ns(settle_us),
        };
        let skew = changes.skew(&self.layout, self.turn_ns())?;
        let order = self.layout.head_order;
        let layout = Layout::new(&zones, self.heads, self.turn_ns(), skew, order);
        if !self.layout.loses_turns {
            changes.check_zones(&layout)?;
        }
        let outside_ns = link.command_ns + ns(self.overhead.read_miss_us) + link.transfer_ns(1);
        let (seek, read_settle_ns) = match self.measured_qd1_read_us {
            Some(measured_us) => calibrate(measured_us, outside_ns, seek, &layout, sectors)?,
            None => (seek, ns(self.read_settle_us.unwrap_or_default())),
        };
        Ok(Mechanics {
            layout,
            seek,
            head_switch_ns: ns(self.head_switch_us),
            read_settle_ns,
            write_settle_ns: ns(self.write_settle_us),
            write_track_settle_ns: ns(settle_us),
            phase_ns,
            waits: true,
            transfers: true,
            next: None,
        })
    }
}

/// Costs of a change to the next track, which the skews must cover.
#[derive(Clone, Copy, Debug)]
struct TrackChange {
    heads: u32,
    head_switch_ns: u64,
    next_cylinder_ns: u64,
    write_settle_ns: u64,
}

impl TrackChange {
    /// Checks the skews that zones have of their own.
    fn check_zones(self, layout: &Layout) -> Result<(), DeviceError> {
        let switch_ns = if self.heads > 1 { self.head_switch_ns } else { 0 };
        let track_ns = if self.heads > 1 { switch_ns + self.write_settle_ns } else { 0 };
        let cylinder_ns = self.next_cylinder_ns.max(switch_ns) + self.write_settle_ns;
        for zone in layout.zones() {
            let per_track = u64::from(zone.sectors_per_track);
            let checks = [
                ("track_skew_sectors", zone.track_skew, track_ns),
                ("cylinder_skew_sectors", zone.cylinder_skew, cylinder_ns),
            ];
            for (key, skew, needed_ns) in checks {
                if u64::from(skew) * layout.turn_ns / per_track < needed_ns {
                    let least = ((needed_ns + 1) * per_track).div_ceil(layout.turn_ns);
                    let reason = format!(
                        "a turn would be lost at every track of {per_track} sectors: the change and the settling \
                         for a write take {} us; use at least {least}, or set loses_turns = true if the drive is \
                         known to lose turns",
                        needed_ns as f64 / 1e3
                    );
                    return Err(refuse(&format!("rotating.layout.zone.{key}"), skew, reason));
                }
            }
        }
        Ok(())
    }

    /// The skews of a layout: those given, checked, or those needed.
    fn skew(self, layout: &LayoutParameters, turn_ns: u64) -> Result<Skew, DeviceError> {
        let switch_ns = if self.heads > 1 { self.head_switch_ns } else { 0 };
        let track_ns = if self.heads > 1 { switch_ns + self.write_settle_ns } else { 0 };
        let cylinder_ns = self.next_cylinder_ns.max(switch_ns) + self.write_settle_ns;
        let one = |key: &str, given: Option<f64>, needed_ns: u64, moving: &str| {
            let key = format!("rotating.layout.{key}");
            // Angles are rounded down to whole nanoseconds; one more keeps a rounded skew from being too small.
            let covered_ns = if needed_ns > 0 { needed_ns + 1 } else { 0 };
            let Some(given) = given else {
                within(&format!("{key} (as needed)"), covered_ns as f64, 0.0, turn_ns as f64)?;
                return Ok(covered_ns);
            };
            within(&key, given, 0.0, turn_ns as f64 / 1e3)?;
            if layout.loses_turns {
                return Ok(ns(given));
            }
            if ns(given) >= needed_ns {
                return Ok(ns(given).max(covered_ns));
            }
            let settle_us = self.write_settle_ns as f64 / 1e3;
            let moved_us = (needed_ns - self.write_settle_ns) as f64 / 1e3;
            let least_us = needed_ns.div_ceil(1000);
            Err(refuse(
                &key,
                given,
                format!(
                    "a turn would be lost at every track: {moving} takes {moved_us} us and settling for a write \
                     {settle_us} us; use at least {least_us}, leave it out, or set loses_turns = true if the drive \
                     is known to lose turns"
                ),
            ))
        };
        Ok(Skew {
            track_ns: one("track_skew_us", layout.track_skew_us, track_ns, "changing heads")?,
            cylinder_ns: one(
                "cylinder_skew_us", layout.cylinder_skew_us, cylinder_ns, "the next cylinder",
            )?,
        })
    }
}

impl OverheadParameters {
    fn check(&self) -> Result<(), DeviceError> {
        let times = [
            ("read_hit_us", self.read_hit_us),
            ("read_sequential_us", self.read_sequential_us.unwrap_or_default()),
            ("read_miss_us", self.read_miss_us),
            ("read_hit_after_write_us", self.read_hit_after_write_us.unwrap_or_default()),
            ("read_miss_after_write_us", self.read_miss_after_write_us.unwrap_or_default()),
            ("write_us", self.write_us),
            ("write_after_write_us", self.write_after_write_us.unwrap_or_default()),
            ("write_through_us", self.write_through_us.unwrap_or_default()),
            ("write_through_after_write_us", self.write_through_after_write_us.unwrap_or_default()),
            ("write_sequential_us", self.write_sequential_us.unwrap_or_default()),
            ("flush_us", self.flush_us),
        ];
        times
            .iter()
            .try_for_each(|(key, us)| within(&format!("rotating.overhead.{key}"), *us, 0.0, 1e6))
    }
}

impl BufferParameters {
    fn check(&self) -> Result<(), DeviceError> {
        let sizes = [
            ("read_segments", self.read_segments.into(), 0.0, 65536.0),
            ("segment_kib", self.segment_kib.into(), 1.0, 4_194_304.0),
            ("read_ahead_kib", self.read_ahead_kib.into(), 0.0, self.segment_kib.into()),
            ("read_ahead_after", self.read_ahead_after.into(), 0.0, 1000.0),
            ("write_kib", self.write_kib.into(), 0.0, 4_194_304.0),
            ("write_segments", self.write_segments.unwrap_or(1).into(), 1.0, 65536.0),
            ("destage_delay_us", self.destage_delay_us, 0.0, 1e9),
            ("destage_run_kib", self.destage_run_kib.into(), 4.0, 65536.0),
            ("destage_window", self.destage_window.into(), 1.0, 65536.0),
            ("age_limit_ms", self.age_limit_ms, 0.0, 1e9),
        ];
        sizes.iter().try_for_each(|(key, value, low, high)| {
            within(&format!("rotating.buffer.{key}"), *value, *low, *high)
        })?;
        if self.read_ahead_kib > 0 && self.read_segments == 0 {
            let reason = "needs at least one segment to read ahead into";
            return Err(refuse("rotating.buffer.read_segments", 0, reason));
        }
        Ok(())
    }
}
