//! Traces: the format of recorded file system calls and block requests.
//!
//! A trace is a folder of complete Parquet segments with a description, [`meta`]. This room reads
//! and writes it. What records is the room `capture`; what is done with recordings is `recordings`.

mod anonymous;
pub mod calls;
mod columns;
mod encode;
mod error;
mod event;
pub mod fast;
pub mod meta;
mod part;
pub mod path;
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
