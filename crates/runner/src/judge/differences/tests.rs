use super::*;
use crate::fixture;
use crate::order::round_order;
use seekwell_model::lab::Effort;

fn records(plan: &Plan, nr_requests: [u32; 2]) -> Vec<(PlannedTrial, Record)> {
    let trials = round_order(plan.lab.seed, 2, 0);
    let record = |trial: PlannedTrial| {
        let mut record = fixture::record(1.0);
        record.in_force.device.queue.nr_requests = Some(nr_requests[trial.candidate as usize]);
        (trial, record)
    };
    trials.into_iter().map(record).collect()
}

#[test]
fn equal_settings_raise_no_doubt() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    assert_eq!(in_force(&plan, &records(&plan, [128, 128])), []);
}

#[test]
fn a_difference_that_nobody_asked_for_is_named_with_its_values() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let found = in_force(&plan, &records(&plan, [128, 2]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "nr_requests was not the same in all stacks: 128 on a; 2 on b");
}

#[test]
fn a_difference_that_the_lab_asks_for_is_none() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.stacks[1].scheduler.nr_requests = Some(2);
    assert_eq!(in_force(&plan, &records(&plan, [128, 2])), []);
}

#[test]
fn failed_trials_say_nothing_about_settings() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut records = records(&plan, [128, 2]);
    for (_, record) in &mut records {
        record.status = Status::Marked;
    }
    assert_eq!(in_force(&plan, &records), []);
}
