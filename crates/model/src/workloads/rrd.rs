//! `rrd`: round-robin files, all updated at every poll, as a monitoring server does.

use super::{CacheState, FieldConflict, StepOutline, WorkloadKind, WorkloadParams, conflict};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Access method for a round-robin file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RrdAccess {
    /// The whole file mapped, shared: what rrdtool 1.7 does on Linux.
    Mmap,
    /// `pread` and `pwrite`: an rrdtool built without mmap.
    Pread,
}

/// Order in which the files are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RrdOrder {
    /// That of the polls.
    #[default]
    Polled,
    /// A random one.
    Shuffled,
}

impl RrdOrder {
    fn is_polled(&self) -> bool {
        *self == Self::Polled
    }
}

/// Parameters of `rrd`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RrdParams {
    /// Round-robin files.
    pub files: u64,
    /// Order in which they are made.
    #[serde(default, skip_serializing_if = "RrdOrder::is_polled")]
    pub order: RrdOrder,
    /// Bytes of another file that is made after each of them; 0 makes no other files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub between: Bytes,
    /// Data sources in each file.
    pub sources: u64,
    /// Polls.
    pub polls: u64,
    /// Shortest time from the start of one poll to the start of the next; 0 starts the next poll as
    /// soon as the updates are durable.
    pub interval: Nanos,
    /// Processes that share the files of a poll.
    pub processes: u32,
    /// Access method for the files.
    pub access: RrdAccess,
    /// From one small fsync of the other tenant to the next; 0 is no other tenant.
    pub tenant_every: Nanos,
    /// State of the page cache when the first poll starts.
    pub cache: CacheState,
}

fn is_zero(size: &Bytes) -> bool {
    size.0 == 0
}

/// The archives that Cacti's own templates make: rows, and primary data points per row. Each is
/// kept as AVERAGE and as MAX.
/// Source: `rra` entries of the data of Cacti 0.8 (daily, weekly, monthly, yearly).
pub const CACTI_ARCHIVES: &[(u64, u64)] = &[(600, 1), (700, 6), (775, 24), (797, 288)];

/// Seconds of a primary data point: Cacti polls every five minutes.
pub const STEP_SECONDS: u64 = 300;

/// A monitoring server.
pub const RRD: WorkloadKind = WorkloadKind {
    name: "rrd",
    doc: "Round-robin files of rrdtool, all updated at every poll as Cacti does: time until the updates are durable, and the latency of another tenant's small fsyncs.",
    fields: &[
        field!("files": integer(1, 10_000_000), default "1_000",
            "Round-robin files; each takes 48 KB per data source."),
        field!("order": Choice(&["polled", "shuffled"]), default "\"polled\"",
            "Order in which the files are made. `polled`: that of the polls. `shuffled`: random, so that files updated one after the other are not neighbours on the device."),
        field!("between": size(Bytes::kib(4), Bytes::gib(1)),
            "Size of another file made and synced after each of them, so that they are apart on the device, like files added over years. Default: none."),
        field!("sources": integer(1, 64), default "2",
            "Data sources in each file: 2 for the traffic of a network interface, in and out."),
        field!("polls": integer(1, 1_000_000), default "3",
            "Polls. Each updates every file once and then waits until all updates are durable."),
        field!("interval": Duration,
            "Time from one poll's start to the next; a longer poll delays the next. Default: the next starts when the updates are durable."),
        field!("processes": integer(1, 256), default "1",
            "Processes that share the files of a poll, like Cacti's concurrent pollers."),
        field!("access": Choice(&["mmap", "pread"]), default "\"mmap\"",
            "`mmap`: open, lock, map, change, unmap, close, as rrdtool 1.7 does. `pread`: the same with pread and pwrite, as an rrdtool built without mmap."),
        field!("alone": Bool, default "false",
            "Poll without another tenant on the filesystem; `tenant_every` is then ignored."),
        field!("tenant_every": Duration, default "\"10ms\"",
            "Time from one 4 KiB write with fdatasync by another tenant to the next; latency counts from when it was due."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "`cold`: remounted and caches dropped before the first poll. `warm`: as creating the files left it."),
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let files = values.count("files");
    let processes = values.count("processes");
    if processes > files {
        let problem = format!("{processes} processes cannot share {files} files");
        return conflict("processes", problem, "have at least one file per process");
    }
    Ok(WorkloadParams::Rrd(RrdParams {
        files,
        order: values.choice("order").unwrap_or_default(),
        between: values.size("between").unwrap_or(Bytes(0)),
        sources: values.count("sources"),
        polls: values.count("polls"),
        interval: values.duration("interval").unwrap_or(Nanos(0)),
        processes: u32::try_from(processes).unwrap_or(1),
        access: values.choice("access").unwrap_or(RrdAccess::Mmap),
        tenant_every: match values.bool("alone") {
            true => Nanos(0),
            false => values.duration("tenant_every").unwrap_or(Nanos(10_000_000)),
        },
        cache: CacheState::of(values),
    }))
}

impl RrdParams {
    /// Size of one file: that of the format with the archives of [`CACTI_ARCHIVES`], each twice.
    #[must_use]
    pub fn file_bytes(&self) -> Bytes {
        let archives = 2 * CACTI_ARCHIVES.len() as u64;
        let rows: u64 = CACTI_ARCHIVES.iter().map(|(rows, _)| 2 * rows).sum();
        let header = 128 + 120 * self.sources + 120 * archives + 16;
        let state = 112 * self.sources + 80 * self.sources * archives + 8 * archives;
        Bytes(header + state + 8 * self.sources * rows)
    }

    /// All files together, with those between them.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        Bytes((self.file_bytes().0 + self.between.0).saturating_mul(self.files))
    }

    /// `create`, which only prepares, and `poll`.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let mut metrics =
            vec!["ops", "updates_per_s", "poll_elapsed", "poll_durable", "poll_durable_max"];
        if self.tenant_every.0 > 0 {
            metrics.extend(["fsync_p50", "fsync_p99", "fsync_max", "fsync_alone_p99"]);
        }
        let create = StepOutline {
            measured: false,
            bytes: Some(self.predicted_bytes()),
            operations: Some(self.files),
            ..StepOutline::new("create", &[])
        };
        let waited = self.interval.0.saturating_mul(self.polls - 1);
        let poll = StepOutline {
            cache: self.cache,
            operations: Some(self.files * self.polls),
            time_ns: (waited > 0).then_some(waited),
            ..StepOutline::new("poll", &metrics)
        };
        vec![create, poll]
    }
}
