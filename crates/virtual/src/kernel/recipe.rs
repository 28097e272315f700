//! The ingredients of a lab kernel other than its source: configuration, patches, compiler.

use std::fmt;
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{KernelError, KernelPlan, failed};

#[cfg(test)]
mod tests;

/// Raised when the way of building changes in a way that the rest of the recipe does not show.
const RECIPE_VERSION: &str = "seekwell kernel 2";

/// CPU time of one file: 311 s on two CPUs for the 1,008 files of the reduced set.
const FILE_CPU_MS: u64 = 617;

/// Sets of filesystems in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelSet {
    /// Every filesystem that a lab may name.
    Full,
    /// ext2, ext3, ext4, xfs and btrfs: built faster.
    Reduced,
    /// The full set, and layers between device and filesystem.
    #[serde(alias = "recording")]
    Layers,
}

impl KernelSet {
    /// Returns true if kernels of this set have layers, and charge their work.
    #[must_use]
    pub fn has_layers(self) -> bool {
        self == Self::Layers
    }

    /// Minutes that a build takes on this number of CPUs, at least 1.
    #[must_use]
    pub fn build_minutes(self, cpus: usize) -> u64 {
        let cpu_ms = u64::from(self.expected_files()) * FILE_CPU_MS;
        cpu_ms.div_ceil(60_000 * cpus.max(1) as u64).max(1)
    }

    /// The advice to build a kernel of this set, with its time on this machine.
    #[must_use]
    pub fn build_advice(self) -> String {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let minutes = self.build_minutes(cpus);
        let option = if self == Self::Full { String::new() } else { format!(" --set {self}") };
        format!(
            "build the lab kernel of the set {self}, which takes about {minutes} min here: seekwell kernel \
             build{option}"
        )
    }

    /// Files that a build compiles, as counted with Debian's 6.12.117.
    pub(super) fn expected_files(self) -> u32 {
        match self {
            Self::Full | Self::Layers => 1317,
            Self::Reduced => 1009,
        }
    }
}

impl fmt::Display for KernelSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Full => "full",
            Self::Reduced => "reduced",
            Self::Layers => "layers",
        })
    }
}

const BASE: &str = include_str!("../../../../kernel/config/base.config");
const FULL: &str = include_str!("../../../../kernel/config/full.config");
const REDUCED: &str = include_str!("../../../../kernel/config/reduced.config");
const LAYERS: &str = include_str!("../../../../kernel/config/layers.config");

/// The configuration of a set: options that differ from `allnoconfig`.
pub(super) fn configuration(set: KernelSet) -> String {
    match set {
        KernelSet::Full => format!("{BASE}\n{FULL}"),
        KernelSet::Reduced => format!("{BASE}\n{REDUCED}"),
        KernelSet::Layers => format!("{BASE}\n{FULL}\n{LAYERS}"),
    }
}

/// Own changes to the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! patches {
    ($($name:literal),* $(,)?) => {
        [$(Patch {
            name: $name,
            text: include_str!(concat!("../../../../kernel/patches/", $name)),
        }),*]
    };
}

/// In the order in which they are applied.
const PATCHES: [Patch; 7] = patches![
    "0001-um-entropy-from-a-seed.patch",
    "0002-um-charge-cpu-time.patch",
    "0003-virtio-blk-depth-per-device.patch",
    "0004-um-extended-state-of-any-size.patch",
    "0005-um-leave-the-fp-registers-where-they-are.patch",
    "0006-um-bells-in-shared-memory.patch",
    "0007-virtio-blk-origin-of-requests.patch",
];

/// Changes that the set with layers has.
const LAYER_PATCHES: [Patch; 1] = patches!["0008-um-charge-layer-work.patch"];

/// Changes that follow those of the layers, in every set.
const LAST_PATCHES: [Patch; 1] = patches!["0009-um-record-system-calls.patch"];

/// The changes to the source of a set, in the order in which they are applied.
pub(super) fn patches(set: KernelSet) -> impl Iterator<Item = &'static Patch> {
    let layers: &[Patch] = if set.has_layers() { &LAYER_PATCHES } else { &[] };
    PATCHES.iter().chain(layers).chain(&LAST_PATCHES)
}

/// Compiler of a build, which reads the headers that most files include once; and these headers. Written to the source,
/// and given to `make` by [`COMPILER_ARGUMENT`].
pub(super) const COMPILER: [(&str, &str); 2] = [
    ("seekwell-headers/gcc", include_str!("../../../../kernel/headers/gcc")),
    ("seekwell-headers/common.h", include_str!("../../../../kernel/headers/common.h")),
];

/// Relative to the top folder, in which `make` calls it: a path with a space in it would be two words.
pub(super) const COMPILER_ARGUMENT: &str = "CC=./seekwell-headers/gcc";

/// Environment of every step: no user, host, time or language of this machine.
pub(super) const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"),
    ("KBUILD_BUILD_USER", "seekwell"),
    ("KBUILD_BUILD_HOST", "seekwell"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// Hash of all that decides what a kernel does.
pub(super) fn id(plan: &KernelPlan) -> Result<String, KernelError> {
    let mut parts = Parts::default();
    parts.add(hash(plan.set).as_bytes());
    parts.add(&plan.source.hash()?);
    for tool in ["gcc", "ld"] {
        parts.add(tool_version(tool)?.as_bytes());
    }
    Ok(parts.digits())
}

/// Hash of configuration, patches and compiler.
pub(super) fn hash(set: KernelSet) -> String {
    let mut parts = Parts::default();
    parts.add(RECIPE_VERSION.as_bytes());
    parts.add(configuration(set).as_bytes());
    for patch in patches(set) {
        parts.add(patch.text.as_bytes());
    }
    for (_, text) in COMPILER {
        parts.add(text.as_bytes());
    }
    parts.digits()
}

/// A hash of parts, none of which can be taken for two.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn digits(self) -> String {
        let digest = self.0.finalize();
        digest.iter().take(ID_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Digits of an id.
const ID_DIGITS: usize = 16;

/// Returns true if a name has the form of an id.
pub(super) fn is_id(name: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    name.len() == ID_DIGITS && name.chars().all(digit)
}

fn tool_version(tool: &str) -> Result<String, KernelError> {
    let output = Command::new(tool).arg("--version").env("LC_ALL", "C").output();
    let output = output.map_err(failed(format!("ask {tool} for its version")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
