//! The catalogue of workload kinds: parameters, their definitions, and an outline of the steps.
//!
//! How a step runs is the business of the room `workload`; what it is called, what may be set and
//! what it will cost is stated here, because labs, plans, reports and the command line need it.

pub mod aging;
pub mod bonnie;
pub mod calls;
pub mod capacity;
pub mod chunk;
pub mod command;
pub mod db_bench;
pub mod durability;
pub mod fio;
pub mod io;
pub mod iozone;
pub mod mail;
pub mod maildir;
pub mod pgbench;
pub mod replay;
pub mod requests;
pub mod rrd;
pub mod seekrw;
pub mod sqlite;
pub mod sweep;

use crate::field::{Field, Values};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub use aging::{AgeParams, LayoutParams};
pub use bonnie::BonnieParams;
pub use calls::CallsParams;
pub use capacity::CapacityParams;
pub use chunk::ChunkParams;
pub use command::CommandParams;
pub use db_bench::DbBenchParams;
pub use durability::{Durability, Preallocation, SyncMethod};
pub use fio::FioParams;
pub use io::IoParams;
pub use iozone::IozoneParams;
pub use mail::MailParams;
pub use maildir::{DeliverySync, MaildirParams};
pub use pgbench::PgbenchParams;
pub use replay::{ReplayParams, ReplaySpeed};
pub use requests::RequestsParams;
pub use rrd::RrdParams;
pub use seekrw::SeekRwParams;
pub use sqlite::SqliteParams;
pub use sweep::SweepParams;

/// Parameters of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadParams {
    /// Reads or writes of one size over a file or a raw device: `seek`, `stream`.
    Io(IoParams),
    /// Random access at each block size.
    Sweep(SweepParams),
    /// Random access, and what finding the blocks took.
    #[serde(rename = "seekrw")]
    SeekRw(SeekRwParams),
    /// One chunk of data, again and again.
    Chunk(ChunkParams),
    /// iozone's tests.
    Iozone(IozoneParams),
    /// A tree of many small files.
    Mail(MailParams),
    /// A mail server's store in use.
    Maildir(MaildirParams),
    /// The tests of bonnie++.
    Bonnie(BonnieParams),
    /// Round-robin files, updated at every poll.
    Rrd(RrdParams),
    /// A job file of fio.
    Fio(FioParams),
    /// A filesystem is filled and churned.
    Age(AgeParams),
    /// Layout of files on the device: `layout`, `defragment`.
    Layout(LayoutParams),
    /// PostgreSQL's own benchmark.
    Pgbench(PgbenchParams),
    /// RocksDB's own benchmark.
    #[serde(rename = "db_bench")]
    DbBench(DbBenchParams),
    /// Transactions of SQLite.
    Sqlite(SqliteParams),
    /// Test that a device really has its stated capacity.
    Capacity(CapacityParams),
    /// A recorded load.
    Replay(ReplayParams),
    /// Recorded block requests.
    Requests(RequestsParams),
    /// Sequences of file system calls.
    Calls(CallsParams),
    /// A shell command.
    Command(CommandParams),
}

/// State of the page cache when a step starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Remounted and caches dropped before the step.
    Cold,
    /// As the step before left it.
    Warm,
    /// Past the cache: `O_DIRECT`.
    Direct,
}

impl CacheState {
    /// The value of the field `cache`, which has a default in every kind that has the field.
    fn of(values: &Values) -> Self {
        values.choice("cache").unwrap_or(Self::Warm)
    }
}

/// Properties of a step that are known before it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepOutline {
    /// Name, unique in the workload.
    pub name: String,
    /// True if it writes: then it reports `elapsed_durable`.
    pub writes: bool,
    /// True if it is measured, false if it only prepares.
    pub measured: bool,
    /// State of the page cache when it starts.
    pub cache: CacheState,
    /// Application bytes it will read or write; `None` when unknown.
    pub bytes: Option<Bytes>,
    /// Operations it will make; `None` when it is bound by time or unknown.
    pub operations: Option<u64>,
    /// Kind of these operations, for a forecast of their time.
    #[serde(default)]
    pub operation: OperationCost,
    /// Time it will take, where the parameters state it.
    pub time_ns: Option<u64>,
    /// Metrics beyond those that every step has.
    pub metrics: Vec<String>,
    /// Use of the device: exclusive or shared.
    #[serde(default)]
    pub company: Company,
}

/// Kind of operation, by what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationCost {
    /// A small file is created, read or removed.
    #[default]
    File,
    /// A character passes through a buffer of the program.
    Character,
    /// A call that the page cache answers.
    Call,
    /// An access that waits for the device.
    Access,
    /// A write that is synced.
    Sync,
}

/// Use of the device by a step: exclusive or shared. If shared, the device's counters cannot be
/// attributed to the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Company {
    /// Nothing else runs.
    #[default]
    Alone,
    /// Measured with a background workload.
    Accompanied,
    /// Background of a measured step; its end does not wait until its data is durable.
    Beside,
}

/// Metrics that every step reports.
pub const COMMON_METRICS: &[&str] =
    &["elapsed", "cpu", "device_read_bytes", "device_written_bytes"];

/// Metrics that every writing step reports besides.
pub const WRITING_METRICS: &[&str] = &["elapsed_durable", "undurable_bytes"];

/// Additional metrics of every step with exclusive use of modelled devices: the first three of a
/// rotating disk, the others of flash. Device activity between the end of a step and the start of the
/// next, including the next step's preparation, counts for the step.
pub const MODELLED_METRICS: &[&str] = &[
    "arm_time", "rotation_time", "transfer_time", "erases", "programmed_bytes",
    "programmed_per_byte", WEAR_METRICS[0], WEAR_METRICS[1],
];

/// Those that say what a load costs the flash.
pub const WEAR_METRICS: [&str; 2] = ["erases_per_mb", "time_to_rating"];

/// Metrics for which the step must wait until the data is on the device.
pub const DURABLE_METRICS: &[&str] = &["elapsed_durable", "mb_per_s_durable"];

/// Metrics that come from the counters of the device or of the machine: a step that shares the
/// device with another workload has none of them.
pub const COUNTED_METRICS: &[&str] = &[
    "device_read_bytes", "device_written_bytes", "undurable_bytes", "written_per_byte",
    "read_per_byte",
];

/// Steps around the workload that the agent times in every trial on a filesystem; they report the
/// common metrics, `mkfs` and `umount` also `elapsed_durable`.
pub const HOUSEKEEPING_STEPS: &[&str] = &["mkfs", "mount", "umount", "fsck"];

/// Returns true if the step belongs to the stack and not to the workload.
#[must_use]
pub fn is_housekeeping(step: &str) -> bool {
    step == WRITE_BACK_STEP || HOUSEKEEPING_STEPS.contains(&step)
}

/// The step in which the agent writes a layer in memory back to the device; it is not judged.
pub const WRITE_BACK_STEP: &str = "write_back";

impl StepOutline {
    /// A measured step that writes, of unknown length, with the page cache as it is.
    #[must_use]
    pub fn new(name: impl Into<String>, metrics: &[&str]) -> Self {
        Self {
            name: name.into(),
            writes: true,
            measured: true,
            cache: CacheState::Warm,
            bytes: None,
            operations: None,
            operation: OperationCost::File,
            time_ns: None,
            metrics: metrics.iter().map(|name| (*name).to_owned()).collect(),
            company: Company::Alone,
        }
    }

    /// Returns true if the step reads again data that it read or wrote before, as a recorded program
    /// does: then the page cache may answer, also after a cold start.
    #[must_use]
    pub fn rereads(&self) -> bool {
        self.metrics.iter().any(|name| name == "fidelity")
    }

    /// Returns true if the step reports this metric.
    #[must_use]
    pub fn reports(&self, metric: &str) -> bool {
        let waited_for = self.company != Company::Beside;
        let counted = COUNTED_METRICS.contains(&metric) || MODELLED_METRICS.contains(&metric);
        if (self.company != Company::Alone && counted)
            || (!waited_for && DURABLE_METRICS.contains(&metric))
        {
            return false;
        }
        let knows_bytes = self.metrics.iter().any(|name| name == "app_bytes");
        COMMON_METRICS.contains(&metric)
            || MODELLED_METRICS.contains(&metric)
            || (self.writes && WRITING_METRICS.contains(&metric))
            || (self.writes && knows_bytes && metric == "written_per_byte")
            || self.metrics.iter().any(|name| name == metric)
    }
}

/// Definition of a workload kind.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadKind {
    /// As labs and `bench` call it.
    pub name: &'static str,
    /// Action and purpose, in one to three sentences.
    pub doc: &'static str,
    /// Its parameters.
    pub fields: &'static [Field],
    /// True if it runs on a raw device as well as in a filesystem.
    pub on_raw: bool,
    /// Programs that its steps start.
    pub programs: &'static [Program],
    /// Builds the parameters from checked values with all defaults filled in. Private, so that
    /// nothing bypasses [`WorkloadKind::params`]: the field's definition is the only place of a default.
    build: fn(&Values) -> Result<WorkloadParams, FieldConflict>,
}

impl WorkloadKind {
    /// The parameters from checked values; a field without a value has the default of its
    /// definition.
    ///
    /// # Errors
    /// [`FieldConflict`] when values do not go together.
    pub fn params(&self, values: &Values) -> Result<WorkloadParams, FieldConflict> {
        (self.build)(&values.clone().with_defaults(self.fields))
    }
}

/// A program that the steps of a workload start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the executable.
    pub name: &'static str,
    /// Debian package that has it.
    pub package: &'static str,
}

/// Values that are each right and do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct FieldConflict {
    /// The field that the message points at.
    pub field: &'static str,
    /// Problem with the value.
    pub problem: String,
    /// Text to write instead.
    pub remedy: String,
}

/// Refuses values that do not go together.
fn conflict<T>(
    field: &'static str,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, FieldConflict> {
    Err(FieldConflict { field, problem: problem.into(), remedy: remedy.into() })
}

/// Every workload kind.
pub const WORKLOAD_KINDS: &[&WorkloadKind] = &[
    &io::SEEK,
    &io::STREAM,
    &sweep::SWEEP,
    &seekrw::SEEKRW,
    &chunk::CHUNK,
    &iozone::IOZONE,
    &bonnie::BONNIE,
    &mail::MAIL,
    &maildir::MAILDIR,
    &rrd::RRD,
    &fio::FIO,
    &pgbench::PGBENCH,
    &sqlite::SQLITE,
    &db_bench::DB_BENCH,
    &capacity::CAPACITY,
    &replay::REPLAY,
    &requests::REQUESTS,
    &aging::AGE,
    &aging::DEFRAGMENT,
    &aging::LAYOUT,
    &calls::CALLS,
    &command::COMMAND,
];

/// The definition of a workload kind by name.
#[must_use]
pub fn workload_kind(name: &str) -> Option<&'static WorkloadKind> {
    WORKLOAD_KINDS.iter().find(|kind| kind.name == name).copied()
}

impl WorkloadParams {
    /// Name of the kind in the catalogue.
    #[must_use]
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Io(io) => &io.kind,
            Self::Sweep(_) => "sweep",
            Self::SeekRw(_) => "seekrw",
            Self::Chunk(_) => "chunk",
            Self::Iozone(_) => "iozone",
            Self::Mail(_) => "mail",
            Self::Maildir(_) => "maildir",
            Self::Bonnie(_) => "bonnie",
            Self::Rrd(_) => "rrd",
            Self::Fio(_) => "fio",
            Self::Age(_) => "age",
            Self::Layout(layout) if layout.defragment => "defragment",
            Self::Layout(_) => "layout",
            Self::Pgbench(_) => "pgbench",
            Self::DbBench(_) => "db_bench",
            Self::Sqlite(_) => "sqlite",
            Self::Capacity(_) => "capacity",
            Self::Replay(_) => "replay",
            Self::Requests(_) => "requests",
            Self::Calls(_) => "calls",
            Self::Command(_) => "command",
        }
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        match self {
            Self::Io(io) => io.steps(),
            Self::Sweep(sweep) => sweep.steps(),
            Self::SeekRw(seekrw) => seekrw.steps(),
            Self::Chunk(chunk) => chunk.steps(),
            Self::Iozone(iozone) => iozone.steps(),
            Self::Mail(mail) => mail.steps(),
            Self::Maildir(maildir) => maildir.steps(),
            Self::Bonnie(bonnie) => bonnie.steps(),
            Self::Rrd(rrd) => rrd.steps(),
            Self::Fio(fio) => fio.steps(),
            Self::Age(age) => age.steps(),
            Self::Layout(layout) => layout.steps(),
            Self::Pgbench(pgbench) => pgbench.steps(),
            Self::DbBench(db_bench) => db_bench.steps(),
            Self::Sqlite(sqlite) => sqlite.steps(),
            Self::Capacity(capacity) => capacity.steps(),
            Self::Replay(replay) => replay.steps(),
            Self::Requests(requests) => requests.steps(),
            Self::Calls(calls) => calls.steps(),
            Self::Command(command) => command.steps(),
        }
    }

    /// Key of the preparation, the steps before the first measured one: two workloads with equal keys
    /// leave the same files behind by then. `None` if there are no such steps.
    #[must_use]
    pub fn preparation(&self) -> Option<IoParams> {
        match self {
            Self::Io(io) => (!io.durability.append).then(|| io.file()),
            Self::Sweep(sweep) => Some(sweep.each.file()),
            Self::SeekRw(seekrw) => Some(seekrw.each.file()),
            _ => None,
        }
    }

    /// Bytes that the workload keeps on the device at its largest; `None` when unknown.
    #[must_use]
    pub fn data_set(&self) -> Option<Bytes> {
        match self {
            Self::Io(io) => io.file_size,
            Self::Sweep(sweep) => sweep.each.file_size,
            Self::SeekRw(seekrw) => seekrw.each.file_size,
            Self::Chunk(chunk) => Some(chunk.size),
            Self::Iozone(iozone) => iozone.data_set(),
            Self::Mail(mail) => Some(mail.predicted_bytes()),
            Self::Maildir(maildir) => Some(maildir.predicted_bytes()),
            Self::Bonnie(bonnie) => Some(bonnie.predicted_bytes()),
            Self::Rrd(rrd) => Some(rrd.predicted_bytes()),
            Self::Pgbench(pgbench) => Some(pgbench.predicted_bytes()),
            Self::DbBench(db_bench) => Some(db_bench.predicted_bytes()),
            Self::Sqlite(sqlite) => Some(sqlite.predicted_bytes()),
            Self::Fio(_)
            | Self::Age(_)
            | Self::Layout(_)
            | Self::Capacity(_)
            | Self::Replay(_)
            | Self::Requests(_)
            | Self::Calls(_)
            | Self::Command(_) => None,
        }
    }

    /// Returns true if it can run on a raw device.
    #[must_use]
    pub fn on_raw(&self) -> bool {
        let appends = matches!(self, Self::Io(io) if io.durability.append);
        !appends && workload_kind(self.kind_name()).is_some_and(|kind| kind.on_raw)
    }
}

#[cfg(test)]
mod tests;
