//! The screen: rounds of one trial per survivor, the better half kept.

use super::{DropReason, Dropped, RaceConfig, rounds_per_cut};
use crate::design::Design;
use crate::interval::Interval;
use crate::shrink::{Estimate, Round, estimate};
use crate::special::{normal_cdf, normal_quantile};

#[derive(Clone, Debug)]
pub(super) struct Screen {
    pub(super) design: Design,
    pub(super) survivors: Vec<usize>,
    rounds: Vec<Round>,
    /// Rounds each stack was asked for.
    asked: Vec<usize>,
    /// Rounds run since the last cut.
    since_cut: usize,
    estimates: Vec<Option<Estimate>>,
    known_spread: Option<f64>,
}

impl Screen {
    pub(super) fn new(design: Design, config: &RaceConfig) -> Self {
        let survivors = (0..design.stacks()).collect();
        let (asked, estimates) = (vec![0; design.stacks()], vec![None; design.stacks()]);
        let known_spread = config.known_spread;
        Self { design, survivors, rounds: Vec::new(), asked, since_cut: 0, estimates, known_spread }
    }

    pub(super) fn is_done(&self, config: &RaceConfig) -> bool {
        self.survivors.len() <= config.finalists
    }

    /// Takes a round; when it was the last before a cut, keeps the better half.
    pub(super) fn record(
        &mut self,
        asked: &[usize],
        round: Round,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
    ) {
        for &stack in asked {
            self.asked[stack] += 1;
        }
        self.rounds.push(round);
        self.since_cut += 1;
        if self.since_cut < rounds_per_cut(self.design.stacks(), self.survivors.len()) {
            return;
        }
        self.since_cut = 0;
        self.estimates = estimate(&self.design, &self.rounds, self.known_spread);
        let mut ranked = self.survivors.clone();
        let able = |stack: &usize| !config.ineligible.contains(stack);
        let known = |stack: &usize| self.estimates[*stack].filter(|_| able(stack));
        let worse = |stack: &usize| known(stack).map_or(f64::INFINITY, |e| e.worse);
        ranked.sort_by(|a, b| worse(a).total_cmp(&worse(b)));
        let valid = ranked.iter().filter(|stack| known(stack).is_some()).count();
        let keep = ranked.len().div_ceil(2).max(config.finalists).min(valid);
        let best = ranked.first().and_then(|stack| self.estimates[*stack]);
        for (index, &stack) in ranked.iter().enumerate().skip(keep) {
            let reason = match self.estimates[stack] {
                _ if !able(&stack) => DropReason::Ineligible,
                Some(_) => DropReason::NotInBetterHalf { rank: index + 1, kept: keep },
                None => DropReason::Failed { failed: self.asked[stack], of: self.asked[stack] },
            };
            dropped.push(Dropped {
                stack,
                in_screen: true,
                trials: self.estimates[stack].map_or(0, |e| e.trials),
                ratio: ratio_to(best, self.estimates[stack], config),
                reason,
            });
        }
        ranked.truncate(keep);
        ranked.sort_unstable();
        self.survivors = ranked;
    }

    /// Estimates of all stacks from all rounds, those of the screen and later ones.
    pub(super) fn estimates_with(&self, later: &[Round]) -> Vec<Option<Estimate>> {
        let all: Vec<Round> = self.rounds.iter().chain(later).cloned().collect();
        estimate(&self.design, &all, self.known_spread)
    }

    /// Chance that some stack dropped here is better than the chosen one by more than the tie
    /// width: the sum over stacks, at most 1.
    pub(super) fn risk(
        &self,
        estimates: &[Option<Estimate>],
        chosen: Option<usize>,
        config: &RaceConfig,
    ) -> f64 {
        let Some(chosen) = chosen.and_then(|stack| estimates[stack]) else { return 0.0 };
        let tie = config.question.log_tie();
        let total: f64 = estimates
            .iter()
            .enumerate()
            .filter(|(stack, _)| !self.survivors.contains(stack))
            .filter_map(|(_, estimate)| *estimate)
            .map(|e| {
                let error = e.error.hypot(chosen.error).max(1e-12);
                normal_cdf(-(e.worse - chosen.worse + tie) / error)
            })
            .sum();
        total.min(1.0)
    }
}

/// The best of some stacks by the estimates; the first when there are none.
pub(super) fn best_of(stacks: &[usize], estimates: &[Option<Estimate>]) -> Option<usize> {
    let worse = |stack: &usize| estimates[*stack].map_or(f64::INFINITY, |e| e.worse);
    stacks.iter().copied().min_by(|a, b| worse(a).total_cmp(&worse(b)))
}

/// Ratio stack : best by the shrunken estimates, with a normal interval.
pub(super) fn ratio_to(
    best: Option<Estimate>,
    stack: Option<Estimate>,
    config: &RaceConfig,
) -> Option<Interval> {
    let (best, stack) = (best?, stack?);
    let reach =
        -normal_quantile(0.5 * (1.0 - config.question.confidence)) * stack.error.hypot(best.error);
    let centre = stack.worse - best.worse;
    let worse_by = Interval { low: centre - reach, centre, high: centre + reach };
    Some(worse_by.ratio(config.question.better))
}
