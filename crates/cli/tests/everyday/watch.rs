//! `seekwell watch` on loop devices; without root on a device of the machine, counters only.

use super::{data, seekwell, talk};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device on an image in the directory; detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn attach(directory: &Path, megabytes: u64) -> Self {
        let image = directory.join("image");
        std::fs::write(&image, vec![7_u8; (megabytes << 20) as usize]).unwrap();
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(&image).output().unwrap();
        assert!(output.status.success(), "{}", talk(&output));
        Self(PathBuf::from(data(&output).trim()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

fn possible(test: &str) -> bool {
    let tools = seekwell_testing::tool("losetup").is_some();
    if !seekwell_testing::root() || !tools {
        seekwell_testing::skip(test, "needs root and losetup");
        return false;
    }
    true
}

/// A block device that has counters, for tests that need no load.
fn any_device() -> Option<String> {
    let entries = std::fs::read_dir("/sys/block").ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.min()
}

#[test]
fn counters_of_a_device_come_in_lines_with_iostats_columns() {
    let Some(device) = any_device() else {
        return seekwell_testing::skip("counters_of_a_device", "no block device");
    };
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path())
        .args(["watch", &device, "-n", "2", "-i", "50ms", "--counters-only"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    assert!(talk(&output).contains("counters only"), "{}", talk(&output));
    let text = data(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for word in ["r_await", "aqu-sz", "%util", "wareq-sz"] {
        assert!(lines[0].contains(word), "{text}");
    }
    let json = seekwell(directory.path())
        .args(["watch", &device, "-n", "1", "-i", "50ms", "--counters-only", "--json"])
        .output()
        .unwrap();
    let sample: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(sample["%util"].is_number() && sample["events"].is_null(), "{sample}");
}

#[test]
fn what_is_no_device_is_an_error_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    for (device, expected) in [("/dev/null", "not the kernel name"), ("nothere", "nothere")] {
        let output = seekwell(directory.path()).args(["watch", device]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(talk(&output).contains(expected), "{}", talk(&output));
    }
}

/// Reads past the cache are seen with their size and place, nothing is written, the recording is a
/// run that the report shows, and the tracing instance is gone.
#[test]
fn requests_are_seen_recorded_and_nothing_is_written() {
    if !possible("requests_are_seen_recorded_and_nothing_is_written") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let device = Loop::attach(directory.path(), 16);
    let watch = seekwell(directory.path())
        .arg("watch")
        .arg(&device.0)
        .args(["-n", "5", "-i", "200ms", "--json", "--record", "seen.seekwell"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let busy = seekwell(directory.path())
        .args(["bench", "seek"])
        .arg(&device.0)
        .args(["--time", "2s", "--size", "8k", "--direct"])
        .output()
        .unwrap();
    assert_eq!(busy.status.code(), Some(0), "{}", talk(&busy));
    let output = watch.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let samples: Vec<serde_json::Value> =
        data(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(samples.len(), 5);
    assert!(samples.iter().any(|one| one["r/s"].as_f64().unwrap() > 0.0), "{samples:?}");
    assert!(samples.iter().all(|one| one["w/s"] == 0.0), "{samples:?}");
    if samples[0]["events"].is_null() {
        seekwell_testing::skip("events of a watched device", "no tracefs here");
    } else {
        let seen = samples.iter().find(|one| one["events"]["latency_p50_ns"].is_u64());
        assert!(seen.is_some(), "{samples:?}");
    }
    let report =
        seekwell(directory.path()).args(["report", "seen.seekwell", "--json"]).output().unwrap();
    assert_eq!(report.status.code(), Some(0), "{}", talk(&report));
    let run: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(run["place"], "watch");
    assert!(run["trials"][0]["metrics"]["watch.read_iops"].as_f64().unwrap() > 0.0);
    let text =
        data(&seekwell(directory.path()).args(["report", "seen.seekwell"]).output().unwrap());
    assert!(text.contains("A device was watched"), "{text}");
    for (words, said) in
        [(["report", "--apply"], "no pick to put in force"), (["why", "--json"], "is a recording")]
    {
        let output = seekwell(directory.path()).args(words).arg("seen.seekwell").output().unwrap();
        assert!(talk(&output).contains(said), "{}", talk(&output));
    }
    // The image is what it was.
    let image = std::fs::read(directory.path().join("image")).unwrap();
    assert!(image.iter().all(|byte| *byte == 7));
    // A file that exists is not overwritten.
    let again = seekwell(directory.path())
        .arg("watch")
        .arg(&device.0)
        .args(["-n", "1", "--record", "seen.seekwell"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", talk(&again));
}

/// What a killed watcher leaves in the kernel is gone after the next command, whichever it is.
#[test]
fn the_tracing_instance_of_a_killed_watcher_is_removed_by_the_next_command() {
    use seekwell_observe::block_events::{remove_instance, watcher_name};
    use std::io::{BufRead, BufReader};
    let test = "the_tracing_instance_of_a_killed_watcher_is_removed_by_the_next_command";
    let Some(device) = any_device().filter(|_| seekwell_testing::root()) else {
        return seekwell_testing::skip(test, "needs root and a block device");
    };
    let directory = tempfile::tempdir().unwrap();
    let mut watch = seekwell(directory.path())
        .args(["watch", &device, "-i", "50ms", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Lines come at once; those with events when the kernel gives them.
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let traced = lines.take(400).any(|line| {
        let sample: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        !sample["events"].is_null()
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    if !traced {
        return seekwell_testing::skip(test, "no tracefs here");
    }
    let next = seekwell(directory.path()).args(["plan", "nothere.toml"]).output().unwrap();
    assert_eq!(next.status.code(), Some(1), "{}", talk(&next));
    let name = watcher_name(watch.id());
    assert!(!remove_instance(&name).unwrap(), "{name} was still there");
}
