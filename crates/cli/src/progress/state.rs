//! State that the run sends to the live screen. Each message is complete, so a missed one does no
//! harm.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Notes that are kept.
const NOTES: usize = 4;

/// Everything on the screen but what it measures itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub lab: String,
    pub question: String,
    pub metric: String,
    pub backend: String,
    /// Directory of the images: the screen finds their loop devices by it.
    pub scratch: PathBuf,
    /// Paths of disks that the trials write to.
    pub disks: Vec<PathBuf>,
    pub done: u64,
    pub total: u64,
    pub round: u32,
    /// Trials done before this session.
    pub done_before: u64,
    /// Time left when the trial under way began, without its image; `None` before the first one.
    pub left_ns: Option<u64>,
    /// The image that is being written.
    pub image: Option<ImageState>,
    pub current: Current,
    /// In the order of the lab, which says nothing about who leads.
    pub stacks: Vec<StackState>,
    /// Failures, the latest last.
    pub notes: Vec<String>,
}

/// The trial under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Current {
    /// Index of the trial; `None` between trials.
    pub trial: Option<u32>,
    pub name: String,
    pub step: String,
}

/// An image that is written before the trial under way begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageState {
    /// Time until it is written, at the speed so far; `None` before there is one.
    pub left_ns: Option<u64>,
}

/// Outcomes of the trials of a stack so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackState {
    pub label: String,
    pub ok: u32,
    pub marked: u32,
    pub failed: u32,
}

impl State {
    pub fn new(plan: &Plan, backend: &str, scratch: &Path) -> Self {
        use seekwell_model::stack::{Backing, Stack};
        let written = plan.stacks.iter().flat_map(Stack::written);
        let disks = written.filter_map(|backing| match backing {
            Backing::Disk { path } | Backing::Partition { path } => Some(path.clone()),
            Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => None,
        });
        let disks: BTreeSet<PathBuf> = disks.collect();
        Self {
            lab: plan.lab.name.clone(),
            question: plan.lab.question.clone(),
            metric: plan.lab.judge.metric.clone(),
            backend: backend.to_owned(),
            scratch: std::fs::canonicalize(scratch).unwrap_or_else(|_| scratch.to_owned()),
            disks: disks.into_iter().collect(),
            total: plan.trials.len() as u64,
            current: Current { step: "getting ready".to_owned(), ..Current::default() },
            stacks: plan
                .stacks
                .iter()
                .map(|stack| StackState { label: stack.label.clone(), ..StackState::default() })
                .collect(),
            ..Self::default()
        }
    }

    pub fn began(&mut self, trial: &PlannedTrial, name: String, of: (u64, u64), left_ns: u64) {
        if self.left_ns.is_none() {
            self.done_before = of.0;
        }
        (self.done, self.total) = of;
        self.round = trial.round + 1;
        self.left_ns = Some(left_ns);
        self.current = Current { trial: Some(trial.index), name, step: "set up".to_owned() };
    }

    pub fn ended(&mut self, plan: &Plan, trial: &PlannedTrial, record: &Record) {
        self.done += 1;
        let stack = plan.candidates.get(trial.candidate as usize).map(|pair| pair.stack as usize);
        if let Some(stack) = stack.and_then(|index| self.stacks.get_mut(index)) {
            match record.status {
                Status::Ok => stack.ok += 1,
                Status::Marked => stack.marked += 1,
                Status::Failed { .. } => stack.failed += 1,
            }
        }
    }

    pub fn note(&mut self, text: String) {
        self.notes.push(text);
        let surplus = self.notes.len().saturating_sub(NOTES);
        self.notes.drain(..surplus);
    }
}
