//! Comparison of stacks inside rounds, and the verdict.
//!
//! A round holds one trial of every stack, close in time and in random order, so what changed
//! slowly (a device that warms up, fills or ages) is common to the round and cancels in the ratio
//! of two of its trials. All statistics are of the logarithm of that ratio: "twice as fast" and
//! "half as fast" are then equally far from "equal".
//!
//! Two intervals stand beside every ratio. The *single* interval covers this one ratio with the
//! stated confidence. The *joint* interval is wider and decides the verdict: the permitted error
//! is divided among all stacks, one share for each end of each interval (Bonferroni), because the
//! leader was picked from the same data. Whichever stack is truly best, it is passed over by
//! mistake only if one of as many bounds as there are stacks fails, so a winner or a tie is wrong
//! with at most the permitted error. For two stacks both intervals are the same.

use crate::estimate::{a12, hodges_lehmann, mean, std_dev};
use crate::interval::{Interval, Method, mean_interval};
use crate::serial::is_autocorrelated;
use crate::special::{normal_quantile, t_quantile_upper};

/// Complete paired rounds below which nothing is decided. With 5 pairs even the range of all
/// values misses the median in one case of 16, with 6 in one of 32 (2 · 0.5^n).
pub const MIN_ROUNDS: usize = 6;

/// Share of the permitted error that calling one of two equal stacks worse may use: 1 % of a
/// verdict at 95 %. To name a winner where there is none is what ends trust, and a real winner
/// needs few rounds more for it.
pub const WINNER_SHARE: f64 = 0.2;

/// A need for more rounds than this is reported as unknown: no budget buys them.
const MOST_ROUNDS: u64 = 1_000_000;

/// Which direction of the judged metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better: seconds, latencies.
    Lower,
    /// Larger is better: operations or megabytes per second.
    Higher,
}

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Direction of the metric.
    pub better: Better,
    /// Relative difference that does not matter, as a fraction: 0.02 for 2 %. 0 is allowed: then
    /// only exact equality is a tie.
    pub tie_width: f64,
    /// Confidence of the verdict, as a fraction: 0.95.
    pub confidence: f64,
    /// Complete paired rounds below which nothing is decided; never taken below [`MIN_ROUNDS`].
    pub min_rounds: usize,
}

/// Why a comparison cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PairedError {
    /// A value is zero, negative or not finite.
    #[error(
        "value {value} of stack {stack} in round {round} has no ratio: the judged metric must be \
         a positive number; judge another metric, or mark the trial failed"
    )]
    NotPositive {
        /// Index of the stack.
        stack: usize,
        /// Index of the round.
        round: usize,
        /// The offending value.
        value: f64,
    },
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
        "confidence {confidence} with tie width {tie_width} is out of range; confidence lies \
         between 0 and 1, the tie width is 0 or more"
    )]
    Question {
        /// The confidence given.
        confidence: f64,
        /// The tie width given.
        tie_width: f64,
    },
}

/// The chance of error a verdict may use, and among how many comparisons it is divided. A single
/// look at the data uses `1 - confidence` and one comparison per rival of the leader; several
/// looks divide the error among themselves first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorShare {
    /// Probability that this look says something wrong about winner or tie.
    pub error: f64,
    /// Number of stacks that started: the error is divided among them, a share for each end of
    /// each interval.
    pub stacks: usize,
}

/// Everything found in one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The leader: best by the additive fit of stacks and rounds; baseline of all ratios. `None`
    /// when no stack has a value.
    pub baseline: Option<usize>,
    /// One row per stack, in the order given.
    pub rows: Vec<Row>,
    /// The decision.
    pub verdict: Verdict,
}

/// One stack against the leader.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the stack.
    pub stack: usize,
    /// Complete rounds shared with the leader (for the leader: its own values).
    pub rounds: usize,
    /// Typical ratio stack : leader of the metric, and the interval at the stated confidence for
    /// this ratio alone. `None` with fewer than 2 shared rounds. For the leader exactly 1.
    pub ratio: Option<Interval>,
    /// The same ratio with the interval that decides: the error is divided among all stacks.
    pub joint: Option<Interval>,
    /// Hodges–Lehmann estimate of the ratio, little moved by single odd rounds.
    pub hodges_lehmann: Option<f64>,
    /// Chance that a trial of this stack is better than a trial of the leader (A12 of Vargha and
    /// Delaney over the shared rounds, turned so that larger is better for this stack).
    pub a12: Option<f64>,
    /// Shared rounds in which this stack was better than the leader.
    pub rounds_better: usize,
    /// Whether successive log-ratios depend on each other, so that the intervals are too narrow.
    pub autocorrelated: bool,
    /// Mean and spread of the logarithms "worse than the leader by", for planning. `None` with
    /// fewer than 2 shared rounds.
    pub worse_by: Option<WorseBy>,
    /// What the joint interval says.
    pub standing: Standing,
}

/// Logarithms of "worse than the leader by" over the shared rounds; positive is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorseBy {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub spread: f64,
}

/// What is known of a stack against the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the leader.
    Leader,
    /// Equal to the leader within the tie width: the whole joint interval lies inside it.
    Within,
    /// Worse than the leader: an interval of a fifth of the error ([`WINNER_SHARE`]) excludes
    /// equality, and the ratio itself lies outside the tie width. (A difference that exists but
    /// is estimated to be one that does not matter makes no winner.)
    Worse,
    /// Not better than the leader by more than the tie width; perhaps equal, perhaps worse.
    NotBetter,
    /// It could still be better than the leader by more than the tie width.
    Open,
    /// Too few shared rounds to say anything.
    TooFewRounds,
    /// It has no value at all and takes no part.
    Absent,
}

/// The decision about all stacks.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// One stack is better than every other.
    Winner {
        /// Its index.
        stack: usize,
    },
    /// No stack is better than the leader by more than the tie width.
    Tie {
        /// The leader first, then every stack shown to be equal to it within the tie width. Only
        /// the leader when none could be shown equal.
        set: Vec<usize>,
        /// Stacks shown not to be better than the leader by more than the tie width, but which
        /// may be worse than it by more: not part of the tie, not beaten either.
        not_better: Vec<usize>,
    },
    /// Not resolved.
    Unresolved {
        /// The leader first, then every stack that may be as good or better.
        candidates: Vec<usize>,
        /// Why.
        reason: Unresolved,
        /// Estimated total of rounds after which these candidates would be decided, if spread and
        /// differences stay as they are. `None` where it cannot be estimated.
        rounds_needed: Option<u64>,
    },
}

/// Why a comparison is not resolved.
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
    /// The intervals are too wide for the tie width.
    TooWide,
}

impl ErrorShare {
    /// The chance that one decisive interval misses on either side.
    pub(crate) fn two_sided(self) -> f64 {
        2.0 * self.error / self.stacks.max(2) as f64
    }
}

impl Question {
    /// A question with the usual minimum of rounds.
    #[must_use]
    pub fn new(better: Better, tie_width: f64, confidence: f64) -> Self {
        Self { better, tie_width, confidence, min_rounds: MIN_ROUNDS }
    }

    /// The tie width in logarithms.
    #[must_use]
    pub fn log_tie(&self) -> f64 {
        self.tie_width.ln_1p()
    }

    fn check(&self) -> Result<(), PairedError> {
        let confident = self.confidence > 0.0 && self.confidence < 1.0;
        if confident && self.tie_width >= 0.0 && self.tie_width.is_finite() {
            return Ok(());
        }
        Err(PairedError::Question { confidence: self.confidence, tie_width: self.tie_width })
    }

    /// Sign that turns a log-ratio stack : leader into "the stack is worse by".
    fn worse_sign(&self) -> f64 {
        match self.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        }
    }
}

/// Compares stacks and decides, for a look that was planned as the only one.
///
/// `values[stack][round]` is the metric of one trial, `None` where it is missing. Only rounds
/// complete for both stacks of a pair count for that pair.
///
/// # Errors
/// When a value is not a positive number, the rounds do not match or the question is out of
/// range.
pub fn compare(
    values: &[Vec<Option<f64>>],
    question: &Question,
) -> Result<Comparison, PairedError> {
    let present = values.iter().filter(|rounds| rounds.iter().any(Option::is_some)).count();
    let share = ErrorShare { error: 1.0 - question.confidence, stacks: present };
    compare_with(values, question, share)
}

/// As [`compare`], with the error this look may use: one of several looks at growing data, or a
/// comparison after some rivals were dropped.
///
/// # Errors
/// As [`compare`].
pub fn compare_with(
    values: &[Vec<Option<f64>>],
    question: &Question,
    share: ErrorShare,
) -> Result<Comparison, PairedError> {
    question.check()?;
    let logs = to_logs(values)?;
    let leader = leader_of(&logs, question);
    Ok(against(&logs, question, share, leader))
}

/// As [`compare_with`], with a given stack as leader instead of the best one.
///
/// # Errors
/// As [`compare`].
pub fn compare_led_by(
    values: &[Vec<Option<f64>>],
    question: &Question,
    share: ErrorShare,
    leader: usize,
) -> Result<Comparison, PairedError> {
    question.check()?;
    let logs = to_logs(values)?;
    let has_value = logs.get(leader).is_some_and(|row| row.iter().any(Option::is_some));
    Ok(against(&logs, question, share, has_value.then_some(leader)))
}

/// Whether a comparison led by this stack could be certified: it cannot where Student's t alone,
/// which no deciding interval is narrower than, leaves a rival open.
pub(crate) fn may_lead(
    values: &[Vec<Option<f64>>],
    question: &Question,
    share: ErrorShare,
    leader: usize,
) -> Result<bool, PairedError> {
    let logs = to_logs(values)?;
    let closed = |stack: &Vec<Option<f64>>| {
        let pair = Pair::new(stack, &logs[leader], question);
        if pair.absent {
            return true;
        }
        if pair.worse_by.len() < question.min_rounds() {
            return false;
        }
        let n = pair.worse_by.len() as f64;
        let spread = std_dev(&pair.worse_by).unwrap_or(0.0);
        let reach = t_quantile_upper(0.5 * share.two_sided(), n - 1.0) * spread / n.sqrt();
        mean(&pair.worse_by).is_some_and(|worse_by| worse_by - reach >= -question.log_tie())
    };
    let rivals = logs.iter().enumerate().filter(|(stack, _)| *stack != leader);
    Ok(rivals.map(|(_, row)| row).all(closed))
}

fn against(
    logs: &[Vec<Option<f64>>],
    question: &Question,
    share: ErrorShare,
    leader: Option<usize>,
) -> Comparison {
    let Some(leader) = leader else {
        let rows = (0..logs.len()).map(|stack| Row::empty(stack, Standing::Absent)).collect();
        let verdict = Verdict::Unresolved {
            candidates: Vec::new(),
            reason: Unresolved::NoData,
            rounds_needed: None,
        };
        return Comparison { baseline: None, rows, verdict };
    };
    let each = share.two_sided();
    let pairs: Vec<Pair> =
        (0..logs.len()).map(|stack| Pair::new(&logs[stack], &logs[leader], question)).collect();
    let rows: Vec<Row> = pairs
        .iter()
        .enumerate()
        .map(|(stack, pair)| {
            if stack == leader { Row::leader(stack, pair) } else { pair.row(stack, question, each) }
        })
        .collect();
    let verdict = decide(leader, &rows, &pairs, question, each);
    Comparison { baseline: Some(leader), rows, verdict }
}

fn to_logs(values: &[Vec<Option<f64>>]) -> Result<Vec<Vec<Option<f64>>>, PairedError> {
    let expected = values.first().map_or(0, Vec::len);
    let mut logs = Vec::with_capacity(values.len());
    for (stack, rounds) in values.iter().enumerate() {
        if rounds.len() != expected {
            return Err(PairedError::RoundCount { stack, found: rounds.len(), expected });
        }
        let mut row = Vec::with_capacity(expected);
        for (round, value) in rounds.iter().enumerate() {
            match *value {
                Some(value) if !(value > 0.0 && value.is_finite()) => {
                    return Err(PairedError::NotPositive { stack, round, value });
                }
                value => row.push(value.map(f64::ln)),
            }
        }
        logs.push(row);
    }
    Ok(logs)
}

/// The best stack by the least-squares fit "stack + round" (which is the plain mean when no
/// value is missing); the first of equals.
fn leader_of(logs: &[Vec<Option<f64>>], question: &Question) -> Option<usize> {
    let effects = crate::additive::stack_effects(logs);
    let mut best: Option<(usize, f64)> = None;
    for (stack, effect) in effects.into_iter().enumerate() {
        let Some(effect) = effect else { continue };
        let worse_by = question.worse_sign() * effect;
        if best.is_none_or(|(_, least)| worse_by < least) {
            best = Some((stack, worse_by));
        }
    }
    best.map(|(stack, _)| stack)
}

/// The shared rounds of a stack and the leader.
struct Pair {
    /// Logarithms of stack and leader in each shared round.
    stack: Vec<f64>,
    leader: Vec<f64>,
    /// "Worse by", log-ratio turned so that positive is worse than the leader.
    worse_by: Vec<f64>,
    absent: bool,
}

impl Pair {
    fn new(stack: &[Option<f64>], leader: &[Option<f64>], question: &Question) -> Self {
        let shared: Vec<(f64, f64)> =
            stack.iter().zip(leader).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        Self {
            worse_by: shared.iter().map(|(a, b)| question.worse_sign() * (a - b)).collect(),
            stack: shared.iter().map(|(a, _)| *a).collect(),
            leader: shared.iter().map(|(_, b)| *b).collect(),
            absent: stack.iter().all(Option::is_none),
        }
    }

    fn row(&self, stack: usize, question: &Question, each: f64) -> Row {
        if self.absent {
            return Row::empty(stack, Standing::Absent);
        }
        let joint = mean_interval(&self.worse_by, each);
        let single = mean_interval(&self.worse_by, 1.0 - question.confidence);
        let turned = match question.better {
            Better::Lower => a12(&self.leader, &self.stack),
            Better::Higher => a12(&self.stack, &self.leader),
        };
        Row {
            stack,
            rounds: self.worse_by.len(),
            ratio: single.map(|interval| to_ratio(interval, question)),
            joint: joint.map(|interval| to_ratio(interval, question)),
            hodges_lehmann: hodges_lehmann(&self.worse_by)
                .map(|shift| (question.worse_sign() * shift).exp()),
            a12: turned,
            rounds_better: self.worse_by.iter().filter(|d| **d < 0.0).count(),
            autocorrelated: is_autocorrelated(&self.worse_by),
            worse_by: mean(&self.worse_by)
                .zip(std_dev(&self.worse_by))
                .map(|(mean, spread)| WorseBy { mean, spread }),
            standing: self.standing(joint, question, each),
        }
    }

    fn standing(&self, joint: Option<Interval>, question: &Question, each: f64) -> Standing {
        let enough = self.worse_by.len() >= question.min_rounds();
        let Some(interval) = joint.filter(|_| enough) else {
            return Standing::TooFewRounds;
        };
        let tie = question.log_tie();
        let is_worse = || {
            let strict = mean_interval(&self.worse_by, WINNER_SHARE * each);
            interval.centre > tie && strict.is_some_and(|strict| strict.low > 0.0)
        };
        if interval.low >= -tie && interval.high <= tie {
            Standing::Within
        } else if interval.low > 0.0 && is_worse() {
            Standing::Worse
        } else if interval.low >= -tie {
            Standing::NotBetter
        } else {
            Standing::Open
        }
    }

    /// Total rounds after which this pair would be decided at error `each`.
    fn rounds_needed(&self, question: &Question, each: f64) -> Option<u64> {
        let spread = std_dev(&self.worse_by)?;
        let room = mean(&self.worse_by)? + question.log_tie();
        rounds_for(spread, room, each).map(|rounds| rounds.max(question.min_rounds() as u64))
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

impl Question {
    fn min_rounds(&self) -> usize {
        self.min_rounds.max(MIN_ROUNDS)
    }
}

/// From "worse by" in logarithms to the ratio stack : leader of the metric.
fn to_ratio(worse_by: Interval, question: &Question) -> Interval {
    match question.better {
        Better::Lower => worse_by,
        Better::Higher => Interval {
            low: -worse_by.high,
            centre: -worse_by.centre,
            high: -worse_by.low,
            ..worse_by
        },
    }
    .exp()
}

impl Row {
    /// Whether the joint interval excludes equality with the leader, on the worse side.
    fn is_worse(&self, better: Better) -> bool {
        self.joint.is_some_and(|joint| match better {
            Better::Lower => joint.low > 1.0,
            Better::Higher => joint.high < 1.0,
        })
    }

    fn empty(stack: usize, standing: Standing) -> Self {
        Self {
            stack,
            rounds: 0,
            ratio: None,
            joint: None,
            hodges_lehmann: None,
            a12: None,
            rounds_better: 0,
            autocorrelated: false,
            worse_by: None,
            standing,
        }
    }

    fn leader(stack: usize, pair: &Pair) -> Self {
        let one = Some(Interval { low: 1.0, centre: 1.0, high: 1.0, method: Method::Exact });
        Self {
            rounds: pair.worse_by.len(),
            ratio: one,
            joint: one,
            hodges_lehmann: Some(1.0),
            a12: Some(0.5),
            ..Self::empty(stack, Standing::Leader)
        }
    }
}

fn decide(leader: usize, rows: &[Row], pairs: &[Pair], question: &Question, each: f64) -> Verdict {
    let with = |wanted: &[Standing]| -> Vec<usize> {
        rows.iter().filter(|row| wanted.contains(&row.standing)).map(|row| row.stack).collect()
    };
    let open = with(&[Standing::Open, Standing::TooFewRounds]);
    let within = with(&[Standing::Within]);
    let not_better = with(&[Standing::NotBetter]);
    let lead = |rest: Vec<usize>| std::iter::once(leader).chain(rest).collect::<Vec<_>>();
    if rows.iter().filter(|row| row.standing != Standing::Absent).count() == 1 {
        return Verdict::Unresolved {
            candidates: vec![leader],
            reason: Unresolved::OneStack,
            rounds_needed: None,
        };
    }
    if open.is_empty() && within.is_empty() && not_better.is_empty() {
        return Verdict::Winner { stack: leader };
    }
    if open.is_empty() {
        return Verdict::Tie { set: lead(within), not_better };
    }
    let fewest = open.iter().map(|&stack| rows[stack].rounds).min().unwrap_or(0);
    let need = question.min_rounds();
    let reason = if fewest < need {
        Unresolved::TooFewRounds { have: fewest, need }
    } else {
        Unresolved::TooWide
    };
    let rounds_needed = open
        .iter()
        .map(|&stack| pairs[stack].rounds_needed(question, each))
        .try_fold(0, |most, rounds| Some(rounds?.max(most)));
    // What is worse at the joint confidence is out, also where it takes more to make a winner.
    let is_out = |row: &Row| row.standing == Standing::NotBetter && row.is_worse(question.better);
    let mut rest =
        with(&[Standing::Open, Standing::TooFewRounds, Standing::Within, Standing::NotBetter]);
    rest.retain(|stack| !rows.iter().any(|row| row.stack == *stack && is_out(row)));
    Verdict::Unresolved { candidates: lead(rest), reason, rounds_needed }
}

#[cfg(test)]
mod tests;
