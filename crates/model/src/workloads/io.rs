//! `seek` and `stream`: reads or writes of one size over a file or a raw device.

use super::durability::{
    self, APPEND_FIELD, Durability, GROUP_COMMIT_FIELD, MOST_WRITES_PER_SYNC, PREALLOCATE_FIELD,
    SYNC_FIELD,
};
use super::{
    CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Field, Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Engines that issue operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// `pread` and `pwrite`, one operation at a time per thread.
    Psync,
    /// io_uring, `depth` operations in flight per thread.
    IoUring,
}

/// Order of the offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Uniform over the blocks of the target, with repetition.
    Random,
    /// One after the other, wrapping at the end.
    Sequential,
}

/// Content of a file before it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileContent {
    /// Data that neither compresses nor repeats.
    #[default]
    Random,
    /// Zeros but for eight random bytes in every 4 KiB.
    Stamped,
}

impl FileContent {
    fn is_random(&self) -> bool {
        *self == Self::Random
    }
}

/// The field of labs that says it, the same for every kind that writes a file first.
pub(super) const CONTENT_FIELD: Field = field!("content": Choice(&["random", "stamped"]), default "\"random\"",
    "Content of the file before it is measured. `random`: neither compresses nor repeats; written through the page cache. `stamped`: zeros except for eight random bytes in every 4 KiB, written with O_DIRECT: the virtual backend keeps terabytes of it in little memory. Not for filesystems that compress.");

/// Compressibility of written data: the field of labs, the same for every kind that writes.
pub(super) const COMPRESSIBLE_FIELD: Field = field!("compressible": integer(0, 100), default "0",
    "Percentage of zeros at the end of each 4 KiB written (or smaller operation), which compression can save. Eight bytes of each 4 KiB stay random.");

/// Repetition in written data, for deduplication: the field of labs, as [`COMPRESSIBLE_FIELD`].
pub(super) const REPEATED_FIELD: Field = field!("repeated": integer(0, 100), default "0",
    "Percentage of the writes whose every 4 KiB is the same, which deduplication can save.");

/// Share of the written data that is checked: the field of labs, the same for every kind that has it.
pub(super) const VERIFY_FIELD: Field = field!("verify": integer(0, 100), default "0",
    "Percentage of the written blocks that a step STEP-verify reads afterwards, remounted and with dropped caches, and compares. The data of each block follows from the seed and its offset; it compresses and repeats as without it. A trial with a wrong byte is not ranked (`wrong-data`).");

/// Metrics of a step that checks data.
pub(super) const VERIFY_METRICS: [&str; 2] = ["checked_bytes", "wrong_bytes"];

/// The step that checks a percentage of what a measured step writes.
pub(super) fn verify_step(measured: &StepOutline, percent: u8) -> StepOutline {
    let share = |all: u64| (u128::from(all) * u128::from(percent) / 100) as u64;
    StepOutline {
        writes: false,
        measured: false,
        cache: CacheState::Cold,
        bytes: measured.bytes.map(|bytes| Bytes(share(bytes.0))),
        operations: measured.operations.map(share),
        operation: OperationCost::Access,
        ..StepOutline::new(format!("{}-verify", measured.name), &VERIFY_METRICS)
    }
}

/// A percentage of a field of labs; 0 where it is not said.
pub(super) fn percent(values: &Values, field: &str) -> u8 {
    u8::try_from(values.integer(field).unwrap_or(0).min(100)).unwrap_or(100)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(percent: &u8) -> bool {
    *percent == 0
}

/// Parameters of `seek` and `stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoParams {
    /// `seek` or `stream`.
    pub kind: String,
    /// Name of the measured step.
    pub step: String,
    /// Bytes per operation.
    pub size: Bytes,
    /// Operations in all, over all threads; `None` when only time bounds the step.
    pub count: Option<u64>,
    /// Time bound; `None` when only the count does.
    pub time: Option<Nanos>,
    /// Threads; with a curve the most of them.
    pub threads: u32,
    /// Numbers of threads that are measured one after the other, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<u32>,
    /// Operations in flight per thread.
    pub depth: u32,
    /// Engine.
    pub engine: EngineKind,
    /// Order of the offsets.
    pub pattern: Pattern,
    /// Percentage of reads, 0 to 100.
    pub read_percent: u8,
    /// State of the page cache when the step starts.
    pub cache: CacheState,
    /// Operations per second over all threads, queue time counted; `None` is as fast as it goes.
    pub rate: Option<u64>,
    /// Size of the file, or of the part of the raw device that is used; `None` is the whole
    /// device, and on a filesystem half of what is free.
    pub file_size: Option<Bytes>,
    /// A sync after every so many writes of a thread; 0 is never.
    pub fsync_every: u32,
    /// Content of the file before it is measured.
    #[serde(default, skip_serializing_if = "FileContent::is_random")]
    pub content: FileContent,
    /// Percentage of what is written that is zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressible: u8,
    /// Percentage of the writes that repeat each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
    /// Percentage of the written blocks that is checked after a remount.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verify: u8,
    /// Method that makes writes durable, and growth of the file.
    #[serde(default, skip_serializing_if = "Durability::is_default")]
    pub durability: Durability,
}

macro_rules! io_fields {
    ($size:literal, $cache:literal, $file:literal $(, $more:expr)*) => {
        &[
            field!("step": Text,
                "Name of the measured step; by default the kind's name."),
            field!("size": size(Bytes(512), Bytes::mib(64)), default $size,
                "Bytes per operation, a multiple of the device's sector with `cache = \"direct\"`."),
            field!("count": integer(1, 1_000_000_000_000),
                "Operations over all threads. Without `count` and `time`, `stream` goes over the file once and `seek` runs 2 s."),
            field!("time": Duration,
                "Ends the step after this time, or at `count`, whichever comes first."),
            field!("threads": IntegerList { min: 1, max: 1024 }, default "1",
                "Threads, each with offsets of its own. A list gives a curve: one step STEP-tN for each number."),
            field!("depth": integer(1, 4096), default "1",
                "Operations in flight per thread; above 1 needs `engine = \"io_uring\"`."),
            field!("engine": Choice(&["psync", "io_uring"]), default "\"psync\"",
                "`psync`: pread and pwrite. `io_uring`: registered buffers and files, batched submission."),
            field!("write": Bool, default "false",
                "Write instead of read."),
            field!("mix": integer(0, 100),
                "Percentage of reads among reads and writes."),
            field!("cache": Choice(&["direct", "cold", "warm"]), default $cache,
                "`direct`: past the page cache. `cold`: through it, remounted and dropped before. `warm`: as it is."),
            field!("rate": integer(1, 100_000_000),
                "Operations per second over all threads. Latency then counts from the time an operation was due (open loop)."),
            field!("file_size": size(Bytes::kib(4), Bytes(1 << 50)), default $file,
                "Size of the file that is used, written in full before the step; on a raw device how much of it is used."),
            SYNC_FIELD,
            field!("fsync_every": integer(0, MOST_WRITES_PER_SYNC), default "0",
                "Syncs after this number of writes of a thread; 0: never, or after every write if `sync` is given. The latency of each write lasts until then."),
            GROUP_COMMIT_FIELD,
            $($more,)*
            CONTENT_FIELD,
            COMPRESSIBLE_FIELD,
            REPEATED_FIELD,
            VERIFY_FIELD,
        ]
    };
}

/// Random access.
pub const SEEK: WorkloadKind = WorkloadKind {
    name: "seek",
    doc: "Random reads or writes of one size over a file or a raw device: access time, operations per second and their latency histogram.",
    fields: io_fields!("\"4KiB\"", "\"direct\"", "\"256MiB\""),
    on_raw: true,
    programs: &[],
    build: |values| build("seek", Pattern::Random, values),
};

/// Sequential access.
pub const STREAM: WorkloadKind = WorkloadKind {
    name: "stream",
    doc: "Sequential reads or writes, through the page cache by default: a copy, a backup, a download; with `append` and `sync` a log.",
    fields: io_fields!("\"1MiB\"", "\"cold\"", "\"256MiB\"", APPEND_FIELD, PREALLOCATE_FIELD),
    on_raw: true,
    programs: &[],
    build: |values| build("stream", Pattern::Sequential, values),
};

const DEFAULT_TIME: Nanos = Nanos::seconds(2);

fn narrow(values: &Values, field: &str, default: u32) -> u32 {
    values.integer(field).and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
}

/// The numbers of threads, in order and each once.
fn threads(values: &Values) -> Vec<u32> {
    let numbers = values.integers("threads");
    let mut numbers: Vec<u32> = numbers.iter().filter_map(|n| u32::try_from(*n).ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Operations and time that end a step. A second time over a file would be served from memory, in
/// virtual time without end.
fn bounds(pattern: Pattern, size: Bytes, values: &Values) -> (Option<u64>, Option<Nanos>) {
    match (values.integer("count"), values.duration("time"), values.size("file_size")) {
        (None, None, Some(file)) if pattern == Pattern::Sequential => (Some(file.0 / size.0), None),
        (None, None, _) => (None, Some(DEFAULT_TIME)),
        given => (given.0, given.1),
    }
}

/// Parameters of random access as the fields say; a field that a kind lacks has its usual value.
pub(super) fn base(kind: &str, values: &Values) -> IoParams {
    IoParams {
        kind: kind.to_owned(),
        step: values.text("step").unwrap_or(kind).to_owned(),
        size: values.bytes("size"),
        count: values.integer("count"),
        time: values.duration("time"),
        threads: narrow(values, "threads", 1),
        curve: Vec::new(),
        depth: narrow(values, "depth", 1),
        engine: values.choice("engine").unwrap_or(EngineKind::Psync),
        pattern: Pattern::Random,
        read_percent: match values.integer("mix") {
            Some(percent) => u8::try_from(percent.min(100)).unwrap_or(100),
            None if values.bool("write") => 0,
            None => 100,
        },
        cache: CacheState::of(values),
        rate: values.integer("rate"),
        file_size: values.size("file_size"),
        fsync_every: narrow(values, "fsync_every", 0),
        content: values.choice("content").unwrap_or_default(),
        compressible: percent(values, "compressible"),
        repeated: percent(values, "repeated"),
        verify: percent(values, "verify"),
        durability: Durability::default(),
    }
}

fn build(kind: &str, pattern: Pattern, values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let mut params = IoParams { pattern, ..base(kind, values) };
    let (depth, size) = (params.depth, params.size);
    if depth > 1 && params.engine == EngineKind::Psync {
        let problem =
            format!("depth {depth} with the psync engine, which has one operation in flight");
        let remedy = "write engine = \"io_uring\", or threads instead of depth";
        return conflict("depth", problem, remedy);
    }
    if values.bool("write") && values.integer("mix").is_some() {
        let remedy = "keep write = true, or mix = 0 which is the same";
        return conflict("mix", "write and mix together", remedy);
    }
    if params.file_size.is_some_and(|file| file < size) {
        let problem = format!("file_size is smaller than one operation of {size}");
        return conflict("file_size", problem, "make file_size at least as large as size");
    }
    let curve = threads(values);
    params.threads = curve.iter().copied().max().unwrap_or(1);
    if curve.len() > 1 {
        params.curve = curve;
    }
    (params.count, params.time) = bounds(pattern, size, values);
    durability::apply(&mut params, values)?;
    check_verify(&params)?;
    Ok(WorkloadParams::Io(params))
}

fn check_verify(params: &IoParams) -> Result<(), FieldConflict> {
    if params.verify == 0 {
        return Ok(());
    }
    if params.read_percent == 100 {
        let problem = "verify in a step that only reads";
        return conflict("verify", problem, "add write = true, or leave verify out");
    }
    if params.cache == CacheState::Warm && !params.curve.is_empty() {
        let problem = "verify remounts between the numbers of threads, and cache is \"warm\"";
        let remedy = "write one number of threads, or cache = \"direct\"";
        return conflict("verify", problem, remedy);
    }
    Ok(())
}

const IO_METRICS: &[&str] = &[
    "ops", "iops", "mb_per_s", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
    "latency_max", "cpu_ns_per_op", "app_bytes",
];

impl IoParams {
    /// `populate` where there is a file to write first, and the measured steps, each with its check.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let mut steps = Vec::new();
        if !self.durability.append {
            steps.push(self.populate());
        }
        for (outline, params) in self.measurements() {
            let check = params.verification(&outline);
            steps.push(outline);
            steps.extend(check);
        }
        steps
    }

    /// The step that checks what a measured step of these parameters has written, if they ask for it.
    #[must_use]
    pub fn verification(&self, measured: &StepOutline) -> Option<StepOutline> {
        (self.verify > 0).then(|| verify_step(measured, self.verify))
    }

    /// The measured steps, each with what it does: one, or one for each number of threads.
    #[must_use]
    pub fn measurements(&self) -> Vec<(StepOutline, Self)> {
        if self.curve.is_empty() {
            return vec![(self.measured(self.step.clone()), self.clone())];
        }
        let one = |threads: &u32| {
            let params = Self { threads: *threads, curve: Vec::new(), ..self.clone() };
            (params.measured(format!("{}-t{threads}", self.step)), params)
        };
        self.curve.iter().map(one).collect()
    }

    /// The step that writes the file, or the part of the device, in full.
    #[must_use]
    pub fn populate(&self) -> StepOutline {
        let metrics = ["app_bytes", "mb_per_s", "mb_per_s_durable"];
        StepOutline {
            measured: false,
            bytes: self.file_size,
            operation: OperationCost::Call,
            ..StepOutline::new(format!("{}-populate", self.step), &metrics)
        }
    }

    /// Parameters that [`populate`](Self::populate) depends on, with everything else made equal: two
    /// workloads with equal parameters leave the same file behind.
    #[must_use]
    pub fn file(&self) -> Self {
        Self {
            kind: String::new(),
            size: Bytes(512),
            count: None,
            time: None,
            threads: 1,
            curve: Vec::new(),
            depth: 1,
            engine: EngineKind::Psync,
            pattern: Pattern::Sequential,
            read_percent: 0,
            rate: None,
            fsync_every: 0,
            verify: 0,
            durability: Durability::default(),
            ..self.clone()
        }
    }

    fn operation_cost(&self) -> OperationCost {
        let waits = self.cache == CacheState::Direct
            || (self.cache == CacheState::Cold && self.pattern == Pattern::Random);
        match (self.syncs_every_write(), waits) {
            (true, _) => OperationCost::Sync,
            (false, true) => OperationCost::Access,
            (false, false) => OperationCost::Call,
        }
    }

    /// A measured step of this name.
    #[must_use]
    pub fn measured(&self, name: String) -> StepOutline {
        let mut metrics = IO_METRICS.to_vec();
        if self.pattern == Pattern::Random {
            metrics.push("seek_time");
        }
        if self.read_percent > 0 {
            metrics.extend(["read_iops", "read_per_byte"]);
        }
        if self.read_percent < 100 {
            metrics.extend(["write_iops", "mb_per_s_durable"]);
        }
        metrics.extend(self.sync_metrics());
        StepOutline {
            writes: self.read_percent < 100,
            cache: self.cache,
            bytes: self.count.and_then(|count| count.checked_mul(self.size.0)).map(Bytes),
            operations: self.count,
            operation: self.operation_cost(),
            time_ns: self.time.map(|time| time.0),
            ..StepOutline::new(name, &metrics)
        }
    }
}
