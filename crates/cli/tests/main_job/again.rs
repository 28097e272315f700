//! One command again and again, a disk that is refused, and a question without a lab file.

use super::{SMALL_LAB, can_run, data, seekwell, talk};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

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
    // A disk that is not there, or is in use, is refused before its plan.
    for words in [["run", "lab.toml"], ["try", "true"]] {
        let absent = seekwell(directory.path())
            .args(words)
            .args(["--device", "/dev/nope"])
            .output()
            .unwrap();
        assert_eq!(absent.status.code(), Some(3), "{words:?}: {}", talk(&absent));
        assert!(talk(&absent).contains("/dev/nope is not written: device not found"), "{words:?}");
        assert_eq!(data(&absent), "", "{words:?}");
    }
    let luks = b"LUKS\xba\xbe\0\x02";
    // Closed again each time: a file that is open for writing is another reason to refuse.
    let write = |bytes: &[u8]| {
        let file = std::fs::File::options().write(true).open(&image).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    };
    write(luks);
    let held = seekwell(directory.path())
        .args(["plan", "lab.toml", "--device", &disk.0])
        .output()
        .unwrap();
    assert_eq!(held.status.code(), Some(3), "{}", talk(&held));
    assert!(talk(&held).contains("carries the mark of crypto_LUKS"), "{}", talk(&held));
    assert_eq!(data(&held), "", "effects of a plan that no claim can allow");
    write(&[0; 8]);
    let run =
        seekwell(directory.path()).args(["run", "lab.toml", "--device", &disk.0]).output().unwrap();
    let said = talk(&run);
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("refused").count(), 1, "{said}");
    assert!(!said.contains("trial 1/"), "{said}");
    assert!(!directory.path().join("small.seekwell").exists(), "{said}");
    assert!(std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0));
}

/// The program with a folder of claims and notes of its own.
fn with_own_state(directory: &Path, words: &[&str]) -> Output {
    std::fs::create_dir_all(directory.join("state")).unwrap();
    let script = "mount --make-rprivate / && mount --bind state /var/lib && exec \"$@\"";
    Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_seekwell")])
        .args(words)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .output()
        .unwrap()
}

#[test]
fn every_command_that_writes_a_disk_whole_shows_its_plan_first() {
    let test = "every_command_that_writes_a_disk_whole_shows_its_plan_first";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "losetup", "unshare"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let disk = Attached::to(&image);
    let claim = with_own_state(directory.path(), &["claim", &disk.0, "--confirm", "131072"]);
    assert!(claim.status.success(), "{}", talk(&claim));
    let stack = ["--fs", "ext4", "--sched", "none,mq-deadline", "--for", "3s"];
    let tried = |work: &str| {
        let words = [&["try", work, "--device", &disk.0][..], &stack].concat();
        with_own_state(directory.path(), &words)
    };
    for work in ["true", "mail"] {
        let first = tried(work);
        assert_eq!(first.status.code(), Some(3), "{work}: {}", talk(&first));
        let effect = format!("writes {} whole: everything on it is lost", disk.0);
        // One folder of notes: what both write was seen with the first.
        assert!(data(&first).contains(&effect), "{work}: {}", data(&first));
        assert!(talk(&first).contains("run the same command again to start"), "{}", talk(&first));
        assert!(std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0), "{work} wrote");
        assert!(!directory.path().join("try.seekwell").exists());
        std::fs::remove_dir_all(directory.path().join("state/seekwell/planned")).unwrap();
    }
    tried("true");
    let second = tried("true");
    assert!(matches!(second.status.code(), Some(0 | 4)), "{}", talk(&second));
    assert!(!std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0), "it is run at last");
}

#[test]
fn an_honest_disk_keeps_its_content_in_a_check_of_its_capacity() {
    let test = "an_honest_disk_keeps_its_content_in_a_check_of_its_capacity";
    let Some(_alone) = can_run(test, &["losetup", "unshare"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img");
    std::fs::write(&image, vec![0x5a; 64 << 20]).unwrap();
    let disk = Attached::to(&image);
    let check = |more: &[&str]| {
        let words = [&["bench", "capacity", &disk.0, "--json"][..], more].concat();
        with_own_state(directory.path(), &words)
    };
    let is_untouched = || std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0x5a);
    for more in [&[][..], &["--full"]] {
        let refused = check(more);
        assert_eq!(refused.status.code(), Some(3), "{more:?}: {}", talk(&refused));
        assert!(talk(&refused).contains("was not claimed"), "{}", talk(&refused));
        assert!(is_untouched(), "{more:?}");
    }
    let claim = with_own_state(directory.path(), &["claim", &disk.0, "--confirm", "131072"]);
    assert!(claim.status.success(), "{}", talk(&claim));
    let found = |output: &Output| {
        assert!(output.status.success(), "{}", talk(output));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let metrics = &result["steps"][0]["metrics"];
        let wrong = metrics["wrong_bytes"].as_f64();
        let doubts = result["warnings"].as_array().unwrap().iter();
        let fake = doubts.filter(|warning| warning["code"] == "wrong-capacity").count();
        (metrics["checked_bytes"].as_f64(), wrong, fake)
    };
    assert_eq!(found(&check(&[])), (Some(8.0 * 4096.0), Some(0.0), 0));
    assert!(is_untouched(), "the content is not restored");
    let all = f64::from(64 << 20);
    assert_eq!(found(&check(&["--full"])), (Some(all), Some(0.0), 0));
    assert!(!is_untouched(), "a full check writes all of it");
}

#[test]
fn a_command_is_tried_without_a_lab_and_the_lab_is_left_to_change() {
    let test = "a_command_is_tried_without_a_lab_and_the_lab_is_left_to_change";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let tried = |work: &str| {
        let words = ["--fs", "ext4", "--sched", "none,mq-deadline", "--for", "4s"];
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
