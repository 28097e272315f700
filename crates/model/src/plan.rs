//! The plan: the ordered trials with their cost, before anything is touched.

use crate::lab::{Effort, Lab, Workload};
use crate::replay_check::ReplayCheck;
use crate::stack::Stack;
use crate::units::{Bytes, Nanos};
use crate::warning::Warning;
use crate::workloads::WorkloadParams;
use serde::{Deserialize, Serialize};

/// Capabilities of a backend, as far as a plan depends on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendFacts {
    /// Schedulers that loop devices and disks offer, in the kernel's order. Empty when unknown.
    pub schedulers: Vec<String>,
    /// Filesystem types that the kernel mounts.
    pub kernel_filesystems: Vec<String>,
    /// Those of them that the kernel is known to read alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only_filesystems: Vec<String>,
    /// Parts of the kernel that an NFS server needs and that are not there, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nfs_lacks: Vec<String>,
    /// Programs that were found, of those that the catalogue names.
    pub programs: Vec<String>,
    /// Kinds of layers that the backend's kernel has.
    #[serde(default)]
    pub layers: Vec<String>,
    /// The lab kernel and the ways to one with more; `None` where trials run on the machine's own kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab_kernel: Option<LabKernelFacts>,
    /// RAM of the machine.
    pub ram: Option<Bytes>,
    /// Sizes of named disks in bytes, by path as the lab names them; absent when not readable.
    pub disk_sizes: Vec<(String, Bytes)>,
}

/// A lab kernel, and the commands that build one with more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabKernelFacts {
    /// Its set of filesystems.
    pub set: String,
    /// The advice for one with every filesystem, with the time that it takes.
    pub build_full: String,
    /// The advice for one with every layer and with NFS, with the time that it takes.
    pub build_layers: String,
}

/// A combination that the product of the axes makes and that cannot be run, or is not wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Values that were left out, by axis and name; axes that are not named match any value.
    pub what: String,
    /// The reason.
    pub reason: String,
    /// Number of pairs of stack and workload left out.
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

/// The expected cost of one trial of a candidate.
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
    /// expected to fit, at least 6. Of a race those of the pilot: the others depend on what is
    /// found.
    pub trials: Vec<PlannedTrial>,
    /// The combinations that were left out.
    pub left_out: Vec<LeftOut>,
    /// Cost of one trial by candidate.
    pub costs: Vec<Cost>,
    /// Doubts that are known before anything ran.
    pub warnings: Vec<Warning>,
    /// Stages of the race; `None` if every stack runs in every round.
    #[serde(default)]
    pub race: Option<PlannedRace>,
    /// Retired: a stack and its copy, as indices into `stacks`, which is last and never
    /// ranked. `None` in new plans.
    #[serde(default)]
    pub control: Option<[u32; 2]>,
    /// Rounds that were added after the run was judged; `None` for a run as its lab planned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prolonged: Option<Prolonged>,
    /// Checks of replays, made before the first trial; none before that, and of other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replay_checks: Vec<ReplayCheck>,
}

/// Rounds added to a run after it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prolonged {
    /// Rounds that are to be run in all, in a race the most that its final may have.
    pub rounds: u32,
    /// Rounds of the verdict at the first end, in a race those of its last look.
    pub judged_rounds: u32,
    /// Trials before the first end.
    pub judged_trials: u32,
    /// Version of the method that judged then.
    pub method: u32,
}

/// A race as planned: what is run is decided by what is found, within these bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRace {
    /// Stacks of the pilot, as indices: every value of every axis occurs.
    pub pilot: Vec<u32>,
    /// Rounds of the pilot.
    pub pilot_rounds: u32,
    /// Stacks in each round of the screen.
    pub screen: Vec<u32>,
    /// Stacks in a round of the final.
    pub finalists: u32,
    /// Rounds of the final after which it is looked at; it may end at each. With a time budget
    /// they are planned again after the pilot.
    pub looks: Vec<u32>,
    /// Version of the method that plans and judges it; 0 before versions were kept.
    #[serde(default)]
    pub method: u32,
}

impl PlannedRace {
    /// Rounds of stacks in pilot and screen.
    fn before_final(&self) -> u64 {
        let screen = self.screen.iter().map(|stacks| u64::from(*stacks)).sum::<u64>();
        self.pilot.len() as u64 * u64::from(self.pilot_rounds) + screen
    }

    /// Trials of a stack that are run at least (the final ends at its first look) and at most.
    #[must_use]
    pub fn stack_trials(&self) -> (u64, u64) {
        let at = |look: Option<&u32>| {
            self.before_final() + u64::from(look.copied().unwrap_or(0)) * u64::from(self.finalists)
        };
        (at(self.looks.first()), at(self.looks.last()))
    }
}

impl Plan {
    /// Predicted time in nanoseconds, least and most; they differ for a race alone.
    #[must_use]
    pub fn predicted_range_ns(&self) -> (u64, u64) {
        let Some(race) = &self.race else {
            let cost = |trial: &PlannedTrial| self.costs[trial.candidate as usize].time_ns;
            let all = self.trials.iter().map(cost).fold(0, u64::saturating_add);
            return (all, all);
        };
        let (least, most) = self.stack_trials(race);
        let each = self.stack_ns();
        (least.saturating_mul(each), most.saturating_mul(each))
    }

    /// Predicted time of one trial of each workload of a stack, the mean over the stacks.
    fn stack_ns(&self) -> u64 {
        let all = self.costs.iter().map(|cost| cost.time_ns).fold(0, u64::saturating_add);
        all / (self.stacks.len() as u64).max(1)
    }

    /// Trials of a stack that a race takes at least and at most: with a time budget no more than it
    /// is predicted to pay for, but always the least.
    #[must_use]
    pub fn stack_trials(&self, race: &PlannedRace) -> (u64, u64) {
        let (least, most) = race.stack_trials();
        match self.lab.judge.effort {
            Effort::Budget(budget) => {
                let paid = budget.0 / self.stack_ns().max(1);
                (least, most.min(paid.max(least)))
            }
            Effort::Rounds(_) => (least, most),
        }
    }

    /// The time budget, where what is run at least is predicted to take longer.
    #[must_use]
    pub fn exceeded_budget(&self) -> Option<Nanos> {
        match self.lab.judge.effort {
            Effort::Budget(budget) if self.predicted_range_ns().0 > budget.0 => Some(budget),
            _ => None,
        }
    }

    /// Predicted bytes written by all trials, of a race the most; `None` when a workload does not
    /// say.
    #[must_use]
    pub fn predicted_written(&self) -> Option<Bytes> {
        let add = |sum: u64, next: Option<Bytes>| Some(sum.saturating_add(next?.0));
        let Some(race) = &self.race else {
            let cost = |trial: &PlannedTrial| self.costs[trial.candidate as usize].written;
            return self.trials.iter().map(cost).try_fold(0, add).map(Bytes);
        };
        let all = self.costs.iter().map(|cost| cost.written).try_fold(0, add)?;
        let each = all / (self.stacks.len() as u64).max(1);
        Some(Bytes(self.stack_trials(race).1.saturating_mul(each)))
    }

    /// Stacks that are ranked: all but the copy that an earlier version made of one.
    #[must_use]
    pub fn ranked(&self) -> usize {
        self.stacks.len() - usize::from(self.control.is_some()).min(self.stacks.len())
    }

    /// The key of a lab that the plan needs and that this version no longer carries out, if any.
    #[must_use]
    pub fn retired(&self) -> Option<&'static str> {
        let of = |params: &WorkloadParams| match params {
            WorkloadParams::Mail(mail) => mail.tar.as_ref().map(|_| "tar"),
            WorkloadParams::Iozone(bench) => {
                bench.tests.iter().any(|test| *test > 2).then_some("tests")
            }
            _ => None,
        };
        let parts = self.lab.workloads.iter().flat_map(|one| one.parts.iter().chain(&one.beside));
        let of_judge = self.control.map(|_| "control");
        let of_trial = self.lab.trial.single_ios.then_some("single_ios");
        of_judge.or(of_trial).or_else(|| parts.filter_map(of).next())
    }

    /// Returns the end of the run: that of the lab, or the number of rounds that was agreed later.
    #[must_use]
    pub fn effort(&self) -> Effort {
        let later = self.prolonged.map(|prolonged| Effort::Rounds(prolonged.rounds));
        later.unwrap_or(self.lab.judge.effort)
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
