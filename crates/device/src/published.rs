//! Figures published for a device, as its file lists them under `[[published]]`.

use serde::Deserialize;

use crate::error::{DeviceError, refuse, within};

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
    /// Random reads of 4 KiB a second over the whole device, `depth` at a time.
    RandomReads,
    /// Random writes of 4 KiB a second in steady state, `depth` at a time.
    RandomWrites,
    /// A flush after `dirty` random writes of 4 KiB, in milliseconds.
    Flush,
}

impl Figure {
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::ReadStart | Self::ReadEnd | Self::ReadMean | Self::WriteStart => "MB/s",
            Self::RandomReads | Self::RandomWrites => "/s",
            Self::Flush => "ms",
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

impl Published {
    pub(crate) fn check(&self, index: usize) -> Result<(), DeviceError> {
        let key = |name: &str| format!("published.{index}.{name}");
        within(&key("value"), self.value, 1e-6, 1e12)?;
        within(&key("depth"), self.depth.into(), 1.0, 1024.0)?;
        within(&key("dirty"), self.dirty.into(), 1.0, 4096.0)?;
        if self.source.trim().is_empty() {
            return Err(refuse(&key("source"), "''", "must say where the figure is published"));
        }
        Ok(())
    }

    /// Name for people, with the depth where it matters.
    pub(crate) fn name(&self) -> String {
        match self.figure {
            Figure::ReadStart => "sequential read, start".to_owned(),
            Figure::ReadEnd => "sequential read, end".to_owned(),
            Figure::ReadMean => "sequential read, mean".to_owned(),
            Figure::WriteStart => "sequential write, start".to_owned(),
            Figure::RandomReads => format!("random reads, depth {}", self.depth),
            Figure::RandomWrites => format!("random writes, depth {}", self.depth),
            Figure::Flush => format!("flush after {} random writes", self.dirty),
        }
    }
}
