//! Observation of a trial: block device counters, timelines, block events, and the
//! comparison of application bytes with device bytes.
//!
//! Everything is read from the running kernel (or from a directory that looks like its root, for
//! tests) and returned as data. This room changes nothing on a device, and it does not decide
//! whether a trial counts: it reports doubts as warnings for `runner` to judge.

pub mod block_events;
pub mod clock;
pub mod counters;
mod error;
pub mod machine;
pub mod marks;
pub mod requests;
pub mod timeline;
pub mod watched;

pub use error::ObserveError;
