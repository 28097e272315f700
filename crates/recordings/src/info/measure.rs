//! One pass over a trace.

use super::active::Active;
use super::before::Before;
use super::by_id::ById;
use super::histogram::Histogram;
use super::per_file::PerFile;
use super::spans::Spans;
use super::{
    ASYNCHRONOUS, ClassSummary, DeviceSummary, OperationSummary, SYNCED_WRITE, Share, Summary,
    Transfer,
};
use crate::issuers::Issuers;
use seekwell_trace::calls::{CALLS, Call, CallId, Class, PAGE_FAULT};
use seekwell_trace::{
    Event, FileEntry, FileId, Operation, Request, RequestFlags, Trace, TraceError,
};
use std::collections::HashMap;

/// Columns of calls that no number of the summary comes from.
const NOT_NEEDED: [&str; 2] = ["fd", "woken_ns"];
/// Spans kept for a union: 64 MiB.
const SPANS: usize = 4 << 20;
/// Rows of the tables of files, directories and processes.
const TOP: usize = 10;
const PAGE: u64 = 4096;
/// Most bytes of a small file.
const SMALL: u64 = 64 << 10;
const TENTH_NS: u64 = 100_000_000;
/// A trace of a day has this many tenths of a second; calls after it do not count for the peak.
const TENTHS: usize = 864_000;
const O_CREAT: u64 = 0o100;
const O_DSYNC: u64 = 0o10_000;
/// `RWF_DSYNC` and `RWF_SYNC` of `pwritev2` and of single writes.
const RWF_SYNCS: u64 = 2 | 4;
const MAP_SHARED: u64 = 1;
const MAP_SHARED_VALIDATE: u64 = 3;
const MAP_TYPE: u64 = 0xf;
/// Less mapped data than this cannot cost a noticeable number of page faults.
const MAPPED: u64 = 1 << 20;
/// Class of writes that return when the data is on the device, after [`Class::ALL`].
const SYNCED: usize = Class::ALL.len();
/// Rows of asynchronous operations, after that: reads, writes, syncs and the others.
const OPERATIONS: usize = SYNCED + 1;
/// Trees of which nothing is on a device.
const ELSEWHERE: [&str; 6] = ["/dev/", "/proc/", "/sys/", "pipe:", "socket:", "anon_inode:"];
/// Starts of the names of block devices, for sources that tell no types.
const BLOCK_DEVICES: [&str; 12] = [
    "/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/loop",
    "/dev/md", "/dev/dm-", "/dev/mapper/", "/dev/disk/", "/dev/nbd",
];
const S_IFMT: u32 = 0o170_000;
const S_IFBLK: u32 = 0o060_000;
const ON_DISK: [u32; 4] = [0o100_000, 0o040_000, 0o120_000, 0o060_000];

pub(super) fn measure(trace: &Trace) -> Result<Summary, TraceError> {
    let files = trace.files()?;
    let mut calls = Calls::new(&files);
    calls.note_initial(trace, &files)?;
    let mut before = Before::read(trace, &files)?;
    calls.sum.unknown_calls = trace.events_without(&NOT_NEEDED, |event| {
        if calls.add(&event) {
            before.add(&event, &files);
        }
        Ok(())
    })?;
    let processes = trace.processes()?;
    // Without calls nothing names the load.
    let has_calls = calls.sum.calls > 0;
    let issuers = has_calls.then(|| Issuers::new(trace.meta(), &processes));
    let mut requests = Requests::new();
    trace.requests(|request| {
        let is_calling = |process| calls.processes.has(process);
        match issuers.as_ref().is_none_or(|issuers| issuers.are_of_load(&request, is_calling)) {
            true => requests.add(&request),
            false => requests.leave(&request),
        }
        Ok(())
    })?;
    let names = processes.into_iter().filter_map(|entry| Some((entry.process, entry.name?)));
    let names: HashMap<u32, String> = names.collect();
    let mut summary = calls.summary(&files, &names);
    summary.known_before = before.known;
    summary.unknown_before = before.unknown;
    summary.duration_ns = trace.meta().duration_ns.unwrap_or(calls.last_ns.max(requests.last_ns));
    summary.lost = trace.meta().lost_events();
    summary.losses = trace.meta().losses();
    if trace.meta().faults {
        summary.faults.get_or_insert_default();
    }
    summary.gaps.clone_from(&trace.meta().gaps);
    summary.unfinished.clone_from(&trace.meta().unfinished);
    summary.unfinished.sort_by_key(|one| std::cmp::Reverse(one.longest_ns));
    summary.mounts.clone_from(&trace.meta().mounts);
    summary.missing = trace.missing();
    summary.ended = trace.has_ended();
    let in_progress = calls.calling.joined(&calls.flying);
    summary.in_progress_ns = in_progress.length();
    let may_fault = summary.shared_mapping && !trace.meta().faults;
    let unrecorded = &trace.meta().unrecorded_ns;
    let times = calls.active.times(summary.duration_ns, unrecorded, &in_progress, may_fault);
    (summary.active_ns, summary.idle_ns) = (times.active_ns, times.idle_ns);
    summary.cpu_wait_ns = calls.active.ready_ns();
    summary.unrecorded_ns = times.unrecorded_ns;
    let has_devices = !trace.meta().devices.is_empty();
    summary.unseen_ns = calls.unseen_ns(|major| match has_devices {
        // All devices of the files are known to issue requests.
        true => major != 0,
        false => requests.majors.contains(&major),
    });
    summary.device = requests.summary(&in_progress, trace.meta().requests);
    Ok(summary)
}

/// True for a device itself.
fn is_device(file: &FileEntry) -> bool {
    let named = |path: &str| BLOCK_DEVICES.iter().any(|start| path.starts_with(start));
    match file.mode {
        Some(mode) => mode & S_IFMT == S_IFBLK,
        None => file.path.as_deref().is_some_and(named),
    }
}

/// True when calls on the file can reach a device.
fn on_disk(file: &FileEntry) -> bool {
    let typed = file.mode.is_none_or(|mode| ON_DISK.contains(&(mode & S_IFMT)));
    let elsewhere = |path: &String| ELSEWHERE.iter().any(|prefix| path.starts_with(prefix));
    typed && !file.path.as_ref().is_some_and(elsewhere)
}

#[derive(Clone, Default)]
struct OfClass {
    count: u64,
    failed: u64,
    time_ns: u64,
    durations: Histogram,
}

#[derive(Default)]
struct Moves {
    transfer: Transfer,
    sizes: Histogram,
    seeks: Histogram,
}

impl Moves {
    /// Adds a call; `end` is that of the one before in the same file.
    fn add(&mut self, event: &Event, bytes: u64, end: Option<&mut u64>) {
        self.transfer.count += 1;
        self.transfer.bytes += bytes;
        self.sizes.add(bytes);
        let (Some(end), Some(offset)) = (end, event.offset) else { return };
        self.transfer.located += 1;
        // The first one of a file is sequential when it begins at its start.
        let before = std::mem::replace(end, offset.saturating_add(bytes));
        self.transfer.sequential += u64::from(before == offset);
        if before != offset {
            self.seeks.add(before.abs_diff(offset));
        }
        self.transfer.aligned +=
            u64::from(offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE));
    }

    fn finish(&mut self) -> Transfer {
        self.transfer.sizes = self.sizes.spread();
        self.transfer.seeks = self.seeks.spread();
        std::mem::take(&mut self.transfer)
    }
}

#[derive(Clone, Copy, Default)]
struct Total {
    calls: u64,
    time_ns: u64,
    bytes: u64,
}

impl Total {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.time_ns += other.time_ns;
        self.bytes += other.bytes;
    }
}

/// Part of a call that its name alone tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Waits for other programs.
    Wait,
    Create,
    Open,
    Remove,
    Map,
    /// Changes mappings, of a file or of memory alone.
    Unmap,
    /// Moves data from one file to another.
    Copy,
    /// Starts writing, and waits with some flags alone.
    Range,
    /// Writes with flags.
    Write,
    /// An operation of asynchronous I/O.
    Operation,
    /// Submits to a ring and awaits it.
    Ring,
    /// A page fault, which is no call.
    Fault,
    Other,
}

impl Act {
    fn of(call: &Call) -> Self {
        match call.name {
            "clone" | "fork" | "vfork" | "clone3" | "flock" | "fcntl" => Self::Wait,
            "creat" => Self::Create,
            "open" | "openat" => Self::Open,
            "unlink" | "unlinkat" | "rmdir" => Self::Remove,
            "mmap" => Self::Map,
            "munmap" | "mremap" | "madvise" => Self::Unmap,
            "sendfile" | "splice" | "copy_file_range" => Self::Copy,
            "sync_file_range" => Self::Range,
            "pwritev2" => Self::Write,
            "io_uring_enter" => Self::Ring,
            _ if call.is_operation() => Self::Operation,
            _ if call.number == PAGE_FAULT => Self::Fault,
            _ => Self::Other,
        }
    }
}

/// Everything about a file.
#[derive(Clone, Copy, Default)]
struct OfFile {
    total: Total,
    read_end: u64,
    write_end: u64,
    /// True when calls on it reach no device.
    elsewhere: bool,
    /// True when it was opened with `O_SYNC` or `O_DSYNC`.
    synced: bool,
    /// Time in syncs of it.
    sync_ns: u64,
    /// True from when it was made until it is removed.
    created: bool,
    /// True for a file that was there before the trace, or had content when it was met.
    existed: bool,
    /// True for a device itself.
    raw: bool,
    /// Major number of the device with its filesystem.
    major: Option<u16>,
}

/// Everything about calls.
struct Calls {
    /// By the number of the call.
    acts: Vec<Act>,
    /// The plain write.
    write: CallId,
    files: PerFile<OfFile>,
    active: Active,
    /// Time in calls on files by the major number of their device.
    by_major: Vec<(u16, u64)>,
    calling: Spans,
    /// Asynchronous operations in progress.
    flying: Spans,
    last_ns: u64,
    classes: [OfClass; OPERATIONS + ASYNCHRONOUS.len()],
    mapped: u64,
    threads: ById<(u64, u64)>,
    processes: ById<Total>,
    reads: Moves,
    writes: Moves,
    tenths: Vec<u32>,
    sum: Summary,
}

impl Calls {
    fn new(files: &[FileEntry]) -> Self {
        let mut known = PerFile::<OfFile>::of(files);
        for file in files {
            let of = known.get(file.id);
            of.raw = is_device(file);
            of.existed = file.bytes.is_some_and(|bytes| bytes > 0);
            of.elsewhere = !of.raw && !on_disk(file);
            // That of a node is of the filesystem below /dev.
            let device = file.device.filter(|_| !of.raw);
            of.major = device.and_then(|device| u16::try_from(device >> 20).ok());
        }
        Self {
            acts: CALLS.iter().map(Act::of).collect(),
            write: CallId::named("write").unwrap_or(CallId(0)),
            files: known,
            active: Active::new(),
            by_major: Vec::new(),
            calling: Spans::new(SPANS),
            flying: Spans::new(SPANS),
            last_ns: 0,
            classes: Default::default(),
            mapped: 0,
            threads: ById::new(),
            processes: ById::new(),
            reads: Moves::default(),
            writes: Moves::default(),
            tenths: Vec::new(),
            sum: Summary::default(),
        }
    }

    /// Notes the files that were there before the start: an open that empties one looks like one that makes it.
    fn note_initial(&mut self, trace: &Trace, files: &[FileEntry]) -> Result<(), TraceError> {
        let with_path = files.iter().filter_map(|file| Some((file.path.as_deref()?, file.id)));
        let by_path: HashMap<&str, FileId> = with_path.collect();
        trace.initial(|entry| {
            if let Some(id) = by_path.get(entry.path.as_str()) {
                self.files.get(*id).existed = true;
            }
            Ok(())
        })
    }

    fn act(&self, event: &Event) -> Act {
        self.acts.get(usize::from(event.call.0)).copied().unwrap_or(Act::Other)
    }

    /// Calls of programs and locks wait for other programs, those on pipes and terminals too; mappings
    /// without a file are memory.
    fn reaches_files(&mut self, event: &Event) -> bool {
        match (self.act(event), event.file) {
            (Act::Wait, _) | (Act::Map | Act::Unmap, None) => false,
            // A ring serves sockets too: only what ends while it is entered is awaited in it.
            (Act::Ring, _) => self.flying.ends_after(event.start_ns),
            (_, file) => !file.is_some_and(|file| self.files.get(file).elsewhere),
        }
    }

    /// A copy into a file as a write of that file, whatever it comes from: the writing side waits for the
    /// device. Other calls as they are.
    fn as_written(&mut self, event: &Event) -> Event {
        let to = event.to_file.filter(|_| self.act(event) == Act::Copy);
        match to.filter(|file| !self.files.get(*file).elsewhere) {
            // The offset is that in the source.
            Some(file) => Event {
                call: self.write,
                file: Some(file),
                to_file: None,
                offset: None,
                flags: None,
                ..*event
            },
            None => *event,
        }
    }

    /// Adds what the row tells about its thread.
    fn follow(&mut self, event: &Event, end_ns: u64) {
        let is_operation = self.act(event) == Act::Operation;
        let silent = event.waker.is_some_and(|waker| !self.threads.has(waker));
        let known = self.threads.len();
        let thread = self.threads.get(event.thread, || (event.start_ns, end_ns));
        let before_ns = thread.1;
        thread.1 = thread.1.max(if is_operation { event.start_ns } else { end_ns });
        let is_first = self.threads.len() > known;
        let since_ns = (!is_first && !is_operation).then_some(before_ns);
        self.active.add(event, since_ns, silent);
    }

    /// Time in calls on files whose filesystem issues no block request that the trace has.
    fn unseen_ns(&self, is_seen: impl Fn(u16) -> bool) -> u64 {
        let unseen = self.by_major.iter().filter(|(major, _)| !is_seen(*major));
        unseen.map(|(_, ns)| *ns).fold(0, u64::saturating_add)
    }

    /// Adds a call; true when it can reach files.
    fn add(&mut self, event: &Event) -> bool {
        let (duration_ns, end_ns) = (event.duration_ns.unwrap_or(0), event.end_ns());
        if self.act(event) == Act::Fault {
            self.active.add(event, None, false);
            self.active.asleep(event);
            self.sum.faults.get_or_insert_default().add(event);
            return false;
        }
        self.sum.calls += 1;
        self.sum.failed += u64::from(event.failed());
        self.last_ns = self.last_ns.max(end_ns);
        self.follow(event, end_ns);
        let event = &self.as_written(event);
        let is_operation = self.act(event) == Act::Operation;
        if let Ok(tenth) = usize::try_from(event.start_ns / TENTH_NS)
            && tenth < TENTHS
        {
            if self.tenths.len() <= tenth {
                self.tenths.resize(tenth + 1, 0);
            }
            self.tenths[tenth] += 1;
        }
        if !self.reaches_files(event) {
            self.processes.get(event.process, Total::default).calls += 1;
            self.sum.elsewhere_ns += duration_ns;
            self.sum.elsewhere += 1;
            self.sum.elsewhere_failed += u64::from(event.failed());
            return false;
        }
        if is_operation {
            self.flying.add(event.start_ns, end_ns);
            self.sum.operations += 1;
            self.sum.operations_ns += duration_ns;
        } else {
            self.calling.add(event.start_ns, end_ns);
            self.sum.in_calls_ns += duration_ns;
        }
        self.sum.untimed += u64::from(event.duration_ns.is_none());
        self.add_on_files(event, duration_ns);
        true
    }

    fn add_on_files(&mut self, event: &Event, duration_ns: u64) {
        let call = event.call.call();
        let row = self.row(event, call);
        let class = &mut self.classes[row];
        class.count += 1;
        class.failed += u64::from(event.failed());
        class.time_ns += duration_ns;
        if event.duration_ns.is_some() {
            class.durations.add(duration_ns);
        }
        let moved = event.moved_bytes();
        let total = Total { calls: 1, time_ns: duration_ns, bytes: moved.unwrap_or(0) };
        // The process itself does not spend the time of its asynchronous operations.
        let time_ns = if row < OPERATIONS { duration_ns } else { 0 };
        self.processes.get(event.process, Total::default).add(Total { time_ns, ..total });
        let mut file = event.file.map(|file| self.files.get(file));
        if let Some(major) = file.as_ref().and_then(|file| file.major) {
            let at = self.by_major.iter().position(|(known, _)| *known == major);
            match at {
                Some(at) => self.by_major[at].1 = self.by_major[at].1.saturating_add(duration_ns),
                None => self.by_major.push((major, duration_ns)),
            }
        }
        if let Some(file) = &mut file {
            file.total.add(total);
            file.sync_ns += if call.class == Class::Sync { duration_ns } else { 0 };
            self.sum.raw_ns =
                self.sum.raw_ns.saturating_add(if file.raw { duration_ns } else { 0 });
        }
        match (call.class, moved) {
            (Class::Read, Some(bytes)) => {
                self.reads.add(event, bytes, file.map(|file| &mut file.read_end));
            }
            (Class::Write, Some(bytes)) => {
                self.writes.add(event, bytes, file.map(|file| &mut file.write_end));
            }
            _ => {}
        }
        if !event.failed() {
            self.succeeded(event);
        }
    }

    /// Row of a call in the table of purposes.
    fn row(&mut self, event: &Event, call: &Call) -> usize {
        match call.class {
            Class::Read if call.is_operation() => OPERATIONS,
            Class::Write if call.is_operation() => OPERATIONS + 1,
            Class::Sync if call.is_operation() => OPERATIONS + 2,
            _ if call.is_operation() => OPERATIONS + 3,
            _ if self.is_synced(event) => SYNCED,
            Class::Sync if self.act(event) == Act::Range && !event.is_sync() => {
                Class::Other as usize
            }
            class => class as usize,
        }
    }

    /// Looks at a call that did not fail.
    fn succeeded(&mut self, event: &Event) {
        let flags = event.flags.unwrap_or(0);
        match self.act(event) {
            Act::Create => self.created(event),
            Act::Open => {
                if flags & O_CREAT != 0 {
                    self.created(event);
                }
                if let Some(file) = event.file.filter(|_| flags & O_DSYNC != 0) {
                    self.files.get(file).synced = true;
                }
            }
            Act::Remove => self.removed(event),
            Act::Map
                if event.file.is_some()
                    && [MAP_SHARED, MAP_SHARED_VALIDATE].contains(&(flags & MAP_TYPE)) =>
            {
                self.mapped = self.mapped.saturating_add(event.length.unwrap_or(MAPPED));
            }
            _ => {}
        }
    }

    /// An open that makes a file finds the one that it made before until that is removed.
    fn created(&mut self, event: &Event) {
        self.sum.create_calls += 1;
        let Some(file) = event.file.map(|file| self.files.get(file)) else {
            self.sum.created += 1;
            return;
        };
        if !file.created && !file.existed {
            self.sum.created += 1;
            file.created = true;
        }
    }

    fn removed(&mut self, event: &Event) {
        self.sum.removed += 1;
        let Some(file) = event.file.map(|file| self.files.get(file)) else { return };
        file.existed = false;
        if std::mem::take(&mut file.created) {
            self.sum.short_lived += 1;
            self.sum.removed_sync_ns += std::mem::take(&mut file.sync_ns);
            self.sum.short_lived_small += u64::from(file.write_end <= SMALL);
        }
    }

    /// True for writes that return when the data is on the device.
    fn is_synced(&mut self, event: &Event) -> bool {
        if event.call.call().class != Class::Write {
            return false;
        }
        let takes_flags = matches!(self.act(event), Act::Write | Act::Operation);
        let asked = takes_flags && event.flags.unwrap_or(0) & RWF_SYNCS != 0;
        asked || event.file.is_some_and(|file| self.files.get(file).synced)
    }

    fn summary(&mut self, files: &[FileEntry], names: &HashMap<u32, String>) -> Summary {
        let mut summary = std::mem::take(&mut self.sum);
        summary.processes = self.processes.len() as u64;
        summary.threads = self.threads.len() as u64;
        summary.files = files.len() as u64;
        summary.calling_ns = self.calling.length();
        summary.in_flight_ns = self.flying.length();
        summary.thread_ns = self.threads.iter().map(|(_, (first, last))| last - first).sum();
        summary.classes = self.class_rows();
        let syncs = [Class::Sync as usize, SYNCED, OPERATIONS + 2];
        let syncs: u64 = syncs.into_iter().map(|row| self.classes[row].count).sum();
        summary.shared_mapping = self.mapped >= MAPPED;
        summary.reads = self.reads.finish();
        summary.writes = self.writes.finish();
        summary.bytes_between_syncs = (syncs > 0).then(|| summary.writes.bytes / syncs.max(1));
        summary.peak_calls_per_tenth = self.tenths.iter().copied().max().unwrap_or(0).into();
        let path = |id: FileId| FileEntry::find(files, id)?.path.clone();
        let mut directories: HashMap<String, Total> = HashMap::new();
        let mut named = Vec::new();
        for (id, OfFile { total, .. }) in self.files.iter().filter(|(_, of)| of.total.calls > 0) {
            let path = path(id).unwrap_or_else(|| format!("file {}", id.0));
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            directories.entry(format!("{directory}/")).or_default().add(*total);
            named.push((path, *total));
        }
        summary.top_files = top(named);
        summary.top_directories = top(directories.into_iter().collect());
        let processes = self.processes.iter().map(|(process, total)| {
            let name = names.get(process).map_or("", String::as_str);
            (format!("{process} {name}").trim_end().to_owned(), *total)
        });
        summary.top_processes = top(processes.collect());
        summary
    }

    fn class_rows(&self) -> Vec<ClassSummary> {
        let mut rows: Vec<ClassSummary> = Class::ALL
            .into_iter()
            .map(Class::name)
            .chain([SYNCED_WRITE])
            .chain(ASYNCHRONOUS)
            .zip(&self.classes)
            .filter(|(_, of)| of.count > 0)
            .map(|(class, of)| ClassSummary {
                class,
                count: of.count,
                failed: of.failed,
                time_ns: of.time_ns,
                durations: of.durations.spread(),
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.time_ns));
        rows
    }
}

/// The longest times; equal ones by name.
fn top(all: Vec<(String, Total)>) -> Vec<Share> {
    let mut rows: Vec<Share> = all
        .into_iter()
        .filter(|(_, total)| total.calls > 0)
        .map(|(name, total)| Share {
            name,
            calls: total.calls,
            time_ns: total.time_ns,
            bytes: total.bytes,
        })
        .collect();
    rows.sort_by(|one, two| two.time_ns.cmp(&one.time_ns).then_with(|| one.name.cmp(&two.name)));
    rows.truncate(TOP);
    rows
}

#[derive(Clone, Default)]
struct OfOperation {
    count: u64,
    bytes: u64,
    sequential: u64,
    sizes: Histogram,
    seeks: Histogram,
    durations: Histogram,
}

/// Everything about block requests.
struct Requests {
    busy: Spans,
    last_ns: u64,
    operations: [OfOperation; Operation::ALL.len()],
    ends: HashMap<(u32, Operation), u64>,
    depths: (u64, u64),
    /// Major numbers of the devices.
    majors: Vec<u16>,
    sum: DeviceSummary,
}

impl Requests {
    fn new() -> Self {
        Self {
            busy: Spans::new(SPANS),
            last_ns: 0,
            operations: Default::default(),
            ends: HashMap::new(),
            depths: (0, 0),
            majors: Vec::new(),
            sum: DeviceSummary::default(),
        }
    }

    fn add(&mut self, request: &Request) {
        let end_ns = request.end_ns();
        self.last_ns = self.last_ns.max(end_ns);
        self.busy.add(request.start_ns, end_ns);
        let major = u16::try_from(request.device >> 20).unwrap_or(u16::MAX);
        if !self.majors.contains(&major) {
            self.majors.push(major);
        }
        let of = &mut self.operations[request.operation as usize];
        of.count += 1;
        of.bytes += request.bytes;
        of.sizes.add(request.bytes);
        if let Some(duration_ns) = request.duration_ns {
            of.durations.add(duration_ns);
        }
        let end = request.sector.saturating_add(request.bytes / 512);
        let before = self.ends.insert((request.device, request.operation), end);
        of.sequential += u64::from(before == Some(request.sector));
        if let Some(before) = before.filter(|before| *before != request.sector) {
            of.seeks.add(before.abs_diff(request.sector).saturating_mul(512));
        }
        let forced = [RequestFlags::FUA, RequestFlags::PREFLUSH];
        self.sum.forced += u64::from(forced.iter().any(|flag| request.flags.has(*flag)));
        self.sum.sync += u64::from(request.flags.has(RequestFlags::SYNC));
        self.sum.meta += u64::from(request.flags.has(RequestFlags::META));
        if let Some(depth) = request.depth {
            self.depths.0 += u64::from(depth);
            self.depths.1 += 1;
        }
    }

    /// Counts a request that is not the load's.
    fn leave(&mut self, request: &Request) {
        self.sum.others += 1;
        self.sum.others_bytes = self.sum.others_bytes.saturating_add(request.bytes);
    }

    fn summary(mut self, calling: &Spans, recorded: bool) -> Option<DeviceSummary> {
        let rows = Operation::ALL.into_iter().zip(&self.operations);
        self.sum.operations = rows
            .filter(|(_, of)| of.count > 0)
            .map(|(operation, of)| OperationSummary {
                operation: operation.name(),
                count: of.count,
                bytes: of.bytes,
                sequential: of.sequential,
                sizes: of.sizes.spread(),
                seeks: of.seeks.spread(),
                durations: of.durations.spread(),
            })
            .collect();
        self.sum.busy_ns = self.busy.length();
        self.sum.busy_in_calls_ns = self.busy.shared(calling);
        self.sum.mean_depth =
            (self.depths.1 > 0).then(|| super::ratio(self.depths.0, self.depths.1));
        (recorded || !self.sum.operations.is_empty()).then_some(self.sum)
    }
}
