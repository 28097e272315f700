//! Filesystems that are written here, because Linux has no program that makes them.

use super::ufs2;
use crate::units::Bytes;

#[cfg(test)]
mod tests;

/// A filesystem that is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// UFS2, see [`ufs2::pieces`].
    Ufs2,
}

impl Own {
    /// Bytes of an empty filesystem on a device of this size, and where they go. `arguments` are those
    /// of its mkfs without the device, `now` is the time in seconds.
    ///
    /// # Errors
    /// Arguments or a size that it cannot have, in words.
    pub fn pieces(
        self,
        device: Bytes,
        arguments: &[String],
        now: i64,
    ) -> Result<impl Iterator<Item = ufs2::Piece>, String> {
        match self {
            Self::Ufs2 => ufs2::pieces(device, arguments, now),
        }
    }

    /// Checks arguments of its mkfs, and the size of the device if it is known.
    ///
    /// # Errors
    /// The same as those of [`Self::pieces`].
    pub fn check(self, device: Option<Bytes>, arguments: &[String]) -> Result<(), String> {
        match self {
            Self::Ufs2 => ufs2::check(device, arguments),
        }
    }

    /// Largest logical sector on which Linux mounts it: for UFS2 the driver first asks for blocks of 512 bytes.
    #[must_use]
    pub const fn largest_sector(self) -> Bytes {
        match self {
            Self::Ufs2 => Bytes(512),
        }
    }

    /// Kernel configuration without which the driver only reads.
    #[must_use]
    pub const fn writing_config(self) -> &'static str {
        match self {
            Self::Ufs2 => "CONFIG_UFS_FS_WRITE",
        }
    }
}
