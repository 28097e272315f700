//! Runs a job: sets the threads up, lets them go together, adds up what they counted.

use crate::buffer::Arena;
use crate::clock::{MonotonicClock, clock_cost_ns, thread_cpu_ns};
use crate::drive::{Driver, Signals, SingleOperation, Tally};
use crate::error::JobError;
use crate::job::{EngineChoice, Job};
use crate::null::Null;
use crate::operation::Engine;
use crate::progress::Separated;
use crate::psync::Psync;
use crate::source::Source;
use crate::uring::Uring;
use rustix::thread::set_current_timer_slack;
use seekwell_stats::Histogram;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Result of a job.
#[derive(Clone, Debug, Default)]
pub struct JobResult {
    /// Reads and writes completed.
    pub ops: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Latencies of reads in ns.
    pub read: Histogram,
    /// Latencies of writes in ns.
    pub write: Histogram,
    /// Latencies of fsyncs in ns; they are not among `ops`.
    pub fsync: Histogram,
    /// From the start of each write until its sync has returned, in ns; empty without syncs.
    pub commit: Histogram,
    /// Time from the start of the first thread to the last completion of any thread.
    pub elapsed_ns: u64,
    /// CPU time, user and system, of the threads while they ran their loops, and of the kernel's
    /// io_uring workers that ran for them.
    pub cpu_ns: u64,
    /// Reads and writes that each thread completed, in order.
    pub threads: Vec<u64>,
    /// The open loop's account, where a rate was asked for.
    pub rate: Option<RateReport>,
    /// Cost of reading the clock, see [`clock_cost_ns`].
    pub clock_cost_ns: f64,
    /// Begin of the first thread, in ns of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Last completion, in ns of `CLOCK_MONOTONIC`.
    pub ended_ns: u64,
    /// True when the caller's stop ended it.
    pub stopped: bool,
    /// Single operations, as many as were asked for, in order of their begin.
    pub samples: Vec<SingleOperation>,
}

/// Requested and achieved rate of an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateReport {
    /// Operations per second asked for.
    pub requested: u64,
    /// Operations per second completed.
    pub achieved: f64,
    /// Operations that were due by the end and had not begun: their waiting is in no histogram.
    pub owed: u64,
}

impl JobResult {
    /// Latencies of reads and writes together.
    #[must_use]
    pub fn latencies(&self) -> Histogram {
        let mut all = self.read.clone();
        all.merge(&self.write);
        all
    }

    /// Operations per second; `None` when no time passed.
    #[must_use]
    pub fn iops(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.ops as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

struct Finished {
    tally: Tally,
    cpu_ns: u64,
}

/// Lets the threads go together, once all that could be started are set up.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: usize,
    open: bool,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        // The state is two plain values: a panic elsewhere cannot have left it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by a thread that is set up, or has failed to: waits for the others.
    fn pass(&self) {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.open));
    }

    /// Waits for `threads` threads and lets them go.
    fn open(&self, threads: usize) {
        let state = self.changed.wait_while(self.lock(), |state| state.ready < threads);
        state.unwrap_or_else(PoisonError::into_inner).open = true;
        self.changed.notify_all();
    }
}

/// Runs a job on the kernel's clock and returns when all its threads have ended.
///
/// # Errors
/// [`JobError`]: the job cannot be run as described, cannot be set up, or an operation failed.
/// The first failure of any thread stops them all.
pub fn run(job: &Job<'_>) -> Result<JobResult, JobError> {
    job.check()?;
    let clock_cost_ns = clock_cost_ns(&MonotonicClock);
    let gate = Gate::default();
    let failed = Separated(AtomicBool::new(false));
    let outcomes = std::thread::scope(|scope| {
        let (gate, failed) = (&gate, &failed);
        let mut handles = Vec::with_capacity(job.threads as usize);
        let mut not_started = None;
        for thread in 0..job.threads {
            let builder = std::thread::Builder::new().name(format!("io-{thread}"));
            let work = Work { job, thread, gate, failed };
            match builder.spawn_scoped(scope, move || work.run()) {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    failed.0.store(true, Ordering::Relaxed);
                    let remedy = "use fewer threads, or raise the limit of processes (ulimit -u)";
                    not_started = Some(Err(JobError::setup("start a thread", remedy)(source)));
                    break;
                }
            }
        }
        gate.open(handles.len());
        let joined =
            handles.into_iter().map(|handle| handle.join().unwrap_or(Err(JobError::Panicked)));
        not_started.into_iter().chain(joined).collect::<Vec<_>>()
    });
    combine(job, clock_cost_ns, outcomes)
}

/// One thread of a job.
struct Work<'a> {
    job: &'a Job<'a>,
    thread: u32,
    gate: &'a Gate,
    failed: &'a Separated<AtomicBool>,
}

impl Work<'_> {
    /// Sets up, waits at the gate and works. Always passes the gate, or no thread would.
    fn run(&self) -> Result<Finished, JobError> {
        // Without this the kernel may let a sleep last 50 µs longer, which would count as latency. A
        // kernel that refuses makes rate-limited latencies that much longer, no more.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let finished = self.finish();
        if finished.is_err() {
            self.failed.0.store(true, Ordering::Relaxed);
            self.gate.pass();
        }
        finished
    }

    /// Fails only before it has passed the gate.
    fn finish(&self) -> Result<Finished, JobError> {
        let job = self.job;
        let remedy = "use a smaller size or depth, or fewer threads";
        let mut arena = Arena::new(job.arena_shape(), job.data_seed(self.thread))
            .map_err(JobError::setup("map the buffers", remedy))?;
        let source = Source::new(job, self.thread).ok_or_else(|| {
            let problem = format!("no block of the target is left for thread {}", self.thread);
            JobError::invalid(problem, "use a larger target or fewer threads")
        })?;
        Ok(match job.engine {
            EngineChoice::Null => self.drive(source, &mut arena, &mut Null::new(job.depth)),
            EngineChoice::Psync => {
                // SAFETY: the arena outlives the engine, and only `drive` touches it.
                let mut engine = unsafe { Psync::new(job, &arena) };
                self.drive(source, &mut arena, &mut engine)
            }
            EngineChoice::IoUring => {
                // SAFETY: as for psync.
                let mut engine = unsafe { Uring::new(job, &arena) }?;
                self.drive(source, &mut arena, &mut engine)
            }
        })
    }

    fn drive<E: Engine>(&self, source: Source, arena: &mut Arena, engine: &mut E) -> Finished {
        let driver = Driver::new(source, arena, self.job);
        let signals = Signals {
            stop: self.job.stop.as_deref(),
            failed: self.failed,
            progress: self.job.progress.as_deref(),
        };
        self.gate.pass();
        let before_ns = thread_cpu_ns();
        let tally = driver.drive(&MonotonicClock, engine, signals, self.thread);
        let own_ns = thread_cpu_ns().saturating_sub(before_ns);
        if tally.failure.is_some() {
            self.failed.0.store(true, Ordering::Relaxed);
        }
        let workers_ns = match self.job.engine {
            EngineChoice::IoUring => kernel_workers_cpu_ns(),
            EngineChoice::Psync | EngineChoice::Null => 0,
        };
        Finished { tally, cpu_ns: own_ns + workers_ns }
    }
}

/// CPU time of the kernel's workers (`iou-wrk-TID`) that serve the calling thread's rings: they
/// are threads of this process. Workers that have already ended are not seen.
fn kernel_workers_cpu_ns() -> u64 {
    let name = format!("iou-wrk-{}", rustix::thread::gettid().as_raw_nonzero());
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    tasks
        .flatten()
        .filter(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|comm| comm.trim_end() == name)
        })
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

fn combine(
    job: &Job<'_>,
    clock_cost_ns: f64,
    outcomes: Vec<Result<Finished, JobError>>,
) -> Result<JobResult, JobError> {
    let mut threads = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        threads.push(outcome?);
    }
    let ops = threads.iter().map(|thread| thread.tally.ops).sum();
    // The earliest failure is the cause; what other threads met after it may be its consequence.
    let failed = threads.iter_mut().filter(|thread| thread.tally.failure.is_some());
    if let Some(failure) = failed
        .min_by_key(|thread| thread.tally.ended_ns)
        .and_then(|thread| thread.tally.failure.take())
    {
        return Err(failure.after(ops));
    }
    let started_ns = threads.iter().map(|thread| thread.tally.started_ns).min().unwrap_or(0);
    let ended_ns = threads.iter().map(|thread| thread.tally.ended_ns).max().unwrap_or(0);
    let elapsed_ns = ended_ns.saturating_sub(started_ns);
    let mut result = JobResult {
        ops,
        elapsed_ns,
        threads: Vec::with_capacity(threads.len()),
        clock_cost_ns,
        started_ns,
        ended_ns,
        ..JobResult::default()
    };
    let mut owed = 0;
    for Finished { tally, cpu_ns } in threads {
        add(&mut result, &tally, cpu_ns);
        owed += tally.owed;
        result.samples.extend(tally.samples);
    }
    result.samples.sort_by_key(|sample| sample.begun_ns);
    result.rate = job.rate.map(|requested| RateReport {
        requested,
        achieved: result.iops().unwrap_or(0.0),
        owed,
    });
    Ok(result)
}

fn add(result: &mut JobResult, tally: &Tally, cpu_ns: u64) {
    result.bytes_read += tally.bytes_read;
    result.bytes_written += tally.bytes_written;
    result.read.merge(&tally.read);
    result.write.merge(&tally.write);
    result.fsync.merge(&tally.fsync);
    result.commit.merge(&tally.commit);
    result.cpu_ns += cpu_ns;
    result.stopped |= tally.stopped;
    result.threads.push(tally.ops);
}

#[cfg(test)]
mod tests;
