use super::*;
use crate::fixture;
use crate::order::round_order;
use seekwell_model::lab::Effort;
use seekwell_model::units::Bytes;

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
fn a_queue_as_deep_as_the_scheduler_makes_it_is_a_part_of_the_scheduler() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.stacks[1].scheduler.name = "another".to_owned();
    assert_eq!(in_force(&plan, &records(&plan, [128, 31])), []);
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

#[test]
fn several_stacks_with_one_value_are_counted() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(6));
    let value = |trial: PlannedTrial| {
        let mut record = fixture::record(1.0);
        record.in_force.swap = Some(Bytes::mib(if trial.candidate < 2 { 8 } else { 4 }));
        (trial, record)
    };
    let records: Vec<_> = round_order(plan.lab.seed, 3, 0).into_iter().map(value).collect();
    let texts: Vec<String> = in_force(&plan, &records).into_iter().map(|one| one.text).collect();
    assert_eq!(texts, ["swap was not the same in all stacks: 4MiB on c; 8MiB on a and 1 more"]);
}

#[test]
fn settings_differ_between_devices_and_swap_does_not() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut records = records(&plan, [128, 2]);
    plan.lab.devices = vec![plan.stacks[0].device.clone(); 2];
    assert_eq!(in_force(&plan, &records).len(), 1, "variants of one device");
    plan.lab.devices[1].base = "another".into();
    assert_eq!(in_force(&plan, &records), []);
    for (trial, record) in &mut records {
        record.in_force.swap = Some(Bytes::mib(u64::from(trial.candidate)));
    }
    assert_eq!(in_force(&plan, &records).len(), 1, "swap is the machine's, not a device's");
}

/// A change of a lab's stack.
type Ask = fn(&mut seekwell_model::stack::Stack);

#[test]
fn each_setting_that_the_lab_varies_is_no_doubt() {
    let asked: [(&str, Ask); 9] = [
        ("nr_requests", |stack| stack.device.settings.nr_requests = Some(2)),
        ("read_ahead_kb", |stack| stack.scheduler.read_ahead_kb = Some(2)),
        ("read_ahead_kb", |stack| stack.device.settings.read_ahead_kb = Some(2)),
        ("max_sectors_kb", |stack| stack.device.settings.max_sectors_kb = Some(2)),
        ("rotational", |stack| stack.device.settings.rotational = Some(true)),
        ("write_cache", |stack| {
            stack.device.settings.write_cache = Some(seekwell_model::stack::WriteCache::WriteBack);
        }),
        ("journal size", |stack| stack.filesystem.name = "other".into()),
        ("filesystem block size", |stack| stack.filesystem.name = "other".into()),
        ("journal size", |stack| {
            stack.journal.size = Some(Bytes::mib(8));
        }),
    ];
    for (name, ask) in asked {
        let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
        for stack in &mut plan.stacks {
            stack.filesystem.name = "ext4".into();
        }
        assert!(!varied_by_the_lab(&plan, name), "{name}");
        ask(&mut plan.stacks[1]);
        assert!(varied_by_the_lab(&plan, name), "{name}");
        assert!(!varied_by_the_lab(&plan, "physical_block_size"));
    }
}
