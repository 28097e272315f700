//! Small runs for tests: stacks, records and a verdict that fit together.

use crate::view::RunView;
pub(crate) use seekwell_fixtures::stack;
use seekwell_fixtures::{mail, step};
use seekwell_model::answer::{Answer, AxisAnswer, Doubt, More, TimeRow, TimeSpent, ValueOut};
use seekwell_model::lab::{Effort, Lab};
use seekwell_model::plan::{Cost, LeftOut, Plan};
use seekwell_model::record::{DeviceInForce, InForce, QueueSettings, Record};
use seekwell_model::stack::{Journal, Memory, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::verdict::{Basis, Ratio, Verdict, VerdictKind};
use seekwell_model::warning::{Warning, WarningCode};

fn lab() -> Lab {
    let lab = seekwell_fixtures::lab("unpack.elapsed_durable", Effort::Rounds(8), vec![mail()]);
    Lab {
        name: "mail".to_owned(),
        question: "which stack unpacks, reads and removes a mail tree fastest?".to_owned(),
        journals: vec![Journal::internal()],
        memories: vec![Memory::quarter()],
        ..lab
    }
}

/// Eight rounds over these stacks, each round in the order of the stacks.
pub(crate) fn plan(stacks: Vec<Stack>) -> Plan {
    let plan = seekwell_fixtures::plan(lab(), stacks, 8);
    let cost = |stack: usize| Cost {
        time_ns: 1_500_000_000 + stack as u64 * 100_000_000,
        written: Some(Bytes(44_000_000)),
    };
    Plan { costs: (0..plan.stacks.len()).map(cost).collect(), ..plan }
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
    Record {
        in_force: InForce {
            device: device(&stack.scheduler.kind),
            mkfs: mkfs_of(&stack.filesystem.kind),
            mount: Some("rw,noatime".to_owned()),
            block_bytes: Some(4096),
            cpus: vec![1],
            ..InForce::default()
        }
        .into(),
        steps: vec![
            step("mkfs", "elapsed_durable", 0.05),
            step("unpack", "elapsed_durable", seconds),
            step("read_archive", "elapsed", seconds / 3.0),
            step("read_directory", "elapsed", seconds / 2.5),
            step("remove", "elapsed_durable", 0.031),
        ],
        clock_cost_ns: Some(21.0),
        elapsed_ns: 1_500_000_000,
        ..Record::blank()
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
        baseline: rows.first().map(|row| row.stack.clone()),
        ratios: rows,
        reason: reason.to_owned(),
        ..seekwell_fixtures::verdict(kind, stacks, 8)
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
        stored: None,
        why: None,
        backend: "host".to_owned(),
        environment: serde_json::json!({
            "place": "host",
            "kernel": "6.18.44",
            "cpu": "2 × Example CPU",
            "ram": 25_769_803_776_u64,
        }),
        warnings: vec![],
        is_over: true,
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

/// The demo: nine stacks, of which six are too close to call and three are out.
pub(crate) fn demo() -> RunView {
    let rows = vec![
        ratio("ext4/none", 0.354, 1.0, 1.0, 1.0),
        ratio("xfs/bfq", 0.358, 1.01, 0.9, 1.13),
        ratio("xfs/none", 0.368, 1.03, 0.94, 1.14),
        ratio("xfs/mq-deadline", 0.374, 1.05, 0.94, 1.17),
        ratio("ext4/bfq", 0.372, 1.05, 0.94, 1.18),
        ratio("ext4/mq-deadline", 0.378, 1.05, 0.94, 1.19),
        ratio("btrfs/mq-deadline", 0.64, 1.66, 1.37, 2.01),
        ratio("btrfs/none", 0.621, 1.67, 1.4, 1.98),
        ratio("btrfs/bfq", 0.618, 1.7, 1.43, 2.02),
    ];
    let stacks: Vec<Stack> = ["ext4", "xfs", "btrfs"]
        .into_iter()
        .flat_map(|kind| ["none", "mq-deadline", "bfq"].map(|scheduler| stack(kind, scheduler)))
        .collect();
    let seconds: Vec<f64> = stacks
        .iter()
        .map(|stack| rows.iter().find(|row| row.stack == stack.label).and_then(|row| row.median))
        .map(Option::unwrap)
        .collect();
    let labels = |from: usize, to: usize| -> Vec<String> {
        rows[from..to].iter().map(|row| row.stack.clone()).collect()
    };
    let answer = Answer {
        pick: Some("ext4/none".to_owned()),
        loss: Some(0.11),
        among: 9,
        rounds: 14,
        close: labels(1, 6),
        out: labels(6, 9),
        axes: vec![demo_filesystems(), demo_schedulers()],
        doubt: Some(Doubt {
            name: "carry-over".to_owned(),
            text: "a result shifts by up to 17 % with the stack that ran before it, more than the lab's tie of 5 %".to_owned(),
            remedy: "double the work: files = 16_000".to_owned(),
        }),
        time: Some(demo_time()),
        more: Some(More { rounds: 40, more_ns: 240_000_000_000 }),
        ..Answer::default()
    };
    let left: Vec<&str> = rows[..6].iter().map(|row| row.stack.as_str()).collect();
    let mut made = verdict(VerdictKind::Unresolved, &left, "", rows.clone());
    (made.tie, made.rounds, made.answer) = (0.05, 14, Some(answer));
    let mut view = view(stacks, &seconds, made);
    view.plan.lab.name = "demo".to_owned();
    view.plan.lab.question =
        "which filesystem and scheduler unpack a small mail store fastest?".to_owned();
    view
}

fn demo_filesystems() -> AxisAnswer {
    let out = ValueOut {
        value: "btrfs".to_owned(),
        against: "ext4".to_owned(),
        ratio: 1.67,
        low: Some(1.55),
        high: Some(1.79),
    };
    AxisAnswer {
        axis: "filesystem".to_owned(),
        left: vec!["ext4".to_owned(), "xfs".to_owned()],
        within: Some(0.056),
        single: Some(0.12),
        out: vec![out],
        over: "the schedulers".to_owned(),
        ..AxisAnswer::default()
    }
}

fn demo_schedulers() -> AxisAnswer {
    AxisAnswer {
        axis: "scheduler".to_owned(),
        left: ["none", "bfq", "mq-deadline"].map(str::to_owned).to_vec(),
        within: Some(0.101),
        over: "ext4 and xfs".to_owned(),
        ..AxisAnswer::default()
    }
}

fn demo_time() -> TimeSpent {
    let row = |value: &str, computing: u64, waiting: u64, writing: u64, busy| TimeRow {
        value: value.to_owned(),
        elapsed_ns: (computing + waiting + writing) * 1_000_000,
        computing_ns: Some(computing * 1_000_000),
        waiting_ns: Some(waiting * 1_000_000),
        writing_out_ns: writing * 1_000_000,
        busy: Some(busy),
    };
    TimeSpent {
        axis: "filesystem".to_owned(),
        rows: vec![
            row("ext4", 247, 0, 118, 0.28),
            row("xfs", 248, 0, 123, 0.3),
            row("btrfs", 366, 235, 31, 0.22),
        ],
    }
}

/// The first screen on a terminal of this width.
pub(crate) fn screen(view: &RunView, width: usize) -> String {
    shown(view, width, false)
}

/// The report with everything.
pub(crate) fn everything(view: &RunView, width: usize) -> String {
    shown(view, width, true)
}

fn shown(view: &RunView, width: usize, all: bool) -> String {
    let path = std::path::Path::new("demo.seekwell");
    crate::terminal(view, &crate::Screen { width, height: None, colour: false, all, path })
}
