//! The stack: one storage configuration, and the values of the axes it is made of.

pub use crate::backing::Backing;
use crate::filesystems::filesystem;
use crate::layers::Layers;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Volatile write cache of a device as the kernel presents it (`queue/write_cache`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// `write back`.
    WriteBack,
    /// `write through`.
    WriteThrough,
}

/// Settings of a device; `None` means the comparable default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSettings {
    /// `queue/write_cache`.
    pub write_cache: Option<WriteCache>,
    /// `queue/read_ahead_kb`.
    pub read_ahead_kb: Option<u32>,
    /// `queue/max_sectors_kb`.
    pub max_sectors_kb: Option<u32>,
    /// `queue/nr_requests`.
    pub nr_requests: Option<u32>,
    /// `queue/rotational`.
    pub rotational: Option<bool>,
    /// Advanced power management level (`hdparm -B`), 1 to 255.
    pub apm: Option<u8>,
    /// Further hdparm arguments, for example `-M128`.
    pub hdparm: Vec<String>,
}

/// One value of the device axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name; variants of one device are `NAME[setting=value]`.
    pub name: String,
    /// Its origin. Variants of one device share one image.
    pub backing: Backing,
    /// Name of the device that this is a variant of, or its own.
    pub base: String,
    /// Its settings.
    pub settings: DeviceSettings,
    /// Price in whole units of the user's currency, shown with the verdict; `None` if it was not given.
    #[serde(default)]
    pub price: Option<u32>,
}

/// Journalling mode of ext3 and ext4 (`data=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataMode {
    /// Data goes through the journal.
    Journal,
    /// Data is written before the metadata that names it is committed.
    Ordered,
    /// No order between data and metadata.
    Writeback,
}

impl DataMode {
    /// As in the mount option `data=`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Ordered => "ordered",
            Self::Writeback => "writeback",
        }
    }
}

/// One value of the journal axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Name, unique in the lab.
    pub name: String,
    /// `None`: inside the filesystem.
    pub external: Option<Backing>,
    /// Size; `None` is the comparable default of the run.
    pub size: Option<Bytes>,
    /// `data=` mode; `None` is the filesystem's own default.
    pub data: Option<DataMode>,
}

impl Journal {
    /// The journal inside the filesystem, at its default size and mode.
    #[must_use]
    pub fn internal() -> Self {
        Self { name: "internal".to_owned(), external: None, size: None, data: None }
    }
}

/// Ways in which the upper layer of an overlay reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteBack {
    /// At the end of the steps, inside `elapsed_durable` of the last writing step.
    End,
    /// Never: what was written is lost with the trial.
    Never,
}

/// A writable layer above a filesystem: in RAM above a read-only one, or a folder of the filesystem
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Size of the tmpfs that holds the upper layer; `None` if a folder of the filesystem holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Bytes>,
    /// Way in which the upper layer reaches the device.
    pub write_back: WriteBack,
}

/// NFS between the workload and the filesystem: a server that the trial starts exports it to a client
/// over a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nfs {
    /// Version of the protocol, for example `4.2`.
    pub version: String,
    /// True if the server answers before its disk has the data.
    pub is_async: bool,
    /// Largest read; `None` is what client and server agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsize: Option<Bytes>,
    /// Largest write; `None` is what client and server agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wsize: Option<Bytes>,
    /// Delay of the link in each direction.
    pub delay: Nanos,
    /// Rate of the link in each direction, in millions of bits per second.
    pub rate_mbit: u64,
}

/// A directory that an existing NFS server exports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Server and path, for example `nas:/srv/bench`.
    pub from: String,
    /// Version of the protocol, for example `4.2`.
    pub version: String,
    /// Largest read; `None` is what client and server agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsize: Option<Bytes>,
    /// Largest write; `None` is what client and server agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wsize: Option<Bytes>,
}

impl Export {
    /// The server and the path of a text such as `nas:/srv/bench` or `[fd00::1]:/srv`; `None` if it is
    /// not one.
    #[must_use]
    pub fn server_and_path(from: &str) -> Option<(&str, &str)> {
        let (server, path) = match from.strip_prefix('[') {
            Some(rest) => rest.split_once("]:")?,
            None => from.split_once(':')?,
        };
        let is_plain = |text: &str| !text.contains(|c: char| c.is_whitespace() || c.is_control());
        let is_server = !server.is_empty() && !server.contains('/') && is_plain(server);
        let is_path =
            path.starts_with('/') && is_plain(path) && !path.split('/').any(|one| one == "..");
        (is_server && is_path).then_some((server, path))
    }
}

/// One value of the filesystem axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Name, unique in the lab; by default the type with its options.
    pub name: String,
    /// Name of its definition in [`crate::filesystems`].
    pub kind: String,
    /// Further arguments for mkfs, after the comparable defaults.
    pub mkfs: Vec<String>,
    /// Mount options, after the comparable defaults.
    pub mount: Vec<String>,
    /// Lets mkfs and mount discard; off unless discard is the question.
    pub discard: bool,
    /// A writable layer above it.
    pub overlay: Option<Overlay>,
    /// NFS above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<Nfs>,
    /// The directory of a server that it is, if it is not on the stack's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<Export>,
}

/// One value of the scheduler axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduler {
    /// Name, unique in the lab; by default the scheduler's own.
    pub name: String,
    /// As the kernel calls it: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub kind: String,
    /// `queue/nr_requests`; `None` is the comparable default.
    pub nr_requests: Option<u32>,
    /// `queue/read_ahead_kb`; `None` is the comparable default.
    pub read_ahead_kb: Option<u32>,
    /// `queue/iosched/*` by file name.
    pub tunables: BTreeMap<String, String>,
}

impl Scheduler {
    /// A scheduler as the kernel has it, with nothing tuned.
    #[must_use]
    pub fn plain(kind: &str) -> Self {
        Self {
            name: kind.to_owned(),
            kind: kind.to_owned(),
            nr_requests: None,
            read_ahead_kb: None,
            tunables: BTreeMap::new(),
        }
    }
}

/// Memory that agent and workload may use, page cache included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryLimit {
    /// A quarter of the machine's RAM.
    Quarter,
    /// No limit.
    Unlimited,
    /// So many bytes.
    Limit(Bytes),
}

/// Settings of the kernel's memory that a lab may set, below `/proc/sys/vm`. Those in bytes are left out: each replaces
/// its ratio.
pub const VM_SETTINGS: [&str; 7] = [
    "dirty_background_ratio", "dirty_expire_centisecs", "dirty_ratio", "dirty_writeback_centisecs",
    "laptop_mode", "swappiness", "vfs_cache_pressure",
];

/// One value of the memory axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Name, unique in the lab.
    pub name: String,
    /// The limit.
    pub limit: MemoryLimit,
    /// Those of [`VM_SETTINGS`] that are set, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vm: BTreeMap<String, String>,
}

impl Memory {
    /// The default: a quarter of the machine's RAM.
    #[must_use]
    pub fn quarter() -> Self {
        Self::plain("quarter", MemoryLimit::Quarter)
    }

    /// A limit with nothing else set.
    #[must_use]
    pub fn plain(name: &str, limit: MemoryLimit) -> Self {
        Self { name: name.to_owned(), limit, vm: BTreeMap::new() }
    }
}

/// One storage configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Unique and readable: the names on the axes that have more than one value, joined by `/`.
    pub label: String,
    /// Block device.
    pub device: Device,
    /// Layers between the device and the filesystem.
    #[serde(default, skip_serializing_if = "Layers::is_default")]
    pub layers: Layers,
    /// Journal placement.
    pub journal: Journal,
    /// Filesystem.
    pub filesystem: Filesystem,
    /// I/O scheduler of the data device, and of the journal device.
    pub scheduler: Scheduler,
    /// Memory limit.
    pub memory: Memory,
}

/// Function that returns the name of a stack's value on one axis.
pub type ValueName = fn(&Stack) -> &str;

/// The axes of a plan, in the order in which labels name them.
pub const AXES: [(&str, ValueName); 6] = [
    ("device", |stack| &stack.device.name),
    ("layer", |stack| &stack.layers.name),
    ("journal", |stack| &stack.journal.name),
    ("filesystem", |stack| &stack.filesystem.name),
    ("scheduler", |stack| &stack.scheduler.name),
    ("memory", |stack| &stack.memory.name),
];

impl Stack {
    /// Returns true if a trial writes to the stack's device. A filesystem in memory or on another
    /// machine does not, and a disk in memory takes its place.
    #[must_use]
    pub fn uses_device(&self) -> bool {
        self.is_on_devices() && !self.layers.is_in_memory()
    }

    /// Returns true if the filesystem is on block devices, below layers or not.
    #[must_use]
    pub fn is_on_devices(&self) -> bool {
        let definition = filesystem(&self.filesystem.kind);
        definition.is_none_or(|one| !one.is_in_memory && !one.is_remote)
    }

    /// The devices that a trial writes to, each kind once: the data device, the second devices of
    /// caches, the external journal.
    pub fn written(&self) -> impl Iterator<Item = &Backing> {
        let device = self.uses_device().then_some(&self.device.backing);
        let others = self
            .is_on_devices()
            .then(|| self.layers.fast().into_iter().chain(&self.journal.external));
        device.into_iter().chain(others.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests;
