//! This machine as a session needs it: paths from the environment, and interrupts.

use crate::failure::Failure;
use seekwell_host::sysfs::System;
use seekwell_session::{Machine, Session};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Folders of system tools that an ordinary user's `PATH` omits on Debian.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Directory of undo lists and claims.
const STATE: &str = "/var/lib/seekwell";

/// A session on this machine.
///
/// # Errors
/// When the path of this program cannot be found.
pub fn session() -> Result<Session, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Error(format!("cannot find the program itself: {error}")))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    Ok(Session::new(Machine {
        system: System::host(),
        program,
        state: PathBuf::from(STATE),
        kernels: cache().map(|cache| cache.join("seekwell/kernels")),
        folders: folders.collect(),
        temporary: std::env::temp_dir(),
    }))
}

/// The user's cache directory; `None` when the user has no home.
fn cache() -> Option<PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    named("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| PathBuf::from(home).join(".cache")))
}

/// A flag that the first Ctrl-C or SIGTERM raises: the trial under way is finished. The second one
/// ends the program at once, and the guardian puts everything back.
///
/// # Errors
/// When the handler cannot be installed.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let second =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
        let first = signal_hook::flag::register(signal, Arc::clone(&stop));
        second
            .and(first)
            .map_err(|error| Failure::Error(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}
