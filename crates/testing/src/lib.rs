//! Helpers shared by the tests of every room: a skip that is counted, and checks for root and for
//! tools of the system.
//!
//! Not for production code: only `[dev-dependencies]` may name this crate, which is why it may print
//! and read the environment where library rooms may not.
//!
//! # A test that cannot run here
//!
//! ```
//! // with `#[test]` above it
//! fn formats_an_image() {
//!     if !seekwell_testing::root() {
//!         return seekwell_testing::skip("formats_an_image", "needs root to attach a loop device");
//!     }
//!     let Some(mkfs) = seekwell_testing::tool("mkfs.xfs") else {
//!         return seekwell_testing::skip("formats_an_image", "mkfs.xfs is not installed");
//!     };
//!     assert!(mkfs.is_absolute());
//! }
//! ```
//!
//! The test harness swallows the output of a passing test, so a printed skip alone would be lost.
//! [`skip`] therefore also appends its line to the file named by [`SKIP_LOG`], which `cargo xtask
//! test` sets and counts at the end.

use std::env;
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

mod cgroup;
pub mod fuzz;
pub mod printed;
mod ram_disk;

pub use cgroup::{Cgroup, NO_CGROUP};
pub use ram_disk::RamDisk;

#[cfg(test)]
mod tests;

/// Environment variable with the path of the file that collects skips; unset outside `cargo xtask
/// test`.
pub const SKIP_LOG: &str = "SEEKWELL_SKIP_LOG";

/// Environment variable with the seed of samples and properties, as proptest reads it.
pub const SEED: &str = "PROPTEST_RNG_SEED";

/// Environment variable that asks for all cases instead of samples.
pub const ALL: &str = "SEEKWELL_ALL";

/// Folders of system tools that an ordinary user's `PATH` leaves out on Debian.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Says that `test` did not run, and why: `SKIPPED: <test>: <reason>` on standard error and, under
/// `cargo xtask test`, in the skip log. The caller returns right after.
///
/// Line breaks inside either argument become blanks, so that one skip stays one line.
///
/// # Panics
///
/// When the skip log is named but cannot be written: an uncounted skip would be a silent pass.
pub fn skip(test: &str, reason: &str) {
    let line = skip_line(test, reason);
    eprint_line(&line);
    if let Some(log) = env::var_os(SKIP_LOG)
        && let Err(error) = append(Path::new(&log), &line)
    {
        panic!("cannot record the skip of {test} in {}: {error}", Path::new(&log).display());
    }
}

/// The seed that [`SEED`] gives, else another one every time.
///
/// # Panics
/// When [`SEED`] is not a number.
#[must_use]
pub fn seed() -> u64 {
    match env::var(SEED) {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("{SEED}={seed} is not a number")),
        Err(_) => UNIX_EPOCH.elapsed().map_or(0, |time| u64::from(time.subsec_nanos())),
    }
}

/// True where the whole of what is sampled runs: under `make test-all`.
#[must_use]
pub fn all() -> bool {
    env::var_os(ALL).is_some()
}

/// Number of cases of a property: a few, or under `make test-all` all.
#[must_use]
pub fn cases<N>(few: N, whole: N) -> N {
    if all() { whole } else { few }
}

/// Positions below `count`, `wanted` of them or all, in their order: those that come first when all are
/// ordered by a hash of seed and position.
#[must_use]
pub fn sample(count: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let hash = |at: &usize| {
        let mut hasher = DefaultHasher::new();
        (seed, at).hash(&mut hasher);
        hasher.finish()
    };
    let mut all: Vec<usize> = (0..count).collect();
    all.sort_by_cached_key(hash);
    all.truncate(wanted);
    all.sort_unstable();
    all
}

/// Returns true if this process runs as root (effective user id 0). Loop devices, mounts and changes
/// of the scheduler need it.
#[must_use]
pub fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Writes a program that can be started at once, with the folders above it. A child writes it: a
/// descriptor of this process would be inherited by a program that another test starts meanwhile,
/// and nothing that is open for writing can be run.
///
/// # Panics
/// When the file cannot be written.
pub fn program(path: &Path, text: &str) {
    let script = "mkdir -p \"${0%/*}\" && cat >\"$0\" && chmod 755 \"$0\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(path).stdin(Stdio::piped());
    let ended = shell.spawn().and_then(|mut child| {
        child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()))?;
        child.wait()
    });
    assert!(ended.as_ref().is_ok_and(ExitStatus::success), "{}: {ended:?}", path.display());
}

/// Asks until the answer is true, for at most ten seconds; false when it never was.
///
/// For locks that have ended: a program that another test starts has a copy of every descriptor of this process from
/// its fork to its exec.
pub fn soon(mut ask: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while !ask() {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(10));
    }
    true
}

/// The executable `name` on `PATH`, or in the system folders that `PATH` may leave out; `None` when
/// not installed.
#[must_use]
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    find_tool(name, env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from)))
}

fn find_tool(name: &str, folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn skip_line(test: &str, reason: &str) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("SKIPPED: {}: {}\n", one_line(test), one_line(reason))
}

#[allow(
    clippy::print_stderr,
    reason = "telling the person who runs the test is this crate's purpose"
)]
fn eprint_line(line: &str) {
    eprint!("{line}");
}

/// One write call on an append-only descriptor: threads and processes share the log.
fn append(log: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(log)?.write_all(line.as_bytes())
}
