//! Less power for commands that only read files which others may have written.

use crate::terminal;
use seekwell_host::confine::{Reach, ReaderLimits, become_reader, is_limited};
use signal_hook::consts::{SIGABRT, SIGXCPU};
use signal_hook::low_level::{emulate_default_handler, exit, register};

const NO_MEMORY: &str = "seekwell: error: reading needs more memory than files of others may take, 16 GiB or that of \
    the machine: the file is damaged or too large; check where it comes from, or use a part of it (of a trace: \
    `seekwell trace filter`)\n";
const NO_TIME: &str = "seekwell: error: reading takes more CPU time than files of others may take, 1800 s: the file is \
    damaged or too large; check where it comes from, or use a part of it (of a trace: `seekwell trace filter`)\n";

/// Makes the end at a limit of a reader an error that says so: the kernel ends the process with a signal.
pub fn explain_limits() {
    for (signal, text) in [(SIGABRT, NO_MEMORY), (SIGXCPU, NO_TIME)] {
        let end = move || {
            if is_limited() {
                let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
                exit(1);
            }
            let _ = emulate_default_handler(signal);
        };
        // SAFETY: the action loads an atomic number and makes system calls, which a signal handler may.
        let registered = unsafe { register(signal, end) };
        // Without it the shell names the signal.
        let _ = registered;
    }
}

/// Gives up the power that reading does not need, for the rest of this process: all capabilities but the one to
/// open files of any owner, new programs, sockets, mounts, and all files but those of `reach`.
///
/// On a kernel that cannot do it the command runs as it is, and says so.
pub fn confine(reach: &Reach) {
    if let Err(error) = become_reader(ReaderLimits::READER, reach) {
        terminal::talk(&format!("note: the file is read with all rights of this process: {error}"));
    }
}
