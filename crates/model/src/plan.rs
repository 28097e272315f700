//! The plan: the ordered trials with their cost, before anything is touched.

use crate::lab::{Lab, Workload};
use crate::stack::Stack;
use crate::units::Bytes;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// What a place can do, as far as a plan depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceFacts {
    /// Schedulers that loop devices and disks offer, in the kernel's order. Empty when unknown.
    pub schedulers: Vec<String>,
    /// Filesystem types that the kernel mounts.
    pub kernel_filesystems: Vec<String>,
    /// Programs that were found, of those that the catalogue names.
    pub programs: Vec<String>,
    /// RAM of the machine.
    pub ram: Option<Bytes>,
    /// Sizes of named disks in bytes, by path as the lab names them; absent when not readable.
    pub disk_sizes: Vec<(String, Bytes)>,
}

/// A combination that the product of the axes makes and that cannot be run, or is not wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What was left out: the values that matter by axis and name; any value on the other axes.
    pub what: String,
    /// Why.
    pub reason: String,
    /// How many stack and workload pairs that were.
    pub count: u64,
}

/// One trial of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Position in the run, from 0.
    pub index: u32,
    /// Round, from 0. Round 0 is as good as any other: there is no warm-up round.
    pub round: u32,
    /// Index into [`Plan::candidates`].
    pub candidate: u32,
    /// Seed of everything random in the trial. The same for all trials of a round, so that stacks
    /// are compared on the same work.
    pub seed: u64,
}

/// A stack with a workload that can run on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Index into [`Plan::stacks`].
    pub stack: u32,
    /// Index into [`Plan::workloads`].
    pub workload: u32,
}

/// What one trial of a candidate is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Time, a guess before the first trial.
    pub time_ns: u64,
    /// Bytes written to the devices; `None` when the workload does not say.
    pub written: Option<Bytes>,
}

/// The ordered trials with their cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The lab it was made from.
    pub lab: Lab,
    /// Stacks that can run.
    pub stacks: Vec<Stack>,
    /// Workloads of the lab.
    pub workloads: Vec<Workload>,
    /// Pairs of stack and workload, in the order of the axes.
    pub candidates: Vec<Candidate>,
    /// Trials in order, all rounds that the lab asks for; with a time budget as many as are
    /// expected to fit, at least 6.
    pub trials: Vec<PlannedTrial>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// Cost of one trial by candidate.
    pub costs: Vec<Cost>,
    /// Doubts that can be had before anything ran.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// Predicted time of all trials in nanoseconds.
    #[must_use]
    pub fn predicted_ns(&self) -> u64 {
        let cost = |trial: &PlannedTrial| self.costs[trial.candidate as usize].time_ns;
        self.trials.iter().map(cost).fold(0, u64::saturating_add)
    }

    /// Predicted bytes written by all trials; `None` when a workload does not say.
    #[must_use]
    pub fn predicted_written(&self) -> Option<Bytes> {
        let cost = |trial: &PlannedTrial| self.costs[trial.candidate as usize].written;
        self.trials
            .iter()
            .map(cost)
            .try_fold(0_u64, |sum, next| Some(sum.saturating_add(next?.0)))
            .map(Bytes)
    }

    /// Number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.trials.last().map_or(0, |trial| trial.round + 1)
    }

    /// Stack and workload of a trial.
    #[must_use]
    pub fn pair(&self, trial: &PlannedTrial) -> (&Stack, &Workload) {
        let candidate = self.candidates[trial.candidate as usize];
        (&self.stacks[candidate.stack as usize], &self.workloads[candidate.workload as usize])
    }
}
