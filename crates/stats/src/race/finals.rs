//! The final: fresh rounds only, compared in pairs at planned looks.

use super::{DropReason, Dropped, RaceConfig, RaceError};
use crate::field::{Observed, Proven, run_and_failed};
use crate::looks;
use crate::paired::{Comparison, ErrorShare, Finding, Row, Standing, compare_again, fails_mostly};
use crate::question::MIN_ROUNDS;
use crate::shrink::Round;

#[derive(Clone, Debug)]
pub(super) struct Finals {
    /// Finalists that are ranked.
    pub(super) ranked: Vec<usize>,
    /// Those still run.
    active: Vec<usize>,
    /// `values[stack][round]`.
    values: Vec<Vec<Observed>>,
    /// The same, as "worse by" logarithms by round.
    pub(super) history: Vec<Round>,
    /// Stacks that were ranked at the start.
    stacks: usize,
    pub(super) rounds: usize,
    pub(super) looked_at: usize,
    proven: Proven,
    pub(super) last: Option<Comparison>,
    pub(super) over: bool,
}

impl Finals {
    pub(super) fn new(finalists: &[usize], ineligible: &[usize], stacks: usize) -> Self {
        let able = |stack: &&usize| !ineligible.contains(stack);
        let ranked: Vec<usize> = finalists.iter().filter(able).copied().collect();
        Self {
            stacks: ranked.len(),
            ranked,
            active: finalists.to_vec(),
            values: vec![Vec::new(); stacks],
            history: Vec::new(),
            rounds: 0,
            looked_at: 0,
            proven: Proven::default(),
            last: None,
            over: false,
        }
    }

    pub(super) fn to_run(&self) -> Vec<usize> {
        let mut stacks = self.active.clone();
        stacks.sort_unstable();
        stacks
    }

    pub(super) fn next_look(&self, config: &RaceConfig) -> usize {
        let planned = looks::next(self.rounds.max(self.looked_at), self.stacks, config.aim());
        let ended = config.ended.filter(|ended| *ended > self.rounds);
        ended.map_or(planned, |ended| ended.min(planned))
    }

    pub(super) fn record(
        &mut self,
        trials: &[(usize, Observed)],
        logs: Round,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
    ) -> Result<(), RaceError> {
        self.history.push(logs);
        let due = self.next_look(config);
        for row in &mut self.values {
            row.push(Observed::NotRun);
        }
        for &(stack, trial) in trials {
            self.values[stack][self.rounds] = trial;
        }
        self.rounds += 1;
        self.drop_failing(dropped);
        self.over = self.active.is_empty();
        if self.rounds == due {
            self.look(config, dropped, config.ended == Some(due))?;
        }
        self.over |= self.rounds >= config.most_rounds;
        Ok(())
    }

    fn drop_failing(&mut self, dropped: &mut Vec<Dropped>) {
        let fails = |stack: &usize| {
            let (of, failed) = run_and_failed(&self.values[*stack]);
            fails_mostly(of, failed).then_some((*stack, failed, of))
        };
        let gone: Vec<(usize, usize, usize)> = self.active.iter().filter_map(fails).collect();
        for &(stack, failed, of) in &gone {
            let reason = DropReason::Failed { failed, of };
            dropped.push(Dropped {
                stack,
                in_screen: false,
                trials: of - failed,
                ratio: None,
                reason,
            });
        }
        let stays = |stack: &usize| gone.iter().all(|(failing, ..)| failing != stack);
        self.active.retain(stays);
        self.ranked.retain(stays);
    }

    /// Looks at the rounds there are. `is_last` where plan or budget end here.
    pub(super) fn look(
        &mut self,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
        is_last: bool,
    ) -> Result<(), RaceError> {
        if self.over || self.rounds == self.looked_at {
            return Ok(());
        }
        let spend = looks::share(self.rounds, config.aim(), is_last);
        let error = (1.0 - config.question.confidence) * spend;
        let running = self.active.iter().filter(|stack| self.ranked.contains(stack)).count();
        let share = ErrorShare { error, stacks: running };
        let values: Vec<Vec<Observed>> =
            self.ranked.iter().map(|stack| self.values[*stack].clone()).collect();
        let found =
            compare_again(&values, &config.question, share, &self.ranked, &mut self.proven)?;
        let comparison = found.renamed(&self.ranked);
        self.looked_at = self.rounds;
        let early = self.rounds < MIN_ROUNDS;
        let left = self.worth_running(&comparison, config);
        // A leader alone would make no pairs, and has too few.
        let left = if early && left.len() < 2 { self.active.clone() } else { left };
        let decided = !matches!(comparison.finding, Finding::Unresolved { .. });
        self.over = decided || left.is_empty();
        self.note_gone(&comparison, &left, config, dropped);
        self.active = left;
        self.last = Some(comparison);
        Ok(())
    }

    /// Lists who leaves; at the end of the race only those that are worse.
    fn note_gone(
        &self,
        comparison: &Comparison,
        left: &[usize],
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
    ) {
        let rounds = self.rounds;
        for &stack in self.active.iter().filter(|stack| !left.contains(stack)) {
            let row = comparison.rows.iter().find(|row| row.stack == stack);
            let reason = match row {
                None => DropReason::Ineligible,
                Some(row) if row.is_out(config.question.better) => {
                    DropReason::WorseThanLeader { rounds }
                }
                Some(_) if !self.over => DropReason::NotBetter { rounds },
                Some(_) => continue,
            };
            let trials = with_value(&self.values[stack]);
            let ratio = row.and_then(|row| row.ratio);
            dropped.push(Dropped { stack, in_screen: false, trials, ratio, reason });
        }
    }

    /// The leader and those that could still be better by more than the tie width. Before enough rounds
    /// for a certificate only those leave that are out.
    fn worth_running(&self, comparison: &Comparison, config: &RaceConfig) -> Vec<usize> {
        let early = self.rounds < MIN_ROUNDS;
        let worth = |row: &&Row| match row.standing {
            Standing::Leader => true,
            _ if row.is_out(config.question.better) => false,
            Standing::Open | Standing::TooFewRounds | Standing::Absent => true,
            Standing::NotBetter | Standing::Within => early,
            Standing::Worse | Standing::Failing => false,
        };
        let rows = comparison.rows.iter().filter(worth);
        rows.map(|row| row.stack).filter(|stack| self.active.contains(stack)).collect()
    }
}

fn with_value(row: &[Observed]) -> usize {
    row.iter().filter(|trial| matches!(trial, Observed::Value(_))).count()
}
