//! Runs that were never made: as many stacks and trials as wanted, with every kind of data that a
//! record can hold.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{
    BlockEvent, BlockEvents, DeviceTotals, InForce, Record, Sample, SingleIo, SmartReading, Status,
    StepRecord,
};
use seekwell_model::warning::Warning;
use seekwell_stats::histogram::Histogram;
use seekwell_store::RunFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What a run is to be like.
pub struct Wanted {
    /// One stack per text, which is its label and stands in every field of it.
    pub texts: Vec<String>,
    /// Block sizes and file sizes of the workloads, in KiB.
    pub workloads: Vec<(u64, u64)>,
    pub rounds: u32,
    /// Samples of each timeline.
    pub samples: u32,
    /// Operations of each measured step.
    pub operations: u64,
    /// Whether single operations and block events are kept.
    pub single: bool,
}

/// Writes the run file.
pub fn make(path: &Path, wanted: &Wanted) {
    let plan = plan(wanted);
    let text = wanted.texts.first().cloned().unwrap_or_default();
    let environment = json!({
        "place": "host", "kernel": "6.1.0", "cpu": text, "ram": 8_u64 << 30, "host": text,
        "uncontrolled": [text],
    });
    let mut file = RunFile::create(path, &plan, &environment).unwrap();
    for trial in &plan.trials {
        let candidate = plan.candidates[trial.candidate as usize];
        let text = &wanted.texts[candidate.stack as usize];
        file.append(trial, &record(wanted, trial, candidate.stack, text)).unwrap();
    }
}

fn stack(text: &str) -> Value {
    json!({
        "label": text,
        "device": {
            "name": text, "base": text, "backing": { "disk": { "path": text } },
            "settings": { "write_cache": null, "read_ahead_kb": null, "max_sectors_kb": null,
                "nr_requests": null, "rotational": null, "apm": null, "hdparm": [text] },
        },
        "journal": { "name": text, "external": null, "size": null, "data": null },
        "filesystem": { "name": text, "kind": "ext4", "mkfs": [text], "mount": [text],
            "discard": false, "overlay": null },
        "scheduler": { "name": text, "kind": "none", "nr_requests": null, "read_ahead_kb": null,
            "tunables": { text: text } },
        "memory": { "name": text, "limit": "quarter" },
    })
}

fn plan(wanted: &Wanted) -> Plan {
    let text = wanted.texts.first().cloned().unwrap_or_default();
    let workload = |(size, file): &(u64, u64)| {
        json!({
            "name": format!("{text} {size}k of {file}k"), "beside": [],
            "parts": [{ "io": { "kind": "seek", "step": "seek", "size": size * 1024,
                "count": 100, "time": null, "threads": 1, "depth": 1, "engine": "psync",
                "pattern": "random", "read_percent": 50, "cache": "direct", "rate": null,
                "file_size": file * 1024, "fsync_every": 0 } }],
        })
    };
    let workloads: Vec<Value> = wanted.workloads.iter().map(workload).collect();
    let stacks: Vec<Value> = wanted.texts.iter().map(|text| stack(text)).collect();
    let (stack_count, workload_count) = (stacks.len(), workloads.len());
    let candidates: Vec<Value> = (0..stack_count * workload_count)
        .map(|index| json!({ "stack": index / workload_count, "workload": index % workload_count }))
        .collect();
    let each = candidates.len() as u32;
    let trials: Vec<PlannedTrial> = (0..each * wanted.rounds)
        .map(|index| PlannedTrial {
            index,
            round: index / each,
            candidate: index % each,
            seed: u64::from(index / each),
        })
        .collect();
    let lab = json!({
        "name": text, "question": text, "seed": 1, "devices": [], "journals": [],
        "filesystems": [], "schedulers": "All", "memories": [], "workloads": workloads,
        "exclusions": [], "stacks": [], "stacks_only": false,
        "judge": { "metric": "seek.latency_mean", "better": "lower", "tie": 0.02,
            "confidence": 0.95, "effort": { "rounds": wanted.rounds } },
        "trial": { "cpus": null, "block_events": wanted.single, "single_ios": wanted.single,
            "sample_interval": 100_000_000_u64, "timeout": 3_600_000_000_000_u64, "fsck": false },
    });
    let costs: Vec<Value> =
        candidates.iter().map(|_| json!({ "time_ns": 1_000_000, "written": 1 })).collect();
    let plan = json!({
        "lab": lab, "stacks": stacks, "workloads": workloads, "candidates": candidates,
        "trials": trials, "costs": costs, "warnings": [],
        "left_out": [{ "what": text, "reason": text, "count": 1 }],
    });
    serde_json::from_value(plan).unwrap()
}

/// Numbers that look random and are the same every time.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn record(wanted: &Wanted, trial: &PlannedTrial, stack: u32, text: &str) -> Record {
    let mut next = noise(u64::from(trial.index) + 1);
    let speed = 1.0 + f64::from(stack) * 0.05;
    let mut values = || 80_000.0 * speed * (0.8 + 0.4 * next());
    let mut histogram = Histogram::new();
    (0..wanted.operations).for_each(|_| histogram.record(values() as u64));
    let mean = histogram.mean_ns().unwrap_or(1.0);
    let metrics = [
        ("latency_mean", mean),
        ("iops", 1e9 / mean),
        ("elapsed", mean * wanted.operations as f64 / 1e9),
        ("written_per_byte", 1.0 + speed / 10.0),
    ];
    let warning = || Warning { code: text.into(), text: text.into(), remedy: text.into() };
    let duration_ns = u64::from(wanted.samples) * 100_000_000;
    let step = |name: &str, from: u64, to: u64| StepRecord {
        name: name.to_owned(),
        started_ns: from,
        ended_ns: to,
        device: Some(DeviceTotals {
            reads: 100,
            writes: 50,
            flushes: Some(3),
            ..DeviceTotals::default()
        }),
        ..StepRecord::default()
    };
    let bytes = histogram.to_bytes();
    let mut measured = step("seek", duration_ns / 4, duration_ns);
    measured.metrics = metrics.map(|(name, value)| (name.to_owned(), value)).into();
    measured.histograms = BTreeMap::from(
        [("read", bytes.clone()), ("write", bytes)].map(|(name, bytes)| (name.to_owned(), bytes)),
    );
    if wanted.single {
        measured.single_ios =
            (0..wanted.operations).map(|index| single(wanted, index, values())).collect();
    }
    let failed = trial.index % 97 == 96;
    Record {
        status: if failed {
            Status::Failed { stage: text.to_owned(), reason: text.to_owned() }
        } else {
            Status::Ok
        },
        in_force: in_force(text).into(),
        steps: vec![step("mkfs", 0, duration_ns / 4), measured],
        timeline: timeline(wanted.samples, trial.index),
        journal_timeline: if wanted.single {
            timeline(wanted.samples, trial.index + 7)
        } else {
            vec![]
        },
        clock_cost_ns: Some(20.5),
        smart: wanted.single.then(|| SmartReading {
            before: Some(json!({ "temperature": { "current": 30 }, "model_name": text })),
            after: Some(json!({ "temperature": { "current": 31 }, "model_name": text })),
        }),
        block_events: wanted.single.then(|| events(duration_ns)),
        fingerprint: Some(text.to_owned()),
        elapsed_ns: duration_ns.max(1),
        cost_ns: None,
        others_cpu_percent: None,
        warnings: if wanted.single { vec![warning()] } else { vec![] },
        ..Record::blank()
    }
}

fn single(wanted: &Wanted, index: u64, latency: f64) -> SingleIo {
    let duration_ns = u64::from(wanted.samples) * 100_000_000;
    SingleIo {
        at_ns: duration_ns / 4 + index * (duration_ns * 3 / 4) / wanted.operations.max(1),
        latency_ns: latency as u64,
        operation: if index.is_multiple_of(2) { "read" } else { "write" }.to_owned(),
        offset: index * 4096,
    }
}

fn in_force(text: &str) -> InForce {
    let mut in_force = InForce {
        mkfs: vec![text.to_owned()],
        mount: Some(text.to_owned()),
        cpus: vec![1],
        ..InForce::default()
    };
    in_force.device.kernel_name = text.to_owned();
    for field in
        [&mut in_force.device.model, &mut in_force.device.serial, &mut in_force.device.firmware]
    {
        *field = Some(text.to_owned());
    }
    in_force.device.queue.scheduler = Some("none".to_owned());
    in_force
}

/// Samples as the kernel's counters give them: rates and means of whole numbers.
fn timeline(samples: u32, seed: u32) -> Vec<Sample> {
    let mut next = noise(u64::from(seed) + 1_000_000);
    let mut at_ns = 0;
    (0..samples)
        .map(|_| {
            let mut below = |most: f64| (next() * most) as u64;
            let interval_ns = 100_000_000 + below(100_000.0);
            at_ns += interval_ns;
            let (reads, spent_ms, weighted_ms) = (below(200.0), below(90.0), below(300.0));
            let writes = reads / 3;
            let interval_ms = interval_ns as f64 / 1e6;
            let per_s = |count: u64| count as f64 / interval_ms * 1e3;
            let mean = |total: u64, count: u64| (count > 0).then(|| total as f64 / count as f64);
            let pressure = |us: u64| Some(us as f64 * 1e3 / interval_ns as f64 * 100.0);
            Sample {
                at_ns,
                reads_per_s: per_s(reads),
                writes_per_s: per_s(writes),
                read_kib_per_s: per_s(reads * 8) / 2.0,
                written_kib_per_s: per_s(writes * 48) / 2.0,
                read_await_ms: mean(spent_ms, reads),
                write_await_ms: mean(spent_ms * 2, writes),
                queue_size: weighted_ms as f64 / interval_ms,
                read_request_kib: mean(reads * 8, reads).map(|sectors| sectors / 2.0),
                write_request_kib: mean(writes * 48, writes).map(|sectors| sectors / 2.0),
                flushes_per_s: Some(per_s(0)),
                utilisation_percent: spent_ms as f64 / interval_ms * 100.0,
                dirty_bytes: Some(below(1e8) / 4096 * 4096),
                writeback_bytes: Some(0),
                io_pressure_percent: pressure(below(10_000.0)),
                cpu_pressure_percent: pressure(below(1_000.0)),
                memory_pressure_percent: pressure(0),
                ..Sample::default()
            }
        })
        .collect()
}

fn events(duration_ns: u64) -> BlockEvents {
    let event = |index: u64, complete: bool| BlockEvent {
        at_ns: index * duration_ns / 200 + if complete { 90_000 } else { 0 },
        complete,
        sector: (index * 7_919) % 1_000_000,
        sectors: 8,
        operation: ['R', 'W', 'D', 'F'][index as usize % 4],
        pid: 1,
    };
    let events = (0..200).flat_map(|index| [event(index, false), event(index, true)]).collect();
    BlockEvents { events, lost: 3 }
}
