//! Running mkfs.

use super::{Layout, check_arguments, mkfs_commands, nodes_only, quiet};
use crate::blkdev;
use crate::error::{Error, Result};
use crate::guard::WriteToken;
use crate::program;
use crate::sysfs::{self, System};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use seekwell_model::filesystems::{FilesystemDefinition, Own};
use seekwell_model::stack::{Filesystem, Journal};
use seekwell_model::units::Bytes;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// udev holds its shared lock only while it looks at a device.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Makes a filesystem with the command lines of [`mkfs_commands`]. The guard looks at every device
/// again immediately before each of them, and the whole disk is locked (`flock`) meanwhile, so that
/// udev does not look at half a filesystem. Gives the command lines, as a shell would take them.
///
/// # Errors
/// The guard's refusal; [`Error::MissingProgram`] with the package; [`Error::Program`] with the
/// command line and what it printed.
pub fn make(
    system: &System,
    definition: &FilesystemDefinition,
    filesystem: &Filesystem,
    journal: &Journal,
    data: &WriteToken,
    journal_device: Option<&WriteToken>,
) -> Result<Vec<String>> {
    let journal_path = journal_device.map(WriteToken::path);
    check_arguments(system, filesystem, data.path(), journal_path)?;
    let sector = sector_size(system, data)?;
    if definition.own.is_some_and(|own| sector > own.largest_sector()) {
        return Err(Error::Argument(format!(
            "{} has logical sectors of {sector}, and Linux mounts {} on sectors of 512 bytes alone",
            data.path().display(),
            definition.name
        )));
    }
    let layout = Layout {
        definition,
        filesystem,
        journal,
        data: data.path(),
        journal_device: journal_path,
        sector,
    };
    let commands = mkfs_commands(&layout)?;
    fits(&layout)?;
    let tokens: Vec<&WriteToken> = std::iter::once(data).chain(journal_device).collect();
    let locks = tokens.iter().map(|token| lock(system, token)).collect::<Result<Vec<_>>>()?;
    // Zeroing is only withheld from images: a disk's own commands are part of what is compared.
    let quiet = !filesystem.discard && tokens.iter().any(|token| token.is_scratch());
    let nodes: Vec<&Path> = tokens.iter().map(|token| token.path()).collect();
    let mut made = Vec::new();
    for command in commands {
        for token in &tokens {
            token.recheck()?;
        }
        made.push(match definition.own {
            Some(own) => write_own(own, data, &command)?,
            None => run(system, definition, &command, &nodes, quiet)?,
        });
    }
    drop(locks);
    Ok(made)
}

fn sector_size(system: &System, token: &WriteToken) -> Result<Bytes> {
    let path = system.queue(token.kernel_name())?.join("logical_block_size");
    let sector: Option<u64> = sysfs::read_number(&path)?;
    sector.map(Bytes).ok_or_else(|| Error::format(path, "nothing", "the logical sector size"))
}

/// Says in words what mkfs would say with its usage text.
fn fits(layout: &Layout<'_>) -> Result<()> {
    let size = size_of(layout.data)?;
    let definition = layout.definition;
    if size < definition.minimum {
        return Err(Error::Argument(format!(
            "{} of {size} is too small for {}; make it at least {}",
            layout.data.display(),
            definition.name,
            definition.minimum
        )));
    }
    let Some(journal) = &definition.journal else { return Ok(()) };
    let wanted = layout.journal.size.unwrap_or(journal.default);
    match layout.journal_device {
        None if wanted.0.saturating_mul(journal.internal_divisor) > size.0 => {
            Err(Error::Argument(format!(
                "an internal journal of {wanted} is too large for {} on {size}; make the device \
                 at least {} or the journal smaller",
                definition.name,
                Bytes(wanted.0 * journal.internal_divisor)
            )))
        }
        None => Ok(()),
        Some(device) => journal_fits(definition, wanted, journal.fills_device, device),
    }
}

fn journal_fits(
    definition: &FilesystemDefinition,
    wanted: Bytes,
    fills_device: bool,
    device: &Path,
) -> Result<()> {
    let size = size_of(device)?;
    if size < wanted {
        return Err(Error::Argument(format!(
            "the journal device {} of {size} is too small for a journal of {wanted}",
            device.display()
        )));
    }
    if fills_device && size != wanted {
        return Err(Error::Argument(format!(
            "{} fills its journal device {} of {size}, so its journal would not have the {wanted} \
             of the other stacks; make the device that size",
            definition.name,
            device.display()
        )));
    }
    Ok(())
}

fn size_of(path: &Path) -> Result<Bytes> {
    let node = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(Error::io("open", path))?;
    blkdev::size_bytes(node.as_fd()).map(Bytes).map_err(Error::io("read the size of", path))
}

/// Locks the whole disk, as udev and other careful programs expect of whoever writes to it.
fn lock(system: &System, token: &WriteToken) -> Result<OwnedFd> {
    let disk = crate::device::Device::by_name(system, token.kernel_name())
        .and_then(|device| device.disk());
    let path = disk.map_or_else(|| token.path().to_owned(), |disk| system.dev.join(disk.name));
    let node = open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(Error::io("open", &path))?;
    let begin = Instant::now();
    loop {
        match flock(&node, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(node),
            Err(Errno::WOULDBLOCK) if begin.elapsed() < LOCK_TIMEOUT => sleep(POLL),
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Timeout {
                    what: format!("another program still locks {}", path.display()),
                    waited: begin.elapsed(),
                    remedy: format!("find it with: lsof {}", path.display()),
                });
            }
            Err(error) => return Err(Error::io("lock", &path)(error)),
        }
    }
}

/// Writes a filesystem that no program makes.
fn write_own(own: Own, data: &WriteToken, words: &[String]) -> Result<String> {
    let path = data.path();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_secs()).unwrap_or_default();
    // The first word is the program, the last one the device.
    let arguments = words.get(1..words.len() - 1).unwrap_or_default();
    let pieces = own.pieces(size_of(path)?, arguments, now).map_err(Error::Argument)?;
    let device = data.open(false)?;
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        // The superblock is the last: what is half made is no filesystem.
        if pieces.peek().is_none() {
            device.sync_data().map_err(Error::io("sync", path))?;
        }
        device.write_all_at(&piece.bytes, piece.offset).map_err(Error::io("write", path))?;
    }
    device.sync_all().map_err(Error::io("sync", path))?;
    Ok(program::line(words.iter().map(String::as_str)))
}

fn run(
    system: &System,
    definition: &FilesystemDefinition,
    words: &[String],
    nodes: &[&Path],
    quiet: bool,
) -> Result<String> {
    let line = program::line(words.iter().map(String::as_str));
    let Some((name, arguments)) = words.split_first() else { return Ok(line) };
    let path = program::find(system, name, definition.package)?;
    let mut command = program::command(system, &path);
    command.args(arguments);
    quiet::restrict(&mut command, quiet);
    nodes_only::restrict(&mut command, nodes)
        .map_err(Error::io("examine the devices for", &path))?;
    let output = command.output().map_err(Error::io("run", &path))?;
    if output.status.success() { Ok(line) } else { Err(program::failed(line, &output)) }
}
