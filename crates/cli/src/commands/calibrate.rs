//! `seekwell calibrate`: what CPU time to charge in virtual time, as this machine's CPU takes it.

use crate::failure::{Exit, Failure};
use crate::terminal;

/// Measures and prints the charge, as `--cpu` takes it.
///
/// # Errors
/// When the system refuses a file in memory.
pub fn run() -> Result<Exit, Failure> {
    let charge = seekwell_virtual::charge::measure()
        .map_err(|error| Failure::Error(format!("cannot measure: {error}")))?;
    terminal::talk(&format!(
        "this CPU takes {} ns for a system call and {} ns for each KiB it copies; to charge that:\n  seekwell run LAB --place virtual --cpu {charge}",
        charge.syscall_ns, charge.copy_ns_per_kib
    ));
    terminal::data(&charge.to_string());
    Ok(Exit::Done)
}
