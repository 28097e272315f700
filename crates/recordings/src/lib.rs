//! Tools for recordings: import from other programs' records, summary, filter, and the calls that caused
//! block requests.
//!
//! Their format is the room `trace`; what records is the room `capture`.

pub mod caused;
pub mod filter;
pub mod import;
pub mod info;
mod issuers;
