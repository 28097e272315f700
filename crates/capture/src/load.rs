//! Loads the compiled programs: makes their maps, writes the kernel's offsets into their constants
//! and attaches them to tracepoints.

use crate::bpf;
use crate::btf::{Btf, VMLINUX};
use crate::error::CaptureError;
use crate::kernel::{Kernel, Select};
use crate::ring::Ring;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use seekwell_trace::calls::{CALLS, Call, OPERATIONS};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::resume_unwind;

/// The compiled programs; empty when the build had no clang.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);
static OBJECT: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/capture.bpf.o")));

/// Flags of a call in the map `calls`; they are those of the programs.
fn flags(call: &Call) -> u32 {
    const MMAP: u16 = 9;
    const SUBMITS: u32 = 1 << 16;
    const AWAITS: u32 = 1 << 17;
    const MAPS: u32 = 1 << 19;
    const ONLY_CLONES: u32 = 1 << 20;
    let more = match call.name {
        "io_submit" => SUBMITS,
        "io_getevents" | "io_pgetevents" => AWAITS,
        "mmap" | "munmap" | "mremap" => MAPS,
        "ioctl_ficlone" => ONLY_CLONES,
        _ => 0,
    };
    let path = |index: Option<u8>| index.map_or(0, |index| u32::from(index) + 1);
    1 | u32::from(call.opens) << 1
        | u32::from(call.positioned) << 2
        | u32::from(call.changes_directory) << 3
        | u32::from(call.number == MMAP) << 4
        | u32::from(matches!(call.name, "execve" | "execveat")) << 5
        | path(call.path) << 8
        | path(call.to_path.or(call.attribute)) << 12
        | more
}

/// Calls that make descriptors of what is no file, so that these are not taken for an earlier file of
/// the same number: `eventfd`, `accept`, `socket` and the like, and `open_by_handle_at`, which knows no path. They
/// are not in the trace.
#[rustfmt::skip]
const MAKERS: [u32; 25] = [
    41, 43, 213, 240, 253, 282, 283, 284, 288, 289, 290, 291, 294, 298, 300, 304, 319, 323, 428, 430, 432, 433, 434,
    438, 447,
];
/// `pipe`, `pipe2` and `socketpair` make two.
const PIPES: [u32; 3] = [22, 293, 53];

/// Calls by which threads wait for each other and wake each other: those of futexes, and `exit`, which
/// wakes the thread that joins the one that ends. They are not in the trace.
const TOGETHER: [u32; 6] = [60, 202, 449, 454, 455, 456];

/// Calls in which a process waits for another one, and those that wake it: `poll`, `select`, `epoll`, sockets,
/// `wait4`, signals, semaphores and queues of System V. They are not in the trace.
#[rustfmt::skip]
const PEERS: [u32; 30] = [
    7, 23, 34, 42, 44, 45, 46, 47, 48, 61, 62, 65, 69, 70, 128, 130, 200, 220, 232, 234, 242, 243, 247, 270, 271, 281,
    299, 307, 424, 441,
];

/// Calls that are recorded, with their flags.
pub(crate) fn recorded_calls() -> impl Iterator<Item = (u32, u32)> {
    let calls = CALLS.iter().filter(|call| call.number < OPERATIONS);
    let makers = MAKERS.iter().map(|number| (*number, 1 | 1 << 1));
    let pipes = PIPES.iter().map(|number| (*number, 1 | 1 << 6));
    let together = TOGETHER.iter().map(|number| (*number, 1 | 1 << 18));
    let peers = PEERS.iter().map(|number| (*number, 1 | 1 << 21));
    calls
        .map(|call| (u32::from(call.number), flags(call)))
        .chain(makers)
        .chain(pipes)
        .chain(together)
        .chain(peers)
}

/// Places for threads, and the size of each: those of the programs.
const PLACES: u32 = 65536;
const THREAD_BYTES: usize = 216;

/// A call that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InProgress {
    pub(crate) thread: u32,
    pub(crate) number: u32,
    pub(crate) start_ns: u64,
    pub(crate) args: [u64; 6],
}

impl InProgress {
    /// That of a thread, as the programs keep it in `struct thread`; `None` between calls.
    fn of(thread: &[u8; THREAD_BYTES]) -> Option<Self> {
        const RECORDED: u32 = 1;
        let word = |at: usize| thread[at..].first_chunk().copied().map_or(0, u32::from_ne_bytes);
        let long = |at: usize| thread[at..].first_chunk().copied().map_or(0, u64::from_ne_bytes);
        let (id, inside) = (word(0), word(76));
        (id != 0 && inside == RECORDED).then(|| Self {
            thread: id,
            number: word(72),
            start_ns: long(16),
            args: std::array::from_fn(|nth| long(24 + 8 * nth)),
        })
    }
}

/// Loaded programs and their maps. Dropping it detaches them.
#[derive(Default)]
pub(crate) struct Loaded {
    maps: HashMap<String, OwnedFd>,
    programs: Vec<OwnedFd>,
    links: Vec<OwnedFd>,
    /// The ring of each CPU.
    pub(crate) rings: Vec<Ring>,
    /// Programs that others go on in.
    followers: Vec<OwnedFd>,
    /// True when single operations of `io_uring` are recorded.
    pub(crate) uring: bool,
    /// True when page faults of mapped files are recorded.
    pub(crate) faults: bool,
}

/// Loads the programs, not yet attached.
///
/// # Errors
/// When the build has none, or the kernel lacks something or refuses.
pub(crate) fn load(select: Select, ring_bytes: u32, block: bool) -> Result<Loaded, CaptureError> {
    if OBJECT.0.is_empty() {
        return Err(CaptureError::NotBuilt);
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(CaptureError::Architecture);
    }
    let vmlinux = std::fs::read(VMLINUX).map_err(|_| CaptureError::Btf("it is not there"))?;
    let btf = Btf::parse(&vmlinux)?;
    let object = object::File::parse(&OBJECT.0).map_err(damaged)?;
    raise_locked_memory();
    let kernel = Kernel::of(&btf)?;
    let mut loaded = Loaded::with_maps(&object, &kernel, select, ring_bytes)?;
    let mut codes = Vec::new();
    for section in object.sections() {
        let name = section.name().map_err(damaged)?;
        if let Some((tracepoint, place)) = follower(name) {
            codes.push((Some(place), loaded.code(&btf, &object, &section, tracepoint)?));
            continue;
        }
        let Some(program) = name.strip_prefix("tp_btf/") else { continue };
        if kernel.has(program) && (block || !program.starts_with("block_")) {
            let tracepoint = program.split('/').next().unwrap_or(program);
            codes.push((None, loaded.code(&btf, &object, &section, tracepoint)?));
        }
    }
    // Most of the time is the kernel's verifier, which takes several programs at a time.
    let programs: Vec<_> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (_, code) in &codes {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || code.load());
            threads.push(thread.map_err(|_| code));
        }
        let loaded = threads.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The machine has no thread left.
            Err(code) => code.load(),
        });
        loaded.collect()
    });
    for ((place, code), program) in codes.iter().zip(programs) {
        match place {
            Some(place) => loaded.follow(code.tracepoint, *place, program?)?,
            None => loaded.programs.push(program?),
        }
    }
    Ok(loaded)
}

/// A program for a tracepoint, ready for the kernel.
struct Code<'a> {
    tracepoint: &'a str,
    type_id: u32,
    instructions: Vec<u8>,
}

impl Code<'_> {
    fn load(&self) -> Result<OwnedFd, CaptureError> {
        bpf::program(&self.instructions, b"Dual MIT/GPL\0", self.type_id)
            .map_err(CaptureError::bpf(format!("load the program for {}", self.tracepoint)))
    }
}

/// The tracepoint whose program continues in the one of this section, and its place among those.
fn follower(section: &str) -> Option<(&str, u32)> {
    let (tracepoint, place) = section.strip_prefix("tail/")?.split_once('/')?;
    Some((tracepoint, place.parse().ok()?))
}

fn damaged(error: object::Error) -> CaptureError {
    CaptureError::Object(error.to_string())
}

/// Kernels before 5.11 count maps as locked memory.
fn raise_locked_memory() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Later kernels do not need it; on earlier ones the map that does not fit says so.
    let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
}

impl Loaded {
    /// The maps, before any program is loaded.
    fn with_maps(
        object: &object::File<'_>,
        kernel: &Kernel,
        select: Select,
        ring_bytes: u32,
    ) -> Result<Self, CaptureError> {
        let (uring, faults) = (kernel.has_uring(), kernel.has_faults());
        let mut loaded = Self { uring, faults, ..Self::default() };
        loaded.make_maps(object, ring_bytes)?;
        loaded.fill_calls()?;
        loaded.make_constants(&kernel.constants(select))?;
        Ok(loaded)
    }

    /// The program in a section, for a tracepoint.
    fn code<'t>(
        &self,
        btf: &Btf<'_>,
        object: &object::File<'_>,
        section: &object::Section<'_, '_>,
        tracepoint: &'t str,
    ) -> Result<Code<'t>, CaptureError> {
        let type_id = btf
            .typedef(&format!("btf_trace_{tracepoint}"))
            .ok_or(CaptureError::Kernel(format!("tracepoint {tracepoint}")))?;
        Ok(Code { tracepoint, type_id, instructions: self.relocate(object, section)? })
    }

    /// Lets the program of a tracepoint go on in another.
    fn follow(
        &mut self,
        tracepoint: &str,
        place: u32,
        program: OwnedFd,
    ) -> Result<(), CaptureError> {
        let map = if tracepoint == "sys_enter" { "after_enter" } else { "after_exit" };
        let value = program.as_raw_fd().to_ne_bytes();
        bpf::update(self.map(map)?, &place.to_ne_bytes(), &value)
            .map_err(CaptureError::bpf(format!("fill the map {map}")))?;
        self.followers.push(program);
        Ok(())
    }

    fn map(&self, name: &str) -> Result<&OwnedFd, CaptureError> {
        self.maps.get(name).ok_or_else(|| CaptureError::Object(format!("map {name} not found")))
    }

    fn make_maps(
        &mut self,
        object: &object::File<'_>,
        ring_bytes: u32,
    ) -> Result<(), CaptureError> {
        let section = object
            .section_by_name("maps")
            .ok_or_else(|| CaptureError::Object("section maps not found".to_owned()))?;
        let (index, bytes) = (section.index(), section.data().map_err(damaged)?);
        let cpus = u32::try_from(possible_cpus()).unwrap_or(1);
        for symbol in object.symbols().filter(|symbol| symbol.section_index() == Some(index)) {
            let name = symbol.name().map_err(damaged)?.to_owned();
            let at = usize::try_from(symbol.address()).unwrap_or(usize::MAX);
            let word = |nth: usize| {
                let place = at.checked_add(4 * nth)?;
                let four = bytes.get(place..place.checked_add(4)?)?;
                four.try_into().ok().map(u32::from_ne_bytes)
            };
            let (Some(kind), Some(key), Some(value), Some(entries)) =
                (word(0), word(1), word(2), word(3))
            else {
                continue;
            };
            let refused = || CaptureError::bpf(format!("make the map {name}"));
            let fd = if kind == bpf::MAP_ARRAY_OF_MAPS {
                let rings = (0..cpus).map(|_| bpf::map(bpf::MAP_RING, 0, 0, ring_bytes, 0, None));
                let rings: Vec<_> = rings.collect::<Result<_, _>>().map_err(refused())?;
                let outer = bpf::map(kind, key, value, cpus, 0, rings.first()).map_err(refused())?;
                for (cpu, ring) in (0_u32..).zip(rings) {
                    let inner = ring.as_raw_fd().to_ne_bytes();
                    bpf::update(&outer, &cpu.to_ne_bytes(), &inner).map_err(refused())?;
                    self.rings.push(Ring::open(ring, ring_bytes as usize).map_err(refused())?);
                }
                outer
            } else {
                bpf::map(kind, key, value, entries, 0, None).map_err(refused())?
            };
            self.maps.insert(name, fd);
        }
        Ok(())
    }

    fn fill_calls(&self) -> Result<(), CaptureError> {
        let map = self.map("calls")?;
        for (number, flags) in recorded_calls() {
            bpf::update(map, &number.to_ne_bytes(), &flags.to_ne_bytes())
                .map_err(CaptureError::bpf("fill the map calls"))?;
        }
        Ok(())
    }

    fn make_constants(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let map = bpf::map(bpf::MAP_ARRAY, 4, length, 1, bpf::READ_ONLY_FOR_PROGRAMS, None)
            .and_then(|map| {
                bpf::update(&map, &0_u32.to_ne_bytes(), bytes)?;
                bpf::freeze(&map)?;
                Ok(map)
            })
            .map_err(CaptureError::bpf("make the map of constants"))?;
        self.maps.insert("AT".to_owned(), map);
        Ok(())
    }

    /// The instructions with the descriptors of their maps.
    fn relocate(
        &self,
        object: &object::File<'_>,
        section: &object::Section<'_, '_>,
    ) -> Result<Vec<u8>, CaptureError> {
        let mut code = section.data().map_err(damaged)?.to_vec();
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = object.symbol_by_index(symbol).map_err(damaged)?;
            let name = symbol.name().map_err(damaged)?;
            let fd = self.map(name)?.as_raw_fd();
            let outside = || CaptureError::Object(format!("relocation of {name} outside"));
            let at = usize::try_from(at).map_err(|_| outside())?;
            let place = code.get_mut(at..at + 16).ok_or_else(outside)?;
            // A map itself is pseudo source 1; a value of a map is 2, and its offset, which the
            // compiler left in the first half, belongs into the second.
            if name == "AT" {
                let (first, second) = place.split_at_mut(8);
                second[4..8].copy_from_slice(&first[4..8]);
                place[1] = (place[1] & 0x0f) | 0x20;
            } else {
                place[1] = (place[1] & 0x0f) | 0x10;
            }
            place[4..8].copy_from_slice(&fd.to_ne_bytes());
        }
        Ok(code)
    }

    /// Attaches every program; from here on calls are recorded.
    pub(crate) fn attach(&mut self) -> Result<(), CaptureError> {
        for program in &self.programs {
            let link = bpf::attach(program).map_err(CaptureError::bpf("attach a program"))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Detaches the programs; the rings can still be read.
    pub(crate) fn detach(&mut self) {
        self.links.clear();
    }

    /// Records the calls of a thread.
    pub(crate) fn choose(&self, thread: u32) -> Result<(), CaptureError> {
        let mut fresh = [0; THREAD_BYTES];
        fresh[..4].copy_from_slice(&thread.to_ne_bytes());
        let refused = || CaptureError::bpf(format!("choose thread {thread}"));
        let (place, found) = self.place(thread).map_err(refused())?;
        if found == thread {
            // Chosen by its first call, or because the thread that started it was: it may be in one.
            return Ok(());
        }
        if found == 0 {
            return bpf::update(self.map("threads")?, &place, &fresh).map_err(refused());
        }
        bpf::update(self.map("is_elsewhere")?, &0_u32.to_ne_bytes(), &1_u32.to_ne_bytes())
            .map_err(refused())?;
        bpf::update(self.map("elsewhere")?, &thread.to_ne_bytes(), &fresh).map_err(refused())
    }

    /// Records no more calls of a thread.
    pub(crate) fn leave(&self, thread: u32) -> Result<(), CaptureError> {
        let refused = || CaptureError::bpf(format!("leave thread {thread}"));
        let (place, found) = self.place(thread).map_err(refused())?;
        if found == thread {
            return bpf::update(self.map("threads")?, &place, &[0; THREAD_BYTES])
                .map_err(refused());
        }
        bpf::delete(self.map("elsewhere")?, &thread.to_ne_bytes()).map_err(refused())
    }

    /// The place of a thread, as a key, and the thread that has it, 0 if none does.
    fn place(&self, thread: u32) -> std::io::Result<([u8; 4], u32)> {
        let place = (thread & (PLACES - 1)).to_ne_bytes();
        let mut there = [0; THREAD_BYTES];
        bpf::lookup(self.map("threads").map_err(std::io::Error::other)?, &place, &mut there)?;
        Ok((place, u32::from_ne_bytes([there[0], there[1], there[2], there[3]])))
    }

    /// Records the page faults of a process between these addresses too.
    pub(crate) fn choose_ranges(
        &self,
        process: u32,
        ranges: impl Iterator<Item = (u64, u64)>,
    ) -> Result<(), CaptureError> {
        const RANGES: usize = 16;
        let mut places: Vec<(u64, u64)> = Vec::new();
        for (start, end) in ranges {
            let is_full = places.len() == RANGES;
            match places.last_mut() {
                Some(last) if last.1 == start || is_full => last.1 = end,
                _ => places.push((start, end)),
            }
        }
        places.resize(RANGES, (0, 0));
        let bytes: Vec<u8> = places
            .iter()
            .flat_map(|(start, end)| [start, end])
            .flat_map(|at| at.to_ne_bytes())
            .collect();
        match bpf::update(self.map("mapped")?, &process.to_ne_bytes(), &bytes) {
            // So many processes have files mapped that their pages have no place.
            Err(error) if error.raw_os_error() == Some(libc::E2BIG) => Ok(()),
            done => {
                done.map_err(CaptureError::bpf(format!("choose the mappings of process {process}")))
            }
        }
    }

    /// Records the calls of every thread below this cgroup.
    pub(crate) fn choose_cgroup(&self, folder: &OwnedFd) -> Result<(), CaptureError> {
        let value = folder.as_raw_fd().to_ne_bytes();
        bpf::update(self.map("cgroups")?, &0_u32.to_ne_bytes(), &value)
            .map_err(CaptureError::bpf("choose the cgroup"))
    }

    /// Calls that have begun and not ended. Once the programs are detached nothing changes any more.
    pub(crate) fn in_progress(&self) -> Result<Vec<InProgress>, CaptureError> {
        let refused = || CaptureError::bpf("read the map threads");
        let mut found = Vec::new();
        bpf::values(self.map("threads")?, THREAD_BYTES, &mut |value| {
            found.extend(value.first_chunk().and_then(InProgress::of));
        })
        .map_err(refused())?;
        let mut value = [0; THREAD_BYTES];
        let elsewhere = self.map("elsewhere")?;
        let (mut key, mut next) = (None, [0; 4]);
        while bpf::next_key(elsewhere, key.as_ref().map(<[u8; 4]>::as_slice), &mut next)
            .map_err(refused())?
        {
            if bpf::lookup(elsewhere, &next, &mut value).is_ok() {
                found.extend(InProgress::of(&value));
            }
            key = Some(next);
        }
        Ok(found)
    }

    /// Losses so far: for each kind, of each CPU.
    pub(crate) fn losses(&self) -> Result<Vec<Vec<u64>>, CaptureError> {
        let map = self.map("losses")?;
        let mut all = Vec::new();
        for kind in (0_u32..).take(crate::LOSSES.len()) {
            let mut bytes = vec![0; possible_cpus() * 8];
            bpf::lookup(map, &kind.to_ne_bytes(), &mut bytes)
                .map_err(CaptureError::bpf("read the map losses"))?;
            let counts = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_ne_bytes(*eight));
            all.push(counts.collect());
        }
        Ok(all)
    }
}

/// CPUs that the machine can have: the kernel keeps a value of each in maps per CPU.
fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map_or(1, |last| last + 1)
}

#[cfg(test)]
mod tests;
