use super::*;
use crate::fixture;
use crate::judge::judge;
use crate::order::round_order;
use seekwell_model::lab::{Effort, Method};
use seekwell_model::record::Sample;

/// Twelve rounds of three filesystems under two schedulers: every filesystem is 20 % slower than the
/// one before and flushes twice as often.
fn run() -> (Plan, Records) {
    let plan = fixture::race(3, 2, |lab| {
        lab.judge.method = Method::Rounds;
        lab.judge.effort = Effort::Rounds(12);
    });
    let mut all = Records::new();
    for round in 0..12 {
        for trial in round_order(plan.lab.seed, 6, round) {
            let mut record = fixture::raced(&plan, &trial, 0.2, 0.005);
            let number = trial.candidate / 2;
            let device = DeviceTotals {
                writes: 1000,
                written_bytes: 4_096_000,
                flushes: Some(100 << number),
                busy_ms: 400,
                ..DeviceTotals::default()
            };
            record.steps[0].device = Some(device);
            record.steps[0].ended_ns = 1_000_000_000;
            record.timeline =
                vec![Sample { at_ns: 500_000_000, queue_size: 1.0, ..Sample::default() }];
            all.insert(trial.index, (trial, record));
        }
    }
    (plan, all)
}

#[test]
fn the_axis_that_mattered_comes_first_with_what_stood_beside_it() {
    let (plan, records) = run();
    let evidence = judge(&plan, &records).evidence;
    let [filesystem, scheduler] = evidence.axes.as_slice() else { panic!("{:?}", evidence.axes) };
    assert_eq!((filesystem.axis.as_str(), scheduler.axis.as_str()), ("filesystem", "scheduler"));
    assert_eq!((filesystem.highest.as_str(), filesystem.lowest.as_str()), ("fs2", "fs0"));
    assert!((filesystem.ratio - 1.44).abs() < 0.02, "{filesystem:?}");
    assert!(filesystem.low.unwrap() > 1.4 && filesystem.high.unwrap() < 1.48, "{filesystem:?}");
    // Each half of the rounds is enough to show it.
    assert!(filesystem.measurable && filesystem.confirmed);
    let beside: Vec<(&str, f64, f64)> = filesystem
        .beside
        .iter()
        .map(|beside| (beside.what.as_str(), beside.at_highest, beside.at_lowest))
        .collect();
    assert_eq!(beside, [("flushes", 400.0, 100.0)]);
    assert!(!scheduler.measurable && scheduler.beside.is_empty() && !scheduler.confirmed);
    assert!(evidence.interactions.is_empty());
}

#[test]
fn what_a_modelled_device_did_stands_beside_the_axis_that_mattered() {
    let (plan, mut records) = run();
    for (trial, record) in records.values_mut() {
        let filesystem = f64::from(trial.candidate / 2);
        let metrics = [("arm_time", 0.1 + filesystem), ("erases", 50.0 * filesystem)];
        for (name, value) in metrics {
            record.steps[0].metrics.insert(name.to_owned(), value);
        }
    }
    let evidence = judge(&plan, &records).evidence;
    let beside: Vec<(&str, f64, f64)> = evidence.axes[0]
        .beside
        .iter()
        .map(|beside| (beside.what.as_str(), beside.at_highest, beside.at_lowest))
        .collect();
    let expected = [
        ("blocks erased", 100.0, 0.0),
        ("s of the arm's movement", 2.1, 0.1),
        ("flushes", 400.0, 100.0),
    ];
    assert_eq!(beside, expected);
}

#[test]
fn a_workload_that_does_not_see_the_storage_is_told_so() {
    let (plan, mut records) = run();
    let share = judge(&plan, &records).evidence.storage.unwrap();
    assert!(share.seen && share.busy > 0.3, "{share:?}");
    for (_, record) in records.values_mut() {
        record.steps[0].device.as_mut().unwrap().busy_ms = 20;
    }
    let share = judge(&plan, &records).evidence.storage.unwrap();
    assert!(!share.seen && share.busy < 0.03, "{share:?}");
    for (_, record) in records.values_mut() {
        record.steps[0].device = None;
    }
    assert_eq!(judge(&plan, &records).evidence.storage, None);
}

#[test]
fn requests_in_flight_come_from_samples_wholly_inside_the_step() {
    let sample = |ms: u64, queue_size: f64| Sample {
        at_ns: ms * 1_000_000,
        queue_size,
        ..Sample::default()
    };
    let step =
        StepRecord { started_ns: 100_000_000, ended_ns: 500_000_000, ..StepRecord::default() };
    let mut record = fixture::record(1.0);
    // The sample at 150 ms began before the step, that at 550 ms ended after it.
    record.timeline = [(50, 90.0), (150, 90.0), (250, 1.0), (350, 2.0), (450, 3.0), (550, 90.0)]
        .map(|(ms, queue)| sample(ms, queue))
        .to_vec();
    assert_eq!(in_flight(&record, &step), Some(2.0));
    // Two are too few to speak of.
    record.timeline.remove(3);
    assert_eq!(in_flight(&record, &step), None);
}
