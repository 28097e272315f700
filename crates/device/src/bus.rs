//! The way to the host as the models see it: a cost per command and a time per length.

use crate::clock::{Rate, ns};
use crate::file::Bus;

/// A bus in nanoseconds; without a bus data moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) command_ns: u64,
    sector_ns: u64,
    rate: Option<Rate>,
}

impl Link {
    pub(crate) fn new(bus: Option<&Bus>) -> Self {
        let Some(bus) = bus else { return Self::default() };
        Self {
            command_ns: ns(bus.command_us),
            sector_ns: ns(bus.sector_us),
            rate: Some(Rate::from_mb_per_s(bus.mb_per_s)),
        }
    }

    /// Time for `sectors` of 512 bytes to move.
    pub(crate) fn transfer_ns(&self, sectors: u64) -> u64 {
        self.rate.map_or(0, |rate| rate.ns(sectors * 512)) + sectors * self.sector_ns
    }
}
