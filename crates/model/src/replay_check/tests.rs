use super::*;

fn of(elapsed: f64, calls: f64, computing: f64) -> ReplayComparison {
    let compared = |replayed| Compared { recorded: 1.0, replayed };
    ReplayComparison {
        elapsed_s: compared(elapsed),
        calls_s: compared(calls),
        computing_s: Some(compared(computing)),
        ..ReplayComparison::default()
    }
}

#[test]
fn within_the_limit_no_part_is_off() {
    assert_eq!(of(1.15, 2.0, 2.0).off(), None);
    assert_eq!(of(0.9, 0.1, 0.1).off(), None);
    assert_eq!(of(0.9, 1.0, 1.0).error(), Some(1.0 / 0.9));
}

#[test]
fn the_part_that_grew_most_is_off() {
    assert_eq!(of(3.0, 1.1, 2.9).off(), Some(OffPart::Computing));
    assert_eq!(of(1.5, 1.4, 1.0).off(), Some(OffPart::Calls));
    assert_eq!(of(1.5, 1.1, 1.0).off(), Some(OffPart::Waiting));
    assert_eq!(of(0.5, 0.4, 1.0).off(), Some(OffPart::Calls));
}

#[test]
fn the_own_work_of_a_replay_is_an_error_where_its_time_is_not() {
    let with = |elapsed, overhead_s| ReplayComparison { overhead_s, ..of(elapsed, 1.0, 1.0) };
    assert_eq!(with(1.0, 0.5).error(), Some(2.0));
    assert_eq!(with(1.0, 0.2).off(), Some(OffPart::Overhead));
    assert_eq!(with(1.0, 0.1).off(), None);
    assert_eq!(with(1.5, 0.5).off(), Some(OffPart::Overhead));
    assert_eq!(with(1.5, 0.2).off(), Some(OffPart::Waiting));
    // Of several threads none has more than half of the time.
    assert_eq!(with(1.0, 3.0).error(), Some(2.0));
    assert_eq!(with(0.0, 0.0).error(), None);
}

#[test]
fn asynchronous_loads_are_taken_for_off_by_as_much_as_they_were_elsewhere() {
    let of = |elapsed| ReplayComparison { is_asynchronous: true, ..of(elapsed, 1.0, 1.0) };
    assert_eq!((of(1.0).error(), of(1.0).off()), (Some(1.35), Some(OffPart::Asynchronous)));
    assert_eq!((of(1.5).error(), of(1.5).off()), (Some(1.5), Some(OffPart::Waiting)));
}

#[test]
fn calls_with_other_requests_are_the_devices() {
    let requests = Some(Compared { recorded: 10.0, replayed: 20.0 });
    let found = ReplayComparison { requests, ..of(1.5, 1.5, 1.0) };
    assert_eq!(found.off(), Some(OffPart::Device));
    // A recorded 0 has no ratio.
    let requests = Some(Compared { recorded: 0.0, replayed: 20.0 });
    assert_eq!(ReplayComparison { requests, ..found }.off(), Some(OffPart::Calls));
}

#[test]
fn the_worst_of_several_checks_counts() {
    let check = |elapsed| ReplayCheck {
        workload: format!("{elapsed}"),
        result: CheckResult::Compared(Box::new(of(elapsed, 1.0, 1.0))),
    };
    let unchecked = ReplayCheck {
        workload: "none".to_owned(),
        result: CheckResult::Unchecked("it needs root".to_owned()),
    };
    let checks = [check(1.1), unchecked.clone(), check(1.3), check(0.5)];
    assert_eq!(worst(&checks).map(|one| &*one.workload), Some("0.5"));
    assert_eq!(worst(&checks[..2]), None);
    let text = serde_json::to_string(&unchecked).unwrap();
    assert_eq!(text, r#"{"workload":"none","result":{"unchecked":"it needs root"}}"#);
}
