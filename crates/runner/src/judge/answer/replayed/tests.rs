use crate::fixture::{self, judge};
use crate::records::Records;
use seekwell_model::answer::Answer;
use seekwell_model::lab::Effort;
use seekwell_model::plan::Plan;
use seekwell_model::replay_check::{CheckResult, Compared, ReplayCheck, ReplayComparison};
use seekwell_model::verdict::{Verdict, VerdictKind};

/// The verdict of stacks that take 1, 1.3 and 4 where the replay takes this many times as long as the program.
fn verdict(ratio: Option<f64>, workload: Option<&str>) -> Verdict {
    verdict_with(ratio, workload, 0.0)
}

/// The same, with this part of a second the replay's own work.
fn verdict_with(ratio: Option<f64>, workload: Option<&str>, overhead_s: f64) -> Verdict {
    let mut plan: Plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(10));
    let result = match ratio {
        Some(replayed) => CheckResult::Compared(Box::new(ReplayComparison {
            elapsed_s: Compared { recorded: 1.0, replayed },
            overhead_s,
            ..ReplayComparison::default()
        })),
        None => CheckResult::Unchecked("it was recorded elsewhere".to_owned()),
    };
    let workload = workload.unwrap_or(&plan.workloads[0].name).to_owned();
    plan.replay_checks = vec![ReplayCheck { workload, result }];
    let mut all = Records::new();
    for round in 0..10 {
        for trial in crate::order::round_order(plan.lab.seed, 3, round) {
            let wobble = f64::from((trial.index * 7 + round * 3) % 11) / 1000.0;
            let value = [1.0, 1.3, 4.0][trial.candidate as usize] * (1.0 + wobble);
            all.insert(trial.index, (trial, fixture::record(value)));
        }
    }
    judge(&plan, &all)
}

#[test]
fn a_replay_within_the_limit_and_an_unchecked_one_change_nothing() {
    for ratio in [Some(1.15), Some(0.9), None] {
        let found = verdict(ratio, None);
        assert_eq!(found.kind, VerdictKind::Winner, "{ratio:?}");
        assert_eq!(found.answer.unwrap().out, ["b", "c"]);
    }
}

#[test]
fn a_replay_above_the_limit_widens_the_bound_and_what_is_near_is_not_out() {
    let plain = verdict(None, None).answer.unwrap().loss.unwrap();
    for ratio in [1.4, 1.0 / 1.4] {
        let found = verdict(Some(ratio), None);
        assert_eq!(found.kind, VerdictKind::Unresolved);
        assert!(found.reason.starts_with("further rounds would not lower"), "{}", found.reason);
        assert_eq!(found.evidence.needed, None);
        let answer = found.answer.unwrap();
        assert_eq!((answer.pick.as_deref(), answer.certified), (Some("a"), false));
        assert_eq!((answer.close, answer.out), (vec!["b".to_owned()], vec!["c".to_owned()]));
        assert!((answer.loss.unwrap() - (1.4 * (1.0 + plain) - 1.0)).abs() < 1e-9);
    }
}

#[test]
fn a_replay_far_above_the_limit_has_no_bound_and_the_cause_is_named() {
    let answer = verdict(Some(3.06), None).answer.unwrap();
    assert_eq!(answer.loss, None);
    let cause = "the replay is too unlike your program";
    assert_eq!(answer.cause.as_deref(), Some(cause));
}

#[test]
fn a_replay_of_much_work_of_its_own_has_a_wider_bound_or_none() {
    let plain = verdict(None, None).answer.unwrap().loss.unwrap();
    let some = verdict_with(Some(1.0), None, 0.2).answer.unwrap();
    assert!((some.loss.unwrap() - (1.25 * (1.0 + plain) - 1.0)).abs() < 1e-9);
    let most = verdict_with(Some(1.0), None, 0.4).answer.unwrap();
    let cause = "more than a third of the replay is its own work";
    assert_eq!((most.loss, most.cause.as_deref()), (None, Some(cause)));
}

#[test]
fn sleep_is_no_doubt_about_a_metric_without_it() {
    let timed = |metric: &str| {
        let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(10));
        plan.lab.judge.metric = metric.to_owned();
        hidden(&plan, [1.0, 1.0], [0.2, 0.4], 0.1)
    };
    assert!(doubt(&timed("step.elapsed")).is_some());
    assert_eq!(doubt(&timed("step.latency_p99")), None);
}

/// The answer for two stacks whose replays take this time, with these times in calls and of computing.
fn answer(elapsed_s: [f64; 2], calls_s: [f64; 2], cpu_s: f64) -> Answer {
    hidden(&fixture::plan(&["a", "b"], Effort::Rounds(10)), elapsed_s, calls_s, cpu_s)
}

fn hidden(plan: &Plan, elapsed_s: [f64; 2], calls_s: [f64; 2], cpu_s: f64) -> Answer {
    let mut all = Records::new();
    for round in 0..10 {
        for trial in crate::order::round_order(plan.lab.seed, 2, round) {
            // Either is the faster one in half of the rounds.
            let wobble = if (round + trial.candidate).is_multiple_of(2) { 1.0 } else { 1.02 };
            let at = trial.candidate as usize;
            let mut record = fixture::record(elapsed_s[at] * wobble);
            record.steps[0].metrics.insert("time_in_calls".to_owned(), calls_s[at]);
            record.steps[0].metrics.insert("latency_p99".to_owned(), wobble);
            record.steps[0].metrics.insert("cpu".to_owned(), cpu_s);
            all.insert(trial.index, (trial, record));
        }
    }
    judge(plan, &all).answer.unwrap()
}

fn doubt(answer: &Answer) -> Option<&str> {
    let doubt = answer.doubt.as_ref().filter(|doubt| doubt.name == "recorded-sleep");
    doubt.map(|doubt| doubt.text.as_str())
}

#[test]
fn sleeps_that_hide_a_difference_in_calls_are_the_doubt() {
    let found = answer([1.0, 1.0], [0.2, 0.4], 0.1);
    let text = doubt(&found).unwrap();
    assert!(
        text.starts_with("calls on files take 2.00 times as long on b as on a, but "),
        "{text}"
    );
    assert!(text.ends_with(" of the replay is sleep, which is the same on every stack"), "{text}");
    let loss = found.loss.unwrap();
    match found.pick.as_deref() {
        Some("a") => assert!(loss < 0.1, "{loss}"),
        _ => assert_eq!((loss, found.certified), (1.0, false)),
    }
    // Little sleep, alike calls, and a difference that shows.
    assert_eq!(doubt(&answer([1.0, 1.0], [0.6, 0.75], 0.3)), None);
    assert_eq!(doubt(&answer([1.0, 1.0], [0.2, 0.22], 0.1)), None);
    assert_eq!(doubt(&answer([1.0, 1.3], [0.5, 0.8], 0.1)), None);
}

#[test]
fn a_workload_that_is_not_judged_changes_nothing() {
    assert_eq!(verdict(Some(3.0), Some("another")).kind, VerdictKind::Winner);
}
