//! Durability classes of stacks.

use serde::{Deserialize, Serialize};

/// Guarantee for data at a power cut, weakest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityClass {
    /// Every write that returned survives, in order.
    EveryWrite,
    /// Every write before a returned `fsync` survives, and the filesystem is consistent.
    Synced,
    /// Every write before a returned `fsync` survives; files written without it may contain old blocks,
    /// or the filesystem needs a check first.
    Unordered,
    /// Data that `fsync` returned for may be lost, or the filesystem with it.
    Unsafe,
    /// Nothing is left: it is in memory.
    Volatile,
}

impl DurabilityClass {
    /// The stable word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::EveryWrite => "every-write",
            Self::Synced => "synced",
            Self::Unordered => "unordered",
            Self::Unsafe => "unsafe",
            Self::Volatile => "volatile",
        }
    }
}
