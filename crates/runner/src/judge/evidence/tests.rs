use super::*;
use crate::fixture::{self, judge};
use crate::order::round_order;
use crate::records::{Records, outcomes_of};
use seekwell_model::lab::{Effort, Method};
use seekwell_model::record::DeviceTotals;

/// Twelve rounds of three filesystems under two schedulers: every filesystem is 20 % slower than the one before.
fn run() -> (Plan, Records) {
    let plan = fixture::race(3, 2, |lab| {
        lab.judge.method = Method::Rounds;
        lab.judge.effort = Effort::Rounds(12);
    });
    let mut all = Records::new();
    for round in 0..12 {
        for trial in round_order(plan.lab.seed, 6, round) {
            let mut record = fixture::raced(&plan, &trial, 0.2, 0.005);
            record.steps[0].device = Some(DeviceTotals { busy_ms: 400, ..DeviceTotals::default() });
            record.steps[0].ended_ns = 1_000_000_000;
            all.insert(trial.index, (trial, record));
        }
    }
    (plan, all)
}

#[test]
fn the_axis_that_matters_comes_first() {
    let (plan, records) = run();
    let answer = judge(&plan, &records).answer.unwrap();
    let [filesystem, scheduler] = answer.axes.as_slice() else { panic!("{:?}", answer.axes) };
    assert_eq!((filesystem.axis.as_str(), scheduler.axis.as_str()), ("filesystem", "scheduler"));
    assert_eq!((filesystem.left.as_slice(), filesystem.out.len()), (&["fs0".to_owned()][..], 2));
    let worst = &filesystem.out[1];
    assert_eq!((worst.value.as_str(), worst.against.as_str()), ("fs2", "fs0"));
    assert!((worst.ratio - 1.44).abs() < 0.02, "{filesystem:?}");
    assert!(worst.low.unwrap() > 1.4 && worst.high.unwrap() < 1.48, "{filesystem:?}");
    assert!(scheduler.within.unwrap() < 0.02, "{scheduler:?}");
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

/// Records of one round in which the device of a stack is busy for so many ms of 1 s.
fn busy(plan: &Plan, rounds: u32, busy_ms: impl Fn(u32, u32) -> u64) -> Records {
    let mut all = Records::new();
    for round in 0..rounds {
        for trial in round_order(plan.lab.seed, plan.candidates.len() as u32, round) {
            let mut record = fixture::record(1.0);
            let busy_ms = busy_ms(trial.candidate, round);
            record.steps[0].device = Some(DeviceTotals { busy_ms, ..DeviceTotals::default() });
            all.insert(trial.index, (trial, record));
        }
    }
    all
}

#[test]
fn the_share_of_the_storage_is_that_of_the_stack_with_the_largest() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(6));
    let share = |records: &Records| storage(&plan, &outcomes_of(&plan, records));
    let found = share(&busy(&plan, 3, |stack, _| [100, 900, 200][stack as usize])).unwrap();
    assert!((found.busy - 0.9).abs() < 1e-9 && found.seen, "{found:?}");
    // Of equal shares the first stack decides whether the workload sees the storage.
    let once = |stack: u32, round: u32| if (stack, round) == (1, 2) { 900 } else { 20 };
    let found = share(&busy(&plan, 3, once)).unwrap();
    assert!((found.busy - 0.02).abs() < 1e-9 && !found.seen, "{found:?}");
    // A step without a time has no share.
    let mut records = busy(&plan, 1, |_, _| 100);
    for (_, record) in records.values_mut() {
        record.steps[0].metrics.insert("elapsed".into(), 0.0);
    }
    assert!(share(&records).is_none());
}
