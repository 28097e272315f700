//! Experiments: trials of a plan repeated with laws of their modelled machines switched off, in parallel.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use seekwell_model::laws::LawSet;
use seekwell_model::origin::TracedStep;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::Stack;

use crate::backend::{Lane, VirtualBackend, VirtualBackendError};

/// One trial without some laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The trial.
    pub trial: PlannedTrial,
    /// Laws that are switched off.
    pub off: LawSet,
}

/// A backend for experiments, with the CPUs that their guests run on.
#[derive(Debug)]
pub struct Experiments {
    backend: VirtualBackend,
    cpus: Vec<Option<usize>>,
    stop: Arc<AtomicBool>,
}

impl Experiments {
    /// Experiments on one guest per CPU, as far as they fit into memory; without any CPU one that is not
    /// pinned. `stop` ends them.
    ///
    /// # Errors
    ///
    /// [`VirtualBackendError::NoMemory`].
    pub fn new(
        mut backend: VirtualBackend,
        plan: &Plan,
        cpus: &[usize],
        stop: Arc<AtomicBool>,
    ) -> Result<Self, VirtualBackendError> {
        let guests = backend.reserve_memory(plan, cpus.len().max(1))?.guests;
        let mut cpus: Vec<Option<usize>> = cpus.iter().copied().take(guests).map(Some).collect();
        if cpus.is_empty() {
            cpus.push(None);
        }
        Ok(Self { backend, cpus, stop })
    }

    /// Laws of a stack's devices and of the machine.
    ///
    /// # Errors
    ///
    /// When the stack has a device that cannot be modelled.
    pub fn laws(&self, stack: &Stack) -> Result<LawSet, VirtualBackendError> {
        self.backend.laws(stack)
    }

    /// Runs one trial with every law on, and returns the requests of a step with their origins, where the kernel
    /// records them.
    ///
    /// # Errors
    ///
    /// When the backend fails.
    pub fn trace(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        step: &str,
    ) -> Result<(Record, Option<TracedStep>), VirtualBackendError> {
        let lane = Lane { cpu: self.cpus[0], stop: self.stop.clone() };
        self.backend.run_traced(plan, trial, &lane, step)
    }

    /// Runs experiments; their records in the same order.
    ///
    /// # Errors
    ///
    /// The first failure of the backend, which ends those that have not begun. A failed trial is a record.
    pub fn run(
        &self,
        plan: &Plan,
        experiments: &[Experiment],
    ) -> Result<Vec<Record>, VirtualBackendError> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(experiments.len()));
        std::thread::scope(|scope| {
            for cpu in &self.cpus {
                let lane = Lane { cpu: *cpu, stop: self.stop.clone() };
                let (next, done) = (&next, &done);
                scope.spawn(move || {
                    while let Some((at, one)) = take(next, experiments) {
                        let ran = self.backend.run_without(plan, &one.trial, &lane, one.off);
                        if ran.is_err() {
                            next.store(experiments.len(), Ordering::Relaxed);
                        }
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, ran));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        let records = done.into_iter().map(|(_, ran)| ran).collect::<Result<Vec<Record>, _>>()?;
        // A thread that panicked leaves a gap.
        if records.len() == experiments.len() {
            Ok(records)
        } else {
            Err(VirtualBackendError::Gone)
        }
    }
}

/// The next experiment that no thread has, with its position.
fn take<'a>(next: &AtomicUsize, all: &'a [Experiment]) -> Option<(usize, &'a Experiment)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, all.get(at)?))
}
