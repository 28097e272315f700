//! The nouns of Seekwell as plain data.
//!
//! Here live the units, the lab, the stack, the plan, the trial's request and record, the verdict,
//! and five catalogues: filesystems, layers, workload kinds, metrics and laws of modelled machines.
//! Everything that two rooms must agree on is here, so that the rooms need not know each other.
//!
//! This room never does I/O, reads no clock, and decides nothing.

pub mod agent;
pub mod answer;
pub mod backend;
pub mod backing;
pub mod bench;
pub mod comparison;
pub mod durability;
pub mod field;
pub mod filesystems;
pub mod lab;
pub mod laws;
pub mod layers;
pub mod metrics;
pub mod model_error;
pub mod origin;
pub mod plan;
pub mod power_cut;
pub mod record;
pub mod replay_check;
pub mod replication;
pub mod shared;
pub mod stack;
pub mod units;
pub mod verdict;
pub mod warning;
pub mod why;
pub mod workloads;

/// Version of the JSON of a run and of the messages to an agent.
///
/// `MAJOR.MINOR`: a reader refuses a newer major version and ignores unknown fields of a newer
/// minor one.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Version of the run file, by the same rules. Earlier major versions stay readable.
///
/// 1.0: records as text, one row per metric. 2.0: records deflated behind a prefix, metrics in
/// blocks, digests over everything.
pub const RUN_FILE_FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// A format version, written `MAJOR.MINOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    /// Raised when an older reader would misread the data.
    pub major: u32,
    /// Raised when something was added that an older reader may ignore.
    pub minor: u32,
}

impl std::fmt::Display for FormatVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl std::str::FromStr for FormatVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('.').and_then(|(major, minor)| {
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("'{text}' is not a format version (expected MAJOR.MINOR)"))
    }
}
