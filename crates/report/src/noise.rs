//! The noise budget of a run: how much the trials of one stack vary, what goes with it, and the one
//! change that would reduce it most. And the cost of a trial: its time outside the judged step.

use crate::number::percent;
use crate::view::RunView;
use seekwell_model::record::{Record, Sample, Status, StepRecord};
use seekwell_model::stack::Backing;
use seekwell_model::workloads::is_housekeeping;
use seekwell_stats::estimate::{mean, median};
use seekwell_stats::special::{f_upper_tail, t_upper_tail};

#[cfg(test)]
mod tests;

/// A source is named only if chance explains it in fewer cases than this.
const CHANCE: f64 = 0.01;

/// A judged step shorter than this gains from more work.
const ENOUGH_S: f64 = 0.5;

/// Fewest trials with a value that say something about noise.
const FEWEST_TRIALS: usize = 12;

/// The judged value of a trial with what was seen during it.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    /// Stack and workload.
    candidate: usize,
    round: usize,
    /// Natural logarithm of the value.
    value: f64,
    /// Pressure on the CPUs during the judged step, in per cent.
    cpu: Option<f64>,
    /// Time that the device worked per request of the judged step, in ms.
    device: Option<f64>,
    /// Place within the round, from 0.
    place: f64,
}

/// A possible source: its name, the remedy, and its value in a trial.
type Source = (&'static str, &'static str, fn(&Trial) -> Option<f64>);

const SOURCES: [Source; 3] = [
    (
        "follows the load on the CPUs",
        "stop other programs on this machine, or keep the trials off their CPUs with [trial] cpus",
        |trial| trial.cpu,
    ),
    (
        "follows the time that the device takes per request",
        "use a device that nothing else uses; on a shared one, more rounds",
        |trial| trial.device,
    ),
    (
        "follows the place of the trial in its round",
        "let the device rest between trials",
        |trial| Some(trial.place),
    ),
];

/// Returns the sentences about noise and cost; none for modelled devices and short runs.
pub(crate) fn noise(view: &RunView) -> Vec<String> {
    let modelled = |stack: &seekwell_model::stack::Stack| {
        matches!(stack.device.backing, Backing::Model { .. })
    };
    let trials = trials(view);
    if view.is_recording() || trials.len() < FEWEST_TRIALS || view.plan.stacks.iter().any(modelled)
    {
        return Vec::new();
    }
    let mut said = budget(&trials, step_seconds(view));
    said.extend(cost(view));
    said
}

/// Standard deviation of the trials of one stack, as a fraction; `None` with too few trials.
pub(crate) fn spread(view: &RunView) -> Option<f64> {
    let trials = trials(view);
    let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
    let of_stack = |trial: &Trial| trial.candidate;
    let freedom = trials.len().checked_sub(groups(&trials, of_stack).len())?;
    let variance = squares(&centred(&trials, &values, of_stack)) / freedom as f64;
    (freedom > 1 && variance > 0.0).then(|| variance.sqrt())
}

fn trials(view: &RunView) -> Vec<Trial> {
    let metric = &view.verdict.metric;
    let step = metric.split_once('.').map_or("", |(step, _)| step);
    let mut places = std::collections::BTreeMap::new();
    let seen = view.records.iter().filter_map(|(trial, record)| {
        let place = places.entry(trial.round).or_insert(0_u32);
        *place += 1;
        let value = record.metric(metric).filter(|value| *value > 0.0 && value.is_finite())?;
        let step = record.steps.iter().find(|one| one.name == step)?;
        (record.status == Status::Ok).then(|| Trial {
            candidate: trial.candidate as usize,
            round: trial.round as usize,
            value: value.ln(),
            cpu: cpu_pressure(&record.timeline, step),
            device: per_request(step),
            place: f64::from(*place - 1),
        })
    });
    seen.collect()
}

fn cpu_pressure(timeline: &[Sample], step: &StepRecord) -> Option<f64> {
    let samples = step.samples(timeline).iter();
    let seen: Vec<f64> = samples.filter_map(|sample| sample.cpu_pressure_percent).collect();
    mean(&seen)
}

fn per_request(step: &StepRecord) -> Option<f64> {
    let device = step.device.as_ref()?;
    let requests = device.reads + device.writes;
    (requests > 0).then(|| device.busy_ms as f64 / requests as f64)
}

/// Returns the size of the noise, what goes with it, and what would help most.
fn budget(trials: &[Trial], step_s: Option<f64>) -> Vec<String> {
    let by_candidate = |trial: &Trial| trial.candidate;
    let by_round = |trial: &Trial| trial.round;
    let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
    let of_stack = centred(trials, &values, by_candidate);
    let stacks = groups(trials, by_candidate).len();
    let freedom = trials.len().saturating_sub(stacks);
    let total = squares(&of_stack) / freedom.max(1) as f64;
    if total <= 0.0 {
        return Vec::new();
    }
    let mut said =
        vec![format!("Trials of one stack vary by {} (standard deviation)", percent(total.sqrt()))];
    let rest = centred(trials, &of_stack, by_round);
    if let Some(share) = common(trials, &of_stack) {
        said.push(format!(
            "{} of the variance is shared by all stacks of a round (drift, other work on the machine) and cancels out",
            percent(share)
        ));
    }
    let within = (squares(&rest) / squares(&of_stack)).clamp(0.0, 1.0);
    let found = SOURCES.iter().filter_map(|(name, remedy, read)| {
        Some((within * explained(trials, &rest, read)?, *name, *remedy))
    });
    let mut sources: Vec<(f64, &str, &str)> = found.collect();
    sources.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (share, name, _) in &sources {
        said.push(format!("{} of the variance {name}", percent(*share)));
    }
    let most = sources.first().map(|(.., remedy)| (*remedy).to_owned());
    said.push(format!("To reduce the noise: {}", most.unwrap_or_else(|| otherwise(step_s))));
    said
}

/// The advice when nothing that was observed explains the noise.
fn otherwise(step_s: Option<f64>) -> String {
    match step_s.filter(|seconds| *seconds < ENOUGH_S) {
        Some(seconds) => format!(
            "give the judged step {} times the work; it takes {:.0} ms, and no other cause of the noise was found",
            (ENOUGH_S / seconds).ceil(),
            seconds * 1e3
        ),
        None => "run more rounds; no cause of the noise was found".to_owned(),
    }
}

/// Positions of the trials of each group.
fn groups(trials: &[Trial], of: impl Fn(&Trial) -> usize) -> Vec<Vec<usize>> {
    let mut found: std::collections::BTreeMap<usize, Vec<usize>> = Default::default();
    for (position, trial) in trials.iter().enumerate() {
        found.entry(of(trial)).or_default().push(position);
    }
    found.into_values().collect()
}

/// Values less the mean of their group.
fn centred(trials: &[Trial], values: &[f64], of: impl Fn(&Trial) -> usize) -> Vec<f64> {
    let mut centred = values.to_vec();
    for group in groups(trials, of) {
        let of_group: Vec<f64> = group.iter().map(|position| values[*position]).collect();
        let centre = mean(&of_group).unwrap_or(0.0);
        group.iter().for_each(|position| centred[*position] -= centre);
    }
    centred
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Share of the variance that is common to rounds, by the analysis of variance; `None` if chance
/// explains it.
fn common(trials: &[Trial], values: &[f64]) -> Option<f64> {
    let rounds = groups(trials, |trial| trial.round);
    let stacks = groups(trials, |trial| trial.candidate).len();
    let between_df = rounds.len().checked_sub(1).filter(|df| *df > 0)?;
    let within_df = trials.len().checked_sub(stacks + between_df).filter(|df| *df > 0)?;
    let within = squares(&centred(trials, values, |trial| trial.round));
    let between = squares(values) - within;
    let (between_ms, within_ms) = (between / between_df as f64, within / within_df as f64);
    let p = f_upper_tail(between_ms / within_ms, between_df as f64, within_df as f64);
    let each = trials.len() as f64 / rounds.len() as f64;
    let variance = (between_ms - within_ms) / each;
    (p < CHANCE && variance > 0.0).then(|| variance / (variance + within_ms))
}

/// Share of the variance of `rest` that goes with a covariate; `None` if it was not observed in all
/// trials, or if chance explains it.
fn explained(trials: &[Trial], rest: &[f64], read: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
    let seen: Vec<f64> = trials.iter().map(read).collect::<Option<_>>()?;
    let of_stack = centred(trials, &seen, |trial| trial.candidate);
    let x = centred(trials, &of_stack, |trial| trial.round);
    let both: f64 = x.iter().zip(rest).map(|(x, y)| x * y).sum();
    let share = both * both / (squares(&x) * squares(rest));
    let used =
        groups(trials, |trial| trial.candidate).len() + groups(trials, |trial| trial.round).len();
    let df = trials.len().checked_sub(used).filter(|df| *df > 0)? as f64;
    if !share.is_finite() || share >= 1.0 {
        return None;
    }
    let t = (share * df / (1.0 - share)).sqrt();
    let adjusted = 1.0 - (1.0 - share) * (df + 1.0) / df;
    (2.0 * t_upper_tail(t, df) < CHANCE && adjusted > 0.0).then_some(adjusted)
}

/// Seconds of the judged step at the median.
fn step_seconds(view: &RunView) -> Option<f64> {
    let step = view.verdict.metric.split_once('.')?.0;
    median(&times(view, |record| {
        let step = record.steps.iter().find(|one| one.name == step)?;
        let took = step.ended_ns.saturating_sub(step.started_ns) as f64 / 1e9;
        // With the write-back, where that is judged.
        let durable = view.verdict.metric.ends_with(".elapsed_durable");
        let judged = record.metric(&view.verdict.metric).filter(|_| durable);
        (took > 0.0).then(|| judged.unwrap_or(took))
    }))
    .filter(|seconds| *seconds > 0.0)
}

fn times(view: &RunView, read: impl Fn(&Record) -> Option<f64>) -> Vec<f64> {
    let ok = view.records.iter().filter(|(_, record)| record.status == Status::Ok);
    ok.filter_map(|(_, record)| read(record)).collect()
}

/// The time of a trial outside its judged step.
fn cost(view: &RunView) -> Option<String> {
    let judged = step_seconds(view)?;
    let trial = median(&times(view, |record| Some(record.elapsed_ns as f64 / 1e9)))?;
    let judged_step = view.verdict.metric.split_once('.')?.0;
    let others = |housekeeping: bool| {
        median(&times(view, |record| {
            let of = record.steps.iter().filter(|step| {
                step.name != judged_step && is_housekeeping(&step.name) == housekeeping
            });
            let took = of.map(|step| step.ended_ns.saturating_sub(step.started_ns)).sum::<u64>();
            Some(took as f64 / 1e9)
        }))
    };
    let (made, steps) = (others(true)?, others(false)?);
    Some(format!(
        "A trial takes {trial:.2} s: {judged:.2} s ({}) in the judged step, {steps:.2} s in other steps, {made:.2} s for mkfs, mount and fsck, {:.2} s for devices, settings and caches",
        percent(judged / trial),
        (trial - judged - made - steps).max(0.0)
    ))
}
