//! Rounds that probably decide an inconclusive run.

use crate::order::MOST_ROUNDS;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::Needed;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::looks;
use seekwell_stats::outlook::{LookAhead, Outlook, outlook};
use seekwell_stats::paired::{Comparison, ErrorShare, Finding, Unresolved};
use seekwell_stats::question::Question;

/// Looks are planned ahead up to so many times the rounds so far; more is seldom bought.
const AHEAD: usize = 8;

/// Looks are planned ahead up to so many rounds at least.
const AT_LEAST: usize = 80;

/// True if more rounds may decide this comparison.
pub(super) fn may_help(comparison: &Comparison) -> bool {
    matches!(
        &comparison.finding,
        Finding::Unresolved { reason: Unresolved::TooWide | Unresolved::TooFewRounds { .. }, .. }
    )
}

/// Rounds up to which a run of so many rounds is looked ahead of.
pub(super) fn horizon(rounds: usize) -> usize {
    (AHEAD * rounds).clamp(AT_LEAST, MOST_ROUNDS as usize)
}

/// Rounds that probably decide a run of fixed rounds, at the looks that it has when it is continued.
pub(super) fn of_rounds(
    plan: &Plan,
    trials: &[Vec<Observed>],
    stacks: usize,
    question: &Question,
    nodes: &[Option<usize>],
) -> Option<Outlook> {
    let done = trials.iter().map(Vec::len).max()?;
    let most = horizon(done);
    let error = 1.0 - question.confidence;
    let at = |(rounds, share): (usize, f64)| LookAhead {
        rounds,
        share: ErrorShare { error: error * share, stacks },
    };
    let judged = plan.prolonged.map_or(done, |prolonged| prolonged.judged_rounds as usize);
    let ahead: Vec<LookAhead> = if plan.prolonged.is_some_and(|prolonged| prolonged.method == 0) {
        let planned = |look| (looks::rounds_at(look), looks::share(look));
        (0..).map(planned).take_while(|(rounds, _)| *rounds <= most).map(at).collect()
    } else {
        let share = |rounds| (rounds, looks::prolonged_share(judged, rounds));
        looks::prolonged(judged).take_while(|rounds| *rounds <= most).map(share).map(at).collect()
    };
    let ahead: Vec<LookAhead> = ahead.into_iter().filter(|look| look.rounds > done).collect();
    let field = Field::new(trials, question).with_nodes(nodes);
    outlook(&field, question, &ahead, plan.lab.seed)
}

/// The cost of an outlook when `have` rounds are done and one takes `round_ns`.
pub(super) fn cost(outlook: Outlook, have: u32, round_ns: u64) -> Needed {
    let more = outlook.rounds.saturating_sub(u64::from(have));
    Needed {
        rounds: outlook.rounds,
        more_ns: more.saturating_mul(round_ns),
        probability: Some(outlook.probability),
    }
}

#[cfg(test)]
mod tests;
