//! Hash over everything a trial did to its disks: runs with equal hashes did the same.

use std::fmt;

use seekwell_device::{Lba, Operation};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[cfg(test)]
mod tests;

/// Events between two checkpoints.
pub const CHECKPOINT_EVENTS: u64 = 1000;

/// One request that a modelled disk completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// Index of the disk, in the order of the machine's disks.
    pub disk: u8,
    /// Operation of the request.
    pub operation: Operation,
    /// First sector.
    pub lba: Lba,
    /// Length in sectors of 512 bytes.
    pub sectors: u32,
    /// Submission by the guest, in nanoseconds of virtual time.
    pub submit_ns: u64,
    /// Time at which the disk was done.
    pub complete_ns: u64,
    /// Status returned to the guest (virtio): 0 is success.
    pub status: u8,
    /// Hash of the data read or written; 0 where none moved.
    pub data: u64,
    /// Number of the request's origin, which the hash leaves out; 0 for none.
    #[serde(default)]
    pub origin: u32,
}

impl Event {
    fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[0] = self.disk;
        bytes[1] = self.operation as u8;
        bytes[2] = self.status;
        bytes[4..8].copy_from_slice(&self.sectors.to_le_bytes());
        for (slot, number) in
            [self.lba.0, self.submit_ns, self.complete_ns, self.data].iter().enumerate()
        {
            bytes[8 + slot * 8..16 + slot * 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "disk {} {:?} of {} sectors at {}, submitted at {} ns, completed at {} ns with status {}, data {:016x}",
            self.disk,
            self.operation,
            self.sectors,
            self.lba.0,
            self.submit_ns,
            self.complete_ns,
            self.status,
            self.data
        )
    }
}

/// A rolling hash over every [`Event`] of a trial, in the order of completion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The hash over all events.
    pub hash: u64,
    /// Number of events.
    pub events: u64,
    /// The hash after every [`CHECKPOINT_EVENTS`] events.
    pub checkpoints: Vec<u64>,
}

impl Fingerprint {
    /// Takes in the next event.
    pub fn add(&mut self, event: &Event) {
        self.hash = xxh3_64_with_seed(&event.bytes(), self.hash);
        self.events += 1;
        if self.events.is_multiple_of(CHECKPOINT_EVENTS) {
            self.checkpoints.push(self.hash);
        }
    }

    /// The events among which two runs first differ, as a range of positions; `None` when they
    /// are the same.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<std::ops::Range<u64>> {
        if self.hash == other.hash && self.events == other.events {
            return None;
        }
        let alike = self.checkpoints.iter().zip(&other.checkpoints).take_while(|(a, b)| a == b);
        let start = alike.count() as u64 * CHECKPOINT_EVENTS;
        Some(start..(start + CHECKPOINT_EVENTS).min(self.events.max(other.events)))
    }
}

impl fmt::Display for Fingerprint {
    /// Sixteen hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.hash)
    }
}
