//! Reports of a replay's time on the stack of its capture: a sentence, and JSON.

use crate::number::{quantity, three_digits};
use crate::view::RunView;
use seekwell_model::metrics::Unit;
use seekwell_model::replay_check::{
    CheckResult, Compared, LIMIT, OffPart, ReplayCheck, ReplayComparison, WITHHELD,
};
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// The sentences, one for each replayed workload; empty for a run without.
pub(crate) fn sentences(view: &RunView) -> String {
    let checks = &view.plan.replay_checks;
    let all: Vec<String> = checks
        .iter()
        .map(|check| match checks.len() {
            1 => said(check),
            _ => format!("{}: {}", check.workload, said(check)),
        })
        .collect();
    all.join(" ")
}

/// Recorded and replayed times, bytes, requests and depth; a sentence for each workload.
pub(crate) fn parts(view: &RunView) -> Vec<String> {
    let checks = view.plan.replay_checks.iter();
    let found = checks.filter_map(|check| Some((check, check.compared()?)));
    found.map(|(check, found)| format!("{}: {}", check.workload, parts_of(found))).collect()
}

fn parts_of(found: &ReplayComparison) -> String {
    let all = [
        ("elapsed", Some(Unit::Seconds), Some(found.elapsed_s)),
        ("in calls", Some(Unit::Seconds), Some(found.calls_s)),
        ("computing", Some(Unit::Seconds), found.computing_s),
        ("read from the device", Some(Unit::Bytes), found.device_read_bytes),
        ("written to it", Some(Unit::Bytes), found.device_written_bytes),
        ("requests", Some(Unit::Count), found.requests),
        ("mean depth", None, found.depth),
    ];
    let said = all.into_iter().filter_map(|(name, unit, part)| {
        let Compared { recorded, replayed } = part?;
        Some(format!("{name} {} and {}", quantity(unit, recorded), quantity(unit, replayed)))
    });
    format!("recorded and replayed, {}", said.collect::<Vec<_>>().join("; "))
}

/// The checks for programs: the ratio, the part that is off and the sentence besides the measured times.
pub(crate) fn json(view: &RunView) -> Value {
    view.plan.replay_checks.iter().map(check_json).collect()
}

fn check_json(check: &ReplayCheck) -> Value {
    let found = check.compared();
    let reason = match &check.result {
        CheckResult::Unchecked(reason) => Some(reason),
        CheckResult::Compared(_) => None,
    };
    json!({
        "workload": check.workload,
        "ratio": found.and_then(ReplayComparison::ratio),
        "off": found.and_then(ReplayComparison::off),
        "fewer_syncs_ratio": found.and_then(ReplayComparison::fewer_syncs).map(|(ratio, _)| ratio),
        "measured": found,
        "reason": reason,
        "sentence": said(check),
    })
}

fn said(check: &ReplayCheck) -> String {
    match &check.result {
        CheckResult::Unchecked(reason) => format!(
            "The replay's time could not be compared with your program's: {}.",
            reason.trim_end_matches('.')
        ),
        CheckResult::Compared(found) => compared(found) + &fewer_syncs(found).unwrap_or_default(),
    }
}

/// Advice where fewer syncs gain more than two runs of one program differ by.
fn fewer_syncs(found: &ReplayComparison) -> Option<String> {
    found.error().filter(|error| *error <= WITHHELD)?;
    let (ratio, every) = found.fewer_syncs().filter(|(ratio, _)| *ratio < LIMIT.recip())?;
    Some(format!(
        " With one sync for {every} the replay takes {} times as long, and a crash may lose up to {every} times as much.",
        three_digits(ratio)
    ))
}

fn compared(found: &ReplayComparison) -> String {
    let Some((ratio, error)) = found.ratio().zip(found.error()) else {
        return "The replay's time could not be compared with your program's: one of them is 0."
            .to_owned();
    };
    let text = format!(
        "The replay takes {} times as long as your program did on {}",
        three_digits(ratio),
        found.stack
    );
    let Some(off) = found.off() else { return format!("{text}.") };
    let seconds = |part: Compared| {
        format!("{} s against {} s", three_digits(part.replayed), three_digits(part.recorded))
    };
    let part = match (off, found.computing_s) {
        (OffPart::Computing, Some(part)) => format!("mostly by computing, {}", seconds(part)),
        (OffPart::Device, _) => format!(
            "mostly in calls, {}, with other requests to the device",
            seconds(found.calls_s)
        ),
        (OffPart::Calls, _) => format!("mostly in calls, {}", seconds(found.calls_s)),
        (OffPart::Asynchronous, _) => {
            "asynchronous I/O may be further off on other filesystems".to_owned()
        }
        (OffPart::Overhead, _) => format!(
            "{} s are its own work, and recording slows a program of so many calls too",
            three_digits(found.overhead_s)
        ),
        (OffPart::Waiting | OffPart::Computing, _) => {
            "mostly in sleeps and in waits of its threads for each other".to_owned()
        }
    };
    let then = if error > WITHHELD { "there is no bound" } else { "the bound allows for it" };
    format!("{text} ({part}): {then}.")
}
