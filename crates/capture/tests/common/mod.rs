//! Captures for tests: what to record, and a skip where this machine cannot.

use seekwell_capture::{CaptureError, Captured, Command, Options, Target, capture};
use seekwell_trace::{Event, FileEntry, FileId, Trace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// An event with the paths of its files.
pub type Row = (Event, String, String);

/// Captures, or counts a skip where this machine cannot.
pub fn captured(test: &str, options: &Options) -> Option<Captured> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to load eBPF programs");
        return None;
    }
    match capture(options, &AtomicBool::new(false)) {
        Ok(captured) => Some(captured),
        // Not for programs that the kernel does not accept: that is a failure.
        Err(
            error @ (CaptureError::NotBuilt | CaptureError::Btf { .. } | CaptureError::Bpf { .. }),
        ) => {
            seekwell_testing::skip(test, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A capture of a command, with small rings, on whichever device the output is.
pub fn of_command(output: &Path, words: &[&str]) -> Options {
    let words = words.iter().map(Into::into).collect();
    let target = Target::Command(Command { words, ..Command::default() });
    Options { ring_bytes: 4 << 20, same_device: true, ..Options::new(output.to_owned(), target) }
}

/// Every call of the trace.
pub fn rows(trace: &Trace) -> Vec<Row> {
    let files: Vec<FileEntry> = trace.files().unwrap();
    let path = |id: Option<FileId>| {
        let at = id.and_then(|id| files.binary_search_by_key(&id, |file| file.id).ok());
        at.and_then(|at| files[at].path.clone()).unwrap_or_default()
    };
    let mut rows = Vec::new();
    let each = |event: Event| {
        rows.push((event, path(event.file), path(event.to_file)));
        Ok(())
    };
    trace.events(each).unwrap();
    rows
}
