//! Traces: recorded file system calls and block requests, and what kind of load they are.
//!
//! A trace is a folder of complete Parquet segments with a description, [`meta`]. This room reads,
//! writes, cuts and summarizes it, and imports the records of other programs. It records nothing
//! itself: that is the room `capture`.

mod anonymous;
pub mod calls;
pub mod caused;
mod columns;
mod encode;
mod error;
mod event;
pub mod fast;
pub mod filter;
pub mod import;
pub mod info;
pub mod merge;
pub mod meta;
pub mod pack;
mod part;
mod read;
mod write;

pub use anonymous::Anonymizer;
pub use error::TraceError;
pub use event::{
    Content, DataRange, Event, FileEntry, FileId, InitialAttribute, InitialEntry, Operation,
    ProcessEntry, Request, RequestFlags,
};
pub use read::Trace;
pub use write::{Limits, TraceWriter};
