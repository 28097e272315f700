//! A writable layer above a filesystem. In memory, above one that is mounted read-only, it spares a
//! flash card: everything is written to a tmpfs and reaches the card once at the end, or never. In a
//! folder of the filesystem itself it is that of a container.

use crate::error::{Error, Result};
use crate::filesystem::unmount;
use rustix::fs::AtFlags;
use rustix::fs::{
    CWD, Dev, FileType, Gid, Mode, Timespec, Timestamps, Uid, chmodat, chownat, lgetxattr, mknodat,
    utimensat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};
use seekwell_model::units::Bytes;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Set by overlayfs on a directory of the upper layer that hides the one below.
const OPAQUE: &str = "trusted.overlay.opaque";

/// An overlay that is mounted.
#[derive(Debug)]
pub struct OverlayMount {
    upper: UpperLayer,
    target: PathBuf,
}

/// Mounts a tmpfs of the given size on `work`, an empty folder, and an overlay of it above `lower`
/// on `target`.
///
/// # Errors
/// The kernel's; nothing stays mounted then.
pub fn mount(lower: &Path, work: &Path, target: &Path, upper: Bytes) -> Result<OverlayMount> {
    let size = upper.0.to_string();
    new_mount("tmpfs", &[("size", size.as_ref()), ("mode", "0755".as_ref())], work)?;
    let made = new_layers(work).and_then(|()| layers(lower, work, target));
    if let Err(error) = made {
        unmount(work, Duration::ZERO)?;
        return Err(error);
    }
    let upper = UpperLayer { folder: work.to_owned(), is_in_memory: true };
    Ok(OverlayMount { upper, target: target.to_owned() })
}

/// Mounts an overlay on `target` whose layers are folders of the filesystem on `base`. An upper layer
/// that is there already keeps its content.
///
/// # Errors
/// The kernel's, also of a filesystem without extended attributes.
pub fn mount_within(base: &Path, target: &Path) -> Result<OverlayMount> {
    let lower = base.join("lower");
    if !lower.exists() {
        fs::create_dir(&lower).map_err(Error::io("make", &lower))?;
        new_layers(base)?;
    }
    layers(&lower, base, target)?;
    let upper = UpperLayer { folder: base.to_owned(), is_in_memory: false };
    Ok(OverlayMount { upper, target: target.to_owned() })
}

fn new_layers(work: &Path) -> Result<()> {
    for folder in [work.join("upper"), work.join("work")] {
        fs::create_dir(&folder).map_err(Error::io("make", &folder))?;
    }
    Ok(())
}

fn layers(lower: &Path, work: &Path, target: &Path) -> Result<()> {
    let (upper, scratch) = (work.join("upper"), work.join("work"));
    // Everything that would put references to lower files into the upper layer is off, so that the
    // upper layer alone can be written back.
    let options = [
        ("lowerdir", lower),
        ("upperdir", upper.as_path()),
        ("workdir", scratch.as_path()),
        ("redirect_dir", Path::new("off")),
        ("metacopy", Path::new("off")),
        ("index", Path::new("off")),
    ];
    new_mount("overlay", &options, target)
}

fn new_mount(kind: &str, options: &[(&str, &Path)], target: &Path) -> Result<()> {
    let refused = |errno: Errno| {
        let why = format!("{errno}; root is needed, and a kernel with {kind}");
        Error::Argument(format!("cannot mount {kind} as {kind}: {why}"))
    };
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(refused)?;
    fsconfig_set_string(&context, "source", "seekwell").map_err(refused)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value).map_err(refused)?;
    }
    fsconfig_create(&context).map_err(refused)?;
    let mounted = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        .map_err(refused)?;
    move_mount(&mounted, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(Error::io("mount on", target))
}

impl OverlayMount {
    /// Folder that the overlay is mounted on.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Unmounts the overlay; its upper layer stays, to be written back or dropped.
    ///
    /// # Errors
    /// When it is still in use after `timeout`.
    pub fn unmount(self, timeout: Duration) -> Result<UpperLayer> {
        unmount(&self.target, timeout)?;
        Ok(self.upper)
    }
}

/// The upper layer of an overlay that was unmounted.
#[derive(Debug)]
pub struct UpperLayer {
    /// Holds the folders `upper` and `work`.
    folder: PathBuf,
    is_in_memory: bool,
}

impl UpperLayer {
    /// Mounts the overlay of this layer above `lower` again, on `target`. The layer stays in memory
    /// when that fails, until its namespace ends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn mount(self, lower: &Path, target: &Path) -> Result<OverlayMount> {
        layers(lower, &self.folder, target)?;
        Ok(OverlayMount { upper: self, target: target.to_owned() })
    }

    /// Applies the layer to what was the lower filesystem, mounted writable on `destination`. Does
    /// not sync.
    ///
    /// # Errors
    /// When something cannot be read or written; what was applied stays.
    pub fn write_back(&self, destination: &Path) -> Result<()> {
        let mut writer = Writer { links: HashMap::new() };
        writer.folder(&self.folder.join("upper"), destination)
    }

    /// Unmounts the tmpfs, and loses what was not written back. A layer on the filesystem stays.
    ///
    /// # Errors
    /// When it is still in use after `timeout`.
    pub fn drop_layer(self, timeout: Duration) -> Result<()> {
        if self.is_in_memory { unmount(&self.folder, timeout) } else { Ok(()) }
    }
}

struct Writer {
    /// Path at which an inode with several names was written first.
    links: HashMap<u64, PathBuf>,
}

impl Writer {
    fn folder(&mut self, upper: &Path, lower: &Path) -> Result<()> {
        let entries = fs::read_dir(upper).map_err(Error::io("list", upper))?;
        for entry in entries {
            let entry = entry.map_err(Error::io("list", upper))?;
            let (from, to) = (entry.path(), lower.join(entry.file_name()));
            let facts = fs::symlink_metadata(&from).map_err(Error::io("examine", &from))?;
            self.entry(&from, &to, &facts)?;
        }
        Ok(())
    }

    fn entry(&mut self, from: &Path, to: &Path, facts: &Metadata) -> Result<()> {
        let kind = FileType::from_raw_mode(facts.mode());
        // overlayfs marks a removed name with a character device 0:0.
        if kind == FileType::CharacterDevice && facts.rdev() == 0 {
            return remove(to);
        }
        if kind == FileType::Directory {
            if is_opaque(from) || !is_directory(to) {
                remove(to)?;
            }
            if !is_directory(to) {
                fs::create_dir(to).map_err(Error::io("make", to))?;
            }
            self.folder(from, to)?;
            return copy_attributes(to, facts, kind);
        }
        remove(to)?;
        if facts.nlink() > 1 {
            if let Some(first) = self.links.get(&facts.ino()) {
                return fs::hard_link(first, to).map_err(Error::io("link", to));
            }
            self.links.insert(facts.ino(), to.to_owned());
        }
        match kind {
            FileType::RegularFile => {
                fs::copy(from, to).map_err(Error::io("write back", to))?;
            }
            FileType::Symlink => {
                let target = fs::read_link(from).map_err(Error::io("read the link", from))?;
                symlink(target, to).map_err(Error::io("link", to))?;
            }
            _ => mknodat(CWD, to, kind, Mode::from_raw_mode(facts.mode()), facts.rdev() as Dev)
                .map_err(Error::io("make the node", to))?,
        }
        copy_attributes(to, facts, kind)
    }
}

fn remove(path: &Path) -> Result<()> {
    let Ok(facts) = fs::symlink_metadata(path) else { return Ok(()) };
    let removed = if facts.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(Error::io("remove", path))
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0_u8; 8];
    lgetxattr(path, OPAQUE, value.as_mut_slice()).is_ok_and(|length| value[..length] == *b"y")
}

/// Owner before mode, because a change of owner clears the set-user-id bit; times last.
fn copy_attributes(to: &Path, facts: &Metadata, kind: FileType) -> Result<()> {
    let failed = |errno: Errno| Error::io("set owner, mode and times of", to)(errno);
    let (owner, group) = (Uid::from_raw(facts.uid()), Gid::from_raw(facts.gid()));
    chownat(CWD, to, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    if kind != FileType::Symlink {
        chmodat(CWD, to, Mode::from_raw_mode(facts.mode()), AtFlags::empty()).map_err(failed)?;
    }
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(facts.atime(), facts.atime_nsec()),
        last_modification: time(facts.mtime(), facts.mtime_nsec()),
    };
    utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)
}
