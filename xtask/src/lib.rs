//! Checks of the Seekwell tree: [`tidy`] (limits and dependency arrows), [`docs`] (documents
//! generated from the code), [`suite`] (every check and every test in one run, skips counted),
//! [`mutants`] (changes of the code that protects, which tests have to notice).
//!
//! Not part of the product: nothing under `crates/` may depend on it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's command line tool: talking to the terminal is its job"
)]

mod areas;
pub mod docs;
pub mod mutants;
mod program;
pub mod suite;
pub mod tidy;
pub mod tree;
