use super::*;
use crate::fixture;
use seekwell_model::lab::Effort;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{InForce, Node};
use serde_json::json;

const STEADY: [f64; 8] = [1.0, 1.011, 0.99, 1.003, 1.01, 0.991, 0.999, 1.002];

/// Records of stacks whose trials take these times, round by round.
fn records(plan: &Plan, stacks: &[&[f64]]) -> Records {
    let mut records = Records::new();
    for (candidate, times) in stacks.iter().enumerate() {
        for (round, time) in times.iter().enumerate() {
            let index = (round * stacks.len() + candidate) as u32;
            let trial =
                PlannedTrial { index, round: round as u32, candidate: candidate as u32, seed: 1 };
            records.insert(index, (trial, fixture::record(*time)));
        }
    }
    assert_eq!(plan.stacks.len(), stacks.len());
    records
}

fn scaled(factor: f64) -> Vec<f64> {
    STEADY.iter().map(|time| time * factor).collect()
}

fn found(plan: &Plan, first: &Records, second: &Records, limit: Option<f64>) -> RunComparison {
    let environment = json!({ "kernel": "6.1" });
    let newer = json!({ "kernel": "6.12" });
    let one = Side {
        name: "a",
        plan,
        records: first,
        backend: "host",
        environment: &environment,
        tool: "1",
    };
    let two = Side { name: "b", records: second, environment: &newer, ..one };
    let wanted = Wanted { fail_above: limit, reference: None };
    compare(&[one], &[two], &wanted).unwrap()
}

#[test]
fn better_worse_and_same_are_told_apart_and_the_kernel_is_named() {
    let plan = fixture::plan(&["slower", "faster", "equal"], Effort::Rounds(8));
    let first = records(&plan, &[&STEADY, &STEADY, &STEADY]);
    let second = records(&plan, &[&scaled(1.2), &scaled(0.8), &scaled(1.0)]);
    let found = found(&plan, &first, &second, None);
    let changes: Vec<Change> = found.stacks.iter().map(|stack| stack.change).collect();
    assert_eq!(changes, [Change::Worse, Change::Better, Change::Same]);
    assert!(found.is_resolved());
    assert_eq!(found.threshold(), None);
    assert_eq!(found.differences.len(), 1);
    assert_eq!(found.differences[0].what, "kernel");
    assert_eq!(found.differences[0].second.as_deref(), Some("6.12"));
    let ratio = found.stacks[0].ratio.unwrap();
    assert!((ratio - 1.2).abs() < 1e-9);
}

#[test]
fn doubts_of_either_run_are_carried() {
    let plan = fixture::plan(&["stack"], Effort::Rounds(8));
    let first = records(&plan, &[&STEADY]);
    let mut second = records(&plan, &[&scaled(0.8)]);
    let busy = seekwell_model::record::Sample {
        cpu_pressure_percent: Some(80.0),
        ..seekwell_model::record::Sample::default()
    };
    for (_, record) in second.values_mut() {
        record.timeline = vec![busy];
    }
    let found = found(&plan, &first, &second, None);
    assert!(found.first_doubts.iter().all(|doubt| doubt.code != "busy-processors"));
    assert!(found.second_doubts.iter().any(|doubt| doubt.code == "busy-processors"));
    // Twenty per cent, far outside the interval: but the machine alone explains it.
    assert_eq!(found.stacks[0].change, Change::NotResolved);
    assert!(found.withheld.unwrap().ends_with("during b alone"));
}

#[test]
fn other_programs_during_one_run_explain_a_difference() {
    let plan = fixture::plan(&["stack"], Effort::Rounds(8));
    let run = |factor: f64, others: f64| {
        let mut records = records(&plan, &[&scaled(factor)]);
        for (_, record) in records.values_mut() {
            record.others_cpu_percent = Some(others);
        }
        records
    };
    let busy = found(&plan, &run(1.0, 3.0), &run(1.4, 48.0), None);
    assert_eq!(busy.stacks[0].change, Change::NotResolved);
    assert_eq!(
        busy.withheld.unwrap(),
        "other programs used 3 % of the processors during a and 48 % during b"
    );
    let alike = found(&plan, &run(1.0, 3.0), &run(1.4, 17.0), None);
    assert_eq!((alike.stacks[0].change, alike.withheld), (Change::Worse, None));
}

#[test]
fn runs_on_other_nodes_are_not_called_different() {
    let plan = fixture::plan(&["stack"], Effort::Rounds(8));
    let run = |factor: f64, name: &str| {
        let mut records = records(&plan, &[&scaled(factor)]);
        for (_, record) in records.values_mut() {
            let node = Node { name: name.to_owned(), ..Node::default() };
            record.in_force = InForce { node: Some(node), ..(*record.in_force).clone() }.into();
        }
        records
    };
    let other = found(&plan, &run(1.0, "n1"), &run(1.4, "n2"), None);
    assert_eq!(other.stacks[0].change, Change::NotResolved);
    assert_eq!(other.withheld.unwrap(), "a ran on the nodes n1, b on n2");
    assert!(other.differences.iter().any(|one| one.what == "node"));
    assert_eq!(
        found(&plan, &run(1.0, "n1"), &run(1.4, "n1"), None).stacks[0].change,
        Change::Worse
    );
}

#[test]
fn a_threshold_fails_only_when_worse_by_more_is_shown() {
    let plan = fixture::plan(&["stack"], Effort::Rounds(8));
    let first = records(&plan, &[&STEADY]);
    let at = |factor: f64| {
        let second = records(&plan, &[&scaled(factor)]);
        found(&plan, &first, &second, Some(0.05)).threshold().unwrap()
    };
    assert_eq!(at(1.20), Threshold::Failed);
    assert_eq!(at(1.05), Threshold::NotResolved);
    assert_eq!(at(1.01), Threshold::Held);
    assert_eq!(at(0.50), Threshold::Held);
}

#[test]
fn for_a_rate_higher_is_better() {
    let mut plan = fixture::plan(&["stack"], Effort::Rounds(8));
    plan.lab.judge.better = Better::Higher;
    let first = records(&plan, &[&STEADY]);
    let second = records(&plan, &[&scaled(0.8)]);
    let found = found(&plan, &first, &second, Some(0.05));
    assert_eq!(found.stacks[0].change, Change::Worse);
    assert_eq!(found.threshold(), Some(Threshold::Failed));
}

#[test]
fn five_trials_decide_nothing() {
    let plan = fixture::plan(&["stack"], Effort::Rounds(8));
    let first = records(&plan, &[&STEADY]);
    let second = records(&plan, &[&scaled(3.0)[..5]]);
    let found = found(&plan, &first, &second, Some(0.05));
    assert_eq!(found.stacks[0].change, Change::TooFew);
    assert!(found.stacks[0].ratio.is_some());
    assert!(!found.is_resolved());
    assert_eq!(found.threshold(), Some(Threshold::NotResolved));
}

#[test]
fn other_questions_are_refused_and_a_firmware_is_marked() {
    let plan = fixture::plan(&["one", "two"], Effort::Rounds(8));
    let kept = records(&plan, &[&STEADY, &STEADY]);
    let environment = json!({});
    let side = |plan, records, backend| Side {
        name: "run",
        plan,
        records,
        backend,
        environment: &environment,
        tool: "1",
    };
    let mut other = plan.clone();
    other.lab.judge.metric = "step.cpu".into();
    let refused = |one, two| compare(&[one], &[two], &Wanted::default()).unwrap_err();
    let message = refused(side(&plan, &kept, "host"), side(&other, &kept, "host")).to_string();
    assert!(message.contains("step.cpu"), "{message}");
    let message = refused(side(&plan, &kept, "host"), side(&plan, &kept, "virtual")).to_string();
    assert!(message.contains("different backends"), "{message}");
    let mut other = plan.clone();
    other.workloads = vec![fixture::workload("step")];
    other.workloads[0].beside = other.workloads[0].parts.clone();
    let message = refused(side(&plan, &kept, "host"), side(&other, &kept, "host")).to_string();
    assert!(message.contains("workload 'step' differs"), "{message}");
    let strangers = fixture::plan(&["three", "four"], Effort::Rounds(8));
    let message = refused(side(&plan, &kept, "host"), side(&strangers, &kept, "host")).to_string();
    assert!(message.contains("no stack in common"), "{message}");

    let mut newer = kept.clone();
    for (_, record) in newer.values_mut() {
        record.in_force.device.firmware = Some("B2".into());
    }
    let sides = [side(&plan, &kept, "host"), side(&plan, &newer, "host")];
    let marked = compare(&sides[..1], &sides[1..], &Wanted::default()).unwrap();
    assert_eq!(marked.differences.len(), 1);
    assert_eq!(marked.differences[0].what, "firmware");
    assert_eq!(marked.differences[0].stacks, ["one", "two"]);
}

/// Runs of two stacks, each slowed as a whole by a factor; `b` is slower by another one.
fn runs(plan: &Plan, factors: &[(f64, f64)]) -> Vec<Records> {
    let run = |(all, b): &(f64, f64)| records(plan, &[&scaled(*all), &scaled(all * b)]);
    factors.iter().map(run).collect()
}

fn compared(
    plan: &Plan,
    first: &[Records],
    second: &[Records],
    reference: Option<&str>,
) -> Result<RunComparison, NotComparable> {
    let environment = json!({});
    let sides = |runs: &'_ [Records], name: &'static str| -> Vec<(&'static str, usize)> {
        (0..runs.len()).map(|run| (name, run)).collect()
    };
    let side = |(name, run): (&'static str, usize)| Side {
        name,
        plan,
        records: if name == "before" { &first[run] } else { &second[run] },
        backend: "host",
        environment: &environment,
        tool: "1",
    };
    let first: Vec<Side<'_>> = sides(first, "before").into_iter().map(side).collect();
    let second: Vec<Side<'_>> = sides(second, "after").into_iter().map(side).collect();
    compare(&first, &second, &Wanted { fail_above: None, reference })
}

#[test]
fn three_runs_per_side_know_how_much_runs_differ_by_themselves() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(8));
    // The machine alone moves by 10 % from run to run, which no single run shows.
    let restless = [(1.0, 1.0), (1.1, 1.0), (0.95, 1.0)];
    let later = [(1.08, 1.0), (1.0, 1.0), (1.12, 1.0)];
    let found = compared(&plan, &runs(&plan, &restless), &runs(&plan, &later), None).unwrap();
    let changes: Vec<Change> = found.stacks.iter().map(|stack| stack.change).collect();
    assert_eq!(changes, [Change::NotResolved; 2]);
    assert!(found.has_several_runs() && found.first_runs.len() == 3);
    // One of the pairs alone would have been called different.
    let one = compared(&plan, &runs(&plan, &restless[..1]), &runs(&plan, &later[..1]), None);
    assert_eq!(one.unwrap().stacks[0].change, Change::Worse);
    // A change of 50 % is larger than that.
    let slower = later.map(|(all, b)| (1.5 * all, b));
    let found = compared(&plan, &runs(&plan, &restless), &runs(&plan, &slower), None).unwrap();
    assert!(found.stacks.iter().all(|stack| stack.change == Change::Worse), "{found:?}");
}

#[test]
fn a_reference_cancels_what_slows_the_whole_machine() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(8));
    let before = runs(&plan, &[(1.0, 1.0)]);
    let slow_machine = runs(&plan, &[(1.3, 1.0)]);
    let found = compared(&plan, &before, &slow_machine, Some("a")).unwrap();
    assert_eq!(found.stacks.len(), 1);
    assert_eq!((found.stacks[0].stack.as_str(), found.stacks[0].change), ("b", Change::Same));
    let slow_b = runs(&plan, &[(1.3, 1.2)]);
    let found = compared(&plan, &before, &slow_b, Some("a")).unwrap();
    assert_eq!(found.stacks[0].change, Change::Worse);
    assert!((found.stacks[0].ratio.unwrap() - 1.2).abs() < 1e-9);
    let missing = compared(&plan, &before, &slow_b, Some("c")).unwrap_err().to_string();
    assert_eq!(missing, "reference stack 'c' is not in before; it has a, b");
}

#[test]
fn two_runs_on_a_side_are_refused() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(8));
    let run = |count| runs(&plan, &vec![(1.0, 1.0); count]);
    for (first, second) in [(2, 2), (1, 3), (3, 2), (0, 1)] {
        let refused = compared(&plan, &run(first), &run(second), None).unwrap_err().to_string();
        let start = format!("{first} runs before and {second} after; ");
        assert!(refused.starts_with(&start), "{refused}");
    }
}
