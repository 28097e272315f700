use super::*;
use seekwell_model::replay_check::FewerSyncs;

fn check(elapsed: f64, calls: f64, computing: f64) -> ReplayCheck {
    let compared = |recorded, replayed| Compared { recorded, replayed };
    ReplayCheck {
        workload: "load".to_owned(),
        result: CheckResult::Compared(Box::new(ReplayComparison {
            stack: "ext4 on /dev/vda1".to_owned(),
            replays: 1,
            elapsed_s: compared(1.0, elapsed),
            calls_s: compared(0.8, calls),
            computing_s: Some(compared(0.1, computing)),
            ..ReplayComparison::default()
        })),
    }
}

#[test]
fn a_replay_near_the_program_has_its_ratio_alone() {
    let text = "The replay takes 1.05 times as long as your program did on ext4 on /dev/vda1.";
    assert_eq!(said(&check(1.05, 0.8, 0.1)), text);
}

#[test]
fn a_replay_that_is_off_names_the_part() {
    let start = "times as long as your program did on ext4 on /dev/vda1";
    let all = [
        (
            check(3.06, 0.8, 2.8),
            "3.06",
            "mostly by computing, 2.80 s against 0.100 s",
            "there is no bound",
        ),
        (
            check(1.3, 1.1, 0.1),
            "1.30",
            "mostly in calls, 1.10 s against 0.800 s",
            "the bound allows for it",
        ),
        (
            check(1.3, 0.8, 0.1),
            "1.30",
            "mostly in sleeps and in waits of its threads for each other",
            "the bound allows for it",
        ),
    ];
    let mut busy = check(1.0, 0.8, 0.1);
    if let CheckResult::Compared(found) = &mut busy.result {
        found.overhead_s = 0.3;
    }
    let own = "0.300 s are its own work, and recording slows a program of so many calls too";
    let mut rings = check(1.0, 0.8, 0.1);
    if let CheckResult::Compared(found) = &mut rings.result {
        found.is_asynchronous = true;
    }
    let others = "asynchronous I/O may be further off on other filesystems";
    let more = [(busy, "1.00", own), (rings, "1.00", others)];
    let more = more.map(|(check, ratio, part)| (check, ratio, part, "the bound allows for it"));
    let all = all.into_iter().chain(more);
    for (check, ratio, part, then) in all {
        assert_eq!(said(&check), format!("The replay takes {ratio} {start} ({part}): {then}."));
    }
}

#[test]
fn fewer_syncs_are_said_where_they_gain_something() {
    let with = |elapsed_s| {
        let mut check = check(1.0, 0.8, 0.1);
        if let CheckResult::Compared(found) = &mut check.result {
            found.fewer_syncs = Some(FewerSyncs { every: 10, elapsed_s });
        }
        check
    };
    let text = "The replay takes 1.00 times as long as your program did on ext4 on /dev/vda1.";
    let gain = " With one sync for 10 the replay takes 0.310 times as long, and a crash may lose up to 10 times as much.";
    assert_eq!(said(&with(0.31)), format!("{text}{gain}"));
    assert_eq!(said(&with(0.88)), text);
    assert_eq!(check_json(&with(0.31))["fewer_syncs_ratio"], 0.31);
}

#[test]
fn a_recording_from_elsewhere_says_so() {
    let reason = "the filesystem that it was recorded on is not here".to_owned();
    let check = ReplayCheck { workload: "load".to_owned(), result: CheckResult::Unchecked(reason) };
    let text = "The replay's time could not be compared with your program's: the filesystem that it was recorded on is not here.";
    assert_eq!(said(&check), text);
}

#[test]
fn programs_get_the_ratio_the_part_and_the_reason() {
    let mut view = crate::fixture::winner();
    let reason = CheckResult::Unchecked("that needs root".to_owned());
    view.plan.replay_checks =
        vec![check(1.3, 1.1, 0.1), ReplayCheck { workload: "other".to_owned(), result: reason }];
    let said = "load: recorded and replayed, elapsed 1.00 s and 1.30 s; in calls 800 ms and 1.10 s; computing 100 ms and 100 ms";
    assert_eq!(parts(&view), [said]);
    let value = json(&view);
    let (found, none) = (&value[0], &value[1]);
    assert_eq!((&found["ratio"], &found["off"]), (&json!(1.3), &json!("calls")));
    assert_eq!(found["measured"]["elapsed_s"], json!({ "recorded": 1.0, "replayed": 1.3 }));
    assert_eq!(found["reason"], Value::Null);
    assert_eq!((&none["ratio"], &none["measured"]), (&Value::Null, &Value::Null));
    assert_eq!((&none["workload"], &none["reason"]), (&json!("other"), &json!("that needs root")));
    assert!(none["sentence"].as_str().unwrap().ends_with("that needs root."));
}
