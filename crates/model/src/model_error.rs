//! Known error of device models: how far they miss published figures, by class of request.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests of at least this size are large: they cost a device mainly transfer, smaller ones mainly access.
pub const LARGE_REQUEST: Bytes = Bytes::kib(64);

/// A model is checked against published figures to this factor: a smaller error of it is not known.
pub const CHECKED_TO: f64 = 1.10;

/// Requests that cost a device much the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestClass {
    /// Reads smaller than [`LARGE_REQUEST`].
    SmallReads,
    /// Other reads.
    LargeReads,
    /// Writes smaller than [`LARGE_REQUEST`].
    SmallWrites,
    /// Other writes.
    LargeWrites,
    /// Flushes, and writes with a flush each.
    Flushes,
    /// The slowest of the small reads: percentiles of their latency from 90 on.
    SlowestReads,
}

impl RequestClass {
    /// The class in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::SmallReads => "small reads",
            Self::LargeReads => "large reads",
            Self::SmallWrites => "small writes",
            Self::LargeWrites => "large writes",
            Self::Flushes => "flushes",
            Self::SlowestReads => "the slowest reads",
        }
    }

    /// The class of reads of this size.
    #[must_use]
    pub const fn reads(size: Bytes) -> Self {
        if size.0 < LARGE_REQUEST.0 { Self::SmallReads } else { Self::LargeReads }
    }

    /// The class of writes of this size.
    #[must_use]
    pub const fn writes(size: Bytes) -> Self {
        if size.0 < LARGE_REQUEST.0 { Self::SmallWrites } else { Self::LargeWrites }
    }
}

/// The published figure of a class that a model misses most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelError {
    /// The larger of the published and the modelled figure over the smaller; at least 1.
    pub factor: f64,
    /// The figure with both numbers.
    pub figure: String,
}

/// Known errors of one model. A class without a published figure is absent: its error is not known.
pub type ModelErrors = BTreeMap<RequestClass, ModelError>;
