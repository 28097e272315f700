//! One trial from a fresh mkfs to a clean teardown, the process that runs it, and the guardian that
//! can put everything back.
//!
//! `trial` is the same on every backend; `host_backend` starts it on this kernel as a child in its own
//! mount and PID namespace; `guardian` watches both and restores what outlives them.
//!
//! This room never decides the order or the number of trials, and never compares.

pub mod context;
pub mod error;
pub mod guardian;
pub mod host_backend;
pub mod measure;
pub mod mount;
mod others;
pub mod process;
pub mod stack;
mod strays;
pub mod survey;
pub mod trial;
