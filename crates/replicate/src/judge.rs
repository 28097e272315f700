//! Results, claim by claim, with the trials that show them.

mod bounds;
mod evidence;
mod measured;
mod page;
mod tested;

use crate::claims::{Claims, Form, Judgeable, belongs};
use crate::study::Study;
use measured::{Measures, quantity};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::replication::{
    Agreement, Also, AtEnds, ClaimOutcome, ClaimVerdict, LabRun, Quantity, StudyOutcome, Tested,
    ValueOutcome,
};
use seekwell_stats::question::MIN_ROUNDS;
use std::collections::{BTreeMap, BTreeSet};
use tested::Judge;

#[cfg(test)]
pub(crate) mod tests;

/// Error probability of an interval.
pub const ERROR: f64 = 0.05;

/// A lab that was run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Name of the lab in the study's file.
    pub lab: String,
    /// Run file.
    pub file: String,
    /// Kernel that ran it.
    pub kernel: String,
    /// Modelled devices that have changed since, each with the reason.
    pub changed_models: Vec<String>,
    /// Modelled devices whose models may have changed since.
    pub unknown_models: Vec<String>,
    /// The plan.
    pub plan: Plan,
    /// Records by trial index.
    pub records: BTreeMap<u32, (PlannedTrial, Record)>,
    /// Trials that ran again because a number of their device is at a bound of its range.
    pub again: BTreeSet<u32>,
}

/// Returns true if a trial takes part.
fn counts(record: &Record) -> bool {
    record.status == Status::Ok
}

/// Judges a study. `ends` are the same labs run with an undetermined parameter at a bound of its
/// range, one list of runs for each bound.
#[must_use]
pub fn judge(claims: &Claims, study: &Study, runs: &[Run], ends: &[Vec<Run>]) -> StudyOutcome {
    let measures = Measures::new(study, runs);
    let at_ends: Vec<Measures<'_>> = ends.iter().map(|runs| Measures::new(study, runs)).collect();
    let about = claims.studies.iter().find(|known| known.key == study.key);
    let text =
        |of: fn(&crate::claims::Study) -> &String| about.map(of).cloned().unwrap_or_default();
    let values: Vec<ValueOutcome> = claims
        .values(&study.key)
        .map(|value| value_outcome(value, study, &measures, &at_ends))
        .collect();
    let judged = |claim: Judgeable| {
        let mut outcome = claim_outcome(&claim, study, &measures);
        outcome.at_ends = at_ends_of(&outcome, &claim, &(study, &measures), &at_ends);
        let judge = Judge { study, measures: &measures };
        explain(&mut outcome, &claim, &judge);
        outcome.not_counted = evidence::not_counted(&claim, outcome.agreement, claims, study);
        (claim, outcome)
    };
    let judged: Vec<_> = claims.of_study(&study.key).into_iter().map(judged).collect();
    let page = page::Judged { study, measures: &measures, values: &values, claims: &judged }.page();
    StudyOutcome {
        key: study.key.clone(),
        title: text(|about| &about.title),
        author: text(|about| &about.author),
        kernel: text(|about| &about.kernel),
        stands_for: text(|about| &about.stands_for),
        notes: study.notes.clone(),
        errata: errata(claims, &study.key),
        page,
        labs: runs.iter().map(|run| lab_run(study, run)).collect(),
        values,
        claims: judged.into_iter().map(|(_, outcome)| outcome).collect(),
        changes: study
            .changes
            .iter()
            .map(|change| format!("{}: {}", change.date, change.text))
            .collect(),
        quick_alone: None,
        quick_agreements: None,
    }
}

/// Returns the measurement of one value; `None` when the runs did not measure it.
#[must_use]
pub fn measured(study: &Study, runs: &[Run], id: &str) -> Option<Quantity> {
    Measures::new(study, runs).quantity(id)
}

fn errata(claims: &Claims, study: &str) -> Vec<String> {
    let of_study = claims.errata.iter().filter(|erratum| belongs(&erratum.id, study));
    of_study
        .map(|erratum| format!("{} ({}): {}", erratum.id, erratum.date, erratum.reason))
        .collect()
}

fn lab_run(study: &Study, run: &Run) -> LabRun {
    let trials = run.records.values().filter(|(_, record)| counts(record)).count();
    // A lab that both sets share is part of the one as of the other.
    let set = study.set_of(&run.lab, &run.plan.lab.name).word();
    LabRun {
        lab: run.plan.lab.name.clone(),
        set: set.to_owned(),
        file: run.file.clone(),
        trials: trials as u32,
        left_out: (run.records.len() - trials) as u32,
        kernel: run.kernel.clone(),
        changed_models: run.changed_models.clone(),
        unknown_models: run.unknown_models.clone(),
    }
}

fn value_outcome(
    value: &crate::claims::Value,
    study: &Study,
    measures: &Measures<'_>,
    ends: &[Measures<'_>],
) -> ValueOutcome {
    let id = value.id();
    let measured = measures.quantity(id);
    let touched = ends.iter().filter(|end| end.ran_again(&[id.to_owned()]));
    let centres: Vec<f64> =
        touched.chain([measures]).filter_map(|at| Some(at.quantity(id)?.centre)).collect();
    let bound = |of: fn(f64, f64) -> f64| centres.iter().copied().reduce(of);
    let range = bound(f64::min).zip(bound(f64::max)).filter(|_| centres.len() > 1);
    let not_measured = || {
        let reasons = measures.not_compared(&[id.to_owned()]);
        let said = study.not_measured.get(id).or_else(|| study.cannot.get(id)).cloned();
        said.or_else(|| (!reasons.is_empty()).then(|| reasons.join("; ")))
    };
    let outcome = ValueOutcome {
        id: id.to_owned(),
        unit: value.unit.clone(),
        line: value.line,
        usage: value.usage,
        published: value.value,
        measured,
        ratio: measured.map(|measured| measured.centre / value.value),
        range: range.map(|(low, high)| [low, high]),
        reason: study.reasons.get(id).cloned(),
        note: value.note.clone().or_else(|| measured.is_none().then(not_measured).flatten()),
        also: also(id, Some(value.value), study, measures),
        fitted_since: study
            .changes
            .iter()
            .find(|change| change.decides(id))
            .map(|change| change.date.clone()),
    };
    match outcome.agrees() {
        Some(false) => outcome,
        _ => ValueOutcome { reason: None, ..outcome },
    }
}

fn claim_outcome(claim: &Judgeable, study: &Study, measures: &Measures<'_>) -> ClaimOutcome {
    let mut outcome = ClaimOutcome {
        id: claim.id.clone(),
        line: claim.line,
        says: claim.says.clone(),
        form: claim.form.word().to_owned(),
        verdict: ClaimVerdict::NotMeasured,
        agreement: None,
        experiment: None,
        tests: Vec::new(),
        shown_by: Vec::new(),
        because: None,
        reason: None,
        also: also(&claim.id, claim.form.published(), study, measures),
        at_ends: None,
        not_counted: None,
    };
    let cannot = match &claim.form {
        Form::Cannot { because } => Some(because),
        _ => study.cannot.get(&claim.id),
    };
    if let Some(because) = cannot {
        outcome.verdict = ClaimVerdict::CannotBeTested;
        outcome.because = Some(because.clone());
        return outcome;
    }
    // Numbers that only resemble the claim do not decide what the study's file calls not measured.
    if let Some(said) = study.not_measured.get(&claim.id) {
        outcome.because = Some(said.clone());
        return outcome;
    }
    let judge = Judge { study, measures };
    let tested::Judged { verdict, agreement, tests } = judge.of(claim);
    outcome.verdict = verdict;
    outcome.agreement = agreement;
    outcome.shown_by = measures.shown_by(&judge.names(claim));
    outcome.tests = tests;
    if agreement.is_none() {
        let reasons = measures.not_compared(&judge.names(claim));
        outcome.because = Some(match reasons.is_empty() {
            true => missing(&outcome.tests),
            false => reasons.join("; "),
        });
    }
    outcome
}

/// Adds why a claim differs: the experiment that shows it, or the likely reason.
fn explain(outcome: &mut ClaimOutcome, claim: &Judgeable, judge: &Judge<'_>) {
    if outcome.agreement.is_none_or(|agreement| agreement == Agreement::Agrees) {
        return;
    }
    outcome.reason = judge.study.reasons.get(&claim.id).cloned();
    if outcome.agreement != Some(Agreement::OurError) {
        return;
    }
    if let Some(finding) = judge.study.findings.get(&claim.id) {
        let experiment = judge.condition(&finding.experiment, judge.tie(claim));
        if experiment.agrees == Some(true) {
            outcome.agreement = Some(Agreement::Finding);
            outcome.reason = Some(finding.text.clone());
        }
        outcome.experiment = Some(experiment);
    }
}

/// Counts the bounds of ranges at which a decided claim has the same result. Bounds at which none of its
/// trials ran again do not count.
fn at_ends_of(
    outcome: &ClaimOutcome,
    claim: &Judgeable,
    (study, base): &(&Study, &Measures<'_>),
    ends: &[Measures<'_>],
) -> Option<AtEnds> {
    let names = Judge { study, measures: base }.names(claim);
    let touched = ends.iter().filter(|end| outcome.agreement.is_some() && end.ran_again(&names));
    let agreements = touched.filter_map(|measures| Judge { study, measures }.of(claim).agreement);
    let found: Vec<Agreement> = agreements.collect();
    let same = found.iter().filter(|agreement| Some(**agreement) == outcome.agreement).count();
    (!found.is_empty()).then_some(AtEnds { same: same as u32, of: found.len() as u32 })
}

/// Further quantities shown with a claim or value, of which this was published.
fn also(id: &str, published: Option<f64>, study: &Study, measures: &Measures<'_>) -> Vec<Also> {
    let beside = study.also.get(id).map(Vec::as_slice).unwrap_or_default();
    let found = |formula| quantity(&measures.formula(formula));
    let says = |one: &crate::study::Beside| one.says.clone();
    beside
        .iter()
        .map(|one| Also { says: says(one), found: found(&one.formula), published })
        .collect()
}

/// Lists the missing measures, where the study's file gives no reason.
fn missing(tests: &[Tested]) -> String {
    let unknown: Vec<&str> =
        tests.iter().filter(|test| test.found.is_none()).map(|test| test.what.as_str()).collect();
    match unknown.is_empty() {
        true => "no lab of this set measures it".to_owned(),
        false => {
            format!("fewer than {MIN_ROUNDS} rounds of this set measured {}", unknown.join(", "))
        }
    }
}
