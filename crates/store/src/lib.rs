//! The run file: everything that one execution of a lab knows, in one SQLite file.
//!
//! A record is written in one transaction as soon as its trial ended, so that a run that was
//! killed at any moment has every finished trial. At rest a run is exactly one file: SQLite's
//! rollback journal exists only during a write. What a killed process left of it is rolled back by
//! the next one that opens the file, and removed by the next one that writes.
//!
//! The views `value` and `metric` are meant to be read with any SQLite program (see `schema.rs`);
//! records, histograms, timelines and block events are compact blobs. Digests chain all parts, so
//! that an edit is noticed ([`RunFile::verify`]).
//!
//! This room does not decide what to run or what a value means, and it shows nothing.

mod attempt;
mod blob;
mod error;
mod file;
#[cfg(test)]
mod fixture;
mod inflater;
mod lock;
mod prefix;
mod schema;
mod seal;

pub use attempt::{Timeline, Wanted};
pub use error::StoreError;
pub use file::{Integrity, Merged, Repaired, RunFile};
