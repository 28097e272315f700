//! The way to the host: a cost per command and a time per length.

use serde::Deserialize;

use crate::clock::{Rate, ns};
use crate::error::{DeviceError, within};
use crate::model::Operation;

/// A way to the host: one card may be used in a slot, in an adaptor or in a reader.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Its name, for example `usb2`.
    pub name: String,
    /// Cost of each command, in microseconds.
    pub command_us: f64,
    /// The same of each write, write-zeroes and discard where it differs, in microseconds; solid-state disks only.
    pub write_command_us: Option<f64>,
    /// Cost of each block of 512 bytes in addition to its transfer, in microseconds (programmed I/O interrupts once a block).
    #[serde(default)]
    pub sector_us: f64,
    /// Rate while data moves, in 10^6 bytes a second.
    pub mb_per_s: f64,
    /// Longest read or write on this bus in KiB; absent when the device alone sets the limit.
    pub max_request_kib: Option<u32>,
    /// Requests taken at once on this bus; absent when the device alone sets the limit.
    pub queue_depth: Option<u32>,
}

impl Bus {
    pub(crate) fn check(&self, key: &str) -> Result<(), DeviceError> {
        within(&format!("{key}.command_us"), self.command_us, 0.0, 1e6)?;
        if let Some(us) = self.write_command_us {
            within(&format!("{key}.write_command_us"), us, 0.0, 1e6)?;
        }
        within(&format!("{key}.sector_us"), self.sector_us, 0.0, 1e6)?;
        within(&format!("{key}.mb_per_s"), self.mb_per_s, 1e-3, 1e6)?;
        if let Some(limit) = self.max_request_kib {
            within(&format!("{key}.max_request_kib"), limit.into(), 1.0, 65536.0)?;
        }
        if let Some(depth) = self.queue_depth {
            within(&format!("{key}.queue_depth"), depth.into(), 1.0, 65536.0)?;
        }
        Ok(())
    }
}

/// A bus in nanoseconds; without a bus data moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) command_ns: u64,
    write_command_ns: u64,
    sector_ns: u64,
    rate: Option<Rate>,
}

impl Link {
    pub(crate) fn new(bus: Option<&Bus>) -> Self {
        let Some(bus) = bus else { return Self::default() };
        Self {
            command_ns: ns(bus.command_us),
            write_command_ns: ns(bus.write_command_us.unwrap_or(bus.command_us)),
            sector_ns: ns(bus.sector_us),
            rate: Some(Rate::from_mb_per_s(bus.mb_per_s)),
        }
    }

    /// Returns true if data takes time to move.
    pub(crate) fn moves(&self) -> bool {
        self.rate.is_some() || self.sector_ns > 0
    }

    /// Takes the time of commands away.
    pub(crate) fn drop_commands(&mut self) {
        (self.command_ns, self.write_command_ns) = (0, 0);
    }

    /// Takes the time of data away.
    pub(crate) fn drop_transfer(&mut self) {
        (self.sector_ns, self.rate) = (0, None);
    }

    /// Cost of a command that does this.
    pub(crate) fn command_of_ns(&self, operation: Operation) -> u64 {
        match operation {
            Operation::Read | Operation::Flush => self.command_ns,
            Operation::Write | Operation::WriteZeroes | Operation::Discard => self.write_command_ns,
        }
    }

    /// Time for `sectors` of 512 bytes to move.
    pub(crate) fn transfer_ns(&self, sectors: u64) -> u64 {
        self.rate.map_or(0, |rate| rate.ns(sectors * 512)) + sectors * self.sector_ns
    }
}
