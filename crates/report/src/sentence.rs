//! The verdict as sentences.

use crate::number::{exact_percent, percent, unit_of};
use crate::view::RunView;
use seekwell_model::lab::Better;
use seekwell_model::metrics::Unit;
use seekwell_model::verdict::{Ratio, Verdict, VerdictKind};

/// The verdict in one or two sentences, interval included.
pub(crate) fn verdict_sentence(view: &RunView) -> String {
    let verdict = &view.verdict;
    if view.is_recording() {
        return "A device was watched, and nothing was compared. The timeline and the latencies of \
                its requests are in the page (--html) and in --json."
            .to_owned();
    }
    match verdict.kind {
        VerdictKind::Winner => winner(verdict),
        VerdictKind::Tie => tie(verdict),
        VerdictKind::Unresolved => unresolved(verdict),
    }
}

/// A word or two for the head of a report.
pub(crate) fn kind_word(view: &RunView) -> &'static str {
    match view.verdict.kind {
        _ if view.is_recording() => "A recording",
        VerdictKind::Winner => "Winner",
        VerdictKind::Tie => "Tie",
        VerdictKind::Unresolved => "Not resolved",
    }
}

fn evidence(verdict: &Verdict) -> String {
    let rounds = if verdict.rounds == 1 { "round" } else { "rounds" };
    format!("{} confidence, {} {rounds}", exact_percent(verdict.confidence), verdict.rounds)
}

fn winner(verdict: &Verdict) -> String {
    let name = verdict.stacks.first().map_or("?", String::as_str);
    let next = verdict.ratios.iter().find(|row| row.stack != name && row.ratio.is_some());
    let Some(next) = next else {
        return format!("{name} is best on {} ({}).", verdict.metric, evidence(verdict));
    };
    let (step, metric) = verdict.metric.split_once('.').unwrap_or((&verdict.metric, ""));
    let much = distance(verdict.better, next);
    let rest = format!("than the next, {} ({})", next.stack, evidence(verdict));
    match (unit_of(&verdict.metric), verdict.better) {
        (Some(Unit::Seconds), Better::Lower) => {
            format!("{name} is fastest: {step} takes {much} less time {rest}.")
        }
        (Some(Unit::PerSecond | Unit::MegabytesPerSecond), Better::Higher) => {
            format!("{name} is fastest: {step} has {much} higher {metric} {rest}.")
        }
        (_, Better::Lower) => format!("{name} is best: {} is {much} lower {rest}.", verdict.metric),
        (_, Better::Higher) => {
            format!("{name} is best: {} is {much} higher {rest}.", verdict.metric)
        }
    }
}

/// By how much the baseline is better than this stack: `12 % (8–16 %)`.
fn distance(better: Better, row: &Ratio) -> String {
    let gain = |ratio: f64| match better {
        Better::Lower => 1.0 - 1.0 / ratio,
        Better::Higher => 1.0 / ratio - 1.0,
    };
    let Some(centre) = row.ratio.map(gain) else { return "?".to_owned() };
    let (Some(low), Some(high)) = (row.low.map(gain), row.high.map(gain)) else {
        return percent(centre);
    };
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    // Equally many decimals, as many as the smallest of them deserves when all are small.
    let decimals = usize::from(high.abs().max(low.abs()) < 0.0995);
    let number = |fraction: f64| format!("{:.decimals$}", fraction * 100.0);
    format!("{} % ({} to {} %)", number(centre), number(low), number(high))
}

fn tie(verdict: &Verdict) -> String {
    format!(
        "{} tie on {} ({}): {}.",
        list(&verdict.stacks),
        verdict.metric,
        evidence(verdict),
        verdict.reason
    )
}

fn unresolved(verdict: &Verdict) -> String {
    let left = match verdict.stacks.as_slice() {
        [] => String::new(),
        names => format!(" Still possible: {}.", list(names)),
    };
    format!("Which stack is best on {} is not resolved: {}.{left}", verdict.metric, verdict.reason)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests;
