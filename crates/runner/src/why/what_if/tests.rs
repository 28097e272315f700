use super::*;
use crate::fixture::{failed, judge, plan, record};
use crate::records::Records;
use crate::why::{Trials, trials};
use seekwell_model::lab::Effort;
use seekwell_model::laws::LawSet;
use seekwell_model::stack::Scheduler;
use seekwell_model::verdict::{DurabilityClass, StackDurability};
use seekwell_model::why::{Improvement, MODEL};

/// Stack `a` takes 4 s, `b`, which is another filesystem, 3 s, and `c`, which has another scheduler too, 1 s.
#[test]
fn improvements_are_ranked_by_cost_with_those_that_measured_nothing_last() {
    let mut plan = plan(&["a", "b", "c"], Effort::Rounds(6));
    for (at, name) in ["a", "b", "c"].iter().enumerate() {
        plan.stacks[at].filesystem.name = (*name).to_owned();
    }
    plan.stacks[2].scheduler = Scheduler::plain("bfq");
    let seconds = |trial: &PlannedTrial| [4.0, 3.0, 1.0][trial.candidate as usize];
    let records: Records =
        plan.trials.iter().map(|trial| (trial.index, (*trial, record(seconds(trial))))).collect();
    let measured: Vec<(PlannedTrial, f64)> =
        plan.trials.iter().map(|trial| (*trial, seconds(trial))).collect();
    let mut verdict = judge(&plan, &records);
    let durability = |stack: &str, class| StackDurability {
        stack: stack.to_owned(),
        class,
        reasons: vec![],
        cuts: None,
        known: None,
    };
    verdict.evidence.durability =
        vec![durability("a", DurabilityClass::Synced), durability("b", DurabilityClass::Unordered)];
    let pair = Pair { better: "a".to_owned(), worse: "b".to_owned() };
    let trials: Trials = trials(&plan, &verdict, &pair, &measured).unwrap();
    let (plan, verdict, pair, trials) = (&plan, &verdict, &pair, &trials);
    let laws = [LawSet::NONE; 2];
    let question = Question { plan, verdict, pair, trials, laws, single: 5 };
    let improvement = Improvement { law: "flush".to_owned(), at_better: 2.0, at_worse: 1.0 };
    let round = trials.trials[0].round;
    let why = Why { round, improvements: vec![improvement], ..Why::default() };
    let changed =
        |to: &str| Changed { part: MODEL, to: to.to_owned(), stack: plan.stacks[0].clone() };
    let changed = [(changed("small"), failed("no space")), (changed("ssd"), record(0.5))];
    let found = what_if(&question, &why, &changed, &measured);
    let found: Vec<(&str, &str, Option<f64>, bool)> = found
        .iter()
        .map(|one| (one.part.as_str(), one.to.as_str(), one.cost, one.is_weaker))
        .collect();
    assert_eq!(
        found,
        [
            (MODEL, "ssd", Some(0.5), false),
            (LAW, "flush", Some(2.0), false),
            ("filesystem", "b", Some(3.0), true),
            (MODEL, "small", None, false),
        ]
    );
}

#[test]
fn a_further_stack_runs_the_same_trial() {
    let plan = plan(&["a", "b"], Effort::Rounds(6));
    let like = plan.trials[0];
    let (all, trials) = with_stacks(&plan, &like, [&plan.stacks[1]]);
    assert_eq!((all.stacks.len(), all.candidates.len(), all.costs.len()), (3, 3, 3));
    assert_eq!(trials, [PlannedTrial { candidate: 2, ..like }]);
    assert_eq!(all.pair(&trials[0]), (&plan.stacks[1], plan.pair(&like).1));
}
