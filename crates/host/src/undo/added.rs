//! Removing disks that the kernel added for a run.

use crate::sysfs::{self, System};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait until nothing has a disk open: a mount ends a moment after its last process.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Removes the disk of an entry of an undo list; `None` if it is gone or was never there.
pub(crate) fn remove(
    system: &System,
    class: &str,
    device: &str,
    (number, is_known): (u64, bool),
) -> std::result::Result<Option<String>, String> {
    let begun = Instant::now();
    let digits = device.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    loop {
        let Some(now) = sequence(system, device) else { return Ok(None) };
        let is_ours = if is_known { now == number } else { now > number };
        if !is_ours || !(is_known || is_empty(system, device)) {
            return Ok(None);
        }
        match system.nodes.write_once(&remover(system, class), digits) {
            Ok(()) => return Ok(Some(format!("removed {device}"))),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if begun.elapsed() >= PATIENCE => {
                return Err(format!(
                    "cannot remove {device}: {error}; unmount it, then: echo {digits} > {}",
                    remover(system, class).display()
                ));
            }
            Err(_) => sleep(POLL),
        }
    }
}

/// Folder of a class.
pub(crate) fn folder(system: &System, class: &str) -> PathBuf {
    system.sys.join("class").join(class)
}

/// The file that removes a disk of a class.
pub(crate) fn remover(system: &System, class: &str) -> PathBuf {
    folder(system, class).join("hot_remove")
}

/// The number that the kernel gave a disk when it appeared.
pub(crate) fn sequence(system: &System, device: &str) -> Option<u64> {
    number_in(&system.block(device).join("diskseq"))
}

fn is_empty(system: &System, device: &str) -> bool {
    number_in(&system.block(device).join("size")) == Some(0)
}

fn number_in(path: &Path) -> Option<u64> {
    sysfs::read_optional(path)?.trim().parse().ok()
}
