//! `requests`: the block requests of a trace, on the raw device.

use super::{
    CacheState, FieldConflict, OperationCost, ReplaySpeed, StepOutline, WorkloadKind,
    WorkloadParams,
};
use crate::field::{Values, field};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Parameters of `requests`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestsParams {
    /// Name of the measured step.
    pub step: String,
    /// Folder of the trace.
    pub trace: PathBuf,
    /// Recorded device (major number << 20 | minor number); `None` for the busiest one.
    pub device: Option<u32>,
    /// Timing.
    pub speed: ReplaySpeed,
    /// Factor of recorded times.
    pub scale: f64,
    /// True to use a larger device to its end.
    pub stretch: bool,
    /// True to leave the device as it is: by default what the requests touch is written before.
    pub unfilled: bool,
    /// True when writes get zeros and not data that do not compress.
    pub zeros: bool,
}

/// Recorded block requests.
pub const REQUESTS: WorkloadKind = WorkloadKind {
    name: "requests",
    doc: "Repeats the block requests of a trace (`seekwell capture`, or a blktrace through `seekwell trace import`) on the raw device. On a device smaller than the recorded range, each MiB goes to the same relative position; otherwise offsets stay.",
    fields: &[
        field!("trace": Text, required, "Absolute path of the folder of the trace."),
        field!("step": Text, default "\"requests\"", "Name of the measured step."),
        field!("device": Text,
            "Recorded device as MAJOR:MINOR, such as \"8:0\". Without it the one with the most requests."),
        field!("speed": Choice(&["open", "recorded", "asap"]), default "\"open\"",
            "`open`: each request at its recorded time, late if more than 1024 are in flight. `recorded`: after the completions before it and the recorded time between, so that a faster device ends earlier. `asap`: without that time."),
        field!("scale": number(0.001, 1000.0), default "1",
            "Factor of the recorded times: 0.5 for twice the rate."),
        field!("stretch": Bool, default "false",
            "Spread the recorded range over the whole of a larger device too."),
        field!("unfilled": Bool, default "false",
            "Leave the device as it is. By default each MiB that the requests touch is written before, since devices answer reads of unwritten blocks without looking."),
        field!("content": Choice(&["random", "zeros"]), default "\"random\"",
            "Data of writes; a trace does not hold them."),
    ],
    on_raw: true,
    programs: &[],
    build,
};

/// Reads a device as MAJOR:MINOR.
fn numbered(word: &str) -> Option<u32> {
    let (major, minor) = word.split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let device = match values.text("device") {
        None => None,
        Some(word) => Some(numbered(word).ok_or_else(|| FieldConflict {
            field: "device",
            problem: format!("device \"{word}\" is not of the form MAJOR:MINOR"),
            remedy: "write it as lsblk shows it, such as \"8:0\"".to_owned(),
        })?),
    };
    Ok(WorkloadParams::Requests(RequestsParams {
        step: values.text("step").unwrap_or("requests").to_owned(),
        trace: values.text("trace").map(PathBuf::from).unwrap_or_default(),
        device,
        speed: values.choice("speed").unwrap_or(ReplaySpeed::Open),
        scale: values.number("scale").unwrap_or(1.0),
        stretch: values.bool("stretch"),
        unfilled: values.bool("unfilled"),
        zeros: values.text("content") == Some("zeros"),
    }))
}

/// Metrics of the measured step beyond the common ones.
const METRICS: &[&str] = &[
    "ops", "iops", "app_bytes", "mb_per_s", "latency_mean", "latency_p50", "latency_p99",
    "latency_p999", "latency_max", "lateness_p50", "lateness_p99", "drift", "requests_failed",
    "requests_left_out", "concurrency", "concurrency_recorded",
];

impl RequestsParams {
    /// Filling, and the requests.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let outline = |name: String, measured: bool, metrics: &[&str]| StepOutline {
            measured,
            cache: CacheState::Direct,
            operation: OperationCost::Access,
            ..StepOutline::new(name, metrics)
        };
        let fill = (!self.unfilled).then(|| outline(format!("{}-fill", self.step), false, &[]));
        let requests = outline(self.step.clone(), true, METRICS);
        fill.into_iter().chain([requests]).collect()
    }
}

#[cfg(test)]
mod tests;
