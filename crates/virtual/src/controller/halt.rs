//! The reasons for which the controller stops, and the limits of a trial.

use std::io;
use std::time::Duration;

use crate::clock::TimeOperation;
use crate::link::LinkFault;
use crate::port::PortFault;
use crate::process::CpuTicks;

/// The reason for which the controller stopped.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    #[error("the guest's process has exited")]
    Gone,
    #[error("deadlock: no timer armed, no I/O outstanding")]
    Deadlock,
    #[error("the guest uses CPU and lets no virtual time pass")]
    Spin(CpuTicks),
    /// The guest is silent and idle although it has the clock, which the protocol does not allow.
    #[error("the guest hung without yielding the clock")]
    Stuck,
    #[error("limit of wall-clock time reached")]
    WallLimit,
    #[error("limit of virtual time reached")]
    VirtualLimit,
    #[error("the trial was cancelled")]
    CalledOff,
    #[error("{0}")]
    Fault(#[from] PortFault),
    #[error(
        "the guest moved its clock from {from_ns} to {to_ns} ns, past a disk's event or backwards"
    )]
    Time { from_ns: u64, to_ns: u64 },
    #[error("unexpected message {0:?} from the guest to its clock")]
    OutOfTurn(TimeOperation),
    #[error("a device model makes no progress at {0} ns")]
    ModelStuck(u64),
    #[error("waiting for the guest failed: {0}")]
    System(io::Error),
}

impl From<LinkFault> for Halt {
    fn from(fault: LinkFault) -> Self {
        match fault {
            LinkFault::Closed => Self::Gone,
            other => Self::Fault(PortFault::Link(other)),
        }
    }
}

/// Limits of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Host time for everything.
    pub wall: Duration,
    /// CPU time without a word to the clock.
    pub spin: Duration,
    /// Virtual time.
    pub virtual_ns: u64,
}
