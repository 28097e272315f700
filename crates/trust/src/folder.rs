//! Folders held by their descriptor, and parents in which others can rename.

use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// Folder of this process's descriptors: a path through it leads to what was opened, whatever has its name now.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A folder that is held open. Paths from [`Folder::at`] lead into it also after its name was given to another one.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    number: (u64, u64),
}

impl Folder {
    /// Opens a folder of this user that others cannot write.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for the folder of another user or one that others can write, the system's
    /// for a link and for what is no folder.
    pub fn open_own(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let facts = File::from(handle.try_clone()?).metadata()?;
        let writers = facts.mode() & OTHERS_WRITE & !private(&facts);
        if facts.uid() != own() || writers != 0 {
            let text = "it belongs to another user, or others can write it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Self { handle, number: (facts.dev(), facts.ino()) })
    }

    /// Opens a folder of this user, which is made if there is none, with those above it, for this user alone.
    ///
    /// # Errors
    /// The same as [`Folder::open_own`], and the system's error if the folder cannot be made.
    pub fn make_own(path: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open_own(path)
    }

    /// Path of an entry by way of the descriptor, for this process alone.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Path of the folder itself by way of the descriptor, for this process alone.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        Path::new(DESCRIPTORS).join(self.handle.as_raw_fd().to_string())
    }

    /// Permissions of the folder.
    ///
    /// # Errors
    /// The system's.
    pub fn mode(&self) -> io::Result<u32> {
        Ok(rustix::fs::fstat(&self.handle)?.st_mode & 0o7777)
    }

    /// Returns true while this path, whose last part is not followed, leads to the folder.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|facts| (facts.dev(), facts.ino()) == self.number)
    }
}

/// Permissions with which others can write.
const OTHERS_WRITE: u32 = 0o022;
const GROUP_WRITE: u32 = 0o020;
const STICKY: u32 = 0o1000;
/// Links on the way to a file that Linux follows.
const MOST_LINKS: u32 = 40;

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The nearest folder above `path` in which a user other than root and this one can rename: one that others can write
/// without the sticky bit, or one of another user. A group with the number of this user counts as this user's own.
///
/// # Errors
/// The system's, when a folder above cannot be looked at.
pub fn exchangeable(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    changeable(path.parent().unwrap_or(Path::new("/")))
}

/// As [`exchangeable`], for the path itself, which exists, and everything above it, also behind links.
pub(crate) fn changeable(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut rest: Vec<OsString> = parts_of(path);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    if can_change(&std::fs::metadata(&at)?) {
        return Ok(Some(at));
    }
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let facts = std::fs::symlink_metadata(&next)?;
        if facts.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(rustix::io::Errno::LOOP.into());
            }
            if is_of_another(&facts) {
                return Ok(Some(next));
            }
            let target = std::fs::read_link(&next)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(parts_of(&target));
            continue;
        }
        at = next;
        if can_change(&facts) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// The names in a path, the first one last.
fn parts_of(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// Returns true for a folder in which others than root and this user can rename, and a file that they can write.
fn can_change(facts: &Metadata) -> bool {
    let is_sticky = facts.is_dir() && facts.mode() & STICKY != 0;
    let writers = facts.mode() & OTHERS_WRITE & !private(facts);
    is_of_another(facts) || (writers != 0 && !is_sticky)
}

/// The permission of a group that is this user's own: it has the user's number.
fn private(facts: &Metadata) -> u32 {
    if facts.gid() == own() { GROUP_WRITE } else { 0 }
}

fn is_of_another(facts: &Metadata) -> bool {
    facts.uid() != 0 && facts.uid() != own()
}

/// The path for messages: a path by way of a descriptor becomes that of the open folder.
#[must_use]
pub fn shown(path: &Path) -> PathBuf {
    let Ok(rest) = path.strip_prefix(DESCRIPTORS) else { return path.to_owned() };
    let mut parts = rest.components();
    let Some(number) = parts.next() else { return path.to_owned() };
    let folder = std::fs::read_link(Path::new(DESCRIPTORS).join(number));
    folder.map_or_else(|_| path.to_owned(), |folder| folder.join(parts.as_path()))
}

#[cfg(test)]
mod tests;
