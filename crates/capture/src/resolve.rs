//! From records to the rows of a trace: which file a descriptor is, and the whole path of a name.

use crate::container;
use crate::live::Counting;
use crate::processes::{self, Descriptor, Process};
use crate::record::{
    self, BlockRecord, CallRecord, Life, LifeRecord, OperationRecord, PathRecord, Record, Slot,
};
use kinds::{asynchronous, operation_flags, request};
use seekwell_trace::calls::{CALLS, Call, CallId};
use seekwell_trace::fast::FastMap;
use seekwell_trace::meta::Mount;
use seekwell_trace::path::{is_below, plain};
use seekwell_trace::{Event, FileEntry, FileId, ProcessEntry, TraceError, TraceWriter};
use std::sync::Arc;
use woken::Woken;

mod devices;
mod in_progress;
mod kinds;
mod links;
mod mapped;
mod woken;

const AT_FDCWD: i32 = -100;
const O_CLOEXEC: u64 = 0o2_000_000;
const F_DUPFD: u64 = 0;
const F_SETFD: u64 = 2;
const F_DUPFD_CLOEXEC: u64 = 1030;
const CLOSE_RANGE_CLOEXEC: u64 = 4;

/// State of the traced processes, followed call by call.
#[derive(Default)]
pub(crate) struct Resolver {
    /// Start of the trace, `CLOCK_MONOTONIC`.
    pub(crate) origin_ns: u64,
    own: u32,
    /// On-CPU time before each call that is the recording's own.
    pub(crate) around_ns: u64,
    /// True if the processes run on this kernel, so that its `/proc` completes the records.
    is_here: bool,
    /// Directories that the trace is limited to; empty for all.
    limits: Vec<String>,
    /// Calls by their number.
    calls: Vec<Option<Known>>,
    processes: FastMap<u32, Process>,
    /// Paths whose call has not come: those of one call follow one another and have its thread.
    pending: Vec<PathRecord>,
    /// Memory for those of the next call.
    spare: Vec<PathRecord>,
    files: FastMap<Arc<str>, (FileId, Option<u64>)>,
    entries: Vec<Entry>,
    /// Files of registered descriptors.
    inodes: FastMap<(u32, u64), Option<FileId>>,
    /// Processes that issued requests and have no calls, as threads of the kernel.
    issuers: FastMap<u32, ()>,
    /// Counts for the one who watches.
    pub(crate) counting: Option<Counting>,
    /// On-CPU time and waiting of threads since their last call in the trace, of calls that are not
    /// in it.
    carried: FastMap<u32, (u64, u64)>,
    /// Sleeps of threads since their last call in the trace that other threads ended.
    woken: FastMap<u32, Woken>,
    /// Parents of processes that have ended.
    ended: FastMap<u32, u32>,
    /// Last page fault of threads since their last call, with its time: how long the thread slept in
    /// it is not known yet.
    held: FastMap<u32, (u64, Event)>,
}

/// A file that was met.
struct Entry {
    path: Arc<str>,
    /// True when the trace is not limited to others.
    inside: bool,
    device: Option<u32>,
    inode: Option<u64>,
    mode: Option<u32>,
}

/// A call of the catalogue.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: CallId,
    call: &'static Call,
    effect: Effect,
}

/// Change of a process's descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    None,
    Opens,
    Dup,
    Dup3,
    Control,
    Close,
    CloseRange,
    /// Changes mappings, or works on one by its address.
    Maps,
}

impl Effect {
    fn of(call: &Call) -> Self {
        match call.name {
            _ if call.opens => Self::Opens,
            "dup" | "dup2" => Self::Dup,
            "dup3" => Self::Dup3,
            "fcntl" => Self::Control,
            "close" => Self::Close,
            "close_range" => Self::CloseRange,
            "mmap" | "munmap" | "mremap" | "msync" | "madvise" => Self::Maps,
            _ => Self::None,
        }
    }
}

/// Files that a call names.
#[derive(Clone, Copy, Default)]
struct Named {
    fd: Option<i32>,
    file: Option<FileId>,
    to_file: Option<FileId>,
}

impl Resolver {
    pub(crate) fn new(origin_ns: u64, own: u32, limits: Vec<String>) -> Self {
        let mut calls = vec![None; 512];
        for (id, call) in (0_u16..).zip(CALLS) {
            let known = Known { id: CallId(id), call, effect: Effect::of(call) };
            if let Some(place) = calls.get_mut(usize::from(call.number)) {
                *place = Some(known);
            }
        }
        Self { origin_ns, own, is_here: true, limits, calls, ..Self::default() }
    }

    /// For records of another kernel.
    pub(crate) fn of_guest() -> Self {
        Self { is_here: false, ..Self::new(0, 0, Vec::new()) }
    }

    pub(crate) fn path(&self, file: FileId) -> Option<&str> {
        self.entries.get(file.0 as usize).map(|entry| &*entry.path)
    }

    pub(crate) fn process_name(&self, process: u32) -> Option<&str> {
        self.processes.get(&process)?.name.as_deref()
    }

    /// Limits the trace to the same directories as the processes see them.
    pub(crate) fn limit_inside(&mut self, mounts: &[Mount]) {
        let limits = self.limits.iter();
        let inside: Vec<String> =
            limits.filter_map(|path| container::inside(mounts, path)).collect();
        self.limits.extend(inside);
    }

    /// Learns directory and descriptors of a process that runs already.
    pub(crate) fn seed(&mut self, process: u32, writer: &mut TraceWriter) {
        if !self.is_here {
            self.processes.entry(process).or_default();
            return;
        }
        let seen = processes::seen(process);
        let mut known =
            Process { name: seen.name.clone(), directory: seen.directory, ..Process::default() };
        for open in seen.descriptors {
            let file = self.file(&open.path, None, writer);
            let descriptor = Descriptor { file, close_on_exec: open.close_on_exec };
            known.descriptors.insert(open.fd, descriptor);
        }
        known.mappings = self.mapped_now(&seen.mapped, writer);
        self.processes.insert(process, known);
        if process != self.own {
            writer.process(ProcessEntry { process, parent: None, start_ns: 0, name: seen.name });
        }
    }

    /// Adds the row of the record in these bytes, if it has one.
    pub(crate) fn add_bytes(
        &mut self,
        bytes: &[u8],
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        Record::parse(bytes).map_or(Ok(()), |record| self.add(record, writer))
    }

    /// Adds a record's row, if it has one.
    #[inline]
    pub(crate) fn add(
        &mut self,
        record: Record,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        match record {
            Record::Path(path) => {
                self.pending.push(path);
                Ok(())
            }
            Record::Life(life) => {
                self.write_held(life.thread, writer)?;
                self.life(&life, writer);
                Ok(())
            }
            Record::Call(mut call) => {
                call.cpu_ns = call.cpu_ns.map(|own| own.saturating_sub(self.around_ns));
                self.call(&call, writer)
            }
            // Those of the trace itself are no part of the load.
            Record::Block(block) if block.process == self.own => Ok(()),
            Record::Block(block) => {
                self.issued(&block, writer);
                writer.request(request(&block, self.since(block.start_ns)))
            }
            Record::Operation(operation) => self.operation(&operation, writer),
            Record::Wake(wake) => {
                self.wake(&wake);
                Ok(())
            }
            Record::Reaped(process, wake) => {
                self.reaped(process, &wake);
                Ok(())
            }
            Record::Fault(fault) => self.fault(&fault, writer),
            Record::Slept(slept) => self.slept(&slept, writer),
            Record::Held(held) => {
                self.learn(&held, writer);
                Ok(())
            }
        }
    }

    /// Takes the paths of this thread's call.
    fn paths_of(&mut self, thread: u32) -> Vec<PathRecord> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let mut paths = std::mem::take(&mut self.spare);
        paths.extend(self.pending.extract_if(.., |path| path.thread == thread));
        paths
    }

    fn since(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.origin_ns)
    }

    fn life(&mut self, life: &LifeRecord, writer: &mut TraceWriter) {
        let start_ns = self.since(life.end_ns);
        if life.life == Life::Fork {
            // Of an earlier thread with this number.
            self.woken.remove(&life.other_thread);
        }
        let name = life.name.clone();
        match life.life {
            Life::Fork if life.other_process != life.process => {
                let copy = self.processes.get(&life.process).cloned().unwrap_or_default();
                let (process, parent) = (life.other_process, Some(life.process));
                self.processes.insert(process, Process { parent, name: name.clone(), ..copy });
                writer.process(ProcessEntry { process, parent, start_ns, name });
            }
            Life::Exec => {
                let process = self.processes.entry(life.process).or_default();
                process.descriptors.retain(|_, descriptor| !descriptor.close_on_exec);
                process.mappings.clear();
                process.name.clone_from(&name);
                let (process, parent) = (life.process, None);
                writer.process(ProcessEntry { process, parent, start_ns, name });
            }
            Life::Exit => {
                self.pending.retain(|path| path.thread != life.thread);
                self.carried.remove(&life.thread);
                // Others of the process may go on when the first thread ends.
                if life.is_last {
                    let ended = self.processes.remove(&life.process);
                    let parent = ended.and_then(|ended| ended.parent);
                    self.ended.extend(parent.map(|parent| (life.process, parent)));
                }
            }
            Life::Fork => {}
        }
    }

    fn call(&mut self, record: &CallRecord, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let mut paths = self.paths_of(record.thread);
        let added = self.call_with(record, &paths, writer);
        if paths.capacity() > 0 {
            paths.clear();
            self.spare = paths;
        }
        added
    }

    /// Learns descriptors of calls that are in no trace: of pipes, sockets and the like.
    fn made(&mut self, process: u32, paths: &[PathRecord], writer: &mut TraceWriter) {
        for path in paths {
            let file = self.file(&path.text, Some(path), writer);
            let Some(known) = self.processes.get_mut(&process) else { continue };
            // Those that survive an exec are looked up again.
            let descriptor = Descriptor { file, close_on_exec: true };
            let ends = [path.fd, path.other_fd].into_iter().flatten();
            known.descriptors.extend(ends.map(|fd| (fd, descriptor)));
        }
    }

    /// Adds a call with its paths.
    fn call_with(
        &mut self,
        record: &CallRecord,
        paths: &[PathRecord],
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        if record.process == self.own {
            return Ok(());
        }
        self.write_held(record.thread, writer)?;
        if !self.processes.contains_key(&record.process) {
            self.seed(record.process, writer);
        }
        let known = self.calls.get(record.number as usize).copied().flatten();
        let Some(Known { id, call, effect }) = known else {
            self.carry(record);
            self.made(record.process, paths, writer);
            return Ok(());
        };
        let arg = |index: Option<u8>| index.map(|at| record.args[usize::from(at) % 6]);
        let mut named = self.named(call, record, paths, writer);
        self.follow(effect, call, record, paths, named);
        if effect == Effect::Maps {
            // They come before what may take the mapping away.
            self.write_all_held(Some(record.process), writer)?;
            named.file = self.map(call, record, named.file);
            if mapped::is_memory(call, record, named.file) {
                self.carry(record);
                return Ok(());
            }
        }
        if self.is_outside(call, named) {
            self.carry(record);
            return Ok(());
        }
        let (cpu_ns, waited_ns) = self.take_carried(record.thread);
        // Most calls have neither: a look into an empty map would cost each of them its hash.
        let woken = match self.woken.is_empty() {
            true => None,
            false => self.take_woken(record),
        };
        let moved = || u64::try_from(record.result).unwrap_or(0);
        let event = Event {
            duration_ns: Some(record.end_ns.saturating_sub(record.start_ns)),
            fd: named.fd,
            file: named.file,
            to_file: named.to_file,
            offset: match call.name {
                _ if call.positioned => record.position.map(|end| end.saturating_sub(moved())),
                "madvise" => self.mapped_offset(record),
                _ => arg(call.offset),
            },
            length: links::length(call, record, paths),
            result: Some(record.result),
            flags: arg(call.flags),
            cpu_ns: record.cpu_ns.map(|own| own.saturating_add(cpu_ns)),
            waited_ns: record.waited_ns.map(|own| own.saturating_add(waited_ns)),
            waker: woken.map(|woken| woken.waker),
            woken_ns: woken.map(|woken| record.start_ns.saturating_sub(woken.at_ns)),
            awaited_ns: woken.map(|woken| woken.slept_ns),
            ..Event::new(self.since(record.start_ns), record.process, record.thread, id)
        };
        if let Some(counting) = &mut self.counting {
            counting.add(&event);
        }
        writer.event(event)
    }

    /// True for a call on files that the trace is not limited to.
    fn is_outside(&self, call: &Call, named: Named) -> bool {
        // An attribute is nowhere.
        let to_file = named.to_file.filter(|_| call.attribute.is_none());
        let is_inside = |file: Option<FileId>| file.is_some_and(|file| self.inside(file));
        !self.limits.is_empty() && !is_inside(named.file) && !is_inside(to_file)
    }

    /// Keeps the time of a call that is not in the trace for the next one that is. Its own time is
    /// waiting: that of a faster CPU would not be shorter.
    fn carry(&mut self, record: &CallRecord) {
        let duration_ns = record.end_ns.saturating_sub(record.start_ns);
        let (cpu_ns, waited_ns) = self.carried.entry(record.thread).or_default();
        *cpu_ns = cpu_ns.saturating_add(record.cpu_ns.unwrap_or(0));
        *waited_ns = waited_ns.saturating_add(duration_ns + record.waited_ns.unwrap_or(0));
    }

    /// On-CPU time and waiting of calls of the thread that are not in the trace.
    fn take_carried(&mut self, thread: u32) -> (u64, u64) {
        if self.carried.is_empty() {
            return (0, 0);
        }
        self.carried.remove(&thread).unwrap_or_default()
    }

    /// Adds a single operation of asynchronous I/O.
    fn operation(
        &mut self,
        record: &OperationRecord,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        if record.process == self.own {
            return Ok(());
        }
        if !self.processes.contains_key(&record.process) {
            self.seed(record.process, writer);
        }
        let Some((id, has_place)) = asynchronous(record.code) else { return Ok(()) };
        let file = match record.fd {
            Some(fd) => self.descriptor_file(record.process, fd, writer),
            None => self.file_of_inode(record.device, record.inode),
        };
        if !self.limits.is_empty() && !file.is_some_and(|file| self.inside(file)) {
            return Ok(());
        }
        self.descriptors_of(record);
        // -1 is the position of the file, of vectors the length is a number of parts.
        let offset = Some(record.offset).filter(|offset| has_place && *offset != u64::MAX);
        let length = Some(record.length.into()).filter(|length| has_place && *length > 0);
        let event = Event {
            duration_ns: Some(record.end_ns.saturating_sub(record.start_ns)),
            fd: record.fd,
            file,
            offset,
            length,
            result: Some(record.result),
            flags: operation_flags(record, has_place),
            ..Event::new(self.since(record.start_ns), record.process, record.thread, id)
        };
        if let Some(counting) = &mut self.counting {
            counting.add(&event);
        }
        writer.event(event)
    }

    /// Forgets descriptors that an operation made or closed; the kernel is asked for them again.
    fn descriptors_of(&mut self, record: &OperationRecord) {
        const OPENS: [u32; 2] = [18, 28];
        const CLOSES: u32 = 19;
        let changed = match record.code {
            code if OPENS.contains(&code) => i32::try_from(record.result).ok(),
            CLOSES => record.fd,
            _ => None,
        };
        if let (Some(fd), Some(process)) = (changed, self.processes.get_mut(&record.process)) {
            process.descriptors.remove(&fd);
        }
    }

    /// The file with this inode, of those that were opened while the capture ran.
    fn file_of_inode(&mut self, device: u32, inode: u64) -> Option<FileId> {
        if let Some(file) = self.inodes.get(&(device, inode)) {
            return *file;
        }
        let is_it = |entry: &Entry| entry.device == Some(device) && entry.inode == Some(inode);
        let at = self.entries.iter().rposition(is_it);
        let file = at.and_then(|at| u32::try_from(at).ok()).map(FileId);
        // One that is not known yet may be opened later.
        if file.is_some() {
            self.inodes.insert((device, inode), file);
        }
        file
    }

    /// Learns a descriptor or the working directory of a process.
    fn learn(&mut self, held: &PathRecord, writer: &mut TraceWriter) {
        let file = match held.slot {
            Slot::Opened => self.file(&held.text, Some(held), writer),
            _ => None,
        };
        let known = self.processes.entry(held.process).or_default();
        match held.fd {
            Some(fd) => {
                known.descriptors.insert(fd, Descriptor { file, close_on_exec: false });
            }
            None => known.directory = Some(held.text.clone()),
        }
    }

    fn inside(&self, file: FileId) -> bool {
        self.entries.get(file.0 as usize).is_some_and(|entry| entry.inside)
    }

    /// Descriptor and files of a call.
    fn named(
        &mut self,
        call: &Call,
        record: &CallRecord,
        paths: &[PathRecord],
        writer: &mut TraceWriter,
    ) -> Named {
        let number =
            |index: Option<u8>| index.map(|at| descriptor(record.args[usize::from(at) % 6]));
        let opened = paths.iter().find(|path| path.slot == Slot::Opened);
        if let Some(path) = opened {
            let file = self.file(&path.text, Some(path), writer);
            return Named { fd: i32::try_from(record.result).ok(), file, to_file: None };
        }
        if let Some(path) = paths.iter().find(|path| path.slot == Slot::Directory) {
            let file = self.file(&path.text, None, writer);
            return Named { fd: number(call.fd), file, to_file: None };
        }
        let mut named = Named { fd: number(call.fd), ..Named::default() };
        if let Some(fd) = named.fd {
            // Mappings of memory alone have descriptor -1.
            named.file = self.descriptor_file(record.process, fd, writer);
        }
        if call.class != seekwell_trace::calls::Class::Other
            && let Some(fd) = number(call.to_fd)
        {
            named.to_file = self.descriptor_file(record.process, fd, writer);
        }
        if call.path.is_some_and(|at| record.args[usize::from(at) % 6] == 0)
            && let Some(fd) = number(call.directory)
        {
            // Without a path, these calls work on the descriptor itself.
            named.file = self.descriptor_file(record.process, fd, writer);
        }
        for path in paths {
            if call.attribute.is_some() && path.slot == Slot::Second {
                let name = FileEntry::path_of_attribute(&path.text);
                named.to_file = self.file(&name, None, writer);
                continue;
            }
            let directory = match path.slot {
                Slot::First => number(call.directory),
                _ => number(call.to_directory),
            };
            let file = match directory {
                // The descriptor itself: `utimensat` of an open file, AT_EMPTY_PATH.
                Some(fd) if path.text.is_empty() && fd >= 0 => {
                    self.descriptor_file(record.process, fd, writer)
                }
                None if path.slot == Slot::Second && call.is_symlink() => {
                    self.target(named.file, &path.text, writer)
                }
                _ => {
                    let whole = self.whole(record.process, directory, &path.text, writer);
                    whole.and_then(|whole| self.file(&whole, None, writer))
                }
            };
            match path.slot {
                Slot::First => named.file = file,
                _ => named.to_file = file,
            }
        }
        named
    }

    /// Absolute path of a name that a program gave. Links in it are not followed.
    fn whole(
        &mut self,
        process: u32,
        directory: Option<i32>,
        name: &str,
        writer: &mut TraceWriter,
    ) -> Option<String> {
        if name.starts_with('/') {
            return Some(plain(name.to_owned()));
        }
        let base = match directory {
            None | Some(AT_FDCWD) => self.processes.get(&process)?.directory.as_deref()?,
            Some(fd) => {
                let file = self.descriptor_file(process, fd, writer)?;
                &self.entries.get(file.0 as usize)?.path
            }
        };
        Some(plain(format!("{base}/{name}")))
    }

    /// File of a descriptor; asks the kernel for those whose opening was not seen.
    fn descriptor_file(
        &mut self,
        process: u32,
        fd: i32,
        writer: &mut TraceWriter,
    ) -> Option<FileId> {
        if fd < 0 {
            return None;
        }
        if let Some(known) = self.processes.get(&process)?.descriptors.get(&fd) {
            return known.file;
        }
        if !self.is_here {
            return None;
        }
        let path = processes::descriptor(process, fd);
        let file = path.and_then(|path| self.file(&path, None, writer));
        let descriptor = Descriptor { file, close_on_exec: false };
        self.processes.get_mut(&process)?.descriptors.insert(fd, descriptor);
        file
    }

    /// Number of the file at this path. A new inode at a path that was removed is a new file.
    fn file(
        &mut self,
        path: &str,
        opened: Option<&PathRecord>,
        writer: &mut TraceWriter,
    ) -> Option<FileId> {
        let inode = opened.map(|opened| opened.inode);
        let id = match self.files.get_mut(path) {
            Some((id, known)) if inode.is_none() || *known == inode => return Some(*id),
            // Named before it was opened.
            Some((id, known @ None)) => {
                *known = inode;
                *id
            }
            _ => self.new_file(path, inode)?,
        };
        let entry = self.entries.get_mut(id.0 as usize)?;
        entry.device = opened.map(|opened| opened.device);
        entry.inode = inode;
        entry.mode = opened.map(|opened| opened.mode).or_else(|| processes::mode_of(path));
        if entry.inside {
            writer.file(FileEntry {
                id,
                path: Some(path.to_owned()),
                device: entry.device,
                inode,
                mode: entry.mode,
                bytes: opened.map(|opened| opened.bytes),
            });
        }
        Some(id)
    }

    fn new_file(&mut self, path: &str, inode: Option<u64>) -> Option<FileId> {
        let id = FileId(u32::try_from(self.entries.len()).ok()?);
        let is_attribute = FileEntry::is_path_of_attribute(path);
        let is_under = |limit: &String| is_below(path, limit);
        let inside = self.limits.is_empty() || is_attribute || self.limits.iter().any(is_under);
        let path: Arc<str> = path.into();
        self.entries.push(Entry {
            path: Arc::clone(&path),
            inside,
            device: None,
            inode: None,
            mode: None,
        });
        self.files.insert(path, (id, inode));
        Some(id)
    }

    /// Keeps descriptors and directory of the process up to date.
    fn follow(
        &mut self,
        effect: Effect,
        call: &Call,
        record: &CallRecord,
        paths: &[PathRecord],
        named: Named,
    ) {
        if record.result < 0 || (effect == Effect::None && !call.changes_directory) {
            return;
        }
        let Some(process) = self.processes.get_mut(&record.process) else { return };
        let result = i32::try_from(record.result).unwrap_or(-1);
        let flags = call.flags.map_or(0, |at| record.args[usize::from(at) % 6]);
        let table = &mut process.descriptors;
        let mut copy = |to: i32, close_on_exec: bool| {
            table.insert(to, Descriptor { file: named.file, close_on_exec });
        };
        match effect {
            Effect::Opens | Effect::Dup3 => copy(result, flags & O_CLOEXEC != 0),
            Effect::Dup => copy(result, false),
            Effect::Control if flags == F_DUPFD => copy(result, false),
            Effect::Control if flags == F_DUPFD_CLOEXEC => copy(result, true),
            Effect::Control if flags == F_SETFD => {
                if let Some(known) = named.fd.and_then(|fd| table.get_mut(&fd)) {
                    known.close_on_exec = record.args[2] & 1 == 1;
                }
            }
            Effect::Close => drop(named.fd.and_then(|fd| table.remove(&fd))),
            Effect::CloseRange => {
                let range = record.args[0]..=record.args[1] & 0xffff_ffff;
                let within = |fd: i32| u64::try_from(fd).is_ok_and(|fd| range.contains(&fd));
                if flags & CLOSE_RANGE_CLOEXEC == 0 {
                    table.retain(|fd, _| !within(*fd));
                } else {
                    let inside = table.iter_mut().filter(|(fd, _)| within(**fd));
                    inside.for_each(|(_, known)| known.close_on_exec = true);
                }
            }
            Effect::None | Effect::Control | Effect::Maps => {}
        }
        if let Some(path) = paths.iter().find(|path| path.slot == Slot::Directory) {
            process.directory = Some(path.text.clone());
        }
    }

    /// Names a process that is known by its requests alone.
    fn issued(&mut self, block: &BlockRecord, writer: &mut TraceWriter) {
        let process = block.process;
        if self.processes.contains_key(&process) || self.issuers.insert(process, ()).is_some() {
            return;
        }
        let name = record::name(&block.name);
        writer.process(ProcessEntry { process, parent: None, start_ns: 0, name });
    }
}

/// The kernel takes the lower half of the register.
#[allow(clippy::cast_possible_truncation, reason = "that is what the kernel does")]
fn descriptor(argument: u64) -> i32 {
    argument as u32 as i32
}

#[cfg(test)]
mod tests;
