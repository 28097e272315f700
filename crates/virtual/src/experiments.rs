//! Experiments: trials of a plan repeated with laws of their modelled machines switched off, in parallel.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use seekwell_model::laws::LawSet;
use seekwell_model::origin::TracedStep;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::Stack;
use seekwell_model::workloads::calls::Call;

use crate::backend::{Lane, Result, SequenceCut, VirtualBackend, VirtualBackendError};

/// One trial without some laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The trial.
    pub trial: PlannedTrial,
    /// Laws that are switched off.
    pub off: LawSet,
}

/// A trial whose stack is cut, and the sequences of calls before the cuts.
pub type Batch = (PlannedTrial, Vec<Vec<Call>>);

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
    ) -> Result<Self> {
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
    pub fn laws(&self, stack: &Stack) -> Result<LawSet> {
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
    ) -> Result<(Record, Option<TracedStep>)> {
        let lane = Lane { cpu: self.cpus[0], stop: self.stop.clone() };
        self.backend.run_traced(plan, trial, &lane, step)
    }

    /// Runs experiments; their records in the same order.
    ///
    /// # Errors
    ///
    /// The first failure of the backend, which ends those that have not begun. A failed trial is a record.
    pub fn run(&self, plan: &Plan, experiments: &[Experiment]) -> Result<Vec<Record>> {
        self.each(experiments, &|one, lane| {
            self.backend.run_without(plan, &one.trial, lane, one.off)
        })
    }

    /// Cuts the power after each sequence of these batches, each in a guest of its own.
    ///
    /// # Errors
    ///
    /// The first failure of the backend, as in [`Self::run`].
    pub fn cut(&self, plan: &Plan, batches: &[Batch]) -> Result<Vec<Vec<SequenceCut>>> {
        self.each(batches, &|(trial, sequences), lane| {
            self.backend.cut_sequences(plan, trial, lane, sequences)
        })
    }

    /// Runs something for each of all, on all CPUs.
    fn each<A: Sync, T: Send>(
        &self,
        all: &[A],
        run: &(dyn Fn(&A, &Lane) -> Result<T> + Sync),
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(all.len()));
        std::thread::scope(|scope| {
            for cpu in &self.cpus {
                let lane = Lane { cpu: *cpu, stop: self.stop.clone() };
                let (next, done) = (&next, &done);
                scope.spawn(move || {
                    while let Some((at, one)) = take(next, all) {
                        let ran = run(one, &lane);
                        if ran.is_err() {
                            next.store(all.len(), Ordering::Relaxed);
                        }
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, ran));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        let results = done.into_iter().map(|(_, ran)| ran).collect::<Result<Vec<T>, _>>()?;
        // A thread that panicked leaves a gap.
        if results.len() == all.len() { Ok(results) } else { Err(VirtualBackendError::Gone) }
    }
}

/// The next that no thread has, with its position.
fn take<'a, A>(next: &AtomicUsize, all: &'a [A]) -> Option<(usize, &'a A)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, all.get(at)?))
}
