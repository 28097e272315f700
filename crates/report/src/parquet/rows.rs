//! The rows of each table.

use super::table::Kind::{self, Flag, Number, Text, Whole};
use super::table::{Cell, Table};
use crate::number::unit_of;
use crate::view::RunView;
use seekwell_model::metrics::Unit;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, SAMPLE_COLUMNS, Sample, SampleField, Status};
use seekwell_stats::histogram::Histogram;
use serde_json::json;

/// Columns with their names.
pub(super) type Columns = Vec<(&'static str, Kind)>;

/// Columns in their order, names of one kind with blanks between them.
fn columns(kinds: &[(Kind, &'static str)]) -> Columns {
    let named =
        |&(kind, names): &(Kind, &'static str)| names.split(' ').map(move |name| (name, kind));
    kinds.iter().flat_map(named).collect()
}

pub(super) fn of_trials() -> Columns {
    columns(&[
        (Whole, "trial round candidate seed"),
        (Text, "stack workload device layer journal filesystem scheduler memory"),
        (Text, "status stage reason"),
        (Whole, "elapsed_ns"),
        (Number, "clock_cost_ns"),
        (Text, "fingerprint record"),
    ])
}

pub(super) fn trial(table: &mut Table<'_>, view: &RunView, trial: &PlannedTrial, record: &Record) {
    let stack = view.stack_of(trial);
    let (stage, reason) = match &record.status {
        Status::Failed { stage, reason } => (Some(stage.as_str()), Some(reason.as_str())),
        Status::Ok | Status::Marked => (None, None),
    };
    table.row([
        trial.index.into(),
        trial.round.into(),
        trial.candidate.into(),
        trial.seed.into(),
        stack.map(|stack| stack.label.as_str()).into(),
        view.workload_of(trial).into(),
        stack.map(|stack| stack.device.name.as_str()).into(),
        stack.map(|stack| stack.layers.name.as_str()).into(),
        stack.map(|stack| stack.journal.name.as_str()).into(),
        stack.map(|stack| stack.filesystem.name.as_str()).into(),
        stack.map(|stack| stack.scheduler.name.as_str()).into(),
        stack.map(|stack| stack.memory.name.as_str()).into(),
        record.status.word().into(),
        stage.into(),
        reason.into(),
        record.elapsed_ns.into(),
        record.clock_cost_ns.into(),
        record.fingerprint.clone().into(),
        rest(record).into(),
    ]);
}

/// Data that no other table holds. A histogram that cannot be read stays here as its bytes.
fn rest(record: &Record) -> String {
    let mut rest = record.clone();
    rest.timeline = vec![];
    rest.journal_timeline = vec![];
    if let Some(events) = &mut rest.block_events {
        events.events = vec![];
    }
    for step in &mut rest.steps {
        step.histograms.retain(|_, bytes| Histogram::from_bytes(bytes).is_err());
    }
    // A record is plain data: it has no key or number that JSON could not hold.
    serde_json::to_string(&rest).unwrap_or_default()
}

pub(super) fn of_samples() -> Columns {
    columns(&[(Whole, "trial position"), (Text, "step metric unit"), (Number, "value")])
}

pub(super) fn samples(table: &mut Table<'_>, _: &RunView, trial: &PlannedTrial, record: &Record) {
    for (position, step) in (0_u32..).zip(&record.steps) {
        for (metric, value) in &step.metrics {
            let unit = unit_of(metric).map(Unit::symbol).filter(|unit| !unit.is_empty());
            table.row([
                trial.index.into(),
                position.into(),
                step.name.as_str().into(),
                metric.as_str().into(),
                unit.into(),
                (*value).into(),
            ]);
        }
    }
}

pub(super) fn of_timelines() -> Columns {
    let kind = |field| match field {
        SampleField::Whole(_) | SampleField::MaybeWhole(_) => Whole,
        SampleField::Number(_) | SampleField::MaybeNumber(_) => Number,
    };
    let samples = SAMPLE_COLUMNS.map(|(name, field)| (name, kind(field)));
    [("trial", Whole), ("device", Text)].into_iter().chain(samples).collect()
}

pub(super) fn timelines(table: &mut Table<'_>, _: &RunView, trial: &PlannedTrial, record: &Record) {
    let both = [("data", &record.timeline), ("journal", &record.journal_timeline)];
    for (device, samples) in both {
        samples.iter().for_each(|sample| timeline_row(table, trial.index, device, sample));
    }
}

fn timeline_row(table: &mut Table<'_>, trial: u32, device: &str, sample: &Sample) {
    let mut sample = *sample;
    let cells = SAMPLE_COLUMNS.map(|(_, field)| match field {
        SampleField::Whole(of) => Cell::from(*of(&mut sample)),
        SampleField::MaybeWhole(of) => (*of(&mut sample)).into(),
        SampleField::Number(of) => (*of(&mut sample)).into(),
        SampleField::MaybeNumber(of) => (*of(&mut sample)).into(),
    });
    table.row([trial.into(), device.into()].into_iter().chain(cells));
}

pub(super) fn of_histograms() -> Columns {
    columns(&[(Whole, "trial position"), (Text, "step operation"), (Whole, "value_ns count")])
}

pub(super) fn histograms(
    table: &mut Table<'_>,
    _: &RunView,
    trial: &PlannedTrial,
    record: &Record,
) {
    for (position, step) in (0_u32..).zip(&record.steps) {
        for (operation, bytes) in &step.histograms {
            let Ok(histogram) = Histogram::from_bytes(bytes) else { continue };
            let mut row = |value_ns: Option<u64>, count: u64| {
                table.row([
                    trial.index.into(),
                    position.into(),
                    step.name.as_str().into(),
                    operation.as_str().into(),
                    value_ns.into(),
                    count.into(),
                ]);
            };
            if histogram.is_empty() {
                // One that counted nothing is not one that was not kept.
                row(None, 0);
            }
            histogram.iter().for_each(|(value_ns, count)| row(Some(value_ns), count));
        }
    }
}

pub(super) fn of_events() -> Columns {
    columns(&[
        (Whole, "trial at_ns"),
        (Flag, "complete"),
        (Whole, "sector sectors"),
        (Text, "operation"),
        (Whole, "pid"),
    ])
}

pub(super) fn events(table: &mut Table<'_>, _: &RunView, trial: &PlannedTrial, record: &Record) {
    for event in record.block_events.iter().flat_map(|stream| &stream.events) {
        table.row([
            trial.index.into(),
            event.at_ns.into(),
            event.complete.into(),
            event.sector.into(),
            event.sectors.into(),
            event.operation.to_string().into(),
            event.pid.into(),
        ]);
    }
}

pub(super) fn of_run() -> Columns {
    columns(&[(Text, "format place environment plan verdict warnings")])
}

pub(super) fn run(table: &mut Table<'_>, view: &RunView) {
    table.row([
        seekwell_model::FORMAT.to_string().into(),
        view.backend.as_str().into(),
        view.environment.to_string().into(),
        json!(view.plan).to_string().into(),
        json!(view.verdict).to_string().into(),
        json!(view.warnings).to_string().into(),
    ]);
}
