//! From a description to a trace that can be replayed.

use super::model::{Description, Moved, Object, Program, State};
use super::needs::Needs;
use super::spectrum::{Urn, below, gap, pick};
use super::world::{Descriptors, Open, ROOT, World};
use crate::calls::{Call, CallId, Class};
use crate::error::TraceError;
use crate::event::{Event, FileId, ProcessEntry};
use crate::meta::{Meta, Tree};
use crate::write::{Limits, TraceWriter};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

const BLOCK: u64 = 4096;
const O_ACCMODE: u64 = 3;
const O_WRONLY: u64 = 1;
const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_APPEND: u64 = 0o2000;
const O_DIRECTORY: u64 = 0o200_000;
/// Most threads of a made load.
const THREADS: u64 = 1 << 16;
/// Calls of a thread that have no object at hand, one after another, before it gives up.
const PATIENCE: u32 = 1000;

/// Writes a trace with the load of a description; the same `seed` makes the same one. Returns the
/// number of its calls.
///
/// # Errors
/// When the description names calls that are not known, or the output cannot be written.
pub fn generate(described: &Description, output: &Path, seed: u64) -> Result<u64, TraceError> {
    let mut meta = Meta {
        duration_ns: Some(described.duration_ns),
        initial: vec![Tree { root: ROOT.to_owned(), complete: true }],
        gaps: vec![
            "a load made from a description: its statistics are those of a recorded one, its calls \
             are not"
                .to_owned(),
            "block requests and asynchronous operations were left out".to_owned(),
        ],
        ..Meta::new("synthesize")
    };
    let mut random = Random::seed_from_u64(seed);
    let world = World::new(&described.tree, &mut random);
    let writer = TraceWriter::create(output, &meta, Limits::default())?;
    let urns = described.programs.iter().map(|of| of.states.iter().map(Urns::of).collect());
    let mut maker = Maker {
        described,
        random,
        world,
        writer,
        urns: urns.collect(),
        processes: BTreeMap::new(),
        ready: BTreeMap::new(),
    };
    let last_ns = match maker.run() {
        Ok(last_ns) => last_ns,
        Err(error) => {
            maker.writer.abandon();
            return Err(error);
        }
    };
    meta.duration_ns = Some(described.duration_ns.max(last_ns));
    for entry in maker.world.initial() {
        maker.writer.initial(entry)?;
    }
    let events = maker.writer.events();
    maker.writer.finish(&meta)?;
    Ok(events)
}

struct Maker<'a> {
    described: &'a Description,
    random: Random,
    world: World,
    writer: TraceWriter,
    /// Draws of each program's states.
    urns: Vec<Vec<Urns>>,
    processes: BTreeMap<u32, Process>,
    /// Calls by their end, until no other can end before.
    ready: BTreeMap<(u64, u64), Event>,
}

/// Draws of a state.
struct Urns {
    /// Descriptor that its calls need.
    needs: Option<Needs>,
    next: Urn,
    flags: Urn,
    again: Urn,
    uses: Urn,
    lengths: Urn,
    parts: Urn,
    durations: Urn,
    thinks: Urn,
    cpu: Urn,
}

impl Urns {
    fn of(state: &State) -> Self {
        Self {
            needs: Needs::of(state),
            next: Urn::new(state.next.iter().map(|(_, count)| *count).collect()),
            flags: Urn::new(state.flags.iter().map(|(_, count)| *count).collect()),
            again: Urn::new(state.again.clone()),
            uses: Urn::new(state.uses.counts()),
            lengths: Urn::new(state.lengths.counts()),
            parts: Urn::new(state.parts.counts()),
            durations: Urn::new(state.durations.counts()),
            thinks: Urn::new(state.thinks.counts()),
            cpu: Urn::new(state.cpu.counts()),
        }
    }
}

#[derive(Default)]
struct Process {
    descriptors: Descriptors,
    pipe: Option<usize>,
}

struct Thread {
    program: usize,
    process: u32,
    thread: u32,
    left: u64,
    state: usize,
    think_ns: Option<(u64, u64)>,
    idle: u32,
}

impl Maker<'_> {
    /// Makes all calls. Returns the end of the last one.
    fn run(&mut self) -> Result<u64, TraceError> {
        let described = self.described;
        let (mut threads, mut order) = self.threads();
        let (mut last_ns, mut number) = (0, 0);
        while let Some(Reverse((start_ns, at))) = order.pop() {
            self.flush(start_ns)?;
            let thread = &mut threads[at];
            let program = &described.programs[thread.program];
            let Some(state) = program.states.get(thread.state) else { continue };
            let mut end_ns = start_ns;
            if let Some(event) = self.call(state, thread, start_ns)? {
                end_ns = start_ns + event.duration_ns.unwrap_or(0);
                number += 1;
                self.ready.insert((end_ns, number), event);
                thread.left -= 1;
                thread.idle = 0;
                last_ns = last_ns.max(end_ns);
            } else {
                thread.idle += 1;
            }
            if thread.left == 0 || thread.idle > PATIENCE {
                continue;
            }
            thread.state = self.next(thread);
            let Some(next) = program.states.get(thread.state) else { continue };
            let urns = &mut self.urns[thread.program][thread.state];
            let think_ns = urns.thinks.value(&next.thinks, &mut self.random).unwrap_or(0);
            let cpu_ns = urns.cpu.value(&next.cpu, &mut self.random).unwrap_or(0).min(think_ns);
            thread.think_ns = Some((cpu_ns, think_ns - cpu_ns));
            order.push(Reverse((end_ns.saturating_add(think_ns), at)));
        }
        self.flush(u64::MAX)?;
        Ok(last_ns)
    }

    /// State of the next call. Each step comes as often as it was recorded; a thread at whose state no
    /// step is left continues where one is. Steps to calls that have their descriptor at hand come
    /// first: a file that a program reads to its end is not closed before. States that no step leaves
    /// any more come last.
    fn next(&mut self, thread: &Thread) -> usize {
        let (program, state) = (thread.program, thread.state);
        let urns = &mut self.urns[program];
        if urns.iter().all(|state| state.next.remaining() == 0) {
            urns.iter_mut().for_each(|state| state.next.refill());
        }
        let descriptors = &self.processes.entry(thread.process).or_default().descriptors;
        let is_at_hand = |urns: &Urns| {
            urns.needs.as_ref().is_none_or(|needs| needs.has(descriptors, &self.world.nodes))
        };
        if urns[state].next.remaining() == 0 {
            let left =
                |urns: &Urns, is_wanted: bool| if is_wanted { urns.next.remaining() } else { 0 };
            let at_hand: Vec<u64> = urns.iter().map(|urns| left(urns, is_at_hand(urns))).collect();
            let all = urns.iter().map(|urns| left(urns, true));
            let found = pick(&mut self.random, at_hand.into_iter());
            return found
                .or_else(|| pick(&mut self.random, all))
                .unwrap_or_else(|| first(&self.described.programs[program], &mut self.random));
        }
        let steps = &self.described.programs[program].states[state].next;
        let of = |next: u32| urns.get(next as usize);
        let goes_on: Vec<bool> = steps
            .iter()
            .map(|(next, _)| of(*next).is_some_and(|of| of.next.remaining() > 0))
            .collect();
        let both: Vec<bool> = steps
            .iter()
            .zip(&goes_on)
            .map(|((next, _), goes_on)| *goes_on && of(*next).is_some_and(is_at_hand))
            .collect();
        let at = urns[state].next.take_first(&[&both, &goes_on], &mut self.random).unwrap_or(0);
        steps.get(at).map_or(0, |(next, _)| *next as usize)
    }

    /// Writes the calls that end by this time.
    fn flush(&mut self, until_ns: u64) -> Result<(), TraceError> {
        while let Some(first) = self.ready.first_entry() {
            if first.key().0 > until_ns {
                break;
            }
            self.writer.event(first.remove())?;
        }
        Ok(())
    }

    /// All threads with their first call.
    fn threads(&mut self) -> (Vec<Thread>, BinaryHeap<Reverse<(u64, usize)>>) {
        let (mut threads, mut order) = (Vec::new(), BinaryHeap::new());
        let mut next = 1000_u32;
        let described = self.described;
        for (at, program) in described.programs.iter().enumerate() {
            let name = Some(format!("program{}", at + 1));
            let (mut process, mut room) = (0, 0);
            for (nth, group) in program.threads.iter().enumerate() {
                let after_ns =
                    program.threads.get(nth + 1).map_or(group.start_ns, |next| next.start_ns);
                let step_ns = after_ns.saturating_sub(group.start_ns) / group.count.max(1);
                for part in 0..group.count.min(THREADS) {
                    let start_ns = group.start_ns + step_ns * part;
                    next += 1;
                    if room == 0 {
                        (process, room) = (next, program.threads_per_process.max(1));
                        let name = name.clone();
                        self.writer.process(ProcessEntry { process, parent: None, start_ns, name });
                    }
                    room -= 1;
                    // The first ones have what does not divide.
                    let left = group.calls / group.count.max(1)
                        + u64::from(part < group.calls % group.count.max(1));
                    if left == 0 || threads.len() as u64 >= THREADS {
                        continue;
                    }
                    order.push(Reverse((start_ns, threads.len())));
                    let state = first(program, &mut self.random);
                    let (think_ns, idle) = (None, 0);
                    let thread = next;
                    threads.push(Thread {
                        program: at,
                        process,
                        thread,
                        left,
                        state,
                        think_ns,
                        idle,
                    });
                }
            }
        }
        (threads, order)
    }

    /// Makes a call; `None` when it has no object at hand.
    fn call(
        &mut self,
        state: &State,
        thread: &Thread,
        start_ns: u64,
    ) -> Result<Option<Event>, TraceError> {
        let id = CallId::named(&state.call).ok_or_else(|| {
            let path = std::path::PathBuf::new();
            let problem = format!("this version of Seekwell does not know the call {}", state.call);
            TraceError::Import { path, line: 0, problem }
        })?;
        let (random, urns) = (&mut self.random, &mut self.urns[thread.program][thread.state]);
        let flags = urns.flags.draw(random).and_then(|at| state.flags.get(at));
        let mut event = Event {
            duration_ns: Some(urns.durations.value(&state.durations, random).unwrap_or(0)),
            length: urns.lengths.value(&state.lengths, random),
            flags: flags.map(|(flags, _)| *flags),
            result: Some(-state.error),
            cpu_ns: thread.think_ns.map(|(cpu_ns, _)| cpu_ns),
            waited_ns: thread.think_ns.map(|(_, waited_ns)| waited_ns),
            ..Event::new(start_ns, thread.process, thread.thread, id)
        };
        let call = id.call();
        let part = urns.parts.value(&state.parts, random).unwrap_or(0);
        let again = urns.again.draw(random).map(|doubling| gap(random, doubling));
        let uses = urns.uses.value(&state.uses, random);
        let drawn = Drawn { part, again, uses };
        let made = match state.object {
            Object::None => {
                event.flags = event.flags.filter(|_| call.fd.is_none());
                Some(())
            }
            Object::Elsewhere => self.elsewhere(state, call, drawn, &mut event),
            _ if call.fd.is_some() && !call.opens => {
                self.on_descriptor(state, call, drawn, &mut event)
            }
            _ => self.on_path(state, call, drawn, &mut event),
        };
        Ok(made.map(|()| event))
    }

    /// Gives the event its file, with an entry in the trace.
    fn names(&mut self, node: usize) -> Option<FileId> {
        if let Some(entry) = self.world.entry(node) {
            self.writer.file(entry);
        }
        u32::try_from(node).ok().map(FileId)
    }

    /// A call on a pipe and the like.
    fn elsewhere(
        &mut self,
        state: &State,
        call: &Call,
        drawn: Drawn,
        event: &mut Event,
    ) -> Option<()> {
        let process = self.processes.entry(event.process).or_default();
        let node = *process.pipe.get_or_insert_with(|| self.world.pipe());
        event.file = self.names(node);
        event.fd = call.fd.map(|_| 0);
        if call.moves_data() && state.error == 0 {
            let moved = amount(state, event.length.unwrap_or(drawn.part), drawn);
            event.result = i64::try_from(moved).ok();
        }
        Some(())
    }

    /// A call on an open file; `None` when the process has none that fits.
    fn on_descriptor(
        &mut self,
        state: &State,
        call: &Call,
        drawn: Drawn,
        event: &mut Event,
    ) -> Option<()> {
        let needs = Needs::of(state)?;
        let process = self.processes.entry(event.process).or_default();
        let fd = needs.find(&process.descriptors, &self.world.nodes, drawn.again.unwrap_or(1))?;
        let open = process.descriptors.open.get(&fd).copied()?;
        process.descriptors.used(fd);
        process.descriptors.count(fd);
        event.fd = Some(fd);
        event.file = self.names(open.node);
        if state.error != 0 {
            return Some(());
        }
        match call.name {
            _ if call.moves_data() => self.move_data((state, drawn), open, fd, event),
            "close" => {
                self.processes.entry(event.process).or_default().descriptors.close(fd);
            }
            "dup" | "dup2" | "dup3" => {
                let process = self.processes.entry(event.process).or_default();
                event.result = Some(process.descriptors.add(open).into());
            }
            // Copies of descriptors are made by the calls above.
            "fcntl" => {
                event.flags = event.flags.filter(|flags| ![0, 1030].contains(flags)).or(Some(1))
            }
            "lseek" => {
                event.flags = Some(0);
                event.offset = Some(self.place(state, open));
                event.result = event.offset.and_then(|offset| i64::try_from(offset).ok());
                self.move_to(event.process, fd, event.offset.unwrap_or(0));
            }
            "ftruncate" => self.world.resize(open.node, event.length.unwrap_or(0)),
            "fallocate" => event.offset = Some(0),
            "getdents" | "getdents64" => {
                event.result = i64::try_from(drawn.part).ok();
            }
            "mmap" | "fadvise64" | "readahead" | "sync_file_range" => event.offset = Some(0),
            _ => {}
        }
        Some(())
    }

    fn move_to(&mut self, process: u32, fd: i32, position: u64) {
        let process = self.processes.entry(process).or_default();
        if let Some(open) = process.descriptors.open.get_mut(&fd) {
            open.position = position;
        }
    }

    fn move_data(
        &mut self,
        (state, drawn): (&State, Drawn),
        open: Open,
        fd: i32,
        event: &mut Event,
    ) {
        let call = event.call.call();
        let is_write = call.class == Class::Write && call.name != "copy_file_range";
        let offset = match (call.positioned, is_write && open.appends) {
            (_, true) => self.world.nodes[open.node].bytes,
            (true, false) => open.position,
            (false, false) => self.place(state, open),
        };
        let least = if state.moved == Moved::Part { drawn.part } else { 0 };
        let length = event.length.unwrap_or(drawn.part).max(least);
        event.length = event.length.map(|_| length);
        if !call.positioned && !matches!(state.moved, Moved::Nothing) && offset != self.end(open) {
            self.world.reach(open.node, offset.saturating_add(amount(state, length, drawn)));
        }
        let moved = if is_write {
            let moved = amount(state, length, drawn);
            self.world.write(open.node, offset, moved);
            moved
        } else {
            self.world.read(open.node, offset, length, amount(state, length, drawn))
        };
        event.offset = Some(offset);
        event.result = i64::try_from(moved).ok();
        if call.positioned {
            self.move_to(event.process, fd, offset.saturating_add(moved));
        }
    }

    /// Size of an open file.
    fn end(&self, open: Open) -> u64 {
        self.world.nodes[open.node].bytes
    }

    /// Offset of a call in its file.
    fn place(&mut self, state: &State, open: Open) -> u64 {
        let places = &state.places;
        let again: u64 = places.again.iter().sum();
        let kinds = [places.sequential, places.end, again, places.fresh];
        let node = &self.world.nodes[open.node];
        let kind = pick(&mut self.random, kinds.into_iter());
        if kind == Some(0) {
            return node.end;
        }
        if kind == Some(1) {
            return node.bytes;
        }
        if kind == Some(2) {
            let doubling = pick(&mut self.random, places.again.iter().copied()).unwrap_or(0);
            let before = usize::try_from(gap(&mut self.random, doubling)).unwrap_or(usize::MAX);
            if let Some(at) = node.accesses.len().checked_sub(before) {
                return node.accesses[at];
            }
        }
        let Some(offset) = places.fresh_at.draw(&mut self.random) else { return 0 };
        let is_aligned = below(&mut self.random, (again + places.fresh).max(1)) < places.aligned;
        if is_aligned { offset / BLOCK * BLOCK } else { offset }
    }

    /// A call on a path.
    fn on_path(
        &mut self,
        state: &State,
        call: &Call,
        drawn: Drawn,
        event: &mut Event,
    ) -> Option<()> {
        let again =
            drawn.again.filter(|_| below(&mut self.random, state.count.max(1)) >= state.fresh);
        let node = match state.object {
            Object::Missing => {
                let deep = makes_names(call, event.flags.unwrap_or(0));
                let fit = |node: &super::world::Node| !node.exists && (node.is_deep || !deep);
                let known = again.and_then(|gap| self.world.named(Object::Missing, gap, fit));
                known.unwrap_or_else(|| self.world.missing(deep, &mut self.random))
            }
            _ if state.error == 0 => self.succeeds(call, again, state, event)?,
            _ => self.existing(again, state.object)?,
        };
        self.world.name(node, state.object);
        event.file = self.names(node);
        if call.opens && state.error == 0 {
            self.opens(node, drawn.uses, event);
        }
        Some(())
    }

    /// A file or directory that exists, named before or not.
    fn existing(&mut self, again: Option<u64>, object: Object) -> Option<usize> {
        let fit = |node: &super::world::Node| node.exists && node.object == object;
        let known = again.and_then(|gap| self.world.named(object, gap, fit));
        known.or_else(|| match object {
            Object::Directory => Some(self.world.directory(&mut self.random)),
            _ => Some(self.world.unused(&mut self.random)),
        })
    }

    /// The object of a call that succeeds, with what the call changes.
    fn succeeds(
        &mut self,
        call: &Call,
        again: Option<u64>,
        state: &State,
        event: &mut Event,
    ) -> Option<usize> {
        let flags = event.flags.unwrap_or(0);
        let makes = (call.opens && flags & O_CREAT != 0) || call.name == "creat";
        Some(match call.name {
            "mkdir" | "mkdirat" => self.fresh(Object::Directory),
            "mknod" | "mknodat" | "symlink" | "symlinkat" => self.fresh(Object::File),
            _ if makes && (again.is_none() || flags & O_EXCL != 0) => self.fresh(Object::File),
            "rmdir" => self.empty_directory(again)?,
            "unlinkat" if state.object == Object::Directory => self.empty_directory(again)?,
            "unlink" | "unlinkat" => {
                let node = self.existing(again, Object::File)?;
                self.world.remove(node);
                node
            }
            "rename" | "renameat" | "renameat2" | "link" | "linkat" => {
                if state.object != Object::File {
                    return None;
                }
                let node = self.existing(again, Object::File)?;
                let over = below(&mut self.random, state.count.max(1)) < state.over;
                let other = if over { self.existing(Some(2), Object::File) } else { None };
                let other = other.filter(|other| *other != node && call.name.starts_with("rename"));
                let to = other.unwrap_or_else(|| self.fresh(Object::File));
                let bytes = self.world.nodes[node].bytes;
                self.world.resize(to, bytes);
                self.world.revive(to);
                self.world.name(to, Object::File);
                event.to_file = self.names(to);
                event.flags = event.flags.map(|_| 0);
                if call.name.starts_with("rename") {
                    self.world.remove(node);
                }
                node
            }
            "truncate" => {
                let node = self.existing(again, Object::File)?;
                self.world.resize(node, event.length.unwrap_or(0));
                node
            }
            _ => self.existing(again, state.object)?,
        })
    }

    fn fresh(&mut self, object: Object) -> usize {
        let parent = self.world.parent(&mut self.random);
        self.world.make(parent, object)
    }

    fn empty_directory(&mut self, again: Option<u64>) -> Option<usize> {
        let fit = super::world::Node::is_empty_directory;
        let node = self.world.named(Object::Directory, again.unwrap_or(1), fit)?;
        self.world.remove(node);
        Some(node)
    }

    fn opens(&mut self, node: usize, uses: Option<u64>, event: &mut Event) {
        let mut flags = event.flags.unwrap_or(0);
        if self.world.nodes[node].is_directory() {
            // Directories are opened for reading, and no open makes one.
            flags = flags & !(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC) | O_DIRECTORY;
        } else {
            flags &= !O_DIRECTORY;
        }
        event.flags = event.flags.map(|_| flags);
        if flags & O_TRUNC != 0 || event.call.call().name == "creat" {
            self.world.resize(node, 0);
        }
        let access = if event.call.call().name == "creat" { O_WRONLY } else { flags & O_ACCMODE };
        let open = Open {
            node,
            position: 0,
            appends: flags & O_APPEND != 0,
            reads: access != O_WRONLY,
            writes: access != 0,
            left: uses,
        };
        let fd = self.processes.entry(event.process).or_default().descriptors.add(open);
        event.fd = Some(fd);
        event.result = Some(fd.into());
    }
}

/// True for a call that makes the name if its directory exists.
fn makes_names(call: &Call, flags: u64) -> bool {
    let makes = ["creat", "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat"];
    makes.contains(&call.name) || (call.opens && flags & O_CREAT != 0)
}

/// Draws of a call, from before its object was chosen.
#[derive(Clone, Copy)]
struct Drawn {
    /// Bytes that it moves when it does not move all.
    part: u64,
    /// Namings or descriptors since the last use of its object.
    again: Option<u64>,
    /// Calls on the descriptor that it makes.
    uses: Option<u64>,
}

/// Bytes that a call moves.
fn amount(state: &State, length: u64, drawn: Drawn) -> u64 {
    match state.moved {
        Moved::Nothing => 0,
        Moved::Whole => length,
        Moved::Part => drawn.part.min(length),
    }
}

/// State in which a thread of this program begins.
fn first(program: &Program, random: &mut Random) -> usize {
    pick(random, program.first.iter().copied()).unwrap_or(0)
}
