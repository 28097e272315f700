//! Plans of replay: pure data, made from a trace and used by the rebuild and the engine.

use crate::encode::Operation;
use crate::error::ReplayError;
use crate::lanes::{Lane, Operations};
use seekwell_trace::{Content, DataRange, InitialAttribute};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;

/// Reasons for which a recorded call is not issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Pipes, sockets, devices, /proc and /sys: no part of a filesystem under test.
    NotAFile,
    /// Below another folder than the replay is limited to.
    Outside,
    /// Processes, mappings of memory and the working directory.
    Process,
    /// Submits or awaits asynchronous I/O, whose operations threads of the replay make.
    Submission,
    /// A sync, of which the choice asks for fewer.
    FewerSyncs,
    /// The trace does not tell which file.
    UnknownFile,
    /// The trace does not hold the arguments: asynchronous I/O, extended attributes, ranges of memory.
    NotRecorded,
    /// Extended attributes of the system: `security.*`, `trusted.*`.
    System,
    /// A directory or link that comes into the folder from outside, or leaves it.
    Border,
    /// A sync of the whole machine.
    Machine,
    /// Device nodes and FIFOs.
    DeviceNode,
    /// A name or path that no kernel takes.
    LongName,
    /// More files open at the same time than a replay keeps.
    TooManyOpen,
    /// The descriptor was not open in the replay, since its opening had another result.
    NotOpen,
    /// The recording lost the event.
    Lost,
}

impl Reason {
    /// Words for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAFile => "not on a filesystem: pipes, sockets, devices, /proc",
            Self::Outside => "outside of the folder",
            Self::Process => "processes and memory",
            Self::Submission => "submission of asynchronous I/O",
            Self::UnknownFile => "file not recorded",
            Self::NotRecorded => "arguments not recorded: asynchronous I/O, attributes, msync",
            Self::System => "attributes of the system: security, trusted",
            Self::Border => "directory or link moved into or out of the folder",
            Self::FewerSyncs => "syncs left out by sync_every",
            Self::Machine => "sync of the whole machine",
            Self::DeviceNode => "device node",
            Self::LongName => "name too long",
            Self::TooManyOpen => "too many open files",
            Self::NotOpen => "file not open in the replay",
            Self::Lost => "lost by the recording",
        }
    }

    /// True when the program's use of the filesystem is not reproduced for this reason.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        !matches!(
            self,
            Self::NotAFile | Self::Outside | Self::Process | Self::Submission | Self::FewerSyncs
        )
    }
}

/// Type of a file of the initial tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeKind {
    /// Regular file.
    #[default]
    File,
    /// Directory.
    Directory,
    /// Symbolic link; one whose target is unknown leads to its own directory.
    Link,
    /// Another name of a file (hard link).
    Name,
}

/// A file that exists before the first call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeEntry {
    /// Absolute path in the target.
    pub path: String,
    /// Type.
    pub kind: TreeKind,
    /// Permissions; `None` when the trace does not tell.
    pub mode: Option<u32>,
    /// User and group; `None` when the trace does not tell.
    pub owner: Option<(u32, u32)>,
    /// Size of a file, or length of a link's target; bytes.
    pub bytes: u64,
    /// Bytes with data: those of `data`, or from the start of the file. The rest are holes.
    pub data_bytes: u64,
    /// True for a file whose data was inside of its inode, where the walk told.
    pub is_inline: bool,
    /// Kind of the data, where the recording saw it.
    pub content: Option<Content>,
    /// Path of the file that a [`TreeKind::Name`] leads to.
    pub same_as: Option<String>,
    /// Text of a [`TreeKind::Link`]; `None` when its target is unknown.
    pub target: Option<String>,
    /// Extended attributes that it has.
    pub attributes: Vec<InitialAttribute>,
    /// Ranges with data of a file with holes, where the walk told them.
    pub data: Vec<DataRange>,
}

impl TreeEntry {
    /// An entry of unknown owner and content, without holes.
    #[must_use]
    pub fn new(path: String, kind: TreeKind, mode: Option<u32>, bytes: u64) -> Self {
        Self { path, kind, mode, bytes, data_bytes: bytes, ..Self::default() }
    }
}

/// Counts of the trace that a replay is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Calls that the plan issues.
    pub planned: u64,
    /// Calls that it does not issue.
    pub skipped: BTreeMap<Reason, u64>,
    /// Set-user-ID and set-group-ID bits that were left out.
    pub special_bits: u64,
    /// Calls whose file could not be followed through the trace: links with unknown targets.
    pub contradictions: u64,
    /// Files that were removed or cut before their size was seen: the rebuilt ones may be smaller.
    pub unknown_files: u64,
    /// Shared mappings of files that were open for reading and writing: what the program wrote through
    /// them is not recorded.
    pub mapped_writes: u64,
    /// Operations of asynchronous I/O, as many at the same time as in the recording and at most 256.
    pub asynchronous: u64,
    /// Planned calls without a recorded duration: their time is part of the pause that follows.
    pub untimed: u64,
    /// Time from the start of the first call to the end of the last, of those planned.
    pub elapsed_ns: u64,
    /// Time inside of the planned calls, of all threads.
    pub inside_ns: u64,
    /// Computing between the planned calls, of all threads; `None` where the trace does not tell it from sleep.
    pub computing_ns: Option<u64>,
    /// Bytes that the block requests to the load's devices read and wrote; `None` where the trace has none.
    pub device_bytes: Option<DeviceBytes>,
}

/// Bytes of recorded block requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceBytes {
    /// Those read.
    pub read: u64,
    /// Those written.
    pub written: u64,
}

/// Bounds of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of the encoded operations in memory, bytes. More of them go into a file without a name
    /// next to the trace.
    pub bytes: u64,
    /// Size of that file, bytes.
    pub spilled_bytes: u64,
    /// Threads that exist at the same time.
    pub lanes: u32,
    /// Files open at the same time.
    pub open: u32,
}

impl Default for Limits {
    /// 256 MiB in memory and 64 GiB in a file, 512 threads, 32,768 open files.
    fn default() -> Self {
        Self { bytes: 256 << 20, spilled_bytes: 64 << 30, lanes: 512, open: 32_768 }
    }
}

/// A replay, ready to run.
#[derive(Debug)]
pub struct Plan {
    /// Files that must exist before, parents first.
    pub(crate) tree: Vec<TreeEntry>,
    pub(crate) lanes: Vec<Lane>,
    /// Operations that are not in memory.
    pub(crate) spilled: Option<File>,
    /// Paths by number; number 0 is none.
    pub(crate) paths: Vec<CString>,
    /// Places in the table of descriptors, the unused place 0 included.
    pub(crate) slots: u32,
    /// Bytes that calls add to the initial tree, at most at any time.
    pub(crate) growth: u64,
    pub(crate) first_ns: u64,
    /// True when the trace tells computing and sleeping apart.
    pub(crate) tells_computing: bool,
    pub(crate) recorded: Recorded,
}

impl Plan {
    /// Counts of the trace.
    #[must_use]
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Recorded start of the first call, nanoseconds from the start of the trace.
    #[must_use]
    pub fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// Threads of the replay.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Operations of a thread of the replay, in order, all in memory.
    #[must_use]
    pub fn operations(&self, lane: usize) -> Vec<Operation> {
        let mut one = Operation::default();
        let mut all = Vec::new();
        let Some(lane) = self.lanes.get(lane) else { return all };
        let mut operations = Operations::of(lane, self.spilled.as_ref());
        while operations.next(&mut one).is_ok_and(|found| found) {
            all.push(one.clone());
        }
        all
    }

    /// Size of the encoded operations.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    /// Refuses a trace whose pauses are not known, since most of its calls have no duration.
    ///
    /// # Errors
    /// [`ReplayError::Unfit`].
    pub fn check_pauses(&self) -> Result<(), ReplayError> {
        let (untimed, planned) = (self.recorded.untimed, self.recorded.planned);
        if untimed > planned / 2 {
            return Err(ReplayError::Unfit(format!(
                "{untimed} of {planned} calls of the trace have no duration, so that pauses between calls are \
                 unknown; replay with speed = \"asap\" or \"open\", or record with `seekwell capture` or `strace -T`"
            )));
        }
        Ok(())
    }

    /// Bytes of the initial tree's data.
    #[must_use]
    pub fn tree_bytes(&self) -> u64 {
        let files = self.tree.iter().filter(|entry| entry.kind == TreeKind::File);
        files.fold(0, |all, entry| all.saturating_add(entry.data_bytes))
    }

    /// Bytes that the initial tree takes on a filesystem with blocks of this size. Data that was inside of an
    /// inode may be there again.
    #[must_use]
    pub fn tree_room(&self, block_bytes: u64) -> u64 {
        let block_bytes = block_bytes.max(1);
        let of_file = |entry: &TreeEntry| match entry.is_inline {
            true => entry.data_bytes,
            false => entry.data_bytes.div_ceil(block_bytes).saturating_mul(block_bytes),
        };
        let files = self.tree.iter().filter(|entry| entry.kind == TreeKind::File);
        files.fold(0, |all, entry| all.saturating_add(of_file(entry)))
    }
}
