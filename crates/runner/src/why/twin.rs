//! Check of a twin, the stacks of a run on another device: whether it ranks them as the run does.

use super::{Pair, cost, in_rounds};
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::verdict::Verdict;
use seekwell_stats::interval::mean_interval;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Share of errors among all pairs that a run is said to separate.
const ERROR: f64 = 0.05;

/// The twin's plan as rounds of the stacks that the run compared, on the workloads that it judged.
#[must_use]
pub fn rounds_of(twin: Plan, run: &Values, rounds: u32) -> Plan {
    let is_wanted = |at: usize| {
        let candidate = &twin.candidates[at];
        let workload = &twin.workloads[candidate.workload as usize].name;
        let label = &twin.stacks[candidate.stack as usize].label;
        run.costs.get(label).is_some_and(|costs| costs.keys().any(|(_, of)| of == workload))
    };
    let wanted: Vec<usize> = (0..twin.candidates.len()).filter(|at| is_wanted(*at)).collect();
    let candidates = wanted.iter().map(|at| twin.candidates[*at]).collect();
    let costs = wanted.iter().filter_map(|at| twin.costs.get(*at).copied()).collect();
    in_rounds(Plan { candidates, costs, ..twin }, rounds)
}

/// Costs of the ranked stacks of a run by label, and of each by round and workload.
#[derive(Clone, Debug, Default)]
pub struct Values {
    costs: BTreeMap<String, BTreeMap<(u32, String), f64>>,
}

impl Values {
    /// Costs of trials with these values. Stacks that the verdict does not rank are left out.
    #[must_use]
    pub fn new(plan: &Plan, verdict: &Verdict, measured: &[(PlannedTrial, f64)]) -> Self {
        let ranked = |label: &str| {
            verdict.ratios.iter().any(|row| row.stack == label && row.ratio.is_some())
        };
        let mut all = Self::default();
        for (trial, value) in measured {
            let (stack, workload) = plan.pair(trial);
            if ranked(&stack.label) {
                let of_stack = all.costs.entry(stack.label.clone()).or_default();
                of_stack.insert((trial.round, workload.name.clone()), cost(verdict.better, *value));
            }
        }
        all
    }

    /// Logarithms of the second stack's cost over the first one's, of the rounds and workloads that both have.
    fn logarithms(&self, [one, two]: [&str; 2]) -> Vec<f64> {
        let (Some(one), Some(two)) = (self.costs.get(one), self.costs.get(two)) else {
            return Vec::new();
        };
        one.iter().filter_map(|(at, one)| Some((two.get(at)? / one).ln())).collect()
    }

    /// The pair in order, the better stack first, if these values separate it with this share of errors.
    fn separated(&self, [one, two]: [&str; 2], error: f64) -> Option<Pair> {
        let found = mean_interval(&self.logarithms([one, two]), error)?;
        let [better, worse] = match (found.low > 0.0, found.high < 0.0) {
            (true, _) => [one, two],
            (_, true) => [two, one],
            _ => return None,
        };
        Some(Pair { better: better.to_owned(), worse: worse.to_owned() })
    }

    /// The verdict with the ratios of these values to one stack; stacks without a value have none.
    #[must_use]
    pub fn verdict(&self, verdict: &Verdict, stack: &str) -> Verdict {
        let mut verdict = verdict.clone();
        for row in &mut verdict.ratios {
            let found = mean_interval(&self.logarithms([stack, &row.stack]), ERROR);
            let ratio = found.map(|found| found.centre.exp());
            // Costs are inverse where higher is better.
            row.ratio = ratio.map(|ratio| match verdict.better {
                Better::Lower => ratio,
                Better::Higher => 1.0 / ratio,
            });
        }
        verdict
    }
}

/// Pairs of stacks that a run separates and its twin has measured, by what the twin says about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks {
    /// The twin separates them in the same order.
    pub agree: Vec<Pair>,
    /// The twin has them in the other order, or does not separate them.
    pub disagree: Vec<Pair>,
}

impl Ranks {
    /// Compares the orders of all pairs. A pair that the run does not separate does not count.
    #[must_use]
    pub fn new(run: &Values, twin: &Values) -> Self {
        let labels: Vec<&str> = run.costs.keys().map(String::as_str).collect();
        let labels: Vec<&str> =
            labels.into_iter().filter(|label| twin.costs.contains_key(*label)).collect();
        let pairs = labels
            .iter()
            .enumerate()
            .flat_map(|(at, one)| labels[at + 1..].iter().map(move |two| [*one, *two]));
        let pairs: Vec<[&str; 2]> = pairs.collect();
        let mut ranks = Self::default();
        for labels in &pairs {
            let Some(pair) = run.separated(*labels, ERROR / pairs.len() as f64) else { continue };
            match twin.separated(*labels, ERROR).as_ref() == Some(&pair) {
                true => ranks.agree.push(pair),
                false => ranks.disagree.push(pair),
            }
        }
        ranks
    }

    /// Returns true if the twin may explain this pair: the run separates it, and no pair is ranked differently.
    #[must_use]
    pub fn explain(&self, pair: &Pair) -> bool {
        self.disagree.is_empty() && self.agree.contains(pair)
    }
}
