//! The measures of a study, round by round.

use super::{ERROR, Run, counts};
use crate::formula::Source;
use crate::study::{Measure, Study};
use seekwell_model::lab::{Match, Workload};
use seekwell_model::plan::{Candidate, Plan};
use seekwell_model::record::{
    DeviceTotals, Record, SAMPLE_COLUMNS, Sample, SampleField, StepRecord,
};
use seekwell_model::replication::{Quantity, ShownBy};
use seekwell_model::stack::AXES;
use seekwell_model::workloads::WorkloadParams;
use seekwell_stats::estimate;
use seekwell_stats::histogram::Histogram;
use seekwell_stats::interval::{geometric_mean_interval, mean_interval};
use seekwell_stats::question::MIN_ROUNDS;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Value of a measure by round; rounds without one are missing.
pub(super) type Rounds = BTreeMap<u32, f64>;

/// The measures of a study over its runs.
pub(super) struct Measures<'a> {
    study: &'a Study,
    runs: &'a [Run],
    /// Computed measures, by name.
    known: RefCell<BTreeMap<String, Rounds>>,
}

impl<'a> Measures<'a> {
    pub(super) fn new(study: &'a Study, runs: &'a [Run]) -> Self {
        Self { study, runs, known: RefCell::new(BTreeMap::new()) }
    }

    /// A measure by round; empty when nothing measured it.
    pub(super) fn rounds(&self, name: &str) -> Rounds {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let found = self.study.measures.get(name).map(|measure| self.compute(measure));
        let found = found.unwrap_or_default();
        self.known.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    fn compute(&self, measure: &Measure) -> Rounds {
        let trials = measure.lab.as_ref().map(|_| self.trials(measure)).unwrap_or_default();
        let last = self.runs.iter().flat_map(|run| run.records.values());
        let last = last.map(|(trial, _)| trial.round).max().unwrap_or(0);
        let value = |round| {
            let at = AtRound { measures: self, round, trial: trials.get(&round).copied() };
            Some((round, measure.formula.value(&at)?))
        };
        (0..=last).filter_map(value).collect()
    }

    /// A formula of measures by round.
    pub(super) fn formula(&self, formula: &crate::formula::Formula) -> Rounds {
        let measure = Measure::new(None, Match::default(), formula.clone());
        self.compute(&measure)
    }

    /// The one trial of each round that a measure is read from.
    fn trials(&self, measure: &Measure) -> BTreeMap<u32, Trial<'a>> {
        let Some(run) = self.run_of(measure).filter(|run| self.compares(measure, run)) else {
            return BTreeMap::new();
        };
        let of_stack = |candidate: u32| {
            let pair = run.plan.candidates.get(candidate as usize);
            pair.is_some_and(|pair| matches(&run.plan, *pair, &measure.stack))
        };
        let mut found = BTreeMap::new();
        let mut twice = Vec::new();
        for (trial, record) in run.records.values().filter(|(trial, _)| of_stack(trial.candidate)) {
            let pair = run.plan.candidates.get(trial.candidate as usize);
            let workload = pair.and_then(|pair| run.plan.workloads.get(pair.workload as usize));
            let of_round = Trial { record, workload };
            if counts(record) && found.insert(trial.round, of_round).is_some() {
                twice.push(trial.round);
            }
        }
        // A measure that matches two stacks is ambiguous.
        twice.iter().for_each(|round| {
            found.remove(round);
        });
        found
    }

    fn run_of(&self, measure: &Measure) -> Option<&'a Run> {
        self.runs.iter().find(|run| Some(&run.lab) == measure.lab.as_ref())
    }

    /// Returns true if a measure of this run compares with the study.
    fn compares(&self, measure: &Measure, run: &Run) -> bool {
        let set = self.study.set_of(&run.lab, &run.plan.lab.name);
        measure.sets.is_empty() || measure.sets.contains(&set)
    }

    /// Returns why measures that these need cannot be compared in the set that was run, each reason once.
    pub(super) fn not_compared(&self, names: &[String]) -> Vec<String> {
        let mut reasons = Vec::new();
        for measure in self.behind(names) {
            if let Some(run) = self.run_of(measure)
                && !self.compares(measure, run)
                && let Some(because) = &measure.because
                && !reasons.contains(because)
            {
                reasons.push(because.clone());
            }
        }
        reasons
    }

    /// A measure over its rounds; `None` with fewer than [`MIN_ROUNDS`].
    pub(super) fn quantity(&self, name: &str) -> Option<Quantity> {
        quantity(&self.rounds(name))
    }

    /// The trials behind these measures: lab, stack, trial numbers.
    pub(super) fn shown_by(&self, names: &[String]) -> Vec<ShownBy> {
        let mut shown = Vec::new();
        for measure in self.behind(names) {
            if let Some(trials) = self.trials_of(measure)
                && !shown.contains(&trials)
            {
                shown.push(trials);
            }
        }
        shown.sort();
        shown
    }

    /// Returns the largest tie width of the labs behind these measures; 0 when none was run.
    pub(super) fn tie(&self, names: &[String]) -> f64 {
        let behind = self.behind(names);
        let runs = behind.into_iter().filter_map(|measure| self.run_of(measure));
        runs.map(|run| run.plan.lab.judge.tie).fold(0.0, f64::max)
    }

    /// Returns true if a trial behind these measures ran again, at a bound of a range.
    pub(super) fn ran_again(&self, names: &[String]) -> bool {
        let again = |measure: &Measure| {
            let again = &self.run_of(measure)?.again;
            Some(self.trials_of(measure)?.trials.iter().any(|index| again.contains(index)))
        };
        self.behind(names).into_iter().any(|measure| again(measure) == Some(true))
    }

    /// These measures and all that they rest on, each once.
    fn behind(&self, names: &[String]) -> Vec<&'a Measure> {
        let mut found = Vec::new();
        let mut open: Vec<String> = names.to_vec();
        let mut seen = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name.clone());
            let Some(measure) = self.study.measures.get(&name) else {
                if let Some(begin) = name.strip_suffix('*') {
                    open.extend(self.group(begin));
                }
                continue;
            };
            open.extend(measure.formula.measures());
            found.push(measure);
        }
        found
    }

    fn trials_of(&self, measure: &Measure) -> Option<ShownBy> {
        let run = self.run_of(measure).filter(|run| self.compares(measure, run))?;
        let mut shown = ShownBy { file: run.file.clone(), stacks: vec![], trials: vec![] };
        for (index, (trial, record)) in &run.records {
            let pair = *run.plan.candidates.get(trial.candidate as usize)?;
            if counts(record) && matches(&run.plan, pair, &measure.stack) {
                let label = &run.plan.stacks.get(pair.stack as usize)?.label;
                if !shown.stacks.contains(label) {
                    shown.stacks.push(label.clone());
                }
                shown.trials.push(*index);
            }
        }
        (!shown.trials.is_empty()).then_some(shown)
    }

    fn group(&self, begin: &str) -> Vec<String> {
        let names = self.study.measures.keys();
        names.filter(|name| name.starts_with(begin)).cloned().collect()
    }
}

/// Summarises values over rounds with their interval; `None` with fewer than [`MIN_ROUNDS`], however
/// close they are.
pub(super) fn quantity(rounds: &Rounds) -> Option<Quantity> {
    let values: Vec<f64> = rounds.values().copied().collect();
    if values.len() < MIN_ROUNDS {
        return None;
    }
    let interval =
        geometric_mean_interval(&values, ERROR).or_else(|| mean_interval(&values, ERROR))?;
    Some(Quantity {
        low: interval.low,
        centre: interval.centre,
        high: interval.high,
        rounds: values.len() as u32,
    })
}

/// Returns true if a pair of stack and workload matches.
fn matches(plan: &Plan, pair: Candidate, wanted: &Match) -> bool {
    let stack = plan.stacks.get(pair.stack as usize);
    let Some((stack, workload)) = stack.zip(plan.workloads.get(pair.workload as usize)) else {
        return false;
    };
    wanted.named().all(|(axis, name)| match AXES.iter().find(|(known, _)| *known == axis) {
        Some((_, of)) => of(stack) == name,
        None => workload.name == name,
    })
}

/// Workload and record of one round.
#[derive(Clone, Copy)]
struct Trial<'a> {
    record: &'a Record,
    workload: Option<&'a Workload>,
}

/// One round, for a formula.
struct AtRound<'a> {
    measures: &'a Measures<'a>,
    round: u32,
    trial: Option<Trial<'a>>,
}

impl Source for AtRound<'_> {
    fn path(&self, path: &str) -> Option<f64> {
        let trial = self.trial?;
        if path == FILE_SIZE {
            return file_size(trial.workload?);
        }
        read(trial.record, path)
    }

    fn measure(&self, name: &str) -> Option<f64> {
        self.measures.rounds(name).get(&self.round).copied()
    }

    fn group(&self, begin: &str) -> Vec<String> {
        self.measures.group(begin)
    }
}

/// The path of [`file_size`].
const FILE_SIZE: &str = "workload.file_size";

/// Bytes of the file that a workload works on; `None` when its parts name none, or several sizes. A
/// lab that starts from a kept copy has no step that wrote it.
fn file_size(workload: &Workload) -> Option<f64> {
    let of_part = |part: &WorkloadParams| Some(part.preparation()?.file_size?.0);
    let mut sizes: Vec<u64> = workload.parts.iter().filter_map(of_part).collect();
    sizes.dedup();
    match sizes.as_slice() {
        [one] => Some(*one as f64),
        _ => None,
    }
}

/// Reads a path from a record.
pub(super) fn read(record: &Record, path: &str) -> Option<f64> {
    if let Some(value) = record.metric(path) {
        return Some(value);
    }
    let (name, rest) = path.split_once('.')?;
    let step = record.steps.iter().find(|step| step.name == name)?;
    let (what, how) = rest.split_once('.')?;
    match what {
        "device" => counter(step.device.as_ref()?, how),
        "journal" => counter(step.journal.as_ref()?, how),
        "timeline" => timeline(&record.timeline, step, how),
        "journal-timeline" => timeline(&record.journal_timeline, step, how),
        kind => {
            let histogram = Histogram::from_bytes(step.histograms.get(kind)?).ok()?;
            let percent: f64 = how.strip_prefix('p')?.parse().ok()?;
            Some(histogram.percentile_ns(percent / 100.0)? as f64 / 1e9)
        }
    }
}

fn counter(totals: &DeviceTotals, field: &str) -> Option<f64> {
    Some(match field {
        "reads" => totals.reads as f64,
        "reads_merged" => totals.reads_merged as f64,
        "read_bytes" => totals.read_bytes as f64,
        "writes" => totals.writes as f64,
        "writes_merged" => totals.writes_merged as f64,
        "written_bytes" => totals.written_bytes as f64,
        "flushes" => totals.flushes? as f64,
        "busy_ms" => totals.busy_ms as f64,
        _ => return None,
    })
}

/// A column of the timeline over a step: `COLUMN.max`, `COLUMN.max10s` of means over windows, or
/// `COLUMN.median-busy` of the samples in which the device worked.
fn timeline(samples: &[Sample], step: &StepRecord, path: &str) -> Option<f64> {
    let (column, how) = path.rsplit_once('.')?;
    let digits = how.find(|c: char| c.is_ascii_digit());
    let (how, window_ns) = match digits {
        Some(at) => {
            let seconds: f64 = how[at..].strip_suffix('s')?.parse().ok()?;
            (&how[..at], Some((seconds * 1e9) as u64).filter(|window| *window > 0)?)
        }
        None => (how, 0),
    };
    let inside = |sample: &&Sample| step.started_ns < sample.at_ns && sample.at_ns <= step.ended_ns;
    let (how, busy) = how.strip_suffix("-busy").map_or((how, false), |how| (how, true));
    let asked = |sample: &&Sample| !busy || sample.utilisation_percent > 0.0;
    let points = samples.iter().filter(inside).filter(asked).filter_map(|sample| {
        // A sample is of the time before it.
        let number = (sample.at_ns - step.started_ns - 1).checked_div(window_ns);
        Some((number, of_column(*sample, column)?))
    });
    let values: Vec<f64> = if window_ns == 0 {
        points.map(|(_, value)| value).collect()
    } else {
        let mut windows: BTreeMap<Option<u64>, Vec<f64>> = BTreeMap::new();
        points.for_each(|(window, value)| windows.entry(window).or_default().push(value));
        windows.values().filter_map(|values| estimate::mean(values)).collect()
    };
    match how {
        "max" => values.into_iter().reduce(f64::max),
        "min" => values.into_iter().reduce(f64::min),
        "mean" => estimate::mean(&values),
        "median" => estimate::median(&values),
        _ => None,
    }
}

/// A number of a sample by the name of its column.
fn of_column(mut sample: Sample, column: &str) -> Option<f64> {
    match SAMPLE_COLUMNS.iter().find(|(name, _)| *name == column)?.1 {
        SampleField::Number(of) => Some(*of(&mut sample)),
        SampleField::MaybeNumber(of) => *of(&mut sample),
        SampleField::Whole(_) | SampleField::MaybeWhole(_) => None,
    }
}
