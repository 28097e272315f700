//! Reasons why a combination cannot run, in words and with a fix.

use super::{Axes, Combination, journals, layers};
use crate::build::coherence::runs_on_raw;
use seekwell_model::filesystems::{FilesystemDefinition, NFS_PROGRAMS, NFS_SERVER, filesystem};
use seekwell_model::plan::BackendFacts;
use seekwell_model::stack::{Backing, Journal};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, WorkloadParams, workload_kind};

/// Reasons for leaving out a pair of stack and workload; indices on the axes that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// By an `[[exclude]]`.
    Excluded(usize),
    /// The backend cannot make or mount the filesystem.
    Filesystem(usize),
    /// The backend does not offer the scheduler.
    Scheduler(usize),
    /// The backend cannot make the layers.
    Layer(usize),
    /// The layers cannot be on the device: layer, device.
    Joined(usize, usize),
    /// The filesystem cannot have this journal: journal, filesystem.
    Journal(usize, usize),
    /// The journal does not fit into the device: device, layer, journal, filesystem.
    JournalSize(usize, usize, usize, usize),
    /// The device is too small for the filesystem: device, filesystem.
    Device(usize, usize),
    /// The filesystem cannot be made there with its options: device, layer, filesystem.
    Made(usize, usize, usize),
    /// The workload starts a program that the machine lacks.
    Program(usize),
    /// The workload needs a filesystem: workload, filesystem.
    Raw(usize, usize),
    /// The workload's operations are no whole sectors: workload, device.
    Sector(usize, usize),
    /// The workload's data does not fit: workload, device.
    DataSet(usize, usize),
    /// The journal makes no difference to the filesystem: journal, filesystem.
    SameStack(usize, usize),
    /// By another `[[stack]]`.
    NamedTwice(usize),
}

impl Reason {
    /// Returns true if the machine lacks something, and another machine could run the stack.
    pub(super) fn is_lack(self) -> bool {
        matches!(self, Self::Filesystem(_) | Self::Scheduler(_) | Self::Program(_) | Self::Layer(_))
    }
}

/// Reason and fix.
pub(super) type Why = Option<(String, String)>;

/// Combinations that are impossible on a backend, worked out once.
pub(super) struct Rules<'a> {
    pub(super) axes: &'a Axes<'a>,
    facts: &'a BackendFacts,
    pub(super) filesystems: Vec<Why>,
    pub(super) schedulers: Vec<Why>,
    pub(super) layers: Vec<Why>,
    /// By journal, then filesystem.
    pub(super) journals: Vec<Vec<Why>>,
    /// Journal size that is equal in all stacks of a filesystem, where the lab states none.
    pub(super) common: Vec<Option<Bytes>>,
    /// By workload: the program that the machine lacks.
    pub(super) programs: Vec<Why>,
    needs_filesystem: Vec<bool>,
    data_sets: Vec<Bytes>,
    /// Bytes that a filesystem gets, by device, then layer; `None` where they are not known.
    usable: Vec<Vec<Option<Bytes>>>,
    /// Largest sector that divides all direct operations of a workload.
    alignment: Vec<u64>,
    pub(super) first_internal: Option<usize>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(axes: &'a Axes<'a>, facts: &'a BackendFacts) -> Self {
        let lab = axes.lab;
        let kinds = 0..lab.filesystems.len();
        let common = |index: usize| {
            journals::definition(axes, index)
                .map(|journal| journals::common_size(axes, &journal, facts))
        };
        let journal_reasons = |journal: &Journal| {
            kinds.clone().map(|index| journal_refused(axes, facts, journal, index)).collect()
        };
        Self {
            axes,
            facts,
            filesystems: kinds.clone().map(|index| not_here(axes, facts, index)).collect(),
            schedulers: axes.schedulers.iter().map(|one| not_offered(&one.kind, facts)).collect(),
            layers: lab.layers.iter().map(|one| layers::not_here(one, facts)).collect(),
            journals: lab.journals.iter().map(journal_reasons).collect(),
            common: kinds.clone().map(common).collect(),
            programs: lab.workloads.iter().map(|one| program_missing(one, facts)).collect(),
            needs_filesystem: lab.workloads.iter().map(|one| !runs_on_raw(one)).collect(),
            data_sets: lab.workloads.iter().map(crate::build::coherence::data_set).collect(),
            usable: layers::usable(axes, facts),
            alignment: lab.workloads.iter().map(alignment).collect(),
            first_internal: lab.journals.iter().position(|journal| journal.external.is_none()),
        }
    }

    pub(super) fn definition(&self, index: usize) -> Option<&'static FilesystemDefinition> {
        filesystem(&self.axes.lab.filesystems[index].kind)
    }

    /// The journal as the stack has it.
    pub(super) fn journal(&self, at: &Combination) -> Journal {
        journals::resolved(self.axes, at, self.common[at.filesystem], self.facts)
    }

    /// The first journal that makes the same stack: a filesystem without a journal does not care
    /// about its size or mode.
    pub(super) fn same_journal(&self, at: &Combination) -> usize {
        let has_journal = self.definition(at.filesystem).is_some_and(|one| one.journal.is_some());
        let internal = self.axes.lab.journals[at.journal].external.is_none();
        if has_journal || !internal {
            at.journal
        } else {
            self.first_internal.unwrap_or(at.journal)
        }
    }

    /// Returns the reason why the pair cannot run; `None` if it can.
    pub(super) fn impossible(&self, at: &Combination) -> Option<Reason> {
        let Combination { device, layer, journal, filesystem, scheduler, workload, .. } = *at;
        if self.filesystems[filesystem].is_some() {
            return Some(Reason::Filesystem(filesystem));
        }
        if self.schedulers[scheduler].is_some() {
            return Some(Reason::Scheduler(scheduler));
        }
        if self.layers[layer].is_some() {
            return Some(Reason::Layer(layer));
        }
        if self.joined(layer, device).is_some() {
            return Some(Reason::Joined(layer, device));
        }
        if self.journals[journal][filesystem].is_some() {
            return Some(Reason::Journal(journal, filesystem));
        }
        if self.programs[workload].is_some() {
            return Some(Reason::Program(workload));
        }
        let raw = self.definition(filesystem).is_some_and(FilesystemDefinition::is_raw);
        if raw && self.needs_filesystem[workload] {
            return Some(Reason::Raw(workload, filesystem));
        }
        let usable = self.usable[device][layer];
        if self.too_small(usable, filesystem) {
            return Some(Reason::Device(device, filesystem));
        }
        if self.not_made(device, layer, filesystem).is_some() {
            return Some(Reason::Made(device, layer, filesystem));
        }
        if self.journal_too_large(at) {
            return Some(Reason::JournalSize(device, layer, journal, filesystem));
        }
        if self.alignment[workload] < self.sector(device) {
            return Some(Reason::Sector(workload, device));
        }
        if usable.is_some_and(|size| self.data_sets[workload] > size) {
            return Some(Reason::DataSet(workload, device));
        }
        None
    }

    pub(super) fn joined(&self, layer: usize, device: usize) -> Why {
        layers::not_on(&self.axes.lab.layers[layer], &self.axes.lab.devices[device])
    }

    fn too_small(&self, usable: Option<Bytes>, filesystem: usize) -> bool {
        let minimum = self.definition(filesystem).map_or(Bytes(0), |one| one.minimum);
        usable.is_some_and(|size| size < minimum)
    }

    /// Returns why a filesystem that no program makes cannot be written there.
    pub(super) fn not_made(&self, device: usize, layer: usize, filesystem: usize) -> Why {
        let definition = self.definition(filesystem)?;
        let own = definition.own?;
        let sector = Bytes(self.sector(device));
        if sector > own.largest_sector() {
            let largest = own.largest_sector();
            let why = format!("Linux mounts it on sectors of {largest}, and these have {sector}");
            return Some((why, format!("use a device with sectors of {largest}")));
        }
        let mkfs = &self.axes.lab.filesystems[filesystem].mkfs;
        let why = own.check(self.usable[device][layer], mkfs).err()?;
        Some((why, "change its `mkfs`, or the size of the device".to_owned()))
    }

    /// Returns true if an internal journal is larger than mkfs takes on this device.
    fn journal_too_large(&self, at: &Combination) -> bool {
        if self.axes.lab.journals[at.journal].external.is_some() {
            return false;
        }
        let size = self.axes.lab.journals[at.journal].size.or(self.common[at.filesystem]);
        let largest = self.largest_journal(at.device, at.layer, at.filesystem);
        matches!((size, largest), (Some(size), Some(largest)) if size > largest)
    }

    pub(super) fn largest_journal(
        &self,
        device: usize,
        layer: usize,
        filesystem: usize,
    ) -> Option<Bytes> {
        let definition = journals::definition(self.axes, filesystem)?;
        let device = self.usable[device][layer]?;
        Some(Bytes(device.0 / definition.internal_divisor.max(1)))
    }

    /// Logical sector of a device, where the lab states it.
    pub(super) fn sector(&self, device: usize) -> u64 {
        match self.axes.lab.devices[device].backing {
            Backing::Loop { sector, .. } | Backing::Ram { sector, .. } => sector.0,
            _ => 512,
        }
    }
}

/// Largest power of two up to 4096 that divides the size of every direct operation.
fn alignment(workload: &seekwell_model::lab::Workload) -> u64 {
    let direct = |params: &WorkloadParams| match params {
        WorkloadParams::Io(io) if io.cache == CacheState::Direct => Some(io.size.0),
        _ => None,
    };
    let sizes = workload.parts.iter().chain(&workload.beside).filter_map(direct);
    sizes.fold(4096, |least, size| least.min(1_u64 << size.trailing_zeros().min(12)))
}

/// Returns why the backend cannot make, mount or check the filesystem.
fn not_here(axes: &Axes<'_>, facts: &BackendFacts, index: usize) -> Why {
    let definition = filesystem(&axes.lab.filesystems[index].kind)?;
    let kernel_type = definition.kernel_type?;
    // Unknown facts refuse nothing.
    if facts.kernel_filesystems.is_empty() {
        return None;
    }
    if !facts.kernel_filesystems.iter().any(|name| name == kernel_type) {
        if let Some(kernel) = facts.lab_kernel.as_ref().filter(|_| !definition.is_remote) {
            let why = format!("the lab kernel of the set {} has no {kernel_type}", kernel.set);
            return Some((why, kernel.build_full.clone()));
        }
        let why = format!("this kernel does not mount {kernel_type}");
        let place = if definition.is_remote { " on the host (--place host)" } else { "" };
        let remedy = format!(
            "use a kernel with {}{place}, or take it out of the lab",
            definition.kernel_config
        );
        return Some((why, remedy));
    }
    if facts.read_only_filesystems.iter().any(|name| name == kernel_type) {
        let why = format!("this kernel reads {kernel_type} and does not write it");
        let remedy =
            format!("use a kernel with {}, or take it out of the lab", definition.kernel_config);
        return Some((why, remedy));
    }
    if axes.lab.filesystems[index].nfs.is_some() {
        if !facts.kernel_filesystems.iter().any(|name| name == NFS_SERVER) {
            if let Some(kernel) = &facts.lab_kernel {
                let why = format!("the lab kernel of the set {} has no NFS server", kernel.set);
                return Some((why, kernel.build_layers.clone()));
            }
            let why = match facts.nfs_lacks.as_slice() {
                [] => "no NFS server is started here".to_owned(),
                lacks => format!("this kernel has no {}", lacks.join(" and no ")),
            };
            let remedy = "choose --place virtual with a lab kernel that has it: seekwell kernel build --set layers";
            return Some((why, remedy.to_owned()));
        }
        if let Some(missing) = NFS_PROGRAMS.iter().find(|one| !has_program(facts, one.name)) {
            return not_installed(missing.name, missing.package);
        }
    }
    let check = if axes.lab.trial.fsck { definition.fsck.first().copied() } else { None };
    let needed = definition.maker().into_iter().chain(check);
    let missing = needed.into_iter().find(|program| !has_program(facts, program))?;
    not_installed(missing, definition.package)
}

/// A program that the workload starts and that the machine lacks.
fn program_missing(workload: &seekwell_model::lab::Workload, facts: &BackendFacts) -> Why {
    // Unknown facts refuse nothing.
    if facts.kernel_filesystems.is_empty() {
        return None;
    }
    let kinds = workload.parts.iter().chain(&workload.beside);
    let mut needed = kinds.filter_map(|part| workload_kind(part.kind_name()));
    let missing = needed
        .find_map(|kind| kind.programs.iter().find(|program| !has_program(facts, program.name)))?;
    not_installed(missing.name, missing.package)
}

pub(super) fn not_installed(program: &str, package: &str) -> Why {
    let why = format!("{program} is not installed");
    Some((why, format!("install it: apt-get install {package}")))
}

pub(super) fn has_program(facts: &BackendFacts, program: &str) -> bool {
    facts.programs.iter().any(|known| known == program)
}

/// Returns why the backend does not offer the scheduler.
fn not_offered(kind: &str, facts: &BackendFacts) -> Why {
    if facts.schedulers.is_empty() || facts.schedulers.iter().any(|known| known == kind) {
        return None;
    }
    let remedy = match kind {
        "bfq" => "load it with modprobe bfq, or use a kernel with CONFIG_IOSCHED_BFQ",
        "kyber" => {
            "load it with modprobe kyber-iosched, or use a kernel with CONFIG_MQ_IOSCHED_KYBER"
        }
        "mq-deadline" => {
            "load it with modprobe mq-deadline, or use a kernel with CONFIG_MQ_IOSCHED_DEADLINE"
        }
        _ => "use a kernel that has it",
    };
    let why = format!("this kernel offers {}", facts.schedulers.join(", "));
    Some((why, remedy.to_owned()))
}

/// Returns why the filesystem cannot have this journal.
fn journal_refused(axes: &Axes<'_>, facts: &BackendFacts, journal: &Journal, index: usize) -> Why {
    let definition = filesystem(&axes.lab.filesystems[index].kind)?;
    let name = definition.name;
    let because = |why: String, remedy: &str| Some((why, remedy.to_owned()));
    let Some(placement) = definition.journal else {
        return match journal.external {
            None => None,
            Some(_) => because(format!("{name} has no journal that could be outside"), ""),
        };
    };
    if journal.data.is_some() && !placement.data_modes {
        return because(format!("{name} has no `data=` modes"), "add a [[journal]] without `data`");
    }
    if let Some(backing) = &journal.external {
        if placement.external_mkfs.is_empty() {
            return because(format!("{name} cannot place its journal outside"), "");
        }
        let known = !facts.kernel_filesystems.is_empty();
        let missing = placement.prepare.first().filter(|one| known && !has_program(facts, one));
        if let Some(program) = missing {
            return not_installed(program, definition.package);
        }
        let device = journals::size_of(backing, facts);
        let common = journals::common_size(axes, &placement, facts);
        let needed = journal.size.unwrap_or(common).max(placement.minimum);
        let stated = journal.size.filter(|_| placement.fills_device);
        if let (Some(device), Some(size)) = (device, stated.filter(|size| Some(*size) < device)) {
            let why =
                format!("{name} fills the journal's device of {device}, and this says {size}");
            return because(why, "leave the size of the journal out");
        }
        if let Some(device) = device.filter(|device| *device < needed) {
            let why = format!("the journal needs {needed}, and its device has {device}");
            return because(why, "make the journal's device larger");
        }
    }
    match journal.size {
        Some(size) if size < placement.minimum => {
            let why =
                format!("{name} takes no journal below {}, and this has {size}", placement.minimum);
            because(why, "make the journal larger")
        }
        _ => None,
    }
}
