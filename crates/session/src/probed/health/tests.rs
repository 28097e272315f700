use super::{Health, health, of};
use seekwell_host::sysfs::System;
use serde_json::json;
use std::path::Path;

#[test]
fn an_nvme_disk_that_became_too_hot_is_doubted() {
    let reading = |celsius: i64, warned: i64| {
        of(&json!({
            "temperature": { "current": celsius },
            "smart_status": { "passed": true },
            "nvme_smart_health_information_log": { "warning_temp_time": warned, "critical_comp_time": 2 },
        }))
    };
    let (before, after) = (reading(34, 5), reading(83, 6));
    assert_eq!(after.hot_minutes, Some(8));
    assert_eq!(Health::line(before, after), "34 to 83 degrees Celsius, SMART passed");
    let doubts = Health::doubts(before, after);
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert!(doubts[0].contains("throttled"), "{doubts:?}");
    assert_eq!(Health::doubts(before, reading(60, 5)), [] as [String; 0]);
}

#[test]
fn a_disk_that_replaces_sectors_or_fails_is_doubted_and_silence_is_not_zero() {
    let reading = |count: i64, passed: bool| {
        of(&json!({
            "smart_status": { "passed": passed },
            "ata_smart_attributes": { "table": [
                { "id": 1, "raw": { "value": 9 } },
                { "id": 5, "raw": { "value": count } },
            ] },
        }))
    };
    let doubts = Health::doubts(reading(3, true), reading(4, false));
    assert_eq!(doubts.len(), 2, "{doubts:?}");
    assert_eq!(
        Health::line(reading(3, true), reading(3, true)),
        "temperature unknown, SMART passed, 3 sectors reallocated"
    );
    assert_eq!(of(&json!({ "smart_status": {} })), Health::default());
    assert_eq!(Health::doubts(Health::default(), reading(3, true)), [] as [String; 0]);
}

#[test]
fn health_is_what_smartctl_says_and_unknown_without_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut system = System::rooted_at(directory.path());
    system.programs = vec![directory.path().to_owned()];
    assert_eq!(health(&system, Path::new("/dev/none")), None);
    let program = directory.path().join("smartctl");
    let answer = r#"{"smart_status":{"passed":true},"temperature":{"current":31}}"#;
    seekwell_testing::program(&program, &format!("#!/bin/sh\necho '{answer}'\n"));
    let found = health(&system, Path::new("/dev/none")).unwrap();
    assert_eq!((found.celsius, found.passed), (Some(31), Some(true)));
}
