//! Traces: recorded file system calls and block requests, and what kind of load they are.
//!
//! A trace is a folder of complete Parquet segments with a description, [`meta`]. This room reads,
//! writes, cuts and summarizes it, and imports the records of other programs. It records nothing
//! itself: that is the room `capture`.

pub mod calls;
mod columns;
mod error;
mod event;
pub mod filter;
pub mod import;
pub mod info;
pub mod meta;
mod read;
mod write;

pub use error::TraceError;
pub use event::{Event, FileEntry, FileId, Operation, ProcessEntry, Request, RequestFlags};
pub use read::Trace;
pub use write::{Limits, TraceWriter};
