//! Less power for commands that only read files which others may have written.

use crate::terminal;
use seekwell_host::confine::{Reach, ReaderLimits, become_reader};

/// Far more than the largest run file needs, far less than an endless loop takes.
const LIMITS: ReaderLimits = ReaderLimits { memory_bytes: 16 << 30, cpu_s: 1_800 };

/// Gives up the power that reading does not need, for the rest of this process: all capabilities but the one to
/// open files of any owner, new programs, sockets, mounts, and all files but those of `reach`.
///
/// On a kernel that cannot do it the command runs as it is, and says so.
pub fn confine(reach: &Reach) {
    if let Err(error) = become_reader(LIMITS, reach) {
        terminal::talk(&format!("note: the file is read with all rights of this process: {error}"));
    }
}
