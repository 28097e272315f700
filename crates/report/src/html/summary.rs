//! The summary that the page's program reads at start: the run without the details of its trials.

use super::inside::Inside;
use super::trials::{PageTrials, Path};
use crate::number::unit_of;
use crate::view::RunView;
use seekwell_model::lab::Better;
use seekwell_model::metrics::{self, Unit};
use seekwell_model::record::Status;
use serde_json::{Value, json};

/// [`crate::json::summary`] with the workloads, the medians of every metric by candidate, one
/// short row per trial, and what of the run file (`name`) is inside.
pub(super) fn summary(view: &RunView, trials: &PageTrials, name: &str, inside: Inside) -> Value {
    let mut value = crate::json::summary(view);
    // The page shows one verdict, and its rows belong to the pick above them. The stored one is in the run file.
    value["verdict"] = json!(view.verdict);
    let (metrics, medians) = trials.medians(view.plan.candidates.len());
    if let Some(object) = value.as_object_mut() {
        let file = json!({ "name": name, "inside": inside.word(), "bytes": inside.bytes() });
        let candidates: Vec<[u32; 2]> =
            view.plan.candidates.iter().map(|one| [one.stack, one.workload]).collect();
        object.insert("workloads".to_owned(), json!(view.plan.workloads));
        object.insert("candidates".to_owned(), json!(candidates));
        object.insert("metrics".to_owned(), described(&metrics));
        object.insert("medians".to_owned(), medians.into_iter().map(rounded).collect());
        object.insert("trials".to_owned(), rows(view));
        object.insert("file".to_owned(), file);
    }
    value
}

/// `[index, round, candidate, 0 ok | 1 marked | 2 failed, judged value, elapsed ns, doubts]`.
fn rows(view: &RunView) -> Value {
    let row = |(trial, record): &(seekwell_model::plan::PlannedTrial, _)| {
        let record: &seekwell_model::record::Record = record;
        let status = match record.status {
            Status::Ok => 0,
            Status::Marked => 1,
            Status::Failed { .. } => 2,
        };
        let doubts = record.warnings.len()
            + record.steps.iter().map(|step| step.warnings.len()).sum::<usize>();
        json!([
            trial.index,
            trial.round,
            trial.candidate,
            status,
            record.metric(&view.verdict.metric),
            record.elapsed_ns,
            doubts
        ])
    };
    view.records.iter().map(row).collect()
}

/// Medians with six digits: pages show no more, and all metrics of many stacks are a tenth of a page.
fn rounded(row: Vec<Option<f64>>) -> Value {
    let round = |value: f64| -> Value {
        let short = format!("{value:.5e}").parse().unwrap_or(value);
        // Without a fraction it takes two letters less.
        if short.fract() == 0.0 && short.abs() < 1e15 { json!(short as i64) } else { json!(short) }
    };
    row.into_iter().map(|value| value.filter(|value| value.is_finite()).map(round)).collect()
}

/// The metrics of the run with their units.
fn described(paths: &[Path<'_>]) -> Value {
    let described = paths.iter().map(|(step, name)| {
        let path = format!("{step}.{name}");
        let better = metrics::metric(name).map(|definition| match definition.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        });
        let unit = unit_of(&path).map_or("", Unit::symbol);
        json!({ "path": path, "unit": unit, "better": better })
    });
    described.collect()
}
