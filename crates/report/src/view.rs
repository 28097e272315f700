//! A run as reports see it, and what they all ask of it.

use seekwell_model::plan::{Candidate, Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::Stack;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::{Basis, Ratio, Verdict};
use seekwell_model::warning::Warning;
use seekwell_model::why::Why;
use seekwell_model::workloads::{COMMON_METRICS, WEAR_METRICS, WorkloadParams};
use std::collections::BTreeMap;

/// Everything that a report shows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The plan with its lab.
    pub plan: Plan,
    /// The last record of every trial that has one, by trial index.
    pub records: Vec<(PlannedTrial, Record)>,
    /// The verdict; of a file that an earlier method judged, that of today.
    pub verdict: Verdict,
    /// The verdict of the file, where that is another than the shown one.
    pub stored: Option<Verdict>,
    /// The cause of a difference, where it was found by experiments.
    pub why: Option<Why>,
    /// True if the run file holds the verdict; false for a run that is interrupted or under way.
    pub is_over: bool,
    /// Name of the backend.
    pub backend: String,
    /// Environment of the run, an object; the texts use `kernel`, `cpu`, `ram` (a size in bytes or
    /// words) and `uncontrolled` (a list of sentences), as far as they are there.
    pub environment: serde_json::Value,
    /// Doubts about the run.
    pub warnings: Vec<Warning>,
    /// Time on the host that all trials together took, about; `None` where it is not known. In
    /// virtual time it is another one than that of the records.
    pub host_ns: Option<u64>,
}

/// Outcomes of the trials of a stack that measure the judged metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ok: u32,
    pub(crate) marked: u32,
    pub(crate) failed: u32,
    /// Ended well, yet the judged metric was not measured.
    pub(crate) without: u32,
}

/// A metric of a workload that a table shows in addition to the judged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepColumn {
    /// `STEP.METRIC`.
    pub(crate) metric: String,
    /// A metric that the lab defines, the wear, or the time of a replay's syncs, and not the usual one of its step.
    own: bool,
}

impl StepColumn {
    /// Name of the step, or of the lab's own metric.
    pub(crate) fn title(&self) -> &str {
        let (step, name) = self.metric.split_once('.').unwrap_or((&self.metric, &self.metric));
        if self.own { name } else { step }
    }
}

/// Returns true for a metric that the lab defines.
fn is_own(name: &str) -> bool {
    seekwell_model::metrics::metric(name).is_none()
}

/// `1 stack`, `2 stacks`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl RunView {
    /// Returns true for a recording of a device (`watch --record`), which compares nothing.
    pub(crate) fn is_recording(&self) -> bool {
        self.environment.get("place").and_then(|place| place.as_str()) == Some("watch")
    }

    /// Records of a stack.
    pub(crate) fn of_stack<'a>(
        &'a self,
        label: &'a str,
    ) -> impl Iterator<Item = (&'a PlannedTrial, &'a Record)> {
        self.records
            .iter()
            .filter(move |(trial, _)| {
                self.stack_of(trial).is_some_and(|stack| stack.label == label)
            })
            .map(|(trial, record)| (trial, record))
    }

    /// The stack of a trial; `None` when the record does not belong to the plan.
    pub(crate) fn stack_of(&self, trial: &PlannedTrial) -> Option<&Stack> {
        self.plan.stacks.get(self.candidate_of(trial)?.stack as usize)
    }

    /// Name of the workload of a trial.
    pub(crate) fn workload_of(&self, trial: &PlannedTrial) -> Option<&str> {
        Some(&self.plan.workloads.get(self.candidate_of(trial)?.workload as usize)?.name)
    }

    /// Stack and workload of a trial by their numbers.
    pub(crate) fn candidate_of(&self, trial: &PlannedTrial) -> Option<&Candidate> {
        self.plan.candidates.get(trial.candidate as usize)
    }

    pub(crate) fn stack(&self, label: &str) -> Option<&Stack> {
        self.plan.stacks.iter().find(|stack| stack.label == label)
    }

    /// The trials of all stacks, in one pass over the records: a run may have 1,000 stacks and 100,000 trials.
    pub(crate) fn by_stack(&self) -> ByStack<'_> {
        let mut trials: BTreeMap<&str, Vec<(&PlannedTrial, &Record)>> = BTreeMap::new();
        for (trial, record) in &self.records {
            let Some(stack) = self.stack_of(trial) else { continue };
            trials.entry(&stack.label).or_default().push((trial, record));
        }
        ByStack { view: self, trials }
    }

    /// The other measured steps, each with its foremost metric, in the order in which they run.
    pub(crate) fn other_steps(&self) -> Vec<StepColumn> {
        other_steps(&self.plan, &self.verdict.metric)
    }

    /// The wear of the judged step, of runs on modelled flash.
    pub(crate) fn wear(&self) -> [StepColumn; 2] {
        wear(&self.verdict.metric)
    }

    /// Facts below the title: backend, machine, and extent of the run.
    pub(crate) fn facts(&self) -> Vec<String> {
        let time: u64 = self.records.iter().map(|(_, record)| record.elapsed_ns).sum();
        let trials = match self.records.len() {
            0 => "no trial was run".to_owned(),
            number => format!("{} in {}{}", count(number, "trial"), Nanos(time), self.clock()),
        };
        let mut facts = vec![format!("backend {}", self.backend)];
        facts.extend(self.machine());
        facts.extend([count(self.plan.ranked(), "stack"), trials]);
        facts.extend(self.host_time());
        facts
    }

    /// Combinations that the plan leaves out, each with its reason.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let all = self.plan.left_out.iter();
        all.map(|one| format!("{} ({}): {}", one.what, one.count, one.reason)).collect()
    }

    /// Returns true if trials ran in virtual time, which is not the time one waits.
    pub(crate) fn is_virtual(&self) -> bool {
        self.backend == "virtual"
    }

    /// The time on the host where trials ran in virtual time.
    fn host_time(&self) -> Option<String> {
        let host_ns = self.host_ns.filter(|_| self.is_virtual())?;
        Some(format!("about {} on the host", Nanos(host_ns)))
    }

    /// Time on the host of trials that take so long by their own clock, as far as it is known.
    pub(crate) fn on_host(&self, trials_ns: u64) -> Option<u64> {
        let own_ns: u64 = self.records.iter().map(|(_, record)| record.elapsed_ns).sum();
        let host_ns = self.host_ns.filter(|_| own_ns > 0)?;
        Some((trials_ns as f64 * (host_ns as f64 / own_ns as f64)) as u64)
    }

    /// Suffix of a duration of trials.
    pub(crate) fn clock(&self) -> &'static str {
        if self.is_virtual() { " of virtual time" } else { "" }
    }

    /// The kernel, the CPU and the memory, as far as they are known.
    fn machine(&self) -> Vec<String> {
        let word = |key: &str| self.environment.get(key)?.as_str().map(str::to_owned);
        let ram = || {
            let bytes = self.environment.get("ram")?.as_u64()?;
            Some(format!("{:.1} GiB of memory", bytes as f64 / f64::from(1 << 30)))
        };
        let kernel = word("kernel").map(|kernel| format!("Linux {kernel}"));
        [kernel, word("cpu"), ram().or_else(|| word("ram"))].into_iter().flatten().collect()
    }
}

/// The trials of a run by the label of their stack.
pub(crate) struct ByStack<'a> {
    pub(crate) view: &'a RunView,
    trials: BTreeMap<&'a str, Vec<(&'a PlannedTrial, &'a Record)>>,
}

impl<'a> ByStack<'a> {
    /// Trials of a stack in their order.
    pub(crate) fn of(&self, label: &str) -> &[(&'a PlannedTrial, &'a Record)] {
        self.trials.get(label).map_or(&[], Vec::as_slice)
    }

    /// One row per stack: those of the verdict, best first, then stacks without a value in the
    /// order of the plan.
    pub(crate) fn rows(&self) -> Vec<Ratio> {
        let Self { view, .. } = self;
        let mut rows = view.verdict.ratios.clone();
        for stack in &view.plan.stacks[..view.plan.ranked()] {
            if rows.iter().all(|row| row.stack != stack.label) {
                rows.push(Ratio {
                    stack: stack.label.clone(),
                    ratio: None,
                    low: None,
                    high: None,
                    median: self.median(&stack.label, &view.verdict.metric),
                    pairs: 0,
                    basis: Basis::Paired,
                    hodges_lehmann: None,
                    a12: None,
                    autocorrelated: false,
                });
            }
        }
        rows
    }

    /// Trials of workloads that do not report the judged metric are not counted: they are behind
    /// no number of the row.
    pub(crate) fn counts(&self, label: &str) -> Counts {
        let view = self.view;
        let metric = &view.verdict.metric;
        let judged = |trial: &PlannedTrial| {
            let pair = view.candidate_of(trial);
            let workload = pair.and_then(|pair| view.plan.workloads.get(pair.workload as usize));
            workload.is_some_and(|workload| workload.reports_or_times(metric))
        };
        let mut counts = Counts::default();
        for (trial, record) in self.of(label) {
            let measured = record.metric(metric).is_some();
            if !measured && !view.is_recording() && !judged(trial) {
                continue;
            }
            match record.status {
                Status::Ok if measured || view.is_recording() => counts.ok += 1,
                Status::Ok => counts.without += 1,
                Status::Marked => counts.marked += 1,
                Status::Failed { .. } => counts.failed += 1,
            }
        }
        counts
    }

    /// Values of a metric in the trials of a stack that ended well.
    pub(crate) fn values(&self, label: &str, metric: &str) -> Vec<f64> {
        let well = self.of(label).iter().filter(|(_, record)| record.status == Status::Ok);
        well.filter_map(|(_, record)| record.metric(metric)).collect()
    }

    /// Median of a metric over the trials of a stack that ended well.
    pub(crate) fn median(&self, label: &str, metric: &str) -> Option<f64> {
        seekwell_stats::estimate::median(&self.values(label, metric))
    }
}

/// Metrics of other steps than the judged one that the texts of a run show, as `STEP.METRIC`.
#[must_use]
pub fn shown_metrics(plan: &Plan, verdict: &Verdict) -> Vec<String> {
    let columns = other_steps(plan, &verdict.metric).into_iter().chain(wear(&verdict.metric));
    columns.map(|column| column.metric).collect()
}

fn wear(judged: &str) -> [StepColumn; 2] {
    let step = judged.split('.').next().unwrap_or_default();
    WEAR_METRICS.map(|name| StepColumn { metric: format!("{step}.{name}"), own: true })
}

/// A replay's metric next to the judged one: its other latencies are of reads and writes alone.
const OF_SYNCS: &str = "sync_latency_p99";

fn other_steps(plan: &Plan, judged: &str) -> Vec<StepColumn> {
    let judged_step = judged.split('.').next().unwrap_or_default();
    let mut columns: Vec<StepColumn> = Vec::new();
    for workload in &plan.workloads {
        for step in workload.outlines() {
            let outline = &step.outline;
            let parts = if step.beside { &workload.beside } else { &workload.parts };
            let is_replay = matches!(parts.get(step.part), Some(WorkloadParams::Replay(_)));
            let is_shown = |name: &&String| is_own(name) || is_replay && *name == OF_SYNCS;
            for name in outline.metrics.iter().filter(is_shown) {
                let column = StepColumn { metric: format!("{}.{name}", outline.name), own: true };
                if column.metric != *judged && !columns.contains(&column) {
                    columns.push(column);
                }
            }
            if !outline.measured || outline.name == judged_step {
                continue;
            }
            let rate = matches!(
                parts.get(step.part),
                Some(WorkloadParams::Io(_) | WorkloadParams::Sweep(_))
            );
            let metric = if rate {
                "iops"
            } else if outline.writes {
                "elapsed_durable"
            } else {
                COMMON_METRICS[0]
            };
            let column = StepColumn { metric: format!("{}.{metric}", outline.name), own: false };
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    columns
}
