//! `pgbench`: PostgreSQL's own benchmark on a cluster inside the filesystem under test.

use super::{
    CacheState, FieldConflict, Program, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Parameters of `pgbench`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PgbenchParams {
    /// Name of the measured step.
    pub step: String,
    /// Scale factor: 100,000 accounts each, about 15 MiB.
    pub scale: u64,
    /// Sessions.
    pub clients: u64,
    /// Built-in script.
    pub script: String,
    /// Measured time.
    pub time: Nanos,
    /// Time of transactions before the measured ones.
    pub warm_up: Nanos,
    /// `synchronous_commit`.
    pub synchronous_commit: bool,
    /// `wal_sync_method`.
    pub wal_sync_method: String,
    /// `full_page_writes`.
    pub full_page_writes: bool,
    /// `shared_buffers`.
    pub shared_buffers: Bytes,
}

/// PostgreSQL's own benchmark.
pub const PGBENCH: WorkloadKind = WorkloadKind {
    name: "pgbench",
    doc: "PostgreSQL and its own benchmark: a cluster is made inside the filesystem, filled, warmed up, checkpointed, and measured by `pgbench`, whose figures are reported. `fsync` is always on. No installed cluster is touched, and nothing listens on the network.",
    fields: &[
        field!("step": Text, default "\"pgbench\"", "Name of the measured step."),
        field!("scale": integer(1, 100_000), default "10",
            "Scale factor of pgbench: 100,000 rows each, about 15 MiB on disk. At least the number of clients, or they wait for each other's locks."),
        field!("clients": integer(1, 1_000), default "4", "Sessions at a time."),
        field!("script": Choice(&["tpcb-like", "simple-update", "select-only"]), default "\"tpcb-like\"",
            "Built-in script of pgbench."),
        field!("time": Duration, default "\"20s\"", "Measured time, in whole seconds."),
        field!("warm_up": Duration, default "\"5s\"",
            "Time of transactions before the measured ones, in whole seconds; a checkpoint follows."),
        field!("synchronous_commit": Choice(&["on", "off"]), default "\"on\"",
            "`on`: commits wait until they are on the device. `off`: the last transactions before a power cut may be lost."),
        field!("wal_sync_method": Choice(&["fdatasync", "fsync", "open_datasync", "open_sync"]), default "\"fdatasync\"",
            "System call that makes the log durable."),
        field!("full_page_writes": Choice(&["on", "off"]), default "\"on\"",
            "The first change of a page after a checkpoint logs the whole page. With `off`, a filesystem that tears pages loses data in a power cut."),
        field!("shared_buffers": size(Bytes::kib(128), Bytes(1 << 40)), default "\"128MiB\"",
            "PostgreSQL's own cache."),
    ],
    on_raw: false,
    programs: PROGRAMS,
    build,
};

const PROGRAMS: &[Program] = &[
    Program { name: "postgres", package: "postgresql" },
    Program { name: "pgbench", package: "postgresql" },
];

const SECOND_NS: u64 = 1_000_000_000;

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let word = |field| values.text(field).unwrap_or_default().to_owned();
    let seconds = |field: &'static str| {
        let time = values.duration(field).unwrap_or_default();
        if !time.0.is_multiple_of(SECOND_NS) {
            let problem = format!("{field} = {time} is not a whole number of seconds");
            let remedy = "pgbench counts in seconds: write for example \"20s\"";
            return conflict(field, problem, remedy);
        }
        Ok(time)
    };
    let on = |field| values.text(field) != Some("off");
    let time = seconds("time")?;
    if time.0 == 0 {
        return conflict("time", "time = 0s measures nothing", "write at least \"1s\"");
    }
    Ok(WorkloadParams::Pgbench(PgbenchParams {
        step: word("step"),
        scale: values.count("scale"),
        clients: values.count("clients"),
        script: word("script"),
        time,
        warm_up: seconds("warm_up")?,
        synchronous_commit: on("synchronous_commit"),
        wal_sync_method: word("wal_sync_method"),
        full_page_writes: on("full_page_writes"),
        shared_buffers: values.bytes("shared_buffers"),
    }))
}

/// Metrics of a measured database step.
pub(super) const DATABASE_METRICS: &[&str] = &[
    "transactions_per_s", "ops", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
    "latency_max",
];

/// The steps of a database: a preparation that is not measured, and the measured step.
pub(super) fn database_steps(
    step: &str,
    prepared_bytes: Bytes,
    measured: StepOutline,
) -> Vec<StepOutline> {
    let prepare = StepOutline {
        measured: false,
        bytes: Some(prepared_bytes),
        ..StepOutline::new(format!("{step}-prepare"), &[])
    };
    vec![prepare, measured]
}

impl PgbenchParams {
    /// Settings of the server that decide what a commit is worth, as `name=value`.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, String)> {
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        let all = [
            ("fsync", "on".to_owned()),
            ("synchronous_commit", on(self.synchronous_commit)),
            ("wal_sync_method", self.wal_sync_method.clone()),
            ("full_page_writes", on(self.full_page_writes)),
        ];
        all.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Bytes of the filled cluster and its log.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        Bytes(self.scale.saturating_mul(16 << 20).saturating_add(512 << 20))
    }

    /// The cluster is made and filled; then pgbench measures.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        // Starting and stopping the server take some seconds.
        let around = Nanos::seconds(3);
        let measured = StepOutline {
            cache: CacheState::Cold,
            time_ns: Some(self.time.0 + self.warm_up.0 + around.0),
            ..StepOutline::new(&self.step, DATABASE_METRICS)
        };
        let filled = Bytes(self.scale.saturating_mul(32 << 20));
        database_steps(&self.step, filled, measured)
    }
}
