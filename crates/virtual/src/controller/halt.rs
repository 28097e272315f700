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
    /// The guest's process has exited; its status has the details.
    #[error("the guest's process has exited")]
    Gone,
    /// Deadlock: no timer armed, no I/O outstanding.
    #[error("deadlock: no timer armed, no I/O outstanding")]
    Deadlock,
    /// The guest uses CPU and lets no time pass.
    #[error("the guest uses CPU and lets no virtual time pass")]
    Spin {
        /// CPU time since its last message.
        used: CpuTicks,
    },
    /// The guest is silent and idle although it has the clock, which the protocol does not allow.
    #[error("the guest hung without yielding the clock")]
    Stuck,
    /// The trial took longer than it may.
    #[error("limit of wall-clock time reached")]
    WallLimit,
    /// The trial lasted longer than it may, in virtual time.
    #[error("limit of virtual time reached")]
    VirtualLimit,
    /// The trial was cancelled.
    #[error("the trial was cancelled")]
    CalledOff,
    /// The guest broke a protocol.
    #[error("{0}")]
    Fault(#[from] PortFault),
    /// The guest's time went back, or past a disk's event.
    #[error(
        "the guest moved its clock from {from_ns} to {to_ns} ns, past a disk's event or backwards"
    )]
    Time {
        /// Time known before.
        from_ns: u64,
        /// Time it claims.
        to_ns: u64,
    },
    /// The guest sent a message to its clock in a state that does not allow it.
    #[error("unexpected message {operation:?} from the guest to its clock")]
    OutOfTurn {
        /// The operation.
        operation: TimeOperation,
    },
    /// A model asks to be advanced without end.
    #[error("a device model makes no progress at {at_ns} ns")]
    ModelStuck {
        /// Virtual time, in nanoseconds.
        at_ns: u64,
    },
    /// A system call of this side failed.
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
