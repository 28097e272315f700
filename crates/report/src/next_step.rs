//! The command that continues a run, and what it is expected to bring.

use crate::number::percent;
use crate::text::harmless;
use crate::view::RunView;
use seekwell_model::verdict::VerdictKind;
use std::path::Path;

const MINUTE_NS: f64 = 60e9;

/// Longest continuation that is suggested; a longer one is not worth the wait.
const LONGEST_NS: f64 = 7.0 * 24.0 * 3600e9;

/// More than the expected time, because the cost of a round is an estimate.
const MARGIN: f64 = 1.25;

/// The command that completes an interrupted run.
#[must_use]
pub fn resume_command(path: &Path, backend: &str) -> String {
    let option = if backend == "virtual" { " --place virtual" } else { "" };
    format!("seekwell run --resume -o {}{option}", quoted(path))
}

/// One line with the command that would decide an open verdict, and behind `#` how likely that is
/// and how long it takes on this machine. `None` if the verdict is clear, or more rounds would not
/// help.
#[must_use]
pub fn next_command(view: &RunView, path: &Path) -> Option<String> {
    let verdict = &view.verdict;
    let is_old_race = view.plan.race.as_ref().is_some_and(|race| race.method == 0);
    if verdict.kind != VerdictKind::Unresolved || view.is_recording() || is_old_race {
        return None;
    }
    let needed = verdict.evidence.needed.as_ref()?;
    let expected_ns = view.on_host(needed.more_ns).unwrap_or(needed.more_ns) as f64;
    if expected_ns > LONGEST_NS {
        return None;
    }
    let at_most = (expected_ns * MARGIN / MINUTE_NS).ceil().max(1.0) * MINUTE_NS;
    let chance = needed.probability.map_or_else(String::new, |probability| {
        format!("decides with a probability of {}, in ", percent(probability))
    });
    Some(harmless(&format!(
        "{} --until-decided --at-most {}  # {chance}about {}",
        resume_command(path, &view.backend),
        short(at_most),
        rough(expected_ns)
    )))
}

/// Whole minutes as the option takes them.
fn short(ns: f64) -> String {
    let minutes = (ns / MINUTE_NS) as u64;
    if minutes >= 60 { format!("{}h", minutes.div_ceil(60)) } else { format!("{minutes}min") }
}

/// A time as people say it.
fn rough(ns: f64) -> String {
    let seconds = ns / 1e9;
    match seconds {
        _ if seconds < 90.0 => format!("{seconds:.0} s"),
        _ if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@%,:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
