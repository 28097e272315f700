//! Parts of a trace as a trace of their own.

use crate::info::text::time;
use seekwell_trace::meta::Meta;
use seekwell_trace::path::is_below;
use seekwell_trace::{FileEntry, FileId, Limits, Trace, TraceError, TraceWriter};
use std::collections::HashSet;
use std::path::Path;

/// Events that are kept. What is not given does not limit.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Start, nanoseconds from the start of the trace; earlier calls and requests are left out.
    pub from_ns: u64,
    /// End, nanoseconds from the start of the trace; calls and requests from there on are left out.
    pub to_ns: Option<u64>,
    /// Directories and files; a call is kept when one of its files is one of them or below.
    pub paths: Vec<String>,
    /// Processes.
    pub processes: Vec<u32>,
}

/// Calls and requests at the borders of a time.
#[derive(Default)]
struct Borders {
    /// Those that began before the start and ended after it: left out.
    before: u64,
    /// Those that ended after the end: their durations are cut there.
    after: u64,
}

impl Borders {
    /// Counts an event that is left out.
    fn leave(&mut self, filter: &Filter, start_ns: u64, duration_ns: Option<u64>) {
        let end_ns = start_ns.saturating_add(duration_ns.unwrap_or(0));
        self.before += u64::from(start_ns < filter.from_ns && end_ns > filter.from_ns);
    }

    /// The duration inside.
    fn cut(&mut self, filter: &Filter, start_ns: u64, duration_ns: Option<u64>) -> Option<u64> {
        let room_ns = filter.to_ns.map(|to_ns| to_ns.saturating_sub(start_ns));
        let is_longer = duration_ns.zip(room_ns).is_some_and(|(duration, room)| duration > room);
        self.after += u64::from(is_longer);
        if is_longer { room_ns } else { duration_ns }
    }

    fn gaps(&self) -> Vec<String> {
        let said = [
            (self.before, "began before the start of this part: left out"),
            (self.after, "ended after the end of this part: their durations are cut there"),
        ];
        let said = said.iter().filter(|(count, _)| *count > 0);
        said.map(|(count, text)| format!("{count} calls and block requests {text}")).collect()
    }
}

impl Filter {
    fn keeps(&self, start_ns: u64, process: Option<u32>) -> bool {
        let known = |process| self.processes.contains(&process);
        start_ns >= self.from_ns
            && self.to_ns.is_none_or(|to_ns| start_ns < to_ns)
            && (self.processes.is_empty() || process.is_some_and(known))
    }

    /// True when anything limits.
    fn limits(&self) -> bool {
        self.from_ns > 0
            || self.to_ns.is_some()
            || !self.paths.is_empty()
            || !self.processes.is_empty()
    }

    fn kept_nothing(&self, trace: &Trace) -> TraceError {
        let mut what =
            if self.paths.is_empty() { "no call or block request" } else { "no call" }.to_owned();
        if !self.paths.is_empty() {
            what.push_str(&format!(" on files at or below {}", self.paths.join(", ")));
        }
        if !self.processes.is_empty() {
            let processes: Vec<String> = self.processes.iter().map(u32::to_string).collect();
            what.push_str(&format!(" of process {}", processes.join(", ")));
        }
        if self.from_ns > 0 || self.to_ns.is_some() {
            let to = self.to_ns.map_or_else(|| "its end".to_owned(), time);
            what.push_str(&format!(" from {} to {to}", time(self.from_ns)));
        }
        let problem =
            format!("has {what}; `seekwell trace info` names its length, processes and files");
        TraceError::Unfit { path: trace.path().to_owned(), problem }
    }

    fn keeps_file(&self, file: &FileEntry) -> bool {
        let Some(path) = &file.path else { return false };
        self.paths.iter().any(|limit| is_below(path, limit))
    }
}

/// Description of the part, before its borders are known.
fn description(meta: &Meta, filter: &Filter) -> Meta {
    let mut meta = meta.clone();
    let end_ns = match (filter.to_ns, meta.duration_ns) {
        (Some(to_ns), Some(duration_ns)) => Some(to_ns.min(duration_ns)),
        (to_ns, duration_ns) => to_ns.or(duration_ns),
    };
    meta.duration_ns = end_ns.map(|end_ns| end_ns.saturating_sub(filter.from_ns));
    meta.started_unix_ns = meta.started_unix_ns.map(|start| start.saturating_add(filter.from_ns));
    let inside = |ns: u64| ns.min(end_ns.unwrap_or(u64::MAX)).saturating_sub(filter.from_ns);
    meta.unrecorded_ns
        .iter_mut()
        .for_each(|(from, to)| (*from, *to) = (inside(*from), inside(*to)));
    meta.unrecorded_ns.retain(|(from, to)| from < to);
    // Files and processes of the calls in progress at the end are not known.
    meta.unfinished.clear();
    if !filter.paths.is_empty() {
        meta.paths.clone_from(&filter.paths);
        meta.gaps.push("block requests are those of all files".to_owned());
    }
    // The state before the trace is not that before a later part of it.
    if filter.from_ns > 0 {
        meta.initial.clear();
    }
    meta
}

/// Writes the kept events of `trace` as the trace `output`, as a stream. Returns their number.
///
/// # Errors
/// When nothing is kept, a segment is damaged or the output cannot be written.
pub fn filter(trace: &Trace, output: &Path, filter: &Filter) -> Result<u64, TraceError> {
    let files = trace.files()?;
    let wanted: HashSet<FileId> =
        files.iter().filter(|file| filter.keeps_file(file)).map(|file| file.id).collect();
    let mut meta = description(trace.meta(), filter);
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    if filter.from_ns == 0 {
        trace.initial(|entry| writer.initial(entry))?;
    }
    let mut written = vec![false; files.len()];
    let (mut processes, mut borders, mut calls) = (HashSet::new(), Borders::default(), 0_u64);
    trace.events(|mut event| {
        let named = [event.file, event.to_file];
        let is_wanted =
            filter.paths.is_empty() || named.iter().flatten().any(|file| wanted.contains(file));
        if !is_wanted || !filter.keeps(event.start_ns, Some(event.process)) {
            if is_wanted && filter.keeps(filter.from_ns, Some(event.process)) {
                borders.leave(filter, event.start_ns, event.duration_ns);
            }
            return Ok(());
        }
        for file in named.into_iter().flatten() {
            if let Ok(at) = files.binary_search_by_key(&file, |entry| entry.id)
                && !std::mem::replace(&mut written[at], true)
            {
                writer.file(files[at].clone());
            }
        }
        processes.insert(event.process);
        calls += 1;
        event.duration_ns = borders.cut(filter, event.start_ns, event.duration_ns);
        event.start_ns -= filter.from_ns;
        writer.event(event)
    })?;
    // Requests have no path: without a call there is no part to which they belong.
    if calls == 0 && !filter.paths.is_empty() {
        writer.abandon();
        return Err(filter.kept_nothing(trace));
    }
    trace.requests(|mut request| {
        if !filter.keeps(request.start_ns, request.process) {
            if filter.keeps(filter.from_ns, request.process) {
                borders.leave(filter, request.start_ns, request.duration_ns);
            }
            return Ok(());
        }
        processes.extend(request.process);
        request.duration_ns = borders.cut(filter, request.start_ns, request.duration_ns);
        request.start_ns -= filter.from_ns;
        writer.request(request)
    })?;
    if writer.events() == 0 && filter.limits() {
        writer.abandon();
        return Err(filter.kept_nothing(trace));
    }
    for mut process in trace.processes()? {
        if processes.contains(&process.process) {
            process.start_ns = process.start_ns.saturating_sub(filter.from_ns);
            writer.process(process);
        }
    }
    let events = writer.events();
    meta.gaps.extend(borders.gaps());
    writer.finish(&meta)?;
    Ok(events)
}

#[cfg(test)]
mod tests;
