//! Block requests of a trial with their origins.

use serde::{Deserialize, Serialize};

/// Cause of a block request.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    /// The log of a filesystem.
    Journal,
    /// Other blocks of a filesystem's own.
    Metadata,
    /// Content of a file, or of a raw device.
    Data,
    /// A flush of the write cache.
    Flush,
    /// Sectors that are no longer used.
    Discard,
    /// The kernel could not find it.
    #[default]
    Unknown,
}

impl OriginKind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Journal, Self::Metadata, Self::Data, Self::Flush, Self::Discard, Self::Unknown];

    /// Its name.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Metadata => "metadata",
            Self::Data => "data",
            Self::Flush => "flushes",
            Self::Discard => "discards",
            Self::Unknown => "unknown origin",
        }
    }
}

/// Origin of a block request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Its kind.
    pub kind: OriginKind,
    /// Path of the file in its filesystem when the request was made; empty without one.
    pub path: String,
}

/// One block request of a virtual trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// Submission, nanoseconds since the step began.
    pub at_ns: u64,
    /// Time until the device was done.
    pub took_ns: u64,
    /// Index of the device in [`TracedStep::devices`].
    pub device: u8,
    /// True for everything that changes the device.
    pub writes: bool,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Index of its origin in [`TracedStep::origins`].
    pub origin: u32,
}

/// Requests of a step, in the order of completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedStep {
    /// Length of the step, until its data is durable.
    pub elapsed_ns: u64,
    /// Sectors of each device.
    pub devices: Vec<u64>,
    /// Origins of the requests.
    pub origins: Vec<Origin>,
    /// The requests.
    pub requests: Vec<TracedRequest>,
}
