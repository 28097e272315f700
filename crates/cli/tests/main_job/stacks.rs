//! Stacks of every kind, brought up on this kernel.

use super::{assert_all_ok, can_run, data, run_lab, seekwell, stacks, talk, trials};
use serde_json::Value;

#[test]
fn ext3_with_its_journal_inside_on_a_second_loop_device_and_in_memory() {
    let test = "ext3_with_its_journal_inside_on_a_second_loop_device_and_in_memory";
    let Some(_alone) = can_run(test, &["mkfs.ext3", "mke2fs"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "journal"
[[device]]
name = "scratch"
loop = { size = "256MiB" }
[[journal]]
name = "inside"
[[journal]]
name = "second"
loop = { size = "80MiB" }
[[journal]]
name = "memory"
ram = { size = "80MiB" }
[[filesystem]]
type = "ext3"
[scheduler]
choose = ["mq-deadline"]
[[workload]]
kind = "mail"
files = 100
steps = []
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    assert_eq!(stacks(&run).into_iter().collect::<Vec<_>>(), ["inside", "memory", "second"]);
    assert_eq!(trials(&run).len(), 18);
    // Equal journals and block sizes along the axis: read back, not assumed.
    for trial in trials(&run) {
        assert_eq!(trial["in_force"]["block_bytes"], 4096, "{trial:#}");
    }
    let mut sizes: Vec<_> = trials(&run)
        .iter()
        .map(|trial| trial["in_force"]["journal_bytes"].as_u64().unwrap())
        .collect();
    sizes.dedup();
    assert_eq!(sizes.len(), 1, "journal sizes differ: {sizes:?}");
}

#[test]
fn a_raw_device_stands_beside_filesystems_in_one_report() {
    let test = "a_raw_device_stands_beside_filesystems_in_one_report";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "mkfs.xfs"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "raw"
[[device]]
name = "scratch"
ram = { size = "320MiB" }
[[filesystem]]
type = "raw"
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "xfs"
[scheduler]
choose = ["none"]
[[workload]]
kind = "seek"
count = 2000
file_size = "64MiB"
[judge]
metric = "seek.iops"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    assert_eq!(stacks(&run).into_iter().collect::<Vec<_>>(), ["ext4", "raw", "xfs"]);
    for trial in trials(&run) {
        assert!(trial["metrics"]["seek.iops"].as_f64().unwrap() > 0.0);
        let per_byte = trial["metrics"]["seek.read_per_byte"].as_f64().unwrap();
        assert!((0.99..1.2).contains(&per_byte), "direct reads must reach the device: {per_byte}");
    }
}

#[test]
fn a_bulk_writer_beside_small_reads_reports_both_sides_and_their_ratio() {
    let test = "a_bulk_writer_beside_small_reads_reports_both_sides_and_their_ratio";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "freeze"
[[device]]
name = "scratch"
ram = { size = "320MiB" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none", "mq-deadline", "bfq"]
[[workload]]
kind = "seek"
time = "200ms"
file_size = "32MiB"
[[workload.beside]]
kind = "stream"
write = true
cache = "warm"
file_size = "64MiB"
[judge]
metric = "seek.latency_p99"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    assert_eq!(stacks(&run).len(), 3);
    for trial in trials(&run) {
        let metrics = &trial["metrics"];
        for name in
            ["seek.latency_ratio", "seek-alone.latency_p99", "seek.latency_p99", "stream.mb_per_s"]
        {
            assert!(metrics[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {metrics:#}");
        }
    }
}

#[test]
fn a_command_is_timed_and_its_output_measured() {
    let test = "a_command_is_timed_and_its_output_measured";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "command"
[[device]]
name = "scratch"
ram = { size = "64MiB" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
run = "echo hello > {dir}/greeting; echo score=42.5"
[workload.metrics]
score = "score=([0-9.]+)"
[judge]
metric = "command.elapsed_durable"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    for trial in trials(&run) {
        assert_eq!(trial["metrics"]["command.score"], 42.5);
        assert_eq!(trial["metrics"]["command.exit_status"], 0.0);
    }
}

#[test]
fn an_overlay_spares_the_device_what_is_never_written_back() {
    let test = "an_overlay_spares_the_device_what_is_never_written_back";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "overlay"
[[device]]
name = "scratch"
ram = { size = "64MiB" }
[[filesystem]]
name = "plain"
type = "ext4"
[[filesystem]]
name = "overlaid"
type = "ext4"
overlay = { upper = "32MiB", write_back = "never" }
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
prepare = "echo kept > {dir}/before"
run = "grep -q kept {dir}/before && dd if=/dev/zero of={dir}/file bs=1M count=16 2>/dev/null && sync {dir}/file"
[judge]
metric = "command.elapsed_durable"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    for trial in trials(&run) {
        let written = trial["metrics"]["command.device_written_bytes"].as_f64().unwrap();
        match trial["stack"].as_str().unwrap() {
            "plain" => assert!(written >= f64::from(16 << 20), "{written}"),
            _ => assert!(written < f64::from(1 << 20), "{written}"),
        }
    }
}

/// Stacks in memory with a disk that nobody claimed, and that this machine does not even have: a run
/// that opened it would end before its first trial.
const IN_MEMORY_BESIDE_A_DISK: &str = r#"
[lab]
name = "memory"
[[device]]
disk = "/dev/disk/by-id/virtio-seekwell-missing"
[[layer]]
kind = "none"
[[layer]]
kind = "zram"
size = "256MiB"
[[filesystem]]
type = "tmpfs"
[[filesystem]]
name = "large"
type = "tmpfs"
mount = ["huge=always"]
[[filesystem]]
type = "ext4"
[[exclude]]
layer = "none"
filesystem = "ext4"
[[exclude]]
layer = "zram"
filesystem = ["tmpfs", "large"]
[scheduler]
choose = ["none"]
[[workload]]
kind = "mail"
files = 40
steps = []
[judge]
metric = "unpack.elapsed"
method = "rounds"
rounds = 6
"#;

#[test]
fn stacks_in_memory_need_no_claim_and_attach_nothing() {
    let test = "stacks_in_memory_need_no_claim_and_attach_nothing";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let has_zram = std::path::Path::new("/sys/class/zram-control/hot_add").exists();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), IN_MEMORY_BESIDE_A_DISK).unwrap();
    let output = seekwell(directory.path()).args(["plan", "lab.toml"]).output().unwrap();
    let plan = data(&output);
    assert!(output.status.success() && !plan.contains("whole"), "{plan}{}", talk(&output));
    assert!(!plan.contains("seekwell-missing"), "{plan}");
    let run = run_lab(directory.path(), IN_MEMORY_BESIDE_A_DISK);
    assert_all_ok(&run);
    assert_eq!(trials(&run).len(), if has_zram { 18 } else { 12 });
    for trial in trials(&run) {
        let in_force = &trial["in_force"];
        let name = in_force["device"]["kernel_name"].as_str().unwrap();
        let made = in_force["mkfs"].as_array().unwrap().len();
        if trial["stack"].as_str().unwrap().contains("zram") {
            assert!(name.starts_with("zram") && made == 1, "{in_force:#}");
            assert_eq!(in_force["device"]["size"], 256 << 20);
        } else {
            assert!(name.is_empty() && made == 0, "{in_force:#}");
        }
        assert_eq!(in_force["members"], Value::Null, "{in_force:#}");
    }
}

#[test]
fn queue_settings_are_made_equal_read_back_and_tunables_reach_the_kernel() {
    let test = "queue_settings_are_made_equal_read_back_and_tunables_reach_the_kernel";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = run_lab(
        directory.path(),
        r#"
[lab]
name = "queue"
[[device]]
name = "scratch"
ram = { size = "64MiB" }
[device.settings]
read_ahead_kb = [128, 512]
[[filesystem]]
type = "ext4"
[[scheduler]]
kind = "none"
[[scheduler]]
kind = "bfq"
tunables = { low_latency = "0" }
[[workload]]
kind = "mail"
files = 20
steps = ["read_archive"]
[judge]
metric = "read_archive.elapsed"
rounds = 6
"#,
    );
    assert_all_ok(&run);
    assert_eq!(stacks(&run).len(), 4);
    for trial in trials(&run) {
        let queue = &trial["in_force"]["device"]["queue"];
        let stack = trial["stack"].as_str().unwrap();
        assert_eq!(
            queue["read_ahead_kb"],
            if stack.contains("512") { 512 } else { 128 },
            "{stack}"
        );
        assert_eq!(queue["nr_requests"], 128, "{stack}");
        if stack.contains("bfq") {
            assert_eq!(queue["scheduler"], "bfq");
            assert_eq!(queue["tunables"]["low_latency"], "0");
        }
    }
}
