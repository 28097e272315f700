//! `mail`: a tree of many small files is unpacked, read in two orders and removed.

use super::{CacheState, Company, FieldConflict, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Field, FieldKind, Values};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Parameters of `mail`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MailParams {
    /// Files of the seeded tree.
    pub files: u64,
    /// Directories that the files are spread over.
    pub directories: u64,
    /// Median file size of the seeded tree.
    pub median_size: Bytes,
    /// Standard deviation of the natural logarithm of the file size.
    pub spread: f64,
    /// The user's own archive instead of the seeded tree.
    pub tar: Option<PathBuf>,
    /// Which steps run after `unpack`.
    pub steps: Vec<String>,
    /// How the reading and removing steps meet the page cache.
    pub cache: CacheState,
}

/// Names of the steps that may be chosen, in the order in which they run.
pub const MAIL_STEPS: &[&str] = &["read_archive", "read_directory", "remove"];

/// Largest file of the seeded tree: the lognormal tail is cut here.
pub const LARGEST_FILE: Bytes = Bytes::mib(16);

/// A mail store.
pub const MAIL: WorkloadKind = WorkloadKind {
    name: "mail",
    doc: "Unpacks a tree of many small files, reads it in archive order and in directory order, and removes it. The tree is seeded (lognormal sizes) or comes from a tar file.",
    fields: &[
        Field {
            name: "files",
            kind: FieldKind::Integer { min: 1, max: 100_000_000 },
            default: Some("5_000"),
            required: false,
            doc: "Files of the seeded tree.",
        },
        Field {
            name: "directories",
            kind: FieldKind::Integer { min: 1, max: 10_000_000 },
            default: Some("20"),
            required: false,
            doc: "Directories that the files are spread over, at most one per file. Sizes of directories differ: the first is the largest, as in a mail store.",
        },
        Field {
            name: "median_size",
            kind: FieldKind::Size { min: Bytes(1), max: LARGEST_FILE },
            default: Some("\"4KiB\""),
            required: false,
            doc: "Median file size of the seeded tree.",
        },
        Field {
            name: "spread",
            kind: FieldKind::Number { min: 0.0, max: 4.0 },
            default: Some("1.2"),
            required: false,
            doc: "Standard deviation of the natural logarithm of the file size; 0 makes all files equal. Sizes are cut at 16 MiB.",
        },
        Field {
            name: "tar",
            kind: FieldKind::Text,
            default: None,
            required: false,
            doc: "Path of a tar file (not compressed) to unpack instead of the seeded tree.",
        },
        Field {
            name: "steps",
            kind: FieldKind::TextList,
            default: Some("[\"read_archive\", \"read_directory\", \"remove\"]"),
            required: false,
            doc: "Which of `read_archive`, `read_directory` and `remove` run after `unpack`.",
        },
        Field {
            name: "cache",
            kind: FieldKind::Choice(&["cold", "warm"]),
            default: Some("\"cold\""),
            required: false,
            doc: "`cold`: remounted and caches dropped before each step after `unpack`. `warm`: as it is.",
        },
    ],
    on_raw: false,
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let steps = values.list("steps");
    if let Some(unknown) = steps.iter().find(|step| !MAIL_STEPS.contains(&step.as_str())) {
        return Err(FieldConflict {
            field: "steps",
            problem: format!("unknown step '{unknown}'"),
            remedy: format!("choose from {}", MAIL_STEPS.join(", ")),
        });
    }
    let files = values.integer("files").unwrap_or(5_000);
    Ok(WorkloadParams::Mail(MailParams {
        files,
        directories: values.integer("directories").unwrap_or(20).min(files),
        median_size: values.size("median_size").unwrap_or(Bytes::kib(4)),
        spread: values.number("spread").unwrap_or(1.2),
        tar: values.text("tar").map(PathBuf::from),
        steps,
        cache: values.text("cache").and_then(CacheState::from_word).unwrap_or(CacheState::Cold),
    }))
}

impl MailParams {
    /// Mean of the lognormal distribution times the number of files: an estimate that ignores the
    /// cut tail.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        let mean = self.median_size.0 as f64 * (self.spread * self.spread / 2.0).exp();
        Bytes((mean * self.files as f64) as u64)
    }

    /// `unpack` and the chosen steps.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let bytes = if self.tar.is_some() { None } else { Some(self.predicted_bytes()) };
        let outline = |name: &str, writes: bool, cache: CacheState, metrics: &[&str]| StepOutline {
            name: name.to_owned(),
            writes,
            measured: true,
            cache,
            bytes: if name == "remove" { None } else { bytes },
            operations: Some(self.files),
            time_ns: None,
            company: Company::Alone,
            metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
        };
        let mut steps = vec![outline(
            "unpack",
            true,
            CacheState::Warm,
            &["files_per_s", "app_bytes", "mb_per_s", "mb_per_s_durable", "ops"],
        )];
        for name in MAIL_STEPS.iter().filter(|name| self.steps.iter().any(|step| step == *name)) {
            steps.push(match *name {
                "remove" => outline(name, true, self.cache, &["files_per_s", "ops"]),
                _ => outline(
                    name,
                    false,
                    self.cache,
                    &["files_per_s", "app_bytes", "mb_per_s", "read_per_byte", "ops"],
                ),
            });
        }
        steps
    }
}
