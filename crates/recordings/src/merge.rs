//! Several traces as one: parts of a long capture, or captures of one machine. Processes,
//! devices and paths with equal names are taken for the same.

use seekwell_trace::meta::{Meta, Tree};
use seekwell_trace::{Event, FileId, Limits, Request, Trace, TraceError, TraceWriter};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Rows that travel together between the threads.
const ROWS: usize = 4096;

/// Rows of one trace, or the error that ended it.
type Rows<T> = Result<Vec<T>, TraceError>;

/// Writes the traces as the trace `output`, in the order of time. Returns the number of events.
///
/// Times are joined by the start of each trace; without one it begins with the first of them. The same
/// file of several traces is one file; processes keep their numbers.
///
/// # Errors
/// When a segment is damaged or the output cannot be written.
pub fn merge(traces: &[Trace], output: &Path) -> Result<u64, TraceError> {
    let starts = traces.iter().filter_map(|trace| trace.meta().started_unix_ns);
    let first_ns = starts.min();
    let later_ns: Vec<u64> = traces
        .iter()
        .map(|trace| {
            trace.meta().started_unix_ns.zip(first_ns).map_or(0, |(own, first)| own - first)
        })
        .collect();
    let meta = description(traces, first_ns, &later_ns);
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let numbers = files(traces, &mut writer)?;
    for (trace, later_ns) in traces.iter().zip(&later_ns) {
        trace.initial(|entry| writer.initial(entry))?;
        for mut process in trace.processes()? {
            process.start_ns = process.start_ns.saturating_add(*later_ns);
            writer.process(process);
        }
    }
    std::thread::scope(|scope| {
        let senders =
            traces.iter().zip(&numbers).zip(&later_ns).map(|((trace, numbers), later)| {
                let (sender, receiver) = sync_channel(4);
                scope.spawn(move || send_events(trace, numbers, *later, &sender));
                receiver
            });
        join(senders.collect(), Event::end_ns, |event| writer.event(event))
    })?;
    std::thread::scope(|scope| {
        let senders = traces.iter().zip(&later_ns).map(|(trace, later)| {
            let (sender, receiver) = sync_channel(4);
            scope.spawn(move || send_requests(trace, *later, &sender));
            receiver
        });
        join(senders.collect(), Request::end_ns, |request| writer.request(request))
    })?;
    let events = writer.events();
    writer.finish(&meta)?;
    Ok(events)
}

fn description(traces: &[Trace], first_ns: Option<u64>, later_ns: &[u64]) -> Meta {
    let metas = || traces.iter().map(Trace::meta);
    let ends = metas().zip(later_ns).map(|(meta, later)| Some(meta.duration_ns? + later));
    let mut meta = Meta::new("merge");
    meta.started_unix_ns = first_ns;
    meta.duration_ns = ends.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max());
    meta.kernel = metas().find_map(|meta| meta.kernel.clone());
    meta.requests = metas().any(|meta| meta.requests);
    // A mapping without faults would look untouched.
    meta.faults = metas().all(|meta| meta.faults);
    // One trace with names has names.
    meta.anonymous = metas().all(|meta| meta.anonymous);
    meta.unrecorded_ns = unrecorded(traces, later_ns, meta.duration_ns);
    // A trace without limits has everything.
    if metas().all(|meta| !meta.paths.is_empty()) {
        meta.paths = metas().flat_map(|meta| meta.paths.clone()).collect();
    }
    // Devices that one trace does not name are unknown.
    if metas().all(|meta| !meta.devices.is_empty()) {
        meta.devices = metas().flat_map(|meta| meta.devices.clone()).collect();
        meta.devices.sort_unstable();
        meta.devices.dedup();
    } else {
        meta.devices.clear();
    }
    for found in metas() {
        meta.initial.extend(found.initial.iter().cloned());
        for mount in &found.mounts {
            if !meta.mounts.contains(mount) {
                meta.mounts.push(mount.clone());
            }
        }
        meta.lost.extend(found.lost.iter().cloned());
        meta.unfinished.extend(found.unfinished.iter().cloned());
        meta.gaps.extend(found.gaps.iter().cloned());
    }
    for list in [&mut meta.paths, &mut meta.gaps] {
        let mut seen = std::collections::HashSet::new();
        list.retain(|text| seen.insert(text.clone()));
    }
    meta.initial.dedup_by(|next: &mut Tree, before| next == before);
    meta
}

/// Times of the output in which no trace recorded; none when the end of a trace is not known.
fn unrecorded(traces: &[Trace], later_ns: &[u64], duration_ns: Option<u64>) -> Vec<(u64, u64)> {
    let Some(duration_ns) = duration_ns else { return Vec::new() };
    // Borders of what is recorded: 1 where it begins, -1 where it ends.
    let mut borders: Vec<(u64, i32)> = Vec::new();
    for (trace, later_ns) in traces.iter().zip(later_ns) {
        let meta = trace.meta();
        let at = |ns: u64| ns.saturating_add(*later_ns);
        borders.extend([(at(0), 1), (at(meta.duration_ns.unwrap_or(0)), -1)]);
        borders.extend(
            meta.unrecorded_ns.iter().flat_map(|(from, to)| [(at(*from), -1), (at(*to), 1)]),
        );
    }
    borders.push((duration_ns, 1));
    borders.sort_by_key(|(ns, change)| (*ns, -change));
    let (mut since_ns, mut depth, mut all) = (0, 0, Vec::new());
    for (ns, change) in borders {
        if depth == 0 && ns > since_ns {
            all.push((since_ns, ns));
        }
        depth += change;
        since_ns = ns;
    }
    all
}

/// Writes the files; the number in the output of each file of each trace, by its number there.
fn files(
    traces: &[Trace],
    writer: &mut TraceWriter,
) -> Result<Vec<HashMap<FileId, FileId>>, TraceError> {
    let mut known = HashMap::new();
    let mut next = 0;
    let mut all = Vec::new();
    for (nth, trace) in traces.iter().enumerate() {
        let mut numbers = HashMap::new();
        for mut file in trace.files()? {
            let old = file.id;
            // Another inode at the same path is another file; without a path none is the same.
            let key = (file.path.clone(), file.device, file.inode);
            let other = file.path.is_none().then_some((nth, old));
            let id = *known.entry((key, other)).or_insert_with(|| {
                next += 1;
                FileId(next - 1)
            });
            numbers.insert(old, id);
            file.id = id;
            writer.file(file);
        }
        all.push(numbers);
    }
    Ok(all)
}

fn send_events(
    trace: &Trace,
    numbers: &HashMap<FileId, FileId>,
    later_ns: u64,
    sender: &SyncSender<Rows<Event>>,
) {
    let mut rows = Vec::with_capacity(ROWS);
    let number = |file: Option<FileId>| file.and_then(|file| numbers.get(&file).copied());
    let done = trace.events(|event| {
        rows.push(Event {
            start_ns: event.start_ns.saturating_add(later_ns),
            file: number(event.file),
            to_file: number(event.to_file),
            ..event
        });
        if rows.len() == ROWS {
            // Nothing receives after an error elsewhere, which is returned there.
            let _ = sender.send(Ok(std::mem::replace(&mut rows, Vec::with_capacity(ROWS))));
        }
        Ok(())
    });
    let _ = sender.send(done.map(|_| rows));
}

fn send_requests(trace: &Trace, later_ns: u64, sender: &SyncSender<Rows<Request>>) {
    let mut rows = Vec::with_capacity(ROWS);
    let done = trace.requests(|request| {
        rows.push(Request { start_ns: request.start_ns.saturating_add(later_ns), ..request });
        if rows.len() == ROWS {
            // As above.
            let _ = sender.send(Ok(std::mem::replace(&mut rows, Vec::with_capacity(ROWS))));
        }
        Ok(())
    });
    let _ = sender.send(done.map(|()| rows));
}

/// Rows of one trace that were received.
struct Queue<T> {
    receiver: Receiver<Rows<T>>,
    rows: std::vec::IntoIter<T>,
    next: Option<T>,
}

impl<T> Queue<T> {
    fn advance(&mut self) -> Result<(), TraceError> {
        loop {
            self.next = self.rows.next();
            if self.next.is_some() {
                return Ok(());
            }
            match self.receiver.recv() {
                Ok(rows) => self.rows = rows?.into_iter(),
                Err(_) => return Ok(()),
            }
        }
    }
}

/// Gives the rows of all traces to `each` in the order of `end`.
fn join<T>(
    receivers: Vec<Receiver<Rows<T>>>,
    end: impl Fn(&T) -> u64,
    mut each: impl FnMut(T) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut queues = Vec::new();
    for receiver in receivers {
        let mut queue = Queue { receiver, rows: Vec::new().into_iter(), next: None };
        queue.advance()?;
        queues.push(queue);
    }
    loop {
        let ends = queues.iter_mut().filter(|queue| queue.next.is_some());
        let key = |queue: &&mut Queue<T>| queue.next.as_ref().map(&end);
        let Some(queue) = ends.min_by_key(key) else { return Ok(()) };
        if let Some(row) = queue.next.take() {
            each(row)?;
        }
        queue.advance()?;
    }
}

#[cfg(test)]
mod tests;
