//! Bad input: one clear message, a documented exit code, nothing lost.

use super::{seekwell, talk};
use std::path::Path;
use std::time::{Duration, Instant};

fn plan_of(lab: &[u8]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    let output = seekwell(directory.path()).args(["plan", "lab.toml"]).output().unwrap();
    (output.status.code(), talk(&output))
}

#[test]
fn an_empty_file_a_binary_one_and_ten_megabytes_are_refused_in_words() {
    let mut binary = b"\x7fELF\x02\x01\x01\x00".to_vec();
    binary.extend((0..4096_u32).map(|number| (number * 37 % 256) as u8));
    let large = "# a comment that says nothing at all\n".repeat(10 << 20 >> 5);
    let cases: [(&str, &[u8]); 3] =
        [("empty", b""), ("binary", &binary), ("large", large.as_bytes())];
    for (name, lab) in cases {
        let (code, said) = plan_of(lab);
        assert_eq!(code, Some(1), "{name}: {said}");
        assert!(said.contains("lab.toml"), "{name}: {said}");
        assert!(said.lines().count() < 12, "{name}: {said}");
    }
}

#[test]
fn every_axis_may_be_empty_and_each_is_refused_by_name() {
    let workload = "[[workload]]\nkind = \"mail\"\n";
    for (axis, lab) in [
        ("device", format!("device = []\n{workload}")),
        ("journal", format!("journal = []\n{workload}")),
        ("filesystem", format!("filesystem = []\n{workload}")),
        ("choose", format!("{workload}[scheduler]\nchoose = []\n")),
        ("choose", format!("{workload}[memory]\nchoose = []\n")),
        ("workload", "workload = []\n".to_owned()),
    ] {
        let (code, said) = plan_of(lab.as_bytes());
        assert_eq!(code, Some(1), "{axis}: {said}");
        assert!(said.contains(axis), "{axis}: {said}");
    }
}

#[test]
fn a_million_trials_are_planned_or_refused_without_delay() {
    let mut lab = String::from("[judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 1000\n");
    for number in 0..100 {
        lab.push_str(&format!("[[filesystem]]\nname = \"f{number}\"\ntype = \"ext4\"\n"));
    }
    for number in 0..30 {
        lab.push_str(&format!(
            "[[memory]]\nname = \"m{number}\"\nlimit = \"{}MiB\"\n",
            512 + number
        ));
    }
    lab.push_str("[[workload]]\nkind = \"mail\"\nfiles = 10\n");
    let begun = Instant::now();
    let (code, said) = plan_of(lab.as_bytes());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("trials"), "{said}");
    // The bound of 1 s per 10,000 trials, in a build without optimisation and on a slow machine.
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
}

#[test]
fn a_lab_that_is_not_there_is_said_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).args(["run", "no-such.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(talk(&output).contains("no-such.toml"), "{}", talk(&output));
}

#[test]
fn a_modelled_device_is_refused_on_this_machine_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs/luks.toml");
    for command in ["plan", "run"] {
        let output = seekwell(directory.path()).arg(command).arg(&labs).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            talk(&output).contains(
                "the lab's device ssd-nvme-512gb is a model and no disk of this machine; add --place virtual"
            ),
            "{}",
            talk(&output)
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_run_file_that_is_something_else_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letter.seekwell");
    std::fs::write(&path, "dear reader").unwrap();
    for arguments in
        [&["report", "letter.seekwell"][..], &["run", "--resume", "-o", "letter.seekwell"]]
    {
        let output = seekwell(directory.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
        assert!(talk(&output).contains("letter.seekwell"), "{}", talk(&output));
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "dear reader");
}

#[test]
fn an_existing_run_file_is_never_overwritten() {
    // Another run would be the first reason to refuse.
    let test = "an_existing_run_file_is_never_overwritten";
    let Some(_alone) = super::can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let lab = "[[device]]\nname = \"d\"\nram = { size = \"64MiB\" }\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"mail\"\nfiles = 10\n";
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    std::fs::write(directory.path().join("old.seekwell"), "kept").unwrap();
    let output = seekwell(directory.path())
        .args(["run", "lab.toml", "-o", "old.seekwell"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    assert!(talk(&output).contains("old.seekwell"), "{}", talk(&output));
    assert_eq!(std::fs::read(directory.path().join("old.seekwell")).unwrap(), b"kept");
}

#[test]
fn a_disk_that_nobody_claimed_is_refused_for_safety() {
    let test = "a_disk_that_nobody_claimed_is_refused_for_safety";
    let Some(_alone) = super::can_run(test, &["mkfs.ext4"]) else { return };
    // There is no spare disk here: the disk of the running system must be refused in any case.
    let directory = tempfile::tempdir().unwrap();
    let root = root_disk();
    let Some(root) = root else {
        return seekwell_testing::skip(test, "the root filesystem is on no block device");
    };
    let output =
        seekwell(directory.path()).args(["claim", &root, "--confirm", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
}

/// Path of the block device that holds `/`.
fn root_disk() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/"))?;
    let device = line.split(' ').next()?;
    device.starts_with("/dev/").then(|| device.to_owned())
}

#[test]
fn a_report_is_never_written_over_its_run() {
    let test = "a_report_is_never_written_over_its_run";
    let Some(_alone) = super::can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let lab = "[lab]\nname = \"small\"\n[[device]]\nname = \"d\"\nram = { size = \"64MiB\" }\n[[filesystem]]\ntype = \"ext4\"\n[scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"mail\"\nfiles = 5\n[judge]\nmetric = \"unpack.elapsed\"\nrounds = 6\n";
    super::run_lab(directory.path(), lab);
    let before = std::fs::read(directory.path().join("small.seekwell")).unwrap();
    let report = |arguments: &[&str]| {
        seekwell(directory.path())
            .arg("report")
            .arg("small.seekwell")
            .args(arguments)
            .output()
            .unwrap()
    };
    let output = report(&["--html", "small.seekwell"]);
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert_eq!(std::fs::read(directory.path().join("small.seekwell")).unwrap(), before);
    let output = report(&["--html", "page.html", "--csv", "table.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    assert!(std::fs::read_to_string(directory.path().join("page.html")).unwrap().contains("<html"));
    assert!(
        std::fs::read_to_string(directory.path().join("table.csv")).unwrap().contains("unpack")
    );
}

#[test]
fn an_option_of_mkfs_reaches_no_other_device() {
    let test = "an_option_of_mkfs_reaches_no_other_device";
    let Some(_alone) = super::can_run(test, &["mkfs.ext4", "losetup"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("precious.img");
    let content = b"VALUABLE".repeat(1 << 20);
    std::fs::write(&image, &content).unwrap();
    let attached =
        std::process::Command::new("losetup").args(["-f", "--show"]).arg(&image).output().unwrap();
    let device = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
    for option in [
        format!("-qz{device}"),
        format!("-qz{}", device.trim_start_matches('/')),
        format!("-z{device}"),
    ] {
        let lab = format!(
            "[[device]]\nname = \"d\"\nram = {{ size = \"64MiB\" }}\n[[filesystem]]\ntype = \"ext4\"\nmkfs = [\"{option}\"]\n[scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"mail\"\nfiles = 5\n"
        );
        std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
        let _ = std::fs::remove_file(directory.path().join("r.seekwell"));
        let refused = seekwell(directory.path())
            .args(["run", "lab.toml", "-o", "r.seekwell"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("`-z` of mkfs.ext4"), "{said}");
    }
    let status = std::process::Command::new("losetup").args(["-d", &device]).status().unwrap();
    assert!(status.success());
    assert!(
        std::fs::read(&image).unwrap() == content,
        "mkfs wrote to a device that nobody claimed"
    );
}
