//! From the records of a run to its verdict.

mod answer;
mod decision;
mod dependent;
pub(crate) mod differences;
mod evidence;
mod laboratory;
mod nodes;
pub mod prolong;
mod race;
mod short;

use crate::durability;
use crate::question::question;
use crate::records::{Outcomes, is_quarantined};
use crate::values::{self, common_workloads, judged_trials, judged_workloads};
pub use dependent::dependent_rounds;
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::units::Nanos;
use seekwell_model::verdict::METHOD;
use seekwell_model::verdict::{
    Basis, Decision, DependenceFound, Evidence, Needed, OutStack, Ratio, Verdict, VerdictKind,
};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::field::Observed;
use seekwell_stats::looks;
use seekwell_stats::paired::{self, Comparison, ErrorShare, Finding, Row, Standing, Unresolved};
use seekwell_stats::question::MIN_ROUNDS;
use seekwell_stats::race::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// First sentence of a run that is interrupted or in progress.
const NOT_OVER: &str = "The run is not over.";

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
    Some(
        Warning::new(WarningCode::WorkloadNotJudged, text)
            .with_remedy("run it on every stack, or judge it in a lab of its own"),
    )
}

/// The verdict of a finished run: its rounds are done, its time is spent, or enough is known. Its
/// end must not depend on interim results.
#[must_use]
pub fn judge(plan: &Plan, outcomes: &Outcomes) -> Verdict {
    whole(plan, outcomes, Stop::Budget)
}

/// Judges a run that was interrupted or is still in progress. It certifies nothing: certificates are
/// for the planned end of a run or the planned looks of a race. Looking after every round and stopping
/// at a favourable moment would find a winner among equal stacks in a quarter of all runs. The answer has
/// the bound that the rounds so far allow.
#[must_use]
pub fn interim(plan: &Plan, outcomes: &Outcomes) -> Verdict {
    let mut verdict = whole(plan, outcomes, Stop::Interrupted);
    if plan.race.is_none() {
        verdict.kind = VerdictKind::Unresolved;
        verdict.decision = Some(Decision::Inconclusive);
        verdict.sentence = format!("{NOT_OVER} {}", verdict.sentence);
        verdict.rounds = whole_rounds(plan, outcomes);
        verdict.evidence.out.clear();
        // Rounds that the plan still has come first.
        verdict.evidence.needed = None;
        if let Some(answer) = &mut verdict.answer {
            answer.certified = false;
            answer.more = None;
        }
        // Nothing is out before the end, least of all what has not run yet.
        verdict.stacks =
            plan.stacks[..plan.ranked()].iter().map(|stack| stack.label.clone()).collect();
        verdict.reason = format!(
            "the run is not finished: {} of its {} rounds are complete; it is judged once, at its \
             end: continue it with run --resume",
            verdict.rounds,
            plan.rounds()
        );
    }
    verdict
}

/// Rounds of which every trial was made, however it ended, but for those of stacks that fail too often to be run.
fn whole_rounds(plan: &Plan, outcomes: &Outcomes) -> u32 {
    let missing: BTreeSet<u32> = plan
        .trials
        .iter()
        .filter(|trial| !outcomes.contains_key(&trial.index))
        .filter(|trial| !is_quarantined(outcomes, trial.candidate, trial.index))
        .map(|trial| trial.round)
        .collect();
    (0..plan.rounds()).filter(|round| !missing.contains(round)).count() as u32
}

fn whole(plan: &Plan, outcomes: &Outcomes, end: Stop) -> Verdict {
    let trials = judged_trials(plan, outcomes);
    let values = values::present(&trials);
    let mut verdict = match &plan.race {
        Some(planned) => race::verdict(plan, planned, outcomes, end),
        None => {
            let rounds = trials.first().map_or(0, Vec::len);
            let horizon = plan.rounds() as usize;
            let share = looks::share(rounds, horizon.max(rounds), end == Stop::Budget);
            let error = (1.0 - plan.lab.judge.confidence) * share;
            let nodes = crate::nodes::of_rounds(outcomes);
            of_rounds(plan, outcomes, &trials, error, &nodes)
        }
    };
    add_evidence(plan, outcomes, &values, &mut verdict);
    verdict
}

/// Attaches the supporting evidence.
fn add_evidence(
    plan: &Plan,
    outcomes: &Outcomes,
    values: &[Vec<Option<f64>>],
    verdict: &mut Verdict,
) {
    verdict.evidence.storage = evidence::storage(plan, outcomes);
    verdict.evidence.checks = laboratory::checks(plan, outcomes, values);
    verdict.evidence.durability = durability::of_plan(plan, outcomes);
    nodes::add(plan, outcomes, values, verdict);
    answer::finish(plan, outcomes, verdict);
}

/// The verdict of rounds, with this permitted error. `nodes` are those that ran the rounds, if several did at
/// the same time.
fn of_rounds(
    plan: &Plan,
    outcomes: &Outcomes,
    trials: &[Vec<Observed>],
    error: f64,
    nodes: &[Option<usize>],
) -> Verdict {
    let ranked = &trials[..plan.ranked()];
    let barred = durability::ineligible(plan, outcomes);
    let able: Vec<usize> = (0..ranked.len()).filter(|stack| !barred.contains(stack)).collect();
    let rows: Vec<Vec<Observed>> = able.iter().map(|stack| ranked[*stack].clone()).collect();
    let has_value = |row: &&Vec<Observed>| row.iter().any(|t| matches!(t, Observed::Value(_)));
    let share = ErrorShare { error, stacks: rows.iter().filter(has_value).count() };
    match paired::compare_on_nodes(&rows, &question(plan), share, nodes) {
        Ok(comparison) => {
            let comparison = comparison.renamed(&able);
            let round_ns = mean_trial_ns(outcomes).saturating_mul(plan.candidates.len() as u64);
            let mut verdict = verdict(plan, &values::present(ranked), &comparison, round_ns);
            if !barred.is_empty() && is_alone(&comparison) {
                verdict.kind = VerdictKind::Tie;
                verdict.decision = Some(Decision::BestChoice);
                verdict.reason = "every other stack may lose data that it keeps; [judge] durability = \"any\" compares all".to_owned();
            }
            let of_run = answer::Run { plan, outcomes, trials: ranked, comparison: &comparison };
            verdict.answer = Some(of_run.answer(round_ns));
            verdict.ratios.extend(of_run.not_eligible());
            best_first(&mut verdict.ratios, plan.lab.judge.better);
            verdict
        }
        Err(error) => Verdict {
            kind: VerdictKind::Unresolved,
            reason: error.to_string(),
            ..blank(plan, &values::present(ranked))
        },
    }
}

/// True if one stack alone may be picked, and it has trials enough.
fn is_alone(comparison: &Comparison) -> bool {
    let reason = match &comparison.finding {
        Finding::Unresolved { reason, .. } => Some(*reason),
        _ => None,
    };
    let rounds = comparison.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    reason == Some(Unresolved::OneStack) && rounds >= MIN_ROUNDS
}

/// Mean time of the trials so far.
fn mean_trial_ns(outcomes: &Outcomes) -> u64 {
    let all: u64 = outcomes.values().map(|(_, outcome)| outcome.elapsed_ns).sum();
    all / (outcomes.len() as u64).max(1)
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
        decision: Some(Decision::Inconclusive),
        sentence: decision::NOTHING.to_owned(),
        method: METHOD,
        evidence: Evidence::default(),
        answer: None,
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
    let (kind, set, reason) = match &comparison.finding {
        Finding::Winner { stack } => {
            (VerdictKind::Winner, vec![label(stack)], winner_reason(plan, comparison))
        }
        Finding::Tie { set, not_better } => {
            let also: Vec<String> = not_better.iter().map(label).collect();
            (VerdictKind::Tie, set.iter().map(label).collect(), tie_reason(plan, &also))
        }
        Finding::Unresolved { candidates, reason, rounds_needed } => {
            needed = needs(*rounds_needed, blank.rounds, round_ns);
            (
                VerdictKind::Unresolved,
                candidates.iter().map(label).collect(),
                unresolved_reason(plan, *reason, needed.as_ref(), blank.rounds),
            )
        }
    };
    let decision = decision::of(&comparison.finding);
    let out = out(plan, comparison);
    let mut ratios: Vec<Ratio> = comparison
        .rows
        .iter()
        .map(|row| ratio(label(&row.stack), row, &values[row.stack]))
        .collect();
    best_first(&mut ratios, plan.lab.judge.better);
    let dependence = comparison.dependence.map(|found| DependenceFound {
        correlation: found.correlation,
        assumed: found.assumed,
        told: found.correlation.is_some(),
        spells: None,
    });
    Verdict {
        kind,
        decision: Some(decision),
        stacks: set,
        baseline: comparison.baseline.as_ref().map(label),
        ratios,
        reason: with_doubts(plan, comparison, reason),
        evidence: Evidence { needed, dependence, out, ..Evidence::default() },
        ..blank
    }
}

/// Stacks that cannot be the best any more, or that failed too often to be chosen.
fn out(plan: &Plan, comparison: &Comparison) -> Vec<OutStack> {
    let Some(leader) = comparison.baseline else { return vec![] };
    let leader = &plan.stacks[leader].label;
    let possible: &[usize] = match &comparison.finding {
        Finding::Unresolved { candidates, .. } => candidates,
        Finding::Winner { .. } | Finding::Tie { .. } => return vec![],
    };
    let reason = |row: &Row| match (row.standing, row.joint) {
        (Standing::Failing, _) => Some(format!("{} of its trials failed", row.failed)),
        (Standing::Absent, _) => Some("it has no value".to_owned()),
        (_, Some(joint)) => Some(format!(
            "worse than {leader} in {} rounds: {} times its {} ({} to {})",
            row.rounds,
            decision::three(joint.centre),
            plan.lab.judge.metric,
            decision::three(joint.low),
            decision::three(joint.high)
        )),
        _ => None,
    };
    let gone = |row: &&Row| !possible.contains(&row.stack);
    let named = |row: &Row| {
        Some(OutStack { stack: plan.stacks[row.stack].label.clone(), reason: reason(row)? })
    };
    comparison.rows.iter().filter(gone).filter_map(named).collect()
}

/// The reason, with the assumptions about failed trials and dependent rounds.
fn with_doubts(plan: &Plan, comparison: &Comparison, mut reason: String) -> String {
    let failing: Vec<String> = comparison
        .rows
        .iter()
        .filter(|row| row.failed > 0)
        .map(|row| format!("{} ({})", plan.stacks[row.stack].label, row.failed))
        .collect();
    if !failing.is_empty() {
        reason.push_str(
            "; failed trials count as the best or worst possible result, whichever speaks against \
             the verdict: ",
        );
        reason.push_str(&failing.join(", "));
    }
    reason
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
    Some(Needed { rounds, more_ns: more.saturating_mul(round_ns), probability: None })
}

/// A row of the table. Its interval is the joint one, which decided.
fn ratio(stack: String, row: &Row, values: &[Option<f64>]) -> Ratio {
    let interval = row.joint.as_ref();
    Ratio {
        stack,
        ratio: interval.map(|interval| interval.centre),
        low: interval.map(|interval| interval.low).filter(|low| *low > 0.0),
        high: interval.map(|interval| interval.high).filter(|high| high.is_finite()),
        median: median(values),
        pairs: row.rounds as u32,
        basis: Basis::Paired,
        hodges_lehmann: None,
        a12: None,
        autocorrelated: false,
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
    let (tie, sure) = (percent(plan.lab.judge.tie), percent(plan.lab.judge.confidence));
    match rivals {
        1 => format!(
            "better than the other stack by more than the tie of {tie}, at {sure} confidence"
        ),
        rivals => format!(
            "better than each of the {rivals} other stacks by more than the tie of {tie}, at {sure} confidence for all of them together"
        ),
    }
}

fn tie_reason(plan: &Plan, not_better: &[String]) -> String {
    let width = percent(plan.lab.judge.tie);
    let text = format!("no other stack is better by more than the tie of {width}");
    if not_better.is_empty() {
        return text;
    }
    format!("{text}; {} may be as good, or worse", decision::and(not_better))
}

fn unresolved_reason(
    plan: &Plan,
    reason: Unresolved,
    needed: Option<&Needed>,
    have: u32,
) -> String {
    match (reason, needed) {
        (Unresolved::NoData, _) => format!(
            "no successful trial reported {}; the warnings say what failed or was marked",
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
        (Unresolved::Failures { stack, failed, of }, _) => format!(
            "{failed} of {of} trials of {} failed, so it may be better or worse than the others",
            plan.stacks[stack].label
        ),
        (Unresolved::Doubtful { stack, doubtful, of }, _) => format!(
            "{doubtful} of {of} trials of {} were marked as doubtful, so it may be better or worse than \
             the others; the warnings say what marked them",
            plan.stacks[stack].label
        ),
        (Unresolved::Identical, _) => format!(
            "all values of {} are the same: its clock or counter is too coarse to tell the stacks apart; measure more work in a trial",
            plan.lab.judge.metric
        ),
        (Unresolved::TooWide, Some(needed)) => too_wide(needed, have),
        (Unresolved::TooWide, None) => format!(
            "the intervals are too wide after {have} complete rounds, and the number that would decide it cannot be estimated; use more rounds or a wider tie"
        ),
    }
}

/// The rounds that would decide.
fn too_wide(needed: &Needed, have: u32) -> String {
    let (rounds, more) = (needed.rounds, Nanos(needed.more_ns));
    format!(
        "the intervals are too wide after {have} complete rounds; about {rounds} rounds would decide it \
         ({more} more), or a wider tie"
    )
}

/// Key of a doubt: code, step and remedy. Doubts with equal keys are reported once.
type Kind = (String, String, String);

/// Doubts about the run as a whole: what was left out, what failed, what was marked. Equal doubts
/// of many trials are reported once with their number.
#[must_use]
pub fn warnings(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Vec<Warning> {
    let mut all = plan.warnings.clone();
    all.extend(not_judged(plan));
    all.extend(failures(plan, records));
    all.extend(values::without_ratio(plan, records));
    all.extend(differences::in_force(plan, records));
    all.extend(nodes::strays(records));
    let mut counted: BTreeMap<Kind, Counted> = BTreeMap::new();
    for (trial, record) in records {
        let label = &plan.pair(trial).0.label;
        for (step, warning) in trial_warnings(record) {
            let key = (warning.code.clone(), step.to_owned(), warning.remedy.clone());
            let counted = counted.entry(key).or_insert_with(|| Counted::of(warning.clone()));
            counted.times += 1;
            counted.differ |= counted.first.text != warning.text;
            counted.stacks.insert(label.clone());
        }
    }
    all.extend(counted.into_values().map(Counted::summed));
    all.extend(not_durable(plan, records));
    all.extend(busy_processors(records));
    all.extend(short::too_short(plan, records));
    all
}

/// Share of the time in which something waited for a CPU, in percent, from which a warning is
/// given.
const BUSY_PERCENT: f64 = 60.0;

/// Share of the trials' CPUs that other programs use, in percent, from which a warning is given.
const OTHERS_PERCENT: f64 = 50.0;

/// Median of the share of their CPUs that other programs used during trials, in percent; `None` where no trial
/// knows.
pub(crate) fn others_percent<'a>(records: impl Iterator<Item = &'a Record>) -> Option<f64> {
    let shares: Vec<Option<f64>> = records.map(|record| record.others_cpu_percent).collect();
    median(&shares)
}

/// CPUs were short most of the time, in most trials: other programs used them, or the workload
/// has more threads than there are CPUs.
fn busy_processors(records: &[(PlannedTrial, Record)]) -> Option<Warning> {
    let waited = |record: &Record| {
        let samples: Vec<f64> =
            record.timeline.iter().filter_map(|sample| sample.cpu_pressure_percent).collect();
        (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
    };
    let others = others_percent(records.iter().map(|(_, record)| record));
    if let Some(others) = others.filter(|share| *share >= OTHERS_PERCENT) {
        let text =
            format!("other programs used {others:.0} % of the CPUs during the trials (median)");
        return Some(Warning::new(WarningCode::BusyProcessors, text));
    }
    let shares: Vec<Option<f64>> = records.iter().map(|(_, record)| waited(record)).collect();
    let typical = median(&shares)?;
    (typical >= BUSY_PERCENT).then(|| {
        Warning::new(WarningCode::BusyProcessors, format!(
                "processes waited for a CPU {typical:.0} % of the time (median of the trials): other \
                 programs used the CPUs, or the workload has more threads than there are CPUs"
            ))
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

/// Warnings of one kind.
struct Counted {
    first: Warning,
    times: u32,
    /// True if the others have other numbers.
    differ: bool,
    stacks: BTreeSet<String>,
}

impl Counted {
    fn of(first: Warning) -> Self {
        Self { first, times: 0, differ: false, stacks: BTreeSet::new() }
    }

    fn summed(self) -> Warning {
        let Self { first: mut warning, times, differ, stacks } = self;
        if times > 1 {
            let mut names: Vec<&str> = stacks.iter().take(4).map(String::as_str).collect();
            if stacks.len() > names.len() {
                names.push("…");
            }
            let of =
                if differ { format!("the first of {times}") } else { format!("{times} times") };
            warning.text = format!("{} ({of}, in {})", warning.text, names.join(", "));
        }
        warning
    }
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
        Warning::new(WarningCode::TrialFailed, text)
    };
    by_reason.into_iter().map(warning).collect()
}

/// Longest reason of a failure in a warning, in characters; the record keeps all of it.
const REASON_CHARACTERS: usize = 300;

/// The start of a program's or kernel's message, in one line.
fn in_one_line(reason: &str) -> String {
    let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let whole = lines.join("; ");
    let mut shown: String = whole.chars().take(REASON_CHARACTERS).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// The verdict judges a writing step by a metric that does not wait for the write-back: the
/// amount of data still in memory then.
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
    Some(
        Warning::new(WarningCode::NotDurable, text)
            .with_remedy(format!("judge {step}.elapsed_durable to count the write-back")),
    )
}

#[cfg(test)]
mod tests;
