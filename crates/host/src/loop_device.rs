//! Loop devices: attached in one step with direct I/O, freed by the kernel with the last descriptor.

use crate::blkdev;
use crate::error::{Error, Result};
use crate::loop_status::{Info, OURS};
use crate::sysfs::{self, System};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, open, statx};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};
use seekwell_model::units::Bytes;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

pub use crate::loop_lock::LoopLock;

/// `LOOP_CONFIGURE` of `linux/loop.h`, Linux 5.8.
const CONFIGURE: Opcode = 0x4C0A;
/// `LOOP_CTL_ADD`.
const ADD: Opcode = 0x4C80;
/// `LOOP_CTL_GET_FREE`.
const GET_FREE: Opcode = 0x4C82;
/// In place of a device's number: one that there is not yet.
const ANY: libc::c_long = -1;

/// `LO_FLAGS_AUTOCLEAR`.
const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`.
const DIRECT_IO: u32 = 16;

/// Another process may take a free device between the question and the attachment.
const ATTEMPTS: u32 = 64;
const RETRY_AFTER: Duration = Duration::from_millis(5);
const POLL: Duration = Duration::from_millis(5);

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// An attached loop device. The kernel detaches it when this descriptor and all others are closed
/// and nothing is mounted from it: nothing has to run for that, so it also happens after a kill.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    kernel_name: String,
    file: File,
    size: Bytes,
    /// No other Seekwell takes it while it is attached.
    _lock: LoopLock,
}

impl LoopDevice {
    /// Its node, for example `/dev/loop3`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in sysfs, for example `loop3`.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The descriptor that keeps it attached, open read-write unless it is [held for reading](Self::held_for_reading).
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Keeps it attached by a descriptor that is open for reading alone: no writer, so the guard passes the device once
    /// it is claimed.
    ///
    /// # Errors
    /// When it cannot be opened; it is free again then.
    pub fn held_for_reading(self) -> Result<Self> {
        let file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        Ok(Self { file, ..self })
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }
}

/// A loop device of which attaching tells the name.
#[derive(Clone, Copy, Debug)]
pub enum Candidate<'a> {
    /// The kernel calls it free, and an image is attached to it next: attaching changes its settings. The lock is for who
    /// restores them.
    Free(&'a str, &'a LoopLock),
    /// Another process was faster: it is theirs, and so are its settings.
    Taken(&'a str),
}

/// A loop device in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Name in sysfs.
    pub kernel_name: String,
    /// File as the kernel shows it; ` (deleted)` follows the name of one without a name.
    pub backing_file: String,
}

/// Attaches an image with direct I/O and autoclear, all in one system call, so that there is no
/// moment at which a kill would leave it behind.
///
/// `sector` is the logical sector size. `limit` shows only the first bytes of the image: a journal
/// device that some mkfs fills entirely gets its exact size so.
///
/// # Errors
/// [`Error::Argument`] when the kernel attached it without direct I/O; the device is free again.
pub fn attach(
    system: &System,
    image: impl AsFd,
    sector: Bytes,
    limit: Option<Bytes>,
) -> Result<LoopDevice> {
    attach_noted(system, image, sector, limit, &mut |_| Ok(()))
}

/// The same, and tells each [`Candidate`], so that its settings can be noted before they change, and forgotten when it
/// was taken.
///
/// # Errors
/// As [`attach`], and the errors of `note`; then nothing is attached.
pub fn attach_noted(
    system: &System,
    image: impl AsFd,
    sector: Bytes,
    limit: Option<Bytes>,
    note: &mut dyn FnMut(Candidate<'_>) -> Result<()>,
) -> Result<LoopDevice> {
    let (kernel_name, path, file, lock) = configure(system, image.as_fd(), sector, limit, note)?;
    if !is_direct(system, &kernel_name) {
        let needed = direct_alignment(image.as_fd());
        return Err(Error::Argument(format!(
            "{kernel_name} does not use direct I/O on its image, so it would measure the host's page cache; \
             use a logical sector size of at least {needed} or a scratch directory on another filesystem"
        )));
    }
    let size = blkdev::size_bytes(file.as_fd()).map_err(Error::io("read the size of", &path))?;
    Ok(LoopDevice { path, kernel_name, file, size: Bytes(size), _lock: lock })
}

fn configure(
    system: &System,
    image: BorrowedFd<'_>,
    sector: Bytes,
    limit: Option<Bytes>,
    note: &mut dyn FnMut(Candidate<'_>) -> Result<()>,
) -> Result<(String, PathBuf, File, LoopLock)> {
    let control = system.dev.join("loop-control");
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let control_node = open(&control, flags, Mode::empty())
        .map_err(Error::io("open (root is needed)", &control))?;
    let mut last = Errno::BUSY;
    for _ in 0..ATTEMPTS {
        let (kernel_name, lock) = lock_free(system, control_node.as_fd())
            .map_err(Error::io("get a free loop device from", &control))?;
        let path = system.dev.join(&kernel_name);
        let node = open(&path, flags, Mode::empty()).map_err(Error::io("open", &path))?;
        note(Candidate::Free(&kernel_name, &lock))?;
        let config = config(image, sector, limit);
        // SAFETY: LOOP_CONFIGURE reads a struct loop_config, which Config mirrors field by field.
        match unsafe { ioctl(&node, Setter::<CONFIGURE, Config>::new(config)) } {
            Ok(()) => return Ok((kernel_name, path, File::from(node), lock)),
            Err(error @ Errno::BUSY) => {
                note(Candidate::Taken(&kernel_name))?;
                last = error;
            }
            Err(error) => return Err(Error::io("attach an image to", &path)(error)),
        }
        sleep(RETRY_AFTER);
    }
    Err(Error::io("attach an image to a free loop device of", &control)(last))
}

/// Locks a free loop device. One that another Seekwell has locked is about to be attached, or gets its settings back:
/// then it is another one.
fn lock_free(system: &System, control: BorrowedFd<'_>) -> std::io::Result<(String, LoopLock)> {
    let mut tried = BTreeSet::new();
    let mut lock = |name: String| match tried.insert(name.clone()) {
        true => Ok(system.nodes.lock_loop(&system.dev, &name)?.map(|lock| (name, lock))),
        false => Ok::<_, std::io::Error>(None),
    };
    // Both requests answer by their return value, which no pattern of rustix covers.
    let numbered = |request: Opcode| {
        // SAFETY: GET_FREE takes no argument and ADD a number.
        match unsafe { libc::ioctl(control.as_raw_fd(), libc::Ioctl::from(request), ANY) } {
            number if number >= 0 => Ok(format!("loop{number}")),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    if let Some(found) = lock(numbered(GET_FREE)?)? {
        return Ok(found);
    }
    for name in loops(&system.sys.join("block")) {
        let is_free = !system.block(&name).join("loop/backing_file").exists();
        if let Some(found) = is_free.then(|| lock(name)).transpose()?.flatten() {
            return Ok(found);
        }
    }
    lock(numbered(ADD)?)?.ok_or_else(|| Errno::BUSY.into())
}

fn loops(folder: &Path) -> impl Iterator<Item = String> {
    sysfs::names(folder).into_iter().filter(|name| name.starts_with("loop"))
}

fn config(image: BorrowedFd<'_>, sector: Bytes, limit: Option<Bytes>) -> Config {
    let mut file_name = [0; 64];
    file_name[..OURS.len()].copy_from_slice(OURS);
    let info = Info {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: limit.map_or(0, |bytes| bytes.0),
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: AUTOCLEAR | DIRECT_IO,
        file_name,
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    let block_size = u32::try_from(sector.0).unwrap_or(u32::MAX);
    Config { fd: image.as_raw_fd().cast_unsigned(), block_size, info, reserved: [0; 8] }
}

fn is_direct(system: &System, kernel_name: &str) -> bool {
    sysfs::read_optional(&system.block(kernel_name).join("loop/dio")).as_deref() == Some("1")
}

/// Smallest sector for direct I/O on a file, by `statx`; 4 KiB where the kernel does not say.
fn direct_alignment(image: BorrowedFd<'_>) -> Bytes {
    let facts = statx(image, "", AtFlags::EMPTY_PATH, StatxFlags::from_bits_retain(0x2000));
    let alignment = facts.map_or(0, |facts| u64::from(facts.stx_dio_offset_align));
    if alignment == 0 { Bytes::kib(4) } else { Bytes(alignment) }
}

/// Waits until a loop device is free.
///
/// # Errors
/// [`Error::Timeout`] with what it is still attached to.
pub fn wait_detached(system: &System, kernel_name: &str, timeout: Duration) -> Result<()> {
    let backing = system.block(kernel_name).join("loop/backing_file");
    let begin = Instant::now();
    loop {
        let Some(file) = sysfs::read_optional(&backing) else { return Ok(()) };
        let waited = begin.elapsed();
        if waited >= timeout {
            return Err(Error::Timeout {
                what: format!("{kernel_name} is still attached to {file}"),
                waited,
                remedy: format!(
                    "find its user with 'lsof /dev/{kernel_name}' and 'grep {kernel_name} /proc/*/mountinfo'"
                ),
            });
        }
        sleep(POLL);
    }
}

/// Waits until Seekwell's image is no longer attached. Returns at once if another program's file is.
///
/// # Errors
/// [`Error::Timeout`] with what it is still attached to.
pub(crate) fn wait_until_ours_is_gone(
    system: &System,
    kernel_name: &str,
    timeout: Duration,
) -> Result<()> {
    if system.nodes.has_our_image(&system.dev.join(kernel_name)) {
        return wait_detached(system, kernel_name, timeout);
    }
    Ok(())
}

/// Every loop device that has a file.
#[must_use]
pub fn attached(system: &System) -> Vec<Attached> {
    let folder = system.sys.join("class/block");
    loops(&folder)
        .filter_map(|kernel_name| {
            let path = folder.join(&kernel_name).join("loop/backing_file");
            Some(Attached { backing_file: sysfs::read_optional(&path)?, kernel_name })
        })
        .collect()
}
