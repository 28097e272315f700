//! Causes of a difference between two stacks: which pair, which trials, and the attribution to laws.

use crate::order::round_order;
use seekwell_model::lab::Better;
use seekwell_model::laws::{Law, LawSet};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{DeviceTotals, Record, Status};
use seekwell_model::stack::AXES;
use seekwell_model::verdict::Verdict;
use seekwell_model::why::{Cause, Counted, Improvement, Interaction, METHOD, Why};
pub use seekwell_stats::attribution::USUAL_SINGLE;
use seekwell_stats::attribution::{Attribution, attribute};

pub mod on_host;
pub mod twin;
mod what_if;

pub use what_if::{Changed, what_if, with_stacks};

#[cfg(test)]
mod tests;

/// Interactions above this part of the difference are named.
const NAMED: f64 = 0.1;

/// The pair of stacks of an explanation, the better one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Label of the better stack.
    pub better: String,
    /// Label of the worse stack.
    pub worse: String,
}

/// The reason why a difference cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhyError(pub(crate) String);

impl WhyError {
    /// A trial without laws failed.
    fn failed(pair: &Pair, side: usize, laws: &str, metric: &str, record: &Record) -> Self {
        let stack = if side == 0 { &pair.better } else { &pair.worse };
        let reason = match &record.status {
            Status::Failed { stage, reason } => format!("{stage}: {reason}"),
            Status::Ok | Status::Marked => "its step has no such value".to_owned(),
        };
        Self(format!("the trial of {stack} without {laws} measured no {metric}: {reason}"))
    }
}

/// The pair that a run asks about: the pick against the best stack with another value of the axis that matters
/// most, if possible one that is out; without such a stack the next best of all.
///
/// # Errors
/// [`WhyError`] when nothing was compared.
pub fn usual_pair(plan: &Plan, verdict: &Verdict) -> Result<Pair, WhyError> {
    let nothing = || WhyError("the run has no two stacks with values to compare".to_owned());
    let answer = verdict.answer.as_ref();
    let measured = || verdict.ratios.iter().filter(|row| row.ratio.is_some());
    let pick = answer.and_then(|answer| answer.pick.as_ref()).or(verdict.baseline.as_ref());
    let pick = pick.ok_or_else(nothing)?;
    let axes = answer.map_or(&[][..], |answer| &answer.axes);
    let values = axes.first().and_then(|first| {
        // `filesystem with journal` begins with the axis.
        AXES.iter().find(|(name, _)| first.axis.starts_with(name)).map(|(_, value)| value)
    });
    let value = |label: &str| {
        let stack = plan.stacks.iter().find(|stack| stack.label == label)?;
        Some(values?(stack))
    };
    let differs = |label: &str| value(label).is_some() && value(label) != value(pick);
    let others = || measured().map(|row| &row.stack).filter(|label| *label != pick);
    let is_out = |label: &str| answer.is_some_and(|one| one.out.iter().any(|out| out == label));
    let rival = others()
        .find(|label| differs(label) && is_out(label))
        .or_else(|| others().find(|label| differs(label)))
        .or_else(|| others().next());
    let rival = rival.ok_or_else(nothing)?;
    pair_of(verdict, [pick, rival])
}

/// Two stacks as a pair, the better one first.
///
/// # Errors
/// [`WhyError`] for a label that is none of the run's.
pub fn pair_of(verdict: &Verdict, labels: [&str; 2]) -> Result<Pair, WhyError> {
    let ratio = |label: &str| {
        let row = verdict.ratios.iter().find(|row| row.stack == label);
        row.and_then(|row| row.ratio).ok_or_else(|| {
            let known = verdict.ratios.iter().filter(|row| row.ratio.is_some());
            let known: Vec<&str> = known.map(|row| row.stack.as_str()).collect();
            WhyError(format!(
                "the run has no stack '{label}' with values; its stacks are {}",
                known.join(", ")
            ))
        })
    };
    let [one, two] = labels;
    let is_better = match verdict.better {
        Better::Lower => ratio(one)? <= ratio(two)?,
        Better::Higher => ratio(one)? >= ratio(two)?,
    };
    let (better, worse) = if is_better { (one, two) } else { (two, one) };
    Ok(Pair { better: better.to_owned(), worse: worse.to_owned() })
}

/// Cost of a value: the value itself, or its inverse where higher is better, so that causes add up.
fn cost(better: Better, value: f64) -> f64 {
    match better {
        Better::Lower => value,
        Better::Higher => 1.0 / value,
    }
}

/// The plan as rounds of all of its candidates, without a race.
fn in_rounds(plan: Plan, rounds: u32) -> Plan {
    let (seed, candidates) = (plan.lab.seed, plan.candidates.len() as u32);
    let trials = (0..rounds).flat_map(|round| round_order(seed, candidates, round)).collect();
    Plan { race: None, control: None, trials, ..plan }
}

/// A trial of each stack of a pair, and what was measured in them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    /// Trials of the better and the worse stack, of one round.
    pub trials: [PlannedTrial; 2],
    /// Values of the judged metric in the run file.
    pub kept: [f64; 2],
}

/// The trials to repeat: of the round in which the two stacks differ most nearly by what they differ by in the
/// verdict. `measured` are the trials of the run with their value, those without one left out.
///
/// # Errors
/// [`WhyError`] when the two never ran in the same round.
pub fn trials(
    plan: &Plan,
    verdict: &Verdict,
    pair: &Pair,
    measured: &[(PlannedTrial, f64)],
) -> Result<Trials, WhyError> {
    let of = |label: &str| {
        let is_of = |trial: &PlannedTrial| plan.pair(trial).0.label == label;
        let own = measured.iter().filter(move |(trial, _)| is_of(trial));
        own.copied().collect::<Vec<(PlannedTrial, f64)>>()
    };
    let ratio = |label: &str| {
        let row = verdict.ratios.iter().find(|row| row.stack == label);
        row.and_then(|row| row.ratio).unwrap_or(1.0)
    };
    let wanted = (ratio(&pair.worse) / ratio(&pair.better)).ln();
    let worse = of(&pair.worse);
    let both = of(&pair.better).into_iter().filter_map(|better| {
        let same = |(trial, _): &&(PlannedTrial, f64)| {
            trial.round == better.0.round && plan.pair(trial).1.name == plan.pair(&better.0).1.name
        };
        Some((better, *worse.iter().find(same)?))
    });
    let distance = |(better, worse): &((PlannedTrial, f64), (PlannedTrial, f64))| {
        ((worse.1 / better.1).ln() - wanted).abs()
    };
    let nearest = both.min_by(|one, two| distance(one).total_cmp(&distance(two)));
    let (better, worse) = nearest.ok_or_else(|| {
        WhyError(format!(
            "{} and {} have no round in which both were measured; compare two other stacks",
            pair.better, pair.worse
        ))
    })?;
    Ok(Trials { trials: [better.0, worse.0], kept: [better.1, worse.1] })
}

/// Value of the judged metric in a trial that ended; marked ones count, because a step without its usual laws is
/// short.
#[must_use]
pub fn value(record: &Record, metric: &str) -> Option<f64> {
    match record.status {
        Status::Failed { .. } => None,
        Status::Ok | Status::Marked => record.metric(metric).filter(|value| value.is_finite()),
    }
}

/// Everything that an explanation is made from.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// Its verdict.
    pub verdict: &'a Verdict,
    /// The pair.
    pub pair: &'a Pair,
    /// Their trials.
    pub trials: &'a Trials,
    /// Laws of the machines of the better and the worse stack.
    pub laws: [LawSet; 2],
    /// Laws that are attributed one by one at most.
    pub single: usize,
}

/// An experiment: the side, 0 for the better stack, and the laws that are off.
pub type Switched = (usize, LawSet);

/// Runs experiments and returns their records in the same order.
pub type RunAll<'a, E> = dyn FnMut(&[Switched]) -> Result<Vec<Record>, E> + 'a;

/// Explains the difference by experiments that `run` runs.
///
/// # Errors
/// [`WhyError`] of a trial without a value, and errors of `run`.
pub fn explain<E: From<WhyError>>(
    question: &Question<'_>,
    run: &mut RunAll<'_, E>,
) -> Result<Why, E> {
    let laws: Vec<Law> = question.laws[0].union(question.laws[1]).iter().collect();
    let mut game = Game { question, laws: &laws, run, known: Vec::new(), counters: [None, None] };
    let found = attribute(laws.len(), question.single, &mut |sets| game.differences(sets))?;
    if found.difference == 0.0 {
        let Pair { better, worse } = question.pair;
        let (metric, round) = (&question.verdict.metric, question.trials.trials[0].round + 1);
        let text = format!(
            "{better} and {worse} have the same {metric} in round {round}: \
             there is no difference to explain"
        );
        return Err(WhyError(text).into());
    }
    let costs = |on: u32| [0, 1].map(|side| game.cost(game.switched(side, on)).unwrap_or(f64::NAN));
    let all = u32::MAX;
    let improvements = laws.iter().enumerate().map(|(at, law)| {
        let [at_better, at_worse] = costs(all & !(1 << at));
        Improvement { law: law.name().to_owned(), at_better, at_worse }
    });
    let told = Why {
        improvements: improvements.collect(),
        trials: game.known.len() as u32,
        ..question.told(&found, &laws, costs(all), game.counters)
    };
    Ok(told)
}

/// The costs of experiments, each run once.
struct Game<'a, E> {
    question: &'a Question<'a>,
    laws: &'a [Law],
    run: &'a mut RunAll<'a, E>,
    known: Vec<(Switched, f64)>,
    /// Counters of the judged step of both sides with every law on.
    counters: [Option<DeviceTotals>; 2],
}

impl<E: From<WhyError>> Game<'_, E> {
    /// The difference of the two stacks with these sets of laws on.
    fn differences(&mut self, sets: &[u32]) -> Result<Vec<f64>, E> {
        let mut missing: Vec<Switched> = Vec::new();
        for one in sets.iter().flat_map(|on| [self.switched(0, *on), self.switched(1, *on)]) {
            if self.cost(one).is_none() && !missing.contains(&one) {
                missing.push(one);
            }
        }
        let records = (self.run)(&missing)?;
        for (one, record) in missing.into_iter().zip(&records) {
            self.take(one, record)?;
        }
        let cost = |switched: Switched| self.cost(switched).unwrap_or(f64::NAN);
        let difference = |on: &u32| cost(self.switched(1, *on)) - cost(self.switched(0, *on));
        Ok(sets.iter().map(difference).collect())
    }

    /// The experiment of a side: laws that its machine lacks are not switched.
    fn switched(&self, side: usize, on: u32) -> Switched {
        let off = self.laws.iter().enumerate().filter(|(at, _)| on >> at & 1 == 0);
        (
            side,
            off.map(|(_, law)| *law)
                .filter(|law| self.question.laws[side].contains(*law))
                .collect(),
        )
    }

    fn cost(&self, switched: Switched) -> Option<f64> {
        self.known.iter().find(|(one, _)| *one == switched).map(|(_, cost)| *cost)
    }

    fn take(&mut self, (side, off): Switched, record: &Record) -> Result<(), WhyError> {
        let Question { verdict, pair, .. } = self.question;
        let metric = &verdict.metric;
        let value = value(record, metric).ok_or_else(|| {
            let laws = off.iter().map(Law::name).collect::<Vec<_>>().join(", ");
            WhyError::failed(pair, side, &laws, metric, record)
        })?;
        if off.is_empty() {
            self.counters[side] = totals(record, metric);
        }
        self.known.push(((side, off), cost(verdict.better, value)));
        Ok(())
    }
}

/// Counters of the devices over the judged step: of the members below layers where there are layers.
fn totals(record: &Record, metric: &str) -> Option<DeviceTotals> {
    let step = record.steps.iter().find(|step| metric.split('.').next() == Some(&step.name))?;
    let members = step.members.iter().copied().reduce(DeviceTotals::with);
    let device = members.or(step.device)?;
    Some(step.journal.map_or(device, |journal| device.with(journal)))
}

impl Question<'_> {
    fn told(
        &self,
        found: &Attribution,
        laws: &[Law],
        [at_better, at_worse]: [f64; 2],
        counters: [Option<DeviceTotals>; 2],
    ) -> Why {
        let names =
            |causes: &[usize]| causes.iter().map(|at| laws[*at].name().to_owned()).collect();
        let counted = |causes: &[usize]| match causes {
            [only] => counted(laws[*only], counters),
            _ => None,
        };
        let causes = found.parts.iter().map(|part| Cause {
            laws: names(&part.causes),
            amount: part.amount,
            counted: counted(&part.causes),
        });
        let is_single = |at: usize| found.parts[at].causes.len() == 1;
        let strong = found.pairs.iter().filter(|(pair, amount)| {
            pair.iter().all(|at| is_single(*at)) && amount.abs() > NAMED * found.difference.abs()
        });
        let name = |at: usize| laws[found.parts[at].causes[0]].name().to_owned();
        let mut interactions: Vec<Interaction> = strong
            .map(|(pair, amount)| Interaction { laws: pair.map(name), amount: *amount })
            .collect();
        interactions.sort_by(|one, two| two.amount.abs().total_cmp(&one.amount.abs()));
        let kept = self.trials.kept.map(|value| cost(self.verdict.better, value));
        let trial = &self.trials.trials[0];
        Why {
            method: METHOD,
            better: self.pair.better.clone(),
            worse: self.pair.worse.clone(),
            metric: self.verdict.metric.clone(),
            workload: self.plan.pair(trial).1.name.clone(),
            round: trial.round,
            at_better,
            at_worse,
            repeats: kept == [at_better, at_worse],
            causes: causes.collect(),
            rest: found.rest,
            within_pairs: Some(found.within_pairs),
            interactions,
            ..Why::default()
        }
    }
}

/// The counter that a law acts on.
fn counted(law: Law, [better, worse]: [Option<DeviceTotals>; 2]) -> Option<Counted> {
    let counter = law.definition().counter?;
    Some(Counted {
        what: counter.words().to_owned(),
        at_better: counter.of(&better?)?,
        at_worse: counter.of(&worse?)?,
    })
}
