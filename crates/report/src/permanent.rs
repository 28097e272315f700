//! Commands that make a stack permanent, and those that undo it, for the user to read and run by hand.
//! Seekwell never runs them.

use crate::next_step::shell_word;
use crate::view::RunView;
use seekwell_model::filesystems::{BLOCK_SIZE, FilesystemDefinition, filesystem};
use seekwell_model::lab::Eligible;
use seekwell_model::layers::{Below, Lasting};
use seekwell_model::record::{DeviceInForce, Record, Status};
use seekwell_model::stack::{
    Backing, DeviceSettings, Export, MemoryLimit, Nfs, Stack, WriteBack, WriteCache,
};
use seekwell_model::units::Bytes;
use seekwell_model::verdict::{DurabilityClass, VerdictKind};
use std::path::Path;

mod applied;

pub use applied::{Applied, applied};

/// Stands for a disk where the run had an image.
const DISK: &str = "/dev/DISK";
/// Stands for the second device of a cache.
const FAST_DISK: &str = "/dev/FAST-DISK";
/// Stands for the journal's disk where the run had an image.
const JOURNAL_DISK: &str = "/dev/JOURNAL-DISK";
const RULES: &str = "/etc/udev/rules.d/60-seekwell.rules";
const SYSCTL_FILE: &str = "/etc/sysctl.d/90-seekwell.conf";
/// Purposes of steps that are written into files or take effect by a command.
const FSTAB: [&str; 3] =
    ["line for /etc/fstab", "lines for /etc/fstab", "line for /etc/fstab of the client"];
const UDEV: &str = "udev rule, in /etc/udev/rules.d/60-seekwell.rules";
const SYSCTL: &str = "lines for /etc/sysctl.d/90-seekwell.conf";
const ACTIVATE: &str = "activate";

/// Purpose of some lines, and the lines.
type Step = (&'static str, Vec<String>);

/// Commands and configuration that make one stack permanent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Permanent {
    pub(crate) stack: String,
    /// Steps in order.
    pub(crate) steps: Vec<Step>,
    /// Remarks that no line can express.
    pub(crate) notes: Vec<String>,
    /// Commands that undo it.
    pub(crate) back: Vec<String>,
}

/// One entry for the winner or each member of the tie.
pub(crate) fn permanent(view: &RunView) -> Vec<Permanent> {
    if view.verdict.kind == VerdictKind::Unresolved {
        return vec![];
    }
    view.verdict.stacks.iter().filter_map(|label| of_label(view, label)).collect()
}

fn of_label(view: &RunView, label: &str) -> Option<Permanent> {
    let well = |(_, record): &(_, &Record)| record.status == Status::Ok;
    let (_, record) = view.of_stack(label).find(well)?;
    if let Some(withheld) = withheld(view, label) {
        return Some(withheld);
    }
    let measured = view.stack(label)?;
    let stated = as_stated(view, measured);
    let mut permanent = of_stack(&stated, record);
    let has_journal = filesystem(&stated.filesystem.kind).is_some_and(|one| one.journal.is_some());
    if let (None, Some(size), true) = (stated.journal.size, measured.journal.size, has_journal) {
        permanent.notes.push(format!(
            "the plan gave its journal {size} so that stacks compare; these lines leave the size to mkfs"
        ));
    }
    Some(permanent)
}

/// The stack with the size of a journal inside that the lab states: the plan gives all of them the same one only so that
/// they can be compared.
fn as_stated(view: &RunView, stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    if stack.journal.external.is_none() {
        let mut of_lab = view.plan.lab.journals.iter();
        let stated = of_lab.find(|journal| journal.name == stack.journal.name);
        stack.journal.size = stated.and_then(|journal| journal.size);
    }
    stack
}

/// A stack that may lose synced data, without lines: they are for labs that ask for it.
fn withheld(view: &RunView, label: &str) -> Option<Permanent> {
    let found = view.verdict.evidence.durability_of(label)?;
    let is_asked_for = view.plan.lab.judge.durability == Eligible::Any;
    if found.class != DurabilityClass::Unsafe || is_asked_for {
        return None;
    }
    let why = found.reasons.last().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let note = format!(
        "It may lose data that a sync returned for{why}, and so may every stack of this lab. Its lines are shown \
         for a lab with [judge] durability = \"any\"."
    );
    Some(Permanent { stack: label.to_owned(), notes: vec![note], ..Permanent::default() })
}

/// A stack with its devices as the lines name them.
struct Names<'a> {
    stack: &'a Stack,
    /// The device of the filesystem; with layers the uppermost.
    device: String,
    journal: Option<String>,
    /// Lines that make the layers, below first.
    layers: Vec<Lasting>,
    /// The option with the size of a filesystem in memory, as the trials had it.
    size: Option<String>,
}

impl<'a> Names<'a> {
    fn of(stack: &'a Stack, record: &Record) -> Self {
        let name = |backing: &Backing, stand_in: &str| match backing {
            Backing::Disk { path } | Backing::Partition { path } => {
                shell_word(&path.to_string_lossy())
            }
            Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => {
                stand_in.to_owned()
            }
        };
        let (layers, top) = layers(stack, record).unwrap_or_default();
        let device = if top.is_empty() { name(&stack.device.backing, DISK) } else { top };
        let options = record.in_force.mount.as_deref().unwrap_or_default().split(',');
        Self {
            stack,
            device,
            layers,
            size: options.map(str::to_owned).find(|option| option.starts_with("size=")),
            journal: stack.journal.external.as_ref().map(|backing| name(backing, JOURNAL_DISK)),
        }
    }
}

/// Lines that make the layers of a stack, and the node of the uppermost.
fn layers(stack: &Stack, record: &Record) -> Option<(Vec<Lasting>, String)> {
    if stack.layers.is_empty() {
        return None;
    }
    let sectors = |position: usize| record.in_force.members.get(position).map(|one| one.size);
    // A disk in memory is as large as the device that it replaces, and is no member.
    let replaced = stack.device.backing.size().unwrap_or(record.in_force.device.size);
    let (first_fast, lowest) = if stack.uses_device() {
        (stack.layers.devices() as usize, None)
    } else {
        (0, Some(replaced))
    };
    let below = |size: Option<Bytes>, node: String| Below {
        node,
        sectors: size.unwrap_or_default().0 / 512,
    };
    let count = stack.layers.devices() as usize;
    let numbered = |name: &str, position: usize, count: usize| match count {
        1 => name.to_owned(),
        _ => format!("{name}-{}", position + 1),
    };
    let device = |at: usize| below(lowest.or(sectors(at)), numbered(DISK, at, count));
    let devices: Vec<Below> = (0..count).map(device).collect();
    let fast = stack.layers.fast().len();
    let cache = |at: usize| below(sectors(first_fast + at), numbered(FAST_DISK, at, fast));
    let fast: Vec<Below> = (0..fast).map(cache).collect();
    seekwell_model::layers::lasting(&stack.layers, &devices, &fast)
}

fn of_stack(stack: &Stack, record: &Record) -> Permanent {
    if let Some(export) = &stack.filesystem.export {
        return of_export(stack, export);
    }
    let names = Names::of(stack, record);
    let mut permanent = Permanent { stack: stack.label.clone(), ..Permanent::default() };
    for layer in &names.layers {
        permanent.steps.extend(layer.steps.clone());
    }
    if let Some(definition) = filesystem(&stack.filesystem.kind).filter(|found| !found.is_raw()) {
        let mkfs = mkfs_lines(&names, definition);
        if definition.is_never_made() {
            permanent.notes.push("its files are in memory: a restart loses them".to_owned());
        } else if definition.own.is_some() {
            let line = mkfs.join("; ");
            permanent
                .notes
                .push(format!("Linux has no program that formats it; that of FreeBSD is: {line}"));
        } else {
            permanent.steps.push(("format (destroys what is on it)", mkfs));
        }
        permanent.steps.extend(mount_steps(&names, definition));
        permanent.back.push(
            if stack.uses_device() {
                "remove the line from /etc/fstab; restore earlier data of the disk from a backup"
            } else {
                "remove the line from /etc/fstab"
            }
            .to_owned(),
        );
    }
    // Layers go from above to below, after the filesystem.
    let of_layers = names.layers.iter().rev().flat_map(|layer| layer.back.clone());
    permanent.back.extend(of_layers);
    if !stack.memory.vm.is_empty() {
        let line = |(name, value): (&String, &String)| format!("vm.{name} = {value}");
        let lines = stack.memory.vm.iter().map(line).collect();
        permanent.steps.push((SYSCTL, lines));
        permanent.steps.push((ACTIVATE, vec![format!("sysctl -p {SYSCTL_FILE}")]));
        permanent.back.push(format!("rm {SYSCTL_FILE}, then restart"));
    }
    let rules = udev_steps(&names, record);
    if !rules.is_empty() {
        permanent.steps.extend(rules);
        permanent.back.push(format!(
            "rm {RULES}, then restart: the kernel then chooses scheduler and queue settings as before"
        ));
    }
    permanent.notes.extend(notes(stack));
    permanent
}

/// The command lines that format the stack: what its author asked for, and the options that the
/// filesystem or its journal needs. Those that only make trials comparable are left out: the tool's
/// defaults are better for a disk in use.
fn mkfs_lines(names: &Names<'_>, definition: &FilesystemDefinition) -> Vec<String> {
    let stack = names.stack;
    let journal = definition.journal.as_ref();
    let placed = journal.filter(|_| names.journal.is_some());
    let words = |template: &[&str]| fill(template, names);
    let mut lines = Vec::new();
    let prepare = placed.map(|journal| without(journal.prepare, definition.no_discard));
    if let Some((program, arguments)) = prepare.as_deref().and_then(<[_]>::split_first) {
        lines.push([vec![(*program).to_owned()], words(unforced(arguments))].concat().join(" "));
    }
    let Some((program, arguments)) = definition.mkfs.split_first() else { return lines };
    let mut line = vec![(*program).to_owned()];
    line.extend(words(unforced(arguments)));
    // A journal device that was prepared with a block size fits no other one.
    let has_block = prepare.is_some_and(|prepare| prepare.contains(&"{block}"));
    let block = definition.comparable.windows(2).find(|pair| has_block && pair[1] == "{block}");
    line.extend(block.map_or_else(Vec::new, words));
    // mke2fs discards anyway.
    let is_default = definition.discard.iter().any(|word| definition.merged.contains(word));
    if stack.filesystem.discard && !is_default {
        line.extend(words(definition.discard));
    }
    if let Some(journal) = placed {
        line.extend(words(journal.external_mkfs));
    } else if let Some(journal) = journal.filter(|_| stack.journal.size.is_some()) {
        line.extend(words(journal.internal_mkfs));
    }
    line.extend(stack.filesystem.mkfs.iter().map(|word| shell_word(word)));
    line.extend(words(definition.target));
    lines.push(line.join(" "));
    lines
}

/// The arguments without the flags in front that overwrite a filesystem unasked.
fn unforced<'a, 'b>(arguments: &'b [&'a str]) -> &'b [&'a str] {
    let is_unasked = |word: &&str| matches!(*word, "-q" | "-F" | "-f" | "-ff");
    let from = arguments.iter().position(|word| !is_unasked(word)).unwrap_or(arguments.len());
    &arguments[from..]
}

/// The words without the first run of these.
fn without<'a>(words: &[&'a str], removed: &[&str]) -> Vec<&'a str> {
    let at = words.windows(removed.len().max(1)).position(|some| some == removed);
    let is_kept = |index: usize| at.is_none_or(|at| index < at || index >= at + removed.len());
    words.iter().enumerate().filter(|(index, _)| is_kept(*index)).map(|(_, word)| *word).collect()
}

/// A template with the user's devices. Without a journal size of the lab's, what would set one is left
/// out, with the option before it.
fn fill(template: &[&str], names: &Names<'_>) -> Vec<String> {
    let size = names.stack.journal.size;
    let sets_size =
        |part: &&str| part.contains("{journal_mib}") || part.contains("{journal_blocks}");
    let mut words: Vec<String> = Vec::new();
    for template in template {
        let parts: Vec<&str> =
            template.split(',').filter(|part| size.is_some() || !sets_size(part)).collect();
        if parts.is_empty() {
            words.pop_if(|word| word.starts_with('-'));
            continue;
        }
        let size = size.unwrap_or_default().0;
        let word = parts.join(",").replace("{dev}", &names.device);
        let word = word.replace("{journal}", names.journal.as_deref().unwrap_or(JOURNAL_DISK));
        let word = word.replace("{journal_mib}", &(size >> 20).to_string());
        let word = word.replace("{journal_blocks}", &(size / BLOCK_SIZE.0).to_string());
        words.push(word.replace("{block}", &BLOCK_SIZE.0.to_string()));
    }
    words
}

/// Mount options: of the definition, of the journal, of the lab.
fn mount_options(names: &Names<'_>, definition: &FilesystemDefinition) -> Vec<String> {
    let stack = names.stack;
    let mut options: Vec<String> =
        definition.mount.iter().map(|option| (*option).to_owned()).collect();
    options.extend(names.size.iter().filter(|_| definition.is_in_memory).cloned());
    // `nodiscard` makes trials comparable; the kernel's default is for a disk in use.
    let discard = definition.discard_mount.filter(|_| stack.filesystem.discard);
    options.extend(discard.map(str::to_owned));
    if let (Some(journal), Some(name)) = (definition.journal, &names.journal) {
        options
            .extend(journal.external_mount.iter().map(|option| option.replace("{journal}", name)));
    }
    options.extend(stack.journal.data.map(|mode| format!("data={}", mode.as_str())));
    options.extend(stack.filesystem.mount.iter().cloned());
    if stack.filesystem.overlay.is_some_and(|overlay| overlay.upper.is_some()) {
        options.push("ro".to_owned());
    }
    options
}

/// Placeholder of the mount point.
const MOUNT_POINT: &str = "/MOUNT-POINT";
/// Placeholder of the mount point of the filesystem below an overlay.
const LOWER: &str = "/MOUNT-POINT.lower";
/// Placeholder of the mount point of the overlay's upper layer in memory.
const UPPER: &str = "/MOUNT-POINT.upper";

/// The lines that mount the stack: in fstab, and below an overlay also those that make its upper
/// layer, which is empty after every boot.
fn mount_steps(names: &Names<'_>, definition: &FilesystemDefinition) -> Vec<Step> {
    let filesystem = &names.stack.filesystem;
    let Some(overlay) = &filesystem.overlay else {
        let line = fstab_line(names, definition, MOUNT_POINT);
        return match &filesystem.nfs {
            None => vec![(FSTAB[0], vec![line])],
            Some(nfs) => export_lines(nfs, line),
        };
    };
    let Some(size) = overlay.upper else { return mount_within(names, definition) };
    let memory = format!("tmpfs {UPPER} tmpfs size={},mode=0755 0 0", size.0);
    let layers = format!("lowerdir={LOWER},upperdir={UPPER}/upper,workdir={UPPER}/work");
    vec![
        (FSTAB[1], vec![fstab_line(names, definition, LOWER), memory]),
        (
            "after every boot",
            vec![
                format!("mkdir {UPPER}/upper {UPPER}/work"),
                format!(
                    "mount -t overlay overlay -o {layers},redirect_dir=off,metacopy=off,index=off \
                     {MOUNT_POINT}"
                ),
            ],
        ),
    ]
}

/// The line that mounts a directory of another machine.
fn of_export(stack: &Stack, export: &Export) -> Permanent {
    let options = nfs_options(&export.version, export.rsize, export.wsize);
    let options = [&[options], stack.filesystem.mount.as_slice()].concat().join(",");
    let mut permanent = Permanent { stack: stack.label.clone(), ..Permanent::default() };
    let line = format!("{} {MOUNT_POINT} nfs {options} 0 0", export.from);
    permanent.steps.push((FSTAB[0], vec![line]));
    permanent.back.push("remove the line from /etc/fstab".to_owned());
    permanent.notes.push(
        "a directory below the claimed one was measured: mount another one of the server for your files"
            .to_owned(),
    );
    permanent
}

/// The options that mount an export.
fn nfs_options(version: &str, rsize: Option<Bytes>, wsize: Option<Bytes>) -> String {
    let sizes = [("rsize", rsize), ("wsize", wsize)];
    let sizes = sizes.iter().filter_map(|(name, size)| Some(format!(",{name}={}", (*size)?.0)));
    format!("hard,vers={version}{}", sizes.collect::<String>())
}

/// The lines of server and client.
fn export_lines(nfs: &Nfs, server: String) -> Vec<Step> {
    let commit = if nfs.is_async { "async" } else { "sync" };
    let options = nfs_options(&nfs.version, nfs.rsize, nfs.wsize);
    vec![
        ("line for /etc/fstab of the server", vec![server]),
        (
            "line for /etc/exports of the server, then exportfs -ra",
            vec![format!("{MOUNT_POINT} CLIENT(rw,{commit},no_subtree_check,no_root_squash)")],
        ),
        (FSTAB[2], vec![format!("SERVER:{MOUNT_POINT} {MOUNT_POINT} nfs {options} 0 0")]),
    ]
}

/// The lines of an overlay whose layers are folders of the filesystem.
fn mount_within(names: &Names<'_>, definition: &FilesystemDefinition) -> Vec<Step> {
    let layers = format!("lowerdir={LOWER}/lower,upperdir={LOWER}/upper,workdir={LOWER}/work");
    let overlay = format!(
        "overlay {MOUNT_POINT} overlay {layers},redirect_dir=off,metacopy=off,index=off 0 0"
    );
    vec![
        (FSTAB[1], vec![fstab_line(names, definition, LOWER), overlay]),
        (
            "once, after the filesystem is mounted and before the overlay",
            vec![format!("mkdir {LOWER}/lower {LOWER}/upper {LOWER}/work")],
        ),
    ]
}

/// Fields of fstab(5): blanks and backslashes inside a field are written in octal.
fn fstab_line(names: &Names<'_>, definition: &FilesystemDefinition, mount_point: &str) -> String {
    let field = |text: &str| {
        text.replace('\\', "\\134")
            .replace(' ', "\\040")
            .replace('\t', "\\011")
            .replace('\n', "\\012")
    };
    let options = mount_options(names, definition).join(",");
    let options = if options.is_empty() { "defaults".to_owned() } else { field(&options) };
    let kind = definition.kernel_type.unwrap_or("auto");
    // Only filesystems of the ext family are checked at boot by their own fsck.
    let pass = if kind.starts_with("ext") { 2 } else { 0 };
    let source = if definition.is_in_memory { kind } else { &names.device };
    format!("{} {mount_point} {kind} {options} 0 {pass}", field(source))
}

fn udev_steps(names: &Names<'_>, record: &Record) -> Vec<Step> {
    let stack = names.stack;
    // The settings are those of the devices below the layers, which are alike.
    let in_force = &record.in_force;
    let disk = in_force.members.first().unwrap_or(&in_force.device);
    let data = stack.uses_device().then(|| udev_rule(stack, disk, false));
    let device = if names.layers.is_empty() { names.device.as_str() } else { DISK };
    let mut disks: Vec<String> = data.iter().map(|_| whole_disk(Path::new(device))).collect();
    let mut rules: Vec<String> = data.into_iter().collect();
    if let Some(journal) = &record.in_force.journal {
        rules.push(udev_rule(stack, journal, true));
        let journal = names.journal.as_deref().unwrap_or(JOURNAL_DISK);
        disks.push(whole_disk(Path::new(journal)));
    }
    if rules.is_empty() {
        return Vec::new();
    }
    let trigger = format!("udevadm trigger --action=change {}", disks.join(" "));
    vec![(UDEV, rules), (ACTIVATE, vec!["udevadm control --reload".to_owned(), trigger])]
}

/// The stable path of the whole disk, of a partition's or its own: queue settings are the disk's.
fn whole_disk(path: &Path) -> String {
    let text = path.display().to_string();
    match text.rsplit_once("-part") {
        Some((disk, number)) if number.chars().all(|c| c.is_ascii_digit()) => disk.to_owned(),
        _ => text,
    }
}

/// One rule that sets what was in force. The scheduler comes first: a switch resets the rest.
fn udev_rule(stack: &Stack, device: &DeviceInForce, journal: bool) -> String {
    let backing =
        if journal { stack.journal.external.as_ref() } else { Some(&stack.device.backing) };
    let which = match backing {
        Some(Backing::Disk { path } | Backing::Partition { path }) => {
            // The links of a disk are there by then: the rules that make them sort before ours.
            let link = whole_disk(path);
            format!("SYMLINK==\"{}\"", udev_value(link.trim_start_matches("/dev/")))
        }
        _ => format!("KERNEL==\"{}\"", if journal { "JOURNAL-DISK" } else { "DISK" }),
    };
    let mut parts = vec![
        "ACTION==\"add|change\"".to_owned(),
        "SUBSYSTEM==\"block\"".to_owned(),
        "ENV{DEVTYPE}==\"disk\"".to_owned(),
        which,
    ];
    let queue = &device.queue;
    let scheduler = queue.scheduler.clone().unwrap_or_else(|| stack.scheduler.kind.clone());
    let mut set = |name: &str, value: &str| {
        parts.push(format!("ATTR{{queue/{}}}=\"{}\"", udev_value(name), udev_value(value)));
    };
    set("scheduler", &scheduler);
    if let Some(value) = queue.nr_requests {
        set("nr_requests", &value.to_string());
    }
    for (name, value) in &stack.scheduler.tunables {
        set(&format!("iosched/{name}"), value);
    }
    let settings = &stack.device.settings;
    if !journal {
        set_limits(settings, &mut set);
    }
    // Last: each of the limits above resets it.
    if let Some(value) = queue.read_ahead_kb {
        set("read_ahead_kb", &value.to_string());
    }
    parts.join(", ")
}

/// Limits of the data device that the lab set.
fn set_limits(settings: &DeviceSettings, set: &mut impl FnMut(&str, &str)) {
    if let Some(kib) = settings.max_sectors_kb {
        set("max_sectors_kb", &kib.to_string());
    }
    if let Some(rotational) = settings.rotational {
        set("rotational", if rotational { "1" } else { "0" });
    }
    match settings.write_cache {
        Some(WriteCache::WriteBack) => set("write_cache", "write back"),
        Some(WriteCache::WriteThrough) => set("write_cache", "write through"),
        None => {}
    }
}

/// A value inside the quotes of a rule: what would end it or be expanded is doubled or left out.
fn udev_value(text: &str) -> String {
    let safe = |c: &char| !c.is_control() && *c != '"' && *c != '\\';
    text.chars().filter(safe).collect::<String>().replace('$', "$$").replace('%', "%%")
}

fn notes(stack: &Stack) -> Vec<String> {
    let mut notes = Vec::new();
    let image =
        |backing: &Backing| !matches!(backing, Backing::Disk { .. } | Backing::Partition { .. });
    let mut stand_ins = Vec::new();
    if stack.uses_device() && image(&stack.device.backing) {
        stand_ins.push(if stack.layers.devices() > 1 { "each DISK" } else { "DISK" });
    }
    if !stack.layers.fast().is_empty() {
        stand_ins.push("FAST-DISK");
    }
    if stack.journal.external.as_ref().is_some_and(image) {
        stand_ins.push("JOURNAL-DISK");
    }
    if !stand_ins.is_empty() {
        notes.push(format!(
            "replace {} with your own disk, best as a path in /dev/disk/by-id; in the udev rule \
             use its kernel name, such as sdb",
            stand_ins.join(" and ")
        ));
    }
    if let MemoryLimit::Limit(limit) = stack.memory.limit {
        notes.push(format!(
            "the trials had {limit} of memory, page cache included; the winner may be another with a different amount"
        ));
    }
    let lost = stack.layers.power_cut();
    notes.extend(lost.into_iter().map(|text| format!("{}: {text}", stack.layers.name)));
    if let Some(overlay) = &stack.filesystem.overlay
        && let Some(upper) = overlay.upper
    {
        notes.push(overlay_note(overlay.write_back, upper));
    }
    if let Some(nfs) = &stack.filesystem.nfs {
        notes.push(format!(
            "the trials had a link of {} Mbit/s with {} of delay in each direction, and an idle server; no_root_squash gives root of the client all rights",
            nfs.rate_mbit, nfs.delay
        ));
    }
    let settings = &stack.device.settings;
    if let Some(level) = settings.apm {
        notes.push(format!("the trials had hdparm -B {level}; set it in /etc/hdparm.conf"));
    }
    if !settings.hdparm.is_empty() {
        notes.push(format!(
            "the trials had hdparm {}; set it in /etc/hdparm.conf",
            settings.hdparm.join(" ")
        ));
    }
    notes
}

/// The part that the lines leave to the user: filling the lower layer and saving the upper one.
fn overlay_note(write_back: WriteBack, upper: Bytes) -> String {
    let lost = match write_back {
        WriteBack::Never => "writes are lost at every shutdown, as in the trials",
        WriteBack::End => {
            "copy the upper layer to the filesystem below at shutdown, as the trials did at their \
             end; a power cut loses what was not copied"
        }
    };
    format!(
        "fill the filesystem below before it is mounted read-only; writes go to {upper} of memory: \
         {lost}"
    )
}

#[cfg(test)]
mod tests;
