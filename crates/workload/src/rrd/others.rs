//! Other files between round-robin files, as years of use leave them.

use crate::error::WorkloadError;
use crate::mail::Root;
use seekwell_engine::buffer::{Arena, ArenaShape, DataShape};
use seekwell_model::units::Bytes;
use seekwell_stats::derive_seed;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes written at a time.
const BLOCK_BYTES: u32 = 64 << 10;

/// A folder of files, one for each round-robin file.
#[derive(Debug)]
pub(super) struct Others {
    /// The filesystem is synced by it.
    folder: Root,
    content: Arena,
    size: Bytes,
}

impl Others {
    /// Makes the folder, for files of this size.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(parent: &Path, size: Bytes, seed: u64) -> Result<Self, WorkloadError> {
        let folder = parent.join("others");
        std::fs::create_dir(&folder).map_err(WorkloadError::file("make the directory", &folder))?;
        let shape = ArenaShape {
            block_bytes: BLOCK_BYTES,
            depth: 1,
            reads: false,
            writes: true,
            data: DataShape::default(),
        };
        let content = Arena::new(shape, derive_seed(seed, "rrd others"))
            .map_err(WorkloadError::file("map the buffers for", &folder))?;
        Ok(Self { folder: Root::open(folder)?, content, size })
    }

    /// Makes a file, and syncs everything: the next file finds the filesystem as on a later day.
    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// When it cannot be written or synced.
    pub fn add(&mut self, name: &str) -> Result<u64, WorkloadError> {
        let path = self.folder.path.join(name);
        let failed = || WorkloadError::file("write", &path);
        let mut file = File::create_new(&path).map_err(failed())?;
        let mut left = usize::try_from(self.size.0).unwrap_or(usize::MAX);
        while left > 0 {
            let block = self.content.block();
            let length = left.min(block.len());
            file.write_all(&block[..length]).map_err(failed())?;
            left -= length;
        }
        rustix::fs::syncfs(&self.folder.directory)
            .map_err(WorkloadError::file("sync", &self.folder.path))?;
        Ok(self.size.0)
    }
}
