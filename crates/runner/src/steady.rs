//! Steady-state check of the steps that ask for it. It reads the timeline of the device and marks a
//! step that was not steady, so that a trial that was still changing is never ranked.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Sample, StepRecord};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{SNIA, WorkloadParams};
use seekwell_stats::estimate::mean;
use seekwell_stats::steady::{
    FioCriterion, FioCriterionError, FioLimit, FioMetric, Steady, WindowRule,
};

/// Rules that a lab may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The window rule of SNIA's performance test specification over the five fifths of the step.
    Snia(WindowRule),
    /// fio's criterion over one value per second.
    Fio(FioCriterion),
}

/// Reads a rule as a lab writes it.
///
/// # Errors
/// When it is neither `snia` nor a criterion of fio.
pub fn rule(text: &str) -> Result<Rule, FioCriterionError> {
    if text == SNIA { Ok(Rule::Snia(WindowRule::default())) } else { text.parse().map(Rule::Fio) }
}

/// Marks a record whose step was asked to be steady and was not, or where that cannot be said.
pub fn mark(plan: &Plan, trial: &PlannedTrial, record: &mut Record) {
    let (_, workload) = plan.pair(trial);
    for params in &workload.parts {
        let WorkloadParams::Io(io) = params else { continue };
        let Some(rule) = io.steady.as_deref().and_then(|text| rule(text).ok()) else { continue };
        let timeline = &record.timeline;
        let Some(step) = record.steps.iter_mut().find(|step| step.name == io.step) else {
            continue;
        };
        let Some(why) = doubt(&rule, timeline, step) else { continue };
        step.warnings.push(Warning::new(WarningCode::NotSteady, format!("{}: {why}", io.step)));
        record.mark_if_doubtful();
    }
}

/// Returns the reason why a step does not count as steady; `None` if it does.
fn doubt(rule: &Rule, timeline: &[Sample], step: &StepRecord) -> Option<String> {
    let inside: Vec<&Sample> = timeline
        .iter()
        .filter(|sample| sample.at_ns > step.started_ns && sample.at_ns <= step.ended_ns)
        .collect();
    match rule {
        Rule::Snia(rule) => window(rule, &inside),
        Rule::Fio(criterion) => fio(criterion, &inside, step.started_ns),
    }
}

fn window(rule: &WindowRule, inside: &[&Sample]) -> Option<String> {
    if inside.len() < rule.window {
        return Some(format!(
            "{} samples of the timeline are too few to tell if it was steady",
            inside.len()
        ));
    }
    let parts: Vec<f64> = (0..rule.window)
        .filter_map(|part| {
            let at = |part: usize| part * inside.len() / rule.window;
            let rates: Vec<f64> =
                inside[at(part)..at(part + 1)].iter().map(|s| value(FioMetric::Iops, s)).collect();
            mean(&rates)
        })
        .collect();
    match rule.judge(&parts) {
        Steady::Reached(_) => None,
        Steady::NotYet(window) | Steady::GivenUp(window) => Some(window.map_or_else(
            || "not steady".to_owned(),
            |window| {
                format!(
                    "not steady: over its five fifths the rate has a range of {:.0} % of the mean (at most {:.0} %) and a slope of {:.0} % (at most {:.0} %)",
                    100.0 * window.range,
                    100.0 * rule.range,
                    100.0 * window.slope,
                    100.0 * rule.slope
                )
            },
        )),
    }
}

fn fio(criterion: &FioCriterion, inside: &[&Sample], started_ns: u64) -> Option<String> {
    let mut seconds: Vec<Vec<f64>> = Vec::new();
    for sample in inside {
        let second = ((sample.at_ns - started_ns - 1) / 1_000_000_000) as usize;
        seconds.resize(seconds.len().max(second + 1), Vec::new());
        seconds[second].push(value(criterion.metric, sample));
    }
    let series: Vec<f64> = seconds.iter().filter_map(|values| mean(values)).collect();
    let limit = match criterion.limit {
        FioLimit::Percent(limit) | FioLimit::Absolute(limit) => limit,
    };
    match criterion.measure(&series) {
        None => Some(format!(
            "{} s of the timeline are too short to tell if it was steady by {criterion}",
            series.len()
        )),
        Some(measured) if measured < limit => None,
        Some(measured) => {
            let unit = if matches!(criterion.limit, FioLimit::Percent(_)) { " %" } else { "" };
            Some(format!("not steady by {criterion}: {measured:.1}{unit} over {} s", series.len()))
        }
    }
}

/// Returns the quantity of the device that fio's criterion uses.
fn value(metric: FioMetric, sample: &Sample) -> f64 {
    let operations = sample.reads_per_s + sample.writes_per_s;
    match metric {
        FioMetric::Iops => operations,
        FioMetric::Bw => (sample.read_kib_per_s + sample.written_kib_per_s) * 1024.0,
        FioMetric::Lat => {
            let waited = sample.read_await_ms.unwrap_or(0.0) * sample.reads_per_s
                + sample.write_await_ms.unwrap_or(0.0) * sample.writes_per_s;
            // fio's latencies are nanoseconds.
            if operations > 0.0 { waited / operations * 1e6 } else { 0.0 }
        }
    }
}

#[cfg(test)]
mod tests;
