//! A number that changes when a device behaves differently, by its file or by the code of its model.
//!
//! A run keeps the fingerprints of its devices, so that a later version of the program can tell that it would measure
//! something else.

use crate::build::build;
use crate::file::DeviceFile;
use crate::model::Operation;
use crate::shrunk::showable;
use crate::trial::{Load, Places, Trial};

#[cfg(test)]
mod tests;

/// Loads of the fingerprint in their order: operation, bytes of a request, requests at once, number of requests.
const LOADS: [(Operation, u32, u32, u32); 12] = [
    (Operation::Write, 64 << 10, 1, 96),
    (Operation::Flush, 0, 1, 1),
    (Operation::Read, 64 << 10, 1, 96),
    (Operation::Read, 4 << 10, 1, 64),
    (Operation::Read, 4 << 10, 8, 128),
    (Operation::Write, 4 << 10, 1, 64),
    (Operation::Flush, 0, 1, 1),
    (Operation::Write, 4 << 10, 8, 256),
    (Operation::Read, 4 << 10, 4, 64),
    (Operation::Flush, 0, 1, 1),
    (Operation::Write, 4 << 10, 32, 512),
    (Operation::Flush, 0, 1, 1),
];

/// Hash of the times that a device takes for a fixed sequence of requests: reads, writes and flushes, in a row and at
/// random, one and several at once. Loads that the device does not take are left out.
///
/// Devices with equal fingerprints may differ under other loads; different fingerprints always mean another behaviour. A
/// solid-state disk is compared at a smaller capacity and filled, as where its published figures are.
#[must_use]
pub fn fingerprint(file: &DeviceFile) -> u64 {
    let mut trial = Trial::new(build(&showable(file), 1));
    let geometry = trial.geometry();
    let mut hash = Hash::default();
    for (index, (operation, bytes, depth, count)) in LOADS.into_iter().enumerate() {
        let block = geometry.logical_block.max(512);
        let most = (geometry.max_request_bytes / block * block).max(block);
        let bytes = if operation == Operation::Flush { 0 } else { bytes.min(most).max(block) };
        let load = Load { operation, bytes, depth: depth.min(geometry.queue_depth), count };
        let places = if bytes > 4 << 10 {
            Places::InTurn { count: 1, apart: geometry.sectors_512 }
        } else {
            Places::Random { sectors: geometry.sectors_512 }
        };
        for latency_ns in trial.latencies(load, places).unwrap_or_default() {
            hash.add(index as u64);
            hash.add(latency_ns);
        }
    }
    hash.0
}

/// FNV-1a of 64 bits.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
