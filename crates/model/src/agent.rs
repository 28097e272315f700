//! The messages between a backend and an agent: one request in, progress and one record out.

use crate::lab::{TrialSettings, Workload};
use crate::record::Record;
use crate::stack::Stack;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Block device of a stack, as the agent finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceHandle {
    /// An image, open read-write under this descriptor of the agent; it becomes a loop device.
    Image {
        /// Descriptor number in the agent.
        fd: i32,
        /// Logical sector size of the loop device.
        sector: Bytes,
        /// Allocated bytes and a digest of the extents when the image was made.
        layout: ImageLayout,
    },
    /// A claimed disk or partition.
    Claimed {
        /// Stable path.
        path: PathBuf,
        /// Directory of the claims: identity is checked against the claim before every mkfs.
        claims: PathBuf,
        /// The run file: the device that holds it is never written to.
        run_file: PathBuf,
        /// Device that the path led to when the run began; any other device ends the trial.
        #[serde(default)]
        bound: Option<String>,
    },
    /// A device that exists only for this trial (virtual backend).
    Given {
        /// Path in the agent's own view.
        path: PathBuf,
    },
    /// No device: the stack is in memory or on another machine.
    Unused {
        /// Size of the device in the lab, the default of what is in memory; `None` if it is unknown.
        size: Option<Bytes>,
    },
}

/// Size and extents of an image in the filesystem that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageLayout {
    /// Bytes allocated (`st_blocks` × 512).
    pub allocated: Bytes,
    /// Digest over the extents that FIEMAP reports; `None` on filesystems without FIEMAP (tmpfs).
    pub extents: Option<u64>,
    /// Number of extents.
    pub extent_count: Option<u32>,
}

/// Parts of a trial that an agent can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialPart {
    /// All of it.
    #[default]
    Whole,
    /// Up to the first measured step: makes the filesystem, prepares and unmounts.
    Prepare,
    /// From the first measured step on: mounts what another agent has prepared.
    Measure,
    /// The filesystem alone, not mounted.
    Make,
    /// All of it but the filesystem, which another agent has made.
    Made,
    /// Mounts what a power cut left, says which files it has, and checks the filesystem.
    Survey,
}

/// One trial for an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRequest {
    /// Version of these messages, see [`crate::FORMAT`].
    pub format: String,
    /// Id of the run, for names of cgroups and of the undo list.
    pub run: String,
    /// Index of the trial.
    pub trial: u32,
    /// Seed of everything random in the trial.
    pub seed: u64,
    /// Part of the trial to run.
    #[serde(default)]
    pub part: TrialPart,
    /// The stack to bring up.
    pub stack: Stack,
    /// The workload to run.
    pub workload: Workload,
    /// Settings that all trials share.
    pub settings: TrialSettings,
    /// Comparable queue settings for stacks that set none of their own.
    pub defaults: QueueDefaults,
    /// The data device.
    pub device: DeviceHandle,
    /// The further devices that the stack's layers join, each like the data device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DeviceHandle>,
    /// The second devices of caches, see [`crate::layers::Layers::fast`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fast: Vec<DeviceHandle>,
    /// The external journal device.
    pub journal: Option<DeviceHandle>,
    /// RAM of the machine, for a memory limit of a quarter.
    pub ram: Option<Bytes>,
    /// Path of the undo list; `None` if nothing outlives the agent (virtual backend).
    pub undo: Option<PathBuf>,
    /// An empty directory for mount points, made by the runner.
    pub work: PathBuf,
    /// Folder with claims, shown plans and undo lists, which programs of the workload do not see;
    /// `None` if there is none (virtual backend).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<PathBuf>,
    /// States of the devices to look at one after the other ([`TrialPart::Survey`]).
    #[serde(default)]
    pub surveys: u32,
    /// True to record the agent's own calls with the data that they write (virtual backend).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record_data: bool,
    /// True to record the calls of the measured commands (virtual backend, lab kernels that record).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// True to begin each step at a whole tick of 10 ms, so that its times do not depend on how long the agent took
    /// before (virtual backend: waiting costs nothing there).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_tick: bool,
}

/// Queue settings made equal across the stacks compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueDefaults {
    /// `queue/nr_requests`.
    pub nr_requests: u32,
    /// `queue/read_ahead_kb`.
    pub read_ahead_kb: u32,
}

impl Default for QueueDefaults {
    /// Values of a SATA disk in current kernels: the number of tags would otherwise differ by scheduler,
    /// and 128 KiB is the kernel's read-ahead for disks (loop devices get 2560 KiB or more).
    fn default() -> Self {
        Self { nr_requests: 128, read_ahead_kb: 128 }
    }
}

/// Progress report of an agent, one JSON object per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMessage {
    /// A step began.
    Step {
        /// Its name.
        name: String,
    },
    /// A file or directory of a survey, the mounted directory first.
    Found(FoundFile),
    /// The database of a survey.
    Database(FoundDatabase),
    /// The trial or a survey is over; the last message is one.
    Record(Box<Record>),
}

/// A file or directory after a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFile {
    /// Absolute path.
    pub path: String,
    /// Size; `None` for a directory.
    pub bytes: Option<u64>,
    /// A hash of each sector of 512 bytes, the last one filled up with zeros; fewer where reading failed.
    pub sectors: Vec<u32>,
}

/// A database after a power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundDatabase {
    /// Rows that it has.
    pub rows: u64,
    /// Damage that its own check finds; `None` for none.
    pub damage: Option<String>,
}
