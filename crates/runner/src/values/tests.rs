use super::*;
use crate::fixture;
use crate::fixture::judge;
use crate::order::round_order;
use crate::records::{Records, outcomes_of};
use seekwell_model::lab::Effort;

/// Rounds of two stacks, of which the second takes the values given.
fn records(plan: &Plan, second: &[Option<f64>]) -> Records {
    let mut all = Records::new();
    for (round, value) in second.iter().enumerate() {
        for trial in round_order(plan.lab.seed, 2, round as u32) {
            let record = match (trial.candidate, value) {
                (0, _) => fixture::record(1.0 + 0.001 * round as f64),
                (_, Some(value)) => fixture::record(*value),
                (_, None) => fixture::failed("timed out"),
            };
            all.insert(trial.index, (trial, record));
        }
    }
    all
}

#[test]
fn zero_and_nan_mark_their_trial_and_are_named() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let second = [Some(2.0), Some(0.0), Some(2.1), Some(f64::NAN), Some(2.0), Some(2.2)];
    let all = records(&plan, &second);
    let trials = judged_trials(&plan, &outcomes_of(&plan, &all));
    assert_eq!((trials[1][1], trials[1][3]), (Observed::Failed, Observed::Failed));
    assert_eq!(trials[1][2], Observed::Value(2.1));
    let list: Vec<_> = all.into_values().collect();
    let found = without_ratio(&plan, &list);
    assert_eq!(found.len(), 1);
    let text = &found[0].text;
    assert!(text.starts_with("b: step step reported elapsed = 0 in round 2, NaN in round 4"));
}

#[test]
fn a_stack_with_failures_is_not_certified_on_the_rest() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(10));
    let good = |round: usize| Some(0.5 + 0.001 * round as f64);
    let mut second: Vec<Option<f64>> = (0..10).map(good).collect();
    assert_eq!(judge(&plan, &records(&plan, &second)).stacks, ["b"]);
    second[2] = None;
    second[5] = None;
    let verdict = judge(&plan, &records(&plan, &second));
    assert_eq!(verdict.kind, seekwell_model::verdict::VerdictKind::Unresolved);
    assert!(verdict.reason.contains("2 of 10 trials of b failed"), "{}", verdict.reason);
}

#[test]
fn what_was_not_run_is_no_failure_and_what_is_not_tried_again_is_one() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut all = records(&plan, &[Some(2.0), None, None, None, None, None]);
    let last = all.values().filter(|(trial, _)| trial.candidate == 1).map(|(t, _)| t.index).max();
    all.remove(&last.unwrap());
    assert_eq!(
        judged_trials(&plan, &outcomes_of(&plan, &all))[1][5],
        Observed::Failed,
        "three failures in a row"
    );
    let mut all = records(&plan, &[Some(2.0); 6]);
    let last = all.values().filter(|(trial, _)| trial.candidate == 1).map(|(t, _)| t.index).max();
    all.remove(&last.unwrap());
    assert_eq!(judged_trials(&plan, &outcomes_of(&plan, &all))[1][5], Observed::NotRun);
}
