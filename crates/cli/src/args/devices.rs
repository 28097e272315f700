//! Arguments of `device` and `probe`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Actions on modelled devices.
#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the modelled devices
    List,
    /// Show where the numbers of one come from, and published figures next to its own
    Show {
        /// Name of the device, NAME@BUS for one of its buses, or path of a device file
        name: String,
    },
    /// Serve a modelled device in real time, as a block device of this machine, until Ctrl-C
    Serve(DeviceServeArgs),
    /// Check that a probed file can be given to others
    Check(DeviceCheckArgs),
    /// Learn how a disk or card behaves, and write a device file that models it
    Probe(ProbeArgs),
    /// Allow Seekwell to destroy the contents of a disk
    Claim(super::ClaimArgs),
    /// Take a claim back
    Release(super::ReleaseArgs),
    /// Run the experiments of published studies, and compare the results with the published ones
    Replicate(super::ReplicateArgs),
}

/// Arguments of `device check`.
#[derive(Args, Debug)]
pub struct DeviceCheckArgs {
    /// Device file that a probe wrote
    pub file: PathBuf,
    /// That of another probe of the same drive, which has to agree
    pub other: Option<PathBuf>,
}

/// Arguments of `device serve`.
#[derive(Args, Debug)]
pub struct DeviceServeArgs {
    /// Name of the device, NAME@BUS for one of its buses, or path of a device file
    pub name: String,
    /// Seed of what no data sheet says, such as the angle of the disk at its start
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Arguments of `probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// Disk to probe; without --write nothing is written to it, and the probe ends within 10 minutes
    #[arg(required_unless_present = "model")]
    pub device: Option<PathBuf>,
    /// Probe a modelled device in virtual time, to see how well a probe finds it
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub model: Option<String>,
    /// Device file to write; an existing file is not overwritten [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the device in the file: small letters, digits and '-'
    #[arg(long, default_value = "probed")]
    pub name: String,
    /// Also write to the disk, to learn its write cache, flushes and settling, or its flash; its contents are
    /// lost. The disk must be claimed, as for a run
    #[arg(long)]
    pub write: bool,
    /// Flash: the most to write, in GiB. Write cliff, steady state and erase block of a solid-state disk
    /// need six times its capacity
    #[arg(long, value_name = "GIB", default_value_t = 64, requires = "write")]
    pub most_written: u64,
    /// Seed of the places that are read and written
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}
