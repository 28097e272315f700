//! The directory of a trial in a claimed directory of an NFS server, on the undo list before it is made.

use crate::error::{Error, Result};
use crate::export::{Place, Reached};
use crate::filesystem::mount_as;
use crate::undo::{Target, Undo};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use seekwell_model::filesystems::NFS_CLIENT;
use seekwell_model::stack::Export;
use std::os::fd::AsRawFd;
use std::path::Path;

#[cfg(test)]
mod tests;

/// The directory of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialDirectory {
    export: Export,
    place: Place,
}

impl TrialDirectory {
    /// Makes one in a claimed directory.
    ///
    /// # Errors
    /// When the server does not answer, [`Reached::check`] refuses, or the directory cannot be made.
    pub fn make(undo: &mut Undo, export: &Export) -> Result<Self> {
        Self::within(undo, export, &Reached::mount(&export.from, &export.version)?)
    }

    fn within(undo: &mut Undo, export: &Export, reached: &Reached) -> Result<Self> {
        let place = Place::new(reached)?;
        undo.record(&Target::TrialDirectory(place.clone()))?;
        place.make(reached)?;
        Ok(Self { export: export.clone(), place })
    }

    /// The command and options of [`Self::mount`], for the record.
    ///
    /// # Errors
    /// Never for one that [`Self::make`] made.
    pub fn described(&self, options: &[String]) -> Result<String> {
        let (kind, _) = self.place.source()?;
        let all = self.options(options).join(",");
        Ok(format!("mount -t {kind} -o {all} {}", self.export.from))
    }

    fn options(&self, further: &[String]) -> Vec<String> {
        let mut options = self.place.options();
        options.push("hard".to_owned());
        options.extend(self.export.rsize.map(|size| format!("rsize={}", size.0)));
        options.extend(self.export.wsize.map(|size| format!("wsize={}", size.0)));
        options.extend(further.iter().cloned());
        options
    }

    /// Mounts it on `target`; the claimed directory is on `whole` for a moment.
    ///
    /// # Errors
    /// The kernel's, and when the directory is gone.
    pub fn mount(&self, whole: &Path, target: &Path, options: &[String]) -> Result<()> {
        let (kind, source) = self.place.source()?;
        mount_as(kind, NFS_CLIENT, &source, whole, &self.options(options))?;
        let bound = self.bind(whole, target);
        // The mount of the directory keeps the filesystem.
        let hidden = unmount(whole, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
            .map_err(Error::io("unmount", whole));
        bound.and(hidden)
    }

    fn bind(&self, whole: &Path, target: &Path) -> Result<()> {
        let path = whole.join(&self.place.name);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            rustix::fs::open(&path, flags, Mode::empty()).map_err(Error::io("open", &path))?;
        mount_bind(format!("/proc/self/fd/{}", opened.as_raw_fd()), target)
            .map_err(Error::io("mount on", target))
    }
}
