//! `iozone`: its first three tests, in throughput mode and over a grid of record and file sizes.

use super::io::{COMPRESSIBLE_FIELD, REPEATED_FIELD, is_zero, percent};
use super::{CacheState, FieldConflict, StepOutline, WorkloadKind, WorkloadParams, conflict};
use crate::field::{Values, field};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of `iozone`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IozoneParams {
    /// Numbers of the tests, as `-i` has them; 0 is among them.
    pub tests: Vec<u32>,
    /// Threads, each with a file of its own (`-t`).
    pub threads: u32,
    /// Sizes of a thread's file (`-s`): one, or several with [`Self::auto`].
    pub files: Vec<Bytes>,
    /// Record sizes (`-r`): one, or several with [`Self::auto`].
    pub records: Vec<Bytes>,
    /// Automatic mode (`-a`): every record size in every file size that holds it.
    pub auto: bool,
    /// State of the page cache when the tests start; direct is `-I`.
    pub cache: CacheState,
    /// True if the timing includes fsync (`-e`).
    pub flush: bool,
    /// True if the first thread that finishes ends the test for all (no `-x`).
    pub stonewall: bool,
    /// Retired: percentage of reads in test 8; always 50.
    pub mix: u8,
    /// Retired: records from one strided read to the next; always 17.
    pub stride: u64,
    /// Percentage of what is written that is zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressible: u8,
    /// Percentage of the records written that repeat each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
}

/// One pass of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IozonePass {
    /// Number of the test.
    pub test: u32,
    /// Name of the step; in automatic mode sizes follow.
    pub name: &'static str,
    /// True if it writes, false if it reads.
    pub writes: bool,
}

/// Every pass of every test in the order of iozone.
pub const IOZONE_PASSES: &[IozonePass] = &[
    IozonePass { test: 0, name: "write", writes: true },
    IozonePass { test: 0, name: "rewrite", writes: true },
    IozonePass { test: 1, name: "read", writes: false },
    IozonePass { test: 1, name: "reread", writes: false },
    IozonePass { test: 2, name: "random-read", writes: false },
    IozonePass { test: 2, name: "random-write", writes: true },
];

/// Largest file of automatic mode, as iozone has it.
const AUTO_FILES: (u32, u32) = (16, 29);
/// Smallest and largest record of automatic mode.
const AUTO_RECORDS: (u32, u32) = (12, 24);

/// iozone's tests.
pub const IOZONE: WorkloadKind = WorkloadKind {
    name: "iozone",
    doc: "The first three tests of iozone 3. Throughput mode: threads with a file each. Automatic mode: every record size in every file size.",
    fields: &[
        field!("tests": IntegerList { min: 0, max: 2 }, default "[0, 1, 2]",
            "Which tests, as `-i`: 0 write and rewrite (always needed), 1 read and reread, 2 random read and write."),
        field!("threads": integer(1, 1024), default "1",
            "Threads, as `-t`, each with a file of its own."),
        field!("size": SizeList { min: Bytes(512), max: Bytes(1 << 50) },
            "Size of each file, as `-s`: 16MiB by default. With `auto` several; by default 64KiB to 512MiB."),
        field!("record": SizeList { min: Bytes(512), max: Bytes::mib(64) },
            "Record size, as `-r`: 4KiB by default. With `auto` several; by default 4KiB to 16MiB, and from 32MiB of file on at least 64KiB."),
        field!("auto": Bool, default "false",
            "Automatic mode, as `-a`: one step for each pass, file size and record size."),
        field!("cache": Choice(&["direct", "cold", "warm"]), default "\"warm\"",
            "`direct`: past the page cache, as `-I`. `cold`: through it, dropped before each pass that reads. `warm`: as it is, as iozone does."),
        field!("flush": Bool, default "false", "Time the fsync after writing too, as `-e`."),
        field!("stonewall": Bool, default "true",
            "Throughput counts until the first thread has finished, as iozone does without `-x`."),
        COMPRESSIBLE_FIELD,
        REPEATED_FIELD,
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn powers((first, last): (u32, u32)) -> Vec<Bytes> {
    (first..=last).map(|power| Bytes(1 << power)).collect()
}

fn sizes(values: &Values, field: &str, auto: bool, one: Bytes, all: (u32, u32)) -> Vec<Bytes> {
    let mut sizes = values.sizes(field);
    sizes.sort_unstable();
    sizes.dedup();
    match (sizes.is_empty(), auto) {
        (false, _) => sizes,
        (true, true) => powers(all),
        (true, false) => vec![one],
    }
}

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let mut tests: Vec<u32> =
        values.integers("tests").iter().filter_map(|test| u32::try_from(*test).ok()).collect();
    tests.sort_unstable();
    tests.dedup();
    if tests.first() != Some(&0) {
        let problem = "tests without 0, which writes the file that the others read";
        return conflict("tests", problem, "add 0 to tests");
    }
    let auto = values.bool("auto");
    let files = sizes(values, "size", auto, Bytes::mib(16), AUTO_FILES);
    let records = sizes(values, "record", auto, Bytes::kib(4), AUTO_RECORDS);
    for (field, list) in [("size", &files), ("record", &records)] {
        if !auto && list.len() > 1 {
            let problem = format!("{} values of {field} without auto", list.len());
            return conflict(field, problem, "write auto = true, or keep one");
        }
    }
    let params = IozoneParams {
        tests,
        threads: values.count32("threads"),
        files,
        records,
        auto,
        cache: CacheState::of(values),
        flush: values.bool("flush"),
        stonewall: values.bool("stonewall"),
        mix: 50,
        stride: 17,
        compressible: percent(values, "compressible"),
        repeated: percent(values, "repeated"),
    };
    if params.cells(!values.sizes("record").is_empty()).is_empty() {
        let problem = "every record is larger than every file";
        return conflict("record", problem, "make size at least as large as record");
    }
    Ok(WorkloadParams::Iozone(params))
}

impl IozoneParams {
    /// File and record sizes that are run, by file size, then record size.
    ///
    /// Small records are left out of large files in automatic mode, unless `all` asks for them.
    #[must_use]
    pub fn cells(&self, all: bool) -> Vec<(Bytes, Bytes)> {
        let skip = |file: Bytes, record: Bytes| {
            self.auto && !all && file >= Bytes::mib(32) && record < Bytes::kib(64)
        };
        let mut cells = Vec::new();
        for file in &self.files {
            let records = self.records.iter().filter(|record| **record <= *file);
            cells.extend(
                records.filter(|record| !skip(*file, **record)).map(|record| (*file, *record)),
            );
        }
        cells
    }

    /// Returns true if the lab gives records, false if they are those of automatic mode.
    fn chosen_records(&self) -> bool {
        self.records != powers(AUTO_RECORDS)
    }

    /// Every pass of every cell: the outline of its step, what it does, file and record size.
    #[must_use]
    pub fn measurements(&self) -> Vec<(StepOutline, IozonePass, Bytes, Bytes)> {
        let mut all = Vec::new();
        for (file, record) in self.cells(self.chosen_records()) {
            for pass in IOZONE_PASSES.iter().filter(|pass| self.tests.contains(&pass.test)) {
                all.push((self.outline(pass, file, record), *pass, file, record));
            }
        }
        all
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        self.measurements().into_iter().map(|(outline, ..)| outline).collect()
    }

    fn outline(&self, pass: &IozonePass, file: Bytes, record: Bytes) -> StepOutline {
        let name = match self.auto {
            true => format!("{}-{file}-r{record}", pass.name),
            false => pass.name.to_owned(),
        };
        let mut metrics = vec![
            "ops", "app_bytes", "mb_per_s", "latency_mean", "latency_p99", "latency_max",
            "thread_mb_per_s_min", "thread_mb_per_s_max", "imbalance",
        ];
        metrics.push(if pass.writes { "mb_per_s_durable" } else { "read_per_byte" });
        let all = file.0.checked_mul(self.threads.into()).map(Bytes);
        StepOutline {
            writes: pass.writes,
            cache: match (self.cache, pass.writes) {
                (CacheState::Cold, true) => CacheState::Warm,
                (cache, _) => cache,
            },
            // Where the first thread ends the test the others do less.
            bytes: if self.stonewall && self.threads > 1 { None } else { all },
            ..StepOutline::new(name, &metrics)
        }
    }

    /// Bytes of the files at their largest.
    #[must_use]
    pub fn data_set(&self) -> Option<Bytes> {
        let largest = self.files.iter().max()?;
        largest.0.checked_mul(self.threads.into()).map(Bytes)
    }
}
