//! The final: fresh rounds only, compared in pairs at planned looks.

use super::{Control, DropReason, Dropped, Goal, RaceConfig, RaceError};
use crate::paired::{
    Comparison, ErrorShare, Question, Row, Standing, Verdict, WINNER_SHARE, compare_led_by,
    compare_with, may_lead, rounds_for,
};
use crate::shrink::Round;

/// Error that the A/A control may use over all looks: it is there to find a broken laboratory,
/// and must hardly ever withdraw a sound verdict.
const CONTROL_ERROR: f64 = 0.01;

/// A finalist that failed so often, and in half of its rounds or more, is dropped.
const FAILURES: usize = 3;

#[derive(Clone, Debug)]
pub(super) struct Finals {
    /// Finalists that are ranked.
    ranked: Vec<usize>,
    /// Those still run.
    active: Vec<usize>,
    /// `values[stack][round]`, `None` where not run or failed.
    values: Vec<Vec<Option<f64>>>,
    /// The same, as "worse by" logarithms by round.
    history: Vec<Round>,
    /// Rounds each stack was run in.
    run: Vec<usize>,
    stacks: usize,
    rounds: usize,
    looks_held: usize,
    looked_at: usize,
    last: Option<Comparison>,
    control: Option<Control>,
    over: bool,
}

impl Finals {
    pub(super) fn new(finalists: &[usize], stacks: usize) -> Self {
        Self {
            ranked: finalists.to_vec(),
            active: finalists.to_vec(),
            values: vec![Vec::new(); stacks],
            history: Vec::new(),
            run: vec![0; stacks],
            stacks: finalists.len(),
            rounds: 0,
            looks_held: 0,
            looked_at: 0,
            last: None,
            control: None,
            over: false,
        }
    }

    pub(super) fn to_run(&self, config: &RaceConfig) -> Vec<usize> {
        let mut stacks = self.active.clone();
        stacks.extend(config.control.into_iter().flatten());
        stacks.sort_unstable();
        stacks.dedup();
        stacks
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn ranked(&self) -> &[usize] {
        &self.ranked
    }

    pub(super) fn history(&self) -> &[Round] {
        &self.history
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    pub(super) fn looked_at(&self) -> usize {
        self.looked_at
    }

    pub(super) fn last_look(&self) -> Option<&Comparison> {
        self.last.as_ref()
    }

    pub(super) fn control(&self) -> Option<Control> {
        self.control
    }

    pub(super) fn record(
        &mut self,
        values: &[(usize, Option<f64>)],
        logs: Round,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
    ) -> Result<(), RaceError> {
        self.history.push(logs);
        for row in &mut self.values {
            row.push(None);
        }
        for &(stack, value) in values {
            self.values[stack][self.rounds] = value;
            self.run[stack] += 1;
        }
        self.rounds += 1;
        self.drop_failing(dropped);
        self.over = self.active.is_empty();
        if self.rounds == config.looks[self.looks_held] {
            self.look_now(config, dropped)?;
        }
        Ok(())
    }

    fn drop_failing(&mut self, dropped: &mut Vec<Dropped>) {
        let (values, run) = (&self.values, &self.run);
        let failed = |stack: usize| run[stack] - values[stack].iter().flatten().count();
        self.active.retain(|&stack| {
            let (failed, of) = (failed(stack), run[stack]);
            let fails = failed >= FAILURES && 2 * failed >= of;
            if fails {
                let reason = DropReason::Failed { failed, of };
                dropped.push(Dropped {
                    stack,
                    cut: None,
                    trials: of - failed,
                    ratio: None,
                    reason,
                });
            }
            !fails
        });
        self.ranked.retain(|&stack| {
            let (failed, of) = (failed(stack), run[stack]);
            !(failed >= FAILURES && 2 * failed >= of)
        });
    }

    /// Holds the next planned look on the rounds there are.
    pub(super) fn look_now(
        &mut self,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
    ) -> Result<(), RaceError> {
        if self.over || self.rounds == self.looked_at || self.looks_held >= config.looks.len() {
            return Ok(());
        }
        let total = 1.0 - config.question.confidence;
        let error = total * error_share(config, self.looks_held);
        self.look_at_control(config)?;
        let share = ErrorShare { error, stacks: self.stacks };
        let comparison = self.best_comparison(&config.question, share)?;
        self.looks_held += 1;
        self.looked_at = self.rounds;
        self.note_worse(&comparison, dropped);
        self.active = self.worth_running(&comparison, config, share);
        self.over = self.looks_held == config.looks.len() || self.active.len() < 2;
        self.last = Some(comparison);
        Ok(())
    }

    /// The comparison under the best leader that is certified, else under the best leader. Rows
    /// stand for finalists only.
    fn best_comparison(
        &self,
        question: &Question,
        share: ErrorShare,
    ) -> Result<Comparison, RaceError> {
        let values: Vec<Vec<Option<f64>>> =
            self.ranked.iter().map(|stack| self.values[*stack].clone()).collect();
        let best = compare_with(&values, question, share)?;
        if is_certified(&best.verdict) {
            return Ok(self.by_stack(best));
        }
        // A stack no longer run may be certified as the choice although a rival that is still
        // run looks a little better by now.
        for leader in (0..values.len()).filter(|leader| Some(*leader) != best.baseline) {
            if !may_lead(&values, question, share, leader)? {
                continue;
            }
            let other = compare_led_by(&values, question, share, leader)?;
            if is_certified(&other.verdict) {
                return Ok(self.by_stack(other));
            }
        }
        Ok(self.by_stack(best))
    }

    /// From positions among the finalists to indices of stacks.
    fn by_stack(&self, mut comparison: Comparison) -> Comparison {
        let all = |list: &mut Vec<usize>| {
            for index in list {
                *index = self.ranked[*index];
            }
        };
        comparison.baseline = comparison.baseline.map(|index| self.ranked[index]);
        for row in &mut comparison.rows {
            row.stack = self.ranked[row.stack];
        }
        match &mut comparison.verdict {
            Verdict::Winner { stack } => *stack = self.ranked[*stack],
            Verdict::Tie { set, not_better } => {
                all(set);
                all(not_better);
            }
            Verdict::Unresolved { candidates, .. } => all(candidates),
        }
        comparison
    }

    fn note_worse(&mut self, comparison: &Comparison, dropped: &mut Vec<Dropped>) {
        for row in &comparison.rows {
            let known = dropped.iter().any(|d| d.stack == row.stack);
            if row.standing == Standing::Worse && !known {
                dropped.push(Dropped {
                    stack: row.stack,
                    cut: None,
                    trials: self.values[row.stack].iter().flatten().count(),
                    ratio: row.ratio,
                    reason: DropReason::WorseThanLeader { rounds: self.rounds },
                });
            }
        }
    }

    /// The leader and those of whom further rounds matter: who could still be better by more than
    /// the tie width and, where the goal is placing, who is expected to be placed in the rounds
    /// that are left.
    fn worth_running(
        &self,
        comparison: &Comparison,
        config: &RaceConfig,
        share: ErrorShare,
    ) -> Vec<usize> {
        let last = config.looks.last().map_or(0, |look| *look as u64);
        let placing = config.goal == Some(Goal::Placing);
        let can_place = |row: &Row| {
            rounds_to_place(row, &config.question, share).is_some_and(|rounds| rounds <= last)
        };
        let worth = |row: &&Row| match row.standing {
            Standing::Leader | Standing::Open | Standing::TooFewRounds => true,
            Standing::NotBetter => placing && can_place(row),
            Standing::Within | Standing::Worse | Standing::Absent => false,
        };
        comparison.rows.iter().filter(worth).map(|row| row.stack).collect()
    }

    fn look_at_control(&mut self, config: &RaceConfig) -> Result<(), RaceError> {
        let Some([a, b]) = config.control else { return Ok(()) };
        let pair = [self.values[a].clone(), self.values[b].clone()];
        let error = CONTROL_ERROR * error_share(config, self.looks_held);
        let question = Question { confidence: 1.0 - error, ..config.question };
        let share = ErrorShare { error, stacks: 2 };
        let found = compare_led_by(&pair, &question, share, 0)?;
        let row = &found.rows[1];
        let enough = row.rounds >= crate::paired::MIN_ROUNDS;
        if let Some(ratio) = row.joint.filter(|_| enough) {
            let already = self.control.is_some_and(|c| c.separated);
            let separated = already || !ratio.contains(1.0);
            self.control = Some(Control { ratio, separated, rounds: row.rounds });
        }
        Ok(())
    }
}

/// Share of the error that a look may spend. The error spent up to a look grows with a power of
/// the rounds done out of all planned (Kim, DeMets 1987): with the first power where it is enough
/// to choose, so that races end early; with the third, close to the boundary of O'Brien and
/// Fleming (1979), where stacks are to be placed: little is risked on the first few rounds, and
/// the last look keeps nearly the whole error. The looks do not depend on the values, and the shares
/// add up to 1.
pub(super) fn error_share(config: &RaceConfig, held: usize) -> f64 {
    let power = if config.goal == Some(Goal::Placing) { 3 } else { 1 };
    let last = config.looks.last().copied().unwrap_or(1) as f64;
    let spent = |looks: usize| match looks {
        0 => 0.0,
        _ => (config.looks[looks - 1] as f64 / last).powi(power),
    };
    spent(held + 1) - spent(held)
}

fn is_certified(verdict: &Verdict) -> bool {
    !matches!(verdict, Verdict::Unresolved { .. })
}

/// Rounds after which a stack that is not better would be placed: worse, or within the tie width.
fn rounds_to_place(row: &Row, question: &Question, share: ErrorShare) -> Option<u64> {
    let worse_by = row.worse_by?;
    let each = share.two_sided();
    let tie = question.log_tie();
    let worse = rounds_for(worse_by.spread, worse_by.mean, WINNER_SHARE * each)
        .filter(|_| worse_by.mean > tie);
    let within = rounds_for(worse_by.spread, tie - worse_by.mean.abs(), each);
    match (worse, within) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
