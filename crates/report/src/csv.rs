//! A run as one long table.

use crate::number::unit_of;
use crate::view::RunView;
use seekwell_model::record::Status;

const HEADER: [&str; 11] = [
    "trial", "round", "stack", "workload", "status", "step", "metric", "unit", "value", "stage",
    "reason",
];

/// One row per trial, step and metric, as RFC 4180 has it, with a header. A trial without metrics
/// has one row with its status and, when it failed, stage and reason. Values are as measured, with
/// all their digits; units are those of the metric (seconds, nanoseconds, bytes …). Text that a
/// spreadsheet would take for a formula, or that begins with an apostrophe, has an apostrophe in
/// front: without that first apostrophe a cell is the text itself.
#[must_use]
pub fn csv(view: &RunView) -> String {
    let mut out = String::new();
    line(&mut out, &HEADER.map(str::to_owned));
    for (trial, record) in &view.records {
        let (stage, reason) = match &record.status {
            Status::Failed { stage, reason } => (inert(stage), inert(reason)),
            Status::Ok | Status::Marked => (String::new(), String::new()),
        };
        let label = view.stack_of(trial).map_or(String::new(), |stack| inert(&stack.label));
        let start = [
            trial.index.to_string(),
            trial.round.to_string(),
            label,
            inert(view.workload_of(trial).unwrap_or_default()),
            record.status.word().to_owned(),
        ];
        let mut row = |middle: [String; 4]| {
            let end = [stage.clone(), reason.clone()];
            let cells: Vec<String> = start.iter().cloned().chain(middle).chain(end).collect();
            line(&mut out, &cells);
        };
        let mut any = false;
        for step in &record.steps {
            for (metric, value) in &step.metrics {
                let unit = unit_of(metric).map_or("", seekwell_model::metrics::Unit::symbol);
                row([inert(&step.name), inert(metric), unit.to_owned(), value.to_string()]);
                any = true;
            }
        }
        if !any {
            row([const { String::new() }; 4]);
        }
    }
    out
}

/// Text that no spreadsheet computes.
pub(crate) fn inert(text: &str) -> String {
    let first = text.trim_start().chars().next();
    let active = matches!(first, Some('=' | '+' | '-' | '@' | '|' | '\''))
        || text.starts_with(['\t', '\r', '\n']);
    if active { format!("'{text}") } else { text.to_owned() }
}

fn line(out: &mut String, cells: &[String]) {
    let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
    out.push_str(&quoted.join(","));
    out.push_str("\r\n");
}

/// A cell as RFC 4180 has it.
pub(crate) fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests;
