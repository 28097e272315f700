//! Causes on this machine: rounds without flushes and in memory.

use crate::{SMALL_LAB, can_run, run_lab, seekwell, talk};
use serde_json::Value;

/// Every write waits for the device, or none: on the machine and on the model the same stack is slower, by far.
#[test]
fn why_divides_a_difference_on_scratch_images_and_finds_its_causes_on_a_twin() {
    let test = "why_divides_a_difference_on_scratch_images_and_finds_its_causes_on_a_twin";
    let Some(_machine) = can_run(test, &["mkfs.ext4"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let synced =
        "[[filesystem]]\nname = \"synced\"\ntype = \"ext4\"\nmount = [\"sync\"]\n[scheduler]";
    let lab = SMALL_LAB
        .replace("ram = { size = \"64MiB\" }", "loop = \"64MiB\"")
        .replace("choose = [\"none\", \"mq-deadline\"]", "choose = [\"none\"]")
        .replace("[scheduler]", synced);
    run_lab(here, &lab);
    let why = ["why", "small.seekwell", "ext4", "synced", "--rounds", "2", "--twin=hdd", "--json"];
    let output = seekwell(here).args(why).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let why: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let causes = why["causes"].as_array().unwrap();
    let names: Vec<&Value> = causes.iter().map(|cause| &cause["laws"][0]).collect();
    assert_eq!(names, ["flush", "device"], "{why}");
    let sum = causes.iter().map(|cause| number(&cause["amount"])).sum::<f64>();
    let difference = number(&why["at_worse"]) - number(&why["at_better"]);
    assert!((sum + number(&why["rest"]) - difference).abs() < 1e-9, "{why}");
    let host = &why["on_host"];
    assert_eq!((&host["rounds"], host["errors"].as_array().unwrap().len()), (&2.into(), 4));
    // Two stacks as they are, without flushes, in memory and without a memory limit, in two rounds.
    assert_eq!(why["trials"], 16);
    let report = seekwell(here).args(["report", "small.seekwell", "--all"]).output().unwrap();
    let report = crate::data(&report);
    assert!(report.contains("Found by experiment on this machine"), "{report}");

    let twin = &host["twin"];
    assert_eq!(twin["model"], "sata-2tb-7200", "{why}");
    if let Some(reason) = twin["impossible"].as_str() {
        assert!(reason.starts_with("no lab kernel"), "{reason}");
        return seekwell_testing::skip(test, reason);
    }
    assert_eq!((&twin["pairs"], &twin["disagree"]), (&1.into(), &serde_json::json!([])), "{twin}");
    let found = &twin["why"];
    assert_eq!((&found["better"], &found["worse"]), (&"ext4".into(), &"synced".into()), "{found}");
    assert_eq!(found["causes"][0]["laws"], serde_json::json!(["flush"]), "{found}");
    assert!(report.contains("On the twin, synced takes"), "{report}");
}
