//! The command that continues a run, and what it is expected to bring.

use crate::answer_text::answer;
use crate::number::{exact_percent, percent};
use crate::text::harmless;
use crate::view::RunView;
use seekwell_model::lab::Effort;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::METHOD;
use std::path::Path;

const MINUTE_NS: f64 = 60e9;

/// Longest continuation that is suggested; a longer one is not worth the wait.
const LONGEST_NS: f64 = 7.0 * 24.0 * 3600e9;

/// More than the expected time, because the cost of a round is an estimate.
const MARGIN: f64 = 1.25;

/// The command that completes an interrupted run, with the options that its environment names. Files
/// of earlier versions name the backend alone.
#[must_use]
pub fn resume_command(path: &Path, environment: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let backend = environment.get("place").and_then(serde_json::Value::as_str);
    let of_backend = || match backend {
        Some("virtual") => vec!["--place".to_owned(), "virtual".to_owned()],
        _ => vec![],
    };
    let kept = environment.get("options").and_then(serde_json::Value::as_array);
    resume_with(path, &kept.map_or_else(of_backend, |all| all.iter().filter_map(text).collect()))
}

/// The command that completes an interrupted run with these options.
#[must_use]
pub fn resume_with(path: &Path, options: &[String]) -> String {
    let words: String = options.iter().map(|word| format!(" {}", shell_word(word))).collect();
    format!("seekwell run --resume -o {}{words}", shell_word(&path.display().to_string()))
}

/// A command to go further, and what it brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NextStep {
    /// A sentence that ends with a colon.
    pub(crate) why: String,
    pub(crate) command: String,
}

/// The command that completes a run that is not over, or that brings the loss of the pick within the tie, with its
/// time on this machine. `None` if the pick is certified, or more rounds would not help.
pub(crate) fn next_step(view: &RunView, path: &Path) -> Option<NextStep> {
    let verdict = &view.verdict;
    let answer = answer(view);
    let is_old_race = view.plan.race.as_ref().is_some_and(|race| race.method != METHOD);
    if view.is_recording() || is_old_race {
        return None;
    }
    let resume = resume_command(path, &view.environment);
    if !view.is_over && view.plan.prolonged.is_none() {
        return Some(match used_up(view) {
            None => NextStep { why: "To complete the run:".to_owned(), command: harmless(&resume) },
            Some(budget) => NextStep {
                why: format!("Its time of {budget} is used up. To run for as long again:"),
                command: harmless(&format!("{resume} --for {:.0}s", budget.as_seconds().ceil())),
            },
        });
    }
    if answer.certified {
        return None;
    }
    let needed = verdict.evidence.needed.as_ref();
    let more_ns = answer.more.as_ref().map(|more| more.more_ns);
    let more_ns = more_ns.or(needed.map(|needed| needed.more_ns))?;
    let expected_ns = view.on_host(more_ns).unwrap_or(more_ns) as f64;
    if expected_ns > LONGEST_NS {
        return None;
    }
    let at_most = (expected_ns * MARGIN / MINUTE_NS).ceil().max(1.0) * MINUTE_NS;
    let chance = needed.and_then(|needed| needed.probability);
    let chance = chance.map_or_else(String::new, |chance| format!(", {} likely", percent(chance)));
    let tie = exact_percent(verdict.tie);
    let why = match answer.loss.filter(|loss| *loss > verdict.tie) {
        Some(loss) => {
            format!("If {} does not matter to you, stop here. To come within {tie}", percent(loss))
        }
        None => "To decide".to_owned(),
    };
    Some(NextStep {
        why: format!("{why} (about {}{chance}):", rough(expected_ns)),
        command: harmless(&format!("{resume} --until-decided --at-most {}", short(at_most))),
    })
}

/// The budget of a run that another trial, as long as the longest, would exceed: without more time it would end at
/// once.
fn used_up(view: &RunView) -> Option<Nanos> {
    let Effort::Budget(budget) = view.plan.lab.judge.effort else { return None };
    let costs = || view.records.iter().filter_map(|(_, record)| record.cost_ns);
    let next_ns = costs().sum::<u64>().saturating_add(costs().max()?);
    (next_ns > budget.0).then_some(budget)
}

/// The command that runs the lab again, with the options that its environment names.
pub(crate) fn repeat_command(view: &RunView) -> String {
    let kept = view.environment.get("options").and_then(serde_json::Value::as_array);
    let options = kept.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let words: String = options.map(|word| format!(" {}", shell_word(word))).collect();
    let lab = shell_word(&format!("{}.toml", view.plan.lab.name));
    harmless(&format!("seekwell run {lab}{words}"))
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

/// A word as a shell takes it.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@%,:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
