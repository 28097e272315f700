//! `bonnie`: the twelve tests of bonnie++.

use super::io::{COMPRESSIBLE_FIELD, REPEATED_FIELD, is_zero, percent};
use super::{
    CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Values, field};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of `bonnie`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BonnieParams {
    /// Size of the file of the block tests.
    pub size: Bytes,
    /// Bytes per read and write of the block tests.
    pub chunk: Bytes,
    /// Size of the file of the per-character tests.
    pub char_size: Bytes,
    /// Random seeks, over all seekers.
    pub seeks: u64,
    /// Seekers.
    pub seekers: u32,
    /// Files that are created, looked at and deleted.
    pub files: u64,
    /// Smallest size of these files.
    pub min_size: Bytes,
    /// Largest size of these files.
    pub max_size: Bytes,
    /// Directories that they are spread over.
    pub directories: u64,
    /// State of the page cache when each step starts.
    pub cache: CacheState,
    /// Groups of tests that run.
    pub tests: Vec<String>,
    /// Percentage of what is written that is zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressible: u8,
    /// Percentage of the chunks written that repeat each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
}

/// The groups of tests, in the order in which they run.
pub const BONNIE_TESTS: &[&str] = &["char", "block", "seeks", "files"];

/// The steps in order: name, group, whether it writes.
const STEPS: &[(&str, &str, bool)] = &[
    ("putc", "char", true),
    ("put_block", "block", true),
    ("rewrite", "block", true),
    ("getc", "char", false),
    ("get_block", "block", false),
    ("seeks", "seeks", true),
    ("seq_create", "files", true),
    ("seq_stat", "files", false),
    ("seq_del", "files", true),
    ("ran_create", "files", true),
    ("ran_stat", "files", false),
    ("ran_del", "files", true),
];

/// The tests of Bonnie.
pub const BONNIE: WorkloadKind = WorkloadKind {
    name: "bonnie",
    doc: "The twelve tests of bonnie++: per-character, block and rewrite output, per-character and block input, random seeks, and creating, looking at and deleting files in sequential and random order.",
    fields: &[
        field!("size": size(Bytes::kib(64), Bytes(1 << 50)), default "\"256MiB\"",
            "Size of the file of the block tests and the seeks; choose twice the memory to measure the device and not the cache."),
        field!("chunk": size(Bytes(256), Bytes::mib(1)), default "\"8KiB\"",
            "Bytes per read and write of the block tests."),
        field!("char_size": size(Bytes::kib(4), Bytes(1 << 40)), default "\"3MiB\"",
            "Size of the file of the per-character tests, which make one system call per byte."),
        field!("seeks": integer(1, 1_000_000_000), default "8_192",
            "Random seeks over all seekers. Each reads one chunk; every tenth writes it back."),
        field!("seekers": integer(1, 256), default "5", "How many seek at the same time."),
        field!("files": integer(1, 100_000_000), default "16_384",
            "Files that are created, looked at and deleted. bonnie++ counts them in units of 1024."),
        field!("min_size": size(Bytes(0), Bytes::mib(64)), default "0",
            "Smallest size of these files."),
        field!("max_size": size(Bytes(0), Bytes::mib(64)), default "0",
            "Largest size of these files; sizes are uniform between the two, and looking at a file reads it."),
        field!("directories": integer(1, 100_000), default "1",
            "Directories that these files are spread over evenly."),
        field!("cache": Choice(&["cold", "warm"]), default "\"warm\"",
            "`warm`: as the test before left it, like bonnie++. `cold`: remounted and caches dropped before each test."),
        field!("tests": TextList, default "[\"char\", \"block\", \"seeks\", \"files\"]",
            "Which groups of tests run: `char`, `block`, `seeks`, `files`. `seeks` needs `block`."),
        COMPRESSIBLE_FIELD,
        REPEATED_FIELD,
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let mut tests = values.list("tests");
    if tests.is_empty() {
        tests = BONNIE_TESTS.iter().map(|test| (*test).to_owned()).collect();
    }
    if let Some(unknown) = tests.iter().find(|test| !BONNIE_TESTS.contains(&test.as_str())) {
        let remedy = format!("choose from {}", BONNIE_TESTS.join(", "));
        return conflict("tests", format!("unknown test '{unknown}'"), remedy);
    }
    let has = |name: &str| tests.iter().any(|test| test == name);
    if has("seeks") && !has("block") {
        let problem = "seeks without block: nothing has written the file";
        return conflict("tests", problem, "add \"block\"");
    }
    let size = values.bytes("size");
    let chunk = values.bytes("chunk");
    if !chunk.0.is_power_of_two() || !size.0.is_multiple_of(chunk.0) {
        let problem = format!("a chunk of {chunk} in a file of {size}");
        return conflict("chunk", problem, "use a power of two that divides size");
    }
    let min_size = values.bytes("min_size");
    let max_size = values.bytes("max_size");
    if min_size > max_size {
        let problem = format!("min_size {min_size} above max_size {max_size}");
        return conflict("min_size", problem, "make max_size at least as large");
    }
    let files = values.count("files");
    Ok(WorkloadParams::Bonnie(BonnieParams {
        size,
        chunk,
        char_size: values.bytes("char_size"),
        seeks: values.count("seeks"),
        seekers: values.integer("seekers").and_then(|n| u32::try_from(n).ok()).unwrap_or(5),
        files,
        min_size,
        max_size,
        directories: values.count("directories").min(files),
        cache: CacheState::of(values),
        tests,
        compressible: percent(values, "compressible"),
        repeated: percent(values, "repeated"),
    }))
}

impl BonnieParams {
    /// Returns the most space that the files take on the device.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        let has = |name: &str| self.tests.iter().any(|test| test == name);
        let block = if has("block") { self.size.0 } else { 0 };
        let chars = if has("char") { self.char_size.0 } else { 0 };
        let files = if has("files") { self.mean_file().saturating_mul(self.files) } else { 0 };
        Bytes(block.saturating_add(chars).max(files))
    }

    fn mean_file(&self) -> u64 {
        (self.min_size.0 + self.max_size.0) / 2
    }

    /// The steps of the chosen tests.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let chosen = |group: &str| self.tests.iter().any(|test| test == group);
        let outline = |&(name, group, writes): &(&str, &str, bool)| {
            let (bytes, operations) = match group {
                "char" => (Some(self.char_size), Some(self.char_size.0)),
                "block" => (Some(self.size), Some(self.size.0 / self.chunk.0)),
                "seeks" => (Some(Bytes(self.seeks * self.chunk.0)), Some(self.seeks)),
                _ => (Some(Bytes(self.files * self.mean_file())), Some(self.files)),
            };
            let rates: &[&str] = match group {
                "char" | "block" => &["mb_per_s", "app_bytes"],
                "seeks" => &["iops", "app_bytes"],
                _ => &["files_per_s"],
            };
            let always = ["ops", "latency_mean", "latency_p99", "latency_max", "cpu_share"];
            StepOutline {
                writes,
                cache: self.cache,
                bytes,
                operations,
                operation: match group {
                    "char" => OperationCost::Character,
                    "block" => OperationCost::Call,
                    "seeks" => OperationCost::Access,
                    _ => OperationCost::File,
                },
                ..StepOutline::new(name, &[rates, &always[..]].concat())
            }
        };
        STEPS.iter().filter(|(_, group, _)| chosen(group)).map(outline).collect()
    }
}
