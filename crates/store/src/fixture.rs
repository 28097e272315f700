//! A small plan and records for tests.

use seekwell_model::lab::{Better, Effort, Judge, Lab, SchedulerAxis, TrialSettings, Workload};
use seekwell_model::plan::{Candidate, Cost, Plan, PlannedTrial};
use seekwell_model::record::{InForce, Record, Status, StepRecord};
use seekwell_model::stack::{
    Backing, Device, DeviceSettings, Filesystem, Journal, Memory, Scheduler, Stack,
};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::verdict::{Evidence, Verdict, VerdictKind};
use seekwell_model::workloads::{CacheState, MailParams, WorkloadParams};
use std::collections::BTreeMap;

fn device() -> Device {
    Device {
        name: "scratch".to_owned(),
        base: "scratch".to_owned(),
        backing: Backing::Loop { size: Bytes::gib(1), directory: None, sector: Bytes(512) },
        settings: DeviceSettings::default(),
    }
}

fn filesystem(kind: &str) -> Filesystem {
    Filesystem {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        mkfs: vec![],
        mount: vec!["noatime".to_owned()],
        discard: false,
        overlay: None,
    }
}

fn stack(kind: &str) -> Stack {
    Stack {
        label: format!("{kind}/none"),
        device: device(),
        journal: Journal::internal(),
        filesystem: filesystem(kind),
        scheduler: Scheduler::plain("none"),
        memory: Memory::quarter(),
    }
}

fn workload() -> Workload {
    let mail = MailParams {
        compressible: 0,
        repeated: 0,
        files: 10,
        directories: 2,
        largest: None,
        median_size: Bytes::kib(4),
        spread: 1.0,
        tar: None,
        steps: vec![],
        cache: CacheState::Cold,
        pipe: false,
    };
    Workload { name: "mail".to_owned(), parts: vec![WorkloadParams::Mail(mail)], beside: vec![] }
}

fn lab() -> Lab {
    Lab {
        name: "mail".to_owned(),
        question: "which stack unpacks fastest?".to_owned(),
        seed: 1,
        devices: vec![device()],
        journals: vec![Journal::internal()],
        filesystems: vec![filesystem("ext4"), filesystem("xfs")],
        schedulers: SchedulerAxis::These(vec![Scheduler::plain("none")]),
        memories: vec![Memory::quarter()],
        workloads: vec![workload()],
        exclusions: vec![],
        stacks: vec![],
        stacks_only: false,
        judge: Judge {
            metric: "unpack.elapsed_durable".to_owned(),
            better: Better::Lower,
            tie: 0.02,
            confidence: 0.95,
            effort: Effort::Rounds(6),
            method: seekwell_model::lab::Method::Rounds,
            control: false,
        },
        trial: TrialSettings {
            cpus: None,
            block_events: false,
            single_ios: false,
            sample_interval: Nanos(100_000_000),
            timeout: Nanos::seconds(600),
            fsck: false,
            fsck_torn: false,
            freeze: false,
        },
    }
}

/// Two stacks, one workload, six rounds.
pub(crate) fn plan() -> Plan {
    Plan {
        lab: lab(),
        stacks: vec![stack("ext4"), stack("xfs")],
        workloads: vec![workload()],
        candidates: vec![Candidate { stack: 0, workload: 0 }, Candidate { stack: 1, workload: 0 }],
        trials: (0..12).map(trial).collect(),
        left_out: vec![],
        costs: vec![Cost { time_ns: 1, written: None }; 2],
        warnings: vec![],
        race: None,
        control: None,
        prolonged: None,
    }
}

/// Trial number `index` of [`plan`].
pub(crate) fn trial(index: u32) -> PlannedTrial {
    let round = index / 2;
    PlannedTrial { index, round, candidate: index % 2, seed: u64::from(round) }
}

/// The record of trial number `index`.
pub(crate) fn record(index: u32) -> Record {
    let step = |name: &str, seconds: f64| StepRecord {
        name: name.to_owned(),
        metrics: BTreeMap::from([("elapsed_durable".to_owned(), seconds)]),
        ..StepRecord::default()
    };
    Record {
        status: Status::Ok,
        in_force: InForce::default(),
        steps: vec![step("mkfs", 0.1), step("unpack", 2.0 + f64::from(index) / 8.0)],
        timeline: vec![],
        journal_timeline: vec![],
        clock_cost_ns: Some(21.5),
        smart: None,
        block_events: None,
        fingerprint: None,
        elapsed_ns: 3_000_000_000,
        warnings: vec![],
    }
}

/// The environment of the run.
pub(crate) fn environment() -> serde_json::Value {
    serde_json::json!({ "place": "host", "kernel": "6.18.44" })
}

/// A verdict that nothing was judged for.
#[allow(dead_code, reason = "not every test that includes this file needs it")]
pub(crate) fn verdict() -> Verdict {
    Verdict {
        kind: VerdictKind::Winner,
        stacks: vec!["xfs/none".to_owned()],
        baseline: Some("xfs/none".to_owned()),
        ratios: vec![],
        reason: "because".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        better: Better::Lower,
        confidence: 0.95,
        tie: 0.02,
        rounds: 6,
        decision: None,
        sentence: String::new(),
        method: 0,
        evidence: Evidence::default(),
    }
}
