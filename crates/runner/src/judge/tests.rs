use super::*;
use crate::fixture::{self, judge};
use crate::order::round_order;
use crate::records::{Records, outcomes, outcomes_of};
use crate::values::judged_values;
use seekwell_model::lab::Effort;
use seekwell_model::record::Sample;

mod reasons;

/// Records of 8 rounds in which the elapsed time of a stack is `base[stack]` times a noise that is
/// the same for every run of the test.
fn records(plan: &Plan, rounds: u32, base: &[f64], noise: f64) -> Records {
    let mut random = seekwell_stats::seeded(3);
    let mut all = Records::new();
    for round in 0..rounds {
        for trial in round_order(plan.lab.seed, plan.candidates.len() as u32, round) {
            let factor = (random.normal() * noise).exp();
            let record = fixture::record(base[trial.candidate as usize] * factor);
            all.insert(trial.index, (trial, record));
        }
    }
    all
}

#[test]
fn a_clear_difference_makes_a_winner_with_an_interval_below_one_for_nobody_else() {
    let plan = fixture::plan(&["slow", "fast", "middle"], Effort::Rounds(8));
    let verdict = judge(&plan, &records(&plan, 8, &[2.0, 1.0, 1.5], 0.02));
    assert_eq!(verdict.kind, VerdictKind::Winner);
    assert_eq!(verdict.stacks, ["fast"]);
    assert_eq!(verdict.baseline.as_deref(), Some("fast"));
    let order: Vec<&str> = verdict.ratios.iter().map(|ratio| ratio.stack.as_str()).collect();
    assert_eq!(order, ["fast", "middle", "slow"]);
    let slow = &verdict.ratios[2];
    assert!(
        slow.low.unwrap() < 2.0 && 2.0 < slow.high.unwrap() && slow.low.unwrap() > 1.5,
        "{slow:?}"
    );
    assert_eq!((verdict.rounds, slow.pairs), (8, 8));
}

#[test]
fn equal_numbers_are_an_exact_tie() {
    let plan = fixture::on_models(fixture::plan(&["a", "b"], Effort::Rounds(6)));
    let verdict = judge(&plan, &records(&plan, 6, &[1.0, 1.0], 0.0));
    assert_eq!(verdict.kind, VerdictKind::Tie);
    assert_eq!(verdict.decision, Some(Decision::EquivalentSet));
    assert_eq!(verdict.stacks.len(), 2);
    assert_eq!(verdict.sentence, "Take a: at most 0 % slower than the best of the 2 stacks.");
}

#[test]
fn five_rounds_never_make_a_winner() {
    let plan = fixture::plan(&["slow", "fast"], Effort::Rounds(6));
    let verdict = judge(&plan, &records(&plan, 5, &[9.0, 1.0], 0.01));
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert!(verdict.reason.contains("5 complete paired rounds"), "{}", verdict.reason);
}

#[test]
fn noise_without_difference_is_not_resolved_and_says_how_many_rounds_it_takes() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(8));
    let verdict = judge(&plan, &records(&plan, 8, &[1.0, 1.01], 0.3));
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert!(verdict.reason.contains("rounds would decide it"), "{}", verdict.reason);
}

#[test]
fn failed_and_marked_trials_are_missing_values_not_zeros() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut all = records(&plan, 6, &[1.0, 2.0], 0.01);
    let mut of_b = all.values_mut().filter(|(trial, _)| trial.candidate == 1);
    of_b.next().unwrap().1 = fixture::failed("no space");
    of_b.next().unwrap().1.status = Status::Marked;
    let values = judged_values(&plan, &outcomes_of(&plan, &all));
    assert_eq!(values[1].iter().filter(|value| value.is_none()).count(), 2);
    assert_eq!(values[0].iter().filter(|value| value.is_none()).count(), 0);
    let verdict = judge(&plan, &all);
    assert_eq!((verdict.kind, verdict.rounds), (VerdictKind::Unresolved, 4));
}

#[test]
fn a_run_without_a_single_good_trial_says_so() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let verdict = judge(&plan, &Records::new());
    assert_eq!((verdict.kind, verdict.rounds), (VerdictKind::Unresolved, 0));
    assert!(verdict.reason.contains("no successful trial"), "{}", verdict.reason);
}

#[test]
fn workloads_that_share_the_metric_are_joined_by_their_geometric_mean() {
    let mut plan = fixture::plan(&["a"], Effort::Rounds(6));
    plan.workloads.push(fixture::workload("step"));
    plan.candidates.push(seekwell_model::plan::Candidate { stack: 0, workload: 1 });
    let all = records(&plan, 6, &[2.0, 8.0], 0.0);
    for value in &judged_values(&plan, &outcomes_of(&plan, &all))[0] {
        assert!((value.unwrap() - 4.0).abs() < 1e-12);
    }
}

#[test]
fn equal_warnings_of_many_trials_are_said_once() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut all = records(&plan, 6, &[1.0, 2.0], 0.01);
    for (_, record) in all.values_mut() {
        record.warnings.push(Warning {
            code: "hot".to_owned(),
            text: "it is hot".to_owned(),
            remedy: "cool it".to_owned(),
        });
    }
    let list: Vec<_> = all.into_values().collect();
    let found = warnings(&plan, &list);
    let hot: Vec<_> = found.iter().filter(|warning| warning.code == "hot").collect();
    assert_eq!(hot.len(), 1);
    assert_eq!(hot[0].text, "it is hot (12 times, in a, b)");
}

#[test]
fn a_workload_that_one_stack_does_not_run_is_not_judged_and_that_is_said() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.workloads.push(fixture::workload("step"));
    plan.workloads[1].name = "large".into();
    plan.candidates.push(seekwell_model::plan::Candidate { stack: 0, workload: 1 });
    // Stack a runs a second workload that takes a hundred times as long.
    let all = records(&plan, 6, &[1.0, 2.0, 100.0], 0.0);
    let values = judged_values(&plan, &outcomes_of(&plan, &all));
    assert!(values[0].iter().all(|value| (value.unwrap() - 1.0).abs() < 1e-12), "{values:?}");
    let list: Vec<_> = all.into_values().collect();
    assert!(warnings(&plan, &list).iter().any(|warning| warning.text.contains("workload large")));
}

#[test]
fn a_step_that_every_workload_has_around_it_can_be_judged() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.lab.judge.metric = "mkfs.elapsed".into();
    let mut all = records(&plan, 6, &[1.0, 2.0], 0.01);
    for (_, record) in all.values_mut() {
        record.steps[0].name = "mkfs".into();
    }
    assert_eq!(judge(&plan, &all).kind, VerdictKind::Winner);
}

#[test]
fn an_interrupted_run_counts_whole_rounds_and_drops_nobody() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(6));
    let record = |trial: &PlannedTrial| fixture::record(1.0 + f64::from(trial.candidate));
    let first = |trials: usize| {
        outcomes(&plan, plan.trials.iter().take(trials).map(|one| (*one, record(one))))
    };
    for (trials, rounds) in [(2, 0), (3, 1), (7, 2)] {
        let verdict = interim(&plan, &first(trials));
        assert_eq!(verdict.rounds, rounds, "{trials}");
        assert_eq!(verdict.stacks, ["a", "b", "c"], "{trials}");
        let said = format!("{rounds} of its 6 rounds are complete");
        assert!(verdict.reason.contains(&said), "{}", verdict.reason);
    }
}

#[test]
fn rounds_that_lack_a_quarantined_stack_alone_are_whole() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(6));
    let record = |trial: &PlannedTrial| match trial.candidate {
        2 => fixture::failed("no room"),
        candidate => fixture::record(1.0 + f64::from(candidate)),
    };
    // The third failure of `c` is its last trial.
    let ran = plan.trials.iter().filter(|trial| trial.round < 5);
    let ran = ran.filter(|trial| trial.candidate != 2 || trial.round < 3);
    let kept = outcomes(&plan, ran.map(|one| (*one, record(one))));
    assert_eq!(interim(&plan, &kept).rounds, 5);
}

#[test]
fn processors_that_are_short_most_of_the_time_are_a_doubt() {
    let plan = fixture::plan(&["a"], Effort::Rounds(6));
    let pressed = |percent: Option<f64>| {
        let mut record = fixture::record(1.0);
        let sample = Sample { cpu_pressure_percent: percent, ..Sample::default() };
        record.timeline = vec![sample; 2];
        plan.trials.iter().map(|trial| (*trial, record.clone())).collect::<Vec<_>>()
    };
    let said = |percent| {
        warnings(&plan, &pressed(percent)).into_iter().find(|one| one.code == "busy-processors")
    };
    assert!(said(Some(95.0)).unwrap().text.contains("95 % of the time"));
    assert_eq!(said(Some(30.0)), None);
    // A kernel without pressure says nothing, and nothing is no calm.
    assert_eq!(said(None), None);
}

#[test]
fn a_reason_of_many_lines_is_one_line_in_a_warning() {
    assert_eq!(in_one_line("mkfs said no"), "mkfs said no");
    assert_eq!(
        in_one_line("the guest is gone\r\n\r\n  soft - 0\r\n"),
        "the guest is gone; soft - 0"
    );
    let long = "é".repeat(400);
    assert_eq!(in_one_line(&long), format!("{}…", "é".repeat(300)));
}
