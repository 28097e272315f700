//! Images that stand in for a disk: nameless, written in full, and watched for what the filesystem
//! below makes of them.
//!
//! A sparse or only allocated image would let the host's filesystem allocate or convert extents
//! inside the measurement, so every byte is written once, with data that does not compress.

use crate::error::{Error, Result};
use crate::fiemap;
use crate::sysfs::System;
use rustix::fs::{
    Advice, FallocateFlags, IFlags, MemfdFlags, Mode, OFlags, fadvise, fallocate, fstatfs,
    fstatvfs, ioctl_getflags, ioctl_setflags, memfd_create, open, statvfs,
};
use rustix::io::Errno;
use seekwell_model::agent::ImageLayout;
use seekwell_model::units::Bytes;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

#[cfg(test)]
mod tests;

/// Written at a time; a multiple of every block size.
const CHUNK: usize = 1 << 20;

/// Written between two waits for the device, so that an image of many GiB neither fills the
/// machine with dirty pages nor leaves a long wait for the end.
const SYNC_EVERY: u64 = 64 << 20;

/// Space that the filesystem below needs besides the data: block maps, and room to stay usable.
const RESERVE: Bytes = Bytes::mib(16);

/// `BTRFS_SUPER_MAGIC` of `linux/magic.h`.
const BTRFS_MAGIC: i128 = 0x9123_683E;

/// An image without a name: it vanishes with its last descriptor, however the run ends.
#[derive(Debug)]
pub struct Image {
    file: File,
    layout: ImageLayout,
}

impl Image {
    /// The file, open read-write.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the layout that the filesystem below gave it when it was written.
    #[must_use]
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }
}

/// Makes an image in a directory, without a name (`O_TMPFILE`), and writes all of it.
///
/// The content is random and derives from `seed`. `progress` receives the bytes written so far.
///
/// # Errors
/// [`Error::NoSpace`] before anything is written, and when the space ran out meanwhile;
/// [`Error::Argument`] where the filesystem has no nameless files.
pub fn create(
    directory: &Path,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(Bytes),
) -> Result<Image> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = open(directory, flags, Mode::RUSR | Mode::WUSR).map_err(|source| match source {
        Errno::OPNOTSUPP | Errno::ISDIR => Error::Argument(format!(
            "{} is on a filesystem that cannot hold nameless images ({}); \
             name a scratch directory on ext4, xfs, btrfs or tmpfs",
            directory.display(),
            io::Error::from(source)
        )),
        _ => Error::io("make an image in", directory)(source),
    })?;
    let place = directory.display().to_string();
    let facts = fstatvfs(&file).map_err(Error::io("read the free space of", directory))?;
    let free = Bytes(facts.f_bavail.saturating_mul(facts.f_frsize));
    require_space(size, free, &place)?;
    avoid_copy_on_write(&file);
    finish(File::from(file), size, seed, &place, progress)
}

/// Makes an image in memory (`memfd_create`) and writes all of it.
///
/// # Errors
/// [`Error::NoSpace`] when it would take memory that the machine needs.
pub fn create_in_ram(
    system: &System,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(Bytes),
) -> Result<Image> {
    let place = "memory".to_owned();
    if let Some(available) = crate::memory::meminfo(system, "MemAvailable")? {
        require_space(size, available, &place)?;
    }
    let remedy = "free some memory or make the device smaller";
    let file = memfd_create("seekwell-image", MemfdFlags::CLOEXEC)
        .map_err(Error::call("make an image in memory", remedy))?;
    finish(opened_anew(file)?, size, seed, &place, progress)
}

/// The same file through an open of its own: tmpfs allows direct I/O only on descriptors that went
/// through its `open`, which `memfd_create` does not.
fn opened_anew(file: OwnedFd) -> Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let opened = open(path.as_str(), flags, Mode::empty())
        .map_err(Error::io("open an image in memory through", &path))?;
    Ok(File::from(opened))
}

/// Checks that a directory has room for images of this many bytes together.
///
/// # Errors
/// [`Error::NoSpace`].
pub fn check_space(directory: &Path, needed: Bytes) -> Result<()> {
    let facts = statvfs(directory).map_err(Error::io("read the free space of", directory))?;
    let free = Bytes(facts.f_bavail.saturating_mul(facts.f_frsize));
    require_space(needed, free, &directory.display().to_string())
}

fn require_space(size: Bytes, free: Bytes, place: &str) -> Result<()> {
    if size.0.saturating_add(RESERVE.0) <= free.0 {
        return Ok(());
    }
    let available = Bytes(free.0.saturating_sub(RESERVE.0));
    Err(Error::NoSpace { needed: size, available, place: place.to_owned() })
}

/// On btrfs every overwrite would move the image's extents. The flag only takes on an empty file;
/// where it does not take, the layout check marks the trials.
fn avoid_copy_on_write(file: impl AsFd) {
    let on_btrfs = fstatfs(&file).is_ok_and(|facts| i128::from(facts.f_type) == BTRFS_MAGIC);
    if on_btrfs && let Ok(flags) = ioctl_getflags(&file) {
        let _ = ioctl_setflags(&file, flags | IFlags::NOCOW);
    }
}

fn finish(
    file: File,
    size: Bytes,
    seed: u64,
    place: &str,
    progress: &mut dyn FnMut(Bytes),
) -> Result<Image> {
    write_in_full(&file, size, seed, progress).map_err(|source| {
        if source.kind() == io::ErrorKind::StorageFull {
            let available = Bytes(file.metadata().map_or(0, |facts| facts.blocks() * 512));
            return Error::NoSpace { needed: size, available, place: place.to_owned() };
        }
        Error::io("write an image in", place)(source)
    })?;
    let layout = layout(&file)?;
    Ok(Image { file, layout })
}

fn write_in_full(
    file: &File,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(Bytes),
) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, size.0) {
        // Asked for first only to get few extents; writing converts them.
        Ok(()) | Err(Errno::OPNOTSUPP) => file.set_len(size.0)?,
        Err(error) => return Err(error.into()),
    }
    let mut random = seekwell_stats::seeded(seed);
    let mut chunk = vec![0_u8; CHUNK];
    let mut written = 0;
    while written < size.0 {
        random.fill(&mut chunk);
        let length = (size.0 - written).min(CHUNK as u64);
        let part = usize::try_from(length).unwrap_or(CHUNK);
        file.write_all_at(&chunk[..part], written)?;
        written += length;
        if written.is_multiple_of(SYNC_EVERY) || written == size.0 {
            file.sync_data()?;
            // The loop device reads past the page cache, so these pages are useless.
            let _ = fadvise(file, 0, NonZeroU64::new(written), Advice::DontNeed);
        }
        progress(Bytes(written));
    }
    file.sync_all()
}

/// Returns the present layout of an image in the filesystem below: allocated bytes, and its extents
/// if the filesystem reports them.
///
/// # Errors
/// When the descriptor is not a file's.
pub fn layout(file: impl AsFd) -> Result<ImageLayout> {
    let facts = rustix::fs::fstat(&file).map_err(Error::io("examine", "the image"))?;
    let extents =
        fiemap::extents(file.as_fd()).map_err(Error::io("read extents of", "the image"))?;
    Ok(ImageLayout {
        allocated: Bytes(u64::try_from(facts.st_blocks).unwrap_or(0) * 512),
        extents: extents.as_deref().map(fiemap::digest),
        extent_count: extents.as_deref().map(|list| u32::try_from(list.len()).unwrap_or(u32::MAX)),
    })
}

/// Changes by the filesystem below between two looks at an image, in words; `None` when a trial
/// in between met the same image.
///
/// Extents decide where they are known: the block map itself may grow and shrink by a block when
/// nothing else changes.
#[must_use]
pub fn difference(before: &ImageLayout, after: &ImageLayout) -> Option<String> {
    if let (Some(old), Some(new)) = (before.extents, after.extents) {
        if old == new {
            return None;
        }
        let counts = [before, after].map(|side| side.extent_count.unwrap_or_default());
        return Some(format!(
            "the host's filesystem moved, freed or converted extents of the image \
             ({} extents in {} before, {} in {} after)",
            counts[0], before.allocated, counts[1], after.allocated
        ));
    }
    (before.allocated != after.allocated).then(|| {
        format!("the image held {} before and {} after", before.allocated, after.allocated)
    })
}
