//! Placement of the files of a directory, and the free space around them.

use super::free::{self, FreeSpace};
use crate::error::WorkloadError;
use crate::mail::{Root, walk};
use crate::outcome::StepOutcome;
use rustix::fs::{Mode, OFlags};
use seekwell_host::fiemap;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// Placement of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Files that have data.
    pub files: u64,
    /// Their extents; those that continue each other on the device are one. `None` where the
    /// filesystem does not tell.
    pub extents: Option<u64>,
    /// Number of files by number of extents, as far as the filesystem reports them.
    pub files_by_extents: BTreeMap<u64, u64>,
    /// Bytes on the device between an extent of a file and its next, forwards or backwards, over
    /// all of them.
    pub gap_bytes: u64,
    /// Number of such gaps.
    pub gaps: u64,
    /// Part of the filesystem that is in use; `None` when it does not say.
    pub used_share: Option<f64>,
    /// Free space; `None` when the filesystem does not report it.
    pub free: Option<FreeSpace>,
}

impl Layout {
    /// Looks at every file below a directory; what is not yet written back is written back first.
    ///
    /// # Errors
    /// When the directory or a file in it cannot be read.
    pub fn of(directory: &Path) -> Result<Self, WorkloadError> {
        let root = Root::open(directory.to_owned())?;
        rustix::fs::syncfs(&root.directory).map_err(WorkloadError::file("sync", directory))?;
        let mut found = Self { extents: Some(0), ..Self::default() };
        walk::files(&root, |at, name| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOATIME;
            // Who is not the owner may not leave the access time alone.
            let opened = rustix::fs::openat(at, name, flags, Mode::empty())
                .or_else(|_| rustix::fs::openat(at, name, flags - OFlags::NOATIME, Mode::empty()));
            let path = || directory.join(name.to_string_lossy().as_ref());
            let file = opened.map_err(|errno| WorkloadError::file("open", &path())(errno))?;
            found.add(&File::from(file));
            Ok(true)
        })?;
        let facts = rustix::fs::fstatvfs(&root.directory)
            .map_err(WorkloadError::file("find the free space of", directory))?;
        if facts.f_blocks > 0 {
            found.used_share = Some(1.0 - facts.f_bfree as f64 / facts.f_blocks as f64);
        }
        found.free = free::space(&root.directory).ok();
        Ok(found)
    }

    fn add(&mut self, file: &File) {
        let Ok(Some(extents)) = fiemap::extents(file.as_fd()) else {
            self.files += 1;
            self.extents = None;
            return;
        };
        if extents.is_empty() {
            return;
        }
        self.files += 1;
        self.extents = self.extents.map(|sum| sum + extents.len() as u64);
        *self.files_by_extents.entry(extents.len() as u64).or_default() += 1;
        for pair in extents.windows(2) {
            self.gap_bytes += pair[1].physical.abs_diff(pair[0].physical + pair[0].length);
            self.gaps += 1;
        }
    }

    /// Mean number of extents of a file; `None` without files.
    #[must_use]
    pub fn extents_per_file(&self) -> Option<f64> {
        let extents = self.extents?;
        (self.files > 0).then(|| extents as f64 / self.files as f64)
    }

    /// Median number of extents of a file, of an even number of files the smaller of the two in the
    /// middle; `None` without files, or where the filesystem does not tell.
    #[must_use]
    pub fn extents_p50(&self) -> Option<u64> {
        self.extents?;
        let mut seen = 0;
        let mut middle = self.files_by_extents.iter().skip_while(|(_, files)| {
            seen += **files;
            2 * seen < self.files
        });
        middle.next().map(|(extents, _)| *extents)
    }

    /// Mean distance on the device from the end of one extent of a file to the start of the next, in
    /// bytes; 0 if every file has one extent.
    #[must_use]
    pub fn extent_distance(&self) -> Option<f64> {
        self.extents?;
        Some(if self.gaps == 0 { 0.0 } else { self.gap_bytes as f64 / self.gaps as f64 })
    }

    /// Sets the metrics of a layout.
    pub fn add_to(&self, outcome: &mut StepOutcome) {
        let free = self.free.as_ref();
        let below = |index: usize| free.map(|free| free.bytes[index] as f64);
        outcome.set([
            ("files", Some(self.files as f64)),
            ("extents_per_file", self.extents_per_file()),
            ("extents_p50", self.extents_p50().map(|extents| extents as f64)),
            ("extent_distance", self.extent_distance()),
            ("used_share", self.used_share),
            ("free_extents", free.map(|free| free.extents as f64)),
            ("free_largest", free.map(|free| free.largest as f64)),
            ("free_under_64k", below(0)),
            ("free_under_1m", below(1)),
            ("free_under_16m", below(2)),
            ("free_from_16m", below(3)),
        ]);
    }
}
