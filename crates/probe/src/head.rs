//! Reads of a probe: past the disk's buffer, with their angle, at a chosen time.

pub(super) use seekwell_stats::estimate::median;
use seekwell_stats::{Rng, seeded};

use super::tape::{Class, Draws, Tape, Taped};
use super::{Interval, ProbeError, Result, Span, Stage, Timed};

/// Sectors of one read of the medium: 4 KiB, a block of every disk.
pub(super) const BLOCK: u32 = 8;

/// Reads elsewhere that push a place out of the buffer of most disks; the search for the rotation finds when it takes more.
const EVICTING: usize = 72;

/// Attempts at a read that does not come from the buffer.
const ATTEMPTS: usize = 3;

/// Scatter in nanoseconds up to which one reading of an angle is enough.
const QUIET_NS: f64 = 1_000.0;

/// Differences of angles of so many times the scatter are more than chance.
const SLACK: f64 = 6.0;

/// The target with what is known so far.
pub(super) struct Head<'t> {
    pub(super) target: &'t mut dyn Taped,
    /// Time of a turn in nanoseconds; 0 until it is known.
    pub(super) turn_ns: f64,
    /// Reads that take less come from the buffer; 0 until it is known.
    pub(super) hit_below_ns: u64,
    /// Scatter of the end of a read that the host adds, in nanoseconds; 0 until it is known, and next to nothing on a model.
    pub(super) noise_ns: f64,
    /// Reads elsewhere that push a place out of the disk's buffer.
    pub(super) evicting: usize,
    /// Time at which experiments end, measured or not.
    pub(super) until_ns: u64,
    /// Current step of the probe.
    pub(super) stage: Stage,
    random: Rng,
}

impl Draws for Head<'_> {
    fn tape(&mut self) -> &mut Tape {
        self.target.tape()
    }
}

impl<'t> Head<'t> {
    pub(super) fn new(target: &'t mut dyn Taped, seed: u64) -> Self {
        Self {
            target,
            turn_ns: 0.0,
            hit_below_ns: 0,
            noise_ns: 0.0,
            evicting: EVICTING,
            until_ns: u64::MAX,
            stage: Stage::Rotation,
            random: seeded(seed),
        }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.target.geometry().sectors_512
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// A block anywhere on the device.
    pub(super) fn anywhere(&mut self) -> u64 {
        let blocks = self.sectors() / u64::from(BLOCK);
        self.below(blocks) * u64::from(BLOCK)
    }

    /// Puts items into random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.random.shuffle(items);
    }

    /// Sectors of the smallest read that the device takes.
    pub(super) fn unit(&self) -> u64 {
        u64::from(self.target.geometry().logical_block / 512).max(1)
    }

    /// Ends the current step when the time for experiments is over.
    pub(super) fn in_time(&self) -> Result<()> {
        let is_late = self.target.now_ns() >= self.until_ns;
        if is_late { Err(ProbeError::Late(self.stage)) } else { Ok(()) }
    }

    pub(super) fn read(&mut self, lba: u64, sectors: u32) -> Result<Timed> {
        self.in_time()?;
        let unit = self.unit();
        let lba = lba.min(self.sectors().saturating_sub(u64::from(sectors))) / unit * unit;
        Ok(self.target.read_one(Span { lba, sectors })?)
    }

    pub(super) fn wait(&mut self, ns: u64) {
        self.target.pause(ns);
    }

    /// Fills the disk's buffer with other places.
    pub(super) fn evict(&mut self) -> Result<()> {
        for _ in 0..self.evicting {
            let lba = self.anywhere();
            self.read(lba, BLOCK)?;
        }
        Ok(())
    }

    /// A read from the medium; one that the buffer served is repeated after other places were read.
    pub(super) fn medium(&mut self, lba: u64, sectors: u32) -> Result<Timed> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                self.evict()?;
            }
            let found = self.read(lba, sectors)?;
            if found.took_ns() >= self.hit_below_ns {
                return Ok(found);
            }
        }
        let reason = "the disk's buffer serves it even after other places were read";
        Err(ProbeError::Unclear { quantity: "the angle of a sector", reason })
    }

    /// The angle at which a block ends, as a time below one turn, in nanoseconds.
    pub(super) fn angle(&mut self, lba: u64) -> Result<f64> {
        let end_ns = self.medium(lba, BLOCK)?.end_ns;
        Ok(self.phase(end_ns))
    }

    /// Readings of an angle that are taken: several where the host adds to the time of each.
    pub(super) fn readings(&self) -> usize {
        if self.noise_ns < QUIET_NS { 1 } else { 3 }
    }

    /// True when the host adds so much to times that single readings tell little.
    pub(super) fn is_noisy(&self) -> bool {
        self.noise_ns >= QUIET_NS
    }

    /// Differences of angles up to this one are none, in nanoseconds.
    pub(super) fn slack_ns(&self, sector_ns: f64) -> f64 {
        (2.0 * sector_ns).max(SLACK * self.noise_ns)
    }

    /// The angles of many blocks, each the earliest of its readings, and `None` for those that are sealed. All are read
    /// once before any is read again, in this order, so that the disk's buffer holds none of them any more.
    pub(super) fn angles(
        &mut self,
        class: Class,
        blocks: &[(u64, bool)],
    ) -> Result<Vec<Option<f64>>> {
        let mut readings = vec![Vec::new(); blocks.len()];
        for _ in 0..self.readings() {
            for ((lba, is_sealed), readings) in blocks.iter().zip(&mut readings) {
                // A sealed read may come from the buffer: the model of the file has to tell.
                let angle = |head: &mut Self| match is_sealed {
                    true => head.read(*lba, BLOCK).map(|_| 0.0),
                    false => head.angle(*lba),
                };
                readings.extend(self.drawn(*is_sealed, class, angle)?);
            }
        }
        let angle =
            |angles: &Vec<f64>| (!angles.is_empty()).then(|| earliest_angle(angles, self.turn_ns));
        Ok(readings.iter().map(angle).collect())
    }

    /// The angle at a time.
    pub(super) fn phase(&self, at_ns: u64) -> f64 {
        (at_ns as f64).rem_euclid(self.turn_ns)
    }
}

/// The block that holds a sector.
pub(super) const fn align(lba: u64) -> u64 {
    lba / BLOCK as u64 * BLOCK as u64
}

/// The earliest of some angles, which are times below one turn: a host only ever adds to a time. One that is farther than
/// a quarter turn from the middle one was delayed too long to be placed.
fn earliest_angle(angles: &[f64], turn_ns: f64) -> f64 {
    // Between a half turn before and a half turn after.
    let after = |angle: f64, other: f64| {
        let off = (angle - other).rem_euclid(turn_ns);
        if off < turn_ns / 2.0 { off } else { off - turn_ns }
    };
    let far = |angle: f64| angles.iter().map(|other| after(*other, angle).abs()).sum::<f64>();
    let middle = angles.iter().min_by(|one, other| far(**one).total_cmp(&far(**other)));
    let Some(middle) = middle.copied() else { return 0.0 };
    let offs = angles.iter().map(|angle| after(*angle, middle));
    let earliest = offs.filter(|off| off.abs() < turn_ns / 4.0).fold(0.0, f64::min);
    (middle + earliest).rem_euclid(turn_ns)
}

/// Median, and the second smallest and second largest, between which it lies with a probability above 0.95 from nine
/// values on.
pub(super) fn middle(mut times: Vec<f64>) -> Interval {
    times.sort_by(f64::total_cmp);
    let low = times.get(1).copied().unwrap_or_default();
    let high = times.iter().rev().nth(1).copied().unwrap_or(low);
    Interval { value: median(&times).unwrap_or(low), low, high }
}
