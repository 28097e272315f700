//! Places of recorded requests on another device.

use crate::error::ReplayError;

/// Part of a device whose requests stay neighbours.
const CHUNK: u64 = 1 << 20;

/// Rule by which a recorded offset becomes one of the target.
///
/// On a device that holds all recorded requests every offset stays as it is. On a smaller one, or
/// with `stretch`, each MiB of the recorded range goes to the MiB at the same relative position of
/// the target; requests within one stay neighbours. Ends are rounded to sectors of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    reach_bytes: u64,
    device_bytes: u64,
    sector_bytes: u64,
    moves: bool,
}

impl Place {
    /// The rule for requests that end before `reach_bytes`, none longer than `longest_bytes`.
    ///
    /// # Errors
    /// [`ReplayError::SmallDevice`] when the target has no room for the longest request or has less
    /// than 1 MiB.
    pub fn new(
        reach_bytes: u64,
        longest_bytes: u64,
        device_bytes: u64,
        sector_bytes: u32,
        stretch: bool,
    ) -> Result<Self, ReplayError> {
        let sector_bytes = u64::from(sector_bytes.max(1));
        let device_bytes = device_bytes - device_bytes % sector_bytes;
        // Rounding may add a sector at each end.
        let needed = longest_bytes.saturating_add(2 * sector_bytes).max(CHUNK);
        if device_bytes < needed {
            return Err(ReplayError::SmallDevice { needed, device_bytes });
        }
        let moves = stretch || reach_bytes > device_bytes;
        Ok(Self { reach_bytes, device_bytes, sector_bytes, moves })
    }

    /// True when requests go to other offsets than recorded.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.moves
    }

    /// Offset and length on the target.
    #[must_use]
    pub fn of(&self, offset: u64, bytes: u64) -> (u64, u64) {
        let moved = if self.moves { self.moved(offset) } else { offset };
        let start = moved - moved % self.sector_bytes;
        let end = moved.saturating_add(bytes).next_multiple_of(self.sector_bytes);
        // Discards may be longer than the device.
        let length = (end - start).min(self.device_bytes);
        (start.min(self.device_bytes - length), length)
    }

    /// Bytes of the device from an offset to its end.
    #[must_use]
    pub fn room(&self, offset: u64) -> u64 {
        self.device_bytes.saturating_sub(offset)
    }

    fn moved(&self, offset: u64) -> u64 {
        let recorded = u128::from(self.reach_bytes.div_ceil(CHUNK).max(1));
        let chunks = u128::from(self.device_bytes / CHUNK);
        let chunk = u128::from(offset / CHUNK) * chunks / recorded;
        // Fits: the quotient is at most the number of chunks of the target.
        chunk as u64 * CHUNK + offset % CHUNK
    }
}

#[cfg(test)]
mod tests;
