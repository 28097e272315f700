//! The race of a run: pilot, screen, final. Few stacks need neither pilot nor screen: their race is its
//! final alone.
//!
//! Only the records of its trials are kept of a race. Its state is a pure function of the plan and
//! these records: a run that was killed at any moment replays them and continues with the trials that
//! an uninterrupted one would have run.
//!
//! The pilot tells how much trials vary and how long they take. That serves the screen (how far
//! single trials can be trusted) and the looks of the final (how many rounds a budget buys); its
//! values never enter the final.

use crate::axes::axes;
use crate::durability;
use crate::order::{self, Ends};
use crate::question::question;
use crate::records::{Outcome, Outcomes, is_quarantined};
use crate::values::round_values;
use seekwell_model::lab::{Effort, RACE_ABOVE};
use seekwell_model::plan::{Plan, PlannedRace, PlannedTrial};
use seekwell_stats::design::Design;
use seekwell_stats::estimate;
use seekwell_stats::field::Observed;
use seekwell_stats::pilot::{self, Pilot, PilotTrial};
use seekwell_stats::race::{Race, RaceConfig, Stop};

/// Rounds of the final that a budget always has to pay for.
const FEWEST_FINAL: usize = seekwell_stats::question::MIN_ROUNDS;

/// A part of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Two rounds of a few stacks.
    Pilot,
    /// One trial of every stack that is left, round by round.
    Screen,
    /// Fresh rounds of those that remain.
    Final,
}

/// Rounds run in each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// Of the pilot.
    pub pilot: u32,
    /// Of the screen.
    pub screen: u32,
    /// Of the final.
    pub last: u32,
}

/// A race as far as its records go.
#[derive(Debug)]
pub struct Staged<'a> {
    plan: &'a Plan,
    planned: &'a PlannedRace,
    design: Design,
    pilot: Vec<PilotTrial>,
    /// `None` until its pilot is done.
    pub(crate) race: Option<Race>,
    /// Time that the rounds of the final took, as far as they tell the horizon, ns.
    final_ns: u64,
    /// The candidate that ended the last round.
    last: Option<u32>,
    /// Reason why it cannot continue.
    pub(crate) broken: Option<String>,
    rounds: Rounds,
    next_index: u32,
}

impl<'a> Staged<'a> {
    /// The race of a plan, before its first trial.
    #[must_use]
    pub fn new(plan: &'a Plan, planned: &'a PlannedRace) -> Self {
        let (_, design) = axes(plan, plan.stacks.len());
        let mut staged = Self {
            plan,
            planned,
            design,
            pilot: Vec::new(),
            race: None,
            final_ns: 0,
            last: None,
            broken: None,
            rounds: Rounds::default(),
            next_index: 0,
        };
        if planned.pilot_rounds == 0 {
            staged.begin_race();
        }
        staged
    }

    /// The race as far as these records go: all rounds of which no trial is missing are taken.
    #[must_use]
    pub fn replay(plan: &'a Plan, planned: &'a PlannedRace, outcomes: &Outcomes) -> Self {
        let mut staged = Self::new(plan, planned);
        while let Some(round) = staged.round() {
            let done = |trial: &PlannedTrial| {
                outcomes.contains_key(&trial.index)
                    || is_quarantined(outcomes, trial.candidate, trial.index)
            };
            let other = |trial: &PlannedTrial| {
                outcomes
                    .get(&trial.index)
                    .is_some_and(|(kept, _)| kept.candidate != trial.candidate)
            };
            if round.iter().any(other) {
                let why = "its trials are not those that this version would run: another version \
                           started it, so it cannot be continued; run the lab again";
                staged.broken = Some(why.to_owned());
                break;
            }
            if !round.iter().all(done) {
                break;
            }
            staged.take(&round, outcomes);
        }
        staged
    }

    /// The trials of the next round; `None` when the race is over.
    #[must_use]
    pub fn round(&self) -> Option<Vec<PlannedTrial>> {
        if self.broken.is_some() {
            return None;
        }
        let stacks: Vec<u32> = match &self.race {
            None => self.planned.pilot.clone(),
            Some(race) => race.next_round()?.stacks.into_iter().map(|stack| stack as u32).collect(),
        };
        let candidates = (0..self.plan.candidates.len() as u32)
            .filter(|index| stacks.contains(&self.plan.candidates[*index as usize].stack))
            .collect();
        let number = self.rounds.pilot + self.rounds.screen + self.rounds.last;
        // Where the candidate that ended the last round has left, any begins.
        let ends = self.last.map(|last| Ends { begin: last, end: last });
        Some(order::trials_of_round(self.plan.lab.seed, candidates, number, self.next_index, ends))
    }

    /// The part that the next round belongs to, and how many stacks run in it.
    #[must_use]
    pub fn part(&self) -> Option<(Part, usize)> {
        let Some(race) = &self.race else {
            return Some((Part::Pilot, self.planned.pilot.len()));
        };
        let round = race.next_round()?;
        let part = if round.is_final { Part::Final } else { Part::Screen };
        Some((part, round.stacks.len()))
    }

    /// Takes the records of the round that [`Staged::round`] gave. A trial without a record, or
    /// whose record may not be ranked, has no value.
    pub fn take(&mut self, round: &[PlannedTrial], outcomes: &Outcomes) {
        let values = round_values(self.plan, outcomes, round);
        self.next_index += round.len() as u32;
        self.last = round.last().map(|trial| trial.candidate);
        match self.part() {
            Some((Part::Pilot, _)) => self.take_pilot(&values, round, outcomes),
            Some((part, _)) => {
                if part == Part::Screen {
                    self.rounds.screen += 1;
                } else {
                    self.rounds.last += 1;
                    self.tell_horizon(round, outcomes);
                }
                if let Some(race) = &mut self.race
                    && let Err(error) = race.record(&values)
                {
                    self.broken = Some(error.to_string());
                }
            }
            None => {}
        }
    }

    fn take_pilot(
        &mut self,
        values: &[(usize, Observed)],
        round: &[PlannedTrial],
        outcomes: &Outcomes,
    ) {
        for &(stack, value) in values {
            let of_stack = |trial: &&PlannedTrial| {
                self.plan.candidates[trial.candidate as usize].stack as usize == stack
            };
            let elapsed = round
                .iter()
                .filter(of_stack)
                .filter_map(|trial| outcomes.get(&trial.index))
                .map(|(_, outcome)| outcome.elapsed_ns)
                .sum::<u64>();
            let seconds = elapsed as f64 / 1e9;
            let round = self.rounds.pilot as usize;
            let value = match value {
                Observed::Value(value) => Some(value),
                _ => None,
            };
            self.pilot.push(PilotTrial { stack, round, value, seconds });
        }
        self.rounds.pilot += 1;
        if self.rounds.pilot >= self.planned.pilot_rounds {
            self.begin_race();
        }
    }

    fn begin_race(&mut self) {
        let found = pilot::evaluate(&self.design, &self.pilot);
        let mut config = RaceConfig::new(question(self.plan));
        config.finalists = match self.planned.pilot_rounds {
            // Without a screen all of them are finalists.
            0 => self.planned.finalists as usize,
            _ => RACE_ABOVE,
        };
        config.known_spread = found.spread.filter(|spread| *spread > 0.0);
        config.most_rounds = self.most_rounds();
        config.horizon = self.horizon(&found, &config);
        config.ended = self.plan.prolonged.map(|prolonged| prolonged.judged_rounds as usize);
        config.ineligible = durability::ineligible(self.plan, &Outcomes::new());
        match Race::new(self.design.clone(), config) {
            Ok(race) => self.race = Some(race),
            Err(error) => self.broken = Some(error.to_string()),
        }
    }

    /// Rounds of the final at most.
    fn most_rounds(&self) -> usize {
        let planned = self.planned.looks.last().map_or(FEWEST_FINAL, |look| *look as usize);
        self.plan.prolonged.map_or(planned, |prolonged| prolonged.rounds as usize)
    }

    /// Rounds of the final that plan or budget hold: as planned, or those that the budget pays for at the
    /// pilot's cost. `None` for a budget without a pilot: the rounds before the first look tell it.
    fn horizon(&self, pilot: &Pilot, config: &RaceConfig) -> Option<usize> {
        let Effort::Budget(budget) = self.plan.lab.judge.effort else {
            return Some(self.planned.looks.last().map_or(FEWEST_FINAL, |look| *look as usize));
        };
        let mean = estimate::mean(&pilot.seconds).filter(|mean| *mean > 0.0)?;
        let screen: usize = pilot::screen_rounds(self.design.stacks(), config).iter().sum();
        let spent: f64 = self.pilot.iter().map(|trial| trial.seconds).sum();
        let left = budget.0 as f64 / 1e9 - spent - screen as f64 * mean;
        let rounds = (left / (mean * f64::from(self.planned.finalists))).max(0.0) as usize;
        Some(rounds.clamp(FEWEST_FINAL, config.most_rounds.max(FEWEST_FINAL)))
    }

    /// Tells the race its horizon at the first look, from the time that the rounds so far took.
    fn tell_horizon(&mut self, round: &[PlannedTrial], outcomes: &Outcomes) {
        let Some(race) = &mut self.race else { return };
        let Effort::Budget(budget) = self.plan.lab.judge.effort else { return };
        let taken = round.iter().filter_map(|trial| outcomes.get(&trial.index));
        let ns = |outcome: &Outcome| outcome.cost_ns.unwrap_or(outcome.elapsed_ns);
        self.final_ns += taken.map(|(_, outcome)| ns(outcome)).sum::<u64>();
        let done = u64::from(self.rounds.last);
        if race.next_look() == Some(done as usize) && self.final_ns > 0 {
            race.set_horizon((budget.0.saturating_mul(done) / self.final_ns) as usize);
        }
    }

    /// Returns true if the run may end now because its time is over: the screen and six rounds of the
    /// final always run.
    #[must_use]
    pub fn may_end(&self) -> bool {
        self.rounds.last as usize >= FEWEST_FINAL
    }

    /// Trials until the next moment at which the race may end, beyond those taken.
    #[must_use]
    pub fn expected(&self) -> u64 {
        let planned = self.planned;
        let pilot = (planned.pilot_rounds - self.rounds.pilot.min(planned.pilot_rounds))
            * planned.pilot.len() as u32;
        let screen: u32 = planned.screen.iter().skip(self.rounds.screen as usize).sum();
        let look = self.race.as_ref().and_then(Race::next_look);
        let look = look.map_or(planned.looks.first().copied().unwrap_or(0), |look| look as u32);
        let (part, running) = self.part().unwrap_or((Part::Final, 0));
        let running = if part == Part::Final { running as u32 } else { planned.finalists };
        let screen = if part == Part::Final { 0 } else { screen };
        let stacks = pilot + screen + look.saturating_sub(self.rounds.last) * running;
        let each = self.plan.candidates.len() as f64 / self.plan.stacks.len().max(1) as f64;
        (f64::from(stacks) * each).round() as u64
    }

    /// Rounds taken in each part.
    #[must_use]
    pub fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// Ends the race; says nothing that its looks do not allow.
    pub fn end(&mut self, why: Stop) {
        if let Some(race) = &mut self.race
            && let Err(error) = race.stop(why)
        {
            self.broken = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
