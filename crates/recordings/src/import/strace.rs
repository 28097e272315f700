//! Import of strace: `strace -f -ttt -T -yy -o FILE COMMAND`, and plainer forms.

use super::constants::{CLONE_THREAD, flags, number};
use super::strace_line::{Call as Said, Clock, Descriptor, call, descriptor, line, string};
use super::{Imported, lines};
use seekwell_trace::calls::{Call, CallId};
use seekwell_trace::meta::Meta;
use seekwell_trace::path::plain;
use seekwell_trace::{Event, FileEntry, FileId, Limits, ProcessEntry, TraceError, TraceWriter};
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;

/// Longest line that is read, bytes.
const LONGEST_LINE: u64 = 1 << 20;
const UNFINISHED: &str = "<unfinished ...>";
const DAY_NS: u64 = 86_400_000_000_000;
const AT_FDCWD: i32 = -100;
const O_APPEND: u64 = 0o2000;

/// Writes the trace `output` from the output of strace in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when lines have no time.
pub fn strace(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let file = lines::open(input)?;
    let mut reader = std::io::BufReader::new(file);
    let mut meta = Meta { gaps: gaps(), ..Meta::new("strace") };
    let mut import = Import::new(TraceWriter::create(output, &meta, Limits::default())?);
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        if read.map_err(TraceError::io("read", input))? == 0 {
            break;
        }
        number += 1;
        if bytes.len() as u64 == LONGEST_LINE {
            import.writer.abandon();
            let problem = "the line has more than 1 MiB; this is no output of strace".to_owned();
            return Err(TraceError::Import { path: input.to_owned(), line: number, problem });
        }
        if import.line(&String::from_utf8_lossy(&bytes))? == Seen::NoTime {
            import.writer.abandon();
            let problem = "no time; record with `strace -f -ttt -T -yy -o FILE`".to_owned();
            return Err(TraceError::Import { path: input.to_owned(), line: number, problem });
        }
    }
    if import.is_empty() {
        let problem = import.nothing();
        import.writer.abandon();
        return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
    }
    meta.started_unix_ns = import.epoch_ns;
    meta.duration_ns = Some(import.last_ns);
    let imported = Imported { events: import.writer.events(), ..import.counts };
    import.writer.finish(&meta)?;
    Ok(imported)
}

fn gaps() -> Vec<String> {
    [
        "times contain the cost of strace itself, 10 µs to 100 µs per call",
        "strace does not see block requests, page faults and single operations of io_uring",
        "offsets of reads and writes at a file's position are followed from its opening; after dup \
         and fork they are unknown",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Line,
    NoTime,
}

#[derive(Clone, Debug, Default)]
struct Open {
    file: Option<FileId>,
    position: Option<u64>,
}

/// A call whose end has not come.
struct Started {
    text: String,
    start_ns: u64,
}

/// Calls of one text, followed.
struct Import {
    writer: TraceWriter,
    counts: Imported,
    epoch_ns: Option<u64>,
    first_ns: Option<u64>,
    last_ns: u64,
    /// True in the table of `-c` and `-C`, which comes last.
    in_summary: bool,
    /// Time of the line before, as its clock says it.
    clock_ns: u64,
    started: HashMap<u32, Started>,
    processes: HashMap<u32, u32>,
    descriptors: HashMap<(u32, i32), Open>,
    directories: HashMap<u32, String>,
    files: HashMap<String, FileId>,
}

impl Import {
    pub(super) fn new(writer: TraceWriter) -> Self {
        Self {
            writer,
            counts: Imported::default(),
            epoch_ns: None,
            first_ns: None,
            last_ns: 0,
            in_summary: false,
            clock_ns: 0,
            started: HashMap::new(),
            processes: HashMap::new(),
            descriptors: HashMap::new(),
            directories: HashMap::new(),
            files: HashMap::new(),
        }
    }

    /// True when lines were read and none was a call.
    fn is_empty(&self) -> bool {
        let counts = &self.counts;
        self.writer.events() == 0 && (counts.damaged > 0 || self.in_summary)
    }

    fn nothing(&self) -> String {
        let found = if self.in_summary { "this is a count of calls (-c)" } else { "no call in it" };
        format!("{found}; record with `strace -f -ttt -T -yy -o FILE`")
    }

    fn line(&mut self, text: &str) -> Result<Seen, TraceError> {
        self.in_summary |= is_summary(text);
        // The stack at a call, of -k.
        if self.in_summary || text.trim_start().starts_with("> ") {
            self.counts.other += 1;
            return Ok(Seen::Line);
        }
        let line = line(text);
        if line.text.is_empty() {
            return Ok(Seen::Line);
        }
        let Some(clock) = line.clock else {
            // A line of strace itself, such as "strace: Process 7 attached".
            if !line.text.contains('(') || line.text.starts_with("strace:") {
                self.counts.other += 1;
                return Ok(Seen::Line);
            }
            if self.first_ns.is_none() {
                return Ok(Seen::NoTime);
            }
            self.counts.damaged += 1;
            return Ok(Seen::Line);
        };
        let now_ns = self.since_start(clock);
        let thread = line.thread.unwrap_or(1);
        if line.text.starts_with("+++") || line.text.starts_with("---") {
            self.counts.other += 1;
            return Ok(Seen::Line);
        }
        if let Some(text) = line.text.strip_suffix(UNFINISHED) {
            let started = Started { text: text.to_owned(), start_ns: now_ns };
            self.started.insert(thread, started);
            return Ok(Seen::Line);
        }
        if let Some(resumed) = line.text.strip_prefix("<... ") {
            let rest = resumed.split_once(" resumed>").map(|(_, rest)| rest);
            let Some((rest, started)) = rest.zip(rest.and_then(|_| self.started.remove(&thread)))
            else {
                self.counts.damaged += 1;
                return Ok(Seen::Line);
            };
            let whole = format!("{}{rest}", started.text);
            self.whole(&whole, thread, started.start_ns, Some(now_ns))?;
            return Ok(Seen::Line);
        }
        self.whole(line.text, thread, now_ns, None)?;
        Ok(Seen::Line)
    }

    /// Time since the first line.
    fn since_start(&mut self, clock: Clock) -> u64 {
        let now_ns = match clock {
            Clock::Epoch(ns) => {
                self.epoch_ns = self.epoch_ns.or(Some(ns));
                ns
            }
            // Half a day back is midnight, less is a clock that was set.
            Clock::Day(ns) => {
                let days = self.clock_ns / DAY_NS;
                let same = days * DAY_NS + ns;
                if same + DAY_NS / 2 < self.clock_ns { same + DAY_NS } else { same }
            }
            Clock::Relative(ns) => self.clock_ns.saturating_add(ns),
        };
        self.clock_ns = now_ns;
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        now_ns.saturating_sub(first_ns)
    }

    /// Adds a call that is complete; `end_ns` is its end where the text has no duration.
    pub(super) fn whole(
        &mut self,
        text: &str,
        thread: u32,
        start_ns: u64,
        end_ns: Option<u64>,
    ) -> Result<(), TraceError> {
        let Some(said) = call(text) else {
            self.counts.damaged += 1;
            return Ok(());
        };
        let Some(id) = known(called(&said)) else {
            self.counts.other += 1;
            self.forget(thread, &said);
            return Ok(());
        };
        let call = id.call();
        if call.name == "mmap" && !said.arguments.get(4).is_some_and(|fd| is_descriptor(fd)) {
            self.counts.other += 1;
            return Ok(());
        }
        let process = self.process(thread, start_ns);
        let event = self.event(call, &said, process, start_ns);
        let duration_ns = said.duration_ns.or(end_ns.map(|end| end.saturating_sub(start_ns)));
        let event = Event { duration_ns, thread, call: id, ..event };
        self.follow(call, &said, &event);
        self.last_ns = self.last_ns.max(start_ns.saturating_add(duration_ns.unwrap_or(0)));
        self.writer.event(event)
    }

    fn process(&mut self, thread: u32, start_ns: u64) -> u32 {
        if let Some(process) = self.processes.get(&thread) {
            return *process;
        }
        self.processes.insert(thread, thread);
        let entry = ProcessEntry { process: thread, parent: None, start_ns, name: None };
        self.writer.process(entry);
        thread
    }

    fn event(&mut self, call: &Call, said: &Said<'_>, process: u32, start_ns: u64) -> Event {
        let text = |index: Option<u8>| {
            index.and_then(|at| said.arguments.get(usize::from(at))).copied().unwrap_or("")
        };
        let mut event = Event::new(start_ns, process, process, CallId(0));
        event.result = said.result;
        event.length = number(text(call.length));
        event.flags = match call.name {
            "clone" => said.arguments.iter().find_map(|part| flags(part.strip_prefix("flags=")?)),
            _ => flags(text(call.flags)),
        };
        if let Some(found) = descriptor(text(call.fd)) {
            event.fd = Some(found.fd);
            event.file = self.of_descriptor(process, found.fd, found.path);
        }
        if call.class != seekwell_trace::calls::Class::Other
            && let Some(found) = descriptor(text(call.to_fd))
        {
            event.to_file = self.of_descriptor(process, found.fd, found.path);
        }
        if call.path.is_some() {
            event.file = self.named(process, text(call.directory), text(call.path));
        }
        if call.to_path.is_some() && !call.is_symlink() {
            event.to_file = self.named(process, text(call.to_directory), text(call.to_path));
        }
        if call.is_symlink()
            && let Some(target) = string(text(call.to_path))
        {
            event.length = Some(target.len() as u64);
            let (directory, link) = (text(call.directory), text(call.path));
            event.to_file = self.target(process, directory, link, &target);
        }
        if let Some(name) = string(text(call.attribute)) {
            event.to_file = self.file(&FileEntry::path_of_attribute(&name));
        }
        if call.opens
            && let Some(fd) = said.result.and_then(|fd| i32::try_from(fd).ok())
        {
            event.fd = Some(fd).filter(|fd| *fd >= 0);
            if let Some(path) = &said.opened {
                event.file = self.file(path);
            }
        }
        event.offset = if call.positioned {
            let open = event.fd.and_then(|fd| self.descriptors.get(&(process, fd)));
            open.and_then(|open| open.position)
        } else {
            number(text(call.offset))
        };
        event
    }

    fn of_descriptor(&mut self, process: u32, fd: i32, path: Option<String>) -> Option<FileId> {
        if fd < 0 {
            return None;
        }
        match path {
            Some(path) => {
                let file = self.file(&path);
                let open = self.descriptors.entry((process, fd)).or_default();
                if open.file != file {
                    *open = Open { file, position: None };
                }
                file
            }
            None => self.descriptors.get(&(process, fd))?.file,
        }
    }

    /// File of a path that may be relative. One that cannot be made whole begins with `…/`.
    fn named(&mut self, process: u32, directory: &str, path: &str) -> Option<FileId> {
        let path = string(path);
        let base = descriptor(directory);
        if let Some(directory) = base.as_ref().filter(|base| base.fd == AT_FDCWD)
            && let Some(path) = directory.path.clone()
        {
            self.directories.insert(process, path);
        }
        if path.as_ref().is_none_or(String::is_empty) {
            let base = base?;
            return self.of_descriptor(process, base.fd, base.path);
        }
        let path = path?;
        let whole = self.absolute(process, base, &path);
        self.file(&whole)
    }

    /// Absolute path of a name that is not empty.
    fn absolute(&self, process: u32, base: Option<Descriptor>, path: &str) -> String {
        if path.starts_with('/') {
            return plain(path.to_owned());
        }
        let of_base = base.and_then(|base| match base.path {
            Some(path) => Some(path),
            None => {
                let file = self.descriptors.get(&(process, base.fd))?.file;
                self.files.iter().find(|(_, id)| Some(**id) == file).map(|(path, _)| path.clone())
            }
        });
        let base = of_base.or_else(|| self.directories.get(&process).cloned());
        match base {
            Some(base) => plain(format!("{base}/{path}")),
            None => format!("…{}", plain(path.to_owned())),
        }
    }

    /// File that the text of a symbolic link leads to: from the directory of the link on.
    fn target(
        &mut self,
        process: u32,
        directory: &str,
        link: &str,
        target: &str,
    ) -> Option<FileId> {
        let link = string(link).filter(|link| !link.is_empty())?;
        let link = self.absolute(process, descriptor(directory), &link);
        let (folder, _) = link.rsplit_once('/')?;
        match target.starts_with('/') {
            true => self.file(&plain(target.to_owned())),
            false => self.file(&plain(format!("{folder}/{target}"))),
        }
    }

    fn file(&mut self, path: &str) -> Option<FileId> {
        if let Some(id) = self.files.get(path) {
            return Some(*id);
        }
        let id = FileId(u32::try_from(self.files.len()).ok()?);
        self.files.insert(path.to_owned(), id);
        self.writer.file(FileEntry {
            id,
            path: Some(path.to_owned()),
            device: None,
            inode: None,
            mode: None,
            bytes: None,
        });
        Some(id)
    }

    /// Keeps descriptors, positions and processes up to date.
    fn follow(&mut self, call: &Call, said: &Said<'_>, event: &Event) {
        let Some(result) = event.result.filter(|result| *result >= 0) else { return };
        let (process, number) = (event.process, i32::try_from(result).unwrap_or(-1));
        let moved = u64::try_from(result).unwrap_or(0);
        let key = event.fd.map(|fd| (process, fd));
        match call.name {
            _ if call.opens => {
                let appends = event.flags.is_none_or(|flags| flags & O_APPEND != 0);
                let position = if appends { None } else { Some(0) };
                self.descriptors.insert((process, number), Open { file: event.file, position });
            }
            _ if call.positioned => {
                if let Some(open) = key.and_then(|key| self.descriptors.get_mut(&key)) {
                    open.position = open.position.map(|position| position.saturating_add(moved));
                }
            }
            "lseek" => {
                if let Some(open) = key.and_then(|key| self.descriptors.get_mut(&key)) {
                    open.position = Some(moved);
                }
            }
            "dup" | "dup2" | "dup3" | "fcntl" if is_copy(call.name, event.flags) => {
                // Both share a position from now on, which is not followed.
                let open = Open { file: event.file, position: None };
                self.descriptors.insert((process, number), open.clone());
                key.and_then(|key| self.descriptors.insert(key, open));
            }
            "close" => drop(key.and_then(|key| self.descriptors.remove(&key))),
            "close_range" => self.descriptors.retain(|(owner, fd), _| {
                let bound = |at: usize| {
                    said.arguments.get(at).and_then(|text| super::constants::number(text))
                };
                let fd = u64::try_from(*fd).unwrap_or(0);
                *owner != process
                    || bound(0).is_none_or(|from| fd < from)
                    || bound(1).is_none_or(|to| fd > to)
            }),
            "chdir" | "fchdir" => {
                let path = self.files.iter().find(|(_, id)| Some(**id) == event.file);
                if let Some(path) = path.map(|(path, _)| path.clone()) {
                    self.directories.insert(process, path);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => self.born(said, event),
            _ => {}
        }
    }

    fn born(&mut self, said: &Said<'_>, event: &Event) {
        let Some(child) = event.result.and_then(|child| u32::try_from(child).ok()) else { return };
        let parent = event.process;
        if said.arguments.iter().any(|part| part.contains(CLONE_THREAD)) {
            self.processes.insert(child, parent);
            return;
        }
        // The child's first lines may come before its parent's.
        if self.processes.insert(child, child).is_none() {
            let start_ns = event.start_ns;
            let entry = ProcessEntry { process: child, parent: Some(parent), start_ns, name: None };
            self.writer.process(entry);
        }
        let shared: Vec<_> = self
            .descriptors
            .iter_mut()
            .filter(|((owner, _), _)| *owner == parent)
            .map(|((_, fd), open)| {
                open.position = None;
                ((child, *fd), open.clone())
            })
            .collect();
        for (key, open) in shared {
            self.descriptors.entry(key).or_insert(open);
        }
        if let Some(directory) = self.directories.get(&parent).cloned() {
            self.directories.entry(child).or_insert(directory);
        }
    }

    /// A descriptor that a call of no interest made is no longer what it was: pipes, sockets.
    fn forget(&mut self, thread: u32, said: &Said<'_>) {
        let makes = ["socket", "accept", "accept4", "eventfd2", "epoll_create1", "memfd_create"];
        if makes.contains(&said.name)
            && let Some(fd) = said.result.and_then(|fd| i32::try_from(fd).ok())
        {
            let process = self.processes.get(&thread).copied().unwrap_or(thread);
            self.descriptors.remove(&(process, fd));
        }
    }
}

/// The head of the table that `-c` and `-C` print.
fn is_summary(text: &str) -> bool {
    text.starts_with("% time ") && text.trim_end().ends_with("syscall")
}

fn is_copy(name: &str, flags: Option<u64>) -> bool {
    const F_DUPFD: u64 = 0;
    const F_DUPFD_CLOEXEC: u64 = 1030;
    name != "fcntl" || matches!(flags, Some(F_DUPFD | F_DUPFD_CLOEXEC))
}

fn is_descriptor(text: &str) -> bool {
    descriptor(text).is_some_and(|found| found.fd >= 0)
}

/// Name of the call in the catalogue. strace names a clone `BTRFS_IOC_CLONE or FICLONE`.
fn called<'a>(said: &Said<'a>) -> &'a str {
    const FICLONE: u64 = 0x4004_9409;
    let clones = |request: &&str| {
        request.ends_with("FICLONE") || super::constants::number(request) == Some(FICLONE)
    };
    match said.name {
        "ioctl" if said.arguments.get(1).is_some_and(clones) => "ioctl_ficlone",
        name => name,
    }
}

/// The call with this name; strace names one that it does not know by its number.
pub(super) fn known(name: &str) -> Option<CallId> {
    let Some(digits) = name.strip_prefix("syscall_0x") else { return CallId::named(name) };
    CallId::numbered(u16::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests;
