//! Operations in, completions out: the contract between the loop and an engine.

use std::fmt;
use std::io;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Reads one block.
    Read,
    /// Writes one block.
    Write,
    /// `fsync` or `fdatasync` of the target.
    Fsync,
}

impl OperationKind {
    /// The stable word of histograms and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Fsync => "fsync",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// One operation for an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Offset in the target in bytes; 0 for an fsync.
    pub offset: u64,
    /// Bytes to transfer; 0 for an fsync.
    pub length: u32,
    /// Offset of the memory in the thread's [`crate::buffer::Arena`].
    pub buffer: usize,
}

/// The end of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot that was given with the operation.
    pub slot: u32,
    /// Bytes transferred, or the negated `errno`.
    pub result: i32,
}

/// Something that performs operations.
pub trait Engine {
    /// Queues an operation under a slot number below the depth that the engine was made with.
    /// No slot is queued again before its completion was taken.
    fn queue(&mut self, slot: u32, operation: &Operation);

    /// Begins what is queued, then waits until an operation is complete, but no longer than the
    /// timeout, in ns from now; `None` is as long as it takes.
    ///
    /// # Errors
    /// When the operations could not be submitted. The completion of an operation reports its own
    /// failure.
    fn submit(&mut self, timeout_ns: Option<u64>) -> io::Result<()>;

    /// Takes one completion; `None` when there is none yet.
    fn next_completion(&mut self) -> Option<Completion>;
}
