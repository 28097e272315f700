use super::{Record, Sample, SingleIo, StepRecord};

fn step(name: &str, started_ns: u64, ended_ns: u64) -> StepRecord {
    StepRecord { name: name.to_owned(), started_ns, ended_ns, ..StepRecord::default() }
}

fn record(steps: Vec<StepRecord>, at_ns: u64, elapsed_ns: u64) -> Record {
    let timeline = vec![Sample { at_ns, ..Sample::default() }];
    Record { steps, timeline, elapsed_ns, ..Record::blank() }
}

#[test]
fn the_second_part_of_a_trial_counts_its_times_from_the_begin_of_the_first() {
    let mut first = record(vec![step("mkfs", 10, 90)], 50, 100);
    first.in_force.mkfs = vec!["mkfs.ext4".to_owned()];
    let mut unpack = step("unpack", 7, 17);
    let one = SingleIo { at_ns: 8, latency_ns: 2, operation: "write".to_owned(), offset: 0 };
    unpack.single_ios.push(one);
    let mut second = record(vec![step("mount", 3, 5), unpack], 20, 40);
    second.in_force.mount = Some("rw".to_owned());
    second.fingerprint = Some("of the second".to_owned());
    let whole = second.behind(first);
    let times: Vec<(&str, u64, u64)> = whole
        .steps
        .iter()
        .map(|step| (step.name.as_str(), step.started_ns, step.ended_ns))
        .collect();
    assert_eq!(times, [("mkfs", 10, 90), ("mount", 103, 105), ("unpack", 107, 117)]);
    assert_eq!(whole.steps[2].single_ios[0].at_ns, 108);
    assert_eq!(whole.steps[2].single_ios[0].latency_ns, 2);
    assert_eq!(whole.timeline.iter().map(|sample| sample.at_ns).collect::<Vec<_>>(), [50, 120]);
    assert_eq!(whole.elapsed_ns, 140);
    assert_eq!(whole.in_force.mkfs, ["mkfs.ext4"]);
    assert_eq!(whole.in_force.mount.as_deref(), Some("rw"));
    assert_eq!(whole.fingerprint.as_deref(), Some("of the second"));
}
