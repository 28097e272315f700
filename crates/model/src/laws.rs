//! The laws of modelled machines: parts of their time that an experiment can switch off.
//!
//! The one definition of each: help, reference and the sentences of `seekwell why` are made of it. The
//! device models in the crate `device` and the virtual backend implement the switches.

use crate::record::DeviceTotals;

#[cfg(test)]
mod tests;

/// Kinds of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Rotating disks.
    Rotating,
    /// Shingled rotating disks, which have the laws of the others too.
    Shingled,
    /// CompactFlash cards, USB sticks and SD cards.
    Card,
    /// Solid-state disks.
    Ssd,
    /// Fixed latency and bandwidth, among them volumes of clouds and memory.
    Fixed,
    /// The machine around the devices.
    Machine,
}

impl ModelKind {
    /// As printed in a list.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Rotating => "disks",
            Self::Shingled => "shingled disks",
            Self::Card => "cards",
            Self::Ssd => "SSDs",
            Self::Fixed => "volumes",
            Self::Machine => "the machine",
        }
    }
}

/// Counter of the judged step that a law acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Reads and writes.
    Requests,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Flushes.
    Flushes,
    /// MB read and written.
    Moved,
    /// MB written.
    Written,
}

impl Counter {
    /// Its unit after a number.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Flushes => "flushes",
            Self::Moved => "MB",
            Self::Written => "MB written",
        }
    }

    /// Its value over a step; `None` where the kernel does not count it.
    #[must_use]
    pub fn of(self, totals: &DeviceTotals) -> Option<f64> {
        Some(match self {
            Self::Requests => (totals.reads + totals.writes) as f64,
            Self::Reads => totals.reads as f64,
            Self::Writes => totals.writes as f64,
            Self::Flushes => totals.flushes? as f64,
            Self::Moved => (totals.read_bytes + totals.written_bytes) as f64 / 1e6,
            Self::Written => totals.written_bytes as f64 / 1e6,
        })
    }
}

/// Definition of a law.
#[derive(Clone, Copy, Debug)]
pub struct LawDefinition {
    /// The law.
    pub law: Law,
    /// Stable name.
    pub name: &'static str,
    /// The cause in a sentence, after "61 % of the difference is".
    pub cause: &'static str,
    /// Meaning of "off".
    pub off: &'static str,
    /// Kinds of models that have the law.
    pub models: &'static [ModelKind],
    /// Counter named with the cause; `None` where no counter of a step fits.
    pub counter: Option<Counter>,
}

macro_rules! laws {
    ($(#[$doc:meta] $law:ident $name:literal, [$($model:ident),*], $counter:expr,
        $cause:literal, $off:literal;)*) => {
        /// A law of a modelled machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Law {
            $(#[$doc] $law,)*
        }

        /// All laws, in the order of [`Law`].
        pub const LAWS: [LawDefinition; 19] = [$(LawDefinition {
            law: Law::$law,
            name: $name,
            cause: $cause,
            off: $off,
            models: &[$(ModelKind::$model),*],
            counter: $counter,
        }),*];
    };
}

laws! {
    /// Arm movements of a rotating disk.
    Seek "seek", [Rotating], Some(Counter::Requests),
        "moving the arm", "the arm reaches any cylinder at once; it still settles";
    /// Settling of the arm and switching between heads.
    Settle "settle", [Rotating], Some(Counter::Requests),
        "settling and switching heads", "the head reads and writes as soon as it is on the track";
    /// Rotational delay.
    Rotation "rotation", [Rotating], Some(Counter::Requests),
        "waiting for the sector",
        "the first sector is under the head as soon as the head has settled";
    /// Sectors passing under the head.
    Transfer "transfer", [Rotating], Some(Counter::Moved),
        "sectors passing under the head",
        "sectors pass in no time, and a run that continues need not be waited for";
    /// Overlapping tracks.
    Shingling "shingling", [Shingled], Some(Counter::Written),
        "rewriting shingled tracks", "every write goes to its own track, and nothing is cleaned";
    /// Reading of flash cells.
    Cells "cells", [Card, Ssd], Some(Counter::Reads),
        "reading flash cells", "pages are read in no time";
    /// Programming of flash cells.
    Program "program", [Card, Ssd], Some(Counter::Written),
        "programming flash cells", "pages of the host are programmed in no time";
    /// Garbage collection of flash: erasing and copying.
    Collect "collect", [Card, Ssd], Some(Counter::Written),
        "erasing and copying flash blocks", "blocks are erased and pages copied in no time";
    /// Loading the map of another erase unit.
    Mapping "mapping", [Card], Some(Counter::Requests),
        "loading the map of another erase unit",
        "a command for another erase unit costs no more than one for the same";
    /// Size of the cache of fast cells.
    FastCells "fast-cells", [Ssd], Some(Counter::Written),
        "writing more than the fast cells hold", "the cache of fast cells never fills";
    /// Throttling by temperature.
    Heat "heat", [Ssd], Some(Counter::Written),
        "throttling of the hot disk", "the disk never throttles";
    /// Channels between controller and dies.
    Channel "channel", [Ssd], Some(Counter::Moved),
        "moving data between controller and dies",
        "data moves between controller and dies in no time";
    /// Cost of each command in controller and bus.
    Overhead "overhead", [Rotating, Card, Ssd], Some(Counter::Requests),
        "the cost of each command", "electronics, firmware and bus take no time for a command";
    /// Fixed latency of each request.
    Latency "latency", [Fixed], Some(Counter::Requests),
        "the latency of each request", "reads and writes have no latency of their own";
    /// Transfer over the bus.
    Bus "bus", [Rotating, Card, Ssd, Fixed], Some(Counter::Moved),
        "moving data over the bus", "data moves between host and device in no time";
    /// Flushes of the write cache.
    Flush "flush", [Rotating, Ssd, Fixed], Some(Counter::Flushes),
        "waiting for flushes",
        "a flush completes at once and forces nothing out of the write cache";
    /// Limit of requests per second.
    RequestLimit "request-limit", [Fixed], Some(Counter::Requests),
        "the limit of requests per second", "the volume takes any number of requests per second";
    /// Limit of bytes per second.
    ByteLimit "byte-limit", [Fixed], Some(Counter::Moved),
        "the limit of bytes per second", "the volume takes any number of bytes per second";
    /// Charged CPU time.
    Cpu "cpu", [Machine], None,
        "CPU time", "no CPU time is charged, as without --cpu";
}

impl Law {
    /// Its definition.
    #[must_use]
    pub fn definition(self) -> &'static LawDefinition {
        &LAWS[self as usize]
    }

    /// Its stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// A product without the law, or with less of it.
    #[must_use]
    pub const fn product(self) -> Option<&'static str> {
        Some(match self {
            Self::Seek | Self::Settle | Self::Rotation => "an SSD",
            Self::Flush => "a drive with power-loss protection",
            Self::Shingling => "a disk without shingles",
            Self::FastCells => "an SSD with a larger cache",
            Self::Heat => "better cooling",
            Self::RequestLimit | Self::ByteLimit => "a larger volume",
            Self::Cpu => "a faster CPU",
            _ => return None,
        })
    }

    /// The law of a name; `None` for one of another version.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        LAWS.iter().find(|one| one.name == name).map(|one| one.law)
    }
}

/// A set of laws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LawSet(u32);

impl LawSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns true if the law is in the set.
    #[must_use]
    pub const fn contains(self, law: Law) -> bool {
        self.0 >> law as u32 & 1 == 1
    }

    /// Returns true without a law.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with one more law if `is_in` is true.
    #[must_use]
    pub const fn with(self, law: Law, is_in: bool) -> Self {
        Self(self.0 | (is_in as u32) << law as u32)
    }

    /// Laws of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The laws, in the order of [`LAWS`].
    pub fn iter(self) -> impl Iterator<Item = Law> {
        LAWS.iter().map(|one| one.law).filter(move |law| self.contains(*law))
    }
}

impl FromIterator<Law> for LawSet {
    fn from_iter<I: IntoIterator<Item = Law>>(laws: I) -> Self {
        laws.into_iter().fold(Self::NONE, |set, law| set.with(law, true))
    }
}

/// The catalogue as a table for help and reference: name, models, meaning of "off"; a line each.
#[must_use]
pub fn law_table() -> String {
    let models = |one: &LawDefinition| {
        one.models.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(", ")
    };
    let line = |one: &LawDefinition| format!("  {:<14} {} ({})", one.name, one.off, models(one));
    LAWS.iter().map(line).collect::<Vec<_>>().join("\n")
}
