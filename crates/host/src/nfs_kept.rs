//! Settings of NFS servers, mounted on the host, where they outlive the trials that start the servers.

use crate::error::Result;
use crate::program;
use crate::sysfs::{self, System};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Ending of the names of their folders.
pub(crate) const EXTENSION: &str = "nfsd";
/// Debian package of `nsenter`.
const PACKAGE: &str = "util-linux";
/// Longest wait until nothing has the settings open.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Runs a program in the mount namespace of the first process, and in the network of this one.
pub(crate) fn on_the_host(system: &System, words: &[&str]) -> Result<()> {
    let namespace = format!("--mount={}", system.proc.join("1/ns/mnt").display());
    let arguments: Vec<&str> = [namespace.as_str(), "--"].iter().chain(words).copied().collect();
    program::run(system, "nsenter", PACKAGE, &arguments).map(drop)
}

/// Returns true if a server's settings are mounted there on the host.
pub(crate) fn is_mounted(system: &System, path: &Path) -> bool {
    let mounts = sysfs::read_optional(&system.proc.join("1/mounts")).unwrap_or_default();
    let point = quoted(path);
    mounts.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some(&point) && words.next() == Some("nfsd")
    })
}

/// Stops the server whose settings are mounted there, which lets go of its filesystem; `None` if there
/// is none. Its clients must be gone.
pub(crate) fn end(system: &System, path: &Path) -> std::result::Result<Option<String>, String> {
    if !is_mounted(system, path) {
        return Ok(None);
    }
    let by_hand = |error: &dyn std::fmt::Display| {
        let path = path.display();
        format!(
            "cannot stop the NFS server of {path}: {error}; try: echo 0 > {path}/threads; umount {path}"
        )
    };
    let below = path.strip_prefix("/").unwrap_or(path);
    let threads = system.proc.join("1/root").join(below).join("threads");
    fs::write(&threads, "0\n").map_err(|error| by_hand(&error))?;
    let begun = Instant::now();
    let text = path.display().to_string();
    while let Err(error) = on_the_host(system, &["umount", "-i", "-n", &text]) {
        if begun.elapsed() >= PATIENCE {
            return Err(by_hand(&error));
        }
        sleep(POLL);
    }
    Ok(Some(format!("stopped the NFS server of {text}")))
}

/// A path as a word of the kernel's lists: blanks and backslashes in octal.
pub(crate) fn quoted(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\134").replace(' ', "\\040").replace('\n', "\\012")
}
