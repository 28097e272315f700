//! `mail`: a tree of many small files is unpacked, read in two orders and removed.

use super::io::{COMPRESSIBLE_FIELD, REPEATED_FIELD, VERIFY_FIELD, is_zero, percent, verify_step};
use super::{
    CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Field, Values, field};
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
    /// Files of the largest directory; `None`: the sizes of directories fall as 1/rank.
    #[serde(default)]
    pub largest: Option<u64>,
    /// Median file size of the seeded tree.
    pub median_size: Bytes,
    /// Standard deviation of the natural logarithm of the file size.
    pub spread: f64,
    /// Retired: an archive of the user; always `None`.
    pub tar: Option<PathBuf>,
    /// Steps that run after `unpack`.
    pub steps: Vec<String>,
    /// State of the page cache when the reading and removing steps start.
    pub cache: CacheState,
    /// True if the data read go through a pipe to a counter, as in `tar c | wc -c`.
    #[serde(default)]
    pub pipe: bool,
    /// Percentage of what is written that is zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressible: u8,
    /// Percentage of the files of the seeded tree that repeat each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
    /// Percentage of the unpacked files that is checked after a remount.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verify: u8,
}

/// The archive that `scale` makes at any size: that of the study which asked which filesystem is
/// fastest for mail. Files, bytes, and files of its largest directory ("a little more than
/// 100,000").
pub const ARCHIVE: (u64, u64, u64) = (1_075_962, 20_292_014_080, 100_500);

/// Directories of that archive: the study says "a few" are large and gives no number.
const ARCHIVE_DIRECTORIES: u64 = 400;

/// Median size of a mail. Source: the published histogram of one million mails of October 2002 on
/// the list freebsd-net, in which 49.2 % are below 4 KiB.
const ARCHIVE_MEDIAN: Bytes = Bytes::kib(4);

/// Names of the steps that may be chosen, in the order in which they run.
pub const MAIL_STEPS: &[&str] = &["read_archive", "read_directory", "remove"];

/// Largest file of the seeded tree: the lognormal tail is cut here.
pub const LARGEST_FILE: Bytes = Bytes::mib(16);

/// A mail store.
pub const MAIL: WorkloadKind = WorkloadKind {
    name: "mail",
    doc: "Unpacks a tree of many small files, reads it in archive and in directory order, and removes it. The tree is seeded, with lognormal sizes.",
    fields: &[
        field!("scale": number(0.000_01, 100.0),
            "The seeded tree is a mail archive of 1,075,962 files, 20 GB and 100,500 files in its largest directory, times this, instead of `files`, `directories`, `largest`, `median_size` and `spread`. Sizes are lognormal with a median of 4 KiB and a mean of 18,859 bytes."),
        field!("files": integer(1, 100_000_000), default "5_000", "Files of the seeded tree."),
        field!("directories": integer(1, 10_000_000), default "20",
            "Directories that the files are spread over, at most one per file. The first is the largest, as in a mail store."),
        field!("largest": integer(1, 100_000_000),
            "Files of the largest directory; the others fall by a power of their rank. Without it they fall as 1/rank."),
        field!("median_size": size(Bytes(1), LARGEST_FILE), default "\"4KiB\"",
            "Median file size of the seeded tree."),
        field!("spread": number(0.0, 4.0), default "1.2",
            "Standard deviation of the natural logarithm of the file size; 0 makes all files equal. Sizes are cut at 16 MiB."),
        field!("steps": TextList, default "[\"read_archive\", \"read_directory\", \"remove\"]",
            "Which of `read_archive`, `read_directory` and `remove` run after `unpack`."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "`cold`: remounted and caches dropped before each step after `unpack`. `warm`: as it is."),
        field!("counter": Choice(&["memory", "pipe"]), default "\"memory\"",
            "Counter of the bytes read. `memory`: the reader. `pipe`: a process behind a pipe, as in `tar c | wc -c`."),
        COMPRESSIBLE_FIELD,
        Field {
            doc: "Percentage of the seeded files that begin with the same data, as a mail to many recipients does.",
            ..REPEATED_FIELD
        },
        Field {
            doc: "Percentage of the files that a step `unpack-verify` reads after `unpack`, remounted and with dropped caches, and compares. A trial with a wrong byte or a missing file is not ranked (`wrong-data`).",
            ..VERIFY_FIELD
        },
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let steps = values.list("steps");
    if let Some(unknown) = steps.iter().find(|step| !MAIL_STEPS.contains(&step.as_str())) {
        let remedy = format!("choose from {}", MAIL_STEPS.join(", "));
        return conflict("steps", format!("unknown step '{unknown}'"), remedy);
    }
    let mut files = values.count("files");
    let mut directories = values.count("directories");
    let mut largest = values.integer("largest");
    let mut median_size = values.bytes("median_size");
    let mut spread = values.decimal("spread");
    if let Some(scale) = values.number("scale") {
        let times = |count: u64| ((count as f64 * scale).round() as u64).max(1);
        let mean = ARCHIVE.1 as f64 / ARCHIVE.0 as f64;
        files = times(ARCHIVE.0);
        directories = ARCHIVE_DIRECTORIES;
        largest = Some(times(ARCHIVE.2));
        median_size = ARCHIVE_MEDIAN;
        // Mean = median × exp(spread² / 2).
        spread = (2.0 * (mean / median_size.0 as f64).ln()).sqrt();
    }
    if largest.is_some_and(|largest| largest > files) {
        let problem = "the largest directory has more files than the tree";
        return conflict("largest", problem, "make largest at most files");
    }
    let verify = percent(values, "verify");
    let cache = CacheState::of(values);
    check_verify(verify, cache)?;
    Ok(WorkloadParams::Mail(MailParams {
        files,
        directories: directories.min(files),
        largest,
        median_size,
        spread,
        pipe: values.text("counter") == Some("pipe"),
        tar: None,
        steps,
        compressible: percent(values, "compressible"),
        repeated: percent(values, "repeated"),
        verify,
        cache,
    }))
}

fn check_verify(verify: u8, cache: CacheState) -> Result<(), FieldConflict> {
    if verify > 0 && cache == CacheState::Warm {
        let remedy = "leave cache out, which is \"cold\", or leave verify out";
        return conflict("verify", "verify remounts, and cache is \"warm\"", remedy);
    }
    Ok(())
}

impl MailParams {
    /// Mean of the lognormal distribution times the number of files: an estimate that ignores the
    /// cut tail.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        let mean = self.median_size.0 as f64 * (self.spread * self.spread / 2.0).exp();
        Bytes((mean * self.files as f64) as u64)
    }

    /// `unpack` with its check, and the chosen steps.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let bytes = Some(self.predicted_bytes());
        let outline = |name: &str, writes: bool, cache: CacheState, metrics: &[&str]| StepOutline {
            writes,
            cache,
            bytes: if name == "remove" { None } else { bytes },
            operations: Some(self.files),
            ..StepOutline::new(name, metrics)
        };
        let mut steps = vec![outline(
            "unpack",
            true,
            CacheState::Warm,
            &["files_per_s", "app_bytes", "mb_per_s", "mb_per_s_durable", "ops"],
        )];
        if self.verify > 0 {
            let check = verify_step(&steps[0], self.verify);
            steps.push(StepOutline { operation: OperationCost::File, ..check });
        }
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
