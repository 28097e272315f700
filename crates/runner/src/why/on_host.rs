//! Causes of a difference on a real machine: rounds of two stacks as they are, without flushes, and in memory instead
//! of on the device.

use super::{Pair, Trials, WhyError, cost, counted, in_rounds, totals, value};
use seekwell_model::backing::Backing;
use seekwell_model::laws::Law;
use seekwell_model::plan::{Candidate, Plan, PlannedTrial};
use seekwell_model::record::{DeviceTotals, Record};
use seekwell_model::stack::{MemoryLimit, Scheduler, Stack, WriteCache};
use seekwell_model::units::Bytes;
use seekwell_model::verdict::Verdict;
use seekwell_model::why::{Cause, DEVICE, Improvement, METHOD, OnHost, Why};
use seekwell_stats::interval::mean_interval;

#[cfg(test)]
mod tests;

/// Rounds unless more are asked for.
pub const USUAL_ROUNDS: u32 = 6;
/// Share of errors of the intervals.
const ERROR: f64 = 0.05;

/// A condition of the two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As the run had them.
    AsTheyAre,
    /// Write cache declared write through, so that the kernel sends no flushes.
    NoFlushes,
    /// On a disk in memory.
    InMemory,
    /// The scheduler is `none`.
    NoScheduler,
    /// The memory limit is off.
    NoMemoryLimit,
}

impl Condition {
    const ALL: [Self; 5] =
        [Self::AsTheyAre, Self::NoFlushes, Self::InMemory, Self::NoScheduler, Self::NoMemoryLimit];

    /// The cause that it removes.
    fn removes(self) -> &'static str {
        match self {
            Self::AsTheyAre => "nothing",
            Self::NoFlushes => Law::Flush.definition().name,
            Self::InMemory => DEVICE,
            Self::NoScheduler => "scheduler",
            Self::NoMemoryLimit => "memory limit",
        }
    }

    /// The stack under this condition; `None` if that changes nothing, or cannot be done.
    fn of(self, stack: &Stack) -> Option<Stack> {
        let mut changed = stack.clone();
        match self {
            Self::AsTheyAre => return Some(changed),
            Self::NoFlushes => changed.device.settings.write_cache = Some(WriteCache::WriteThrough),
            Self::InMemory => {
                changed.device.backing = in_memory(&stack.device.backing)?;
                changed.journal.external = stack
                    .journal
                    .external
                    .as_ref()
                    .map(|one| in_memory(one).unwrap_or(one.clone()));
            }
            Self::NoScheduler => changed.scheduler = Scheduler::plain("none"),
            Self::NoMemoryLimit => changed.memory.limit = MemoryLimit::Unlimited,
        }
        let is_same = match self {
            Self::NoScheduler => stack.scheduler.kind == "none",
            _ => changed == *stack,
        };
        changed.label = format!("{} without {}", stack.label, self.removes());
        (!is_same).then_some(changed)
    }
}

fn in_memory(backing: &Backing) -> Option<Backing> {
    let size = backing.size()?;
    let sector = match backing {
        Backing::Loop { sector, .. } | Backing::Ram { sector, .. } => *sector,
        _ => Bytes(512),
    };
    Some(Backing::Ram { size, sector })
}

/// Rounds of two stacks under all conditions.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// A plan of these rounds alone.
    pub plan: Plan,
    /// Side and condition of each of its candidates.
    pub of: Vec<(usize, Condition)>,
}

impl Rounds {
    /// Rounds of the stacks of these trials.
    #[must_use]
    pub fn new(plan: &Plan, trials: &Trials, rounds: u32, is_in_memory: bool) -> Self {
        let mut all = Self { plan: plan.clone(), of: Vec::new() };
        let workload = plan.candidates[trials.trials[0].candidate as usize].workload;
        (all.plan.stacks, all.plan.candidates) = (Vec::new(), Vec::new());
        all.plan.costs = Vec::new();
        let conditions = Condition::ALL.into_iter();
        let conditions = conditions.filter(|one| is_in_memory || *one != Condition::InMemory);
        for (condition, side) in conditions.flat_map(|one| [(one, 0), (one, 1)]) {
            let trial = &trials.trials[side];
            let Some(stack) = condition.of(plan.pair(trial).0) else { continue };
            all.plan.candidates.push(Candidate { stack: all.of.len() as u32, workload });
            all.plan.costs.extend(plan.costs.get(trial.candidate as usize).copied());
            all.plan.stacks.push(stack);
            all.of.push((side, condition));
        }
        all.plan = in_rounds(all.plan, rounds);
        all
    }

    /// The difference of a pair, divided into flushes, the rest of the device, and what is left in memory.
    ///
    /// # Errors
    /// [`WhyError`] of a trial without a value.
    pub fn explain(
        &self,
        pair: &Pair,
        verdict: &Verdict,
        records: &[(PlannedTrial, Record)],
    ) -> Result<Why, WhyError> {
        let (mut costs, mut counters) = (vec![Vec::new(); self.of.len()], [None, None]);
        for (trial, record) in records {
            let (side, condition) = self.of[trial.candidate as usize];
            let value = value(record, &verdict.metric).ok_or_else(|| {
                WhyError::failed(pair, side, condition.removes(), &verdict.metric, record)
            })?;
            if condition == Condition::AsTheyAre {
                counters[side] = counters[side].or(totals(record, &verdict.metric));
            }
            costs[trial.candidate as usize].push((trial.round, cost(verdict.better, value)));
        }
        costs.iter_mut().for_each(|all| all.sort_by_key(|(round, _)| *round));
        let costs = costs.into_iter().map(|all| all.into_iter().map(|(_, cost)| cost).collect());
        Ok(self.found(pair, verdict, &costs.collect::<Vec<Vec<f64>>>(), counters))
    }

    fn found(
        &self,
        pair: &Pair,
        verdict: &Verdict,
        costs: &[Vec<f64>],
        counters: [Option<DeviceTotals>; 2],
    ) -> Why {
        // A side that a condition does not change costs as much as it is.
        let of = |side: usize, condition: Condition| {
            let at = |condition| self.of.iter().position(|one| *one == (side, condition));
            at(condition).or(at(Condition::AsTheyAre)).map_or(&[][..], |at| &costs[at])
        };
        let difference = |condition| less(of(1, condition), of(0, condition));
        let is_tested = |wanted| self.of.iter().any(|(_, condition)| *condition == wanted);
        let whole = difference(Condition::AsTheyAre);
        let (mut left, mut causes, mut errors) = (whole.clone(), Vec::new(), vec![error(&whole)]);
        for condition in [Condition::NoFlushes, Condition::InMemory] {
            if !is_tested(condition) {
                continue;
            }
            let next = difference(condition);
            let amounts = less(&left, &next);
            let law = Law::from_name(condition.removes());
            causes.push(Cause {
                laws: vec![condition.removes().to_owned()],
                amount: centre(&amounts),
                counted: law.and_then(|law| counted(law, counters)),
            });
            errors.push(error(&amounts));
            left = next;
        }
        errors.push(error(&left));
        // Memory in place of the device removes the flushes too, so it is not a single improvement.
        let single = |one: &Condition| !matches!(one, Condition::AsTheyAre | Condition::InMemory);
        let improvements = Condition::ALL.into_iter().filter(|one| single(one) && is_tested(*one));
        let improvements = improvements.map(|condition| Improvement {
            law: condition.removes().to_owned(),
            at_better: centre(of(0, condition)),
            at_worse: centre(of(1, condition)),
        });
        let [at_better, at_worse] = [0, 1].map(|side| centre(of(side, Condition::AsTheyAre)));
        let laws = "single laws of the device: this kernel has no switch for them";
        let memory = (!is_tested(Condition::InMemory)).then_some("CPU: no room in memory");
        let first = self.plan.trials.first().map(|trial| self.plan.pair(trial).1.name.clone());
        Why {
            method: METHOD,
            better: pair.better.clone(),
            worse: pair.worse.clone(),
            metric: verdict.metric.clone(),
            workload: first.unwrap_or_default(),
            at_better,
            at_worse,
            repeats: true,
            trials: costs.iter().map(Vec::len).sum::<usize>() as u32,
            causes,
            rest: centre(&left),
            improvements: improvements.collect(),
            on_host: Some(OnHost {
                rounds: whole.len() as u32,
                errors,
                not_tested: memory.into_iter().chain([laws]).map(str::to_owned).collect(),
                twin: None,
            }),
            ..Why::default()
        }
    }
}

/// Differences of two conditions, round by round.
fn less(one: &[f64], two: &[f64]) -> Vec<f64> {
    one.iter().zip(two).map(|(one, two)| one - two).collect()
}

fn centre(values: &[f64]) -> f64 {
    mean_interval(values, ERROR).map_or(f64::NAN, |found| found.centre)
}

fn error(values: &[f64]) -> f64 {
    mean_interval(values, ERROR).map_or(f64::NAN, |found| (found.high - found.low) / 2.0)
}
