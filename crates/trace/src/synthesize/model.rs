//! Form of a description.

use super::spectrum::Spectrum;
use crate::error::TraceError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the form, `MAJOR.MINOR`. A newer major version is refused.
pub const FORMAT: &str = "1.2";
/// Largest description that is read, bytes.
const LARGEST: u64 = 64 << 20;

/// A load without names. Times are nanoseconds, sizes bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Version of the form.
    pub load: String,
    /// Length of the trace.
    pub duration_ns: u64,
    /// Groups of threads: those of one program.
    pub programs: Vec<Program>,
    /// Shape of the files.
    pub tree: Tree,
}

/// Threads of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Threads, those that begin first at the front.
    pub threads: Vec<Threads>,
    /// Threads in a process.
    pub threads_per_process: u64,
    /// Calls with their outcome.
    pub states: Vec<State>,
    /// Number of threads that begin in each state.
    pub first: Vec<u64>,
}

/// Threads that begin about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// Start of the first one.
    pub start_ns: u64,
    /// Their number.
    pub count: u64,
    /// Calls of all of them.
    pub calls: u64,
}

/// Object of a call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Object {
    /// Nothing that has a name.
    #[default]
    None,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A name that does not exist.
    Missing,
    /// A pipe, socket, terminal or a file of the kernel.
    Elsewhere,
}

/// Data that a call moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moved {
    /// All that was asked for.
    #[default]
    Whole,
    /// Less than that.
    Part,
    /// None.
    Nothing,
}

/// Access to an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Opened before the trace, or by another process.
    #[default]
    Unknown,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Both.
    Both,
}

impl Access {
    /// The access that flags of an opening ask for.
    pub(super) const fn of(flags: u64) -> Self {
        match flags & 3 {
            0 => Self::Read,
            1 => Self::Write,
            _ => Self::Both,
        }
    }
}

/// A call with one kind of outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name of the call.
    pub call: String,
    /// Its object.
    pub object: Object,
    /// Error number; 0 for success.
    pub error: i64,
    /// Part of the data that calls moved, of those that can.
    pub moved: Moved,
    /// Access of the descriptor, or of an opening.
    #[serde(default)]
    pub access: Access,
    /// Calls.
    pub count: u64,
    /// States of the thread's next call: index and count.
    pub next: Vec<(u32, u64)>,
    /// Frequent flags with their counts.
    pub flags: Vec<(u64, u64)>,
    /// Calls on an object that no call had named before.
    pub fresh: u64,
    /// Calls on one that was named so many namings ago, by powers of two.
    pub again: Vec<u64>,
    /// Calls whose second name, that of a rename, another call had named before.
    pub over: u64,
    /// Calls on the descriptor that an opening made, until it was closed.
    #[serde(default)]
    pub uses: Spectrum,
    /// Requested lengths.
    pub lengths: Spectrum,
    /// Bytes moved by calls that moved less than they asked for, or did not say how much.
    pub parts: Spectrum,
    /// Offsets.
    pub places: Places,
    /// Durations.
    pub durations: Spectrum,
    /// Time of the thread between its last call and this one.
    pub thinks: Spectrum,
    /// Part of it on the CPU.
    pub cpu: Spectrum,
}

/// Offsets of calls in their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// At the end of the file's last access.
    pub sequential: u64,
    /// At the end of the file.
    pub end: u64,
    /// In a block of 4 KiB that was accessed so many accesses of the file ago, by powers of two.
    pub again: Vec<u64>,
    /// In another one.
    pub fresh: u64,
    /// Offsets in others.
    pub fresh_at: Spectrum,
    /// Multiples of 4 KiB, of all but the first two.
    pub aligned: u64,
}

/// Shape of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Files that exist before the load.
    pub files: u64,
    /// Directories that exist before the load.
    pub directories: u64,
    /// Depths of all these directories below the one of the load.
    pub depths: Spectrum,
    /// Sizes of the files.
    pub sizes: Spectrum,
    /// First namings of a file in the directory of the last first naming.
    pub same_directory: u64,
    /// First namings in another one.
    pub other_directory: u64,
}

impl Description {
    /// Reads the description in a file.
    ///
    /// # Errors
    /// When it cannot be read, or is none, or of a newer form.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let text = seekwell_trust::read(path, LARGEST).map_err(TraceError::io("read", path))?;
        let described: Self = serde_json::from_slice(&text)
            .map_err(|source| TraceError::Description { path: path.to_owned(), source })?;
        let major = |form: &str| form.split('.').next().and_then(|major| major.parse::<u32>().ok());
        match major(&described.load) {
            Some(found) if Some(found) <= major(FORMAT) => Ok(described),
            _ => {
                let (path, found) = (path.to_owned(), described.load);
                Err(TraceError::Newer { path, found, known: FORMAT })
            }
        }
    }
}
