//! Captures for tests: what to record, and a skip where this machine cannot.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use seekwell_capture::{CaptureError, Captured, Command, Live, Options, Target, capture};
use seekwell_trace::{Event, FileEntry, FileId, Trace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// An event with the paths of its files.
pub type Row = (Event, String, String);

/// Programs that the thread of a test started: they end with a test that fails, with all that they
/// started. A capture leaves its command to itself when it fails.
#[must_use]
pub struct Children;

impl Drop for Children {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let own = children("/proc/thread-self/children");
            own.iter().for_each(|child| end(*child));
            own.into_iter().filter_map(Pid::from_raw).for_each(|child| {
                // One that the test awaited is gone.
                let _ = waitpid(Some(child), WaitOptions::empty());
            });
        }
    }
}

/// Processes in one of the kernel's lists of children; none where it keeps no lists.
fn children(list: &str) -> Vec<i32> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Kills a process, and what it started before: later it would not be its child any more.
fn end(process: i32) {
    let Some(pid) = Pid::from_raw(process) else { return };
    // One that is stopped starts nothing while its children are looked up.
    let _ = kill_process(pid, Signal::STOP);
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    for thread in threads.flatten() {
        let list = thread.path().join("children");
        children(&list.to_string_lossy()).into_iter().for_each(end);
    }
    let _ = kill_process(pid, Signal::KILL);
}

/// Captures, or counts a skip where this machine cannot.
pub fn captured(test: &str, options: &Options) -> Option<Captured> {
    captured_until(test, options, &AtomicBool::new(false))
}

/// The same, until `stop` is set.
pub fn captured_until(test: &str, options: &Options, stop: &AtomicBool) -> Option<Captured> {
    captured_watched(test, options, stop, |_| ())
}

/// The same, with the load of each second for `watch`.
pub fn captured_watched(
    test: &str,
    options: &Options,
    stop: &AtomicBool,
    mut watch: impl FnMut(&Live),
) -> Option<Captured> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to load eBPF programs");
        return None;
    }
    let _children = Children;
    match capture(options, stop, Some(&mut watch)) {
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
