//! The file or the part of a raw device that an `io` step works on.

use crate::error::WorkloadError;
use crate::step::StepContext;
use rustix::fs::{Advice, Mode, OFlags};
use seekwell_engine::Span;
use seekwell_model::workloads::{CacheState, IoParams, SyncMethod};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Mode in which a target is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// For writing too.
    pub write: bool,
    /// Past the page cache.
    pub direct: bool,
    /// Each write returns when it is durable: `O_DSYNC`.
    pub durable: bool,
}

impl Access {
    /// The access that the parameters of an `io` step need.
    #[must_use]
    pub fn of(params: &IoParams) -> Self {
        Self {
            write: params.read_percent < 100,
            direct: params.cache == CacheState::Direct,
            durable: params.durability.sync == Some(SyncMethod::ODsync),
        }
    }

    fn flags(self) -> OFlags {
        let mut flags = OFlags::CLOEXEC | if self.write { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::DIRECT, self.direct);
        // `OFlags::DSYNC` is `O_SYNC` here, which also waits for metadata.
        flags.set(OFlags::from_bits_retain(libc::O_DSYNC as u32), self.durable);
        flags
    }
}

/// A target that is open.
#[derive(Debug)]
pub struct OpenTarget {
    /// The file or device.
    pub file: File,
    /// Its path, for messages.
    pub path: PathBuf,
    /// The part of it that is used.
    pub span: Span,
}

impl OpenTarget {
    /// Tells the kernel that accesses are random: it then reads nothing ahead.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn advise_random(&self) -> Result<(), WorkloadError> {
        rustix::fs::fadvise(&self.file, 0, None, Advice::Random)
            .map_err(WorkloadError::file("advise on", &self.path))
    }
}

/// Opens an existing path.
///
/// # Errors
/// The kernel's error.
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, access.flags(), Mode::empty())?))
}

/// Creates a file, or makes the one that is there empty.
///
/// # Errors
/// The kernel's error.
pub(crate) fn create(path: &Path, access: Access) -> Result<File, WorkloadError> {
    let flags = access.flags() | OFlags::CREATE | OFlags::TRUNC;
    rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::from_raw_mode(0o666))
        .map(File::from)
        .map_err(WorkloadError::file("create", path))
}

/// Opens what a descriptor refers to once more, with flags of its own: unlike a duplicate it does
/// not share `O_DIRECT` with the first, and unlike a path it cannot have become another device.
///
/// # Errors
/// The kernel's error; `ENOENT` when /proc is not mounted.
pub fn reopen(file: &File, access: Access) -> io::Result<File> {
    open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), access)
}

/// Opens the raw device of a context: for reading by its path, for writing through the checked
/// descriptor.
///
/// # Errors
/// When there is no checked descriptor to write through, or the device cannot be opened.
pub fn open_device(
    context: &StepContext<'_>,
    access: Access,
    step: &str,
) -> Result<File, WorkloadError> {
    let opened = match context.device_file {
        Some(checked) => reopen(checked, access),
        None if !access.write => open(context.device, access),
        None => {
            let device = context.device.display();
            let problem = format!("would write to {device}, which was not opened for writing");
            return Err(WorkloadError::unfit(step, problem, "claim the device first"));
        }
    };
    opened.map_err(WorkloadError::file("open", context.device))
}

/// Drops the clean cached pages of an open file.
///
/// # Errors
/// The kernel's error.
pub fn drop_cached(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Bytes that an ordinary user may still write in the filesystem of a directory.
///
/// # Errors
/// The kernel's error.
pub fn free_bytes(directory: &Path) -> io::Result<u64> {
    let facts = rustix::fs::statvfs(directory)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}
