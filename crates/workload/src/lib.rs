//! The workloads of the field, each a sequence of steps over the engine.
//!
//! For: turning the parameters of a workload into steps that can be run one by one, on a mounted
//! filesystem or on a raw device; running one in the background of another; running one without a lab.
//!
//! Not for: bringing a stack up, dropping caches, making data durable, reading the device's
//! counters (all that happens around a step and is its caller's business), or knowing a
//! filesystem by name.

pub mod aging;
pub mod bench;
pub mod beside;
pub mod bonnie;
pub mod calls;
pub mod capacity;
pub mod chunk;
pub mod command;
pub mod database;
pub mod error;
pub mod fio;
#[cfg(test)]
mod fixture;
pub mod io;
pub mod iozone;
pub mod mail;
pub mod maildir;
pub mod outcome;
pub mod replay;
pub mod requests;
pub mod rrd;
pub mod seekrw;
pub mod step;
pub mod target;
mod verify;

use io::Place;
use seekwell_model::workloads::WorkloadParams;

pub use bench::{BenchTarget, bench};
pub use beside::{Beside, BesideStep};
pub use error::WorkloadError;
pub use outcome::StepOutcome;
pub use step::{Acknowledged, Step, StepContext};

/// The steps of a workload in the order in which they are to run, as
/// [`WorkloadParams::steps`] outlines them.
#[must_use]
pub fn steps(params: &WorkloadParams) -> Vec<Box<dyn Step>> {
    steps_at(params, Place::Main)
}

fn steps_at(params: &WorkloadParams, place: Place) -> Vec<Box<dyn Step>> {
    match params {
        WorkloadParams::Io(io) => io::steps(io, place),
        WorkloadParams::Sweep(sweep) => io::populated(&sweep.each, sweep.measurements(), place),
        WorkloadParams::SeekRw(seekrw) => seekrw::steps(seekrw, place),
        WorkloadParams::Chunk(chunk) => chunk::steps(*chunk, place),
        WorkloadParams::Iozone(iozone) => iozone::steps(iozone, place),
        WorkloadParams::Mail(mail) => mail::steps(mail, place),
        WorkloadParams::Maildir(maildir) => maildir::steps(maildir, place),
        WorkloadParams::Bonnie(bonnie) => bonnie::steps(bonnie, place),
        WorkloadParams::Rrd(rrd) => rrd::steps(rrd, place),
        WorkloadParams::Fio(fio) => fio::steps(fio, place),
        WorkloadParams::Age(age) => aging::age_steps(age, place),
        WorkloadParams::Layout(layout) => aging::layout_steps(layout),
        WorkloadParams::Pgbench(params) => database::pgbench_steps(params),
        WorkloadParams::DbBench(params) => database::db_bench_steps(params),
        WorkloadParams::Sqlite(params) => database::sqlite_steps(params),
        WorkloadParams::Capacity(params) => capacity::steps(*params),
        WorkloadParams::Replay(params) => replay::steps(params, place),
        WorkloadParams::Requests(params) => requests::steps(params),
        WorkloadParams::Calls(calls) => calls::steps(calls),
        WorkloadParams::Command(command) => command::steps(command),
    }
}
