//! `db_bench`: RocksDB's own benchmark.

use super::pgbench::{DATABASE_METRICS, database_steps};
use super::{
    CacheState, FieldConflict, Program, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Parameters of `db_bench`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DbBenchParams {
    /// Name of the measured step.
    pub step: String,
    /// Benchmark of db_bench.
    pub benchmark: String,
    /// Keys that are written before the measured step.
    pub keys: u64,
    /// Bytes per value.
    pub value_size: Bytes,
    /// Threads.
    pub threads: u64,
    /// Measured time.
    pub time: Nanos,
    /// Time of the same benchmark before the measured one.
    #[serde(default)]
    pub warm_up: Nanos,
    /// Each write is durable before it returns.
    pub sync: bool,
}

/// RocksDB's own benchmark.
pub const DB_BENCH: WorkloadKind = WorkloadKind {
    name: "db_bench",
    doc: "RocksDB and its own db_bench: a database is filled, then one of its benchmarks runs for a time. Operations per second and latency percentiles are db_bench's own.",
    fields: &[
        field!("step": Text, default "\"db_bench\"", "Name of the measured step."),
        field!("benchmark": Choice(&[ "overwrite", "readrandom", "readrandomwriterandom", "updaterandom", ]), default "\"overwrite\"",
            "Benchmark of db_bench, over the keys that the filling wrote."),
        field!("keys": integer(1_000, 100_000_000_000), default "200_000",
            "Keys that the database is filled with."),
        field!("value_size": size(Bytes(1), Bytes::mib(1)), default "\"400B\"",
            "Bytes per value; keys have 16."),
        field!("threads": integer(1, 1_000), default "1", "Threads."),
        field!("time": Duration, default "\"10s\"", "Measured time, in whole seconds."),
        field!("warm_up": Duration, default "\"2s\"",
            "Time of the same benchmark before the measured one, in whole seconds, in another process: RocksDB's own cache is empty then. Its counters show that writes are logged and synced; with \"0s\" nothing shows it."),
        field!("sync": Choice(&["on", "off"]), default "\"on\"",
            "`on`: each write waits until the log is on the device. `off`: the last writes before a power cut may be lost."),
    ],
    on_raw: false,
    programs: &[Program { name: "db_bench", package: "rocksdb-tools" }],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let time = values.duration("time").unwrap_or_default();
    let warm_up = values.duration("warm_up").unwrap_or_default();
    if !warm_up.0.is_multiple_of(1_000_000_000) {
        let problem = format!("warm_up = {warm_up} is not a whole number of seconds");
        let remedy = "db_bench counts in seconds: write for example \"2s\"";
        return conflict("warm_up", problem, remedy);
    }
    if time.0 == 0 || !time.0.is_multiple_of(1_000_000_000) {
        let problem = format!("time = {time} is not a whole number of seconds above 0");
        return conflict("time", problem, "db_bench counts in seconds: write for example \"10s\"");
    }
    Ok(WorkloadParams::DbBench(DbBenchParams {
        step: values.text("step").unwrap_or("db_bench").to_owned(),
        benchmark: values.text("benchmark").unwrap_or("overwrite").to_owned(),
        keys: values.count("keys"),
        value_size: values.bytes("value_size"),
        threads: values.count("threads"),
        time,
        warm_up,
        sync: values.text("sync") != Some("off"),
    }))
}

impl DbBenchParams {
    /// Bytes of keys and values.
    fn filled(&self) -> u64 {
        self.keys.saturating_mul(self.value_size.0.saturating_add(16))
    }

    /// Bytes of the database: overwritten values stay until a compaction.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        Bytes(self.filled().saturating_mul(2).saturating_add(256 << 20))
    }

    /// The database is filled; then db_bench measures.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        // It prints no exact maximum.
        let measured = StepOutline {
            cache: CacheState::Cold,
            time_ns: Some(self.time.0 + self.warm_up.0 + Nanos::seconds(1).0),
            ..StepOutline::new(&self.step, DATABASE_METRICS)
        };
        database_steps(&self.step, Bytes(self.filled()), measured)
    }
}
