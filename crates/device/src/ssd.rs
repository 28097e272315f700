//! A solid-state disk: channels, dies and planes, a page-mapped translation with greedy collection, and a buffer.
//!
//! Writes land in the buffer and are programmed in stripes, one page on each plane of a die, die after die. When a
//! die runs short of erased blocks, the block with the least valid data is emptied step by step, in proportion to
//! what the host writes. Programs and erases can be suspended for reads. Not modelled: read retries, map pages
//! that do not fit the controller's memory, bad blocks.

use serde::Deserialize;

use crate::error::{DeviceError, refuse, within};
use crate::presented::Presented;

mod die;
mod drive;
mod ftl;
mod heat;
mod map;

#[cfg(test)]
mod tests;

pub(crate) use drive::Drive;
pub(crate) use ftl::Shape;
pub use heat::HeatParameters;

/// Parameters of a solid-state disk. Times in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParameters {
    /// Channels to the dies, each with its own transfers.
    pub channels: u32,
    /// Dies on a channel, each with its own reads and programs.
    pub dies_per_channel: u32,
    /// Planes of a die, which program and erase together.
    pub planes: u32,
    /// A page of one plane, in KiB.
    pub page_kib: u32,
    /// Pages of a block of one plane.
    pub pages_per_block: u32,
    /// Smallest amount that is mapped on its own, in KiB.
    pub unit_kib: u32,
    /// Additional cells, as a fraction of the capacity: 0.07 for 7 %.
    pub over_provisioning: f64,
    /// Erased blocks a die keeps in reserve before it collects.
    pub reserve_blocks: u32,
    /// Reading a page, or one of the fastest kind.
    pub read_page_us: f64,
    /// Additional time by the kind of page, which is the bit of its cells that a page has: of three-bit cells
    /// the lower, middle and upper one. A block has as many pages of each kind. Empty if all take the same time.
    #[serde(default)]
    pub read_more_us: Vec<f64>,
    /// Programming a page on all planes of a die.
    pub program_us: f64,
    /// Erasing a block on all planes of a die.
    pub erase_us: f64,
    /// Rate of a channel in 10^6 bytes a second.
    pub channel_mb_per_s: f64,
    /// Time to suspend a program or an erase for a read; absent when it cannot be suspended.
    pub suspend_us: Option<f64>,
    /// Number of times that one program or erase may be suspended.
    #[serde(default = "eight")]
    pub most_suspensions: u32,
    /// Time that the controller adds to a read.
    pub read_command_us: f64,
    /// Time that the controller adds to a write.
    pub write_command_us: f64,
    /// Time that it adds to a flush for writing its own map, after the data that the flush waits for.
    pub flush_us: f64,
    /// Room for data to be written.
    pub buffer_kib: u32,
    /// True if capacitors save the buffer when power fails.
    pub power_loss_protection: bool,
    /// False if a flush is done once the map is written, whatever is in the buffer: capacitors behind a
    /// cache that the disk still calls volatile, or programs too short to show beside `flush_us`. What was
    /// written before the flush is then safe, and what came after it is not.
    #[serde(default = "yes")]
    pub flush_waits: bool,
    /// Longest time that data may wait in the buffer for a full stripe.
    pub drain_delay_us: f64,
    /// The part of the cells that is first written with one bit a cell; absent when there is none.
    pub slc: Option<SlcParameters>,
    /// Temperature; absent when the disk is never throttled.
    pub heat: Option<HeatParameters>,
    /// Erases that a block is rated for; absent if unknown.
    pub rated_erases: Option<u64>,
    /// True if all of the capacity contains data from the start. Takes eight bytes of memory for each unit.
    #[serde(default)]
    pub prefilled: bool,
    /// Random writes of single units before time 0, as multiples of the capacity; needs `prefilled`.
    #[serde(default)]
    pub preconditioned: f64,
}

/// A cache of single-bit cells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcParameters {
    /// Its size.
    pub mib: u32,
    /// Programming a page on all planes of a die, in microseconds.
    pub program_us: f64,
    /// Idle time after which the disk empties the cache, in milliseconds.
    pub idle_ms: f64,
    /// Rate at which it empties it then, in 10^6 bytes a second.
    pub fold_mb_per_s: f64,
}

const fn eight() -> u32 {
    8
}

const fn yes() -> bool {
    true
}

impl SsdParameters {
    pub(crate) fn check(&self, presented: &Presented) -> Result<(), DeviceError> {
        let numbers = [
            ("channels", self.channels.into(), 1.0, 64.0),
            ("dies_per_channel", self.dies_per_channel.into(), 1.0, 64.0),
            ("planes", self.planes.into(), 1.0, 16.0),
            ("pages_per_block", self.pages_per_block.into(), 2.0, 65536.0),
            ("over_provisioning", self.over_provisioning, 0.0, 10.0),
            ("reserve_blocks", self.reserve_blocks.into(), 2.0, 65536.0),
            ("read_page_us", self.read_page_us, 0.0, 1e6),
            ("program_us", self.program_us, 0.0, 1e6),
            ("erase_us", self.erase_us, 0.0, 1e6),
            ("channel_mb_per_s", self.channel_mb_per_s, 1e-3, 1e6),
            ("suspend_us", self.suspend_us.unwrap_or_default(), 0.0, 1e6),
            ("most_suspensions", self.most_suspensions.into(), 0.0, 1e6),
            ("read_command_us", self.read_command_us, 0.0, 1e6),
            ("write_command_us", self.write_command_us, 0.0, 1e6),
            ("flush_us", self.flush_us, 0.0, 1e7),
            ("drain_delay_us", self.drain_delay_us, 0.0, 1e9),
            ("preconditioned", self.preconditioned, 0.0, 20.0),
        ];
        numbers.iter().try_for_each(|(key, value, low, high)| {
            within(&format!("ssd.{key}"), *value, *low, *high)
        })?;
        for more_us in &self.read_more_us {
            within("ssd.read_more_us", *more_us, 0.0, 1e6)?;
        }
        if self.read_more_us.len() > 8 {
            let reason = "has more kinds of pages than a cell has bits; give 8 at most";
            return Err(refuse("ssd.read_more_us", self.read_more_us.len(), reason));
        }
        if !self.unit_kib.is_power_of_two() || self.unit_kib > self.page_kib {
            let reason = "must be a power of two and no larger than a page";
            return Err(refuse("ssd.unit_kib", self.unit_kib, reason));
        }
        if !self.page_kib.is_multiple_of(self.unit_kib) || self.page_kib > 1024 {
            let reason = "must be a whole number of units, 1024 at most";
            return Err(refuse("ssd.page_kib", self.page_kib, reason));
        }
        let stripe_kib = self.page_kib * self.planes;
        within("ssd.buffer_kib", self.buffer_kib.into(), stripe_kib.into(), 4_194_304.0)?;
        let units = presented.sectors / (u64::from(self.unit_kib) * 2).max(1);
        if self.prefilled && units > 1 << 26 {
            let reason =
                "would take more than half a GiB of memory; make the disk smaller for that";
            return Err(refuse("ssd.prefilled", true, reason));
        }
        if self.preconditioned > 0.0 && !self.prefilled {
            let reason = "random overwriting needs prefilled = true";
            return Err(refuse("ssd.preconditioned", self.preconditioned, reason));
        }
        if let Some(slc) = &self.slc {
            within("ssd.slc.mib", slc.mib.into(), 1.0, 1e7)?;
            within("ssd.slc.program_us", slc.program_us, 0.0, 1e6)?;
            within("ssd.slc.idle_ms", slc.idle_ms, 0.0, 1e9)?;
            within("ssd.slc.fold_mb_per_s", slc.fold_mb_per_s, 1e-3, 1e6)?;
        }
        if let Some(heat) = &self.heat {
            heat.check()?;
        }
        self.shape(presented.sectors).map(|_| ())
    }

    /// Blocks and units for a capacity.
    pub(crate) fn shape(&self, sectors: u64) -> Result<Shape, DeviceError> {
        let unit_sectors = u64::from(self.unit_kib) * 2;
        let units = sectors.div_ceil(unit_sectors);
        let dies = self.channels * self.dies_per_channel;
        let units_per_page = self.page_kib / self.unit_kib;
        let units_per_stripe = units_per_page * self.planes;
        let units_per_block = units_per_stripe * self.pages_per_block;
        let wanted = units as f64 * (1.0 + self.over_provisioning);
        let per_die = (wanted / f64::from(dies) / f64::from(units_per_block)).ceil();
        // One block takes the host's data, one the collector's, and the reserve stays erased.
        let kept_free = self.reserve_blocks + 3;
        let least = units.div_ceil(u64::from(dies)).div_ceil(units_per_block.into());
        let least = least as f64 + f64::from(kept_free);
        if per_die < least {
            let part = least * f64::from(dies) * f64::from(units_per_block) / units as f64 - 1.0;
            let reason = format!(
                "leaves a die {per_die} blocks where it needs {least}; give at least {part:.3}, \
                 fewer dies, smaller blocks or a smaller reserve"
            );
            return Err(refuse("ssd.over_provisioning", self.over_provisioning, reason));
        }
        within("ssd (blocks of all dies)", per_die * f64::from(dies), 4.0, f64::from(1 << 22))?;
        let slots = per_die * f64::from(dies) * f64::from(units_per_block);
        within("ssd (units in all)", slots, 1.0, f64::from(u32::MAX - 1))?;
        Ok(Shape {
            units: u32::try_from(units).unwrap_or(u32::MAX),
            dies,
            blocks_per_die: per_die as u32,
            units_per_block,
            units_per_stripe,
            units_per_page,
            reserve_blocks: self.reserve_blocks,
        })
    }
}
