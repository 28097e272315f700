//! Single improvements of the better stack of an explanation, ranked by their gain.

use super::{Pair, Question, cost, value};
use seekwell_model::plan::{Candidate, Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::{AXES, Stack};
use seekwell_model::verdict::Verdict;
use seekwell_model::why::{LAW, WhatIf, Why};

#[cfg(test)]
mod tests;

/// A stack changed in one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The part, as in [`WhatIf::part`].
    pub part: &'static str,
    /// Its new value.
    pub to: String,
    /// The stack.
    pub stack: Stack,
}

/// The plan with further stacks, and for each of them the trial of another stack with it.
#[must_use]
pub fn with_stacks<'a>(
    plan: &Plan,
    like: &PlannedTrial,
    stacks: impl IntoIterator<Item = &'a Stack>,
) -> (Plan, Vec<PlannedTrial>) {
    let mut plan = plan.clone();
    let Candidate { workload, .. } = plan.candidates[like.candidate as usize];
    let mut trials = Vec::new();
    for stack in stacks {
        trials.push(PlannedTrial { candidate: plan.candidates.len() as u32, ..*like });
        plan.candidates.push(Candidate { stack: plan.stacks.len() as u32, workload });
        plan.costs.extend(plan.costs.get(like.candidate as usize).copied());
        plan.stacks.push(stack.clone());
    }
    (plan, trials)
}

/// Improvements of the better stack: without each law, changed as in these trials, and the best measured stack that
/// differs from it on one axis alone. `measured` are the trials of the run with their value.
#[must_use]
pub fn what_if(
    question: &Question<'_>,
    why: &Why,
    changed: &[(Changed, Record)],
    measured: &[(PlannedTrial, f64)],
) -> Vec<WhatIf> {
    let Question { plan, verdict, trials, .. } = *question;
    let laws = why.improvements.iter().map(|one| WhatIf {
        part: LAW.to_owned(),
        to: one.law.clone(),
        cost: Some(one.at_better),
        ..WhatIf::default()
    });
    let changed = changed.iter().map(|(changed, record)| WhatIf {
        part: changed.part.to_owned(),
        to: changed.to.clone(),
        cost: value(record, &verdict.metric).map(|value| cost(verdict.better, value)),
        ..WhatIf::default()
    });
    let (own, workload) = plan.pair(&trials.trials[0]);
    let beside = measured.iter().filter_map(|(trial, value)| {
        let (stack, of) = plan.pair(trial);
        (trial.round == why.round && of.name == workload.name)
            .then(|| (stack, cost(verdict.better, *value)))
    });
    let beside: Vec<(&Stack, f64)> = beside.collect();
    let axes = AXES.iter().filter_map(|(axis, _)| {
        let differs = |stack: &Stack| {
            AXES.iter().all(|(other, value)| (value(stack) == value(own)) == (other != axis))
        };
        let all = beside.iter().filter(|(stack, _)| differs(stack));
        let (stack, cost) = all.min_by(|one, two| one.1.total_cmp(&two.1))?;
        let value = AXES.iter().find(|(name, _)| name == axis)?.1;
        Some(WhatIf {
            part: (*axis).to_owned(),
            to: value(stack).to_owned(),
            cost: Some(*cost),
            price: stack.device.price.filter(|_| *axis == "device"),
            is_weaker: is_weaker(verdict, question.pair, &stack.label),
        })
    });
    let mut all: Vec<WhatIf> = laws.chain(changed).chain(axes).collect();
    let at = |one: &WhatIf| one.cost.unwrap_or(f64::INFINITY);
    all.sort_by(|one, two| at(one).total_cmp(&at(two)));
    all
}

/// Returns true if a stack has a weaker durability class than the better one.
fn is_weaker(verdict: &Verdict, pair: &Pair, label: &str) -> bool {
    let class = |label: &str| verdict.evidence.durability_of(label).map(|found| found.class);
    class(label).zip(class(&pair.better)).is_some_and(|(other, own)| other > own)
}
