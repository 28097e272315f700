//! Removes the tree as `rm -r` does.

use super::{Mail, Meter, Root, Totals, walk};
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::StepContext;
use rustix::fs::{AtFlags, FileType};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Kinds of calls, and their indices in [`KINDS`].
const KINDS: &[&str] = &["unlink", "rmdir", "readdir"];
const UNLINK: usize = 0;
const RMDIR: usize = 1;
const LIST: usize = 2;

/// Directories with more entries than this are removed in the order of their inodes, as the `rm`
/// of GNU coreutils does: their order in the directory may be that of a hash.
const SORTED_ABOVE: usize = 10_000;

struct Remover<'a, 'b> {
    meter: Meter,
    /// Regular files removed.
    files: u64,
    buffer: Vec<u8>,
    context: &'a StepContext<'b>,
}

struct Found {
    name: CString,
    inode: u64,
    kind: FileType,
}

impl Remover<'_, '_> {
    /// Removes a directory and all below it; `false` when it was stopped on the way.
    fn remove(
        &mut self,
        at: BorrowedFd<'_>,
        name: &CStr,
        path: &Path,
    ) -> Result<bool, WorkloadError> {
        let below = |name: &CStr| -> PathBuf { path.join(name.to_string_lossy().as_ref()) };
        let open = walk::open_directory(at, name).map_err(WorkloadError::file("open", path))?;
        let mut entries: Vec<Found> = Vec::new();
        let buffer = self.buffer.spare_capacity_mut();
        self.meter.time(LIST, || {
            walk::list(open.as_fd(), path, buffer, |entry| {
                let name = entry.name.to_owned();
                entries.push(Found { name, inode: entry.inode, kind: entry.kind });
                Ok(true)
            })
        })?;
        if entries.len() > SORTED_ABOVE {
            entries.sort_by_key(|entry| entry.inode);
        }
        for entry in &entries {
            if self.context.is_stopped() {
                return Ok(false);
            }
            if entry.kind == FileType::Directory {
                if !self.remove(open.as_fd(), &entry.name, &below(&entry.name))? {
                    return Ok(false);
                }
                continue;
            }
            self.meter
                .time(UNLINK, || rustix::fs::unlinkat(&open, &entry.name, AtFlags::empty()))
                .map_err(|errno| WorkloadError::file("remove", &below(&entry.name))(errno))?;
            self.files += u64::from(entry.kind == FileType::RegularFile);
        }
        drop(open);
        self.meter
            .time(RMDIR, || rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR))
            .map_err(WorkloadError::file("remove", path))?;
        Ok(true)
    }
}

impl Mail {
    pub(super) fn remove(
        &self,
        mounted: &Path,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        let step = &self.outline.name;
        let tree = self.shared.tree(context.seed);
        let copy = self.shared.take_oldest_copy(step)?;
        let parent = Root::open(mounted.to_owned())?;
        let name = CString::new(copy.name.as_str()).unwrap_or_default();
        let mut remover = Remover {
            meter: Meter::start(KINDS),
            files: 0,
            buffer: walk::listing_buffer(),
            context,
        };
        let all = remover.remove(parent.directory.as_fd(), &name, &mounted.join(&copy.name))?;
        let mut outcome = remover.meter.finish();
        outcome.ops = remover.files;
        outcome.stopped = !all || context.is_stopped();
        if all && copy.complete {
            // Bytes are not seen by removing: what is left to compare is the number of files.
            let Totals { files, bytes } = tree.totals();
            Totals { files: outcome.ops, bytes }.check(step, Totals { files, bytes })?;
        }
        Ok(outcome)
    }
}
