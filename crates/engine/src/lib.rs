//! Reads and writes on a file or a block device, and exactly what each of them cost.
//!
//! For: issuing operations with [`psync`], [`uring`] or, to measure the loop itself, [`null`];
//! one latency histogram per kind of operation; knowing the error of its own clock. The loop is
//! generic over [`Clock`] and [`Engine`], so that a scripted pair can prove its arithmetic while the
//! production loop pays nothing for that.
//!
//! Not for: choosing targets or opening them, filesystems, workloads, judging numbers, printing.
//! Nothing is allocated, locked or printed between the first and the last operation of a job, except
//! the lock of a group commit that the job asks for.

pub mod buffer;
pub mod clock;
pub mod commit;
pub mod drive;
pub mod error;
pub mod job;
pub mod null;
pub mod offsets;
pub mod operation;
pub mod progress;
pub mod psync;
pub mod run;
pub mod schedule;
#[cfg(test)]
#[path = "../tests/support/scripted.rs"]
mod scripted;
pub mod source;
pub mod uring;
pub mod written;

pub use buffer::DataShape;
pub use clock::{Clock, MonotonicClock, clock_cost_ns};
pub use commit::{AppendEnd, GroupCommit};
pub use drive::SingleOperation;
pub use error::JobError;
pub use job::{EngineChoice, Job, Span};
pub use operation::{Completion, Engine, Operation, OperationKind};
pub use progress::Progress;
pub use run::{JobResult, RateReport, run};
pub use written::{Written, WrittenData};
