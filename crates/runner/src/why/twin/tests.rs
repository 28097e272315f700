use super::*;
use crate::fixture::{judge, plan, record};
use crate::records::Records;
use crate::why::pair_of;
use seekwell_model::lab::Effort;

/// Values of stacks `a`, `b` and `c`, in seconds by stack and round.
fn values(seconds: fn(&str, u32) -> f64) -> (Plan, Verdict, Values) {
    let plan = plan(&["a", "b", "c"], Effort::Rounds(6));
    let of = |trial: &PlannedTrial| seconds(&plan.pair(trial).0.label, trial.round);
    let records: Records =
        plan.trials.iter().map(|trial| (trial.index, (*trial, record(of(trial))))).collect();
    let measured: Vec<(PlannedTrial, f64)> =
        plan.trials.iter().map(|trial| (*trial, of(trial))).collect();
    let verdict = judge(&plan, &records);
    let values = Values::new(&plan, &verdict, &measured);
    (plan, verdict, values)
}

/// `a` takes 1 s and `b` 2 s; `c` is nearly `b`, now faster and now slower.
fn run(label: &str, round: u32) -> f64 {
    match label {
        "a" => 1.0 + f64::from(round) / 100.0,
        "b" => 2.0,
        _ => 2.0 + 0.2 * (f64::from(round % 2) - 0.5),
    }
}

fn ranks(twin: fn(&str, u32) -> f64) -> Ranks {
    Ranks::new(&values(run).2, &values(twin).2)
}

fn pair(better: &str, worse: &str) -> Pair {
    Pair { better: better.to_owned(), worse: worse.to_owned() }
}

#[test]
fn pairs_that_the_run_does_not_separate_do_not_count() {
    // The twin separates `b` and `c`, which the run does not.
    let found = ranks(|label, _| match label {
        "a" => 0.1,
        "b" => 0.2,
        _ => 0.3,
    });
    assert_eq!(found.agree, [pair("a", "b"), pair("a", "c")]);
    assert!(found.disagree.is_empty());
    assert!(found.explain(&pair("a", "b")));
    assert!(!found.explain(&pair("b", "c")), "the run does not separate them");
}

#[test]
fn a_twin_with_one_pair_in_another_order_explains_none() {
    let found = ranks(|label, _| match label {
        "a" => 0.2,
        "b" => 0.3,
        _ => 0.1,
    });
    assert_eq!((found.agree, found.disagree), (vec![pair("a", "b")], vec![pair("a", "c")]));
    let found = Ranks { agree: vec![pair("a", "b")], disagree: vec![pair("a", "c")] };
    assert!(!found.explain(&pair("a", "b")));
}

#[test]
fn a_twin_that_separates_nothing_disagrees() {
    let found = ranks(|_, _| 1.0);
    assert_eq!(found.disagree, [pair("a", "b"), pair("a", "c")]);
}

#[test]
fn stacks_that_the_twin_has_not_measured_do_not_count() {
    let (_, verdict, mut twin) = values(run);
    twin.costs.remove("b");
    let found = Ranks::new(&values(run).2, &twin);
    assert_eq!((found.agree, found.disagree.len()), (vec![pair("a", "c")], 0));
    let own = twin.verdict(&verdict, "a");
    assert!(pair_of(&own, ["a", "b"]).is_err());
}

#[test]
fn the_verdict_of_a_twin_has_its_own_ratios() {
    let (_, verdict, _) = values(run);
    let (.., twin) = values(|label, _| if label == "a" { 3.0 } else { 1.0 });
    let own = twin.verdict(&verdict, "c");
    assert_eq!(pair_of(&own, ["a", "b"]).unwrap(), pair("b", "a"));
    let ratio = |label: &str| own.ratios.iter().find(|row| row.stack == label).unwrap().ratio;
    assert!((ratio("a").unwrap() / ratio("b").unwrap() - 3.0).abs() < 1e-9);
}

#[test]
fn the_twin_runs_the_ranked_stacks_in_as_many_rounds_as_asked() {
    let (plan, _, mut run) = values(run);
    run.costs.remove("b");
    let twin = rounds_of(plan, &run, 2);
    let stacks: Vec<u32> = twin.candidates.iter().map(|one| one.stack).collect();
    assert_eq!((stacks, twin.costs.len()), (vec![0, 2], 2));
    let mut each: Vec<(u32, u32)> =
        twin.trials.iter().map(|trial| (trial.round, trial.candidate)).collect();
    each.sort_unstable();
    assert_eq!(each, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}
