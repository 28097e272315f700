//! Published studies beside our trials: what they claim, how each of their numbers is measured,
//! and what became of every claim.
//!
//! - [`claims`]: the frozen file of published values and claims, with the pairs it implies.
//! - [`study`]: the file per study that says which labs are run and how a value is read from them.
//! - [`formula`]: the small language in which it says so.
//! - [`judge`]: confirmed, not confirmed, cannot be tested; with the trials that show it.
//! - [`narrow`]: a lab cut down to the stacks that a fit needs.
//! - [`ends`]: a lab with a number of one device at an end of its range, in the place of its usual trials.
//! - [`fit`]: models fitted to published values, from those alone that a fit may read.
//!
//! Adding a study is adding files below `labs/replicate`, which are built in. This room runs
//! nothing, opens no run file and prints nothing: it is handed plans and records.

pub mod claims;
pub mod ends;
pub mod fit;
pub mod formula;
pub mod judge;
pub mod narrow;
pub mod study;
mod toml_file;

pub use toml_file::FileError;

/// Name and text of every file below `labs/replicate` that came with the program, by name.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Name of the file of claims.
pub const CLAIMS: &str = "claims.toml";

/// End of the names of the files that say how a study is measured.
pub const STUDY_END: &str = ".measure.toml";
