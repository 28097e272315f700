//! Small runs for tests: stacks, records and a verdict that fit together.

use crate::view::RunView;
use seekwell_model::lab::{
    Better, Effort, Judge, Lab, Method, SchedulerAxis, TrialSettings, Workload,
};
use seekwell_model::plan::{Candidate, Cost, LeftOut, Plan, PlannedTrial};
use seekwell_model::record::{DeviceInForce, InForce, QueueSettings, Record, Status, StepRecord};
use seekwell_model::stack::{
    Backing, Device, DeviceSettings, Filesystem, Journal, Memory, Scheduler, Stack,
};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::verdict::{Basis, Evidence, Ratio, Verdict, VerdictKind};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{CacheState, MailParams, WorkloadParams};
use std::collections::BTreeMap;

/// A stack on a loop device whose label is `FILESYSTEM/SCHEDULER`.
pub(crate) fn stack(kind: &str, scheduler: &str) -> Stack {
    let filesystem = Filesystem {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        mkfs: vec![],
        mount: vec!["noatime".to_owned()],
        discard: false,
        overlay: None,
    };
    Stack {
        label: format!("{kind}/{scheduler}"),
        device: Device {
            name: "scratch".to_owned(),
            base: "scratch".to_owned(),
            backing: Backing::Loop { size: Bytes::gib(8), directory: None, sector: Bytes(512) },
            settings: DeviceSettings::default(),
        },
        journal: Journal::internal(),
        filesystem,
        scheduler: Scheduler::plain(scheduler),
        memory: Memory::quarter(),
    }
}

fn workload() -> Workload {
    let mail = MailParams {
        compressible: 0,
        repeated: 0,
        files: 2_000,
        directories: 20,
        largest: None,
        median_size: Bytes::kib(4),
        spread: 1.2,
        tar: None,
        steps: ["read_archive", "read_directory", "remove"].map(str::to_owned).to_vec(),
        cache: CacheState::Cold,
        pipe: false,
    };
    Workload { name: "mail".to_owned(), parts: vec![WorkloadParams::Mail(mail)], beside: vec![] }
}

fn lab() -> Lab {
    Lab {
        name: "mail".to_owned(),
        question: "which stack unpacks, reads and removes a mail tree fastest?".to_owned(),
        seed: 42,
        devices: vec![],
        journals: vec![Journal::internal()],
        filesystems: vec![],
        schedulers: SchedulerAxis::All,
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
            effort: Effort::Rounds(8),
            method: Method::Rounds,
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

/// Eight rounds over these stacks, each round in the order of the stacks.
pub(crate) fn plan(stacks: Vec<Stack>) -> Plan {
    let count = stacks.len() as u32;
    let trial = |index: u32| PlannedTrial {
        index,
        round: index / count,
        candidate: index % count,
        seed: u64::from(index / count),
    };
    Plan {
        lab: lab(),
        workloads: vec![workload()],
        candidates: (0..count).map(|stack| Candidate { stack, workload: 0 }).collect(),
        trials: (0..8 * count).map(trial).collect(),
        left_out: vec![],
        costs: (0..count)
            .map(|stack| Cost {
                time_ns: 1_500_000_000 + u64::from(stack) * 100_000_000,
                written: Some(Bytes(44_000_000)),
            })
            .collect(),
        warnings: vec![],
        race: None,
        control: None,
        prolonged: None,
        stacks,
    }
}

fn device(scheduler: &str) -> DeviceInForce {
    DeviceInForce {
        kernel_name: "loop3".to_owned(),
        size: Bytes::gib(8),
        model: None,
        serial: None,
        firmware: None,
        queue: QueueSettings {
            scheduler: Some(scheduler.to_owned()),
            nr_requests: Some(128),
            read_ahead_kb: Some(128),
            write_cache: Some("write back".to_owned()),
            rotational: Some(false),
            ..QueueSettings::default()
        },
    }
}

fn mkfs_of(kind: &str) -> Vec<String> {
    let line = match kind {
        "ext4" => {
            "mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -J size=64 /dev/loop3"
        }
        "xfs" => "mkfs.xfs -q -f -b size=4096 -K -l size=64m /dev/loop3",
        _ => "mkfs.btrfs -q -f -s 4096 -K /dev/loop3",
    };
    vec![line.to_owned()]
}

/// A record in which the judged step took so many seconds.
pub(crate) fn record(stack: &Stack, seconds: f64) -> Record {
    let step = |name: &str, metric: &str, value: f64| StepRecord {
        name: name.to_owned(),
        metrics: BTreeMap::from([(metric.to_owned(), value)]),
        ..StepRecord::default()
    };
    Record {
        status: Status::Ok,
        in_force: InForce {
            device: device(&stack.scheduler.kind),
            mkfs: mkfs_of(&stack.filesystem.kind),
            mount: Some("rw,noatime".to_owned()),
            block_bytes: Some(4096),
            cpus: vec![1],
            ..InForce::default()
        },
        steps: vec![
            step("mkfs", "elapsed_durable", 0.05),
            step("unpack", "elapsed_durable", seconds),
            step("read_archive", "elapsed", seconds / 3.0),
            step("read_directory", "elapsed", seconds / 2.5),
            step("remove", "elapsed_durable", 0.031),
        ],
        timeline: vec![],
        journal_timeline: vec![],
        clock_cost_ns: Some(21.0),
        smart: None,
        block_events: None,
        fingerprint: None,
        elapsed_ns: 1_500_000_000,
        warnings: vec![],
    }
}

/// A row of the verdict.
pub(crate) fn ratio(label: &str, median: f64, ratio: f64, low: f64, high: f64) -> Ratio {
    Ratio {
        stack: label.to_owned(),
        ratio: Some(ratio),
        low: Some(low),
        high: Some(high),
        median: Some(median),
        pairs: 8,
        basis: Basis::Paired,
        hodges_lehmann: Some(ratio),
        a12: Some(0.0),
        autocorrelated: false,
    }
}

/// A verdict over `rows`, of which the first is the leader.
pub(crate) fn verdict(
    kind: VerdictKind,
    stacks: &[&str],
    reason: &str,
    rows: Vec<Ratio>,
) -> Verdict {
    Verdict {
        kind,
        stacks: stacks.iter().map(|label| (*label).to_owned()).collect(),
        baseline: rows.first().map(|row| row.stack.clone()),
        ratios: rows,
        reason: reason.to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        better: Better::Lower,
        confidence: 0.95,
        tie: 0.02,
        rounds: 8,
        decision: None,
        sentence: String::new(),
        method: 0,
        evidence: Evidence::default(),
    }
}

/// A run of these stacks with the seconds that each took in every round.
pub(crate) fn view(stacks: Vec<Stack>, seconds: &[f64], verdict: Verdict) -> RunView {
    let plan = plan(stacks);
    let records = plan
        .trials
        .iter()
        .map(|trial| {
            let candidate = trial.candidate as usize;
            (*trial, record(&plan.stacks[candidate], seconds[candidate]))
        })
        .collect();
    RunView {
        plan,
        records,
        verdict,
        backend: "host".to_owned(),
        environment: serde_json::json!({
            "place": "host",
            "kernel": "6.18.44",
            "cpu": "2 × Example CPU",
            "ram": 25_769_803_776_u64,
        }),
        warnings: vec![],
        host_ns: None,
    }
}

/// `xfs/none` wins over `xfs/bfq` and `ext4/none`.
pub(crate) fn winner() -> RunView {
    let stacks = vec![stack("ext4", "none"), stack("xfs", "none"), stack("xfs", "bfq")];
    let rows = vec![
        ratio("xfs/none", 0.412, 1.0, 1.0, 1.0),
        ratio("xfs/bfq", 0.468, 1.136, 1.087, 1.19),
        ratio("ext4/none", 0.731, 1.774, 1.692, 1.861),
    ];
    let reason =
        "better than each of the 2 others in paired rounds; the intervals hold together at 95 %";
    view(stacks, &[0.731, 0.412, 0.468], verdict(VerdictKind::Winner, &["xfs/none"], reason, rows))
}

/// `xfs/none` and `xfs/bfq` tie before `ext4/none`.
pub(crate) fn tie() -> RunView {
    let stacks = vec![stack("ext4", "none"), stack("xfs", "none"), stack("xfs", "bfq")];
    let rows = vec![
        ratio("xfs/none", 0.412, 1.0, 1.0, 1.0),
        ratio("xfs/bfq", 0.414, 1.004, 0.996, 1.013),
        ratio("ext4/none", 0.731, 1.774, 1.692, 1.861),
    ];
    let reason = "no other is better by more than the tie width of 2 %";
    let verdict = verdict(VerdictKind::Tie, &["xfs/none", "xfs/bfq"], reason, rows);
    view(stacks, &[0.731, 0.412, 0.414], verdict)
}

/// Three stacks that cannot be told apart yet.
pub(crate) fn unresolved() -> RunView {
    let stacks = vec![stack("ext4", "none"), stack("xfs", "none"), stack("btrfs", "none")];
    let rows = vec![
        ratio("xfs/none", 0.412, 1.0, 1.0, 1.0),
        ratio("ext4/none", 0.431, 1.046, 0.961, 1.139),
        ratio("btrfs/none", 0.98, 2.379, 2.2, 2.57),
    ];
    let reason = "the intervals are too wide after 8 rounds; about 23 rounds would decide it, or a wider tie";
    let stacks_left = ["xfs/none", "ext4/none"];
    let verdict = verdict(VerdictKind::Unresolved, &stacks_left, reason, rows);
    view(stacks, &[0.431, 0.412, 0.98], verdict)
}

/// Combinations that were left out of a plan.
pub(crate) fn left_out() -> Vec<LeftOut> {
    vec![
        LeftOut {
            what: "btrfs × journal on-ram".to_owned(),
            reason: "btrfs has no journal that could be elsewhere".to_owned(),
            count: 3,
        },
        LeftOut {
            what: "raw × mail".to_owned(),
            reason: "mail needs a filesystem".to_owned(),
            count: 1,
        },
    ]
}

/// Two warnings of one kind and one of another.
pub(crate) fn warnings() -> Vec<Warning> {
    let remedy = "make the data set larger than the memory limit, or read each byte once; a compressing filesystem also reads less";
    vec![
        Warning::new(WarningCode::ServedFromCache, "read_archive: 22.0 MB read by the workload, 1.20 MB by the device (8 times, in btrfs/none)").with_remedy(remedy),
        Warning::new(WarningCode::TrialFailed, "ext4/none: 2 trials failed in mkfs: mkfs.ext4: No space left on device").with_remedy("fix the cause and run the lab again, or exclude the stack"),
        Warning::new(WarningCode::ServedFromCache, "read_directory: 22.0 MB read by the workload, 0.90 MB by the device").with_remedy(remedy),
    ]
}
