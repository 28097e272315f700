//! Contents of the golden files of labs, for the test that compares and the example that writes them.

use seekwell_model::lab::{Effort, Lab, Method, SchedulerAxis};
use seekwell_model::plan::BackendFacts;
use seekwell_model::units::Bytes;
use seekwell_spec::{Expansion, LabFile, expand, read_lab_bytes};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Folders of labs, each with what its files must give.
pub const FOLDERS: [&str; 3] = ["invalid", "impossible", "valid"];

/// The folder of labs for tests.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/labs").join(name)
}

/// A machine as it could be: some filesystems are not in its kernel, some tools not installed.
pub fn machine() -> BackendFacts {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let disk = "/dev/disk/by-id/ata-SMALL_CARD";
    BackendFacts {
        schedulers: texts(&["none", "mq-deadline", "bfq"]),
        kernel_filesystems: texts(&["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat"]),
        read_only_filesystems: vec![],
        nfs_lacks: vec![],
        programs: texts(&[
            "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mke2fs", "e2fsck", "mkfs.xfs", "mkfs.btrfs",
            "btrfs", "mkfs.vfat",
        ]),
        layers: vec![],
        lab_kernel: None,
        ram: Some(Bytes::gib(4)),
        disk_sizes: vec![(disk.to_owned(), Bytes::mib(256))],
    }
}

/// The result of a lab: the message of its mistake, or its key facts and its stacks.
pub fn render(bytes: &[u8], name: &str) -> Result<String, String> {
    let file = read_lab_bytes(bytes, name).map_err(|mistake| format!("{mistake}\n"))?;
    let expansion = expand(&file, &machine()).map_err(|mistake| format!("{mistake}\n"))?;
    Ok(describe(&file, &expansion))
}

fn describe(file: &LabFile, expansion: &Expansion) -> String {
    let mut text = String::new();
    let mut say = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    let lab = &file.lab;
    say(format!("lab {:?}, seed {}, asks {:?}", lab.name, lab.seed, lab.question));
    for device in &lab.devices {
        say(format!("device {:?} from {:?}: {:?}", device.name, device.backing, device.settings));
    }
    for journal in &lab.journals {
        let size = journal.size.map(|size| size.to_string());
        say(format!(
            "journal {:?}: outside {:?}, size {size:?}, data {:?}",
            journal.name, journal.external, journal.data
        ));
    }
    for one in &lab.filesystems {
        say(format!(
            "filesystem {:?}: {} mkfs {:?} mount {:?} discard {} overlay {:?}",
            one.name, one.kind, one.mkfs, one.mount, one.discard, one.overlay
        ));
    }
    match &lab.schedulers {
        SchedulerAxis::All => say("schedulers: all".to_owned()),
        SchedulerAxis::These(these) => these.iter().for_each(|one| say(format!("{one:?}"))),
    }
    lab.memories.iter().for_each(|one| say(format!("memory {:?}: {:?}", one.name, one.limit)));
    for workload in &lab.workloads {
        let steps: Vec<String> =
            workload.outlines().into_iter().map(|step| step.outline.name).collect();
        say(format!("workload {:?}: {}", workload.name, steps.join(", ")));
    }
    say(judged(lab));
    say(format!("{:?}", lab.trial));
    lab.exclusions.iter().for_each(|one| say(format!("exclude {one:?}")));
    lab.stacks.iter().for_each(|one| say(format!("stack {one:?}")));
    say(format!("{} candidates", expansion.candidates.len()));
    for stack in expansion.stacks.iter().take(24) {
        let size = stack.journal.size.map_or(String::new(), |size| format!(", journal {size}"));
        say(format!("  {}{size}", stack.label));
    }
    for left in &expansion.left_out {
        say(format!("left out {} times: {}: {}", left.count, left.what, left.reason));
    }
    for warning in &expansion.warnings {
        say(format!("{}: {}; {}", warning.code, warning.text, warning.remedy));
    }
    text
}

fn judged(lab: &Lab) -> String {
    let judge = &lab.judge;
    let effort = match judge.effort {
        Effort::Rounds(rounds) => format!("{rounds} rounds"),
        Effort::Budget(budget) => format!("{budget}"),
    };
    let race = if judge.method == Method::Race { " in a race" } else { "" };
    format!(
        "judge {} {:?}, tie {}, confidence {}, {effort}{race}",
        judge.metric, judge.better, judge.tie, judge.confidence
    )
}
