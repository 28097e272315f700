//! From the records of a run to its verdict.

mod differences;
mod durability;
mod evidence;
mod laboratory;
mod race;
mod short;

use crate::execute::{Records, rounds_outlook};
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::units::Nanos;
use seekwell_model::verdict::{Basis, Evidence, Needed, Ratio, Verdict, VerdictKind};
use seekwell_model::warning::Warning;
use seekwell_stats::paired::{self, Comparison, Question, Row, Unresolved, Verdict as Decision};
use seekwell_stats::race::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// Values of the judged metric: per stack, one entry per round.
///
/// Only trials that ended well count: a marked trial is kept and never ranked. Where several
/// workloads report the metric, a stack's value of a round is their geometric mean, and missing
/// when one of them is; only workloads that every compared stack runs take part.
#[must_use]
pub fn judged_values(plan: &Plan, records: &Records) -> Vec<Vec<Option<f64>>> {
    let metric = &plan.lab.judge.metric;
    let rounds = records.values().map(|(trial, _)| trial.round + 1).max().unwrap_or(0) as usize;
    let judged = common_workloads(plan);
    let mut logs: Vec<Vec<Option<f64>>> = vec![vec![Some(0.0); rounds]; plan.stacks.len()];
    let mut parts = vec![0_u32; plan.stacks.len()];
    let found: BTreeMap<(u32, u32), f64> = records
        .values()
        .filter(|(_, record)| record.status == Status::Ok)
        .filter_map(|(trial, record)| {
            Some(((trial.candidate, trial.round), record.metric(metric)?))
        })
        .collect();
    for (candidate, pair) in plan.candidates.iter().enumerate() {
        if !judged.contains(&pair.workload) {
            continue;
        }
        let stack = pair.stack as usize;
        parts[stack] += 1;
        for (round, sum) in logs[stack].iter_mut().enumerate() {
            let value = found.get(&(candidate as u32, round as u32)).map(|value| value.ln());
            *sum = sum.zip(value).map(|(sum, value)| sum + value);
        }
    }
    let mean = |(row, parts): (Vec<Option<f64>>, u32)| {
        let geometric = |log: f64| (parts > 0).then(|| (log / f64::from(parts)).exp());
        row.into_iter().map(|log| log.and_then(geometric)).collect()
    };
    logs.into_iter().zip(parts).map(mean).collect()
}

/// Values of the judged metric of the stacks of one round, as [`judged_values`] makes them.
#[must_use]
pub fn round_values(
    plan: &Plan,
    records: &Records,
    round: &[PlannedTrial],
) -> Vec<(usize, Option<f64>)> {
    let judged = common_workloads(plan);
    let value = |trial: &PlannedTrial| {
        let (_, record) = records.get(&trial.index)?;
        (record.status == Status::Ok).then(|| record.metric(&plan.lab.judge.metric))?
    };
    let mut logs: BTreeMap<usize, (Option<f64>, u32)> = BTreeMap::new();
    for trial in round {
        let pair = plan.candidates[trial.candidate as usize];
        let entry = logs.entry(pair.stack as usize).or_insert((Some(0.0), 0));
        if judged.contains(&pair.workload) {
            entry.0 = entry.0.zip(value(trial)).map(|(sum, value)| sum + value.ln());
            entry.1 += 1;
        }
    }
    let mean = |(stack, (log, parts)): (usize, (Option<f64>, u32))| {
        let value = log.filter(|_| parts > 0).map(|log| (log / f64::from(parts)).exp());
        (stack, value)
    };
    logs.into_iter().map(mean).collect()
}

/// What is asked of the comparison.
#[must_use]
pub fn question(plan: &Plan) -> Question {
    let judge = &plan.lab.judge;
    let better = match judge.better {
        Better::Lower => paired::Better::Lower,
        Better::Higher => paired::Better::Higher,
    };
    Question::new(better, judge.tie, judge.confidence)
}

/// Workloads that report the judged metric, by stack.
fn judged_workloads(plan: &Plan) -> BTreeMap<u32, BTreeSet<u32>> {
    let metric = &plan.lab.judge.metric;
    let reports: Vec<bool> =
        plan.workloads.iter().map(|workload| workload.reports_or_times(metric)).collect();
    let mut by_stack: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for pair in &plan.candidates {
        if reports.get(pair.workload as usize).copied().unwrap_or(false) {
            by_stack.entry(pair.stack).or_default().insert(pair.workload);
        }
    }
    by_stack
}

/// Workloads that report the judged metric and that every stack runs which runs one of them.
fn common_workloads(plan: &Plan) -> BTreeSet<u32> {
    let by_stack = judged_workloads(plan);
    let mut sets = by_stack.values();
    let first = sets.next().cloned().unwrap_or_default();
    sets.fold(first, |common, set| common.intersection(set).copied().collect())
}

/// Workloads that report the metric and do not count, because some stack does not run them.
fn not_judged(plan: &Plan) -> Option<Warning> {
    let common = common_workloads(plan);
    let all: BTreeSet<u32> = judged_workloads(plan).into_values().flatten().collect();
    let left: Vec<&str> = all
        .difference(&common)
        .filter_map(|index| Some(plan.workloads.get(*index as usize)?.name.as_str()))
        .collect();
    if left.is_empty() {
        return None;
    }
    let text = format!("not judged, because not every stack runs it: workload {}", left.join(", "));
    Some(Warning::new(
        "workload-not-judged",
        text,
        "run it on every stack, or judge it in a lab of its own",
    ))
}

/// The verdict of a run that is over: its rounds are done, its time is spent, or enough is known.
/// Its end must not have been chosen by what was seen.
#[must_use]
pub fn judge(plan: &Plan, records: &Records) -> Verdict {
    whole(plan, records, Stop::Budget)
}

/// What may be said of a run that was interrupted, or is still going on: the certificate is for the
/// planned end alone, in a race for its planned looks. Whoever looks at every round and stops when
/// it pleases would else find a winner among equals in a quarter of all runs.
#[must_use]
pub fn interim(plan: &Plan, records: &Records) -> Verdict {
    let mut verdict = whole(plan, records, Stop::Interrupted);
    if plan.race.is_none() {
        verdict.kind = VerdictKind::Unresolved;
        verdict.rounds = whole_rounds(plan, records);
        // Nothing is out before the end, least of all what has not run yet.
        verdict.stacks =
            plan.stacks[..plan.ranked()].iter().map(|stack| stack.label.clone()).collect();
        verdict.reason = format!(
            "the run is not over: {} of its {} rounds are complete, and it is judged once, at its \
             end; go on with it by run --resume",
            verdict.rounds,
            plan.rounds()
        );
    }
    verdict
}

/// Rounds of which every trial was made, however it ended.
fn whole_rounds(plan: &Plan, records: &Records) -> u32 {
    let missing: BTreeSet<u32> = plan
        .trials
        .iter()
        .filter(|trial| !records.contains_key(&trial.index))
        .map(|trial| trial.round)
        .collect();
    (0..plan.rounds()).filter(|round| !missing.contains(round)).count() as u32
}

fn whole(plan: &Plan, records: &Records, end: Stop) -> Verdict {
    let values = judged_values(plan, records);
    let mut verdict = match &plan.race {
        Some(planned) => race::verdict(plan, planned, records, end),
        None => {
            let mut verdict = of_rounds(plan, records, &values);
            verdict.evidence.outlook = rounds_outlook(plan, records);
            verdict.evidence.control = laboratory::control_of_rounds(plan, &values);
            verdict
        }
    };
    evidence::add(plan, records, &values, &mut verdict);
    verdict.evidence.checks = laboratory::checks(plan, records, &values);
    verdict.evidence.durability = durability::of_plan(plan, records);
    laboratory::withdraw(&mut verdict);
    verdict
}

/// The verdict of complete rounds.
fn of_rounds(plan: &Plan, records: &Records, values: &[Vec<Option<f64>>]) -> Verdict {
    let ranked = &values[..plan.ranked()];
    match paired::compare(ranked, &question(plan)) {
        Ok(comparison) => {
            let round_ns = mean_trial_ns(records).saturating_mul(plan.candidates.len() as u64);
            verdict(plan, ranked, &comparison, round_ns)
        }
        Err(error) => Verdict {
            kind: VerdictKind::Unresolved,
            reason: error.to_string(),
            ..blank(plan, ranked)
        },
    }
}

/// Mean time of the trials so far.
fn mean_trial_ns(records: &Records) -> u64 {
    let all: u64 = records.values().map(|(_, record)| record.elapsed_ns).sum();
    all / (records.len() as u64).max(1)
}

fn blank(plan: &Plan, values: &[Vec<Option<f64>>]) -> Verdict {
    let judge = &plan.lab.judge;
    let complete = |round: &usize| {
        let mut present =
            values.iter().filter(|rounds| rounds.iter().any(Option::is_some)).peekable();
        present.peek().is_some() && present.all(|rounds| rounds[*round].is_some())
    };
    let rounds = (0..values.first().map_or(0, Vec::len)).filter(complete).count();
    Verdict {
        kind: VerdictKind::Unresolved,
        stacks: vec![],
        baseline: None,
        ratios: vec![],
        reason: String::new(),
        metric: judge.metric.clone(),
        better: judge.better,
        confidence: judge.confidence,
        tie: judge.tie,
        rounds: rounds as u32,
        evidence: Evidence::default(),
    }
}

fn verdict(
    plan: &Plan,
    values: &[Vec<Option<f64>>],
    comparison: &Comparison,
    round_ns: u64,
) -> Verdict {
    let label = |stack: &usize| plan.stacks[*stack].label.clone();
    let mut blank = blank(plan, values);
    if plan.race.is_some() {
        // Finalists leave: the leader alone is run in every round.
        blank.rounds = comparison.rows.iter().map(|row| row.rounds as u32).max().unwrap_or(0);
    }
    let mut needed = None;
    let (kind, set, reason) = match &comparison.verdict {
        Decision::Winner { stack } => {
            (VerdictKind::Winner, vec![label(stack)], winner_reason(plan, comparison))
        }
        Decision::Tie { set, not_better } => {
            let also: Vec<String> = not_better.iter().map(label).collect();
            (VerdictKind::Tie, set.iter().map(label).collect(), tie_reason(plan, &also))
        }
        Decision::Unresolved { candidates, reason, rounds_needed } => {
            needed = needs(*rounds_needed, blank.rounds, round_ns);
            (
                VerdictKind::Unresolved,
                candidates.iter().map(label).collect(),
                unresolved_reason(plan, *reason, needed.as_ref(), blank.rounds),
            )
        }
    };
    let mut ratios: Vec<Ratio> = comparison
        .rows
        .iter()
        .map(|row| ratio(label(&row.stack), row, &values[row.stack]))
        .collect();
    best_first(&mut ratios, plan.lab.judge.better);
    Verdict {
        kind,
        stacks: set,
        baseline: comparison.baseline.as_ref().map(label),
        ratios,
        reason,
        evidence: Evidence { needed, ..Evidence::default() },
        ..blank
    }
}

fn best_first(ratios: &mut [Ratio], better: Better) {
    let worse = |ratio: &Ratio| match (ratio.ratio, better) {
        (None, _) => f64::INFINITY,
        (Some(ratio), Better::Lower) => ratio,
        (Some(ratio), Better::Higher) => -ratio,
    };
    ratios.sort_by(|left, right| worse(left).total_cmp(&worse(right)));
}

/// Rounds that are needed in all, and the time of those that are missing.
fn needs(rounds: Option<u64>, have: u32, round_ns: u64) -> Option<Needed> {
    let rounds = rounds?;
    let more = rounds.saturating_sub(u64::from(have));
    Some(Needed { rounds, more_ns: more.saturating_mul(round_ns) })
}

/// A row of the table. The interval is the joint one: it is what decided.
fn ratio(stack: String, row: &Row, values: &[Option<f64>]) -> Ratio {
    let interval = row.joint.as_ref();
    Ratio {
        stack,
        ratio: interval.map(|interval| interval.centre),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        median: median(values),
        pairs: row.rounds as u32,
        basis: Basis::Paired,
        hodges_lehmann: row.hodges_lehmann,
        a12: row.a12,
        autocorrelated: row.autocorrelated,
    }
}

fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut present: Vec<f64> = values.iter().flatten().copied().collect();
    present.sort_by(f64::total_cmp);
    let middle = present.len() / 2;
    match present.len() {
        0 => None,
        length if length % 2 == 1 => Some(present[middle]),
        _ => Some(f64::midpoint(present[middle - 1], present[middle])),
    }
}

fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if (percent - percent.round()).abs() < 1e-9 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

fn winner_reason(plan: &Plan, comparison: &Comparison) -> String {
    let rivals = comparison.rows.iter().filter(|row| row.rounds > 0).count().saturating_sub(1);
    format!(
        "better than each of the {rivals} others in paired rounds; the chance that any of these is wrong is at most {}",
        percent(1.0 - plan.lab.judge.confidence)
    )
}

fn tie_reason(plan: &Plan, not_better: &[String]) -> String {
    let width = percent(plan.lab.judge.tie);
    let mut text = format!("no other is better by more than the tie width of {width}");
    if !not_better.is_empty() {
        text.push_str("; shown not to be better, but possibly worse: ");
        text.push_str(&not_better.join(", "));
    }
    text
}

fn unresolved_reason(
    plan: &Plan,
    reason: Unresolved,
    needed: Option<&Needed>,
    have: u32,
) -> String {
    match (reason, needed) {
        (Unresolved::NoData, _) => format!(
            "no trial ended well and reported {}; see the warnings for what failed or was marked",
            plan.lab.judge.metric
        ),
        (Unresolved::OneStack, _) => {
            "only one stack has values: there is nothing to compare it with".to_owned()
        }
        (Unresolved::TooFewRounds { have, need }, _) => {
            format!(
                "only {have} complete paired rounds, at least {need} are needed; set rounds = {need} or a larger budget"
            )
        }
        (Unresolved::TooWide, Some(needed)) => format!(
            "the intervals are too wide after {have} complete rounds; about {} rounds would decide it ({} more), or a wider tie",
            needed.rounds,
            Nanos(needed.more_ns)
        ),
        (Unresolved::TooWide, None) => format!(
            "the intervals are too wide after {have} complete rounds, and how many would decide it cannot be said; use more rounds or a wider tie"
        ),
    }
}

/// What makes two doubts the same: code, step and remedy.
type Kind = (String, String, String);

/// Doubts about the run as a whole: what was left out, what failed, what was marked. Equal doubts
/// of many trials are said once with their number.
#[must_use]
pub fn warnings(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Vec<Warning> {
    let mut all = plan.warnings.clone();
    all.extend(not_judged(plan));
    all.extend(failures(plan, records));
    all.extend(differences::in_force(plan, records));
    let mut counted: BTreeMap<Kind, (Warning, u32, BTreeSet<String>)> = BTreeMap::new();
    for (trial, record) in records {
        let label = &plan.pair(trial).0.label;
        for (step, warning) in trial_warnings(record) {
            let key = (warning.code.clone(), step.to_owned(), warning.remedy.clone());
            let entry = counted.entry(key).or_insert_with(|| (warning.clone(), 0, BTreeSet::new()));
            entry.1 += 1;
            entry.2.insert(label.clone());
        }
    }
    all.extend(
        counted.into_values().map(|(warning, times, stacks)| summed(warning, times, &stacks)),
    );
    all.extend(not_durable(plan, records));
    all.extend(busy_processors(records));
    all.extend(short::too_short(plan, records));
    all
}

/// From this share of the time on in which something waited for a processor, in percent.
const BUSY_PERCENT: f64 = 60.0;

/// Processors were short most of the time, in most trials: others computed, or the workload has more
/// to run than there are.
fn busy_processors(records: &[(PlannedTrial, Record)]) -> Option<Warning> {
    let waited = |record: &Record| {
        let samples: Vec<f64> =
            record.timeline.iter().filter_map(|sample| sample.cpu_pressure_percent).collect();
        (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
    };
    let shares: Vec<Option<f64>> = records.iter().map(|(_, record)| waited(record)).collect();
    let typical = median(&shares)?;
    (typical >= BUSY_PERCENT).then(|| {
        Warning::new(
            "busy-processors",
            format!(
                "something waited for a processor in {typical:.0} % of the time (median of the trials): \
                 others computed beside the run, or the workload has more to run than there are \
                 processors"
            ),
            "stop what else runs here and repeat; the timelines show the pressure",
        )
    })
}

/// The doubts about a trial, those about a step with its name.
fn trial_warnings(record: &Record) -> impl Iterator<Item = (&str, &Warning)> {
    let of_trial = record.warnings.iter().map(|warning| ("", warning));
    let of_steps = record
        .steps
        .iter()
        .flat_map(|step| step.warnings.iter().map(move |warning| (step.name.as_str(), warning)));
    of_trial.chain(of_steps)
}

fn summed(mut warning: Warning, times: u32, stacks: &BTreeSet<String>) -> Warning {
    if times > 1 {
        let mut names: Vec<&str> = stacks.iter().take(4).map(String::as_str).collect();
        if stacks.len() > names.len() {
            names.push("…");
        }
        warning.text = format!("{} ({times} times, in {})", warning.text, names.join(", "));
    }
    warning
}

fn failures(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Vec<Warning> {
    let mut by_reason: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (trial, record) in records {
        if let Status::Failed { stage, reason } = &record.status {
            let stack = plan.pair(trial).0.label.clone();
            *by_reason.entry((stack, format!("{stage}: {}", in_one_line(reason)))).or_default() +=
                1;
        }
    }
    let warning = |((stack, what), times): ((String, String), u32)| {
        let trials = if times == 1 { "trial" } else { "trials" };
        let text = format!("{stack}: {times} {trials} failed in {what}");
        Warning::new(
            "trial-failed",
            text,
            "mend the cause and run the lab again, or exclude the stack",
        )
    };
    by_reason.into_iter().map(warning).collect()
}

/// Longest reason of a failure in a warning, in characters; the record keeps all of it.
const REASON_CHARACTERS: usize = 300;

/// The begin of what a program or a kernel said.
fn in_one_line(reason: &str) -> String {
    let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let whole = lines.join("; ");
    let mut shown: String = whole.chars().take(REASON_CHARACTERS).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// The verdict judges a writing step by something that does not wait for the write-back: how much
/// was still in memory then.
fn not_durable(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Option<Warning> {
    let (step, metric) = plan.lab.judge.metric.split_once('.')?;
    if metric.ends_with("_durable") {
        return None;
    }
    let undurable = format!("{step}.undurable_bytes");
    let largest = records
        .iter()
        .filter_map(|(_, record)| record.metric(&undurable))
        .max_by(f64::total_cmp)?;
    let amount = if largest < 1e6 {
        "less than 1 MB".to_owned()
    } else {
        format!("up to {:.0} MB", largest / 1e6)
    };
    let text = format!("not yet on the device when {step} ended and was judged: {amount}");
    Some(Warning::new(
        "not-durable",
        text,
        format!("judge {step}.elapsed_durable to count the write-back"),
    ))
}

#[cfg(test)]
mod tests;
