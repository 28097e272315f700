//! Wishes to end: Ctrl-C, SIGTERM and the end of the terminal.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that these signals raise.
///
/// # Errors
/// When the kernel refuses a signal handler.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::Error(format!("cannot listen for signals: {error}")))?;
    }
    Ok(stop)
}
