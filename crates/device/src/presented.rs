//! Capacity, block sizes and limits that a device presents to the block layer.

use serde::Deserialize;

use crate::error::{DeviceError, refuse, within};

/// Sectors that no model may exceed: 2^50 of 512 bytes, far beyond any device, so that products of sectors and
/// nanoseconds stay inside 64 bits with room to spare.
const MOST_SECTORS: u64 = 1 << 50;

/// Properties that a device of any model presents to the block layer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presented {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// Smallest unit of a request, in bytes.
    #[serde(default = "sector_bytes")]
    pub logical_block: u32,
    /// Smallest unit written without reading first, in bytes.
    #[serde(default = "sector_bytes")]
    pub physical_block: u32,
    /// Requests taken at once.
    pub queue_depth: u32,
    /// Longest read or write, in KiB.
    pub max_request_kib: u32,
    /// Longest discard in KiB; absent when the device knows none.
    pub max_discard_kib: Option<u32>,
    /// Longest write-zeroes in KiB; absent when the device knows none.
    pub max_write_zeroes_kib: Option<u32>,
    /// True if the block layer treats it as a rotating disk; by default as the model is.
    pub rotational: Option<bool>,
    /// Sectors of 512 bytes that a fake really has: those from here on are the first ones again. Absent for
    /// an honest device.
    pub wraps_at: Option<u64>,
}

const fn sector_bytes() -> u32 {
    512
}

impl Presented {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let block = |key: &str, bytes: u32| {
            if bytes.is_power_of_two() && (512..=65536).contains(&bytes) {
                return Ok(());
            }
            Err(refuse(key, bytes, "must be a power of two from 512 to 65536 bytes"))
        };
        block("presented.logical_block", self.logical_block)?;
        block("presented.physical_block", self.physical_block)?;
        if self.physical_block < self.logical_block {
            let reason = "must not be smaller than the logical block";
            return Err(refuse("presented.physical_block", self.physical_block, reason));
        }
        let step = u64::from(self.logical_block / 512);
        if self.sectors == 0 || self.sectors > MOST_SECTORS || !self.sectors.is_multiple_of(step) {
            let reason = "must be a positive whole number of logical blocks, below 2^50 sectors";
            return Err(refuse("presented.sectors", self.sectors, reason));
        }
        if let Some(true_sectors) = self.wraps_at
            && (true_sectors == 0
                || true_sectors >= self.sectors
                || !true_sectors.is_multiple_of(step))
        {
            let reason =
                "must be a positive whole number of logical blocks, below presented.sectors";
            return Err(refuse("presented.wraps_at", true_sectors, reason));
        }
        within("presented.queue_depth", self.queue_depth.into(), 1.0, 65536.0)?;
        let least = f64::from(self.logical_block.div_ceil(1024));
        within("presented.max_request_kib", self.max_request_kib.into(), least, 65536.0)?;
        for (key, limit) in [
            ("presented.max_discard_kib", self.max_discard_kib),
            ("presented.max_write_zeroes_kib", self.max_write_zeroes_kib),
        ] {
            within(key, limit.unwrap_or(self.max_request_kib).into(), least, 4_194_304.0)?;
        }
        Ok(())
    }
}
