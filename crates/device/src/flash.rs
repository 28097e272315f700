//! CompactFlash cards, USB sticks and SD cards: erase units mapped as wholes, with a few log blocks.
//!
//! The controller maps each erase unit to a block of cells. A write goes to the log block of its unit; only so many
//! units have one. When a log is full, or its place is needed, it is merged: swapped in if it was written in order
//! (switch), completed by copying (partial), or copied together with the old block into a third (full). Units that
//! are linear-only take writes in rising order alone. The same design is called BAST (Kim et al.: A
//! space-efficient flash translation layer for CompactFlash systems, IEEE Trans. Consumer Electronics 48(2), 2002).
//!
//! One request is worked on at a time; there is no volatile buffer. Not modelled: merging while idle, bad blocks,
//! read disturb.

use serde::Deserialize;

use crate::error::{DeviceError, refuse, within};
use crate::presented::Presented;

mod card;
mod translation;
pub(crate) mod wear;

#[cfg(test)]
mod tests;

pub(crate) use card::Card;

/// Parameters of a card or stick. Times in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashParameters {
    /// Smallest amount programmed at once, in bytes.
    pub page_bytes: u32,
    /// Amount erased and mapped at once, in KiB.
    pub unit_kib: u32,
    /// Pages read or programmed at the same time.
    pub planes: u32,
    /// Units that may have a log block at the same time.
    pub open_units: u32,
    /// From this unit on only writes in rising order are appended; absent when every unit takes any order.
    /// Cards are often tuned so that only the first units, which hold the FAT, take any order.
    pub linear_from_unit: Option<u32>,
    /// Blocks beside those that hold the capacity and the logs.
    pub spare_blocks: u32,
    /// Rule that chooses the next erased block.
    pub wear_leveling: WearLeveling,
    /// True if every unit contains data from the start, so that a merge has something to copy.
    pub prefilled: bool,
    /// Reading a page from the cells.
    pub read_page_us: f64,
    /// Programming a page.
    pub program_page_us: f64,
    /// Copying a page inside the device.
    pub copy_page_us: f64,
    /// Erasing a block.
    pub erase_us: f64,
    /// Time that the controller adds to a read.
    pub read_command_us: f64,
    /// Time that the controller adds to a write.
    pub write_command_us: f64,
    /// Time that it adds to a command for another unit than the last one: finding the unit's map.
    #[serde(default)]
    pub unit_change_us: f64,
    /// Erases that a block is rated for; absent if unknown.
    pub rated_erases: Option<u64>,
    /// True if a power failure during a merge destroys the whole unit.
    #[serde(default)]
    pub tears_units: bool,
}

/// Rules that choose the next erased block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WearLeveling {
    /// The one erased last: the same few blocks take all the wear.
    None,
    /// The one erased least often.
    Dynamic,
}

impl FlashParameters {
    pub(crate) fn check(&self, presented: &Presented) -> Result<(), DeviceError> {
        if !self.page_bytes.is_power_of_two() || !(512..=65536).contains(&self.page_bytes) {
            let reason = "must be a power of two from 512 to 65536";
            return Err(refuse("flash.page_bytes", self.page_bytes, reason));
        }
        let unit_bytes = u64::from(self.unit_kib) * 1024;
        let pages = unit_bytes / u64::from(self.page_bytes);
        if pages < 2 || !unit_bytes.is_multiple_of(u64::from(self.page_bytes)) || pages > 1 << 20 {
            let reason = "must hold from 2 to 2^20 whole pages";
            return Err(refuse("flash.unit_kib", self.unit_kib, reason));
        }
        let units = (presented.sectors * 512).div_ceil(unit_bytes);
        within("flash (units that the capacity needs)", units as f64, 1.0, f64::from(1 << 20))?;
        within("flash.planes", self.planes.into(), 1.0, 64.0)?;
        within("flash.open_units", self.open_units.into(), 1.0, 65536.0)?;
        within("flash.spare_blocks", self.spare_blocks.into(), 1.0, f64::from(1 << 20))?;
        let times = [
            ("read_page_us", self.read_page_us),
            ("program_page_us", self.program_page_us),
            ("copy_page_us", self.copy_page_us),
            ("erase_us", self.erase_us),
            ("read_command_us", self.read_command_us),
            ("write_command_us", self.write_command_us),
            ("unit_change_us", self.unit_change_us),
        ];
        times.iter().try_for_each(|(key, us)| within(&format!("flash.{key}"), *us, 0.0, 1e7))?;
        if let Some(rated) = self.rated_erases {
            within("flash.rated_erases", rated as f64, 1.0, 1e12)?;
        }
        if presented.max_write_zeroes_kib.is_some() {
            let reason = "this card model does not support this command; remove it";
            return Err(refuse("presented.max_write_zeroes_kib", "…", reason));
        }
        Ok(())
    }
}
