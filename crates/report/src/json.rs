//! A run for programs. Names are stable: they are added to and never renamed.

use crate::model_error::on_device;
use crate::parquet::EachTrial;
use crate::permanent::{Permanent, permanent};
use crate::uncontrolled::uncontrolled;
use crate::view::RunView;
use seekwell_model::FORMAT;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status, StepRecord};
use seekwell_stats::histogram::Histogram;
use serde::ser::{Error as _, Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes the run as indented JSON: everything but the plan's details, the timelines, the histograms (their
/// percentiles are there) and the block events, which the run file holds.
///
/// `{"format", "lab", "backend", "place", "trials": [{"stack", "workload", "round", "status", "metrics",
/// "fingerprint"}], "verdict": {"kind", "stacks", "baseline", "ratios": [{"stack", "ratio", "low",
/// "high"}], "reason"}, "warnings"}` and further fields. Ratios are stack over baseline on the
/// judged metric; what is not known is `null`.
///
/// Trials come from `each`, whole but for timelines and block events, and are written one after the other: those of a
/// run of 100,000 would fill gigabytes.
///
/// # Errors
/// Those of `each` and `out`.
pub fn write_json(view: &RunView, each: &EachTrial<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut fields = match summary(view) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert(TRIALS.to_owned(), Value::Null);
    serde_json::to_writer_pretty(&mut *out, &Run { fields, trials: Trials { view, each } })?;
    out.write_all(b"\n")
}

/// Name of the field with the trials.
const TRIALS: &str = "trials";

/// A run whose trials take the place of the field of their name.
struct Run<'a> {
    fields: Map<String, Value>,
    trials: Trials<'a>,
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            if name == TRIALS {
                map.serialize_entry(name, &self.trials)?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// The trials of a run, each read when it is written.
struct Trials<'a> {
    view: &'a RunView,
    each: &'a EachTrial<'a>,
}

impl Serialize for Trials<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let read = (self.each)(&mut |trial, record| {
            if written.is_ok() {
                written = list.serialize_element(&trial_json(self.view, trial, record));
            }
        });
        // An output that is closed is told as such.
        written?;
        read.map_err(S::Error::custom)?;
        list.end()
    }
}

/// The run without its trials: what a page shows before anybody asks for one of them.
pub(crate) fn summary(view: &RunView) -> Value {
    json!({
        "format": FORMAT.to_string(),
        "lab": view.plan.lab.name,
        "question": view.plan.lab.question,
        "seed": view.plan.lab.seed,
        "backend": view.backend,
        "place": view.backend,
        "environment": view.environment,
        "stacks": view.plan.stacks,
        // The verdict's own serialisation has the stable names; infinities become null.
        "verdict": view.stored.as_ref().unwrap_or(&view.verdict),
        "answer": view.verdict.answer,
        "replay_checks": crate::replay_check::json(view),
        "why": view.why,
        "warnings": view.warnings,
        "left_out": view.plan.left_out,
        "uncontrolled": uncontrolled(view),
        "on_device": on_device(view).map(|found| json!({
            "holds": found.holds,
            "low": found.advantage.map(|ends| ends[0]),
            "high": found.advantage.map(|ends| ends[1]),
            "sentences": found.sentences,
        })),
        "permanent": permanent(view).iter().map(permanent_json).collect::<Vec<_>>(),
    })
}

fn permanent_json(permanent: &Permanent) -> Value {
    let steps: Vec<Value> = permanent
        .steps
        .iter()
        .map(|(purpose, lines)| json!({ "purpose": purpose, "lines": lines }))
        .collect();
    json!({
        "stack": permanent.stack,
        "steps": steps,
        "notes": permanent.notes,
        "back": permanent.back,
    })
}

fn trial_json(view: &RunView, trial: &PlannedTrial, record: &Record) -> Value {
    let mut value = json!({
        "index": trial.index,
        "stack": view.stack_of(trial).map(|stack| &stack.label),
        "workload": view.workload_of(trial),
        "round": trial.round,
        "part": part(view, trial),
        "seed": trial.seed,
        "status": record.status.word(),
        "metrics": record.metrics(),
        "fingerprint": record.fingerprint,
        "elapsed_ns": record.elapsed_ns,
        "clock_cost_ns": record.clock_cost_ns,
        "others_cpu_percent": record.others_cpu_percent,
        "in_force": record.in_force,
        "steps": record.steps.iter().map(step_json).collect::<Vec<_>>(),
        "smart": record.smart,
        "warnings": record.warnings,
    });
    if let (Status::Failed { stage, reason }, Some(object)) =
        (&record.status, value.as_object_mut())
    {
        object.insert("stage".to_owned(), json!(stage));
        object.insert("reason".to_owned(), json!(reason));
    }
    value
}

/// The part of a race that a trial belongs to; `null` where every stack ran in every round.
fn part(view: &RunView, trial: &PlannedTrial) -> Option<&'static str> {
    let race = view.verdict.evidence.race.as_ref()?;
    let screen = race.pilot_rounds + race.screen_rounds;
    Some(match trial.round {
        round if round < race.pilot_rounds => "pilot",
        round if round < screen => "screen",
        _ => "final",
    })
}

fn step_json(step: &StepRecord) -> Value {
    let latency: Map<String, Value> = step
        .histograms
        .iter()
        .map(|(operation, bytes)| (operation.clone(), latency_json(bytes)))
        .collect();
    json!({
        "name": step.name,
        "started_ns": step.started_ns,
        "ended_ns": step.ended_ns,
        "device": step.device,
        "journal": step.journal,
        "latency_ns": latency,
        "settings": step.settings,
        "warnings": step.warnings,
    })
}

/// Percentiles of a histogram; `null` when it cannot be read.
fn latency_json(bytes: &[u8]) -> Value {
    let Ok(histogram) = Histogram::from_bytes(bytes) else { return Value::Null };
    json!({
        "count": histogram.count(),
        "mean": histogram.mean_ns(),
        "min": histogram.min_ns(),
        "p50": histogram.percentile_ns(0.5),
        "p90": histogram.percentile_ns(0.9),
        "p99": histogram.percentile_ns(0.99),
        "p999": histogram.percentile_ns(0.999),
        "p9999": histogram.percentile_ns(0.9999),
        "p99999": histogram.percentile_ns(0.99999),
        "max": histogram.max_ns(),
    })
}

#[cfg(test)]
pub(crate) mod tests;
