use super::*;
use crate::fixture;
use crate::order::round_order;
use crate::records::{Records, outcomes_of};
use crate::values::judged_values;
use seekwell_model::lab::Effort;
use seekwell_model::record::{DeviceTotals, Record};
use seekwell_model::stack::Backing;

/// 12 rounds of three stacks in the planned order; `change` alters a record by what ran before.
fn run(change: impl Fn(&PlannedTrial, Option<u32>, &mut Record)) -> (Plan, Records) {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(12));
    let mut random = seekwell_stats::seeded(11);
    let mut all = Records::new();
    let mut before = None;
    for round in 0..12 {
        for trial in round_order(plan.lab.seed, 3, round) {
            let value = f64::from(trial.candidate + 1) * (0.01 * random.normal()).exp();
            let mut record = fixture::record(value);
            change(&trial, before, &mut record);
            before = Some(trial.candidate);
            all.insert(trial.index, (trial, record));
        }
    }
    (plan, all)
}

use seekwell_model::plan::PlannedTrial;

fn slower(record: &mut Record, factor: f64) {
    if let Some(value) = record.steps[0].metrics.get_mut("elapsed") {
        *value *= factor;
    }
}

fn found(plan: &Plan, records: &Records) -> BTreeMap<String, Option<bool>> {
    let outcomes = outcomes_of(plan, records);
    let values = judged_values(plan, &outcomes);
    checks(plan, &outcomes, &values).into_iter().map(|check| (check.name, check.found)).collect()
}

#[test]
fn a_quiet_laboratory_shows_nothing() {
    let (plan, records) = run(|_, _, _| {});
    for (name, found) in found(&plan, &records) {
        assert_eq!(found, Some(false), "{name}");
    }
}

#[test]
fn drift_order_and_carry_over_are_told_apart() {
    let (plan, records) = run(|trial, _, record| {
        slower(record, 1.0 + 0.02 * f64::from(trial.round));
    });
    let seen = found(&plan, &records);
    assert_eq!(
        (seen["drift"], seen["order"], seen["carry-over"]),
        (Some(true), Some(false), Some(false))
    );
    let (plan, records) = run(|trial, _, record| {
        slower(record, 1.0 + 0.05 * f64::from(trial.index % 3));
    });
    let seen = found(&plan, &records);
    assert_eq!((seen["drift"], seen["order"]), (Some(false), Some(true)));
    let (plan, records) = run(|_, before, record| {
        slower(record, if before == Some(2) { 1.15 } else { 1.0 });
    });
    assert_eq!(found(&plan, &records)["carry-over"], Some(true));
}

/// Guests know nothing of each other: what looks like an effect of the one before is chance.
#[test]
fn trials_on_models_have_no_order() {
    let (mut plan, records) = run(|_, before, record| {
        if before == Some(2) {
            slower(record, 1.4);
        }
    });
    assert_eq!(found(&plan, &records)["carry-over"], Some(true));
    for stack in &mut plan.stacks {
        stack.device.backing = Backing::Model { model: "disk".to_owned(), size: None, start: None };
    }
    assert!(!found(&plan, &records).contains_key("carry-over"));
}

#[test]
fn a_trial_that_moved_far_more_bytes_than_its_like_had_company() {
    let (plan, records) = run(|trial, _, record| {
        let extra = if trial.index == 17 { 40_000_000 } else { 0 };
        let written_bytes = 10_000_000 + u64::from(trial.round) * 1_000 + extra;
        record.steps[0].device = Some(DeviceTotals { written_bytes, ..DeviceTotals::default() });
    });
    let outcomes = outcomes_of(&plan, &records);
    let values = judged_values(&plan, &outcomes);
    let all = checks(&plan, &outcomes, &values);
    let check = all.iter().find(|check| check.name == "other-writer").unwrap();
    assert_eq!(check.found, Some(true));
    assert!(check.text.starts_with("1 of 36 trials"), "{}", check.text);
    assert!(check.text.contains("trial 17 of"), "{}", check.text);
}

#[test]
fn a_stack_with_several_workloads_has_one_value_in_a_round() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.workloads.push(fixture::workload("step"));
    plan.candidates.push(seekwell_model::plan::Candidate { stack: 0, workload: 1 });
    let mut records = Records::new();
    for round in 0..2 {
        for trial in round_order(plan.lab.seed, 3, round) {
            records.insert(trial.index, (trial, fixture::record(1.0)));
        }
    }
    let found = in_order(
        &plan,
        &outcomes_of(&plan, &records),
        &[vec![Some(1.0), None], vec![Some(2.0), Some(2.0)]],
    );
    let stacks = |round: usize| {
        let of_round = found.iter().filter(|trial| trial.round == round);
        of_round.map(|trial| (trial.stack, trial.value)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(stacks(0), BTreeMap::from([(0, 1.0), (1, 2.0)]));
    assert_eq!(stacks(1), BTreeMap::from([(1, 2.0)]));
    assert!(found.iter().all(|trial| trial.position < 3));
}

fn moved(bytes: &[u64]) -> Option<CheckFound> {
    let plan = fixture::plan(&["a"], Effort::Rounds(6));
    let mut records = Records::new();
    for (round, written_bytes) in (0..).zip(bytes) {
        for trial in round_order(plan.lab.seed, 1, round) {
            let mut record = fixture::record(1.0);
            let device = DeviceTotals { written_bytes: *written_bytes, ..DeviceTotals::default() };
            record.steps[0].device = Some(device);
            records.insert(trial.index, (trial, record));
        }
    }
    other_writer(&plan, &outcomes_of(&plan, &records))
}

#[test]
fn company_is_half_as_much_again_and_more_than_metadata() {
    let found = |bytes: &[u64]| moved(bytes).unwrap().found;
    const MB: u64 = 1_000_000;
    assert_eq!(found(&[10 * MB, 10 * MB, 10 * MB, 16 * MB]), Some(true));
    assert_eq!(found(&[10 * MB, 10 * MB, 10 * MB, 15 * MB]), Some(false), "just half as much");
    assert_eq!(found(&[4 * MB, 4 * MB, 4 * MB, 8 * MB]), Some(false), "just 4 MB");
    assert_eq!(found(&[4 * MB, 4 * MB, 4 * MB, 9 * MB]), Some(true));
    assert_eq!(found(&[10 * MB, 10 * MB, 16 * MB]), Some(true), "three are enough");
    assert_eq!(found(&[10 * MB, 99 * MB]), None, "two trials have no usual amount");
    assert_eq!(moved(&[]), None);
}
