//! Figures published for a device, as its file lists them under `[[published]]`.

use seekwell_model::model_error::RequestClass;
use seekwell_model::units::Bytes;
use serde::Deserialize;

use crate::amount::bytes as amount;
use crate::error::{DeviceError, refuse, within};
use crate::model::Operation;
use crate::trial::{Load, Stream};

/// Quantity measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Sequential reading at the start of the device, in 10^6 bytes a second.
    ReadStart,
    /// Sequential reading at its end.
    ReadEnd,
    /// Sequential reading, nine places over the whole device together.
    ReadMean,
    /// Sequential writing at the start of the device.
    WriteStart,
    /// Sequential writing, nine places over the whole device together.
    WriteMean,
    /// Sequential writing after twice as much as a cache of faster cells takes.
    WriteAfterCache,
    /// Sequential writing of a device that is as hot as it gets before it is throttled.
    WriteHot,
    /// Writes of `bytes` to `places` erase units in turn, in 10^6 bytes a second.
    WritesInTurn,
    /// Random reads of `bytes` a second over the whole device, `depth` at a time.
    RandomReads,
    /// Random reads of `bytes` a second of a volume that has used up its credits, `depth` at a time.
    RandomReadsWithoutCredits,
    /// Random writes of `bytes` a second in steady state, `depth` at a time.
    RandomWrites,
    /// Random writes of `bytes` a second to a device that holds nothing yet.
    RandomWritesEmpty,
    /// Random writes of `bytes` a second, each followed by a flush.
    SyncedWrites,
    /// Latency of random reads that `percentile` per cent do not exceed, in milliseconds.
    ReadLatency,
    /// A flush after `dirty` random writes of `bytes`, in milliseconds.
    Flush,
    /// Bytes programmed for each byte of random writes of `bytes` in steady state, `depth` at a time.
    WriteAmplification,
}

impl Figure {
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::ReadStart
            | Self::ReadEnd
            | Self::ReadMean
            | Self::WriteStart
            | Self::WriteMean
            | Self::WriteAfterCache
            | Self::WriteHot
            | Self::WritesInTurn => "MB/s",
            Self::RandomReads
            | Self::RandomReadsWithoutCredits
            | Self::RandomWrites
            | Self::RandomWritesEmpty
            | Self::SyncedWrites => "/s",
            Self::ReadLatency | Self::Flush => "ms",
            Self::WriteAmplification => "times",
        }
    }
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Quantity measured.
    pub figure: Figure,
    /// Requests at a time; 1 when absent.
    #[serde(default = "one")]
    pub depth: u32,
    /// Bytes of a request; when absent 4096 of a random one and 131,072 of a sequential one.
    pub bytes: Option<u32>,
    /// Erase units written in turn; 1 when absent.
    #[serde(default = "one")]
    pub places: u32,
    /// Per cent of the requests; 50 when absent.
    #[serde(default = "half")]
    pub percentile: f64,
    /// Bus on which it was measured; the first when absent.
    pub bus: Option<String>,
    /// Writes before a flush; 1 when absent.
    #[serde(default = "one")]
    pub dirty: u32,
    /// The figure, in its unit.
    pub value: f64,
    /// Publication.
    pub source: String,
    /// True when a number of the file was chosen so that the model has this figure.
    #[serde(default)]
    pub calibrates: bool,
}

const fn one() -> u32 {
    1
}

const fn half() -> f64 {
    50.0
}

impl Published {
    pub(crate) fn check(&self, index: usize, buses: &[String]) -> Result<(), DeviceError> {
        let key = |name: &str| format!("published.{index}.{name}");
        within(&key("value"), self.value, 1e-6, 1e12)?;
        within(&key("depth"), self.depth.into(), 1.0, 1024.0)?;
        within(&key("dirty"), self.dirty.into(), 1.0, 4096.0)?;
        within(&key("places"), self.places.into(), 1.0, 1024.0)?;
        within(&key("percentile"), self.percentile, 0.0, 100.0)?;
        if let Some(bytes) = self.bytes.filter(|bytes| *bytes == 0 || bytes % 512 != 0) {
            return Err(refuse(&key("bytes"), bytes, "must be a multiple of 512"));
        }
        if let Some(bus) = self.bus.as_ref().filter(|bus| !buses.contains(bus)) {
            return Err(refuse(&key("bus"), bus, format!("must be one of {}", buses.join(", "))));
        }
        if self.source.trim().is_empty() {
            return Err(refuse(&key("source"), "''", "must say where the figure is published"));
        }
        Ok(())
    }

    /// Bytes of a random request.
    pub(crate) fn random_bytes(&self) -> u32 {
        self.bytes.unwrap_or(4096)
    }

    /// Bytes of a sequential request.
    fn stream_bytes(&self) -> u32 {
        self.bytes.unwrap_or(128 << 10)
    }

    /// So many random requests.
    pub(crate) fn load(&self, operation: Operation, count: u32) -> Load {
        Load { operation, bytes: self.random_bytes(), depth: self.depth, count }
    }

    /// Sequential requests for a number of bytes.
    pub(crate) fn stream(&self, operation: Operation, lba: u64, bytes: u64) -> Stream {
        Stream { operation, lba, bytes, size: self.stream_bytes(), depth: self.depth }
    }

    /// The class of the requests that were measured.
    pub(crate) fn class(&self) -> RequestClass {
        let (random, stream) = (self.random_bytes(), self.stream_bytes());
        match self.figure {
            Figure::ReadStart | Figure::ReadEnd | Figure::ReadMean => {
                RequestClass::reads(Bytes(stream.into()))
            }
            Figure::WriteStart | Figure::WriteMean | Figure::WriteAfterCache | Figure::WriteHot => {
                RequestClass::writes(Bytes(stream.into()))
            }
            Figure::RandomReads | Figure::RandomReadsWithoutCredits => {
                RequestClass::reads(Bytes(random.into()))
            }
            Figure::WritesInTurn
            | Figure::RandomWrites
            | Figure::RandomWritesEmpty
            | Figure::WriteAmplification => RequestClass::writes(Bytes(random.into())),
            Figure::ReadLatency if self.percentile >= 90.0 => RequestClass::SlowestReads,
            Figure::ReadLatency => RequestClass::reads(Bytes(random.into())),
            Figure::SyncedWrites | Figure::Flush => RequestClass::Flushes,
        }
    }

    /// Name for people, with the size, depth and bus where they matter.
    pub(crate) fn name(&self) -> String {
        let depth = self.depth;
        let size = self.bytes.map_or(String::new(), |size| format!(" of {}", amount(size.into())));
        let deep = if depth > 1 { format!(", depth {depth}") } else { String::new() };
        let name = match self.figure {
            Figure::ReadStart => format!("sequential read{size}, start{deep}"),
            Figure::ReadEnd => format!("sequential read{size}, end{deep}"),
            Figure::ReadMean => format!("sequential read{size}, mean{deep}"),
            Figure::WriteStart => format!("sequential write{size}, start{deep}"),
            Figure::WriteMean => format!("sequential write{size}, mean{deep}"),
            Figure::WriteAfterCache => format!("sequential write{size}, behind the cache{deep}"),
            Figure::WriteHot => format!("sequential write{size}, hot{deep}"),
            Figure::WritesInTurn => format!("writes{size} to {} units in turn", self.places),
            Figure::RandomReads => format!("random reads{size}, depth {depth}"),
            Figure::RandomReadsWithoutCredits => {
                format!("random reads{size} without credits, depth {depth}")
            }
            Figure::RandomWrites => format!("random writes{size}, depth {depth}"),
            Figure::RandomWritesEmpty => {
                format!("random writes{size} to the empty device, depth {depth}")
            }
            Figure::SyncedWrites => format!("random writes{size} with a flush each"),
            Figure::ReadLatency => format!("random read{size}, percentile {}", self.percentile),
            Figure::Flush => format!("flush after {} random writes{size}", self.dirty),
            Figure::WriteAmplification => {
                format!("write amplification of random writes{size}, depth {depth}")
            }
        };
        self.bus.as_ref().map_or(name.clone(), |bus| format!("{name}, on {bus}"))
    }
}
