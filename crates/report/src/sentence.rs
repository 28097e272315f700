//! The verdict as sentences.

use crate::answer_text::{AnswerText, is_by_workload, joined};
use crate::clusters;
use crate::model_error::on_device;
use crate::number::{quantity, unit_of};
use crate::view::RunView;
use seekwell_model::verdict::{Decision, VerdictKind};

/// The answer of a run, one paragraph each: the pick with its cost, then close and out, then the doubt.
pub(crate) fn verdict_sentences(view: &RunView) -> Vec<String> {
    if view.is_recording() {
        return vec![recording()];
    }
    let text = AnswerText::of(view);
    let others = text.others();
    let pick = [joined(&text.pick)].into_iter().chain(text.cause).collect::<Vec<_>>().join(" ");
    let mut said = vec![pick];
    said.extend(Some(others).filter(|text| !text.is_empty()));
    said.extend(text.weaker);
    said.extend(grouped_values(view));
    said.extend(earlier(view));
    let doubt = text.doubt.map(|doubt| format!("Main doubt: {} {}", doubt.text, doubt.remedy));
    said.extend(doubt.map(|doubt| doubt.trim_end().to_owned()));
    said
}

/// The text of a recording, which compares nothing.
pub(crate) fn recording() -> String {
    "A device was watched; nothing was compared. The timeline and the latencies of its requests are in the \
     page (--html) and in --json."
        .to_owned()
}

/// The verdict that the file holds, where an earlier method judged it.
pub(crate) fn earlier(view: &RunView) -> Option<String> {
    let stored = view.stored.as_ref()?;
    let word = decision_word(stored.kind, stored.decision).to_lowercase();
    let stacks = match stored.stacks.as_slice() {
        [only] if stored.kind != VerdictKind::Unresolved => format!(" ({only})"),
        _ => String::new(),
    };
    let method = stored.method;
    Some(format!("An earlier version (method {method}) judged this run: {word}{stacks}."))
}

/// The stack whose values fall into two groups most clearly, and the number of others.
pub(crate) fn grouped_values(view: &RunView) -> Option<String> {
    if is_by_workload(view) {
        return None;
    }
    let metric = &view.verdict.metric;
    let trials = view.by_stack();
    let mut found = view.plan.stacks[..view.plan.ranked()].iter().filter_map(|stack| {
        let [low, high] = clusters::two(&trials.values(&stack.label, metric))?;
        Some((stack, low, high))
    });
    let (stack, low, high) = found.next()?;
    let near = |value: f64| quantity(unit_of(metric), value);
    let more = match found.count() {
        0 => String::new(),
        more => format!(" {more} more stacks have two groups too."),
    };
    Some(format!(
        "The values of {} fall into two groups: {} trials near {}, {} near {}. No trial was near their median.{more}",
        stack.label,
        low.trials,
        near(low.median),
        high.trials,
        near(high.median)
    ))
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

#[cfg(test)]
mod tests;
