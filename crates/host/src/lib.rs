//! Linux facts and changes: images, loop devices, queues, filesystems, memory limits, namespaces;
//! the guard against writing to a disk in use; and the undo list that puts everything back.
//!
//! Whatever formats a device, opens it for writing or mounts it passes through here. Only the guard
//! gives out a [`guard::WriteToken`], and nothing here writes to a device without one.
//!
//! This room never measures, prints, ends the process or reads the environment, and decides nothing
//! about labs. It knows filesystems only as entries of the catalogue in `seekwell_model`.

mod added;
mod attributes;
mod backing;
mod blkdev;
pub mod caches;
mod cgroup;
pub mod claim;
pub mod claims;
pub mod confine;
mod detached;
mod device;
pub mod error;
pub mod export;
pub mod facts;
pub mod fiemap;
pub mod filesystem;
#[cfg(test)]
mod fixture;
pub mod guard;
mod hdparm;
pub mod identity;
pub mod image;
mod layer_programs;
pub mod layers;
pub mod loop_device;
mod loop_lock;
mod loop_status;
pub mod memory;
mod mounts;
pub mod namespace;
pub mod nfs;
mod nfs_kept;
mod nodes;
pub mod output;
pub mod overlay;
pub mod planned;
mod program;
pub mod queue;
pub mod recorded;
pub mod refusal;
mod seccomp;
pub mod settings;
mod state;
pub mod sysfs;
mod tree;
pub mod trial_directory;
pub mod undo;

pub use error::{Error, Result};
