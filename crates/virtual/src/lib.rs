//! The virtual backend: a real Linux kernel as a user's process, on modelled disks, in virtual time.
//!
//! For: building the lab kernel ([`kernel`]), making the image that guests run from ([`RootBuilder`]),
//! running one guest to its end ([`machine`]), running a plan's trials in guests ([`backend`]), and
//! proving that two runs did the same ([`difference`]).
//! The guest is User-Mode Linux. The `controller` owns its clock and advances it from event to event;
//! its disks (`disk`) answer at the times that a model of the crate `device` computes. It needs neither
//! root nor a quiet machine, and the same seed gives the same run everywhere.
//!
//! Not for: how long a disk takes (crate `device`), the steps of a trial (crate `agent`, which runs inside
//! the guest), the choice of trials (crate `runner`).
//!
//! Memory shared with the guest is touched in `mapped` alone, its process in `process`.

mod agreed;
pub mod backend;
mod block;
pub mod charge;
mod check;
mod clock;
mod content;
mod controller;
pub mod cuts;
mod directory;
mod disk;
mod end;
mod experiments;
mod fingerprint;
pub mod guest;
pub mod instant;
pub mod kernel;
pub mod labs;
mod lanes;
mod link;
pub mod machine;
mod mailbox;
mod mapped;
mod medium;
pub mod memory;
mod memory_capacity;
mod origins;
mod partition;
mod port;
mod preparations;
mod process;
pub mod ring;
mod root;
pub mod vhost;

pub use backend::{
    Lane, SequenceCut, VirtualBackend, VirtualBackendError, VirtualOptions, was_ended_by_host,
};
pub use check::{Difference, difference};
pub use content::{Content, Frozen, Keeping};
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
