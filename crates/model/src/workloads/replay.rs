//! `replay`: the calls of a trace, with the order and the pauses that it recorded.

use super::{CacheState, FieldConflict, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Values, field};
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
    /// Every n-th sync of a process is repeated.
    #[serde(default = "all", skip_serializing_if = "is_all")]
    pub sync_every: u32,
    /// Timing.
    pub speed: ReplaySpeed,
    /// Factor of recorded times.
    pub scale: f64,
    /// True when files and writes get zeros and not data that do not compress.
    pub zeros: bool,
    /// State of the page cache when the replay starts.
    pub cache: CacheState,
    /// True when the replay is not compared with its recording before the trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
}

/// Every sync.
fn all() -> u32 {
    1
}

fn is_all(sync_every: &u32) -> bool {
    *sync_every == 1
}

/// A recorded load.
pub const REPLAY: WorkloadKind = WorkloadKind {
    name: "replay",
    doc: "Rebuilds the files that a trace found (`seekwell capture`, `seekwell trace import`) and repeats its calls: one thread for each recorded one, in the order that paths, descriptors, files and threads demand.",
    fields: &[
        field!("trace": Text, required, "Absolute path of the folder of the trace."),
        field!("step": Text, default "\"replay\"", "Name of the measured step."),
        field!("only": Text,
            "Folder of the recorded machine, such as \"/var/lib/mysql\": calls on files elsewhere are left out, their time counts as the program's. Without it all files but those in /dev, /proc and /sys."),
        field!("sync_every": integer(1, 1000), default "1",
            "Repeats only the first of n fsyncs or fdatasyncs of a process and leaves the others out with their time: what the program would gain if it synced less often, at the price of what a crash loses."),
        field!("speed": Choice(&["recorded", "asap", "open"]), default "\"recorded\"",
            "`recorded`: with the recorded time between calls, so that a faster stack ends earlier. `asap`: without it. `open`: each call at its recorded start, late if the stack is slow."),
        field!("scale": number(0.001, 1000.0), default "1",
            "Factor of the recorded times: 0.5 on a CPU twice as fast."),
        field!("content": Choice(&["random", "zeros"]), default "\"random\"",
            "Data of files and writes; a trace does not hold them. It matters on filesystems that compress."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "State of the page cache when the replay starts."),
        field!("check": Bool, default "true",
            "Replays first next to the recorded files, where their filesystem is mounted here, and compares the time with the program's; where syncs take a tenth of it, once more with one sync for ten. `false` writes nothing there."),
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    Ok(WorkloadParams::Replay(ReplayParams {
        step: values.text("step").unwrap_or("replay").to_owned(),
        trace: values.text("trace").map(PathBuf::from).unwrap_or_default(),
        only: values.text("only").map(str::to_owned),
        sync_every: values.count32("sync_every"),
        speed: values.choice("speed").unwrap_or(ReplaySpeed::Recorded),
        scale: values.number("scale").unwrap_or(1.0),
        zeros: values.text("content") == Some("zeros"),
        cache: CacheState::of(values),
        unchecked: !values.bool("check"),
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
    "ops", "iops", "app_bytes", "time_in_calls", "latency_mean", "latency_p50", "latency_p99",
    "latency_max", "sync_latency_p50", "sync_latency_p99", "fidelity", "calls_differing",
    "calls_left_out", "files_unknown", "concurrency", "concurrency_recorded", "lateness_p99",
    "device_read_recorded", "device_written_recorded",
];

impl ReplayParams {
    /// Rebuilding the files, and the replay.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let rebuild = StepOutline::new(format!("{}-rebuild", self.step), &[]);
        let replay = StepOutline::new(&self.step, METRICS);
        vec![
            StepOutline { measured: false, ..rebuild },
            StepOutline { cache: self.cache, ..replay },
        ]
    }
}
