//! Durability of an `io` workload: the call that makes its writes durable, and growth of its file.

use super::io::EngineKind;
use super::{FieldConflict, IoParams, conflict};
use crate::field::{Field, Values, field};
use serde::{Deserialize, Serialize};

/// Method that makes a write durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyncMethod {
    /// `fsync(2)`: data and all metadata.
    #[serde(rename = "fsync")]
    Fsync,
    /// `fdatasync(2)`: data and the metadata needed to read it back, such as a new file size.
    #[serde(rename = "fdatasync")]
    Fdatasync,
    /// The file is opened with `O_DSYNC`: each write returns when it is durable, as by `fdatasync`.
    #[serde(rename = "O_DSYNC")]
    ODsync,
    /// `pwritev2(2)` with `RWF_DSYNC`: the same, asked for by each write.
    #[serde(rename = "RWF_DSYNC")]
    RwfDsync,
}

impl SyncMethod {
    /// The name that labs use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::ODsync => "O_DSYNC",
            Self::RwfDsync => "RWF_DSYNC",
        }
    }

    /// Returns true if a separate call follows the write; otherwise the write itself is durable.
    #[must_use]
    pub fn is_call(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync)
    }
}

/// Space that is allocated before a file grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preallocation {
    /// None: every append allocates and changes the size.
    #[default]
    None,
    /// `fallocate` with `FALLOC_FL_KEEP_SIZE`: blocks are there, every append changes the size.
    KeepSize,
    /// `fallocate`: blocks and size are there; the first write of a block marks it as written.
    Size,
}

/// Method that makes writes durable, and growth of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The file starts empty and grows.
    #[serde(default)]
    pub append: bool,
    /// Space allocated before it grows.
    #[serde(default)]
    pub preallocate: Preallocation,
    /// Method that makes writes durable. `None` is `fdatasync` if `fsync_every` is given, otherwise
    /// nothing.
    #[serde(default)]
    pub sync: Option<SyncMethod>,
    /// One thread syncs for all that wait.
    #[serde(default)]
    pub group_commit: bool,
}

impl Durability {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) const SYNC_FIELD: Field = field!("sync": Choice(&["fsync", "fdatasync", "O_DSYNC", "RWF_DSYNC"]),
    "Makes writes durable: `fsync` or `fdatasync` after each write (or `fsync_every`), or each write with `O_DSYNC` or `RWF_DSYNC`. Latencies last until the sync has returned; `write_latency_*` and `sync_latency_*` are the two parts. Without `sync`, `fsync_every` uses fdatasync.");

pub(super) const GROUP_COMMIT_FIELD: Field = field!("group_commit": Bool, default "false",
    "One sync serves all waiting threads, as databases commit: a thread that finds a sync in progress waits for the next.");

pub(super) const APPEND_FIELD: Field = field!("append": Bool, default "false",
    "Append to an empty file, as a log does, instead of overwriting a full one. All threads share the file; the step ends at `file_size`. Needs a filesystem and `write = true`.");

pub(super) const PREALLOCATE_FIELD: Field = field!("preallocate": Choice(&["none", "keep-size", "size"]), default "\"none\"",
    "Space allocated before the file grows, up to `file_size`. `keep-size`: blocks, as RocksDB does. `size`: blocks and size, as etcd does. For a reused log, as of PostgreSQL, leave `append` out.");

/// Most writes between two syncs: the start of each is kept until it is durable.
pub(super) const MOST_WRITES_PER_SYNC: u64 = 1_000_000;

/// Reads the fields of this module into `params`, which has the values of all others.
pub(super) fn apply(params: &mut IoParams, values: &Values) -> Result<(), FieldConflict> {
    params.durability = Durability {
        append: values.bool("append"),
        preallocate: values.choice("preallocate").unwrap_or_default(),
        sync: values.choice("sync"),
        group_commit: values.bool("group_commit"),
    };
    check_sync(params)?;
    check_append(params)?;
    if params.durability.sync.is_some_and(SyncMethod::is_call) {
        params.fsync_every = params.fsync_every.max(1);
    }
    check_group(params)
}

fn check_sync(params: &IoParams) -> Result<(), FieldConflict> {
    let Some(method) = params.durability.sync else { return Ok(()) };
    if params.read_percent == 100 {
        let problem = format!("sync = \"{}\" in a step that only reads", method.word());
        return conflict("sync", problem, "add write = true, or leave sync out");
    }
    if !method.is_call() && params.fsync_every > 0 {
        let problem = format!(
            "fsync_every = {} with {}, which syncs every write",
            params.fsync_every,
            method.word()
        );
        let remedy = "leave fsync_every out, or write sync = \"fdatasync\"";
        return conflict("fsync_every", problem, remedy);
    }
    Ok(())
}

fn check_append(params: &IoParams) -> Result<(), FieldConflict> {
    let durability = params.durability;
    if !durability.append {
        if durability.preallocate != Preallocation::None {
            let problem = "preallocate without append: the file is written in full before the step";
            return conflict("preallocate", problem, "add append = true, or leave it out");
        }
        return Ok(());
    }
    if params.read_percent > 0 {
        return conflict("append", "append in a step that reads", "add write = true");
    }
    let room = params.file_size.unwrap_or_default().0 / params.size.0.max(1);
    if let Some(count) = params.count.filter(|count| *count > room) {
        let problem = format!("{count} appends of {} need more than file_size", params.size);
        return conflict("file_size", problem, "make file_size at least count times size");
    }
    Ok(())
}

fn check_group(params: &IoParams) -> Result<(), FieldConflict> {
    if !params.durability.group_commit {
        return Ok(());
    }
    if params.fsync_every != 1 {
        let problem = "group_commit without a sync after each write";
        return conflict("group_commit", problem, "write sync = \"fdatasync\" or \"fsync\"");
    }
    if params.engine != EngineKind::Psync {
        let problem = "group_commit with io_uring, whose threads do not wait for each other";
        return conflict("group_commit", problem, "write engine = \"psync\" and threads");
    }
    Ok(())
}

impl IoParams {
    /// Returns true if every write is durable before the next one of its thread begins.
    #[must_use]
    pub fn syncs_every_write(&self) -> bool {
        let by_write = self.durability.sync.is_some_and(|method| !method.is_call());
        self.read_percent < 100 && (by_write || self.fsync_every == 1)
    }

    /// Returns true if writes are made durable during the step.
    #[must_use]
    pub fn syncs(&self) -> bool {
        self.read_percent < 100 && (self.durability.sync.is_some() || self.fsync_every > 0)
    }

    /// Metrics that only a step with synced writes has.
    pub(super) fn sync_metrics(&self) -> impl Iterator<Item = &'static str> {
        const COMMIT: &[&str] = &["commit_latency_p50", "commit_latency_p99"];
        const PARTS: &[&str] =
            &["write_latency_p50", "write_latency_p99", "sync_latency_p50", "sync_latency_p99"];
        let none: &[&str] = &[];
        let parts = if self.syncs() && self.fsync_every > 0 { PARTS } else { none };
        let group: &[&str] = if self.durability.group_commit { &["writes_per_sync"] } else { none };
        let commit = if self.syncs() { COMMIT } else { none };
        commit.iter().chain(parts).chain(group).copied()
    }
}

#[cfg(test)]
mod tests;
