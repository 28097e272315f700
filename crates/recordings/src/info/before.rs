//! Files whose state before the trace is known, and those that were overwritten or removed before it
//! could be seen.

use super::per_file::PerFile;
use seekwell_trace::path::rest;
use seekwell_trace::{Event, FileEntry, FileId, Trace, TraceError};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;

/// Knowledge about files before the trace.
pub(super) struct Before {
    seed: RandomState,
    /// Hashes of the paths in the trees that were walked.
    walked: HashSet<u64>,
    /// Roots of trees that were seen whole: what is below and not in `walked` was not there.
    whole: Vec<String>,
    /// Hashes of the paths that were met already; a path that is made anew is not new.
    met: HashSet<u64>,
    /// Files that were met: their path is in `met`.
    seen: PerFile<bool>,
    pub(super) known: u64,
    pub(super) unknown: u64,
}

impl Before {
    pub(super) fn read(trace: &Trace, files: &[FileEntry]) -> Result<Self, TraceError> {
        let trees = trace.meta().initial.iter().filter(|tree| tree.complete);
        let mut before = Self {
            seed: RandomState::new(),
            walked: HashSet::new(),
            whole: trees.map(|tree| tree.root.clone()).collect(),
            met: HashSet::new(),
            seen: PerFile::of(files),
            known: 0,
            unknown: 0,
        };
        trace.initial(|entry| {
            before.known += 1;
            before.walked.insert(before.seed.hash_one(entry.path.as_str()));
            Ok(())
        })?;
        Ok(before)
    }

    /// Looks at the files of a call on files.
    pub(super) fn add(&mut self, event: &Event, files: &[FileEntry]) {
        if event.failed() {
            return;
        }
        let name = event.call.call().name;
        if let Some(file) = event.file
            && self.is_new(file, files)
        {
            let flags = event.flags.unwrap_or(0);
            let cut = match name {
                "creat" => true,
                "open" | "openat" => {
                    flags & O_TRUNC != 0 && flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL
                }
                _ => matches!(name, "unlink" | "unlinkat" | "truncate"),
            };
            self.unknown += u64::from(cut && !self.is_known(file, files));
        }
        if let Some(file) = event.to_file
            && self.is_new(file, files)
        {
            let replaced = matches!(name, "rename" | "renameat" | "renameat2");
            self.unknown += u64::from(replaced && !self.is_known(file, files));
        }
    }

    fn is_new(&mut self, file: FileId, files: &[FileEntry]) -> bool {
        if std::mem::replace(self.seen.get(file), true) {
            return false;
        }
        let path = FileEntry::find(files, file).and_then(|entry| entry.path.as_deref());
        self.met.insert(match path {
            Some(path) => self.seed.hash_one(path),
            None => self.seed.hash_one(file),
        })
    }

    fn is_known(&self, file: FileId, files: &[FileEntry]) -> bool {
        let path = FileEntry::find(files, file).and_then(|entry| entry.path.as_deref());
        path.is_some_and(|path| {
            let below = |root: &String| rest(path, root).is_some_and(|rest| !rest.is_empty());
            self.walked.contains(&self.seed.hash_one(path)) || self.whole.iter().any(below)
        })
    }
}

#[cfg(test)]
mod tests;
