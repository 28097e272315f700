//! `[judge]`: what is compared, and how long.

use super::narrow;
use crate::source::{Problem, Span, shorten};
use crate::tables;
use crate::walk::{Checked, nearest, with_defaults};
use seekwell_model::lab::{Better, Effort, FINAL_ROUNDS, Judge, Method, Workload};
use seekwell_model::metrics::metric;
use seekwell_model::units::Nanos;
use seekwell_model::workloads::{
    COMMON_METRICS, HOUSEKEEPING_STEPS, MODELLED_METRICS, StepOutline, WRITING_METRICS,
    WorkloadParams,
};

/// Rounds of a lab that says neither rounds nor budget.
const DEFAULT_ROUNDS: u32 = 10;

/// Reads the rules that decide the winner.
pub(super) fn judge(table: Option<&Checked>, workloads: &[Workload]) -> Result<Judge, Problem> {
    let defaults = with_defaults(&tables::JUDGE);
    let table = table.unwrap_or(&defaults);
    let metric = match table.values.text("metric") {
        Some(path) => {
            check_metric(path, workloads, table.place("metric"))?;
            path.to_owned()
        }
        None => natural_metric(workloads),
    };
    let better = match table.values.choice("better") {
        Some(better) => better,
        None => direction(&metric, table.place("metric"))?,
    };
    if let (true, Some(budget)) = (table.has("rounds"), table.places.get("budget")) {
        let message = "`rounds` and `budget` together: a run ends by the one or by the other";
        return Err(Problem::new(budget.key, message, "keep one of them"));
    }
    let rounds = narrow(table.values.integer("rounds"));
    let method = match table.values.text("method") {
        Some("race") => Method::Race,
        Some("rounds") => Method::Rounds,
        // Who asks for rounds gets so many of every stack.
        _ if rounds.is_some() => Method::Rounds,
        _ => Method::Auto,
    };
    let effort = match (rounds, table.values.duration("budget")) {
        (Some(rounds), _) => Effort::Rounds(rounds),
        (None, Some(budget)) => Effort::Budget(check_budget(budget, table)?),
        (None, None) if method == Method::Race => Effort::Rounds(FINAL_ROUNDS),
        (None, None) => Effort::Rounds(DEFAULT_ROUNDS),
    };
    Ok(Judge {
        metric,
        better,
        tie: table.values.number("tie").unwrap_or(0.02),
        confidence: table.values.number("confidence").unwrap_or(0.95),
        effort,
        method,
        control: false,
        durability: table.values.choice("durability").unwrap_or_default(),
    })
}

fn check_budget(budget: Nanos, table: &Checked) -> Result<Nanos, Problem> {
    if (Nanos::seconds(1)..=Nanos::seconds(365 * 86_400)).contains(&budget) {
        return Ok(budget);
    }
    let message = format!("a budget is between 1 s and a year, not {budget}");
    Err(Problem::new(table.place("budget"), message, "write budget = \"30min\""))
}

/// Returns true if a workload, or the agent around it, reports the metric.
fn check_metric(path: &str, workloads: &[Workload], span: Option<Span>) -> Result<(), Problem> {
    let shown = shorten(path, 60);
    let steps: Vec<StepOutline> = outlines(workloads);
    let example = natural_metric(workloads);
    let Some((step, name)) = path.split_once('.') else {
        let message = format!("\"{shown}\" is not STEP.METRIC");
        return Err(Problem::new(span, message, format!("write metric = \"{example}\"")));
    };
    let known: Vec<&StepOutline> = steps.iter().filter(|outline| outline.name == step).collect();
    if known.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for outline in &steps {
            if !names.contains(&outline.name.as_str()) {
                names.push(&outline.name);
            }
        }
        let message = format!("no workload has a step named \"{}\"", shorten(step, 40));
        let remedy = match nearest(step, names.iter().copied()) {
            Some(near) => format!("write metric = \"{near}.{}\"", shorten(name, 40)),
            None => format!("the steps are {}", names.join(", ")),
        };
        return Err(Problem::new(span, message, remedy));
    }
    if known.iter().any(|outline| outline.reports(name)) {
        return Ok(());
    }
    let mut names: Vec<&str> = known.iter().flat_map(|outline| metric_names(outline)).collect();
    names.sort_unstable();
    names.dedup();
    let exists = if metric(name).is_some() { "does not report" } else { "has no metric" };
    let message = format!("step \"{step}\" {exists} \"{}\"", shorten(name, 40));
    let remedy = match nearest(name, names.iter().copied()) {
        Some(near) => format!("write metric = \"{step}.{near}\"; it has {}", names.join(", ")),
        None => format!("it has {}", names.join(", ")),
    };
    Err(Problem::new(span, message, remedy))
}

/// Steps of all workloads, and those that the agent times around them.
fn outlines(workloads: &[Workload]) -> Vec<StepOutline> {
    let mut steps: Vec<StepOutline> =
        workloads.iter().flat_map(Workload::outlines).map(|step| step.outline).collect();
    steps.extend(HOUSEKEEPING_STEPS.iter().map(|name| housekeeping(name)));
    steps
}

/// The outline of a step that the agent times in every trial on a filesystem.
fn housekeeping(name: &str) -> StepOutline {
    let durable = matches!(name, "mkfs" | "umount");
    let metrics: &[&str] = if durable { &["elapsed_durable"] } else { &[] };
    StepOutline { writes: false, ..StepOutline::new(name, metrics) }
}

fn metric_names(outline: &StepOutline) -> Vec<&str> {
    let own = outline.metrics.iter().map(String::as_str);
    let counted = ["written_per_byte"];
    let all = COMMON_METRICS.iter().copied().chain(WRITING_METRICS.iter().copied());
    let all = all.chain(MODELLED_METRICS.iter().copied());
    all.chain(counted).chain(own).filter(|name| outline.reports(name)).collect()
}

/// The first measured writing step by the time until its bytes are on the device, else the first
/// measured step by its rate. A step that ends by time is compared by its rate: its time says
/// nothing.
fn natural_metric(workloads: &[Workload]) -> String {
    let Some(first) = workloads.first() else { return "mkfs.elapsed".to_owned() };
    // A background workload is there to disturb; the question is about the parts.
    let steps: Vec<_> = first.outlines().into_iter().filter(|step| !step.beside).collect();
    let measured = |writes: bool| {
        steps.iter().find(|step| step.outline.measured && step.outline.writes == writes)
    };
    let together =
        |name: &str| name.strip_suffix(seekwell_model::lab::ALONE).unwrap_or(name).to_owned();
    let Some(step) = measured(true).or_else(|| measured(false)) else {
        return "mkfs.elapsed".to_owned();
    };
    let outline = &step.outline;
    let params = first.parts.get(step.part);
    let metric = match params {
        Some(WorkloadParams::Io(io)) if first.is_accompanied() && io.read_percent > 0 => {
            "latency_p99"
        }
        Some(WorkloadParams::Io(io)) if io.durability.sync.is_some() => "commit_latency_p99",
        Some(WorkloadParams::Io(io)) if io.time.is_none() && outline.writes => "elapsed_durable",
        Some(WorkloadParams::Io(io)) if io.read_percent == 0 => "mb_per_s_durable",
        Some(WorkloadParams::Io(io)) if io.kind == "stream" => "mb_per_s",
        Some(WorkloadParams::Io(_) | WorkloadParams::Sweep(_)) => "iops",
        Some(
            WorkloadParams::Pgbench(_) | WorkloadParams::DbBench(_) | WorkloadParams::Sqlite(_),
        ) => "transactions_per_s",
        Some(WorkloadParams::Maildir(_)) => "deliveries_per_s",
        Some(WorkloadParams::Iozone(_)) => "mb_per_s",
        _ if outline.writes => "elapsed_durable",
        _ => "elapsed",
    };
    let name = if first.is_accompanied() { together(&outline.name) } else { outline.name.clone() };
    format!("{name}.{metric}")
}

fn direction(path: &str, span: Option<Span>) -> Result<Better, Problem> {
    let name = path.split_once('.').map_or("", |(_, name)| name);
    match metric(name) {
        Some(definition) => Ok(definition.better),
        None => {
            let message = format!(
                "\"{}\" is a metric of your own: its direction is not known",
                shorten(path, 60)
            );
            Err(Problem::new(
                span,
                message,
                "write better = \"lower\" or better = \"higher\" as well",
            ))
        }
    }
}
