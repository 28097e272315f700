//! Parts of a trace as a trace of their own.

use crate::error::TraceError;
use crate::event::{FileEntry, FileId};
use crate::read::Trace;
use crate::write::{Limits, TraceWriter};
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

impl Filter {
    fn keeps(&self, start_ns: u64, process: Option<u32>) -> bool {
        let known = |process| self.processes.contains(&process);
        start_ns >= self.from_ns
            && self.to_ns.is_none_or(|to_ns| start_ns < to_ns)
            && (self.processes.is_empty() || process.is_some_and(known))
    }

    fn keeps_file(&self, file: &FileEntry) -> bool {
        let Some(path) = &file.path else { return false };
        self.paths.iter().any(|limit| {
            let rest = path.strip_prefix(limit.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Writes the kept events of `trace` as the trace `output`, as a stream. Returns their number.
///
/// # Errors
/// When a segment is damaged or the output cannot be written.
pub fn filter(trace: &Trace, output: &Path, filter: &Filter) -> Result<u64, TraceError> {
    let files = trace.files()?;
    let wanted: HashSet<FileId> =
        files.iter().filter(|file| filter.keeps_file(file)).map(|file| file.id).collect();
    let mut meta = trace.meta().clone();
    let end_ns = match (filter.to_ns, meta.duration_ns) {
        (Some(to_ns), Some(duration_ns)) => Some(to_ns.min(duration_ns)),
        (to_ns, duration_ns) => to_ns.or(duration_ns),
    };
    meta.duration_ns = end_ns.map(|end_ns| end_ns.saturating_sub(filter.from_ns));
    meta.started_unix_ns = meta.started_unix_ns.map(|start| start.saturating_add(filter.from_ns));
    if !filter.paths.is_empty() {
        meta.paths.clone_from(&filter.paths);
        meta.gaps.push("block requests are those of all files".to_owned());
    }
    // The state before the trace is not that before a later part of it.
    if filter.from_ns > 0 {
        meta.initial.clear();
    }
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    if filter.from_ns == 0 {
        trace.initial(|entry| writer.initial(entry))?;
    }
    let mut written = vec![false; files.len()];
    let mut processes = HashSet::new();
    trace.events(|mut event| {
        let named = [event.file, event.to_file];
        let is_wanted =
            filter.paths.is_empty() || named.iter().flatten().any(|file| wanted.contains(file));
        if !is_wanted || !filter.keeps(event.start_ns, Some(event.process)) {
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
        event.start_ns -= filter.from_ns;
        writer.event(event)
    })?;
    trace.requests(|mut request| {
        if !filter.keeps(request.start_ns, request.process) {
            return Ok(());
        }
        request.start_ns -= filter.from_ns;
        writer.request(request)
    })?;
    for mut process in trace.processes()? {
        if processes.contains(&process.process) {
            process.start_ns = process.start_ns.saturating_sub(filter.from_ns);
            writer.process(process);
        }
    }
    let events = writer.events();
    writer.finish(&meta)?;
    Ok(events)
}

#[cfg(test)]
mod tests;
