//! `mail`: a tree of many small files is unpacked, read in two orders and removed.
//!
//! The sequence of system calls is that of `tar x`, `tar c | wc -c` and `rm -r` of GNU tar and
//! coreutils, with the tree itself kept in memory instead of in an archive.

pub mod content;
mod read;
mod remove;
pub mod tree;
mod unpack;
mod verify;
pub mod walk;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::{StepOutcome, Totals};
use crate::step::{self, Step, StepContext};
use rustix::fs::{Mode, OFlags};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::{MailParams, StepOutline};
use seekwell_stats::Histogram;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tree::Tree;

/// Bytes per read and write: tar's record of 20 blocks.
pub const RECORD_BYTES: usize = 10_240;

/// The steps of a `mail` workload.
#[must_use]
pub fn steps(params: &MailParams, place: Place) -> Vec<Box<dyn Step>> {
    let shared = Shared::new(params.clone(), place);
    step::each(params.steps(), |outline| Mail { outline, shared: shared.clone() })
}

/// One of the steps.
#[derive(Debug)]
struct Mail {
    outline: StepOutline,
    shared: Shared,
}

impl Step for Mail {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let mounted = context.filesystem(&self.outline.name)?;
        let mut outcome = match self.outline.name.as_str() {
            "unpack" => self.unpack(mounted, context)?,
            "unpack-verify" => return self.verify(mounted, context),
            "read_archive" => self.read_archive(mounted, context)?,
            "read_directory" => self.read_directory(mounted, context)?,
            _ => self.remove(mounted, context)?,
        };
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}

/// State shared by the steps of one workload.
#[derive(Clone, Debug)]
struct Shared {
    params: Arc<MailParams>,
    place: Place,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The tree, once the first step has made it.
    tree: Option<Arc<Tree>>,
    /// The unpacked copies, oldest first: more than one when steps run twice.
    copies: VecDeque<UnpackedCopy>,
    /// Copies ever made, for their names.
    made: usize,
}

#[derive(Clone, Debug)]
struct UnpackedCopy {
    /// Its directory below the mounted one.
    name: String,
    /// True when it was unpacked completely.
    complete: bool,
}

impl Shared {
    fn new(params: MailParams, place: Place) -> Self {
        Self { params: Arc::new(params), place, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment or push: a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree, made from the seed.
    fn tree(&self, seed: u64) -> Arc<Tree> {
        let tree = || Arc::new(Tree::seeded(&self.params, seed));
        Arc::clone(self.state().tree.get_or_insert_with(tree))
    }

    /// The name of the next copy. It is there to be removed from now on, complete or not.
    fn new_copy(&self) -> String {
        let mut state = self.state();
        state.made += 1;
        let stem = if state.made == 1 { "mail".to_owned() } else { format!("mail-{}", state.made) };
        let name = self.place.name(&stem);
        state.copies.push_back(UnpackedCopy { name: name.clone(), complete: false });
        name
    }

    /// The newest copy was unpacked to the end.
    fn complete_copy(&self) {
        if let Some(copy) = self.state().copies.back_mut() {
            copy.complete = true;
        }
    }

    fn newest_copy(&self, step: &str) -> Result<String, WorkloadError> {
        self.state().copies.back().map(|copy| copy.name.clone()).ok_or_else(|| missing(step))
    }

    fn take_oldest_copy(&self, step: &str) -> Result<UnpackedCopy, WorkloadError> {
        self.state().copies.pop_front().ok_or_else(|| missing(step))
    }
}

fn missing(step: &str) -> WorkloadError {
    WorkloadError::unfit(step, "has no unpacked tree", "run unpack before it")
}

/// An open directory of a copy, and its path for messages.
#[derive(Debug)]
pub struct Root {
    /// The descriptor that paths are relative to.
    pub directory: OwnedFd,
    /// Its path.
    pub path: PathBuf,
}

impl Root {
    /// Opens a copy.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(path: PathBuf) -> Result<Self, WorkloadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(WorkloadError::file("open", &path))?;
        Ok(Self { directory, path })
    }

    /// For `map_err`: names what was being done to a path below this directory.
    fn failed(
        &self,
        action: &'static str,
        below: &str,
    ) -> impl FnOnce(rustix::io::Errno) -> WorkloadError + use<> {
        WorkloadError::file(action, &self.path.join(below))
    }
}

/// Times the calls of a step by kind.
#[derive(Debug)]
struct Meter {
    clock: MonotonicClock,
    kinds: Vec<(&'static str, Histogram)>,
    started_ns: u64,
    cpu_before_ns: u64,
}

impl Meter {
    /// A meter for these kinds of calls, started now.
    fn start(kinds: &[&'static str]) -> Self {
        let kinds = kinds.iter().map(|kind| (*kind, Histogram::new())).collect();
        let clock = MonotonicClock;
        Self { clock, kinds, started_ns: clock.now_ns(), cpu_before_ns: thread_cpu_ns() }
    }

    /// Makes a call and counts its time under the kind with this index.
    #[inline]
    fn time<T>(&mut self, kind: usize, call: impl FnOnce() -> T) -> T {
        let before_ns = self.clock.now_ns();
        let result = call();
        let latency_ns = self.clock.now_ns().saturating_sub(before_ns);
        self.kinds[kind].1.record(latency_ns);
        result
    }

    /// The outcome up to now.
    fn finish(self) -> StepOutcome {
        let elapsed_ns = self.clock.now_ns().saturating_sub(self.started_ns);
        let cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_before_ns);
        let mut outcome = StepOutcome { elapsed_ns, cpu_ns, ..StepOutcome::default() };
        for (kind, histogram) in self.kinds {
            outcome.keep(kind, histogram);
        }
        outcome
    }
}

impl Totals {
    /// An error unless a finished step handled exactly what the tree holds.
    fn check(self, step: &str, expected: Self) -> Result<(), WorkloadError> {
        if self == expected {
            return Ok(());
        }
        let problem = format!(
            "handled {} files and {} bytes where the tree has {} files and {} bytes",
            self.files, self.bytes, expected.files, expected.bytes
        );
        let remedy = "something else changed the tree, or the filesystem lost data: see dmesg";
        Err(WorkloadError::unfit(step, problem, remedy))
    }
}

#[cfg(test)]
mod tests;
