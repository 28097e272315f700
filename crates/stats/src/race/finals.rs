//! The final: fresh rounds only, compared in pairs at planned looks.

use super::{Control, DropReason, Dropped, Goal, RaceConfig, RaceError, error_share};
use crate::field::{Field, Observed, Proven};
use crate::looks;
use crate::outlook::{LookAhead, Outlook, outlook};
use crate::paired::{
    Comparison, ErrorShare, Finding, Row, Standing, compare_again, compare_led_by, rounds_for,
};
use crate::question::Question;
use crate::shrink::Round;

/// Error that the A/A control may use over all looks: it is there to find a broken laboratory,
/// and must hardly ever withdraw a sound verdict.
const CONTROL_ERROR: f64 = 0.01;

/// A finalist that failed so often, and in three quarters of its rounds or more, is dropped.
const FAILURES: usize = 3;

#[derive(Clone, Debug)]
pub(super) struct Finals {
    /// Finalists that are ranked.
    ranked: Vec<usize>,
    /// Those still run.
    active: Vec<usize>,
    /// `values[stack][round]`.
    values: Vec<Vec<Observed>>,
    /// The same, as "worse by" logarithms by round.
    history: Vec<Round>,
    /// Rounds each stack was run in.
    run: Vec<usize>,
    stacks: usize,
    rounds: usize,
    looks_held: usize,
    looked_at: usize,
    proven: Proven,
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
            proven: Proven::default(),
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
            row.push(Observed::NotRun);
        }
        for &(stack, value) in values {
            self.values[stack][self.rounds] = Observed::run(value);
            self.run[stack] += 1;
        }
        self.rounds += 1;
        self.drop_failing(dropped);
        self.over = self.active.is_empty();
        if self.rounds == config.looks[self.looks_held] {
            self.look_now(config, dropped, false)?;
        }
        Ok(())
    }

    fn drop_failing(&mut self, dropped: &mut Vec<Dropped>) {
        let (values, run) = (&self.values, &self.run);
        let failed = |stack: usize| run[stack] - with_value(&values[stack]);
        self.active.retain(|&stack| {
            let (failed, of) = (failed(stack), run[stack]);
            let fails = failed >= FAILURES && 4 * failed >= 3 * of;
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
            !(failed >= FAILURES && 4 * failed >= 3 * of)
        });
    }

    /// Holds the next planned look on the rounds there are; `early` when it is not due yet.
    pub(super) fn look_now(
        &mut self,
        config: &RaceConfig,
        dropped: &mut Vec<Dropped>,
        early: bool,
    ) -> Result<(), RaceError> {
        if self.over || self.rounds == self.looked_at || self.looks_held >= config.looks.len() {
            return Ok(());
        }
        let spend = error_share(config, self.looks_held, early);
        self.look_at_control(config, spend)?;
        let error = (1.0 - config.question.confidence) * spend;
        let share = ErrorShare { error, stacks: self.stacks };
        let values: Vec<Vec<Observed>> =
            self.ranked.iter().map(|stack| self.values[*stack].clone()).collect();
        let found =
            compare_again(&values, &config.question, share, &self.ranked, &mut self.proven)?;
        let comparison = self.by_stack(found);
        self.looks_held += 1;
        self.looked_at = self.rounds;
        let left = self.worth_running(&comparison, config, share);
        self.over = self.looks_held == config.looks.len() || left.len() < 2;
        self.note_gone(&comparison, &left, dropped);
        self.active = left;
        self.last = Some(comparison);
        Ok(())
    }

    /// The rounds that probably decide: each planned look up to `most` rounds.
    pub(super) fn outlook(&self, config: &RaceConfig, most: usize) -> Option<Outlook> {
        let decided = |look: &Comparison| !matches!(look.finding, Finding::Unresolved { .. });
        if self.rounds < 2 || self.last.as_ref().is_some_and(decided) {
            return None;
        }
        let ahead = self.ahead(config, most);
        let field = self.field(config);
        outlook(&field, &config.question, &ahead, config.seed)
    }

    /// The looks to come.
    fn ahead(&self, config: &RaceConfig, most: usize) -> Vec<LookAhead> {
        let error = 1.0 - config.question.confidence;
        let at = |look: usize| LookAhead {
            rounds: looks::rounds_at(look),
            share: ErrorShare { error: error * looks::share(look), stacks: self.stacks },
        };
        (self.looks_held..).map(at).take_while(|look| look.rounds <= most).collect()
    }

    fn field(&self, config: &RaceConfig) -> Field {
        let values: Vec<Vec<Observed>> =
            self.ranked.iter().map(|stack| self.values[*stack].clone()).collect();
        Field::new(&values, &config.question).with_proven(self.proven.of(&self.ranked))
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
        match &mut comparison.finding {
            Finding::Winner { stack } => *stack = self.ranked[*stack],
            Finding::Tie { set, not_better } => {
                all(set);
                all(not_better);
            }
            Finding::Unresolved { candidates, .. } => all(candidates),
        }
        comparison
    }

    /// Lists who leaves; at the end of the race only those that are worse.
    fn note_gone(&self, comparison: &Comparison, left: &[usize], dropped: &mut Vec<Dropped>) {
        let rounds = self.rounds;
        for row in &comparison.rows {
            let known = dropped.iter().any(|d| d.stack == row.stack);
            let reason = match row.standing {
                Standing::Worse => DropReason::WorseThanLeader { rounds },
                Standing::Within | Standing::NotBetter if !self.over => {
                    DropReason::NotBetter { rounds }
                }
                _ => continue,
            };
            if known || left.contains(&row.stack) || !self.active.contains(&row.stack) {
                continue;
            }
            dropped.push(Dropped {
                stack: row.stack,
                cut: None,
                trials: with_value(&self.values[row.stack]),
                ratio: row.ratio,
                reason,
            });
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
        let soon = last.min(self.rounds as u64 * 3 / 2);
        let placing = config.goal == Some(Goal::Placing);
        let can_place = |row: &Row| {
            rounds_to_place(row, &config.question, share).is_some_and(|rounds| rounds <= soon)
        };
        let worth = |row: &&Row| match row.standing {
            Standing::Leader | Standing::Open | Standing::TooFewRounds => true,
            Standing::NotBetter => placing && can_place(row),
            Standing::Within | Standing::Worse | Standing::Failing | Standing::Absent => false,
        };
        comparison.rows.iter().filter(worth).map(|row| row.stack).collect()
    }

    fn look_at_control(&mut self, config: &RaceConfig, spend: f64) -> Result<(), RaceError> {
        let Some([a, b]) = config.control else { return Ok(()) };
        // The other stacks help to tell how much rounds depend on each other.
        let mut all: Vec<usize> = vec![a, b];
        all.extend(self.ranked.iter().filter(|stack| **stack != a && **stack != b));
        let values: Vec<Vec<Observed>> = all.iter().map(|s| self.values[*s].clone()).collect();
        let error = CONTROL_ERROR * spend;
        let question = Question { confidence: 1.0 - error, ..config.question };
        let share = ErrorShare { error, stacks: 2 };
        let found = compare_led_by(&values, &question, share, 0)?;
        let row = &found.rows[1];
        let enough = row.rounds >= crate::question::MIN_ROUNDS;
        if let Some(ratio) = row.joint.filter(|_| enough) {
            let already = self.control.is_some_and(|c| c.separated);
            let separated = already || !ratio.contains(1.0);
            self.control = Some(Control { ratio, separated, rounds: row.rounds });
        }
        Ok(())
    }
}

fn with_value(row: &[Observed]) -> usize {
    row.iter().filter(|trial| matches!(trial, Observed::Value(_))).count()
}

/// Rounds after which a stack that is not better would be placed: worse, or within the tie width.
fn rounds_to_place(row: &Row, question: &Question, share: ErrorShare) -> Option<u64> {
    let worse_by = row.worse_by?;
    let each = share.two_sided();
    let tie = question.log_tie();
    let worse = rounds_for(worse_by.spread, worse_by.mean - tie, each);
    let within = rounds_for(worse_by.spread, tie - worse_by.mean.abs(), each);
    match (worse, within) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
