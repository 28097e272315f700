//! One command again and again, a disk that is refused, and a question without a lab file.

use super::{SMALL_LAB, can_run, data, seekwell, talk};
use std::path::Path;
use std::process::Command;

#[test]
fn resuming_a_run_that_was_never_begun_begins_it() {
    let Some(_alone) = can_run("resuming_a_run_that_was_never_begun_begins_it", &["mkfs.ext4"])
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let run = || {
        seekwell(directory.path())
            .args(["run", "lab.toml", "--resume", "-o", "r.seekwell"])
            .output()
            .unwrap()
    };
    let first = run();
    assert!(matches!(first.status.code(), Some(0 | 4)), "{}", talk(&first));
    assert!(talk(&first).contains("trial 12/12"), "{}", talk(&first));
    let again = run();
    assert_eq!(again.status.code(), first.status.code(), "{}", talk(&again));
    assert!(!talk(&again).contains("trial 1/"), "{}", talk(&again));
    let nothing = seekwell(directory.path())
        .args(["run", "--resume", "-o", "other.seekwell"])
        .output()
        .unwrap();
    assert_eq!(nothing.status.code(), Some(1), "{}", talk(&nothing));
}

/// A loop device, detached also when the test fails.
struct Attached(String);

impl Attached {
    fn to(image: &Path) -> Self {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        Self(String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_refused_disk_is_one_error_before_the_first_trial_and_leaves_no_file() {
    let test = "a_refused_disk_is_one_error_before_the_first_trial_and_leaves_no_file";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "losetup"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let disk = Attached::to(&image);
    let plan = seekwell(directory.path())
        .args(["plan", "lab.toml", "--device", &disk.0])
        .output()
        .unwrap();
    assert_eq!(plan.status.code(), Some(3), "{}", talk(&plan));
    assert!(data(&plan).contains("trials"), "{}", data(&plan));
    let run =
        seekwell(directory.path()).args(["run", "lab.toml", "--device", &disk.0]).output().unwrap();
    let said = talk(&run);
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("refused").count(), 1, "{said}");
    assert!(!said.contains("trial 1/"), "{said}");
    assert!(!directory.path().join("small.seekwell").exists(), "{said}");
    assert!(std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_command_is_tried_without_a_lab_and_the_lab_is_left_to_change() {
    let test = "a_command_is_tried_without_a_lab_and_the_lab_is_left_to_change";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let tried = |work: &str| {
        let words = ["--fs", "ext4", "--sched", "none,mq-deadline", "--for", "10s"];
        seekwell(directory.path())
            .args(["try", work, "--device", "ram:64MiB"])
            .args(words)
            .output()
            .unwrap()
    };
    let command = tried("cp /etc/passwd \"a b\" && sync {dir}/a*");
    assert!(matches!(command.status.code(), Some(0 | 4)), "{}", talk(&command));
    // One filesystem: stacks are named by their schedulers.
    assert!(data(&command).contains("mq-deadline"), "{}", data(&command));
    let plan = seekwell(directory.path()).args(["plan", "try.toml"]).output().unwrap();
    assert_eq!(plan.status.code(), Some(0), "{}", talk(&plan));
    let kind = tried("mail");
    assert!(matches!(kind.status.code(), Some(0 | 4)), "{}", talk(&kind));
    let lab = std::fs::read_to_string(directory.path().join("try-2.toml")).unwrap();
    assert!(lab.contains("kind = \"mail\"\nfiles = "), "{lab}");
    assert!(directory.path().join("try-2.seekwell").is_file());
    let unknown = tried("bonnie");
    assert_eq!(unknown.status.code(), Some(2), "{}", talk(&unknown));
}
