//! Traces from the records of other programs.

mod blkparse;
mod blktrace;
mod block;
mod constants;
mod lines;
mod strace;
mod strace_line;

#[cfg(test)]
mod tests;

pub use blkparse::blkparse;
pub use blktrace::blktrace;
pub use strace::strace;

/// Largest file that is imported, bytes.
const LARGEST_BYTES: u64 = 1 << 40;

/// Numbers of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Calls and requests in the trace.
    pub events: u64,
    /// Records that were read but are of no use to a trace: signals, exits and calls that neither
    /// touch files nor make processes.
    pub other: u64,
    /// Records that could not be read.
    pub damaged: u64,
}
