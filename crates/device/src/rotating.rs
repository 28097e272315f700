//! A disk that turns: seeks, rotation, zones and skew, read-ahead, write-back, flushes and a sorted queue.
//!
//! The position of the platters follows from the virtual clock alone, so the same request at another instant
//! takes another time. Not modelled: thermal recalibration, defects and spares, several actuators.

use serde::Deserialize;

use crate::bus::Link;
use crate::clock::ns;
use crate::file::{DeviceError, Presented, refuse, within};

mod calibrate;
mod disk;
mod layout;
mod mechanics;
mod seek;
mod segments;
mod service;

#[cfg(test)]
mod tests;

pub(crate) use disk::Disk;
pub use seek::SeekParameters;

use calibrate::stretch_to;
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
    /// Measured mean of random reads of 4 KiB over the whole disk, one at a time. Stretches the seek curve, all but its
    /// first cylinder, until the model has this mean. Absent where the data sheet has to do.
    pub measured_qd1_read_us: Option<f64>,
    /// Where the sectors lie.
    pub layout: LayoutParameters,
    /// How the arm moves.
    pub seek: SeekParameters,
    /// What the electronics add.
    pub overhead: OverheadParameters,
    /// The buffer.
    pub buffer: BufferParameters,
    /// Waiting reads among which the nearest is chosen, oldest first; as many as there are when absent.
    pub reorder_window: Option<u32>,
    /// How long a request may be passed over for nearer ones, in milliseconds.
    #[serde(default = "half_a_second")]
    pub passed_over_ms: f64,
}

const fn half_a_second() -> f64 {
    500.0
}

/// Where the sectors lie. Either `zones`, or the tracks' ends and how many zones lie between.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutParameters {
    /// Pairs of cylinders and sectors per track, outermost first.
    pub zones: Option<Vec<[u32; 2]>>,
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

/// What the electronics add to each command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverheadParameters {
    /// A read that the buffer serves.
    pub read_hit_us: f64,
    /// The same where it goes on where the last command ended; as any other when absent.
    pub read_sequential_us: Option<f64>,
    /// A read that needs the arm.
    pub read_miss_us: f64,
    /// A write.
    pub write_us: f64,
    /// The same where it goes on where the last command ended; as any other when absent.
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
    /// How far behind the last read sector it reads ahead; 0 for not at all.
    pub read_ahead_kib: u32,
    /// Reads one after the other that must be seen before it reads ahead: 0 always, 1 from the second on.
    #[serde(default)]
    pub read_ahead_after: u32,
    /// Whether it reads ahead again when half of what was read ahead has been used.
    #[serde(default = "yes")]
    pub resumes_read_ahead: bool,
    /// Whether data that went to the host may serve a later read.
    #[serde(default = "yes")]
    pub keeps_delivered: bool,
    /// Whether data still to be written may serve a read.
    #[serde(default = "yes")]
    pub serves_written: bool,
    /// Whether any write throws away what was read ahead.
    #[serde(default)]
    pub write_clears: bool,
    /// Whether a write is complete as soon as the buffer has it.
    pub write_back: bool,
    /// Room for data to be written.
    pub write_kib: u32,
    /// How long the disk stays idle before it writes from the buffer.
    #[serde(default)]
    pub destage_delay_us: f64,
    /// Longest run written at once.
    pub destage_run_kib: u32,
    /// Runs of data, oldest first, among which the drive chooses the one that it reaches first.
    #[serde(default = "eight")]
    pub destage_window: u32,
    /// Age from which data takes turns with waiting reads, in milliseconds; younger data waits until there are none.
    #[serde(default = "five_seconds")]
    pub age_limit_ms: f64,
}

const fn yes() -> bool {
    true
}

/// Measured on a Seagate ST2000DM006 (ublk-disksim, validation): 124 random writes a second against 57 reads at
/// depth 1, which eight candidates give.
const fn eight() -> u32 {
    8
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
        within("rotating.passed_over_ms", self.passed_over_ms, 0.0, 1e6)?;
        within("rotating.reorder_window", self.reorder_window.unwrap_or(1).into(), 1.0, 65536.0)?;
        self.overhead.check()?;
        self.buffer.check()?;
        for (key, limit) in [
            ("presented.max_discard_kib", presented.max_discard_kib),
            ("presented.max_write_zeroes_kib", presented.max_write_zeroes_kib),
        ] {
            if let Some(limit) = limit {
                return Err(refuse(
                    key,
                    limit,
                    "a rotating disk of this model knows no such command; remove it",
                ));
            }
        }
        let mechanics = self.mechanics(presented.sectors, 0, link)?;
        if mechanics.layout.sectors() < presented.sectors {
            let held = mechanics.layout.sectors();
            let reason = format!("the zones hold only {held} sectors; add cylinders");
            return Err(refuse("presented.sectors", presented.sectors, reason));
        }
        Ok(())
    }

    pub(crate) fn turn_ns(&self) -> u64 {
        (60e9 / self.rpm).round() as u64
    }

    /// Cylinders and sectors per track of each zone.
    fn bands(&self, sectors: u64) -> Result<Vec<[u32; 2]>, DeviceError> {
        const KEY: &str = "rotating.layout";
        let given = &self.layout;
        let ends = (given.bands, given.outer_sectors_per_track, given.inner_sectors_per_track);
        let bands = match (&given.zones, ends) {
            (Some(zones), (None, None, None)) => zones.clone(),
            (None, (Some(bands), Some(outer), Some(inner))) => {
                within("rotating.layout.bands", bands.into(), 1.0, 1024.0)?;
                within("rotating.layout.inner_sectors_per_track", inner.into(), 4.0, 1e6)?;
                within("rotating.layout.outer_sectors_per_track", outer.into(), inner.into(), 1e6)?;
                even_bands(sectors, self.heads, bands, outer, inner)?
            }
            _ => {
                let reason = "give either zones, or bands, outer_sectors_per_track and inner_sectors_per_track";
                return Err(refuse(KEY, "{…}", reason));
            }
        };
        if bands.is_empty() {
            return Err(refuse("rotating.layout.zones", "[]", "needs at least one zone"));
        }
        for &[cylinders, sectors_per_track] in &bands {
            within("rotating.layout.zones (cylinders)", cylinders.into(), 1.0, f64::from(1 << 30))?;
            let key = "rotating.layout.zones (sectors per track)";
            within(key, sectors_per_track.into(), 4.0, 1e6)?;
        }
        let total: u64 = bands.iter().map(|band| u64::from(band[0])).sum();
        within("rotating.layout (cylinders in all)", total as f64, 1.0, f64::from(1 << 30))?;
        Ok(bands)
    }

    pub(crate) fn mechanics(
        &self,
        sectors: u64,
        phase_ns: u64,
        link: Link,
    ) -> Result<Mechanics, DeviceError> {
        let bands = self.bands(sectors)?;
        let cylinders = bands.iter().fold(0_u32, |sum, band| sum.saturating_add(band[0]));
        let seek = self.seek.curve(cylinders)?;
        let settle_us = self.write_track_settle_us.unwrap_or(self.write_settle_us);
        let changes = TrackChange {
            heads: self.heads,
            head_switch_ns: ns(self.head_switch_us),
            next_cylinder_ns: seek.ns(1),
            write_settle_ns: ns(settle_us),
        };
        let skew = changes.skew(&self.layout, self.turn_ns())?;
        let layout = Layout::new(&bands, self.heads, self.turn_ns(), skew);
        let seek = match self.measured_qd1_read_us {
            Some(measured_us) => {
                let outside_ns =
                    link.command_ns + ns(self.overhead.read_miss_us) + link.transfer_ns(1);
                stretch_to(measured_us, outside_ns, &seek, &layout, sectors)?
            }
            None => seek,
        };
        Ok(Mechanics {
            layout,
            seek,
            head_switch_ns: ns(self.head_switch_us),
            write_settle_ns: ns(self.write_settle_us),
            write_track_settle_ns: ns(settle_us),
            phase_ns,
        })
    }
}

/// What it takes to go on on the next track, which the skews must cover.
#[derive(Clone, Copy, Debug)]
struct TrackChange {
    heads: u32,
    head_switch_ns: u64,
    next_cylinder_ns: u64,
    write_settle_ns: u64,
}

impl TrackChange {
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
                "cylinder_skew_us",
                layout.cylinder_skew_us,
                cylinder_ns,
                "the next cylinder",
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
            ("write_us", self.write_us),
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
