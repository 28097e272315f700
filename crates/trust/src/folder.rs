//! Folders held by their descriptor, links that others made, and parents in which others can rename.

use rustix::fs::{
    AtFlags, CWD, FsWord, Mode, OFlags, fstatfs, mkdirat, openat, readlinkat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Folder of this process's descriptors: a path through it leads to what was opened, whatever has its name now.
const DESCRIPTORS: &str = "/proc/self/fd";
/// Filesystem of the kernel's own links, as `linux/magic.h` writes it.
const PROC: FsWord = 0x9fa0;

/// The name of a file or folder in a folder that is held open: the same place also after the names above it were given
/// to others.
#[derive(Debug)]
pub struct Entry {
    folder: File,
    name: OsString,
}

impl Entry {
    /// Opens the folder around `path`. The last part of `path` is not followed and need not exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for root and a link above it that another user made and could lead anywhere,
    /// and the system's error if the folder cannot be reached.
    pub fn of(path: &Path) -> io::Result<Self> {
        Self::found(path, false)
    }

    fn found(path: &Path, is_made: bool) -> io::Result<Self> {
        let (folder, name) = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => (folder, name),
            _ => (path, OsStr::new(".")),
        };
        // Others gain nothing from leading a user without rights.
        let is_foreign =
            |facts: &Metadata| own() == 0 && facts.is_symlink() && is_of_another(facts);
        let folder = walk(folder, is_made, &is_foreign)?.map_err(|link| {
            let link = link.display();
            let text = format!("the link {link} belongs to another user; name the folder itself");
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        })?;
        Ok(Self { folder, name: name.to_owned() })
    }

    /// Its path by way of the descriptor, for this process alone.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        by_descriptor(&self.folder).join(&self.name)
    }
}

fn by_descriptor(handle: &impl AsRawFd) -> PathBuf {
    Path::new(DESCRIPTORS).join(handle.as_raw_fd().to_string())
}

/// A folder that is held open. Paths from [`Folder::at`] lead into it also after its name was given to another one.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    number: (u64, u64),
    entry: Entry,
}

impl Folder {
    /// Opens a folder of this user that others cannot write.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for the folder of another user or one that others can write, the system's
    /// for a link and for anything else that is not a folder, and those of [`Entry::of`].
    pub fn open_own(path: &Path) -> io::Result<Self> {
        Self::opened(Entry::of(path)?)
    }

    /// Opens a folder of this user, which is made if there is none, with those above it, for this user alone.
    ///
    /// # Errors
    /// The same as [`Folder::open_own`], and the system's error if the folder cannot be made.
    pub fn make_own(path: &Path) -> io::Result<Self> {
        let entry = Entry::found(path, true)?;
        make(&entry.folder, &entry.name)?;
        Self::opened(entry)
    }

    fn opened(entry: Entry) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&entry.folder, &entry.name, flags, Mode::empty())?;
        let facts = File::from(handle.try_clone()?).metadata()?;
        let writers = facts.mode() & OTHERS_WRITE & !private(&facts);
        if facts.uid() != own() || writers != 0 {
            let text = "it belongs to another user, or others can write it; name a new folder";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Self { handle, number: (facts.dev(), facts.ino()), entry })
    }

    /// Path of an entry by way of the descriptor, for this process alone.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Path of the folder itself by way of the descriptor, for this process alone.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        by_descriptor(&self.handle)
    }

    /// Removes the folder if it is empty and has its name still.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(self) -> io::Result<()> {
        if !self.is_at(&self.entry.path()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(unlinkat(&self.entry.folder, &self.entry.name, AtFlags::REMOVEDIR)?)
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
    Ok(walk(&std::path::absolute(path)?, false, &can_change)?.err())
}

/// Goes to a file or folder step by step, each from the descriptor of the one before, and follows links itself.
/// Returns the path of the first one on the way, also of a link, that is refused.
fn walk(
    path: &Path,
    is_made: bool,
    is_refused: &dyn Fn(&Metadata) -> bool,
) -> io::Result<Result<File, PathBuf>> {
    let (mut rest, mut links) = (parts_of(path), 0);
    rest.push(if path.is_absolute() { "/".into() } else { ".".into() });
    let mut at = step(CWD, OsStr::new("."))?;
    while let Some(part) = rest.pop() {
        let next = match step(&at, &part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_made => {
                make(&at, &part)?;
                step(&at, &part)?
            }
            next => next?,
        };
        let facts = next.metadata()?;
        // Links of the kernel lead where no path does.
        if facts.is_symlink() && fstatfs(&at)?.f_type == PROC {
            at = openat(&at, &part, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?.into();
            continue;
        }
        if is_refused(&facts) {
            return Ok(Err(shown(&by_descriptor(&next))));
        }
        if !facts.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = PathBuf::from(OsString::from_vec(readlinkat(&next, "", [])?.into_bytes()));
        rest.extend(parts_of(&target));
        if target.is_absolute() {
            rest.push("/".into());
        }
    }
    Ok(Ok(at))
}

/// Opens what has this name, and not what a link leads to.
fn step(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Asked for as a folder, one that is mounted on demand is mounted.
    let opened = match openat(&at, name, flags | OFlags::DIRECTORY, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => openat(&at, name, flags, Mode::empty()),
        opened => opened,
    };
    Ok(opened?.into())
}

/// Makes a folder for this user alone, unless something has its name.
fn make(at: impl AsFd, name: &OsStr) -> io::Result<()> {
    match mkdirat(at, name, Mode::RWXU) {
        Err(Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
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

/// Returns true for a folder in which others than root and this user can rename, a file that they can write, and a link
/// of theirs.
fn can_change(facts: &Metadata) -> bool {
    if facts.is_symlink() {
        return is_of_another(facts);
    }
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
    let below = |folder: PathBuf| folder.components().chain(parts).collect();
    folder.map_or_else(|_| path.to_owned(), below)
}

#[cfg(test)]
mod tests;
