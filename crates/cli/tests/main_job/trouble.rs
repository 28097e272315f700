//! Trouble while running: a full or failing disk, a device that vanishes, an interrupt.

use super::{SMALL_LAB, can_run, data, seekwell, talk};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A small filesystem in memory for the run file, unmounted also when the test fails.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Self {
        std::fs::create_dir(at).unwrap();
        let options = format!("size={size}");
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).status();
        assert!(status.unwrap().success());
        Self(at.to_owned())
    }

    fn fill(&self) {
        let _ = std::fs::write(self.0.join("ballast"), vec![1_u8; 64 << 20]);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    seekwell(directory)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(File::create(directory.join("said")).unwrap())
        .spawn()
        .unwrap()
}

/// What a started run has said so far.
fn said_in(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("said")).unwrap_or_default()
}

/// Waits until a run of twelve trials has begun this one, so that some are kept and some are to come
/// however fast the machine is.
fn wait_for_trial(directory: &Path, number: usize) {
    let begun = format!("trial {number}/12");
    wait_until(&begun, || said_in(directory).contains(&begun));
}

fn kept_trials(directory: &Path, run_file: &Path) -> usize {
    let output = seekwell(directory).arg("report").arg(run_file).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let run: serde_json::Value = serde_json::from_str(&data(&output)).unwrap();
    run["trials"].as_array().unwrap().len()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_full_disk_ends_the_run_with_a_clear_error_and_keeps_what_was_there() {
    let test = "a_full_disk_ends_the_run_with_a_clear_error_and_keeps_what_was_there";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "mount", "umount"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let disk = SmallDisk::mount(&directory.path().join("small"), "2m");
    let run_file = disk.0.join("run.seekwell");
    let child = start(directory.path(), &["run", "lab.toml", "-o", run_file.to_str().unwrap()]);
    wait_for_trial(directory.path(), 3);
    disk.fill();
    let output = child.wait_with_output().unwrap();
    let said = said_in(directory.path());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("run.seekwell") && said.contains("no space"), "{said}");
    std::fs::remove_file(disk.0.join("ballast")).unwrap();
    let kept = kept_trials(directory.path(), &run_file);
    assert!(kept < 12, "the disk was full too late to matter");
    let output =
        seekwell(directory.path()).args(["run", "--resume", "-o"]).arg(&run_file).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", talk(&output));
    assert_eq!(kept_trials(directory.path(), &run_file), 12);
}

/// A filesystem on an image that can be made to fail, for the run file.
struct FailingDisk {
    image: PathBuf,
    at: PathBuf,
}

impl FailingDisk {
    fn make(directory: &Path) -> Self {
        let (image, at) = (directory.join("image"), directory.join("failing"));
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        assert!(made.unwrap().success());
        std::fs::create_dir(&at).unwrap();
        let disk = Self { image, at };
        disk.mount();
        disk
    }

    fn mount(&self) {
        let status =
            Command::new("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.at).status();
        assert!(status.unwrap().success());
    }

    /// As after an error of the medium: the kernel makes the filesystem read-only.
    fn become_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,abort"]).arg(&self.at).status();
        assert!(status.unwrap().success());
    }

    /// Every access fails with EIO from now on.
    fn fail(&self) {
        // `EXT4_IOC_SHUTDOWN`, without its log.
        const SHUTDOWN: libc::c_ulong = 0x8004_587D;
        let top = File::open(&self.at).unwrap();
        let how: u32 = 2;
        // SAFETY: the call reads one number, which lives as long as it takes.
        let result = unsafe { libc::ioctl(top.as_raw_fd(), SHUTDOWN, &raw const how) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }

    /// Repaired: mounted anew.
    fn mount_again(&self) {
        assert!(Command::new("umount").arg(&self.at).status().unwrap().success());
        self.mount();
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

/// Runs a lab whose run file's disk fails in trial 3; what was kept before stays, and the run goes on once the disk
/// is repaired. Gives what the run said.
fn with_failing_disk(fail: impl FnOnce(&FailingDisk)) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let disk = FailingDisk::make(directory.path());
    let run_file = disk.at.join("run.seekwell");
    let child = start(directory.path(), &["run", "lab.toml", "-o", run_file.to_str().unwrap()]);
    wait_for_trial(directory.path(), 3);
    fail(&disk);
    let output = child.wait_with_output().unwrap();
    let said = said_in(directory.path());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("run.seekwell"), "{said}");
    disk.mount_again();
    let kept = kept_trials(directory.path(), &run_file);
    assert!((2..12).contains(&kept), "{kept} trials kept:\n{said}");
    let output =
        seekwell(directory.path()).args(["run", "--resume", "-o"]).arg(&run_file).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", talk(&output));
    assert_eq!(kept_trials(directory.path(), &run_file), 12);
    said
}

#[test]
fn a_disk_that_becomes_read_only_ends_the_run_and_keeps_what_was_there() {
    let test = "a_disk_that_becomes_read_only_ends_the_run_and_keeps_what_was_there";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "mount", "umount"]) else { return };
    let said = with_failing_disk(FailingDisk::become_read_only);
    assert!(said.contains("Read-only file system") && !said.contains("damaged"), "{said}");
}

#[test]
fn a_disk_that_answers_with_eio_ends_the_run_and_keeps_what_was_there() {
    let test = "a_disk_that_answers_with_eio_ends_the_run_and_keeps_what_was_there";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "mount", "umount"]) else { return };
    let said = with_failing_disk(FailingDisk::fail);
    assert!(said.contains("Input/output error") && !said.contains("damaged"), "{said}");
}

/// Descriptors of the runner that are images without a name.
fn images(pid: u32) -> Vec<PathBuf> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_image = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("seekwell-image"))
    };
    links.map(|entry| entry.path()).filter(is_image).collect()
}

#[test]
fn a_device_that_vanishes_fails_its_trials_and_nothing_else() {
    let test = "a_device_that_vanishes_fails_its_trials_and_nothing_else";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let child = start(directory.path(), &["run", "lab.toml", "-o", "run.seekwell"]);
    let pid = child.id();
    wait_for_trial(directory.path(), 3);
    for image in images(pid) {
        OpenOptions::new().write(true).open(image).unwrap().set_len(4 << 20).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let said = said_in(directory.path());
    assert!(matches!(output.status.code(), Some(1 | 4)), "{:?}\n{said}", output.status);
    let report =
        seekwell(directory.path()).args(["report", "run.seekwell", "--json"]).output().unwrap();
    let run: serde_json::Value = serde_json::from_str(&data(&report)).unwrap();
    let failed =
        run["trials"].as_array().unwrap().iter().filter(|trial| trial["status"] != "ok").count();
    assert!(failed > 0, "no trial noticed that its device was gone:\n{said}");
    assert_ne!(run["verdict"]["kind"], "winner");
}

#[test]
fn an_interrupt_finishes_the_trial_and_the_run_can_be_resumed() {
    let test = "an_interrupt_finishes_the_trial_and_the_run_can_be_resumed";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), SMALL_LAB).unwrap();
    let child = start(directory.path(), &["run", "lab.toml", "-o", "run.seekwell"]);
    wait_for_trial(directory.path(), 3);
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    let said = said_in(directory.path());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--resume"), "{said}");
    let resumed = seekwell(directory.path())
        .args(["run", "--resume", "-o", "run.seekwell"])
        .output()
        .unwrap();
    assert!(matches!(resumed.status.code(), Some(0 | 4)), "{}", talk(&resumed));
    assert_eq!(kept_trials(directory.path(), &directory.path().join("run.seekwell")), 12);
}

#[test]
fn a_second_run_waits_and_is_then_refused() {
    let test = "a_second_run_waits_and_is_then_refused";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let long = SMALL_LAB.replace(
        "[[workload]]\nkind = \"mail\"\nfiles = 50\nsteps = []",
        "[[workload]]\nkind = \"command\"\nrun = \"sleep 30\"",
    );
    let long = long.replace("unpack.elapsed_durable", "command.elapsed");
    std::fs::write(directory.path().join("lab.toml"), long).unwrap();
    let mut first = start(directory.path(), &["run", "lab.toml", "-o", "first.seekwell"]);
    wait_until("the image", || !images(first.id()).is_empty());
    let second = seekwell(directory.path())
        .args(["run", "lab.toml", "-o", "second.seekwell"])
        .output()
        .unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", talk(&second));
    assert!(talk(&second).contains("another run is active"), "{}", talk(&second));
    assert!(
        !directory.path().join("second.seekwell").exists(),
        "a run that cannot begin leaves no file"
    );
}

#[test]
fn what_a_command_leaves_running_is_ended_with_its_step() {
    let test = "what_a_command_leaves_running_is_ended_with_its_step";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let lab = SMALL_LAB.replace(
        "[[workload]]\nkind = \"mail\"\nfiles = 50\nsteps = []",
        "[[workload]]\nkind = \"command\"\nrun = \"setsid sleep 900 >/dev/null 2>&1 & sleep 0.1\"",
    );
    let lab = lab.replace("unpack.elapsed_durable", "command.elapsed");
    let begun = Instant::now();
    let run = super::run_lab(directory.path(), &lab);
    super::assert_all_ok(&run);
    assert!(begun.elapsed() < Duration::from_secs(200), "{:?}", begun.elapsed());
}

#[test]
fn a_run_of_failed_trials_alone_is_an_error_and_keeps_what_failed() {
    let test = "a_run_of_failed_trials_alone_is_an_error_and_keeps_what_failed";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let lab = SMALL_LAB.replace(
        "[[workload]]\nkind = \"mail\"\nfiles = 50\nsteps = []",
        "[[workload]]\nkind = \"command\"\nrun = \"exit 7\"",
    );
    let lab = lab.replace("unpack.elapsed_durable", "command.elapsed");
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    let output = seekwell(directory.path()).args(["run", "lab.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    assert!(talk(&output).contains("every trial failed"), "{}", talk(&output));
    assert!(directory.path().join("small.seekwell").is_file());
}

#[test]
fn a_run_that_breaks_before_its_first_trial_leaves_no_run_file() {
    let test = "a_run_that_breaks_before_its_first_trial_leaves_no_run_file";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let lab = SMALL_LAB.replace("ram = { size = \"64MiB\" }", "loop = \"900TiB\"");
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    let output = seekwell(directory.path()).args(["run", "lab.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    assert!(talk(&output).contains("does not fit"), "{}", talk(&output));
    assert!(!directory.path().join("small.seekwell").exists(), "{}", talk(&output));
}

#[test]
fn a_run_that_is_told_to_waits_for_another_and_an_interrupt_ends_the_wait() {
    let test = "a_run_that_is_told_to_waits_for_another_and_an_interrupt_ends_the_wait";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("lab.toml"), SMALL_LAB).unwrap();
    // Any command of root makes the file.
    seekwell(here).args(["kernel", "list"]).output().unwrap();
    let other = File::open("/var/lib/seekwell/undo/machine.lock").unwrap();
    other.lock().unwrap();
    let words = ["run", "lab.toml", "--wait", "--no-screen"];
    let waits = || said_in(here).contains("waiting for the end of another run");

    let stopped = start(here, &words);
    wait_until("the wait", waits);
    let pid = rustix::process::Pid::from_child(&stopped);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = stopped.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said_in(here).contains("stopped while waiting"), "{}", said_in(here));

    let waiting = start(here, &words);
    wait_until("the wait", waits);
    other.unlock().unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", said_in(here));
}
