//! Lanes of test programs: in each lane one program runs at a time, the lanes run side by side. Programs that need
//! a lab kernel come last in their lane, and wait for it.
//!
//! The tests that touch the machine wait most of their time, for the kernel or for a workload, and
//! must not run at the same time; the other lane has room for those that compute. When none that touches the machine is
//! left, its lane helps the other, and where a CPU is idle a third program of the other lane runs.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// Jobs that wait, those that need the kernel last.
type Waiting = Mutex<VecDeque<Job>>;

/// Waits for the lab kernel.
type Ready<'a> = Mutex<&'a mut (dyn FnMut() -> Result<()> + Send)>;

fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the jobs of the machine's lane in their order, and at the same time those of the other lane by their seconds in the last
/// run with the longest first. Shows each program's output when it has ended, and counts its tests. `ready` waits for
/// the lab kernel; a second call returns at once. `is_idle` looks for a while whether a CPU is idle.
///
/// # Errors
///
/// When a program cannot be started, `ready` fails, or `show` cannot be written.
pub(super) fn run(
    [mut machine, mut aside]: [Vec<Job>; 2],
    last: &BTreeMap<String, f64>,
    ready: &mut (dyn FnMut() -> Result<()> + Send),
    is_idle: &(dyn Fn() -> bool + Sync),
    show: &mut (dyn Write + Send),
    tally: &mut Tally,
) -> Result<()> {
    machine.sort_by_key(|job| job.needs_kernel);
    let seconds = |job: &Job| last.get(&job.name).copied().unwrap_or(0.0);
    aside.sort_by(|one, other| {
        let by_kernel = one.needs_kernel.cmp(&other.needs_kernel);
        by_kernel.then_with(|| seconds(other).total_cmp(&seconds(one)))
    });
    let [machine, aside]: [Waiting; 2] = [machine, aside].map(|jobs| Mutex::new(jobs.into()));
    let has_kernel = AtomicBool::new(false);
    let mut noting = || {
        ready()?;
        has_kernel.store(true, Ordering::Relaxed);
        Ok(())
    };
    let ready: Ready<'_> = Mutex::new(&mut noting);
    let (desk, ready) = (&Mutex::new(Desk { show, tally }), &ready);
    let first = |jobs: &Waiting| locked(jobs).pop_front();
    let shortest = |jobs: &Waiting| locked(jobs).pop_back();
    let of_machine = || first(&machine).or_else(|| shortest(&aside));
    let of_aside = || first(&aside);
    // The shortest that need not wait, when there is room for it.
    let can_begin = |job: &Job| !job.needs_kernel || has_kernel.load(Ordering::Relaxed);
    let of_spare = || {
        while !locked(&aside).is_empty() {
            if is_idle() {
                let mut jobs = locked(&aside);
                if let Some(at) = jobs.iter().rposition(can_begin) {
                    return jobs.remove(at);
                }
            }
        }
        None
    };
    // A lane that ends with an error ends the others: what waits could wait for it.
    let lane = |next: &(dyn Fn() -> Option<Job> + Sync)| {
        one_after_another(next, ready, desk).inspect_err(|_| {
            locked(&machine).clear();
            locked(&aside).clear();
        })
    };
    thread::scope(|scope| {
        let running = [
            scope.spawn(|| lane(&of_machine)),
            scope.spawn(|| lane(&of_aside)),
            scope.spawn(|| lane(&of_spare)),
        ];
        running.into_iter().try_for_each(|lane| match lane.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn one_after_another(
    next: &dyn Fn() -> Option<Job>,
    ready: &Ready<'_>,
    desk: &Mutex<Desk>,
) -> Result<()> {
    while let Some(mut job) = next() {
        if job.needs_kernel {
            locked(ready)()?;
        }
        let started = Instant::now();
        let output = job
            .command
            .output()
            .with_context(|| format!("cannot run the tests of {}", job.name))?;
        let seconds = started.elapsed().as_secs_f64();
        locked(desk).take(&job.name, seconds, &output)?;
    }
    Ok(())
}
