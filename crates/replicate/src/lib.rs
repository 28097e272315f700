//! Published studies replicated: their claims, the measure of each of their numbers, and the results,
//! claim by claim.
//!
//! - [`claims`]: the frozen file of published values and claims, with the pairs it implies.
//! - [`study`]: the file per study with its labs and the formulas of its values.
//! - [`formula`]: the language of those formulas.
//! - [`judge`]: confirmed, not confirmed, cannot be tested; with the trials that show it.
//! - [`narrow`]: a lab cut down to the stacks that a fit needs.
//! - [`ends`]: a lab with one number of a device at a bound of its range, instead of its usual trials.
//! - [`fit`]: models fitted to the published values that a fit may read.
//!
//! Adding a study is adding files below `labs/replicate`, which are built in. This room runs
//! nothing, opens no run file and prints nothing: it gets plans and records.

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
