//! A background workload: it runs as long as the measured one.

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use seekwell_engine::{Clock, MonotonicClock, Progress};
use seekwell_model::units::Nanos;
use seekwell_model::workloads::{StepOutline, WorkloadParams};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Result of a step of a background workload.
#[derive(Clone, Debug)]
pub struct BesideStep {
    /// The step.
    pub outline: StepOutline,
    /// Its result; the sum for a step that ran several times.
    pub outcome: StepOutcome,
}

/// A background workload: prepared once, then started and stopped as often as needed.
#[derive(Debug)]
pub struct Beside {
    steps: Option<Steps>,
    reported: Vec<String>,
    running: Option<Running>,
    progress: Option<Arc<Progress>>,
}

/// Longest time that a start waits for the first operation: longer than any disk takes to spin up.
pub const LONGEST_START: Nanos = Nanos::seconds(30);

type Steps = Vec<Box<dyn Step>>;

#[derive(Debug)]
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Steps, Result<Vec<BesideStep>, WorkloadError>)>,
}

impl std::fmt::Debug for dyn Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Step").field(&self.outline().name).finish()
    }
}

impl Beside {
    /// Runs the steps that only prepare, such as writing a file, and returns their results.
    /// `index` gives each of several background workloads files of its own.
    ///
    /// # Errors
    /// When a preparing step fails.
    pub fn prepare(
        params: &WorkloadParams,
        index: usize,
        context: &StepContext<'_>,
    ) -> Result<(Self, Vec<BesideStep>), WorkloadError> {
        let reported = params.steps().into_iter().map(|outline| outline.name).collect();
        let mut steps = crate::steps_at(&endless(params), Place::Beside(index));
        let mut prepared = Vec::new();
        for step in steps.iter_mut().filter(|step| !step.outline().measured) {
            let outcome = step.run(context)?;
            prepared.push(BesideStep { outline: step.outline().clone(), outcome });
        }
        steps.retain(|step| step.outline().measured);
        let progress = steps.first().and_then(|step| step.progress());
        Ok((Self { steps: Some(steps), reported, running: None, progress }, prepared))
    }

    /// Starts the measured steps in a thread; they run in turn, again and again, until
    /// [`Beside::stop`]. Returns when the first operation of a step that tells its progress is
    /// complete, so that nothing measured after this runs alone; after [`LONGEST_START`] in any
    /// case. Does nothing when they already run.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(&mut self, context: &StepContext<'_>) -> Result<(), WorkloadError> {
        let Some(steps) = self.steps.take() else { return Ok(()) };
        if let Some(progress) = &self.progress {
            progress.clear();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let owned = OwnedContext::new(context, Arc::clone(&stop))?;
        let failed = WorkloadError::file("start a thread for", context.device);
        let thread = std::thread::Builder::new()
            .name("beside".to_owned())
            .spawn(move || repeat(steps, &owned))
            .map_err(failed)?;
        self.running = Some(Running { stop, thread });
        if let Some(progress) = self.progress() {
            self.await_first_operation(&progress);
        }
        Ok(())
    }

    fn await_first_operation(&self, progress: &Progress) {
        let deadline_ns = MonotonicClock.now_ns().saturating_add(LONGEST_START.0);
        while progress.total().0 == 0 && !self.has_failed() {
            let now_ns = MonotonicClock.now_ns();
            if now_ns >= deadline_ns {
                return;
            }
            MonotonicClock.sleep_until_ns(now_ns + 100_000);
        }
    }

    /// Counters to watch it by, where its first step has some.
    #[must_use]
    pub fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.clone()
    }

    /// Returns true when it ended without being stopped: [`Beside::stop`] returns the reason.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.thread.is_finished())
    }

    /// Ends the steps and waits until they have ended; nothing of them is open any more. Returns
    /// what they found since the start, in the order of the steps; a step that was not reached is
    /// absent. Empty when nothing runs.
    ///
    /// # Errors
    /// The error of a step.
    pub fn stop(&mut self) -> Result<Vec<BesideStep>, WorkloadError> {
        let Some(Running { stop, thread }) = self.running.take() else { return Ok(Vec::new()) };
        stop.store(true, Ordering::Relaxed);
        let (steps, found) = thread.join().map_err(|_| WorkloadError::Panicked)?;
        self.steps = Some(steps);
        let mut found = found?;
        found.retain(|step| self.reported.contains(&step.outline.name));
        Ok(found)
    }
}

impl Drop for Beside {
    /// A forgotten one would continue writing.
    fn drop(&mut self) {
        // Who wants to know how it went calls `stop`.
        let _ = self.stop();
    }
}

/// The parameters, changed so that the steps can follow each other without end.
fn endless(params: &WorkloadParams) -> WorkloadParams {
    let mut params = params.clone();
    if let WorkloadParams::Mail(mail) = &mut params
        && !mail.steps.iter().any(|step| step == "remove")
    {
        mail.steps.push("remove".to_owned());
    }
    params
}

fn repeat(
    mut steps: Steps,
    owned: &OwnedContext,
) -> (Steps, Result<Vec<BesideStep>, WorkloadError>) {
    let mut found: Vec<BesideStep> = Vec::new();
    let result = 'turns: loop {
        for (index, step) in steps.iter_mut().enumerate() {
            if owned.stop.load(Ordering::Relaxed) {
                break 'turns Ok(());
            }
            match step.run(&owned.context()) {
                Err(error) => break 'turns Err(error),
                Ok(outcome) => match found.get_mut(index) {
                    Some(earlier) => earlier.outcome.add(outcome),
                    None => found.push(BesideStep { outline: step.outline().clone(), outcome }),
                },
            }
        }
        if steps.is_empty() {
            break Ok(());
        }
    };
    for step in &mut found {
        step.outcome.compute(&step.outline.metrics);
    }
    (steps, result.map(|()| found))
}

/// A context that a thread may keep.
struct OwnedContext {
    directory: Option<PathBuf>,
    device: PathBuf,
    device_file: Option<File>,
    raw: bool,
    seed: u64,
    stop: Arc<AtomicBool>,
    device_bytes: u64,
    sector_bytes: u32,
    scratch: Option<PathBuf>,
}

impl OwnedContext {
    fn new(context: &StepContext<'_>, stop: Arc<AtomicBool>) -> Result<Self, WorkloadError> {
        let device_file = context
            .device_file
            .map(File::try_clone)
            .transpose()
            .map_err(WorkloadError::file("duplicate the descriptor of", context.device))?;
        Ok(Self {
            directory: context.directory.map(PathBuf::from),
            device: context.device.to_owned(),
            device_file,
            raw: context.raw,
            seed: context.seed,
            stop,
            device_bytes: context.device_bytes,
            sector_bytes: context.sector_bytes,
            scratch: context.scratch.map(PathBuf::from),
        })
    }

    fn context(&self) -> StepContext<'_> {
        StepContext {
            directory: self.directory.as_deref(),
            device: &self.device,
            device_file: self.device_file.as_ref(),
            raw: self.raw,
            seed: self.seed,
            stop: Some(Arc::clone(&self.stop)),
            device_bytes: self.device_bytes,
            sector_bytes: self.sector_bytes,
            scratch: self.scratch.as_deref(),
            // The background runs as long as the measured workload: the number of operations is unknown.
            acknowledged: None,
        }
    }
}

#[cfg(test)]
mod tests;
