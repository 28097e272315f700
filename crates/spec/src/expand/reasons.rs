//! Why a combination cannot be run, in words with the mend.

use super::{Axes, Combination, journals, runs_on_raw};
use seekwell_model::filesystems::{FilesystemDefinition, filesystem};
use seekwell_model::plan::PlaceFacts;
use seekwell_model::stack::{Backing, Journal};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, WorkloadParams};

/// Why a pair of stack and workload is left out; indices on the axes that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// By an `[[exclude]]`.
    Excluded(usize),
    /// The place cannot make or mount the filesystem.
    Filesystem(usize),
    /// The place does not offer the scheduler.
    Scheduler(usize),
    /// The filesystem cannot have this journal: journal, filesystem.
    Journal(usize, usize),
    /// The journal does not fit into the device: device, journal, filesystem.
    JournalSize(usize, usize, usize),
    /// The device is too small for the filesystem: device, filesystem.
    Device(usize, usize),
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

/// A reason in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// The names on the axes that matter.
    pub(super) what: String,
    pub(super) why: String,
    /// Empty where there is nothing to do.
    pub(super) remedy: String,
}

type Why = Option<(String, String)>;

/// What is impossible on a place, worked out once.
pub(super) struct Rules<'a> {
    axes: &'a Axes<'a>,
    filesystems: Vec<Why>,
    schedulers: Vec<Why>,
    /// By journal, then filesystem.
    journals: Vec<Vec<Why>>,
    /// Journal size that is equal in all stacks of a filesystem, where the lab states none.
    common: Vec<Option<Bytes>>,
    needs_filesystem: Vec<bool>,
    data_sets: Vec<Bytes>,
    device_sizes: Vec<Option<Bytes>>,
    /// Largest sector that divides all direct operations of a workload.
    alignment: Vec<u64>,
    first_internal: Option<usize>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(axes: &'a Axes<'a>, facts: &'a PlaceFacts) -> Self {
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
            filesystems: kinds.clone().map(|index| not_here(axes, facts, index)).collect(),
            schedulers: axes.schedulers.iter().map(|one| not_offered(&one.kind, facts)).collect(),
            journals: lab.journals.iter().map(journal_reasons).collect(),
            common: kinds.clone().map(common).collect(),
            needs_filesystem: lab.workloads.iter().map(|one| !runs_on_raw(one)).collect(),
            data_sets: lab.workloads.iter().map(crate::build::coherence::data_set).collect(),
            device_sizes: lab
                .devices
                .iter()
                .map(|one| journals::size_of(&one.backing, facts))
                .collect(),
            alignment: lab.workloads.iter().map(alignment).collect(),
            first_internal: lab.journals.iter().position(|journal| journal.external.is_none()),
        }
    }

    fn definition(&self, index: usize) -> Option<&'static FilesystemDefinition> {
        filesystem(&self.axes.lab.filesystems[index].kind)
    }

    /// The journal as the stack has it.
    pub(super) fn journal(&self, at: &Combination) -> Journal {
        journals::resolved(self.axes, at, self.common[at.filesystem])
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

    /// Why the pair cannot be run; `None` when it can.
    pub(super) fn impossible(&self, at: &Combination) -> Option<Reason> {
        let Combination { device, journal, filesystem, scheduler, workload, .. } = *at;
        if self.filesystems[filesystem].is_some() {
            return Some(Reason::Filesystem(filesystem));
        }
        if self.schedulers[scheduler].is_some() {
            return Some(Reason::Scheduler(scheduler));
        }
        if self.journals[journal][filesystem].is_some() {
            return Some(Reason::Journal(journal, filesystem));
        }
        let raw = self.definition(filesystem).is_some_and(FilesystemDefinition::is_raw);
        if raw && self.needs_filesystem[workload] {
            return Some(Reason::Raw(workload, filesystem));
        }
        if self.too_small(device, filesystem) {
            return Some(Reason::Device(device, filesystem));
        }
        if self.journal_too_large(at) {
            return Some(Reason::JournalSize(device, journal, filesystem));
        }
        if self.alignment[workload] < self.sector(device) {
            return Some(Reason::Sector(workload, device));
        }
        if self.device_sizes[device].is_some_and(|size| self.data_sets[workload] > size) {
            return Some(Reason::DataSet(workload, device));
        }
        None
    }

    fn too_small(&self, device: usize, filesystem: usize) -> bool {
        let minimum = self.definition(filesystem).map_or(Bytes(0), |one| one.minimum);
        self.device_sizes[device].is_some_and(|size| size < minimum)
    }

    /// Whether an internal journal leaves no room for the filesystem around it.
    fn journal_too_large(&self, at: &Combination) -> bool {
        if self.axes.lab.journals[at.journal].external.is_some() {
            return false;
        }
        let Some(definition) = journals::definition(self.axes, at.filesystem) else { return false };
        let stated = self.axes.lab.journals[at.journal].size.or(self.common[at.filesystem]);
        let size =
            if definition.internal_mkfs.is_empty() { Some(definition.default) } else { stated };
        let half = self.device_sizes[at.device].map(|size| Bytes(size.0 / 2));
        matches!((size, half), (Some(size), Some(half)) if size > half)
    }

    /// Logical sector of a device, where the lab states it.
    fn sector(&self, device: usize) -> u64 {
        match self.axes.lab.devices[device].backing {
            Backing::Loop { sector, .. } | Backing::Ram { sector, .. } => sector.0,
            _ => 512,
        }
    }

    /// A reason in words.
    pub(super) fn text(&self, reason: Reason) -> Text {
        let lab = self.axes.lab;
        let device = |index: usize| format!("device \"{}\"", lab.devices[index].name);
        let journal = |index: usize| format!("journal \"{}\"", lab.journals[index].name);
        let kind = |index: usize| format!("filesystem \"{}\"", lab.filesystems[index].name);
        let workload = |index: usize| format!("workload \"{}\"", lab.workloads[index].name);
        let plain =
            |what: String, why: String, remedy: &str| Text { what, why, remedy: remedy.to_owned() };
        let known = |what: String, why: &Why| {
            let (why, remedy) = why.clone().unwrap_or_default();
            Text { what, why, remedy }
        };
        match reason {
            Reason::Excluded(index) => {
                plain(self.excluded_names(index), "the lab excludes it".to_owned(), "")
            }
            Reason::Filesystem(index) => known(kind(index), &self.filesystems[index]),
            Reason::Scheduler(index) => {
                let what = format!("scheduler \"{}\"", self.axes.schedulers[index].name);
                known(what, &self.schedulers[index])
            }
            Reason::Journal(j, f) => {
                known(format!("{} with {}", kind(f), journal(j)), &self.journals[j][f])
            }
            Reason::JournalSize(d, j, f) => plain(
                format!("{} with {} on {}", kind(f), journal(j), device(d)),
                "the journal would take more than half of the device".to_owned(),
                "make the device larger or the journal smaller",
            ),
            Reason::Device(d, f) => {
                let minimum = self.definition(f).map_or(Bytes(0), |one| one.minimum);
                let why = format!("the filesystem needs a device of at least {minimum}");
                plain(format!("{} on {}", kind(f), device(d)), why, "use a larger device")
            }
            Reason::Raw(w, f) => plain(
                format!("{} on {}", workload(w), kind(f)),
                "it works on files, and a raw device has none".to_owned(),
                "",
            ),
            Reason::Sector(w, d) => plain(
                format!("{} on {}", workload(w), device(d)),
                format!("its direct operations are no whole sectors of {} bytes", self.sector(d)),
                "make `size` a multiple of the sector",
            ),
            Reason::DataSet(w, d) => plain(
                format!("{} on {}", workload(w), device(d)),
                "its data does not fit on the device".to_owned(),
                "use a larger device or less data",
            ),
            Reason::SameStack(j, f) => {
                let first = self.first_internal.unwrap_or(j);
                plain(
                    format!("{} with {}", kind(f), journal(j)),
                    format!(
                        "the same as with {}: the filesystem has no journal to set",
                        journal(first)
                    ),
                    "",
                )
            }
            Reason::NamedTwice(index) => plain(
                self.match_names(&lab.stacks[index]),
                "another [[stack]] names it too".to_owned(),
                "",
            ),
        }
    }

    fn excluded_names(&self, index: usize) -> String {
        self.match_names(&self.axes.lab.exclusions[index])
    }

    fn match_names(&self, wanted: &seekwell_model::lab::Match) -> String {
        let axes = [
            ("device", &wanted.device),
            ("journal", &wanted.journal),
            ("filesystem", &wanted.filesystem),
            ("scheduler", &wanted.scheduler),
            ("memory limit", &wanted.memory),
            ("workload", &wanted.workload),
        ];
        let named =
            axes.iter().filter_map(|(axis, name)| Some(format!("{axis} \"{}\"", name.as_ref()?)));
        named.collect::<Vec<_>>().join(" with ")
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

/// Why the place cannot make, mount or check the filesystem.
fn not_here(axes: &Axes<'_>, facts: &PlaceFacts, index: usize) -> Why {
    let definition = filesystem(&axes.lab.filesystems[index].kind)?;
    let kernel_type = definition.kernel_type?;
    // Facts that nobody gathered refuse nothing.
    if facts.kernel_filesystems.is_empty() {
        return None;
    }
    if !facts.kernel_filesystems.iter().any(|name| name == kernel_type) {
        let why = format!("this kernel does not mount {kernel_type}");
        let remedy =
            format!("use a kernel with {}, or take it out of the lab", definition.kernel_config);
        return Some((why, remedy));
    }
    let check = if axes.lab.trial.fsck { definition.fsck.first() } else { None };
    let needed = definition.mkfs.first().into_iter().chain(check);
    let missing = needed.into_iter().find(|program| !has_program(facts, program))?;
    let why = format!("{missing} is not installed");
    Some((why, format!("install it: apt-get install {}", definition.package)))
}

fn has_program(facts: &PlaceFacts, program: &str) -> bool {
    facts.programs.iter().any(|known| known == program)
}

/// Why the place does not offer the scheduler.
fn not_offered(kind: &str, facts: &PlaceFacts) -> Why {
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

/// Why the filesystem cannot have this journal.
fn journal_refused(axes: &Axes<'_>, facts: &PlaceFacts, journal: &Journal, index: usize) -> Why {
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
            let remedy = format!("install it: apt-get install {}", definition.package);
            return Some((format!("{program} is not installed"), remedy));
        }
        let device = journals::size_of(backing, facts);
        let common = journals::common_size(axes, &placement, facts);
        let needed = journal.size.unwrap_or(common).max(placement.minimum);
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
        Some(size)
            if journal.external.is_none()
                && placement.internal_mkfs.is_empty()
                && size != placement.default =>
        {
            let why =
                format!("{name} has an internal journal of {} and no other", placement.default);
            because(why, "leave the size of the journal out")
        }
        _ => None,
    }
}
