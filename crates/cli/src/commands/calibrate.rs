//! `seekwell kernel calibrate`: what CPU time to charge in virtual time, as this machine's CPU takes it.

use crate::args::CalibrateArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_session::Machine;
use seekwell_virtual::charge::{self, KERNEL_LOG};
use std::path::Path;

/// Measures and prints the charge, as `--cpu` takes it.
///
/// # Errors
/// When the system refuses a file in memory.
pub fn run(machine: &Machine, arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    let mut charge =
        charge::measure().map_err(|error| Failure::Error(format!("cannot measure: {error}")))?;
    let times = match arguments.layers {
        true => charge::measure_work(&|name| machine.find(name), Path::new(KERNEL_LOG)),
        false => Vec::new(),
    };
    charge.work = charge::charge_of(&times);
    terminal::talk(&format!(
        "this CPU takes {} ns for a system call and {} ns for each KiB it copies; to charge that:\n  seekwell run LAB --place virtual --cpu {charge}",
        charge.syscall_ns, charge.copy_ns_per_kib
    ));
    for time in &times {
        terminal::talk(&match &time.found {
            Ok((ns, source)) => format!("{}: {ns} ns for each KiB, by {source}", time.name),
            Err(reason) => format!("{}: not measured and not charged: {reason}", time.name),
        });
    }
    terminal::data(&charge.to_string());
    Ok(Exit::Done)
}
