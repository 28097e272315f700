//! `replay`: the calls of a trace, with the order and the pauses that it recorded.

use super::{
    CacheState, Company, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams,
};
use crate::field::{Field, FieldKind, Values};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Timing of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplaySpeed {
    /// With the recorded time between calls.
    Recorded,
    /// Each call as soon as those that it needs are over.
    Asap,
    /// Each call at its recorded start.
    Open,
}

/// Parameters of `replay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayParams {
    /// Name of the measured step.
    pub step: String,
    /// Folder of the trace.
    pub trace: PathBuf,
    /// Folder of the recorded machine; calls on files elsewhere are left out. `None` for all.
    pub only: Option<String>,
    /// Timing.
    pub speed: ReplaySpeed,
    /// Factor of recorded times.
    pub scale: f64,
    /// True when files and writes get zeros and not data that do not compress.
    pub zeros: bool,
    /// State of the page cache when the replay starts.
    pub cache: CacheState,
}

/// A recorded load.
pub const REPLAY: WorkloadKind = WorkloadKind {
    name: "replay",
    doc: "Rebuilds the files that a trace found (`seekwell capture`, `seekwell trace import`) and repeats its calls below the mounted directory: one thread for each recorded one, in the order that paths, descriptors, files and threads demand.",
    fields: &[
        Field {
            name: "trace",
            kind: FieldKind::Text,
            default: None,
            required: true,
            doc: "Absolute path of the trace: its folder, or the file of `seekwell trace pack`.",
        },
        Field {
            name: "step",
            kind: FieldKind::Text,
            default: Some("\"replay\""),
            required: false,
            doc: "Name of the measured step.",
        },
        Field {
            name: "only",
            kind: FieldKind::Text,
            default: None,
            required: false,
            doc: "Folder of the recorded machine, such as \"/var/lib/mysql\": calls on files elsewhere are left out, their time counts as the program's. Without it all files are replayed but those in /dev, /proc and /sys.",
        },
        Field {
            name: "speed",
            kind: FieldKind::Choice(&["recorded", "asap", "open"]),
            default: Some("\"recorded\""),
            required: false,
            doc: "`recorded`: with the recorded time between calls, so that a faster stack ends earlier. `asap`: without it. `open`: each call at its recorded start, late if the stack is slow.",
        },
        Field {
            name: "scale",
            kind: FieldKind::Number { min: 0.001, max: 1000.0 },
            default: Some("1"),
            required: false,
            doc: "Factor of the recorded times: 0.5 on a CPU twice as fast.",
        },
        Field {
            name: "content",
            kind: FieldKind::Choice(&["random", "zeros"]),
            default: Some("\"random\""),
            required: false,
            doc: "Data of files and writes; a trace does not hold them. It matters on filesystems that compress.",
        },
        Field {
            name: "cache",
            kind: FieldKind::Choice(&["cold", "warm"]),
            default: Some("\"cold\""),
            required: false,
            doc: "State of the page cache when the replay starts.",
        },
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let speed = match values.text("speed") {
        Some("asap") => ReplaySpeed::Asap,
        Some("open") => ReplaySpeed::Open,
        _ => ReplaySpeed::Recorded,
    };
    Ok(WorkloadParams::Replay(ReplayParams {
        step: values.text("step").unwrap_or("replay").to_owned(),
        trace: values.text("trace").map(PathBuf::from).unwrap_or_default(),
        only: values.text("only").map(str::to_owned),
        speed,
        scale: values.number("scale").unwrap_or(1.0),
        zeros: values.text("content") == Some("zeros"),
        cache: CacheState::of(values),
    }))
}

/// Folder of a guest that holds the traces that its workloads replay.
pub const GUEST_TRACES: &str = "/traces";

/// Folder of a trace in a guest of the virtual backend.
#[must_use]
pub fn guest_trace(folder: &Path) -> PathBuf {
    Path::new(GUEST_TRACES).join(folder.strip_prefix("/").unwrap_or(folder))
}

/// Metrics of the measured step beyond the common ones.
const METRICS: &[&str] = &[
    "ops",
    "iops",
    "app_bytes",
    "time_in_calls",
    "latency_mean",
    "latency_p50",
    "latency_p99",
    "latency_max",
    "fidelity",
    "calls_differing",
    "calls_left_out",
    "files_unknown",
    "concurrency",
    "concurrency_recorded",
    "lateness_p99",
    "device_read_recorded",
    "device_written_recorded",
];

impl ReplayParams {
    /// Rebuilding the files, and the replay.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let outline =
            |name: String, measured: bool, cache: CacheState, metrics: &[&str]| StepOutline {
                name,
                writes: true,
                measured,
                cache,
                bytes: None,
                operations: None,
                operation: OperationCost::default(),
                time_ns: None,
                company: Company::Alone,
                metrics: metrics.iter().map(|name| (*name).to_owned()).collect(),
            };
        vec![
            outline(format!("{}-rebuild", self.step), false, CacheState::Warm, &[]),
            outline(self.step.clone(), true, self.cache, METRICS),
        ]
    }
}
