//! Loads without names: a short description of a trace, and a trace made from it.
//!
//! A [`Description`] holds counts, sizes, times and a tree's shape, and no path, process number or
//! program name. [`generate`] makes from it a trace that can be replayed; [`distance`] compares the
//! summaries of both, figure by figure.

mod compare;
mod generate;
mod learn;
mod model;
mod needs;
mod spectrum;
mod world;

pub use compare::{Figure, distance};
pub use generate::generate;
pub use learn::describe;
pub use model::{Description, FORMAT};

#[cfg(test)]
mod tests;
