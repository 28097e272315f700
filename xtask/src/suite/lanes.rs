//! Lanes of test programs: in each lane one program runs at a time, the lanes run side by side. Programs that need
//! a lab kernel come last in their lane, and wait for it.
//!
//! The tests that touch the machine wait most of their time, for the kernel or for a workload, and
//! must not meet each other; beside them there is room for those that compute.

use std::io::{self, Write};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use super::tally::Tally;

#[cfg(test)]
mod tests;

/// A command that runs tests.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: Command,
    /// It begins when the lab kernel is ready.
    pub(super) needs_kernel: bool,
}

/// Output and counts of all lanes.
struct Desk<'a> {
    show: &'a mut (dyn Write + Send),
    tally: &'a mut Tally,
}

impl Desk<'_> {
    fn take(&mut self, name: &str, seconds: f64, output: &Output) -> io::Result<()> {
        writeln!(self.show, "\n== {name}: {seconds:.1} s")?;
        self.show.write_all(&output.stdout)?;
        self.show.write_all(&output.stderr)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        self.tally.add_program(name, &printed, output.status.success());
        self.tally.add_time(name, seconds);
        self.show.flush()
    }
}

/// Runs `lanes` side by side, shows each program's output when it has ended, and counts its tests. `ready` waits for
/// the lab kernel; a second call returns at once.
///
/// # Errors
///
/// When a program cannot be started, `ready` fails, or `show` cannot be written.
pub(super) fn run<const LANES: usize>(
    lanes: [Vec<Job>; LANES],
    ready: &mut (dyn FnMut() -> Result<()> + Send),
    show: &mut (dyn Write + Send),
    tally: &mut Tally,
) -> Result<()> {
    let (desk, ready) = (&Mutex::new(Desk { show, tally }), &Mutex::new(ready));
    thread::scope(|scope| {
        let running = lanes.map(|jobs| scope.spawn(move || one_after_another(jobs, ready, desk)));
        running.into_iter().try_for_each(|lane| match lane.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn one_after_another(
    mut jobs: Vec<Job>,
    ready: &Mutex<&mut (dyn FnMut() -> Result<()> + Send)>,
    desk: &Mutex<Desk>,
) -> Result<()> {
    jobs.sort_by_key(|job| job.needs_kernel);
    for mut job in jobs {
        if job.needs_kernel {
            (ready.lock().unwrap_or_else(PoisonError::into_inner))()?;
        }
        let started = Instant::now();
        let output = job
            .command
            .output()
            .with_context(|| format!("cannot run the tests of {}", job.name))?;
        let seconds = started.elapsed().as_secs_f64();
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.take(&job.name, seconds, &output)?;
    }
    Ok(())
}
