//! Counts of a capture while it runs.

use seekwell_trace::calls::Class;
use seekwell_trace::fast::FastMap;
use seekwell_trace::{Event, FileId};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Time between two counts.
const STEP: Duration = Duration::from_secs(1);
/// Files and processes that are named.
const NAMED: usize = 8;

/// Load of the last second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Length of the step that was counted.
    pub step: Duration,
    /// Calls in it by purpose, in the order of summaries, those without calls left out.
    pub calls: Vec<(&'static str, u64)>,
    /// Files with the most calls in it.
    pub files: Vec<(String, u64)>,
    /// Processes with the most calls in it: number and name.
    pub processes: Vec<(String, u64)>,
    /// Calls and requests so far.
    pub events: u64,
    /// Lost events so far.
    pub lost: u64,
    /// Bytes of the trace so far, without the rows that wait in memory.
    pub bytes: u64,
}

/// Counts of the step that runs.
pub(crate) struct Counting {
    since: Instant,
    classes: [u64; Class::ALL.len()],
    files: FastMap<FileId, u64>,
    processes: FastMap<u32, u64>,
}

impl Counting {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            classes: [0; Class::ALL.len()],
            files: FastMap::default(),
            processes: FastMap::default(),
        }
    }

    pub(crate) fn add(&mut self, event: &Event) {
        self.classes[event.call.call().class as usize] += 1;
        *self.processes.entry(event.process).or_default() += 1;
        if let Some(file) = event.file {
            *self.files.entry(file).or_default() += 1;
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.since.elapsed() >= STEP
    }

    /// Ends the step, with paths of files and names of processes; the numbers of the whole trace are left 0.
    pub(crate) fn take<'a>(
        &mut self,
        path: impl Fn(FileId) -> Option<&'a str>,
        program: impl Fn(u32) -> Option<&'a str>,
    ) -> Live {
        let done = std::mem::replace(self, Self::new());
        let classes = Class::ALL.into_iter().map(Class::name).zip(done.classes);
        let name = |process: u32| {
            let name = program(process).unwrap_or_default();
            format!("{process} {name}").trim_end().to_owned()
        };
        let path = |file: FileId| path(file).unwrap_or("?").to_owned();
        Live {
            step: done.since.elapsed(),
            calls: classes.filter(|(_, count)| *count > 0).collect(),
            files: most(done.files).into_iter().map(|(file, n)| (path(file), n)).collect(),
            processes: most(done.processes).into_iter().map(|(id, n)| (name(id), n)).collect(),
            ..Live::default()
        }
    }
}

/// The keys with the largest counts.
fn most<K: Ord + Copy + Hash>(counts: FastMap<K, u64>) -> Vec<(K, u64)> {
    let mut all: Vec<(K, u64)> = counts.into_iter().collect();
    all.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
    all.truncate(NAMED);
    all
}

#[cfg(test)]
mod tests;
