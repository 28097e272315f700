//! Workloads: parts that run one after the other, and background workloads.

use super::{Axis, Named, name_or, unique};
use crate::source::{Problem, Span, shorten};
use crate::walk::Checked;
use seekwell_model::lab::Workload;
use seekwell_model::workloads::{HOUSEKEEPING_STEPS, WorkloadParams, workload_kind};

/// The workload axis.
pub(super) fn workloads(tables: &[Checked]) -> Result<Axis<Workload>, Problem> {
    if tables.is_empty() {
        let message = "no workload: a lab needs at least one [[workload]]";
        return Err(Problem::new(None, message, "write [[workload]] and below it kind = \"mail\""));
    }
    let mut axis = Vec::new();
    for table in tables {
        let mut parts = vec![params(table)?];
        for then in table.tables("then") {
            parts.push(params(then)?);
        }
        for background in table.tables("beside") {
            check_unverified(background)?;
        }
        let beside = table.tables("beside").iter().map(params).collect::<Result<Vec<_>, _>>()?;
        let name = name_or(table, || default_name(&parts, &beside))?;
        let value = Workload { name: name.value, parts, beside };
        let tables: Vec<_> = std::iter::once(table)
            .chain(table.tables("then"))
            .chain(table.tables("beside"))
            .collect();
        check_steps(&value, &tables)?;
        let span = if table.has("name") { name.span } else { table.place("kind") };
        axis.push(Named { value, span });
    }
    unique("workloads", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(axis)
}

/// A background workload runs until the measured one ends, so that nothing can be checked.
fn check_unverified(table: &Checked) -> Result<(), Problem> {
    if table.values.integer("verify").unwrap_or(0) == 0 {
        return Ok(());
    }
    let message = "verify in a background workload, whose data is not checked";
    let remedy = "leave verify out, or check the data of a measured workload";
    Err(Problem::new(table.place("verify"), message, remedy))
}

fn params(table: &Checked) -> Result<WorkloadParams, Problem> {
    let kind = table.values.text("kind").unwrap_or_default();
    let Some(kind) = workload_kind(kind) else {
        let message = format!("unknown workload kind \"{}\"", shorten(kind, 40));
        return Err(Problem::new(table.place("kind"), message, "write kind = \"mail\""));
    };
    if let Some(step) = table.values.text("step") {
        check_step_name(step, table.place("step"))?;
    }
    check_trace(table)?;
    for (name, pattern) in table.values.table("metrics") {
        check_pattern(&name, &pattern, table.place("metrics"))?;
    }
    kind.params(&table.values).map_err(|conflict| {
        Problem::new(table.place(conflict.field), conflict.problem, conflict.remedy)
    })
}

/// Kinds joined by `+`, and the background workloads.
fn default_name(parts: &[WorkloadParams], beside: &[WorkloadParams]) -> String {
    let kinds = |params: &[WorkloadParams]| {
        params.iter().map(WorkloadParams::kind_name).collect::<Vec<_>>().join("+")
    };
    match beside.is_empty() {
        true => kinds(parts),
        false => format!("{} beside {}", kinds(parts), kinds(beside)),
    }
}

/// Checks a step's name: the part before the dot of `STEP.METRIC`.
fn check_step_name(step: &str, span: Option<Span>) -> Result<(), Problem> {
    let bad = step.chars().any(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
    if bad || step.chars().count() > 40 {
        let message = "the name of a step is made of letters, digits, - and _, at most 40";
        return Err(Problem::new(span, message, "write step = \"small-reads\""));
    }
    if HOUSEKEEPING_STEPS.contains(&step) {
        let message = format!("\"{step}\" is the name of a step that every trial has");
        return Err(Problem::new(span, message, format!("write step = \"my-{step}\"")));
    }
    Ok(())
}

/// A trace is found from anywhere.
fn check_trace(table: &Checked) -> Result<(), Problem> {
    match table.values.text("trace") {
        Some(path) if !path.starts_with('/') => {
            let message = "the path of a trace is absolute: a lab may be run from anywhere";
            Err(Problem::new(table.place("trace"), message, "write trace = \"/…\""))
        }
        _ => Ok(()),
    }
}

/// Checks a metric that a command prints: its name is the part after the dot of `STEP.METRIC`, its
/// pattern has a group around the number.
fn check_pattern(name: &str, pattern: &str, span: Option<Span>) -> Result<(), Problem> {
    let shown = shorten(name, 40);
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) {
        let message =
            format!("the metric name \"{shown}\" is not made of letters, digits, - and _");
        return Err(Problem::new(span, message, "write metrics = { tps = \"tps = ([0-9.]+)\" }"));
    }
    match regex::Regex::new(pattern) {
        Ok(regex) if regex.captures_len() >= 2 => Ok(()),
        Ok(_) => {
            let message =
                format!("the pattern of metric \"{shown}\" has no group that is its number");
            Err(Problem::new(span, message, "put round brackets around the number: \"([0-9.]+)\""))
        }
        Err(error) => {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!(
                "the pattern of metric \"{shown}\" is not a regular expression: {}",
                shorten(why, 100)
            );
            Err(Problem::new(span, message, "write a pattern such as \"tps = ([0-9.]+)\""))
        }
    }
}

/// The name that a lab can give to the measured step; `None` for kinds with several.
fn step_of(params: &WorkloadParams) -> Option<&str> {
    match params {
        WorkloadParams::Io(io) => Some(&io.step),
        WorkloadParams::Command(command) => Some(&command.step),
        WorkloadParams::Replay(replay) => Some(&replay.step),
        WorkloadParams::Requests(requests) => Some(&requests.step),
        WorkloadParams::Pgbench(pgbench) => Some(&pgbench.step),
        WorkloadParams::DbBench(db_bench) => Some(&db_bench.step),
        WorkloadParams::Sqlite(sqlite) => Some(&sqlite.step),
        WorkloadParams::Maildir(maildir) => Some(&maildir.step),
        WorkloadParams::Sweep(sweep) => Some(&sweep.each.step),
        WorkloadParams::SeekRw(seekrw) => Some(&seekrw.each.step),
        _ => None,
    }
}

/// Metrics are found by the step's name, so no two steps of a workload may share one. `tables` are
/// those of the parts, then of the background.
fn check_steps(workload: &Workload, tables: &[&Checked]) -> Result<(), Problem> {
    let mut seen: Vec<String> = Vec::new();
    for step in workload.outlines() {
        let name = &step.outline.name;
        if seen.contains(name) {
            let index = if step.beside { workload.parts.len() + step.part } else { step.part };
            let table = tables.get(index);
            let span = table.and_then(|table| {
                let step = table.places.get("step").or_else(|| table.places.get("kind"));
                step.map(|place| place.value).or(table.span)
            });
            let message =
                format!("two steps of workload \"{}\" are named \"{name}\"", workload.name);
            let all: Vec<_> = workload.parts.iter().chain(&workload.beside).collect();
            let remedy = match all.get(index).map(|params| step_of(params)) {
                Some(Some(step)) => format!("write step = \"{step}-2\" in one of them"),
                _ => "keep one of them: its steps have names of their own".to_owned(),
            };
            return Err(Problem::new(span, message, remedy));
        }
        seen.push(name.clone());
    }
    Ok(())
}
