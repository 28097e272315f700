use super::*;
use crate::fixture::{failed, judge, plan, record};
use crate::records::Records;
use seekwell_model::answer::AxisAnswer;
use seekwell_model::lab::Effort;
use seekwell_model::stack::Scheduler;

/// Stacks `a`, `b` and `c`, which take 1, 2 and 4 s; in round 3 `b` takes 8 s.
fn measured() -> (Plan, Verdict, Vec<(PlannedTrial, f64)>) {
    let plan = plan(&["a", "b", "c"], Effort::Rounds(8));
    let seconds = |trial: &PlannedTrial| match (trial.candidate, trial.round) {
        (1, 3) => 8.0,
        (candidate, _) => f64::from(1 << candidate),
    };
    let records: Records =
        plan.trials.iter().map(|trial| (trial.index, (*trial, record(seconds(trial))))).collect();
    let measured = plan.trials.iter().map(|trial| (*trial, seconds(trial))).collect();
    let verdict = judge(&plan, &records);
    (plan, verdict, measured)
}

fn pair(better: &str, worse: &str) -> Pair {
    Pair { better: better.to_owned(), worse: worse.to_owned() }
}

#[test]
fn the_usual_pair_differs_in_what_matters_most() {
    let (mut plan, mut verdict, _) = measured();
    let out = |verdict: &mut Verdict, labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        verdict.answer.as_mut().unwrap().out = labels;
    };
    out(&mut verdict, &["b", "c"]);
    assert_eq!(usual_pair(&plan, &verdict).unwrap(), pair("a", "b"));
    // The difference to `b` is not shown.
    out(&mut verdict, &["c"]);
    assert_eq!(usual_pair(&plan, &verdict).unwrap(), pair("a", "c"));
    // The scheduler matters most, and `b` has the pick's.
    out(&mut verdict, &["b", "c"]);
    let axis = AxisAnswer { axis: "scheduler".to_owned(), ..AxisAnswer::default() };
    verdict.answer.as_mut().unwrap().axes = vec![axis];
    plan.stacks[2].scheduler = Scheduler::plain("bfq");
    assert_eq!(usual_pair(&plan, &verdict).unwrap(), pair("a", "c"));
}

#[test]
fn a_named_pair_is_ordered_and_must_be_there() {
    let (_, verdict, _) = measured();
    assert_eq!(pair_of(&verdict, ["c", "b"]).unwrap(), pair("b", "c"));
    let wrong = pair_of(&verdict, ["a", "d"]).unwrap_err().to_string();
    assert_eq!(wrong, "the run has no stack 'd' with values; its stacks are a, b, c");
}

#[test]
fn the_repeated_round_differs_as_the_verdict_does() {
    let (plan, verdict, mut measured) = measured();
    let found = trials(&plan, &verdict, &pair("a", "b"), &measured).unwrap();
    assert_eq!(
        (found.trials[0].round, found.trials[1].round),
        (found.trials[1].round, found.trials[0].round)
    );
    assert_ne!(found.trials[0].round, 3);
    assert_eq!(found.kept, [1.0, 2.0]);
    measured.retain(|(trial, _)| (trial.candidate == 0) == (trial.round == 3));
    let wrong = trials(&plan, &verdict, &pair("a", "b"), &measured).unwrap_err().to_string();
    assert!(wrong.starts_with("a and b have no round in which both were measured"), "{wrong}");
}

fn set(laws: &[Law]) -> LawSet {
    laws.iter().copied().collect()
}

/// Time of a trial: 1 s without any law; on the worse side a flush costs 3 s and a seek another 2 s, on the better
/// side a second less each. The CPU takes the worse side half a second less.
fn seconds((side, off): Switched) -> f64 {
    let on = |law: Law, seconds: f64| if off.contains(law) { 0.0 } else { seconds };
    match side {
        0 => 1.0 + on(Law::Flush, 2.0) + on(Law::Seek, 1.0) + on(Law::Cpu, 0.5),
        _ => 1.25 + on(Law::Flush, 3.0) + on(Law::Seek, 2.0),
    }
}

fn with_flushes(switched: Switched) -> Record {
    let mut record = record(seconds(switched));
    let flushes = if switched.0 == 0 { 96 } else { 412 };
    record.steps[0].device =
        Some(DeviceTotals { flushes: Some(flushes), ..DeviceTotals::default() });
    record
}

fn explained(run: &mut RunAll<'_, WhyError>) -> Result<Why, WhyError> {
    let (plan, verdict, measured) = measured();
    let pair = pair("a", "b");
    let trials = Trials { kept: [4.5, 6.25], ..trials(&plan, &verdict, &pair, &measured)? };
    let laws = [set(&[Law::Seek, Law::Flush, Law::Cpu]), set(&[Law::Seek, Law::Flush])];
    let (plan, verdict, pair, trials) = (&plan, &verdict, &pair, &trials);
    explain(&Question { plan, verdict, pair, trials, laws, single: 5 }, run)
}

#[test]
fn a_difference_is_attributed_to_the_laws_that_cause_it() {
    let mut ran = Vec::new();
    let why = explained(&mut |all| {
        ran.extend_from_slice(all);
        Ok(all.iter().copied().map(with_flushes).collect())
    })
    .unwrap();
    assert_eq!((why.at_better, why.at_worse, why.rest), (4.5, 6.25, 0.25));
    let parts: Vec<(&str, f64)> =
        why.causes.iter().map(|cause| (cause.laws[0].as_str(), cause.amount)).collect();
    assert_eq!(parts, [("seek", 1.0), ("flush", 1.0), ("cpu", -0.5)]);
    let sum: f64 = why.causes.iter().map(|cause| cause.amount).sum();
    assert_eq!(sum + why.rest, why.difference());
    // No law of these acts together with another.
    assert_eq!(why.within_pairs, Some(why.difference()));
    let flushes = why.causes[1].counted.as_ref().unwrap();
    assert_eq!(
        (flushes.what.as_str(), flushes.at_worse, flushes.at_better),
        ("flushes", 412.0, 96.0)
    );
    assert!(why.repeats && why.interactions.is_empty());
    let without = |one: &Improvement| (one.law.clone(), one.at_better, one.at_worse);
    let improvements: Vec<(String, f64, f64)> = why.improvements.iter().map(without).collect();
    let expected = [("seek", 3.5, 4.25), ("flush", 2.5, 3.25), ("cpu", 4.0, 6.25)];
    assert_eq!(improvements, expected.map(|(law, one, two)| (law.to_owned(), one, two)));
    // All sets of three laws on one side, and of the two that the other has: each once.
    assert_eq!((why.trials, ran.len()), (12, 12));
    let once = ran.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(once.len(), 12);
}

#[test]
fn laws_that_hide_each_other_are_named() {
    let mut run = |all: &[Switched]| {
        let seconds = |(side, off): &Switched| {
            let waits = !(off.contains(Law::Seek) && off.contains(Law::Flush));
            if *side == 1 && waits { 6.25 } else { 4.5 }
        };
        Ok(all.iter().map(|one| record(seconds(one))).collect())
    };
    let why = explained(&mut run).unwrap();
    assert_eq!(why.causes[0].amount, why.causes[1].amount);
    assert_eq!(why.interactions.len(), 1);
    assert_eq!(why.interactions[0].amount, -1.75);
}

#[test]
fn a_trial_that_fails_names_what_was_off() {
    let mut run = |all: &[Switched]| {
        let one = |switched: &Switched| match switched.1.contains(Law::Flush) {
            true => failed("no space"),
            false => record(seconds(*switched)),
        };
        Ok(all.iter().map(one).collect())
    };
    let wrong = explained(&mut run).unwrap_err().to_string();
    assert!(wrong.ends_with("measured no step.elapsed: step: no space"), "{wrong}");
    assert!(wrong.starts_with("the trial of a without "), "{wrong}");
}

#[test]
fn equal_stacks_have_nothing_to_explain() {
    let wrong = explained(&mut |all| Ok(all.iter().map(|_| record(1.0)).collect())).unwrap_err();
    let wrong = wrong.to_string();
    assert!(wrong.starts_with("a and b have the same step.elapsed in round "), "{wrong}");
}
