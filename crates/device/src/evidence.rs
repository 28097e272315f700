//! Counters of a model's actions, which explain its times.

use serde::Serialize;

/// Counts since the device was switched on; a power cut does not reset them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed, write-zeroes among them.
    pub writes: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Sectors of 512 bytes read by the host.
    pub sectors_read: u64,
    /// Sectors of 512 bytes written by the host.
    pub sectors_written: u64,
    /// Time with at least one request outstanding.
    pub busy_ns: u64,
    /// Only a rotating disk has these.
    pub rotating: Option<RotatingEvidence>,
    /// Only flash has these.
    pub flash: Option<FlashEvidence>,
}

/// Actions of a rotating disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RotatingEvidence {
    /// Movements of the arm to another cylinder.
    pub seeks: u64,
    /// Cylinders crossed by all of them.
    pub seek_cylinders: u64,
    /// Time spent moving the arm and changing heads.
    pub seek_ns: u64,
    /// Time spent waiting for the sector to come round.
    pub rotation_ns: u64,
    /// Time spent with sectors passing under the head for a request or for destaging.
    pub transfer_ns: u64,
    /// Reads served wholly from the buffer.
    pub read_hits: u64,
    /// Reads that found the rest of their data being read ahead.
    pub read_partial_hits: u64,
    /// Reads that needed the arm.
    pub read_misses: u64,
    /// Writes acknowledged from the buffer.
    pub writes_cached: u64,
    /// Runs of sectors written from the buffer to the medium.
    pub destages: u64,
    /// Reads made only because a write did not cover whole physical blocks.
    pub read_modify_writes: u64,
}

/// Actions of a flash device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlashEvidence {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages' worth of data the host wrote (a part of a page counts as a page).
    pub host_pages: u64,
    /// Pages programmed for any reason.
    pub pages_programmed: u64,
    /// Of those, copies made to free an erase block or to complete a page.
    pub pages_copied: u64,
    /// Pages read from the cells.
    pub pages_read: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Merges that only swapped a fully written log block in.
    pub switch_merges: u64,
    /// Merges that copied the rest of the block behind the log.
    pub partial_merges: u64,
    /// Merges that copied a whole block.
    pub full_merges: u64,
    /// Times a program or an erase was suspended for a read.
    pub suspensions: u64,
    /// Reads and writes served by the write buffer alone.
    pub buffer_hits: u64,
    /// Pages programmed per page of the host; `None` before the first host write.
    pub write_amplification: Option<f64>,
    /// Erases of the block erased most often.
    pub most_worn_erases: u64,
    /// Erases that count against the rating: those of the most worn block, with wear leveling the
    /// mean of all blocks.
    pub wear: f64,
    /// Erases a block is rated for, if the device file says so.
    pub rated_erases: Option<u64>,
}

impl FlashEvidence {
    /// Years until the wear reaches the rating at the rate of the `elapsed_ns` since `before`; `None`
    /// without a rating, an erase or elapsed time.
    #[must_use]
    pub fn years_to_rating(&self, before: &Self, elapsed_ns: u64) -> Option<f64> {
        const NS_PER_YEAR: f64 = 365.25 * 86400.0 * 1e9;
        let grown = self.wear - before.wear;
        let rated = self.rated_erases.filter(|_| elapsed_ns > 0 && grown > 0.0)?;
        let left = (rated as f64 - self.wear).max(0.0);
        Some(elapsed_ns as f64 / NS_PER_YEAR * left / grown)
    }
}
