//! The program's own folders and files below `/var/lib`: claims, undo lists, locks.
//!
//! What they say is done as root, so they are private with any umask, and nothing is read
//! from a file that another user owns or may write.

use crate::error::{Error, Result};
use rustix::fs::{Mode, OFlags, fchmod, fstat, open};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// A folder that only its owner enters.
const PRIVATE_FOLDER: u32 = 0o700;
/// A file that only its owner reads.
const PRIVATE_FILE: u32 = 0o600;
/// Write permission for group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Deletion is limited to the owner of each file.
const STICKY: u32 = 0o1000;

/// Makes a private folder, or makes one private that an earlier version left open.
///
/// # Errors
/// When it belongs to another user, is a link, or cannot be made.
pub(crate) fn folder(path: &Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        parent_of_state(parent)?;
    }
    match fs::DirBuilder::new().mode(PRIVATE_FOLDER).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::io("make the folder", path)(error));
        }
        _ => {}
    }
    let opened = open_folder(path)?;
    if mode_of(&opened, path)? != PRIVATE_FOLDER {
        chmod(&opened, PRIVATE_FOLDER, path)?;
    }
    Ok(())
}

/// The folder around: whoever may write to it can exchange what is in it.
fn parent_of_state(path: &Path) -> Result<()> {
    if !path.exists() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o755);
        builder.create(path).map_err(Error::io("make the folder", path))?;
        // The umask may have taken more than it should.
        let made = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, made).map_err(Error::io("set the permissions of", path))?;
    }
    let opened = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(Error::io("open the folder", path))?;
    let facts = fstat(&opened).map_err(Error::io("examine", path))?;
    if facts.st_uid != own_user() && facts.st_uid != 0 {
        return Err(untrusted(path, &format!("belongs to user {}", facts.st_uid)));
    }
    let mode = facts.st_mode & 0o7777;
    if mode & WRITABLE_BY_OTHERS == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    if facts.st_uid != own_user() {
        return Err(untrusted(path, "may be written by other users"));
    }
    chmod(&File::from(opened), mode & !WRITABLE_BY_OTHERS, path)
}

/// Makes a new private file, open for reading and appending.
///
/// # Errors
/// When it exists or cannot be made.
pub(crate) fn create(path: &Path) -> Result<File> {
    let flags = OFlags::CREATE
        | OFlags::EXCL
        | OFlags::RDWR
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::from_raw_mode(PRIVATE_FILE))
        .map_err(Error::io("make the file", path))?;
    let file = File::from(file);
    // The umask may have taken more than it should.
    chmod(&file, PRIVATE_FILE, path)?;
    Ok(file)
}

/// Opens one of our files for reading and appending, after a look at who could have written it.
///
/// # Errors
/// [`Error::Untrusted`] when another user owns it or may write to it, or it is not a regular file.
pub(crate) fn open_own(path: &Path) -> Result<File> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => untrusted(path, "is a symbolic link"),
        error => Error::io("open", path)(error),
    })?);
    let facts = fstat(&file).map_err(Error::io("examine", path))?;
    let regular =
        rustix::fs::FileType::from_raw_mode(facts.st_mode) == rustix::fs::FileType::RegularFile;
    if !regular {
        return Err(untrusted(path, "is not a regular file"));
    }
    if facts.st_uid != own_user() {
        return Err(untrusted(path, &format!("belongs to user {}", facts.st_uid)));
    }
    if facts.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(untrusted(path, "may be written by other users"));
    }
    if facts.st_nlink > 1 {
        return Err(untrusted(path, "has a second name"));
    }
    Ok(file)
}

/// True when others may read a file, and so may hold a shared lock on it for as long as they like.
pub(crate) fn is_open_to_others(file: &File, path: &Path) -> Result<bool> {
    Ok(mode_of(file, path)? & 0o077 != 0)
}

/// Puts a private copy in the place of one of our files that others could open: locks that they
/// hold stay with the old one.
///
/// # Errors
/// When the file cannot be read or replaced.
pub(crate) fn take_over(path: &Path) -> Result<()> {
    let mut file = open_own(path)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).map_err(Error::io("read", path))?;
    replace(path, &bytes)
}

/// Writes a private file whole or not at all, in place of an earlier one.
///
/// # Errors
/// When it cannot be written; the earlier file is then as it was.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let draft = Draft::beside(path);
    let mut file = create(&draft.0)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io("write", &draft.0))?;
    fs::rename(&draft.0, path).map_err(Error::io("write", path))?;
    sync_folder_of(path)
}

/// A file on its way to its name; removed when it does not get there.
pub(crate) struct Draft(pub PathBuf);

impl Draft {
    /// A name beside `path` that no other process and no other thread uses.
    pub(crate) fn beside(path: &Path) -> Self {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self(path.with_file_name(format!(".{name}.{}-{count}.draft", std::process::id())))
    }

    /// The process that made the draft of this name.
    pub(crate) fn maker(name: &str) -> Option<u32> {
        let (_, maker) = name.strip_suffix(".draft")?.rsplit_once('.')?;
        maker.split_once('-')?.0.parse().ok()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already when it got its name.
        let _ = fs::remove_file(&self.0);
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Brings a new or removed name onto the disk.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(Error::io("sync the folder", folder))
}

fn open_folder(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = File::from(open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => untrusted(path, "is not a folder"),
        error => Error::io("open the folder", path)(error),
    })?);
    let owner = fstat(&opened).map_err(Error::io("examine", path))?.st_uid;
    if owner == own_user() {
        return Ok(opened);
    }
    Err(untrusted(path, &format!("belongs to user {owner}")))
}

fn mode_of(file: &File, path: &Path) -> Result<u32> {
    Ok(fstat(file).map_err(Error::io("examine", path))?.st_mode & 0o7777)
}

fn chmod(file: &File, mode: u32, path: &Path) -> Result<()> {
    fchmod(file, Mode::from_raw_mode(mode)).map_err(Error::io("set the permissions of", path))
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn untrusted(path: &Path, why: &str) -> Error {
    Error::Untrusted { path: path.to_owned(), why: why.to_owned() }
}
