//! Block requests of single calls: "this fsync caused these writes".
//!
//! Calls and requests are joined by time and process. A request that was issued while a call was in
//! progress is the call's own when its process issued it. When a thread of the kernel issued it, such as
//! that of the journal, it may be of every call in progress then. Requests of other processes that have
//! calls belong to those; those of other programs are counted, and are no call's.

mod text;

pub use text::text;

use crate::issuers::Issuers;
use seekwell_trace::calls::CallId;
use seekwell_trace::path::is_below;
use seekwell_trace::{Event, FileEntry, FileId, Request, Trace, TraceError};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Columns of calls that are not needed.
const NOT_NEEDED: [&str; 8] =
    ["fd", "offset", "length", "cpu_ns", "waited_ns", "waker", "woken_ns", "awaited_ns"];
/// Requests of a call that are named; all are counted.
const NAMED: usize = 100;

/// Calls to look at. What is not given does not limit.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Calls; none for those that wait until data is on the device.
    pub calls: Vec<CallId>,
    /// Directories and files; a call is looked at when one of its files is one of them or below.
    pub paths: Vec<String>,
    /// Processes.
    pub processes: Vec<u32>,
    /// So many of them, those that took longest.
    pub longest: usize,
}

/// Calls with the block requests that they caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Caused {
    /// Wanted calls in the trace.
    pub calls: u64,
    /// Time in all of them.
    pub time_ns: u64,
    /// Those whose duration is not known; no request can be joined to them.
    pub untimed: u64,
    /// True when the trace has block requests.
    pub has_requests: bool,
    /// Lost events, of all kinds.
    pub lost: u64,
    /// Those that took longest, the longest first.
    pub longest: Vec<CausedBy>,
}

/// A call with its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CausedBy {
    /// Call.
    pub call: &'static str,
    /// From the start of the trace.
    pub start_ns: u64,
    /// Duration.
    pub duration_ns: u64,
    /// Process.
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// Path of its file, if it is known.
    pub path: Option<String>,
    /// Requests that its process issued meanwhile.
    pub own: Total,
    /// Those of the kernel's threads.
    pub others: Total,
    /// Those of programs without calls in the trace: the call did not cause them.
    pub unrelated: Total,
    /// Own ones and those of the kernel's threads, in the order of their completion, the first hundred.
    pub requests: Vec<CausedRequest>,
}

/// Sums of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Requests.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A request of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CausedRequest {
    /// From the start of the call to the issue.
    pub after_ns: u64,
    /// Time until it was complete.
    pub duration_ns: Option<u64>,
    /// Process that issued it, if it is known.
    pub process: Option<u32>,
    /// Name of that process, if it is known.
    pub program: Option<String>,
    /// True when the call's own process issued it.
    pub own: bool,
    /// Operation.
    pub operation: &'static str,
    /// Letters of blktrace: S sync, M metadata, F forced unit access, P preflush, A read-ahead.
    pub flags: String,
    /// Device: major number << 20 | minor number.
    pub device: u32,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Size, bytes.
    pub bytes: u64,
}

/// A wanted call; the order is that of durations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chosen {
    duration_ns: u64,
    /// The earlier of two equal ones comes first.
    start_ns: Reverse<u64>,
    thread: u32,
    process: u32,
    call: u16,
    file: Option<FileId>,
}

impl Chosen {
    fn end_ns(&self) -> u64 {
        self.start_ns.0.saturating_add(self.duration_ns)
    }
}

/// Finds the requests of the wanted calls that took longest, in two passes as streams.
///
/// # Errors
/// When a segment is damaged.
pub fn caused(trace: &Trace, wanted: &Wanted) -> Result<Caused, TraceError> {
    let files = trace.files()?;
    let mut caused = Caused {
        has_requests: trace.meta().requests,
        lost: trace.meta().lost_events(),
        ..Caused::default()
    };
    let (chosen, calling) = choose(trace, wanted, &files, &mut caused)?;
    let processes = trace.processes()?;
    let issuers = Issuers::new(trace.meta(), &processes);
    let names = processes.into_iter().filter_map(|row| Some((row.process, row.name?)));
    let names: HashMap<u32, String> = names.collect();
    let path = |id: FileId| FileEntry::find(&files, id)?.path.clone();
    let mut longest: Vec<CausedBy> = chosen.iter().map(|call| described(call, path)).collect();
    let spans = Spans::of(&chosen);
    trace.requests(|request| {
        let is_calling = request.process.is_some_and(|process| calling.contains(&process));
        let is_kernel = issuers.are_kernel(&request) && issuers.are_on_device(&request);
        spans.at(request.start_ns, |at| {
            let call = &mut longest[at];
            let own = request.process == Some(call.process) && issuers.are_on_device(&request);
            if own || (!is_calling && is_kernel) {
                call.add(&request, own, &names);
            } else if !is_calling {
                call.unrelated.add(&request);
            }
        });
        Ok(())
    })?;
    caused.longest = longest;
    Ok(caused)
}

/// The wanted calls that took longest, the longest first, and all processes with calls.
fn choose(
    trace: &Trace,
    wanted: &Wanted,
    files: &[FileEntry],
    caused: &mut Caused,
) -> Result<(Vec<Chosen>, HashSet<u32>), TraceError> {
    let is_inside = |file: &&FileEntry| {
        let path = file.path.as_deref();
        path.is_some_and(|path| wanted.paths.iter().any(|limit| is_below(path, limit)))
    };
    let inside: HashSet<FileId> = files.iter().filter(is_inside).map(|file| file.id).collect();
    let is_wanted = |event: &Event| {
        let named = [event.file, event.to_file];
        let is_named = match wanted.calls.is_empty() {
            true => event.is_sync(),
            false => wanted.calls.contains(&event.call),
        };
        is_named
            && (wanted.processes.is_empty() || wanted.processes.contains(&event.process))
            && (wanted.paths.is_empty() || named.iter().flatten().any(|file| inside.contains(file)))
    };
    let mut calling = HashSet::new();
    let mut longest = BinaryHeap::new();
    trace.events_without(&NOT_NEEDED, |event| {
        calling.insert(event.process);
        if !is_wanted(&event) {
            return Ok(());
        }
        caused.calls += 1;
        let Some(duration_ns) = event.duration_ns else {
            caused.untimed += 1;
            return Ok(());
        };
        caused.time_ns = caused.time_ns.saturating_add(duration_ns);
        longest.push(Reverse(Chosen {
            duration_ns,
            start_ns: Reverse(event.start_ns),
            thread: event.thread,
            process: event.process,
            call: event.call.0,
            file: event.file,
        }));
        if longest.len() > wanted.longest {
            longest.pop();
        }
        Ok(())
    })?;
    let chosen = longest.into_sorted_vec().into_iter().map(|Reverse(call)| call);
    Ok((chosen.collect(), calling))
}

fn described(chosen: &Chosen, path: impl Fn(FileId) -> Option<String>) -> CausedBy {
    CausedBy {
        call: CallId(chosen.call).call().name,
        start_ns: chosen.start_ns.0,
        duration_ns: chosen.duration_ns,
        process: chosen.process,
        thread: chosen.thread,
        path: chosen.file.and_then(path),
        ..CausedBy::default()
    }
}

impl Total {
    fn add(&mut self, request: &Request) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(request.bytes);
    }
}

impl CausedBy {
    fn add(&mut self, request: &Request, own: bool, names: &HashMap<u32, String>) {
        let total = if own { &mut self.own } else { &mut self.others };
        total.add(request);
        if self.requests.len() >= NAMED {
            return;
        }
        self.requests.push(CausedRequest {
            after_ns: request.start_ns - self.start_ns,
            duration_ns: request.duration_ns,
            process: request.process,
            program: request.process.and_then(|process| names.get(&process).cloned()),
            own,
            operation: request.operation.name(),
            flags: request.flags.letters(),
            device: request.device,
            sector: request.sector,
            bytes: request.bytes,
        });
    }
}

/// Spans of calls, to find those at a time.
struct Spans {
    /// Start, end and place of each, by start.
    spans: Vec<(u64, u64, usize)>,
    /// The latest end of each and those before it.
    ends: Vec<u64>,
}

impl Spans {
    fn of(calls: &[Chosen]) -> Self {
        let spans = calls.iter().enumerate();
        let mut spans: Vec<_> =
            spans.map(|(at, call)| (call.start_ns.0, call.end_ns(), at)).collect();
        spans.sort_unstable();
        let mut last = 0;
        let ends = spans.iter().map(|(_, end, _)| {
            last = u64::max(last, *end);
            last
        });
        Self { ends: ends.collect(), spans }
    }

    /// Hands the place of every call that was in progress at this time to `each`.
    fn at(&self, ns: u64, mut each: impl FnMut(usize)) {
        let begun = self.spans.partition_point(|(start, _, _)| *start <= ns);
        for ((_, end, at), latest) in self.spans[..begun].iter().zip(&self.ends[..begun]).rev() {
            if *latest < ns {
                break;
            }
            if *end >= ns {
                each(*at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
