//! `age`, `defragment` and `layout`: a filesystem is made old, put in order, and looked at.

use super::{FieldConflict, StepOutline, WorkloadKind, WorkloadParams, conflict};
use crate::field::{Field, Values, field};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// Parameters of `age`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgeParams {
    /// Name of the step.
    pub step: String,
    /// Part of the filesystem that is in use at the end, in percent.
    pub fullness: u64,
    /// Mean number of extents per file at which churning ends.
    pub extents: f64,
    /// Churning ends at the latest when so many times the filled amount was written again.
    pub churn: f64,
    /// Median size of the files.
    pub median_size: Bytes,
    /// Standard deviation of the natural logarithm of the file size.
    pub spread: f64,
}

/// Parameters of `defragment` and `layout`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutParams {
    /// Name of the step.
    pub step: String,
    /// True if the filesystem's own tool defragments the files first.
    pub defragment: bool,
    /// Directory of the filesystem below which files are looked at; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

const STEP: Field = field!("step": Text, "Name of the step; by default the kind's name.");

/// An old filesystem.
pub const AGE: WorkloadKind = WorkloadKind {
    name: "age",
    doc: "Fills the filesystem and churns it: files are deleted and created again, several growing at once, until it is as full and fragmented as stated. Add the workload to measure with `then`.",
    fields: &[
        STEP,
        field!("fullness": integer(1, 98), default "80",
            "Part of the filesystem that is in use at the end, in percent."),
        field!("extents": number(1.0, 10_000.0), default "4.0",
            "Mean number of extents per file at which churning ends. A warning says when `churn` was not enough for it."),
        field!("churn": number(0.0, 1_000.0), default "2.0",
            "Limit of churning: rewrites at most this many times the filled amount. 0 only fills."),
        field!("median_size": size(Bytes::kib(4), Bytes::mib(64)), default "\"128KiB\"",
            "Median size of the files."),
        field!("spread": number(0.0, 4.0), default "1.0",
            "Standard deviation of the natural logarithm of the file size. Sizes are cut at 64 MiB."),
    ],
    on_raw: false,
    programs: &[],
    build: |values| {
        Ok(WorkloadParams::Age(AgeParams {
            step: step(values, "age"),
            fullness: values.count("fullness"),
            extents: values.decimal("extents"),
            churn: values.decimal("churn"),
            median_size: values.bytes("median_size"),
            spread: values.decimal("spread"),
        }))
    },
};

/// The filesystem's own tool against fragmentation.
pub const DEFRAGMENT: WorkloadKind = WorkloadKind {
    name: "defragment",
    doc: "Runs the filesystem's own defragmenter (e4defrag, xfs_fsr, btrfs filesystem defragment, the ioctl of f2fs) over all files, and reports extents per file and free space before and after.",
    fields: &[STEP],
    on_raw: false,
    programs: &[],
    build: |values| layout(values, "defragment", true),
};

/// Layout of the files on the device.
pub const LAYOUT: WorkloadKind = WorkloadKind {
    name: "layout",
    doc: "Reports the layout of the files: extents per file, the distance between them, and the sizes of free extents. Changes nothing.",
    fields: &[
        STEP,
        field!("below": Text,
            "Directory of the filesystem, such as `rra`, whose files are examined; by default all files. Free space is that of the whole filesystem."),
    ],
    on_raw: false,
    programs: &[],
    build: |values| layout(values, "layout", false),
};

fn step(values: &Values, default: &str) -> String {
    values.text("step").unwrap_or(default).to_owned()
}

fn layout(
    values: &Values,
    default: &str,
    defragment: bool,
) -> Result<WorkloadParams, FieldConflict> {
    let below = values.text("below").map(str::to_owned);
    if let Some(path) = below.as_deref().filter(|path| leaves_the_filesystem(path)) {
        let shown: String = path.chars().take(60).collect();
        return conflict(
            "below",
            format!("\"{shown}\" is not a relative path to a directory inside the filesystem"),
            "write it without a leading / and without .., such as \"rra\"",
        );
    }
    Ok(WorkloadParams::Layout(LayoutParams { step: step(values, default), defragment, below }))
}

/// Returns true unless the path leads down into the filesystem.
fn leaves_the_filesystem(path: &str) -> bool {
    path.is_empty()
        || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Metrics of a layout.
pub const LAYOUT_METRICS: &[&str] = &[
    "files", "extents_per_file", "extents_p50", "extent_distance", "used_share", "free_extents",
    "free_largest", "free_under_64k", "free_under_1m", "free_under_16m", "free_from_16m",
];

/// Of a layout before a step, as `NAME_before`.
pub const BEFORE_METRICS: &[&str] =
    &["extents_per_file_before", "extent_distance_before", "free_extents_before"];

fn outline(step: &str, writes: bool, more: &[&str]) -> StepOutline {
    StepOutline { writes, ..StepOutline::new(step, &[LAYOUT_METRICS, more].concat()) }
}

impl AgeParams {
    /// The step.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        vec![outline(&self.step, true, &["ops", "app_bytes"])]
    }
}

impl LayoutParams {
    /// The step.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let more = if self.defragment { BEFORE_METRICS } else { &[] };
        vec![outline(&self.step, self.defragment, more)]
    }
}

/// A filesystem's tool against fragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defragmenter {
    /// Type of the filesystem as the kernel calls it.
    pub kernel_type: &'static str,
    /// The program and its arguments, `{dir}` the directory; empty where it is an ioctl per file.
    pub command: &'static [&'static str],
    /// Debian package of the program.
    pub package: &'static str,
}

/// Every filesystem that can be defragmented while it is mounted.
pub const DEFRAGMENTERS: &[Defragmenter] = &[
    Defragmenter { kernel_type: "ext4", command: &["e4defrag", "{dir}"], package: "e2fsprogs" },
    Defragmenter { kernel_type: "xfs", command: &["xfs_fsr", "-v", "{dir}"], package: "xfsprogs" },
    Defragmenter {
        kernel_type: "btrfs",
        command: &["btrfs", "filesystem", "defragment", "-r", "-f", "{dir}"],
        package: "btrfs-progs",
    },
    Defragmenter { kernel_type: "f2fs", command: &[], package: "f2fs-tools" },
];
