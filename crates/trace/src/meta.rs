//! Description of a trace: `trace.json` in its folder.

use crate::error::TraceError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Version of the format, `MAJOR.MINOR`. A newer major version is refused.
pub const FORMAT: &str = "1.6";
/// Name of the description in the folder.
pub const FILE: &str = "trace.json";

/// Longest description that is read, bytes.
pub(crate) const LONGEST_BYTES: u64 = 16 << 20;
/// Start of the names of the parts of a recording.
const PART: &str = "part-";

/// Kinds of lost events.
pub const LOST_CALLS: &str = "calls";
/// Single operations of `io_uring` and libaio.
pub const LOST_OPERATIONS: &str = "asynchronous operations";
/// Page faults in mapped files.
pub const LOST_FAULTS: &str = "page faults";
/// Calls of programs of 32 bits, of every kind: their numbers and arguments are others.
pub const LOST_32_BIT: &str = "calls of 32-bit programs";
/// Block requests.
pub const LOST_REQUESTS: &str = "block requests";
/// Records of any kind, of captures in guests.
pub const LOST_RECORDS: &str = "records";
/// Steps of block requests, several of each, of blktrace.
pub const LOST_STEPS: &str = "blktrace events";
/// Most losses that are named one by one.
const LOSSES_SHOWN: usize = 8;

/// Description of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the format.
    pub format: String,
    /// Origin: `capture`, or the format that was imported.
    pub source: String,
    /// Kernel release, where known.
    pub kernel: Option<String>,
    /// Start of the trace, nanoseconds since 1970; event times count from it.
    pub started_unix_ns: Option<u64>,
    /// Length of the trace, nanoseconds; `None` while it grows or after a crash.
    pub duration_ns: Option<u64>,
    /// Times in which nothing was recorded, between the parts of a merged trace: start and end of each,
    /// nanoseconds from the start of the trace, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded_ns: Vec<(u64, u64)>,
    /// Segments that were complete when this was written: of each table the first and the last number of
    /// every row of numbers without a gap. The writer fills it; empty in traces before format 1.4.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub segments: BTreeMap<String, Vec<(u32, u32)>>,
    /// Directories that the trace is limited to; empty for all.
    #[serde(default)]
    pub paths: Vec<String>,
    /// True when block requests were recorded, even if there were none.
    #[serde(default)]
    pub requests: bool,
    /// True when page faults of mapped files were recorded, even if there were none.
    #[serde(default)]
    pub faults: bool,
    /// Devices whose requests are those of the load's files, each once: major number << 20 | minor number. Empty when
    /// not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<u32>,
    /// Directory trees whose state before the start is in the trace.
    #[serde(default)]
    pub initial: Vec<Tree>,
    /// Places outside of the directories that a traced container sees: calls name those inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// True when names were replaced by words without meaning.
    #[serde(default)]
    pub anonymous: bool,
    /// Events that were lost.
    #[serde(default)]
    pub lost: Vec<Lost>,
    /// Calls on files that were in progress at the end, by name: they are in no table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Unfinished>,
    /// Kinds of load that the source cannot show, in words.
    #[serde(default)]
    pub gaps: Vec<String>,
}

/// Calls of one name that were in progress at the end of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Name of the call.
    pub call: String,
    /// Number.
    pub count: u64,
    /// Time from the earliest start of them to the end, nanoseconds.
    pub longest_ns: u64,
}

/// A mount of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path in the container.
    pub inside: String,
    /// Path on the machine.
    pub outside: String,
}

/// A directory tree as it was before the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Its root.
    pub root: String,
    /// True when everything in it was seen; false when it was too large.
    pub complete: bool,
}

/// Lost events of one kind on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// CPU; `None` when the source does not tell.
    pub cpu: Option<u32>,
    /// Kind of event.
    pub kind: String,
    /// Number.
    pub count: u64,
}

impl Meta {
    /// A description with nothing known but its origin.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self { format: FORMAT.to_owned(), source: source.to_owned(), ..Self::default() }
    }

    /// Lost events of all CPUs and kinds.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().map(|lost| lost.count).sum()
    }

    /// Lost events that were calls, operations of asynchronous I/O or page faults: those that a replay
    /// would make.
    #[must_use]
    pub fn lost_calls(&self) -> u64 {
        self.lost_of(&[LOST_CALLS, LOST_OPERATIONS, LOST_FAULTS, LOST_RECORDS, LOST_32_BIT])
    }

    /// Lost events that were block requests or steps of them.
    #[must_use]
    pub fn lost_requests(&self) -> u64 {
        self.lost_of(&[LOST_REQUESTS, LOST_STEPS])
    }

    fn lost_of(&self, kinds: &[&str]) -> u64 {
        let is_one = |lost: &&Lost| kinds.contains(&&*lost.kind);
        self.lost.iter().filter(is_one).map(|lost| lost.count).sum()
    }

    /// The losses in words, by kind and CPU, the largest first; `None` without any.
    #[must_use]
    pub fn losses(&self) -> Option<String> {
        // A merged trace has those of each part.
        let mut sums: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        for lost in self.lost.iter().filter(|lost| lost.count > 0) {
            *sums.entry((lost.kind.as_str(), lost.cpu)).or_default() += lost.count;
        }
        let mut lost: Vec<_> = sums.into_iter().collect();
        lost.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let others: u64 = lost.iter().skip(LOSSES_SHOWN).map(|(_, count)| count).sum();
        let one = |((kind, cpu), count): &((&str, Option<u32>), u64)| {
            let cpu = cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
            format!("{count} {kind}{cpu}")
        };
        let mut told: Vec<String> = lost.iter().take(LOSSES_SHOWN).map(one).collect();
        if others > 0 {
            told.push(format!("{others} others"));
        }
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Reads the description of the trace in `folder`.
    ///
    /// # Errors
    /// When there is none, or it is damaged or of a newer major version.
    pub fn read(folder: &Path) -> Result<Self, TraceError> {
        let path = folder.join(FILE);
        match seekwell_trust::open(&path, u64::MAX) {
            Ok(file) => Self::of(file, folder),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(parts(folder)),
            Err(error) => Err(TraceError::io("read", &path)(error)),
        }
    }

    /// Reads the description from `from`, of the trace at `folder`.
    pub(crate) fn of(from: impl Read, folder: &Path) -> Result<Self, TraceError> {
        let path = folder.join(FILE);
        let mut text = Vec::new();
        let read = from.take(LONGEST_BYTES + 1).read_to_end(&mut text);
        read.map_err(TraceError::io("read", &path))?;
        if text.len() as u64 > LONGEST_BYTES {
            return Err(TraceError::Long(path));
        }
        let meta: Self = serde_json::from_slice(&text)
            .map_err(|source| TraceError::Description { path, source })?;
        let major = |format: &str| format.split('.').next().and_then(|major| major.parse().ok());
        let newer = major(&meta.format) > major(FORMAT).or(Some(0_u32));
        if newer || major(&meta.format).is_none() {
            return Err(TraceError::Newer { path: folder.to_owned(), found: meta.format });
        }
        Ok(meta)
    }

    /// Writes the description, whole or not at all.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TraceError> {
        let path = folder.join(FILE);
        let open = folder.join("trace.json.open");
        let write = || -> std::io::Result<()> {
            // Of a writer that was killed.
            match std::fs::remove_file(&open) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = private_file(&open)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            std::fs::rename(&open, &path)?;
            sync_folder(folder)
        };
        write().map_err(TraceError::io("write", &path))
    }
}

/// A folder without a description: a recording in parts, or no trace.
fn parts(folder: &Path) -> TraceError {
    let path = folder.to_owned();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(PART) && folder.join(name).join(FILE).is_file())
        .collect();
    names.sort();
    match (names.first(), names.last()) {
        (Some(first), Some(last)) => {
            let problem = format!(
                "holds {} parts of a recording, each a trace: {first} to {last}; name one of them",
                names.len()
            );
            TraceError::Unfit { path, problem }
        }
        _ => TraceError::NotATrace(path),
    }
}

/// Makes the names of a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A new file that its owner alone can read. A file or link that has the name is an error: a folder of
/// another user may be made to lead anywhere. It is opened for writing alone: commands that read traces have no
/// right to read the files of an output's folder.
pub(crate) fn private_file(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests;
