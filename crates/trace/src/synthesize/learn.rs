//! From a trace to its description, in one pass.

use super::model::{
    Access, Description, FORMAT, Moved, Object, Places, Program, State, Threads, Tree,
};
use super::spectrum::{Collected, count_gap};
use crate::calls::{CALLS, Call, PAGE_FAULT};
use crate::error::TraceError;
use crate::event::{Event, FileEntry, FileId};
use crate::fast::FastMap;
use crate::info::on_disk;
use crate::read::Trace;
use std::collections::{BTreeMap, HashMap};

/// Programs with states of their own; the others share one.
const PROGRAMS: usize = 16;
/// Groups of threads of a program.
const GROUPS: usize = 64;
/// Open descriptors of a process whose order is known.
const OPEN: usize = 1024;
/// Values of flags that are kept for each state.
const FLAGS: usize = 8;
/// Blocks whose last access is known; reuse of others counts as none.
const BLOCKS: usize = 16 << 20;
const BLOCK: u64 = 4096;
const S_IFMT: u32 = 0o170_000;
const S_IFDIR: u32 = 0o040_000;
const ENOENT: i64 = 2;

/// Describes the load of a trace. Asynchronous operations and block requests are left out.
///
/// # Errors
/// When a segment is damaged.
pub fn describe(trace: &Trace) -> Result<Description, TraceError> {
    let files = trace.files()?;
    let names = trace.processes()?;
    let names = names.into_iter().filter_map(|entry| Some((entry.process, entry.name?)));
    let mut learner = Learner::new(&files, names.collect());
    let mut tree = LearnedTree::default();
    trace.initial(|entry| {
        tree.known(&entry.path, entry.mode & S_IFMT == S_IFDIR, entry.bytes);
        Ok(())
    })?;
    trace.events(|event| {
        learner.add(&event, &mut tree);
        Ok(())
    })?;
    let duration_ns = trace.meta().duration_ns.unwrap_or(learner.last_ns);
    Ok(Description {
        load: FORMAT.to_owned(),
        duration_ns,
        programs: learner.programs(),
        tree: tree.shape(),
    })
}

/// State of a call: its index in the catalogue, object, error and outcome, the access of its
/// descriptor, and true for an opening that makes or empties the file. A program that reads one file
/// and makes thousands opens in two ways: drawn from one, the file that it reads came too late.
type Key = (u16, Object, i64, Moved, Access, bool);

/// Kind of a file and access to it.
type Kind = (Object, Access);

/// A program and a state of it.
type Place = (usize, u32);

/// An open descriptor.
#[derive(Clone, Copy)]
struct Opened {
    fd: i32,
    kind: Kind,
    /// State that opened it; `None` when it was open before.
    by: Option<Place>,
    /// Calls on it since then.
    uses: u64,
}

#[derive(Default)]
struct Learned {
    state: State,
    next: BTreeMap<u32, u64>,
    flags: FastMap<u64, u64>,
    uses: Collected,
    lengths: Collected,
    parts: Collected,
    places: Collected,
    durations: Collected,
    thinks: Collected,
    cpu: Collected,
}

#[derive(Default)]
struct LearnedProgram {
    keys: HashMap<Key, u32>,
    states: Vec<Learned>,
    first: BTreeMap<u32, u64>,
    threads: Vec<u32>,
    processes: u64,
}

struct LearnedThread {
    program: usize,
    state: u32,
    start_ns: u64,
    end_ns: u64,
    calls: u64,
}

#[derive(Clone, Copy, Default)]
struct KnownFile {
    end: u64,
    size: u64,
    accesses: u64,
    /// Order of its last naming by a path.
    named: Option<u64>,
    is_directory: bool,
    is_elsewhere: bool,
}

struct Learner<'a> {
    files: &'a [FileEntry],
    known: FastMap<FileId, KnownFile>,
    names: HashMap<u32, String>,
    by_name: HashMap<String, usize>,
    programs: Vec<LearnedProgram>,
    processes: FastMap<u32, usize>,
    threads: FastMap<u32, LearnedThread>,
    /// Namings by paths so far, of each kind of object.
    namings: [u64; 5],
    /// Open descriptors of each process with their kind, those that were used last at the end.
    open: FastMap<u32, Vec<Opened>>,
    blocks: FastMap<(FileId, u64), u64>,
    last_ns: u64,
}

impl<'a> Learner<'a> {
    fn new(files: &'a [FileEntry], names: HashMap<u32, String>) -> Self {
        let of = |file: &FileEntry| KnownFile {
            size: file.bytes.unwrap_or(0),
            is_directory: file.mode.is_some_and(|mode| mode & S_IFMT == S_IFDIR),
            is_elsewhere: !on_disk(file),
            ..KnownFile::default()
        };
        Self {
            files,
            known: files.iter().map(|file| (file.id, of(file))).collect(),
            names,
            by_name: HashMap::new(),
            programs: Vec::new(),
            processes: FastMap::default(),
            threads: FastMap::default(),
            namings: [0; 5],
            open: FastMap::default(),
            blocks: FastMap::default(),
            last_ns: 0,
        }
    }

    fn add(&mut self, event: &Event, tree: &mut LearnedTree) {
        let call = event.call.call();
        if call.is_operation() || call.number == PAGE_FAULT {
            return;
        }
        let end_ns = event.start_ns.saturating_add(event.duration_ns.unwrap_or(0));
        self.last_ns = self.last_ns.max(end_ns);
        let program = self.program(event);
        let key = self.key(event, call);
        let at = self.state(program, key);
        let think_ns = self.follow(event, program, at, end_ns);
        let learned = &mut self.programs[program].states[at as usize];
        learned.count(event, call, think_ns);
        let Some(file) = event.file.filter(|_| !matches!(key.1, Object::None | Object::Elsewhere))
        else {
            return;
        };
        self.object(event, call, (key.1, key.4), file, (program, at), tree);
        if call.moves_data() && event.offset.is_some() && !event.failed() {
            self.place(event, call, file, program, at);
        }
    }

    /// Index of the program that the call's process runs.
    fn program(&mut self, event: &Event) -> usize {
        if let Some(at) = self.processes.get(&event.process) {
            return *at;
        }
        let name = self.names.get(&event.process).cloned().unwrap_or_default();
        let next = self.by_name.len().min(PROGRAMS - 1);
        let at = *self.by_name.entry(name).or_insert(next);
        if self.programs.len() <= at {
            self.programs.push(LearnedProgram::default());
        }
        self.programs[at].processes += 1;
        self.processes.insert(event.process, at);
        at
    }

    fn key(&self, event: &Event, call: &Call) -> Key {
        let error = event.result.filter(|result| *result < 0).map_or(0, |result| -result);
        let moved = match (event.moved_bytes(), event.length) {
            (Some(0), length) if length != Some(0) => Moved::Nothing,
            (Some(moved), Some(length)) if moved < length => Moved::Part,
            _ => Moved::Whole,
        };
        let file = event.file.and_then(|file| self.known.get(&file));
        let object = match file {
            _ if call.name.starts_with("exec") => Object::None,
            None => Object::None,
            Some(file) if file.is_elsewhere => Object::Elsewhere,
            Some(_) if error == ENOENT => Object::Missing,
            Some(file) if file.is_directory || call.name.starts_with("mkdir") => Object::Directory,
            Some(_) => Object::File,
        };
        let (access, makes) = self.access(event, call);
        (event.call.0, object, error, moved, access, makes)
    }

    /// Access of the call's descriptor or opening; true for one that makes or empties its file.
    fn access(&self, event: &Event, call: &Call) -> (Access, bool) {
        const MAKES: u64 = 0o100 | 0o1000;
        if call.opens {
            let flags = if call.name == "creat" { Some(MAKES | 1) } else { event.flags };
            let access = flags.map_or(Access::Unknown, Access::of);
            return (access, flags.is_some_and(|flags| flags & MAKES != 0));
        }
        let open = event.fd.filter(|_| call.fd.is_some()).and_then(|fd| {
            let open = self.open.get(&event.process)?;
            open.iter().rev().find(|known| known.fd == fd)
        });
        (open.map_or(Access::Unknown, |open| open.kind.1), false)
    }

    fn state(&mut self, program: usize, key: Key) -> u32 {
        let program = &mut self.programs[program];
        let next = u32::try_from(program.states.len()).unwrap_or(u32::MAX);
        let at = *program.keys.entry(key).or_insert(next);
        if at == next {
            let (call, object, error, moved, access, _) = key;
            let call = CALLS.get(usize::from(call)).map_or("", |call| call.name).to_owned();
            let state = State { call, object, error, moved, access, ..State::default() };
            program.states.push(Learned { state, ..Learned::default() });
        }
        at
    }

    /// Counts the step of a thread from its last call to this one. Returns the time between them.
    fn follow(&mut self, event: &Event, program: usize, at: u32, end_ns: u64) -> Option<u64> {
        let Some(thread) = self.threads.get_mut(&event.thread) else {
            *self.programs[program].first.entry(at).or_default() += 1;
            self.programs[program].threads.push(event.thread);
            let start_ns = event.start_ns;
            let thread = LearnedThread { program, state: at, start_ns, end_ns, calls: 1 };
            self.threads.insert(event.thread, thread);
            return None;
        };
        let think_ns = event.start_ns.saturating_sub(thread.end_ns);
        let before = &mut self.programs[thread.program].states[thread.state as usize];
        if thread.program == program {
            *before.next.entry(at).or_default() += 1;
        }
        // A thread that runs another program now counts as one of the program it began with.
        thread.program = program;
        thread.state = at;
        thread.end_ns = end_ns;
        thread.calls += 1;
        Some(think_ns)
    }

    /// Learns how the call chose its object.
    fn object(
        &mut self,
        event: &Event,
        call: &Call,
        kind: (Object, Access),
        file: FileId,
        (program, at): (usize, u32),
        tree: &mut LearnedTree,
    ) {
        if call.fd.is_some() && !call.opens {
            self.descriptor(event, call, kind, (program, at));
            return;
        }
        if call.opens && !event.failed() {
            self.opened(event, kind, (program, at));
        }
        let state = &mut self.programs[program].states[at as usize].state;
        let namings = &mut self.namings[kind.0 as usize];
        *namings += 1;
        let before = self.known.entry(file).or_default().named.replace(*namings);
        if let Some(to) = event.to_file {
            *namings += 1;
            let to = self.known.entry(to).or_default();
            state.over += u64::from(to.named.replace(*namings).is_some());
        }
        if let Some(before) = before {
            count_gap(&mut state.again, namings.saturating_sub(before));
            return;
        }
        state.fresh += 1;
        let at = self.files.binary_search_by_key(&file, |entry| entry.id).ok();
        if let Some(path) = at.and_then(|at| self.files[at].path.as_deref()) {
            let bytes = self.known.get(&file).map_or(0, |known| known.size);
            tree.named(path, kind.0, bytes, event);
        }
    }

    /// Learns which of the open descriptors a call used.
    fn descriptor(&mut self, event: &Event, call: &Call, kind: Kind, (program, at): Place) {
        let state = &mut self.programs[program].states[at as usize].state;
        let open = self.open.entry(event.process).or_default();
        let rank = event.fd.and_then(|fd| use_descriptor(open, fd, kind));
        match rank {
            Some(rank) => count_gap(&mut state.again, rank),
            None => state.fresh += 1,
        }
        let closed = (call.name == "close" && !event.failed()).then(|| open.pop()).flatten();
        if let Some(closed) = closed {
            // The close itself is no use.
            self.ended(Opened { uses: closed.uses.saturating_sub(1), ..closed });
        }
    }

    /// A descriptor was made.
    fn opened(&mut self, event: &Event, kind: Kind, by: Place) {
        let Some(fd) = event.fd else { return };
        let open = self.open.entry(event.process).or_default();
        // One of the same number was closed unseen.
        let at =
            open.iter().rposition(|known| known.fd == fd).or((open.len() == OPEN).then_some(0));
        let before = at.map(|at| open.remove(at));
        open.push(Opened { fd, kind, by: Some(by), uses: 0 });
        before.into_iter().for_each(|before| self.ended(before));
    }

    /// No further call uses the descriptor.
    fn ended(&mut self, open: Opened) {
        if let Some((program, at)) = open.by {
            self.programs[program].states[at as usize].uses.add(open.uses);
        }
    }

    /// Learns where in its file a call moved data.
    fn place(&mut self, event: &Event, call: &Call, file: FileId, program: usize, at: u32) {
        let (Some(offset), Some(moved)) = (event.offset, event.moved_bytes()) else { return };
        let known = self.known.entry(file).or_default();
        known.accesses += 1;
        let block = offset / BLOCK;
        let before = if self.blocks.len() < BLOCKS || self.blocks.contains_key(&(file, block)) {
            self.blocks.insert((file, block), known.accesses)
        } else {
            None
        };
        let learned = &mut self.programs[program].states[at as usize];
        if !call.positioned && count_place(&mut learned.state.places, known, offset, before) {
            learned.places.add(offset);
        }
        known.end = offset.saturating_add(moved);
        known.size = known.size.max(known.end);
    }

    fn programs(mut self) -> Vec<Program> {
        let open = std::mem::take(&mut self.open);
        open.into_values().flatten().for_each(|open| self.ended(open));
        let threads = self.threads;
        self.programs.into_iter().map(|program| program.finish(&threads)).collect()
    }
}

/// Puts a descriptor at the end. Returns its place among those of its kind, from the end and from 1.
fn use_descriptor(open: &mut Vec<Opened>, fd: i32, kind: Kind) -> Option<u64> {
    let before = open.iter().rposition(|known| known.fd == fd);
    let known = before.map(|at| open.remove(at));
    let rank = before.zip(known).and_then(|(at, known)| {
        let others = open[at..].iter().filter(|other| other.kind == kind).count();
        (known.kind == kind).then_some(others as u64 + 1)
    });
    if open.len() == OPEN {
        open.remove(0);
    }
    let known = known.unwrap_or(Opened { fd, kind, by: None, uses: 0 });
    open.push(Opened { kind, uses: known.uses + 1, ..known });
    rank
}

/// Counts an offset; true for one in a block that was not accessed before.
fn count_place(places: &mut Places, known: &KnownFile, offset: u64, before: Option<u64>) -> bool {
    if offset == known.end {
        places.sequential += 1;
        return false;
    }
    if offset == known.size {
        places.end += 1;
        return false;
    }
    places.aligned += u64::from(offset.is_multiple_of(BLOCK));
    match before {
        Some(before) => count_gap(&mut places.again, known.accesses - before),
        None => places.fresh += 1,
    }
    before.is_none()
}

impl Learned {
    fn count(&mut self, event: &Event, call: &Call, think_ns: Option<u64>) {
        self.state.count += 1;
        if let Some(flags) = event.flags {
            *self.flags.entry(flags).or_default() += 1;
        }
        if let Some(length) = event.length {
            self.lengths.add(length);
        }
        match (event.moved_bytes(), event.length) {
            (Some(moved), length) if length.is_none_or(|length| moved < length) && moved > 0 => {
                self.parts.add(moved);
            }
            // Names that a directory listed are not data.
            (None, Some(_)) if call.name.starts_with("getdents") => {
                let listed = event.result.and_then(|result| u64::try_from(result).ok());
                listed.into_iter().for_each(|bytes| self.parts.add(bytes));
            }
            _ => {}
        }
        if let Some(duration_ns) = event.duration_ns {
            self.durations.add(duration_ns);
        }
        if let Some(think_ns) = think_ns {
            self.thinks.add(think_ns);
            self.cpu.add(event.cpu_ns.unwrap_or(0).min(think_ns));
        }
    }

    fn finish(self) -> State {
        let mut flags: Vec<(u64, u64)> = self.flags.into_iter().collect();
        flags.sort_unstable_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
        flags.truncate(FLAGS);
        State {
            next: self.next.into_iter().collect(),
            flags,
            uses: self.uses.spectrum(),
            lengths: self.lengths.spectrum(),
            parts: self.parts.spectrum(),
            places: Places { fresh_at: self.places.spectrum(), ..self.state.places },
            durations: self.durations.spectrum(),
            thinks: self.thinks.spectrum(),
            cpu: self.cpu.spectrum(),
            ..self.state
        }
    }
}

impl LearnedProgram {
    fn finish(self, threads: &FastMap<u32, LearnedThread>) -> Program {
        let own = self.threads.iter().filter_map(|thread| threads.get(thread));
        let mut own: Vec<(u64, u64)> = own.map(|thread| (thread.start_ns, thread.calls)).collect();
        own.sort_unstable();
        let group = |group: &[(u64, u64)]| Threads {
            start_ns: group.first().map_or(0, |first| first.0),
            count: group.len() as u64,
            calls: group.iter().map(|(_, calls)| calls).sum(),
        };
        let size = own.len().div_ceil(GROUPS).max(1);
        let mut first = vec![0; self.states.len()];
        for (state, count) in self.first {
            first[state as usize] = count;
        }
        Program {
            threads: own.chunks(size).map(group).collect(),
            threads_per_process: (own.len() as u64 + self.processes / 2)
                .checked_div(self.processes)
                .unwrap_or(1)
                .max(1),
            states: self.states.into_iter().map(Learned::finish).collect(),
            first,
        }
    }
}

/// Shape of the tree while it is learned.
#[derive(Default)]
struct LearnedTree {
    files: u64,
    directories: u64,
    depths: Collected,
    sizes: Collected,
    least_depth: Option<u64>,
    known: bool,
    last: String,
    same_directory: u64,
    other_directory: u64,
}

impl LearnedTree {
    /// An entry of the walk before the start.
    fn known(&mut self, path: &str, is_directory: bool, bytes: u64) {
        self.known = true;
        self.count(path, is_directory, bytes);
    }

    fn count(&mut self, path: &str, is_directory: bool, bytes: u64) {
        if !is_directory {
            self.files += 1;
            self.sizes.add(bytes);
            return;
        }
        self.directories += 1;
        let depth = path.split('/').filter(|part| !part.is_empty()).count() as u64;
        let least = *self.least_depth.get_or_insert(depth);
        self.depths.add(depth.saturating_sub(least));
    }

    /// A file that a call names for the first time.
    fn named(&mut self, path: &str, kind: Object, bytes: u64, event: &Event) {
        const O_CREAT: u64 = 0o100;
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        if kind == Object::File {
            if directory == self.last {
                self.same_directory += 1;
            } else {
                self.other_directory += 1;
                directory.clone_into(&mut self.last);
            }
        }
        let makes =
            event.flags.is_some_and(|flags| flags & O_CREAT != 0) && event.call.call().opens;
        let makes = makes || event.call.call().name.starts_with("mkdir");
        if !self.known && !makes && !event.failed() && kind != Object::Missing {
            self.count(path, kind == Object::Directory, bytes);
        }
    }

    fn shape(self) -> Tree {
        Tree {
            files: self.files,
            directories: self.directories,
            depths: self.depths.spectrum(),
            sizes: self.sizes.spectrum(),
            same_directory: self.same_directory,
            other_directory: self.other_directory,
        }
    }
}
