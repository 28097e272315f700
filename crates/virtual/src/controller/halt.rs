//! The reasons for which the controller stops, and the limits of a trial.

use std::io;
use std::time::Duration;

use crate::clock::TimeOperation;
use crate::end::End;
use crate::link::LinkFault;
use crate::port::PortFault;

/// The reason for which the controller stopped.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    #[error("the guest's process has exited")]
    Gone,
    /// An end that needs no look at the traces of the guest.
    #[error("{0}")]
    Ended(End),
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
