//! The origin of a block device.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The origin of a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backing {
    /// A loop device with direct I/O on an image that was written in full once.
    Loop {
        /// Size of the image.
        size: Bytes,
        /// Directory for the nameless image; `None` is the run's scratch directory.
        directory: Option<PathBuf>,
        /// Logical sector size, 512 or 4096.
        sector: Bytes,
    },
    /// A loop device with direct I/O on an image in tmpfs: the upper bound.
    Ram {
        /// Size of the image.
        size: Bytes,
        /// Logical sector size, 512 or 4096.
        sector: Bytes,
    },
    /// A whole disk by stable path (`/dev/disk/by-id/…`), claimed.
    Disk {
        /// Stable path.
        path: PathBuf,
    },
    /// A partition by stable path, claimed.
    Partition {
        /// Stable path.
        path: PathBuf,
    },
    /// A modelled device of the virtual backend.
    Model {
        /// Name of a device file.
        model: String,
        /// Size, when it is not to be the model's own.
        size: Option<Bytes>,
        /// Offset of the partition of that size on the model; its beginning if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Bytes>,
    },
}

impl Backing {
    /// Returns true if the runner makes an image for it.
    #[must_use]
    pub fn is_image(&self) -> bool {
        matches!(self, Self::Loop { .. } | Self::Ram { .. })
    }

    /// Size, where the lab states it.
    #[must_use]
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Self::Loop { size, .. } | Self::Ram { size, .. } => Some(*size),
            Self::Model { size, .. } => *size,
            Self::Disk { .. } | Self::Partition { .. } => None,
        }
    }
}
