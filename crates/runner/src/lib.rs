//! From a plan to a verdict: the order of the trials, rounds, stopping and resuming.
//!
//! The runner asks a backend for one trial after the other, keeps every record at once in the run
//! file, and passes the judged metric to the statistics. It never touches a device itself, and it
//! does not know what a trial does or which backends exist.

pub mod axes;
pub mod compare;
mod durability;
pub mod execute;
#[cfg(test)]
mod fixture;
pub mod judge;
mod nodes;
pub mod order;
pub mod predict;
pub mod question;
pub mod records;
pub mod staged;
pub mod traffic;
pub mod values;
pub mod why;
