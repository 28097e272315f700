//! An answer for verdicts that have none: those of files that are judged by a method before answers.

use crate::view::RunView;
use seekwell_model::answer::{Answer, AxisAnswer, Unmeasured, ValueOut};
use seekwell_model::lab::Better;
use seekwell_model::verdict::{AxisFound, Ratio, Verdict, VerdictKind};
use std::collections::BTreeSet;

/// The answer that follows from the decision of a verdict. Its bound is what the decision certifies: nothing
/// for a winner, the tie for a tie, none for an inconclusive verdict.
pub(super) fn answer(view: &RunView) -> Answer {
    let verdict = &view.verdict;
    let valued = || verdict.ratios.iter().filter(|row| row.ratio.is_some());
    let leader = verdict.baseline.clone().or_else(|| valued().next().map(|row| row.stack.clone()));
    let pick = match verdict.kind {
        VerdictKind::Winner | VerdictKind::Tie => verdict.stacks.first().cloned().or(leader),
        VerdictKind::Unresolved => leader,
    };
    let is_out = |row: &&Ratio| {
        let end = match verdict.better {
            Better::Lower => row.low.map(|low| low > 1.0),
            Better::Higher => row.high.map(|high| high < 1.0),
        };
        let is_named = verdict.evidence.out.iter().any(|one| one.stack == row.stack);
        !verdict.stacks.contains(&row.stack) && (end == Some(true) || is_named)
    };
    let (out, close): (Vec<&Ratio>, Vec<&Ratio>) =
        valued().filter(|row| Some(&row.stack) != pick.as_ref()).partition(is_out);
    let labels = |rows: Vec<&Ratio>| rows.into_iter().map(|row| row.stack.clone()).collect();
    let with_value: BTreeSet<&str> = valued().map(|row| row.stack.as_str()).collect();
    let unmeasured = view.plan.stacks[..view.plan.ranked()]
        .iter()
        .filter(|stack| !with_value.contains(stack.label.as_str()))
        .map(|stack| Unmeasured { stack: stack.label.clone(), reason: String::new() });
    let (loss, cause) = match verdict.kind {
        VerdictKind::Winner => (Some(0.0), None),
        VerdictKind::Tie => (Some(verdict.tie), None),
        VerdictKind::Unresolved => (None, Some(verdict.reason.clone())),
    };
    Answer {
        among: with_value.len() as u32,
        certified: loss.is_some(),
        rounds: verdict.rounds,
        close: labels(close),
        out: labels(out),
        unmeasured: unmeasured.collect(),
        axes: verdict.evidence.axes.iter().map(|found| axis(found, verdict)).collect(),
        cause: cause.filter(|cause| !cause.is_empty()),
        pick,
        loss,
        ..Answer::default()
    }
}

/// The two extreme values of an axis, or the bound on their difference.
fn axis(found: &AxisFound, verdict: &Verdict) -> AxisAnswer {
    let better = verdict.better;
    let (best, worst) = match better {
        Better::Lower => (&found.lowest, &found.highest),
        Better::Higher => (&found.highest, &found.lowest),
    };
    let both = || vec![best.clone(), worst.clone()];
    let over = if verdict.evidence.axes.len() > 1 { "the other axes" } else { "" }.to_owned();
    if !found.measurable {
        let within = found.at_most.map(|most| most - 1.0);
        return AxisAnswer {
            axis: found.axis.clone(),
            left: both(),
            within,
            over,
            ..AxisAnswer::default()
        };
    }
    // The ratio is that of the highest metric to the lowest.
    let turn = |ratio: f64| if better == Better::Lower { ratio } else { 1.0 / ratio };
    let (low, high) = match better {
        Better::Lower => (found.low, found.high),
        Better::Higher => (found.high.map(turn), found.low.map(turn)),
    };
    let out = ValueOut {
        value: worst.clone(),
        against: best.clone(),
        ratio: turn(found.ratio),
        low,
        high,
    };
    AxisAnswer {
        axis: found.axis.clone(),
        left: vec![best.clone()],
        out: vec![out],
        over,
        ..AxisAnswer::default()
    }
}
