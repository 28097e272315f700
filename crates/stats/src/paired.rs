//! Comparison of stacks inside rounds, and the verdict.
//!
//! A round holds one trial of every stack, close in time and in random order, so what changed
//! slowly (a device that warms up, fills or ages) is common to the round and cancels in the ratio
//! of two of its trials. All statistics are of the logarithm of that ratio: "twice as fast" and
//! "half as fast" are then equally far from "equal". How an interval is made is described in
//! [`crate::field`].
//!
//! The first result is the **loss bound**: the most that the pick can be worse than the best stack.
//! `P(j, l)` is the lower end of "j is worse than l by", missed with a chance of `error / (stacks - 1)`.
//! For the stack that is truly best all its `stacks - 1` lower ends hold together with a chance of
//! `1 - error` (Bonferroni), so the largest `-P(j, l)` over all `j` bounds the loss of `l`, whichever
//! `l` is picked: multiple comparisons with the best (Hsu 1981; Edwards and Hsu 1983). The pick has the
//! smallest bound, and "certified" means that it is within the tie width.
//!
//! The intervals of the table cover all ratios to the pick together at the stated confidence. Stacks
//! that are shown to be worse leave their shares of the error to the others (Holm 1979).

use crate::dependence::Dependence;
use crate::field::{Field, Observed, Pair, Proven};
use crate::interval::Interval;
use crate::looks;
use crate::question::{Better, MIN_ROUNDS, Question};
use crate::special::{normal_quantile, t_quantile_upper};

/// A need for more rounds than this is reported as unknown: no budget buys them.
const MOST_ROUNDS: u64 = 1_000_000;

/// Stacks that are tried as the one to choose, from the best on.
const LEADERS: usize = 8;

/// Errors of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PairedError {
    /// Stacks have different numbers of rounds.
    #[error("stack {stack} has {found} rounds, stack 0 has {expected}; give one entry per round")]
    RoundCount {
        /// Index of the stack.
        stack: usize,
        /// Its number of rounds.
        found: usize,
        /// The first stack's number of rounds.
        expected: usize,
    },
    /// Confidence or tie width out of range.
    #[error(
        "confidence {confidence} with tie width {tie_width} is out of range; confidence must be \
         between 0 and 1, the tie width 0 or more"
    )]
    Question {
        /// The confidence given.
        confidence: f64,
        /// The tie width given.
        tie_width: f64,
    },
}

/// The chance of error that a look may use, and the stacks among whose comparisons it is divided.
/// Several looks divide the error among themselves first ([`crate::looks`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorShare {
    /// Probability that this look names a wrong stack.
    pub error: f64,
    /// Stacks that were running when the rounds of this look began.
    pub stacks: usize,
}

/// Everything found in one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The leader; baseline of all ratios. `None` when no stack has a value.
    pub baseline: Option<usize>,
    /// One row per stack, in the order given.
    pub rows: Vec<Row>,
    /// The most that the leader can be worse than the best stack, as a fraction: 0.09 for 9 %. `None`
    /// if there is no bound.
    pub loss: Option<f64>,
    /// The stack that could be so much better than the leader; `None` where no stack could be.
    pub rival: Option<usize>,
    /// The decision.
    pub finding: Finding,
    /// Correlation of successive rounds; `None` of exact values.
    pub dependence: Option<Dependence>,
}

/// One stack against the leader.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the stack.
    pub stack: usize,
    /// Rounds in which both the stack and the leader have a value (for the leader: its own).
    pub rounds: usize,
    /// Trials of the stack that failed.
    pub failed: usize,
    /// Typical ratio stack : leader of the metric, and the interval at the stated confidence for
    /// this ratio alone. `None` with fewer than 2 shared rounds. For the leader exactly 1.
    pub ratio: Option<Interval>,
    /// The same ratio with the interval that decides: the error is divided among all stacks.
    pub joint: Option<Interval>,
    /// Result of the joint interval.
    pub standing: Standing,
}

/// Result for a stack against the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the leader.
    Leader,
    /// Equal to the leader within the tie width: the whole joint interval is inside it.
    Within,
    /// Worse than the leader by more than the tie width.
    Worse,
    /// Not better than the leader by more than the tie width; perhaps equal, perhaps worse.
    NotBetter,
    /// It could still be better than the leader by more than the tie width.
    Open,
    /// Too few shared rounds to say anything.
    TooFewRounds,
    /// Most of its trials failed: it cannot be chosen.
    Failing,
    /// It has no value at all and takes no part.
    Absent,
}

/// The decision about all stacks.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// One stack is better than every other by more than the tie width.
    Winner {
        /// Its index.
        stack: usize,
    },
    /// No stack is better than one of these by more than the tie width.
    Tie {
        /// The best choice; with several, all pairs of them are equal within the tie width.
        set: Vec<usize>,
        /// The others that are not shown to be worse by more than the tie width.
        not_better: Vec<usize>,
    },
    /// Inconclusive.
    Unresolved {
        /// The leader first, then every stack that may be as good or better.
        candidates: Vec<usize>,
        /// The reason.
        reason: Unresolved,
        /// Estimated total of rounds after which these candidates would be decided, if spread and
        /// differences stay as they are. `None` where it cannot be estimated.
        rounds_needed: Option<u64>,
    },
}

/// Reason why a comparison is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// No stack has a value.
    NoData,
    /// Only one stack has values: there is nothing to compare it with.
    OneStack,
    /// A candidate has fewer complete paired rounds than needed.
    TooFewRounds {
        /// Complete paired rounds of the candidate that has fewest.
        have: usize,
        /// Rounds needed.
        need: usize,
    },
    /// Trials of this stack failed, and with them it could be better or worse than the rest shows.
    Failures {
        /// The stack.
        stack: usize,
        /// Its trials that failed.
        failed: usize,
        /// Its trials.
        of: usize,
    },
    /// Trials of this stack were marked as doubtful, and without them too little is known of it.
    Doubtful {
        /// The stack.
        stack: usize,
        /// Its trials that have no value that counts.
        doubtful: usize,
        /// Its trials.
        of: usize,
    },
    /// All values are the same: the step in which they come is unknown.
    Identical,
    /// The intervals are too wide for the tie width.
    TooWide,
}

impl Comparison {
    /// The error for the stacks that may still be the best. Those that are shown to be worse than
    /// the leader by more than the tie width need none any more (Holm 1979).
    #[must_use]
    pub fn rest(&self, share: ErrorShare) -> ErrorShare {
        let worse = self.rows.iter().filter(|row| row.standing == Standing::Worse).count();
        ErrorShare { stacks: share.stacks.saturating_sub(worse).max(2), ..share }
    }

    /// The same with other names for the stacks: `names[index]` for each index.
    #[must_use]
    pub fn renamed(mut self, names: &[usize]) -> Self {
        let one = |index: &mut usize| *index = names[*index];
        self.baseline.iter_mut().for_each(one);
        self.rival.iter_mut().for_each(one);
        self.rows.iter_mut().for_each(|row| one(&mut row.stack));
        match &mut self.finding {
            Finding::Winner { stack } => one(stack),
            Finding::Tie { set, not_better } => {
                set.iter_mut().chain(not_better).for_each(one);
            }
            Finding::Unresolved { candidates, reason, .. } => {
                candidates.iter_mut().for_each(one);
                if let Unresolved::Failures { stack, .. } | Unresolved::Doubtful { stack, .. } =
                    reason
                {
                    one(stack);
                }
            }
        }
        self
    }

    /// Stacks that an earlier step showed to be worse keep the interval that showed it.
    fn keeping(mut self, earlier: &Self) -> Self {
        if self.baseline == earlier.baseline {
            let both = self.rows.iter_mut().zip(&earlier.rows);
            for (row, earlier) in both.filter(|(_, row)| row.standing == Standing::Worse) {
                (row.joint, row.standing) = (earlier.joint, earlier.standing);
            }
        }
        self
    }
}

impl ErrorShare {
    /// The chance that one bound on a loss misses.
    #[must_use]
    pub fn each(self) -> f64 {
        self.error / self.stacks.saturating_sub(1).max(1) as f64
    }
}

/// Compares stacks and decides, for a look that was planned as the only one.
///
/// `values[stack][round]` is the metric of one trial, `None` where it failed.
///
/// # Errors
/// When the rounds do not match or the question is out of range.
pub fn compare(
    values: &[Vec<Option<f64>>],
    question: &Question,
) -> Result<Comparison, PairedError> {
    let observed: Vec<Vec<Observed>> =
        values.iter().map(|row| row.iter().map(|value| Observed::run(*value)).collect()).collect();
    let present = values.iter().filter(|rounds| rounds.iter().any(Option::is_some)).count();
    let share = ErrorShare { error: 1.0 - question.confidence, stacks: present };
    compare_on_nodes(&observed, question, share, &[])
}

/// As [`compare`], with trials that were not to be run, and with the error this look may use: one
/// of several looks at growing data, or a comparison after some rivals were dropped.
///
/// `nodes[round]` is the node by a number, for rounds that several nodes ran at the same time. Rounds of one node may
/// depend on each other across those of other nodes, which widens intervals, never narrows them.
///
/// The leader is the best stack that can be certified, else the best.
///
/// # Errors
/// As [`compare`].
pub fn compare_on_nodes(
    values: &[Vec<Observed>],
    question: &Question,
    share: ErrorShare,
    nodes: &[Option<usize>],
) -> Result<Comparison, PairedError> {
    check(values, question)?;
    let field = Field::new(values, question).with_nodes(nodes);
    Ok(compare_in(&field, question, share))
}

/// As [`compare_on_nodes`] on one machine, at one of several looks at a growing run: with what earlier looks proved of
/// `stacks`, which are the names of the rows of `values` there. What this look proves is added.
///
/// # Errors
/// As [`compare`].
pub fn compare_again(
    values: &[Vec<Observed>],
    question: &Question,
    share: ErrorShare,
    stacks: &[usize],
    proven: &mut Proven,
) -> Result<Comparison, PairedError> {
    check(values, question)?;
    let field = Field::new(values, question).with_proven(proven.of(stacks));
    let least = least_rounds(&field);
    for leader in field.ranked().into_iter().take(LEADERS) {
        for rival in (0..field.stacks()).filter(|rival| *rival != leader) {
            let pair = field.pair(rival, leader);
            if pair.worse_by.len() >= least {
                proven.keep(stacks[rival], stacks[leader], pair.low(share.each()));
                proven.keep(stacks[leader], stacks[rival], -pair.high(share.each()));
            }
        }
    }
    Ok(led_by_best(&field, question, share))
}

/// The comparison led by the stack with the smallest loss bound, in steps: stacks that are shown to be
/// worse need no share of the error any more.
fn compare_in(field: &Field, question: &Question, share: ErrorShare) -> Comparison {
    let mut found = led_by_best(field, question, share);
    let mut rest = found.rest(share);
    // Each step leaves fewer stacks to share the error, so this ends.
    while rest.stacks < share.stacks {
        found = led_by_best(field, question, rest).keeping(&found);
        let next = found.rest(share);
        if next.stacks >= rest.stacks {
            break;
        }
        rest = next;
    }
    found
}

/// The comparison led by the stack with the smallest loss bound. Without a bound the best leads.
fn led_by_best(field: &Field, question: &Question, share: ErrorShare) -> Comparison {
    let able: Vec<usize> =
        field.ranked().into_iter().filter(|stack| !is_failing(field, *stack)).collect();
    let bounds = able.iter().take(LEADERS).map(|leader| (*leader, loss(field, share, *leader).0));
    // The first of equal ones, which is the best by its typical value.
    let pick = bounds.reduce(|best, next| if next.1 < best.1 { next } else { best });
    let leader = pick.map(|(leader, _)| leader).or_else(|| field.ranked().first().copied());
    against(field, question, share, leader)
}

/// Values that a bound needs at least: with many stacks fewer, since what they have in common counts.
fn least_rounds(field: &Field) -> usize {
    let running = (0..field.stacks()).filter(|stack| field.has_value(*stack)).count();
    looks::first(running)
}

/// The bound on the loss of a stack, as a logarithm, and the rival that sets it. A stack that was run
/// and has no value that counts leaves it open, unless its trials failed so often that it is out.
fn loss(field: &Field, share: ErrorShare, leader: usize) -> (f64, Option<usize>) {
    let least = least_rounds(field);
    let rivals = (0..field.stacks()).filter(|rival| {
        *rival != leader && field.run_and_failed(*rival).0 > 0 && !is_failing(field, *rival)
    });
    let bound = |rival: usize| {
        let pair = field.pair(rival, leader);
        let enough = pair.worse_by.len() >= least;
        let low = if enough { pair.proven_low(share.each()) } else { pair.proven_before() };
        (-low, Some(rival))
    };
    rivals.map(bound).fold((0.0, None), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// As [`compare_on_nodes`] on one machine, with a given stack as leader instead of the best one.
///
/// # Errors
/// As [`compare`].
pub fn compare_led_by(
    values: &[Vec<Observed>],
    question: &Question,
    share: ErrorShare,
    leader: usize,
) -> Result<Comparison, PairedError> {
    check(values, question)?;
    let field = Field::new(values, question);
    let leader = (leader < values.len() && field.has_value(leader)).then_some(leader);
    Ok(against(&field, question, share, leader))
}

fn check(values: &[Vec<Observed>], question: &Question) -> Result<(), PairedError> {
    let Question { confidence, tie_width, .. } = *question;
    let confident = confidence > 0.0 && confidence < 1.0;
    if !confident || tie_width < 0.0 || !tie_width.is_finite() {
        return Err(PairedError::Question { confidence, tie_width });
    }
    let expected = values.first().map_or(0, Vec::len);
    match values.iter().position(|rounds| rounds.len() != expected) {
        None => Ok(()),
        Some(stack) => Err(PairedError::RoundCount { stack, found: values[stack].len(), expected }),
    }
}

/// Returns true if so many trials of a stack failed that it cannot be chosen. With fewer failures it stays
/// a candidate, perhaps the best one.
fn is_failing(field: &Field, stack: usize) -> bool {
    let (run, failed) = field.run_and_failed(stack);
    fails_mostly(run, failed)
}

/// Returns true if three trials failed at least, and three quarters of those that were run.
pub(crate) fn fails_mostly(run: usize, failed: usize) -> bool {
    failed >= 3 && 4 * failed >= 3 * run
}

fn against(
    field: &Field,
    question: &Question,
    share: ErrorShare,
    leader: Option<usize>,
) -> Comparison {
    let Some(leader) = leader else {
        let rows =
            (0..field.stacks()).map(|stack| Row::empty(stack, 0, Standing::Absent)).collect();
        let finding = Finding::Unresolved {
            candidates: Vec::new(),
            reason: Unresolved::NoData,
            rounds_needed: None,
        };
        return Comparison {
            baseline: None,
            rows,
            loss: None,
            rival: None,
            finding,
            dependence: None,
        };
    };
    let (bound, rival) = loss(field, share, leader);
    let judge = Judge { field, question, each: share.each(), leader, bound, rival };
    let pairs: Vec<Pair> = (0..field.stacks()).map(|stack| field.pair(stack, leader)).collect();
    let rows: Vec<Row> =
        pairs.iter().enumerate().map(|(stack, pair)| judge.row(stack, pair)).collect();
    let finding = judge.decide(&rows, &pairs);
    let within = field.dependence_within().copied().unwrap_or_default();
    let all = *field.dependence();
    let worse = if within.assumed > all.assumed { within } else { all };
    Comparison {
        baseline: Some(leader),
        rows,
        loss: bound.is_finite().then(|| bound.exp_m1()),
        rival,
        finding,
        dependence: (!question.exact).then_some(worse),
    }
}

struct Judge<'a> {
    field: &'a Field,
    question: &'a Question,
    each: f64,
    leader: usize,
    /// Bound on the leader's loss, as a logarithm, and who sets it.
    bound: f64,
    rival: Option<usize>,
}

impl Judge<'_> {
    fn row(&self, stack: usize, pair: &Pair) -> Row {
        let (_, failed) = self.field.run_and_failed(stack);
        if stack == self.leader {
            return Row::leader(stack, pair, failed);
        }
        if !self.field.has_value(stack) {
            return Row::empty(stack, failed, Standing::Absent);
        }
        let single = pair.interval(0.5 * (1.0 - self.question.confidence));
        let joint = pair.interval(0.5 * self.each);
        Row {
            stack,
            rounds: pair.worse_by.len(),
            failed,
            ratio: single.map(|worse_by| worse_by.ratio(self.question.better)),
            joint: joint.map(|worse_by| worse_by.ratio(self.question.better)),
            standing: self.standing(stack, pair),
        }
    }

    fn standing(&self, stack: usize, pair: &Pair) -> Standing {
        if is_failing(self.field, stack) {
            return Standing::Failing;
        }
        if pair.rounds < least_rounds(self.field) {
            return Standing::TooFewRounds;
        }
        let tie = self.question.log_tie();
        let (low, high) = (pair.low(0.5 * self.each), pair.high(0.5 * self.each));
        if low >= -tie && high <= tie {
            Standing::Within
        } else if low > tie {
            Standing::Worse
        } else if pair.proven_low(self.each) >= -tie {
            Standing::NotBetter
        } else {
            Standing::Open
        }
    }

    fn decide(&self, rows: &[Row], pairs: &[Pair]) -> Finding {
        let leader = self.leader;
        let with = |wanted: &[Standing]| -> Vec<usize> {
            rows.iter().filter(|row| wanted.contains(&row.standing)).map(|row| row.stack).collect()
        };
        let mut open = with(&[Standing::Open, Standing::TooFewRounds]);
        let run = |row: &&Row| self.field.run_and_failed(row.stack).0 > 0;
        if rows.iter().filter(run).count() == 1 {
            return self.unresolved(rows, pairs, &open, Unresolved::OneStack);
        }
        let unknown = |row: &&Row| {
            row.stack != leader
                && !row.is_out(self.question.better)
                && run(row)
                && !is_failing(self.field, row.stack)
                && row.rounds < MIN_ROUNDS
        };
        open.extend(rows.iter().filter(unknown).map(|row| row.stack));
        open.sort_unstable();
        open.dedup();
        let too_few = self.field.values(leader) < MIN_ROUNDS;
        let too_wide = self.bound > self.question.log_tie();
        if too_wide || too_few || !open.is_empty() || is_failing(self.field, leader) {
            let reason = self.why_open(rows, pairs, &open);
            return self.unresolved(rows, pairs, &open, reason);
        }
        let near = with(&[Standing::Within, Standing::NotBetter]);
        if near.is_empty() {
            return Finding::Winner { stack: leader };
        }
        let set = self.equivalent(&with(&[Standing::Within]), rows);
        let not_better = near.into_iter().filter(|stack| !set.contains(stack)).collect();
        Finding::Tie { set, not_better }
    }

    /// The leader and those of `within` that may be taken as well as it: no stack is better than one
    /// of them by more than the tie width, and all pairs of them are equal within it.
    fn equivalent(&self, within: &[usize], rows: &[Row]) -> Vec<usize> {
        let tie = self.question.log_tie();
        let rivals: Vec<usize> = rows
            .iter()
            .filter(|row| !matches!(row.standing, Standing::Absent | Standing::Failing))
            .map(|row| row.stack)
            .collect();
        let mut set = vec![self.leader];
        let ranked = self.field.ranked();
        for &stack in ranked.iter().filter(|stack| within.contains(stack)) {
            let low = |rival: usize| self.field.pair(rival, stack).proven_low(self.each);
            let unbeaten = rivals.iter().filter(|rival| **rival != stack).all(|r| low(*r) >= -tie);
            let alike =
                |member: &usize| self.field.pair(*member, stack).proven_high(self.each) <= tie;
            if unbeaten && set.iter().all(alike) {
                set.push(stack);
            }
        }
        set
    }

    fn why_open(&self, rows: &[Row], pairs: &[Pair], open: &[usize]) -> Unresolved {
        // The leader's own failures bear on every pair, so they are named first.
        let all = || [self.leader].into_iter().chain(self.rival).chain(open.iter().copied());
        let doubtful = |stack: &usize| {
            let (run, failed) = self.field.run_and_failed(*stack);
            let usable = self.field.values(*stack);
            usable < MIN_ROUNDS && run - failed > usable
        };
        if let Some(stack) = all().find(doubtful) {
            let of = self.field.run_and_failed(stack).0;
            return Unresolved::Doubtful { stack, doubtful: of - self.field.values(stack), of };
        }
        let have = open.iter().map(|&stack| pairs[stack].rounds).min();
        let have = have.unwrap_or_else(|| self.field.values(self.leader));
        if have < MIN_ROUNDS {
            return Unresolved::TooFewRounds { have, need: MIN_ROUNDS };
        }
        if open.iter().any(|stack| pairs[*stack].is_unmeasurable()) {
            return Unresolved::Identical;
        }
        match all().find(|stack| rows[*stack].failed > 0) {
            Some(stack) => {
                let (of, failed) = self.field.run_and_failed(stack);
                Unresolved::Failures { stack, failed, of }
            }
            None => Unresolved::TooWide,
        }
    }

    fn unresolved(
        &self,
        rows: &[Row],
        pairs: &[Pair],
        open: &[usize],
        reason: Unresolved,
    ) -> Finding {
        let possible = |row: &&Row| {
            let taking_part = !matches!(row.standing, Standing::Absent | Standing::Failing);
            row.stack != self.leader && taking_part && !row.is_out(self.question.better)
        };
        let rest = rows.iter().filter(possible).map(|row| row.stack);
        let needed = || {
            open.iter()
                .map(|&stack| pairs[stack].rounds_needed(self.question, self.each))
                .try_fold(MIN_ROUNDS as u64, |most, rounds| Some(rounds?.max(most)))
        };
        let rounds_needed =
            matches!(reason, Unresolved::TooWide | Unresolved::TooFewRounds { .. }).then(needed);
        Finding::Unresolved {
            candidates: std::iter::once(self.leader).chain(rest).collect(),
            reason,
            rounds_needed: rounds_needed.flatten(),
        }
    }
}

impl Pair {
    /// Total rounds after which this pair would be decided at error `each`.
    fn rounds_needed(&self, question: &Question, each: f64) -> Option<u64> {
        let room = self.centre()? + question.log_tie();
        let rounds = rounds_for(self.inflated_spread()?, room, 2.0 * each)?;
        Some(rounds.max(MIN_ROUNDS as u64))
    }
}

/// Rounds after which an interval missing with probability `error` reaches less than `room` to
/// one side, for values of standard deviation `spread`. `None` where no number of rounds below a
/// million does.
#[must_use]
pub fn rounds_for(spread: f64, room: f64, error: f64) -> Option<u64> {
    let enough = |rounds: u64| {
        let n = rounds as f64;
        t_quantile_upper(0.5 * error, n - 1.0) * spread / n.sqrt() <= room
    };
    if room.is_nan() || room <= 0.0 || !enough(MOST_ROUNDS) {
        return (spread == 0.0 && room >= 0.0).then_some(2);
    }
    // The normal distribution needs fewer rounds than Student's t, but hardly fewer.
    let normal = (-normal_quantile(0.5 * error) * spread / room).powi(2);
    let mut low = (normal as u64).saturating_sub(1).max(1);
    if enough(low) && low > 1 {
        low = 1;
    }
    let mut high = low + 1;
    while !enough(high) {
        (low, high) = (high, (high + 2 * (high - low)).min(MOST_ROUNDS));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

impl Row {
    /// Returns true if the joint interval excludes equality with the leader, on the worse side.
    #[must_use]
    pub fn is_out(&self, better: Better) -> bool {
        self.joint.is_some_and(|joint| match better {
            Better::Lower => joint.low > 1.0,
            Better::Higher => joint.high < 1.0,
        })
    }

    fn empty(stack: usize, failed: usize, standing: Standing) -> Self {
        Self { stack, rounds: 0, failed, ratio: None, joint: None, standing }
    }

    fn leader(stack: usize, pair: &Pair, failed: usize) -> Self {
        let one = Some(Interval { low: 1.0, centre: 1.0, high: 1.0 });
        Self {
            rounds: pair.worse_by.len(),
            ratio: one,
            joint: one,
            ..Self::empty(stack, failed, Standing::Leader)
        }
    }
}

#[cfg(test)]
mod tests;
