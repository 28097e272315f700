//! Steady-state check of the steps that ask for it. It reads the timeline of the device and marks a
//! step that was not steady, so that a trial that was still changing is never ranked.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Sample, StepRecord};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WorkloadParams;
use seekwell_stats::estimate::mean;
use seekwell_stats::steady::{MAX_RANGE, MAX_SLOPE, Window};

/// Marks a record whose step was asked to be steady and was not, or where that cannot be said.
pub fn mark(plan: &Plan, trial: &PlannedTrial, record: &mut Record) {
    let (_, workload) = plan.pair(trial);
    for params in &workload.parts {
        let WorkloadParams::Io(io) = params else { continue };
        if io.steady.is_none() {
            continue;
        }
        let timeline = &record.timeline;
        let Some(step) = record.steps.iter_mut().find(|step| step.name == io.step) else {
            continue;
        };
        let Some(why) = doubt(timeline, step) else { continue };
        step.warnings.push(Warning::new(WarningCode::NotSteady, format!("{}: {why}", io.step)));
        record.mark_if_doubtful();
    }
}

/// Returns the reason why a step does not count as steady; `None` if it does.
fn doubt(timeline: &[Sample], step: &StepRecord) -> Option<String> {
    let rates: Vec<f64> = timeline
        .iter()
        .filter(|sample| sample.at_ns > step.started_ns && sample.at_ns <= step.ended_ns)
        .map(|sample| sample.reads_per_s + sample.writes_per_s)
        .collect();
    let fifth = |part: usize| &rates[part * rates.len() / 5..(part + 1) * rates.len() / 5];
    let means = [0, 1, 2, 3, 4].map(|part| mean(fifth(part)));
    let [Some(a), Some(b), Some(c), Some(d), Some(e)] = means else {
        return Some(format!(
            "{} samples of the timeline are too few to tell if it was steady",
            rates.len()
        ));
    };
    let window = Window::of(&[a, b, c, d, e]);
    (!window.is_steady()).then(|| {
        format!(
            "not steady: over its five fifths the rate has a range of {:.0} % of the mean (at most {:.0} %) and a slope of {:.0} % (at most {:.0} %)",
            100.0 * window.range,
            100.0 * MAX_RANGE,
            100.0 * window.slope,
            100.0 * MAX_SLOPE
        )
    })
}

#[cfg(test)]
mod tests;
