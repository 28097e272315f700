//! The labs that come with Seekwell say what they are meant to say.

#![allow(clippy::unwrap_used, reason = "a lab that cannot be read must fail the test")]

use seekwell_model::lab::{Better, Effort};
use seekwell_model::plan::{BackendFacts, LeftOut};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_spec::{Expansion, LabFile, expand, read_lab_bytes};
use std::collections::BTreeSet;
use std::path::Path;

fn machine() -> BackendFacts {
    BackendFacts {
        schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec(),
        ram: Some(Bytes::gib(4)),
        ..BackendFacts::default()
    }
}

fn lab(name: &str) -> (LabFile, Expansion) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs").join(name);
    let file = read_lab_bytes(&std::fs::read(path).unwrap(), name).unwrap();
    let expansion = expand(&file, &machine()).unwrap();
    (file, expansion)
}

fn labels(expansion: &Expansion) -> Vec<&str> {
    expansion.stacks.iter().map(|stack| stack.label.as_str()).collect()
}

#[test]
fn every_lab_can_be_read_and_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let (file, expansion) = lab(&name);
        assert_eq!(format!("{}.toml", file.lab.name), name);
        assert!(!file.lab.question.is_empty(), "{name}");
        let not_asked = |left: &&LeftOut| left.reason != "the lab excludes it";
        let left_out: Vec<&LeftOut> = expansion.left_out.iter().filter(not_asked).collect();
        assert!(left_out.is_empty(), "{name}: {left_out:?}");
        names.insert(name);
    }
    assert!(names.contains("demo.toml") && names.len() >= 12, "{names:?}");
}

#[test]
fn the_demo_unpacks_mail_on_nine_stacks_within_72_seconds() {
    let (file, expansion) = lab("demo.toml");
    assert_eq!(expansion.candidates.len(), 9);
    assert_eq!(file.lab.judge.effort, Effort::Budget(Nanos::seconds(72)));
    assert_eq!(file.lab.judge.metric, "unpack.elapsed_durable");
    assert_eq!(file.lab.judge.better, Better::Lower);
    let kinds: BTreeSet<&str> =
        expansion.stacks.iter().map(|stack| stack.filesystem.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["btrfs", "ext4", "xfs"]));
    let steps: Vec<String> =
        file.lab.workloads[0].outlines().into_iter().map(|step| step.outline.name).collect();
    assert_eq!(steps, ["unpack"]);
}

#[test]
fn the_desktop_freezes_under_every_scheduler_of_the_kernel() {
    let (file, expansion) = lab("desktop-freeze.toml");
    assert_eq!(labels(&expansion), ["none", "mq-deadline", "kyber", "bfq"]);
    let workload = &file.lab.workloads[0];
    assert!(workload.reports("small-reads.latency_ratio"));
    assert!(workload.reports("small-reads-alone.latency_p99"));
    assert!(workload.reports("bulk-writer.mb_per_s"));
    assert_eq!(file.lab.judge.metric, "small-reads.latency_p99");
}

#[test]
fn the_journal_is_as_large_inside_as_outside() {
    let (_, expansion) = lab("journal.toml");
    assert_eq!(labels(&expansion), ["inside", "on-loop", "in-ram"]);
    let sizes: BTreeSet<_> = expansion.stacks.iter().map(|stack| stack.journal.size).collect();
    assert_eq!(sizes, BTreeSet::from([Some(Bytes::mib(64))]));
}

#[test]
fn the_raw_device_stands_beside_the_filesystems() {
    let (file, expansion) = lab("raw-vs-filesystem.toml");
    assert_eq!(labels(&expansion), ["raw", "ext2", "ext4", "xfs"]);
    assert_eq!(file.lab.judge.better, Better::Lower);
    assert!(expansion.warnings.is_empty(), "{:?}", expansion.warnings);
}
