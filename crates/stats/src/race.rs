//! The race: which stacks to run next, whom to drop, when to stop, what may be said.
//!
//! Two stages. The *screen* runs one trial of every surviving stack per round, estimates all of
//! them together ([`crate::shrink`]) and keeps the better half until few remain. It is fast and
//! may be wrong, so it never certifies anything. The *final* starts from nothing: only new
//! rounds, compared in pairs, looked at after planned numbers of rounds ([`crate::looks`]). A stack
//! that is not better than the leader by more than the tie width leaves at the look that shows it, and
//! the race ends when the leader's loss is within the tie. Few stacks have no screen: all of them start
//! in the final.
//!
//! The race does no work itself. The caller asks [`Race::next_round`] what to run, hands the
//! values to [`Race::record`] and stops when there is none. The same values always give
//! the same rounds, so a run is resumed by recording again what was kept.

mod finals;
mod screen;

use crate::design::Design;
use crate::field::Observed;
use crate::interval::Interval;
use crate::looks;
use crate::paired::{Comparison, Finding, PairedError, Unresolved};
use crate::question::{Better, Question};
use crate::shrink::{Estimate, Round};
use finals::Finals;
use screen::Screen;

/// Stacks that reach the final.
pub const FINALISTS: usize = 8;

/// Rounds after which a final ends at the latest, unless told otherwise.
pub const MOST_ROUNDS: usize = 80;

/// Settings of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct RaceConfig {
    /// Question.
    pub question: Question,
    /// The screen stops when so many stacks remain; usually [`FINALISTS`].
    pub finalists: usize,
    /// Rounds after which the final ends at the latest.
    pub most_rounds: usize,
    /// Rounds of the final that plan or budget hold; `None` while that is not known, which
    /// [`Race::set_horizon`] has to tell before the first look.
    pub horizon: Option<usize>,
    /// Rounds at which the final ended before rounds were added: a last look was held there.
    pub ended: Option<usize>,
    /// Stacks that may not be chosen. They leave at the first look, or in the screen.
    pub ineligible: Vec<usize>,
    /// Standard deviation of a single trial's logarithm, from a pilot.
    pub known_spread: Option<f64>,
}

impl RaceConfig {
    /// The usual race.
    #[must_use]
    pub fn new(question: Question) -> Self {
        Self {
            question,
            finalists: FINALISTS,
            most_rounds: MOST_ROUNDS,
            horizon: None,
            ended: None,
            ineligible: Vec::new(),
            known_spread: None,
        }
    }

    /// Rounds at which the looks up to the planned end aim.
    pub(crate) fn aim(&self) -> usize {
        let horizon = self.horizon.unwrap_or(self.most_rounds);
        self.ended.map_or(horizon, |ended| ended.min(horizon))
    }
}

/// Rounds of the screen before the next cut: as many as an eighth of the first round's trials
/// pay for, at least one. While the field is large, one trial of each costs most of the budget
/// and the axes carry the estimates; when it is small, further rounds are cheap and it is single
/// stacks that must be told apart.
#[must_use]
pub fn rounds_per_cut(stacks: usize, survivors: usize) -> usize {
    ((stacks as f64 / 8.0 / survivors.max(1) as f64).round() as usize).max(1)
}

/// One round to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundPlan {
    /// True in the final, false in the screen.
    pub is_final: bool,
    /// Number of the round in the race, from 0.
    pub round: usize,
    /// Stacks that are to run, in rising order.
    pub stacks: Vec<usize>,
}

/// Reasons for which the caller stops a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Time or trials ran out, which does not depend on the values: the next planned look is held
    /// now, on the rounds there are.
    Budget,
    /// Somebody stopped it, perhaps because of what was on the screen: only what the last planned
    /// look allowed is said.
    Interrupted,
}

/// Reasons for which a stack leaves the race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DropReason {
    /// It was not in the better half of the screen.
    NotInBetterHalf {
        /// Its rank, from 1.
        rank: usize,
        /// Stacks kept.
        kept: usize,
    },
    /// It was worse than the leader by more than the tie width at a look of the final.
    WorseThanLeader {
        /// Rounds of the final at that look.
        rounds: usize,
    },
    /// It was not better than the leader by more than the tie width at a look of the final.
    NotBetter {
        /// Rounds of the final at that look.
        rounds: usize,
    },
    /// It may not be chosen.
    Ineligible,
    /// Its trials failed.
    Failed {
        /// Rounds in which it gave no value.
        failed: usize,
        /// Rounds in which it was run.
        of: usize,
    },
}

/// A stack that left the race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropped {
    /// Index of the stack.
    pub stack: usize,
    /// True if it left in the screen.
    pub in_screen: bool,
    /// Trials with a value when it left.
    pub trials: usize,
    /// Estimated ratio to the leader of that moment, with an interval at the stated confidence.
    /// In the screen it rests on borrowed strength (other stacks, few trials) and is no
    /// certificate. `None` without a value.
    pub ratio: Option<Interval>,
    /// The reason.
    pub reason: DropReason,
}

/// Findings of a race so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The decision. [`Finding::Unresolved`] before the first look of the final.
    pub finding: Finding,
    /// The stack to choose if one must be chosen now, certified or not: the leader of the last look,
    /// before that the best by all rounds of both stages with borrowed strength.
    pub best_guess: Option<usize>,
    /// The comparison at the last look of the final: one row per finalist.
    pub comparison: Option<Comparison>,
    /// Rounds of the final at the last look.
    pub looked_at: usize,
    /// Stacks that left the race, in the order of leaving.
    pub dropped: Vec<Dropped>,
    /// Upper estimate of the chance that a stack better than the best guess by more than the tie
    /// width was dropped in the screen. The certificate is about the finalists; this is the rest.
    pub screening_risk: f64,
    /// Rounds run in both stages.
    pub rounds: usize,
    /// Trials asked for in both stages.
    pub trials: usize,
}

/// Errors after which a race cannot continue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RaceError {
    /// A configuration that cannot be raced.
    #[error("cannot race: {0}")]
    Config(&'static str),
    /// The recorded stacks are not the ones asked for.
    #[error(
        "round {round} asked for stacks {asked:?} but stacks {given:?} were recorded; record every \
         stack of the round once, a failed trial with no value"
    )]
    WrongStacks {
        /// Number of the round.
        round: usize,
        /// Stacks asked for, sorted.
        asked: Vec<usize>,
        /// Stacks given, sorted.
        given: Vec<usize>,
    },
    /// A round was recorded after the race was over.
    #[error("the race is over: no further round can be recorded")]
    Over,
    /// A question out of range.
    #[error(transparent)]
    Question(#[from] PairedError),
}

/// A race in progress.
#[derive(Clone, Debug)]
pub struct Race {
    config: RaceConfig,
    screen: Screen,
    finals: Option<Finals>,
    dropped: Vec<Dropped>,
    rounds: usize,
    trials: usize,
    over: bool,
}

impl Race {
    /// Starts a race among the stacks of a design.
    ///
    /// # Errors
    /// When the configuration makes no sense.
    pub fn new(design: Design, config: RaceConfig) -> Result<Self, RaceError> {
        check(&config)?;
        let screen = Screen::new(design, &config);
        let mut race = Self {
            config,
            screen,
            finals: None,
            dropped: Vec::new(),
            rounds: 0,
            trials: 0,
            over: false,
        };
        race.enter_final_if_ready();
        Ok(race)
    }

    /// Returns the next round to run and [`Race::record`]; `None` after the end. Asking twice gives the same answer.
    #[must_use]
    pub fn next_round(&self) -> Option<RoundPlan> {
        if self.over {
            return None;
        }
        let (is_final, mut stacks) = match &self.finals {
            Some(finals) => (true, finals.to_run()),
            None => (false, self.screen.survivors.clone()),
        };
        stacks.sort_unstable();
        Some(RoundPlan { is_final, round: self.rounds, stacks })
    }

    /// Tells how many rounds of the final plan or budget hold. Only the first call counts, and only
    /// before the first look.
    pub fn set_horizon(&mut self, rounds: usize) {
        let looked = self.finals.as_ref().is_some_and(|finals| finals.looked_at > 0);
        if self.config.horizon.is_none() && !looked {
            self.config.horizon = Some(rounds.max(crate::question::MIN_ROUNDS));
        }
    }

    /// Rounds of the final at its next look; `None` before the final and after the end.
    #[must_use]
    pub fn next_look(&self) -> Option<usize> {
        let finals = self.finals.as_ref().filter(|_| !self.over)?;
        Some(finals.next_look(&self.config))
    }

    /// Takes the trials of the round that [`Race::next_round`] asked for, in any order. A value that is
    /// not a positive number counts as failed.
    ///
    /// # Errors
    /// When the race is over or the stacks are others.
    pub fn record(&mut self, trials: &[(usize, Observed)]) -> Result<(), RaceError> {
        let plan = self.next_round().ok_or(RaceError::Over)?;
        let asked = plan.stacks;
        let mut given: Vec<usize> = trials.iter().map(|(stack, _)| *stack).collect();
        given.sort_unstable();
        if asked != given {
            return Err(RaceError::WrongStacks { round: plan.round, asked, given });
        }
        let usable = |value: f64| value > 0.0 && value.is_finite();
        let round: Round = trials
            .iter()
            .filter_map(|(stack, trial)| match trial {
                Observed::Value(value) if usable(*value) => Some((*stack, self.worse_log(*value))),
                _ => None,
            })
            .collect();
        self.rounds += 1;
        self.trials += trials.len();
        match &mut self.finals {
            Some(finals) => {
                finals.record(trials, round, &self.config, &mut self.dropped)?;
                self.over = finals.over;
            }
            None => {
                self.screen.record(&asked, round, &self.config, &mut self.dropped);
                self.enter_final_if_ready();
            }
        }
        Ok(())
    }

    /// Ends the race before its planned end.
    ///
    /// # Errors
    /// Never for values that [`Race::record`] took.
    pub fn stop(&mut self, why: Stop) -> Result<(), RaceError> {
        if !self.over
            && why == Stop::Budget
            && let Some(finals) = &mut self.finals
        {
            finals.look(&self.config, &mut self.dropped, true)?;
        }
        self.over = true;
        Ok(())
    }

    /// Returns the present findings; valid at any moment.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let look = self.finals.as_ref().and_then(|finals| finals.last.as_ref());
        let estimates = self.estimates();
        // The leader of the table that is shown, so that guess and table agree.
        let best_guess = match (look, &self.finals) {
            (Some(comparison), _) => comparison.baseline,
            (None, Some(finals)) => screen::best_of(&finals.ranked, &estimates),
            (None, None) => screen::best_of(&self.screen.survivors, &estimates),
        };
        let finding = look.map_or_else(|| self.not_yet(best_guess), |c| c.finding.clone());
        Outcome {
            finding,
            best_guess,
            comparison: look.cloned(),
            looked_at: self.finals.as_ref().map_or(0, |finals| finals.looked_at),
            dropped: self.dropped.clone(),
            screening_risk: self.screen.risk(&estimates, best_guess, &self.config),
            rounds: self.rounds,
            trials: self.trials,
        }
    }

    /// Estimates of all stacks from all rounds so far, with borrowed strength; `None` for a stack
    /// without a value. They serve to choose and to forecast, not to certify.
    #[must_use]
    pub fn estimates(&self) -> Vec<Option<Estimate>> {
        self.screen.estimates_with(self.finals.as_ref().map_or(&[], |finals| &finals.history))
    }

    /// Ratio of a stack's metric to that of the best by such estimates, at the confidence of the question.
    #[must_use]
    pub fn ratio(&self, stack: Option<Estimate>, best: Option<Estimate>) -> Option<Interval> {
        screen::ratio_to(best, stack, &self.config)
    }

    /// Rounds of the final at its looks up to the planned end.
    #[must_use]
    pub fn planned_looks(&self) -> Vec<usize> {
        let stacks = self.finals.as_ref().map_or(0, |finals| finals.ranked.len());
        let aim = self.config.aim().min(self.config.most_rounds);
        let mut all = vec![looks::next(0, stacks, aim)];
        while let Some(last) = all.last().copied().filter(|last| *last < aim) {
            all.push(looks::next(last, stacks, aim));
        }
        all
    }

    /// The verdict before any look.
    fn not_yet(&self, best_guess: Option<usize>) -> Finding {
        let (mut candidates, have) = match &self.finals {
            Some(finals) => (finals.ranked.clone(), finals.rounds),
            None => (self.screen.survivors.clone(), 0),
        };
        if let Some(best) = best_guess {
            candidates.retain(|stack| *stack != best);
            candidates.insert(0, best);
        }
        let need = looks::first(self.screen.survivors.len());
        let reason = Unresolved::TooFewRounds { have, need };
        Finding::Unresolved { candidates, reason, rounds_needed: Some(need as u64) }
    }

    fn enter_final_if_ready(&mut self) {
        if self.screen.is_done(&self.config) {
            let (finalists, stacks) = (&self.screen.survivors, self.screen.design.stacks());
            self.finals = Some(Finals::new(finalists, &self.config.ineligible, stacks));
            self.over = finalists.is_empty();
        }
    }

    /// A value as "worse by" logarithm: lower is better.
    fn worse_log(&self, value: f64) -> f64 {
        match self.config.question.better {
            Better::Lower => value.ln(),
            Better::Higher => -value.ln(),
        }
    }
}

fn check(config: &RaceConfig) -> Result<(), RaceError> {
    let refuse = |why| Err(RaceError::Config(why));
    if config.finalists < 2 {
        return refuse("a final needs at least 2 finalists");
    }
    // The question itself is checked where it is used, on an empty comparison.
    crate::paired::compare(&[], &config.question)?;
    Ok(())
}

#[cfg(test)]
mod tests;
