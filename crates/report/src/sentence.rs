//! The verdict as sentences.

use crate::factor::{benefit, factor, is_speed, list};
use crate::model_error::on_device;
use crate::number::{exact_percent, percent};
use crate::view::RunView;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::{Basis, Decision, Ratio, Verdict, VerdictKind};

/// The verdict: first its own sentence, then what it rests on.
pub(crate) fn verdict_sentences(view: &RunView) -> Vec<String> {
    let verdict = &view.verdict;
    if verdict.sentence.is_empty() || view.is_recording() {
        let mut said = vec![composed(view)];
        if verdict.kind == VerdictKind::Winner && !verdict.reason.is_empty() {
            said.push(format!("It is {}.", verdict.reason));
        }
        said.extend(on_device(view).map_or_else(Vec::new, |found| found.sentences));
        return said;
    }
    let mut said = vec![verdict.sentence.clone()];
    if !verdict.reason.is_empty() {
        let reason = capital(&verdict.reason);
        let reason = reason.trim_end_matches('.');
        let time = host_time(view).unwrap_or_default();
        said.push(format!("{reason} ({}).{time}", evidence(verdict)));
    }
    said.extend(on_device(view).map_or_else(Vec::new, |found| found.sentences));
    said
}

pub(crate) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The sentence of a verdict that has none of its own, interval included.
fn composed(view: &RunView) -> String {
    let verdict = &view.verdict;
    if view.is_recording() {
        return "A device was watched; nothing was compared. The timeline and the latencies of \
                its requests are in the page (--html) and in --json."
            .to_owned();
    }
    match verdict.kind {
        VerdictKind::Winner => winner(verdict),
        VerdictKind::Tie => tie(verdict),
        VerdictKind::Unresolved => unresolved(view),
    }
}

/// A word or two for the head of a report.
pub(crate) fn kind_word(view: &RunView) -> &'static str {
    match view.verdict.kind {
        _ if view.is_recording() => "A recording",
        VerdictKind::Winner if on_device(view).is_some_and(|found| found.holds == Some(false)) => {
            "Winner on the model"
        }
        kind => decision_word(kind, view.verdict.decision),
    }
}

/// The decision in a word or two; of a verdict without one its kind.
#[must_use]
pub fn decision_word(kind: VerdictKind, decision: Option<Decision>) -> &'static str {
    match (kind, decision) {
        (VerdictKind::Winner, _) => "Winner",
        (VerdictKind::Tie, Some(Decision::BestChoice)) => "Best choice",
        (VerdictKind::Tie, Some(Decision::EquivalentSet)) => "Equivalent",
        (VerdictKind::Tie, _) => "Tie",
        (VerdictKind::Unresolved, _) => "Inconclusive",
    }
}

fn evidence(verdict: &Verdict) -> String {
    if verdict.rounds == 0 {
        return "no complete round".to_owned();
    }
    let rounds = if verdict.rounds == 1 { "round" } else { "rounds" };
    format!("{} confidence, {} {rounds}", exact_percent(verdict.confidence), verdict.rounds)
}

/// First what was found with its size, then what it rests on.
fn winner(verdict: &Verdict) -> String {
    let name = verdict.stacks.first().map_or("?", String::as_str);
    let mut others = verdict.ratios.iter().filter(|row| row.stack != name && row.ratio.is_some());
    let Some(next) = others.next() else {
        return format!("{name} is best on {} ({}).", verdict.metric, evidence(verdict));
    };
    let last = others.next_back().filter(|row| row.basis == Basis::Paired);
    let last = last.map_or_else(String::new, |last| {
        format!(", and {} {}", much(verdict, last), than(verdict, "the last", last))
    });
    format!(
        "{name} is {}: {} {} {}{last} ({}).",
        best(verdict),
        subject(verdict),
        much(verdict, next),
        than(verdict, "the next", next),
        evidence(verdict)
    )
}

fn best(verdict: &Verdict) -> &'static str {
    if is_speed(verdict) { "fastest" } else { "best" }
}

/// The step, or the metric where it is no speed.
pub(crate) fn subject(verdict: &Verdict) -> String {
    match verdict.metric.split_once('.') {
        Some((step, _)) if is_speed(verdict) => format!("{step} is"),
        _ => format!("{} is", verdict.metric),
    }
}

/// `than with the next, xfs/bfq`; behind a factor `as with …`.
fn than(verdict: &Verdict, which: &str, row: &Ratio) -> String {
    let word = match row.ratio.map(|ratio| benefit(verdict.better, ratio)) {
        Some(factor) if factor >= FACTOR => "as",
        _ => "than",
    };
    format!("{word} with {which}, {}", row.stack)
}

/// From this ratio on a factor says more than per cent.
const FACTOR: f64 = 1.5;

/// By how much the leader is better than this stack: `1.9 times as fast (1.6 to 2.3)`,
/// `14 % faster (8.7 to 19 %)`.
pub(crate) fn much(verdict: &Verdict, row: &Ratio) -> String {
    let gain = |ratio: f64| benefit(verdict.better, ratio);
    let Some(centre) = row.ratio.map(gain) else { return "?".to_owned() };
    let ends = row.low.map(gain).zip(row.high.map(gain));
    let ends = ends.map(|(low, high)| (low.min(high), low.max(high)));
    if centre >= FACTOR {
        let word = if is_speed(verdict) { "fast" } else { "good" };
        let range = ends.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", factor(low), factor(high))
        });
        return format!("{} times as {word}{range}", factor(centre));
    }
    let word = if is_speed(verdict) { "faster" } else { "better" };
    let Some((low, high)) = ends else {
        return format!("{} {word}", percent(centre - 1.0));
    };
    // Equally many decimals, as many as the smallest of them deserves when all are small.
    let decimals = usize::from((high - 1.0).abs().max((low - 1.0).abs()) < 0.0995);
    let number = |factor: f64| format!("{:.decimals$}", (factor - 1.0) * 100.0);
    format!("{} % {word} ({} to {} %)", number(centre), number(low), number(high))
}

fn tie(verdict: &Verdict) -> String {
    let alone = match verdict.stacks.as_slice() {
        [only] => format!("Take {only}"),
        all => format!("Take any of {}", list(all)),
    };
    let others = verdict.ratios.iter().rfind(|row| {
        row.ratio.is_some() && row.basis == Basis::Paired && !verdict.stacks.contains(&row.stack)
    });
    let last = others.map_or_else(String::new, |row| {
        let leader = verdict.baseline.as_deref().unwrap_or_default();
        format!(
            " With {leader}, {} {} {}.",
            subject(verdict),
            much(verdict, row),
            than(verdict, "the last", row)
        )
    });
    format!("{alone}: on {} {} ({}).{last}", verdict.metric, verdict.reason, evidence(verdict))
}

fn unresolved(view: &RunView) -> String {
    let verdict = &view.verdict;
    let left = match verdict.stacks.as_slice() {
        [] => String::new(),
        names => format!(" Still possible: {}.", list(names)),
    };
    format!(
        "No stack is shown to be best on {}: {}.{}{left}",
        verdict.metric,
        verdict.reason,
        host_time(view).unwrap_or_default()
    )
}

/// Virtual hours are no waiting: what they take on the host.
fn host_time(view: &RunView) -> Option<String> {
    let more_ns = view.verdict.evidence.needed.as_ref()?.more_ns;
    if !view.is_virtual() || more_ns == 0 {
        return None;
    }
    let said = " The time is virtual time".to_owned();
    let host = view.on_host(more_ns).map(|ns| format!("; the host needs about {}", Nanos(ns)));
    Some(format!("{said}{}.", host.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
