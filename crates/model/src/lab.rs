//! The lab: a question about storage, its axes and how it is to be judged.

pub use crate::metrics::Better;

use crate::layers::Layers;
use crate::stack::{Device, Filesystem, Journal, Memory, Scheduler};
use crate::units::Nanos;
use crate::workloads::{Company, HOUSEKEEPING_STEPS, StepOutline, WorkloadParams};
use serde::{Deserialize, Serialize};

/// A validated lab: every name is known, every value is in range, lists of settings are expanded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Short name; also the default name of the run file.
    pub name: String,
    /// The question in the user's words.
    pub question: String,
    /// All randomness of a run (order, file contents, offsets) derives from this.
    pub seed: u64,
    /// Axis: block devices, settings already expanded into variants.
    pub devices: Vec<Device>,
    /// Axis: layers between device and filesystem. Labs of earlier versions have none.
    #[serde(default = "no_layers", skip_serializing_if = "are_no_layers")]
    pub layers: Vec<Layers>,
    /// Axis: journal placements.
    pub journals: Vec<Journal>,
    /// Axis: filesystems with their mkfs and mount options.
    pub filesystems: Vec<Filesystem>,
    /// Axis: I/O schedulers.
    pub schedulers: SchedulerAxis,
    /// Axis: memory limits.
    pub memories: Vec<Memory>,
    /// Axis: workloads.
    pub workloads: Vec<Workload>,
    /// Combinations that the user does not want.
    pub exclusions: Vec<Match>,
    /// Combinations that the user demands by name in addition to the product of the axes; when
    /// `stacks_only`, instead of it.
    pub stacks: Vec<Match>,
    /// Only the stacks named explicitly, not the product of the axes.
    pub stacks_only: bool,
    /// Rules that decide the winner.
    pub judge: Judge,
    /// Settings that all trials share.
    pub trial: TrialSettings,
}

/// The layer axis of a lab that names no layer.
#[must_use]
pub fn no_layers() -> Vec<Layers> {
    vec![Layers::default()]
}

fn are_no_layers(layers: &[Layers]) -> bool {
    matches!(layers, [only] if only.is_default())
}

/// The scheduler axis: a list, or all that the kernel offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SchedulerAxis {
    /// Every scheduler that the devices offer on the backend.
    All,
    /// These.
    These(Vec<Scheduler>),
}

/// Names one value per axis; an axis left out matches all its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Device name.
    pub device: Option<String>,
    /// Name of the layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Journal name.
    pub journal: Option<String>,
    /// Filesystem name.
    pub filesystem: Option<String>,
    /// Scheduler name.
    pub scheduler: Option<String>,
    /// Memory name.
    pub memory: Option<String>,
    /// Workload name.
    pub workload: Option<String>,
}

impl Match {
    /// The named values with the keys of their axes, in the order of the axes.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let axes = [
            ("device", &self.device),
            ("layer", &self.layer),
            ("journal", &self.journal),
            ("filesystem", &self.filesystem),
            ("scheduler", &self.scheduler),
            ("memory", &self.memory),
            ("workload", &self.workload),
        ];
        axes.into_iter().filter_map(|(axis, name)| Some((axis, name.as_deref()?)))
    }
}

/// A workload of a lab: its parts run one after the other in one trial, beside others if asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name, unique in the lab.
    pub name: String,
    /// The parts in order. Never empty.
    pub parts: Vec<WorkloadParams>,
    /// Background workloads: they run with threads of their own from just before the first measured
    /// step of the last part until its end.
    pub beside: Vec<WorkloadParams>,
}

/// Suffix of a step that measures without the background workload. The next step measures the same
/// with it.
pub const ALONE: &str = "-alone";

/// A step of a workload, and what runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadStep {
    /// Index into [`Workload::parts`], or into [`Workload::beside`] when `beside`.
    pub part: usize,
    /// True for a step of the background workload.
    pub beside: bool,
    /// Its outline.
    pub outline: StepOutline,
}

impl Workload {
    /// Returns true if the last part runs with a background workload.
    #[must_use]
    pub fn is_accompanied(&self) -> bool {
        !self.beside.is_empty()
    }

    /// All steps in order. If there is a background workload, every measured step of the last part
    /// comes twice: alone under its name with [`ALONE`], then together under its own name with the
    /// metric `latency_ratio`. The steps of the background workload come last.
    #[must_use]
    pub fn outlines(&self) -> Vec<WorkloadStep> {
        let mut steps = Vec::new();
        for (part, params) in self.parts.iter().enumerate() {
            let accompanied = self.is_accompanied() && part + 1 == self.parts.len();
            for mut outline in params.steps() {
                if accompanied && outline.measured {
                    let mut alone = outline.clone();
                    alone.name.push_str(ALONE);
                    steps.push(WorkloadStep { part, beside: false, outline: alone });
                    outline.metrics.push("latency_ratio".to_owned());
                    outline.company = Company::Accompanied;
                }
                steps.push(WorkloadStep { part, beside: false, outline });
            }
        }
        for (part, params) in self.beside.iter().enumerate() {
            let beside = |outline| {
                let outline = StepOutline { company: Company::Beside, ..outline };
                WorkloadStep { part, beside: true, outline }
            };
            steps.extend(params.steps().into_iter().map(beside));
        }
        steps
    }

    /// Returns true if a step reports this metric, including the steps that are timed around every workload.
    #[must_use]
    pub fn reports_or_times(&self, path: &str) -> bool {
        let step = path.split('.').next().unwrap_or_default();
        HOUSEKEEPING_STEPS.contains(&step) || self.reports(path)
    }

    /// Returns true if a step reports this metric, given as `STEP.METRIC`.
    #[must_use]
    pub fn reports(&self, path: &str) -> bool {
        let Some((name, metric)) = path.split_once('.') else { return false };
        self.outlines().iter().any(|step| step.outline.name == name && step.outline.reports(metric))
    }
}

/// Rules that decide the winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judge {
    /// `STEP.METRIC`.
    pub metric: String,
    /// Direction in which the metric is better.
    pub better: Better,
    /// Stacks within this relative distance are a tie; 0.02 is 2 %.
    pub tie: f64,
    /// Confidence of the intervals, 0.5 to 0.999.
    pub confidence: f64,
    /// End of the run: rounds or a budget.
    pub effort: Effort,
    /// Choice of the trials that are run.
    #[serde(default)]
    pub method: Method,
    /// Retired: one stack runs twice under two names; always false.
    #[serde(default)]
    pub control: bool,
    /// Stacks that may be picked.
    #[serde(default, skip_serializing_if = "Eligible::is_strongest")]
    pub durability: Eligible,
}

/// Stacks that may be picked, by the data that they keep at a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Eligible {
    /// Stacks of the strongest durability class in the lab.
    #[default]
    Strongest,
    /// All.
    Any,
}

impl Eligible {
    fn is_strongest(&self) -> bool {
        *self == Self::Strongest
    }
}

/// Choice of the trials of a lab that are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// [`Method::Race`] where more than [`RACE_ABOVE`] stacks are compared, else
    /// [`Method::Rounds`]. With a budget of time up to [`FINAL_AT_ONCE`] stacks start in the final.
    #[default]
    Auto,
    /// Complete rounds of every stack.
    Rounds,
    /// A pilot, a screen that keeps the better half until [`RACE_ABOVE`] stacks remain, and a
    /// final of fresh rounds among them.
    Race,
}

/// Stacks that reach the final of a race; a lab with more is raced unless it says otherwise.
pub const RACE_ABOVE: usize = 8;

/// Up to so many stacks a run with a budget of time has neither pilot nor screen: of twelve, those would
/// cost as many trials as they save in the six rounds before the first look of the final.
pub const FINAL_AT_ONCE: usize = 12;

/// Rounds after which the final of a race ends at the latest, unless the lab says otherwise.
pub const FINAL_ROUNDS: u32 = 80;

impl Judge {
    /// Returns true if this many stacks are raced.
    #[must_use]
    pub fn races(&self, stacks: usize) -> bool {
        match self.method {
            Method::Auto => stacks > RACE_ABOVE,
            Method::Rounds => false,
            Method::Race => true,
        }
    }

    /// Most rounds of the final of a race.
    #[must_use]
    pub fn final_rounds(&self) -> u32 {
        match (self.method, self.effort) {
            (Method::Race, Effort::Rounds(rounds)) => rounds,
            _ => FINAL_ROUNDS,
        }
    }
}

/// Condition that ends the collection of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// After so many complete rounds.
    Rounds(u32),
    /// No new round is started when it would not end within this time, except for the first 6 rounds;
    /// a race ends before any trial that would exceed it by more than 15 %.
    Budget(Nanos),
}

/// Settings of trials, the same for every stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSettings {
    /// CPUs that agent and workload are pinned to; `None` pins to the backend's default.
    pub cpus: Option<Vec<u32>>,
    /// Keep the block event stream of every trial (tracefs); off by default.
    pub block_events: bool,
    /// Retired: keep every single I/O's latency; always false.
    pub single_ios: bool,
    /// Interval of the timeline.
    pub sample_interval: Nanos,
    /// A trial that takes longer is ended and marked failed.
    pub timeout: Nanos,
    /// Run a fsck after the steps.
    pub fsck: bool,
    /// Virtual backend: make the filesystem and the files before the first measured step once per
    /// stack, and start every trial from a copy.
    #[serde(default)]
    pub freeze: bool,
    /// Virtual backend: make the filesystem once for each stack, and start every trial from a copy.
    /// Runs of earlier versions made it anew.
    #[serde(default)]
    pub make_once: bool,
    /// Virtual backend: after the trial, cut the power of the stack at this number of instants of a writing workload,
    /// and look for what was synced. 0 cuts none.
    #[serde(default, skip_serializing_if = "no_cuts")]
    pub power_cut: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn no_cuts(cuts: &u32) -> bool {
    *cuts == 0
}
