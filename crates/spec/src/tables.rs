//! The tables of a lab: their fields, limits and meanings.

use crate::definition::{Entry, Form, TableDefinition};
use seekwell_model::field::FieldKind::{
    self, Bool, Choice, Duration, Integer, Number, Text, TextList, TextTable,
};
use seekwell_model::field::{Field, integer, size};
use seekwell_model::filesystems::FILESYSTEMS;
use seekwell_model::layers::{LAYER_NAMES, MOST_LAYER_DEVICES, layer_kind};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{WORKLOAD_KINDS, workload_kind};

/// Names of the catalogue of filesystems.
pub const FILESYSTEM_NAMES: &[&str] = &{
    let mut names = [""; FILESYSTEMS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = FILESYSTEMS[index].name;
        index += 1;
    }
    names
};

/// Names of the catalogue of workload kinds.
pub const WORKLOAD_NAMES: &[&str] = &{
    let mut names = [""; WORKLOAD_KINDS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = WORKLOAD_KINDS[index].name;
        index += 1;
    }
    names
};

/// Schedulers that a lab can name; a lab that names none gets all that the kernel offers.
pub const SCHEDULERS: &[&str] = &["none", "mq-deadline", "kyber", "bfq", "adios"];

/// Fewest rounds: below six paired rounds even a stack that is ahead in every one of them can be
/// so by chance more often than 1 in 20.
pub const MIN_ROUNDS: u64 = 6;

/// An entry whose meaning is written with it; kinds and forms by their short names.
macro_rules! entry {
    ($name:literal: $kind:expr, $(default $default:literal,)? $(form $form:ident,)? $doc:literal) => {
        Entry::new($name, $kind, $doc)$(.default($default))?$(.form(Form::$form))?
    };
    ($name:literal: $kind:expr, required, $(form $form:ident,)? $doc:literal) => {
        Entry::new($name, $kind, $doc).required()$(.form(Form::$form))?
    };
}

const IMAGE_SIZE: FieldKind = size(Bytes::mib(1), Bytes(1 << 50));

const SECTOR: Entry = entry!("sector": size(Bytes(512), Bytes(4096)), default "512",
    "Logical sector size: 512 or 4096.");

const LOOP: TableDefinition = TableDefinition {
    header: "loop",
    doc: "A loop device with direct I/O on an image that is written in full once, nameless, and gone after the run. `loop = \"1GiB\"` is short for `loop = { size = \"1GiB\" }`.",
    entries: &[
        entry!("size": IMAGE_SIZE, required, "Size of the image."),
        entry!("directory": Text,
            "Absolute path of the directory for the image, on the storage that is to be measured. Without it the run's scratch directory."),
        SECTOR,
    ],
    by_kind: None,
};

const RAM: TableDefinition = TableDefinition {
    header: "ram",
    doc: "A loop device with direct I/O on an image in tmpfs: the upper bound of what software allows. `ram = \"1GiB\"` is short for `ram = { size = \"1GiB\" }`.",
    entries: &[entry!("size": IMAGE_SIZE, required, "Size of the image."), SECTOR],
    by_kind: None,
};

const STABLE_PATH_WHY: &str =
    "kernel names such as /dev/sdb change from boot to boot, and a trial formats what it names";

const DISK: TableDefinition = TableDefinition {
    header: "disk",
    doc: "A whole disk. It must have been claimed with `seekwell claim`; every trial formats it. `disk = \"/dev/disk/by-id/…\"` is short for `disk = { path = \"…\" }`.",
    entries: &[entry!("path": Text, required,
        "Stable path below `/dev/disk/by-id` or `/dev/disk/by-path`.")
    .why(STABLE_PATH_WHY)],
    by_kind: None,
};

const PARTITION: TableDefinition = TableDefinition {
    header: "partition",
    doc: "A partition. It must have been claimed with `seekwell claim`; every trial formats it. `partition = \"/dev/disk/by-partuuid/…\"` is short for `partition = { path = \"…\" }`.",
    entries: &[entry!("path": Text, required,
        "Stable path below `/dev/disk/by-id`, `by-path`, `by-partuuid` or `by-partlabel`.")
    .why(STABLE_PATH_WHY)],
    by_kind: None,
};

const MODEL: TableDefinition = TableDefinition {
    header: "model",
    doc: "A modelled device of the virtual backend. `model = \"maxtor-6y080l0\"` is short for `model = { name = \"maxtor-6y080l0\" }`.",
    entries: &[
        entry!("name": Text, required,
            "Name of a device model, see `seekwell device list`, or the path of a device file such as `mine.toml`, relative to the lab."),
        entry!("size": IMAGE_SIZE, "Size, when it is not to be the model's own."),
        entry!("start": IMAGE_SIZE,
            "With `size`: offset of a partition of that size. Without it the partition is at the beginning, where cards are fastest."),
    ],
    by_kind: None,
};

const LOOP_ENTRY: Entry =
    Entry::new("loop", IMAGE_SIZE, LOOP.doc).form(Form::TableOr(&LOOP, "size"));
const RAM_ENTRY: Entry = Entry::new("ram", IMAGE_SIZE, RAM.doc).form(Form::TableOr(&RAM, "size"));
const DISK_ENTRY: Entry =
    Entry::new("disk", Text, DISK.doc).form(Form::TableOr(&DISK, "path")).why(STABLE_PATH_WHY);
const PARTITION_ENTRY: Entry = Entry::new("partition", Text, PARTITION.doc)
    .form(Form::TableOr(&PARTITION, "path"))
    .why(STABLE_PATH_WHY);
const MODEL_ENTRY: Entry = Entry::new("model", Text, MODEL.doc).form(Form::TableOr(&MODEL, "name"));

/// The possible origins of a device or a journal.
pub(crate) const BACKINGS: [&str; 5] = ["loop", "ram", "disk", "partition", "model"];

const NR_REQUESTS_WHY: &str = "the kernel takes no queue shorter than 4 requests";

const SETTINGS: TableDefinition = TableDefinition {
    header: "[device.settings]",
    doc: "Settings of the device: set before each trial, read back, restored at the end. What is left out is made equal across the stacks. A list makes one variant of the device per value, named `NAME[setting=value]`.",
    entries: &[
        entry!("write_cache": Choice(&["write-back", "write-through"]), form Variants,
            "`queue/write_cache`: whether the kernel flushes the device's volatile cache."),
        entry!("read_ahead_kb": integer(0, 1 << 20), form Variants, "`queue/read_ahead_kb`."),
        entry!("max_sectors_kb": integer(4, 1 << 16), form Variants,
            "`queue/max_sectors_kb`: the largest request."),
        entry!("nr_requests": integer(4, 1 << 16), form Variants,
            "`queue/nr_requests`; a scheduler's own `nr_requests` goes before it.")
        .why(NR_REQUESTS_WHY),
        entry!("rotational": Bool, form Variants, "`queue/rotational`."),
        entry!("apm": integer(1, 255), form Variants,
            "Advanced power management level (`hdparm -B`) of a disk."),
        entry!("hdparm": TextList,
            "Further hdparm settings of a disk, for example `[\"-M128\"]`. Only settings that can be read back and restored: -A -a -B -M -Q -S -W, with their value."),
    ],
    by_kind: None,
};

/// `[lab]`.
pub const LAB: TableDefinition = TableDefinition {
    header: "[lab]",
    doc: "What the lab is called and what it asks.",
    entries: &[
        entry!("name": Text,
            "Short name; also the default name of the run file. Without it the name of the lab's file."),
        entry!("question": Text, "The question in your words; it heads the report."),
        entry!("seed": integer(0, i64::MAX as u64),
            "All randomness of a run (order, file contents, offsets) derives from this. Without it each run draws one and keeps it; on the virtual backend it is 1."),
        entry!("stacks_only": Bool, default "false",
            "Run only the stacks named by `[[stack]]`, not the product of the axes."),
    ],
    by_kind: None,
};

/// `[[device]]`.
pub const DEVICE: TableDefinition = TableDefinition {
    header: "[[device]]",
    doc: "Axis: block devices. Each is made from exactly one of `loop`, `ram`, `disk`, `partition` and `model`. A lab without this table runs on a loop device of 1 GiB named `scratch`.",
    entries: &[
        entry!("name": Text,
            "Name, unique among devices. Without it what the device is made from."),
        LOOP_ENTRY,
        RAM_ENTRY,
        DISK_ENTRY,
        PARTITION_ENTRY,
        MODEL_ENTRY,
        entry!("price": integer(1, u32::MAX as u64),
            "What the device costs, in whole units of your currency: the report shows it with the stacks and compares devices by it. `--price` gives it too."),
        Entry::table("settings", Form::Table(&SETTINGS), SETTINGS.doc),
    ],
    by_kind: None,
};

/// `[[journal]]`.
pub const JOURNAL: TableDefinition = TableDefinition {
    header: "[[journal]]",
    doc: "Axis: journal placements. Without a device, or without this table, the journal is inside the filesystem. Filesystems that cannot place it outside are left out and listed.",
    entries: &[
        entry!("name": Text,
            "Name, unique among journals. Without it `internal` or what the journal's device is made from."),
        LOOP_ENTRY,
        RAM_ENTRY,
        DISK_ENTRY,
        PARTITION_ENTRY,
        MODEL_ENTRY,
        entry!("size": size(Bytes::mib(1), Bytes::gib(32)),
            "Size of the journal, whole MiB. Without it the same size in every stack of a filesystem."),
        entry!("data": Choice(&["journal", "ordered", "writeback"]),
            "`data=` mode of ext3, ext4 and reiserfs. Without it the filesystem's own default."),
    ],
    by_kind: None,
};

fn layer_fields(kind: &str) -> Option<&'static [Field]> {
    layer_kind(kind).map(|kind| kind.definition().fields)
}

const LAYER_KIND_ENTRY: Entry = entry!("kind": Choice(LAYER_NAMES), required,
    "Which layer; each kind has parameters of its own, see the catalogue below.");

const LAYER_DEVICES_ENTRY: Entry = entry!("devices": integer(1, MOST_LAYER_DEVICES as u64),
    "Devices that it joins, each like the stack's device with the layers below. Without it the kind's usual number.");

const FAST: TableDefinition = TableDefinition {
    header: "fast",
    doc: "The second device of a cache, or the write journal of RAID 5 and 6: made from one of `loop`, `ram`, `disk`, `partition` and `model`, as a device is.",
    entries: &[LOOP_ENTRY, RAM_ENTRY, DISK_ENTRY, PARTITION_ENTRY, MODEL_ENTRY],
    by_kind: None,
};

const LAYER_THEN: TableDefinition = TableDefinition {
    header: "[[layer.then]]",
    doc: "A further layer above the ones before it.",
    entries: &[
        LAYER_KIND_ENTRY,
        LAYER_DEVICES_ENTRY,
        Entry::table("fast", Form::Table(&FAST), FAST.doc),
    ],
    by_kind: Some(layer_fields),
};

/// `[[layer]]`.
pub const LAYER: TableDefinition = TableDefinition {
    header: "[[layer]]",
    doc: "Axis: layers between device and filesystem, such as RAID, LUKS or a cache. A lab without this table has none. Scheduler and device settings apply below the layers.",
    entries: &[
        LAYER_KIND_ENTRY,
        entry!("name": Text,
            "Name, unique among layers. Without it the kinds from below to above."),
        LAYER_DEVICES_ENTRY,
        Entry::table("fast", Form::Table(&FAST), FAST.doc),
        Entry::table("then", Form::Tables(&LAYER_THEN), LAYER_THEN.doc),
    ],
    by_kind: Some(layer_fields),
};

const OVERLAY: TableDefinition = TableDefinition {
    header: "overlay",
    doc: "A writable layer above the filesystem (overlayfs): in RAM, to spare a card, or in a folder of it, as containers have it. `overlay = \"256MiB\"` is short for `overlay = { upper = \"256MiB\" }`.",
    entries: &[
        entry!("upper": size(Bytes::mib(1), Bytes(1 << 44)),
            "Size of the tmpfs that holds the upper layer; the filesystem is then mounted read-only. Required unless `upper_on = \"filesystem\"`."),
        entry!("upper_on": Choice(&["memory", "filesystem"]), default "\"memory\"",
            "`filesystem`: the upper layer is a folder of the filesystem itself, above an empty lower one. The files of the workload are made in it, so nothing is copied up."),
        entry!("write_back": Choice(&["end", "never"]), default "\"end\"",
            "`end`: written to the device after the steps, inside `elapsed_durable` of the last writing step. `never`: lost with the trial."),
    ],
    by_kind: None,
};

const NFS_VERSIONS: &[&str] = &["3", "4.0", "4.1", "4.2"];

/// Sizes of transfers of an NFS client.
const READ_SIZE: Entry = entry!("rsize": size(Bytes::kib(4), Bytes::mib(1)),
    "Largest read. Without it client and server agree on one.");
const WRITE_SIZE: Entry = entry!("wsize": size(Bytes::kib(4), Bytes::mib(1)),
    "Largest write. Without it client and server agree on one.");

const NFS: TableDefinition = TableDefinition {
    header: "nfs",
    doc: "The filesystem is exported by an NFS server that the trial starts, over a link with a delay and a rate. In virtual time NFS and TCP take no CPU time but their system calls. A cold step starts with empty caches on both sides. Locks of version 3 are local (`nolock`). On the host all is in a network namespace of the trial, which has no other network. `nfs = \"4.2\"` is short for `nfs = { version = \"4.2\" }`.",
    entries: &[
        entry!("version": Choice(NFS_VERSIONS), default "\"4.2\"", "Version of the protocol."),
        entry!("export": Choice(&["sync", "async"]), default "\"sync\"",
            "`async`: the server says that data is stored before its disk has it."),
        READ_SIZE,
        WRITE_SIZE,
        entry!("delay": Duration, default "\"100us\"",
            "Delay of the link in each direction; a round trip takes twice as long."),
        entry!("rate_mbit": Integer { min: 1, max: 400_000 }, default "1000",
            "Rate of the link in each direction, in Mbit/s."),
    ],
    by_kind: None,
};

const EXPORT: TableDefinition = TableDefinition {
    header: "export",
    doc: "The directory of an NFS server that `type = \"nfs\"` mounts. Host only. Claim it first (`seekwell claim SERVER:/PATH`). A trial works in a new directory inside it and removes that. The server's disk and promises (`sync` or `async`) are not known. Locks of version 3 are local (`nolock`). `export = \"SERVER:/PATH\"` is short for `export = { from = \"SERVER:/PATH\" }`.",
    entries: &[
        entry!("from": Text, required, "Server and path, as mount takes them: `nas:/srv/bench`."),
        entry!("version": Choice(NFS_VERSIONS), default "\"4.2\"", "Version of the protocol."),
        READ_SIZE,
        WRITE_SIZE,
    ],
    by_kind: None,
};

/// `[[filesystem]]`.
pub const FILESYSTEM: TableDefinition = TableDefinition {
    header: "[[filesystem]]",
    doc: "Axis: filesystems with their mkfs and mount options. A lab without this table runs on ext4.",
    entries: &[
        entry!("type": Choice(FILESYSTEM_NAMES), required,
            "Which filesystem; see the catalogue below."),
        entry!("name": Text,
            "Name, unique among filesystems. Without it the type with its options."),
        entry!("mkfs": TextList,
            "Further arguments of mkfs, after those that make stacks comparable; one list element per argument."),
        entry!("mount": TextList, "Mount options, after those that make stacks comparable."),
        entry!("discard": Bool, default "false", "Whether mkfs and mount may discard."),
        Entry::new("overlay", size(Bytes::mib(1), Bytes(1 << 44)), OVERLAY.doc)
            .form(Form::TableOr(&OVERLAY, "upper")),
        Entry::new("nfs", Choice(NFS_VERSIONS), NFS.doc).form(Form::TableOr(&NFS, "version")),
        Entry::new("export", Text, EXPORT.doc).form(Form::TableOr(&EXPORT, "from")),
    ],
    by_kind: None,
};

const SCHEDULER_KIND: FieldKind = Choice(SCHEDULERS);

/// `[scheduler]`.
pub const SCHEDULER_CHOICE: TableDefinition = TableDefinition {
    header: "[scheduler]",
    doc: "Axis: I/O schedulers as the kernel has them. A lab without `[scheduler]` and `[[scheduler]]` runs every scheduler that the kernel offers.",
    entries: &[entry!("choose": SCHEDULER_KIND, required, form Each, "Which schedulers.")],
    by_kind: None,
};

/// `[[scheduler]]`.
pub const SCHEDULER: TableDefinition = TableDefinition {
    header: "[[scheduler]]",
    doc: "Axis: I/O schedulers with their settings, instead of `[scheduler]`. Set in every trial, scheduler first, read back, restored at the end.",
    entries: &[
        entry!("kind": SCHEDULER_KIND, required, "As the kernel calls it."),
        entry!("name": Text,
            "Name, unique among schedulers. Without it the kind with its settings."),
        entry!("nr_requests": integer(4, 1 << 16),
            "`queue/nr_requests`. Without it the same in every stack.")
        .why(NR_REQUESTS_WHY),
        entry!("read_ahead_kb": integer(0, 1 << 20),
            "`queue/read_ahead_kb`. Without it the same in every stack."),
        entry!("tunables": TextTable,
            "Files of `queue/iosched/` by name, for example `{ low_latency = \"0\" }`."),
    ],
    by_kind: None,
};

const LIMIT_DOC: &str = "`\"quarter\"` of the machine's RAM, `\"unlimited\"`, or a size such as `\"512MiB\"`: what agent and workload may use, page cache included.";

/// `[memory]`.
pub const MEMORY_CHOICE: TableDefinition = TableDefinition {
    header: "[memory]",
    doc: "Axis: memory limits. A lab without `[memory]` and `[[memory]]` runs with a quarter of the machine's RAM.",
    entries: &[Entry::new("choose", Text, LIMIT_DOC).form(Form::Each).required()],
    by_kind: None,
};

/// `[[memory]]`.
pub const MEMORY: TableDefinition = TableDefinition {
    header: "[[memory]]",
    doc: "Axis: memory limits with names, instead of `[memory]`.",
    entries: &[
        Entry::new("limit", Text, LIMIT_DOC).required(),
        entry!("name": Text,
            "Name, unique among memory limits. Without it the limit with its settings."),
        entry!("vm": TextTable,
            "Files of `/proc/sys/vm/` by name: `dirty_ratio`, `dirty_background_ratio`, `dirty_expire_centisecs`, `dirty_writeback_centisecs`, `swappiness`, `vfs_cache_pressure`, `laptop_mode`; for example `{ dirty_ratio = \"40\" }`. Set in every trial, for the whole machine on the host, and restored at its end."),
    ],
    by_kind: None,
};

fn workload_fields(kind: &str) -> Option<&'static [Field]> {
    workload_kind(kind).map(|kind| kind.fields)
}

const WORKLOAD_KIND_ENTRY: Entry = entry!("kind": Choice(WORKLOAD_NAMES), required,
    "Which workload; each kind has parameters of its own, see the catalogue below.");

const THEN: TableDefinition = TableDefinition {
    header: "[[workload.then]]",
    doc: "A further part that runs after the ones before it, in the same trial on the same filesystem.",
    entries: &[WORKLOAD_KIND_ENTRY],
    by_kind: Some(workload_fields),
};

const BESIDE: TableDefinition = TableDefinition {
    header: "[[workload.beside]]",
    doc: "A background workload of the last part, with threads of its own; it runs until that part ends, regardless of its `count` and `time`. Both report metrics. Each measured step runs alone first (`STEP-alone`), then with it, and reports `latency_ratio`.",
    entries: &[WORKLOAD_KIND_ENTRY],
    by_kind: Some(workload_fields),
};

/// `[[workload]]`.
pub const WORKLOAD: TableDefinition = TableDefinition {
    header: "[[workload]]",
    doc: "Axis: workloads. The only table that a lab must have.",
    entries: &[
        WORKLOAD_KIND_ENTRY,
        entry!("name": Text, "Name, unique among workloads. Without it the kinds of its parts."),
        Entry::table("then", Form::Tables(&THEN), THEN.doc),
        Entry::table("beside", Form::Tables(&BESIDE), BESIDE.doc),
    ],
    by_kind: Some(workload_fields),
};

const MATCH_ENTRIES: &[Entry] = &[
    entry!("device": Text, form Variants,
        "Names of devices; the name of a device with lists of settings means all its variants."),
    entry!("layer": Text, form Variants, "Names of layers."),
    entry!("journal": Text, form Variants, "Names of journals."),
    entry!("filesystem": Text, form Variants, "Names of filesystems."),
    entry!("scheduler": Text, form Variants, "Names of schedulers."),
    entry!("memory": Text, form Variants, "Names of memory limits."),
    entry!("workload": Text, form Variants, "Names of workloads."),
];

/// `[[exclude]]`.
pub const EXCLUDE: TableDefinition = TableDefinition {
    header: "[[exclude]]",
    doc: "Combinations that are not wanted: one name or a list of names per axis; an axis left out matches all its values.",
    entries: MATCH_ENTRIES,
    by_kind: None,
};

/// `[[stack]]`.
pub const STACK: TableDefinition = TableDefinition {
    header: "[[stack]]",
    doc: "Combinations demanded by name, besides the product of the axes and in spite of `[[exclude]]`; with `stacks_only = true` instead of the product. An axis left out matches all its values. One that cannot be run is an error.",
    entries: MATCH_ENTRIES,
    by_kind: None,
};

/// `[judge]`.
pub const JUDGE: TableDefinition = TableDefinition {
    header: "[judge]",
    doc: "How the winner is found.",
    entries: &[
        entry!("metric": Text,
            "`STEP.METRIC`, see the steps of the workloads and the metrics below. Without it the first measured step of the first workload that writes, by `elapsed_durable`; where none writes, the first measured step by its rate."),
        entry!("better": Choice(&["lower", "higher"]),
            "Which way the metric is good. Without it what the catalogue of metrics says."),
        entry!("tie": Number { min: 0.0, max: 0.5 }, default "\"2%\"", form Percent,
            "Stacks within this relative distance of each other are a tie."),
        entry!("confidence": Number { min: 0.5, max: 0.999 }, default "0.95",
            "Confidence of the intervals."),
        entry!("method": Choice(&["auto", "rounds", "race"]), default "\"auto\"",
            "`rounds`: complete rounds, each with one trial of every stack. `race`: a pilot of two rounds on a few stacks, a screen that keeps the better half until 8 stacks remain, and a final of fresh rounds among them. `auto` is `race` for more than 8 stacks without `rounds`, else `rounds`. With a `budget` on this kernel up to 12 stacks start in the final at once, and those clearly behind leave it."),
        entry!("rounds": integer(MIN_ROUNDS, 1000),
            "Complete rounds; with `method = \"race\"` the most that its final has. Without `rounds` and `budget` 10 rounds are made, and a race's final has at most 80.")
            .why("fewer than 6 paired rounds can never make a winner: a stack may be ahead in all of them by chance"),
        entry!("budget": Duration,
            "Instead of `rounds`: no new round is started that would not end within this time, except for the screen of a race and the first 6 rounds, which end before a trial that would exceed it by more than 15 %. The run ends sooner when the verdict is clear."),
        entry!("durability": Choice(&["strongest", "any"]), default "\"strongest\"",
            "Stacks that may be picked. `strongest`: those of the strongest durability class in the lab, so that no pick loses data at a power cut which its rivals keep. `any`: all."),
    ],
    by_kind: None,
};

/// `[trial]`.
pub const TRIAL: TableDefinition = TableDefinition {
    header: "[trial]",
    doc: "How trials are run, the same for every stack.",
    entries: &[
        entry!("cpus": integer(0, 8191), form Each,
            "CPUs that agent and workload are pinned to. Without it the backend's default, which is recorded."),
        entry!("block_events": Bool, default "false",
            "Keep the block event stream of every trial (tracefs)."),
        entry!("sample_interval": Duration, default "\"100ms\"",
            "Interval of the timeline, 10 ms to 60 s."),
        entry!("timeout": Duration, default "\"1h\"",
            "A trial that takes longer is ended and marked failed; 1 s to 30 days."),
        entry!("fsck": Bool, default "false",
            "Check the filesystem after the steps; the step `fsck` reports its time."),
        entry!("freeze": Bool, default "false",
            "On the virtual backend: make filesystem and files before the first measured step once per stack, with the lab's seed, and start every trial from a copy. Rounds then differ in their accesses, not in the layout."),
        entry!("power_cut": integer(0, 10_000), default "0",
            "Virtual backend only: repeat each trial's workload with its calls recorded, and cut the power at this number of instants of its measured steps. A cut loses what was in the device's cache or under way, as its model says. Each state is mounted, compared with what syncs and synchronous writes had acknowledged, checked, and repaired where the checker finds damage; so is the database of `sqlite`. The step `power_cut` counts the outcomes and has the worst loss, and the verdict names the stacks that may lose synced data."),
        entry!("make_once": Bool, default "true",
            "On the virtual backend: make the filesystem once per stack, with the lab's seed, and start every trial from a copy. `false`, or a metric of `mkfs` that is judged, makes it anew in every trial, as the host does."),
    ],
    by_kind: None,
};

/// The lab as a whole.
pub const ROOT: TableDefinition = TableDefinition {
    header: "",
    doc: "A lab is a TOML file: axes, and a question about their combinations. Every table but `[[workload]]` may be left out.",
    entries: &[
        Entry::table("lab", Form::Table(&LAB), LAB.doc),
        Entry::table("device", Form::Tables(&DEVICE), DEVICE.doc),
        Entry::table("layer", Form::Tables(&LAYER), LAYER.doc),
        Entry::table("journal", Form::Tables(&JOURNAL), JOURNAL.doc),
        Entry::table("filesystem", Form::Tables(&FILESYSTEM), FILESYSTEM.doc),
        Entry::table(
            "scheduler",
            Form::TableOrTables(&SCHEDULER_CHOICE, &SCHEDULER),
            SCHEDULER.doc,
        ),
        Entry::table("memory", Form::TableOrTables(&MEMORY_CHOICE, &MEMORY), MEMORY.doc),
        Entry::table("workload", Form::Tables(&WORKLOAD), WORKLOAD.doc),
        Entry::table("exclude", Form::Tables(&EXCLUDE), EXCLUDE.doc),
        Entry::table("stack", Form::Tables(&STACK), STACK.doc),
        Entry::table("judge", Form::Table(&JUDGE), JUDGE.doc),
        Entry::table("trial", Form::Table(&TRIAL), TRIAL.doc),
    ],
    by_kind: None,
};
