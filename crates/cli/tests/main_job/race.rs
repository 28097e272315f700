//! A race on this kernel: pilot, screen and final of real trials.

use super::{assert_all_ok, can_run, run_lab, seekwell, talk, trials};
use std::collections::BTreeMap;

const LAB: &str = r#"
[[device]]
name = "scratch"
ram = "32MiB"

[[filesystem]]
type = "ext2"
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "ext4-nojournal"

[scheduler]
choose = ["none", "mq-deadline", "bfq"]

[[workload]]
kind = "command"
step = "write"
run = "dd if=/dev/zero of={dir}/file bs=64k count=16 conv=fsync status=none"

[judge]
metric = "write.elapsed_durable"
method = "race"
rounds = 6
tie = "10%"
"#;

#[test]
fn nine_stacks_are_raced_and_an_interrupted_race_is_not_judged_before_its_look() {
    let name = "nine_stacks_are_raced_and_an_interrupted_race_is_not_judged_before_its_look";
    let Some(_machine) = can_run(name, &["mkfs.ext2", "mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(directory.path(), LAB);
    assert_all_ok(&run);

    // Pilot: three stacks twice; screen: all nine; final: eight in six rounds, of which some may leave after
    // the look at the fourth.
    let mut parts: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in trials(&run) {
        *parts.entry(trial["part"].as_str().unwrap()).or_default() += 1;
    }
    assert_eq!((parts["pilot"], parts["screen"], parts.len()), (6, 9, 3));
    assert!((4 * 8 + 2..=6 * 8).contains(&parts["final"]), "{parts:?}");
    let indices: Vec<u64> = trials(&run).iter().map(|t| t["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, (0..15 + parts["final"] as u64).collect::<Vec<_>>());

    let evidence = &run["verdict"]["evidence"];
    assert_eq!(evidence["race"]["finalists"].as_array().unwrap().len(), 8);
    assert_eq!(evidence["race"]["dropped"][0]["part"], "screen");
    assert_eq!(run["verdict"]["ratios"].as_array().unwrap().len(), 9);
    // Everything lies in memory, and that is said of every stack.
    let durability = evidence["durability"].as_array().unwrap();
    assert!(durability.len() == 9 && durability.iter().all(|one| one["class"] == "volatile"));

    // A finished race has nothing left to run.
    let again = seekwell(directory.path())
        .args(["run", "--resume", "-o", "lab.seekwell", "--json"])
        .output()
        .unwrap();
    assert!(matches!(again.status.code(), Some(0 | 4)), "{}", talk(&again));
    let resumed: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(resumed["trials"], run["trials"]);
    assert_eq!(resumed["verdict"], run["verdict"]);
}
