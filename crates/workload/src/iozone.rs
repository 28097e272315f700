//! `iozone`: its tests, with a file for each thread.

mod access;
mod order;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use access::FileOfThread;
use order::Order;
use seekwell_engine::buffer::{Arena, ArenaShape};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::progress::Separated;
use seekwell_engine::{Clock, DataShape, MonotonicClock, Progress};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::iozone::IozonePass;
use seekwell_model::workloads::{CacheState, IozoneParams, StepOutline};
use seekwell_stats::{Histogram, derive_seed};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

/// The steps.
#[must_use]
pub fn steps(params: &IozoneParams, place: Place) -> Vec<Box<dyn Step>> {
    let params = Arc::new(params.clone());
    let measurements = params.measurements();
    let mut steps: Vec<Box<dyn Step>> = Vec::with_capacity(measurements.len());
    for (outline, pass, file, record) in measurements {
        let progress = Arc::new(Progress::new(params.threads));
        let params = Arc::clone(&params);
        steps.push(Box::new(Pass { outline, pass, file, record, params, place, progress }));
    }
    steps
}

/// One pass of one test.
#[derive(Debug)]
struct Pass {
    outline: StepOutline,
    pass: IozonePass,
    file: Bytes,
    record: Bytes,
    params: Arc<IozoneParams>,
    place: Place,
    progress: Arc<Progress>,
}

/// Result of one thread until its test was over.
#[derive(Debug, Default)]
struct Share {
    read_bytes: u64,
    written_bytes: u64,
    ops: u64,
    begun_ns: u64,
    ended_ns: u64,
    cpu_ns: u64,
    reads: Histogram,
    writes: Histogram,
}

impl Share {
    fn mb_per_s(&self) -> Option<f64> {
        let elapsed_ns = self.ended_ns.saturating_sub(self.begun_ns);
        let bytes = (self.read_bytes + self.written_bytes) as f64;
        (elapsed_ns > 0).then(|| bytes * 1e3 / elapsed_ns as f64)
    }
}

/// State shared by the threads of a pass.
#[derive(Debug)]
struct Together {
    gate: Barrier,
    /// A thread has done all its records.
    finished: Separated<AtomicBool>,
    /// A thread has failed.
    failed: Separated<AtomicBool>,
}

impl Step for Pass {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn progress(&self) -> Option<Arc<Progress>> {
        Some(Arc::clone(&self.progress))
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        self.check(context)?;
        let together = Together {
            gate: Barrier::new(self.params.threads as usize),
            finished: Separated(AtomicBool::new(false)),
            failed: Separated(AtomicBool::new(false)),
        };
        let shares = std::thread::scope(|scope| {
            let (pass, together) = (&*self, &together);
            let start = |thread| scope.spawn(move || pass.thread(context, thread, together));
            let threads: Vec<_> = (0..self.params.threads).map(start).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or(Err(WorkloadError::Panicked)))
                .collect::<Result<Vec<_>, _>>()
        })?;
        Ok(self.outcome(context, shares))
    }
}

impl Pass {
    fn unfit(&self, problem: String, remedy: &str) -> WorkloadError {
        WorkloadError::unfit(&self.outline.name, problem, remedy)
    }

    fn direct(&self) -> bool {
        self.params.cache == CacheState::Direct
    }

    fn check(&self, context: &StepContext<'_>) -> Result<(), WorkloadError> {
        let sector = u64::from(context.sector_bytes.max(1));
        if self.direct() && !self.record.0.is_multiple_of(sector) {
            let problem = format!(
                "makes direct operations of {} on a device with sectors of {sector} B",
                self.record
            );
            return Err(self.unfit(problem, "use a multiple of the sector, or cache = \"warm\""));
        }
        Ok(())
    }

    fn path(&self, context: &StepContext<'_>, thread: u32) -> Result<PathBuf, WorkloadError> {
        let directory = context
            .directory
            .ok_or_else(|| self.unfit("needs a directory".to_owned(), "use it on a filesystem"))?;
        Ok(directory.join(self.place.name(&format!("iozone-{thread}.data"))))
    }

    /// Sets a thread up, waits for the others, and works. Passes the gate even after an error:
    /// otherwise the others would wait forever.
    fn thread(
        &self,
        context: &StepContext<'_>,
        thread: u32,
        together: &Together,
    ) -> Result<Share, WorkloadError> {
        let ready = self.set_up(context, thread);
        if ready.is_err() {
            together.failed.0.store(true, Ordering::Relaxed);
        }
        together.gate.wait();
        let (mut file, order) = ready?;
        let cpu_ns = thread_cpu_ns();
        let worked = self.work(context, thread, together, &mut file, order);
        if worked.is_err() {
            together.failed.0.store(true, Ordering::Relaxed);
        }
        let mut share = worked?;
        share.cpu_ns = thread_cpu_ns() - cpu_ns;
        Ok(share)
    }

    fn set_up(
        &self,
        context: &StepContext<'_>,
        thread: u32,
    ) -> Result<(FileOfThread, Order), WorkloadError> {
        let path = self.path(context, thread)?;
        let record_bytes = u32::try_from(self.record.0).unwrap_or(u32::MAX);
        let data = DataShape::of(self.params.compressible, self.params.repeated);
        let depth = 1;
        let (reads, writes) = (true, true);
        let shape = ArenaShape { block_bytes: record_bytes, depth, reads, writes, data };
        let label = self.place.name(&format!("{} {thread}", self.outline.name));
        let seed = derive_seed(context.seed, &label);
        let arena =
            Arena::new(shape, seed).map_err(WorkloadError::file("map the buffers for", &path))?;
        let file = FileOfThread::open(&self.pass, path, self.direct(), arena, record_bytes)?;
        let records = self.file.0 / self.record.0;
        Ok((file, Order::new(&self.pass, records, seed)))
    }

    fn work(
        &self,
        context: &StepContext<'_>,
        thread: u32,
        together: &Together,
        file: &mut FileOfThread,
        order: Order,
    ) -> Result<Share, WorkloadError> {
        let stonewall = self.params.stonewall && self.params.threads > 1;
        let mut share = Share { begun_ns: MonotonicClock.now_ns(), ..Share::default() };
        share.ended_ns = share.begun_ns;
        let mut over = false;
        let reads = !self.pass.writes;
        for record in order {
            if !over && stonewall && together.finished.0.load(Ordering::Relaxed) {
                over = true;
            }
            // A file that is written is written in full all the same: the next test needs it.
            if (over && reads) || together.failed.0.load(Ordering::Relaxed) {
                break;
            }
            if context.is_stopped() {
                break;
            }
            let bytes = file.operate(reads, record * self.record.0)?;
            if !over {
                self.count(&mut share, thread, reads, bytes);
            }
        }
        if !over {
            if self.params.flush && self.pass.writes {
                file.sync()?;
                share.ended_ns = MonotonicClock.now_ns();
            }
            together.finished.0.store(true, Ordering::Relaxed);
        }
        Ok(share)
    }

    fn count(&self, share: &mut Share, thread: u32, reads: bool, bytes: u64) {
        let now_ns = MonotonicClock.now_ns();
        let latency_ns = now_ns.saturating_sub(share.ended_ns);
        share.ended_ns = now_ns;
        share.ops += 1;
        if reads {
            share.reads.record(latency_ns);
            share.read_bytes += bytes;
        } else {
            share.writes.record(latency_ns);
            share.written_bytes += bytes;
        }
        self.progress.store(thread, share.ops, share.read_bytes + share.written_bytes);
    }

    fn outcome(&self, context: &StepContext<'_>, shares: Vec<Share>) -> StepOutcome {
        let mut outcome = StepOutcome { stopped: context.is_stopped(), ..StepOutcome::default() };
        let begun_ns = shares.iter().map(|share| share.begun_ns).min().unwrap_or(0);
        let ended_ns = shares.iter().map(|share| share.ended_ns).max().unwrap_or(0);
        outcome.elapsed_ns = ended_ns.saturating_sub(begun_ns);
        let (mut reads, mut writes) = (Histogram::new(), Histogram::new());
        let mut speeds: Vec<f64> = Vec::with_capacity(shares.len());
        for share in &shares {
            outcome.ops += share.ops;
            outcome.app_bytes_read += share.read_bytes;
            outcome.app_bytes_written += share.written_bytes;
            outcome.cpu_ns += share.cpu_ns;
            reads.merge(&share.reads);
            writes.merge(&share.writes);
            // A thread that was too late for a single record reached nothing.
            speeds.push(share.mb_per_s().unwrap_or(0.0));
        }
        outcome.keep("read", reads);
        outcome.keep("write", writes);
        outcome.compute(&self.outline.metrics);
        let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = speeds.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            // iozone's throughput is the sum over its threads.
            let all = [
                ("mb_per_s", speeds.iter().sum()),
                ("thread_mb_per_s_min", least),
                ("thread_mb_per_s_max", most),
            ];
            outcome.metrics.extend(all.map(|(name, value)| (name.to_owned(), value)));
        }
        if least > 0.0 && least.is_finite() {
            outcome.metrics.insert("imbalance".to_owned(), most / least);
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
