//! Files of a trace: which of them a replay reproduces, and their paths.

use crate::plan::Reason;
use seekwell_trace::path::{is_below, plain, rest};
use seekwell_trace::{FileEntry, FileId};
use std::collections::HashMap;
use std::ffi::CString;

/// Longest path and name that a kernel takes, bytes.
const LONGEST_PATH: usize = 4095;
pub(super) const LONGEST_NAME: usize = 255;

/// Folders that no filesystem under test holds.
const MACHINE: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Beginnings of names that are no paths.
const NAMELESS: [&str; 6] = ["pipe:", "socket:", "anon_inode:", "net:", "memfd:", "xattr:"];

/// The files of a trace.
#[derive(Default)]
pub(super) struct Files {
    entries: Vec<FileEntry>,
    /// Whole paths by file, normalised; the reason for those that are not reproduced.
    paths: Vec<Result<String, Reason>>,
    extra: HashMap<String, u64>,
    more: Vec<String>,
}

impl Files {
    pub(super) fn new(entries: Vec<FileEntry>, only: Option<&str>) -> Self {
        let paths = entries.iter().map(|entry| path(entry, only)).collect();
        Self { entries, paths, ..Self::default() }
    }

    fn at(&self, file: FileId) -> Option<usize> {
        self.entries.binary_search_by_key(&file, |entry| entry.id).ok()
    }

    /// Number of a file's path in the plan, and the path.
    pub(super) fn path(&self, file: Option<FileId>) -> Result<(u64, &str), Reason> {
        let at = file.and_then(|file| self.at(file)).ok_or(Reason::UnknownFile)?;
        let path = self.paths[at].as_ref().map_err(|reason| *reason)?;
        Ok((at as u64 + 1, path))
    }

    pub(super) fn entry(&self, file: FileId) -> Option<&FileEntry> {
        self.at(file).map(|at| &self.entries[at])
    }

    /// True for a pipe or socket.
    pub(super) fn is_channel(&self, file: FileId) -> bool {
        let path = self.entry(file).and_then(|entry| entry.path.as_deref()).unwrap_or("");
        path.starts_with("pipe:") || path.starts_with("socket:")
    }

    /// Name of the extended attribute that this entry stands for.
    pub(super) fn attribute(&self, file: FileId) -> Option<&str> {
        self.entry(file).and_then(FileEntry::attribute)
    }

    /// Number of a path that the trace does not hold.
    pub(super) fn add(&mut self, path: &str) -> u64 {
        if let Some(number) = self.extra.get(path) {
            return *number;
        }
        self.more.push(path.to_owned());
        let number = (self.entries.len() + self.more.len()) as u64;
        self.extra.insert(path.to_owned(), number);
        number
    }

    /// Paths by number less one.
    pub(super) fn into_paths(self) -> Vec<CString> {
        let known = self.paths.into_iter().map(Result::unwrap_or_default);
        known.chain(self.more).map(|path| CString::new(path).unwrap_or_default()).collect()
    }
}

/// The path below the target, or the reason for which there is none.
fn path(entry: &FileEntry, only: Option<&str>) -> Result<String, Reason> {
    let text = entry.path.as_deref().ok_or(Reason::UnknownFile)?;
    if NAMELESS.iter().any(|start| text.starts_with(start)) {
        return Err(Reason::NotAFile);
    }
    let is_kept = |mode: u32| {
        matches!(mode & libc::S_IFMT, 0 | libc::S_IFREG | libc::S_IFDIR | libc::S_IFLNK)
    };
    if !entry.mode.is_none_or(is_kept) {
        return Err(Reason::NotAFile);
    }
    below(text, only)
}

/// The path in its plain form, below the folder that the replay is limited to, or the reason for which it is not
/// reproduced. That folder becomes the root: filesystems place directories of the root unlike those below it.
pub(super) fn below(path: &str, only: Option<&str>) -> Result<String, Reason> {
    let path = checked(path)?;
    if MACHINE.iter().any(|folder| is_below(&path, folder)) {
        return Err(Reason::NotAFile);
    }
    let Some(only) = only else { return Ok(path) };
    match rest(&path, only) {
        None => Err(Reason::Outside),
        Some("") => Ok("/".to_owned()),
        Some(rest) => Ok(rest.to_owned()),
    }
}

/// The folder that a replay is limited to, in its plain form.
pub(super) fn folder(only: Option<&str>) -> Option<String> {
    only.map(|only| checked(only).unwrap_or_else(|_| only.to_owned()))
}

/// The path in its plain form, if a kernel takes it. A path whose start is not known begins
/// with `…/` and gets a folder of that name.
fn checked(path: &str) -> Result<String, Reason> {
    if path.len() > LONGEST_PATH {
        return Err(Reason::LongName);
    }
    if path.contains('\0') {
        return Err(Reason::UnknownFile);
    }
    if path.split('/').any(|name| name.len() > LONGEST_NAME) {
        return Err(Reason::LongName);
    }
    Ok(plain(path.to_owned()))
}

#[cfg(test)]
mod tests;
