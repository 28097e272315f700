//! The virtual backend: a real Linux kernel as a user's process, on modelled disks, in virtual time.
//!
//! For: building the lab kernel ([`kernel`]), making the image that guests run from ([`root`]),
//! running one guest to its end ([`machine`]), running a plan's trials in guests ([`backend`]), and
//! proving that two runs did the same ([`check`]).
//! The guest is User-Mode Linux. The [`controller`] owns its clock and advances it from event to event;
//! its disks ([`disk`]) answer at the times that a model of the crate `device` computes. It needs neither
//! root nor a quiet machine, and the same seed gives the same run everywhere.
//!
//! Not for: how long a disk takes (crate `device`), the steps of a trial (crate `agent`, which runs inside
//! the guest), the choice of trials (crate `runner`).
//!
//! Memory shared with the guest is touched in [`mapped`] alone, its process in [`process`].

mod agreed;
pub mod backend;
pub mod block;
pub mod charge;
pub mod check;
pub mod clock;
pub mod content;
pub mod controller;
pub mod cuts;
mod directory;
pub mod disk;
pub mod end;
pub mod experiments;
pub mod fingerprint;
pub mod guest;
pub mod instant;
pub mod kernel;
pub mod labs;
pub mod lanes;
pub mod link;
pub mod machine;
pub mod mailbox;
pub mod mapped;
mod medium;
pub mod memory;
pub mod memory_capacity;
mod origins;
pub mod partition;
pub mod port;
mod preparations;
pub mod process;
pub mod ring;
pub mod root;
pub mod vhost;

pub use backend::{
    Lane, SequenceCut, VirtualBackend, VirtualBackendError, VirtualOptions, was_ended_by_host,
};
pub use check::{Difference, difference};
pub use content::{Content, Frozen, Keeping, Key, Regenerator};
pub use cuts::{Cut, CutError, Recording};
pub use disk::DiskParts;
pub use end::End;
pub use experiments::{Batch, Experiment, Experiments};
pub use fingerprint::{Event, Fingerprint};
pub use kernel::{Kernel, KernelError, KernelPlan, KernelSet, KernelSource};
pub use lanes::Lanes;
pub use machine::{
    CpuCharge, DiskOutcome, DiskSetup, HostCost, MachineError, Outcome, OutputPart, Settings,
    Transport, Trial, WorkCharge, device_path, run,
};
pub use mailbox::Task;
pub use root::{RootBuilder, RootError, RootImage};
