//! The kind of load that a trace holds: three sentences, then numbers.

mod active;
mod before;
mod by_id;
mod cheaper;
mod histogram;
mod measure;
mod per_file;
mod sentences;
mod shape;
mod spans;
pub(crate) mod text;

use seekwell_trace::calls::Class;
use seekwell_trace::meta::{Mount, Unfinished};
use seekwell_trace::{Operation, Trace, TraceError};
use serde::Serialize;

pub use cheaper::SYNC_EVERY;
pub use histogram::Spread;
pub use sentences::AT_STAKE;
pub use shape::Shape;
pub use text::text;

/// Name of writes that return when the data is on the device.
pub(crate) const SYNCED_WRITE: &str = "synced write";

/// Names of asynchronous operations: reads, writes, syncs and the others.
pub(crate) const ASYNCHRONOUS: [&str; 4] =
    ["async read", "async write", "async sync", "async file"];

/// Numbers of a load. Times are nanoseconds, sizes bytes; `None` is unknown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Length of the trace.
    pub duration_ns: u64,
    /// Calls.
    pub calls: u64,
    /// Calls that this version of Seekwell does not know; they are in no other number.
    pub unknown_calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Processes with calls.
    pub processes: u64,
    /// Threads with calls.
    pub threads: u64,
    /// Files and directories that calls name.
    pub files: u64,
    /// Events that were lost, of all kinds.
    pub lost: u64,
    /// The same in words, by kind and CPU.
    pub losses: Option<String>,
    /// Segments of the trace that were written and are not there, in words.
    pub missing: Option<String>,
    /// False when the recording still runs or was killed.
    pub ended: bool,
    /// Time in which at least one thread computed, was in a call on files or asleep in a page fault of a
    /// mapped file, or an asynchronous operation was in progress. Time of which the trace cannot tell counts.
    pub active_ns: u64,
    /// Part of it in which at least one thread was ready to run and others had the CPUs.
    pub cpu_wait_ns: u64,
    /// The rest of the recorded time.
    pub idle_ns: u64,
    /// Time between the parts of a merged trace.
    pub unrecorded_ns: u64,
    /// Time in calls on files of filesystems that issue no block request which the trace has, such as NFS.
    pub unseen_ns: u64,
    /// Time in calls on devices themselves, without a filesystem.
    pub raw_ns: u64,
    /// Time in which at least one thread was in a call on files.
    pub calling_ns: u64,
    /// Time in calls on files, of all threads together.
    pub in_calls_ns: u64,
    /// Asynchronous operations on files; the calls that submit and await them are calls.
    pub operations: u64,
    /// Time from submission to completion of all of them together; it is in no time of calls.
    pub operations_ns: u64,
    /// Time with at least one of them in progress.
    pub in_flight_ns: u64,
    /// Time with a call on files or an asynchronous operation in progress.
    pub in_progress_ns: u64,
    /// Calls on files whose duration is not known; they are in no time.
    pub untimed: u64,
    /// Time in calls on pipes, sockets, terminals and locks, of all threads together.
    pub elsewhere_ns: u64,
    /// Such calls; they are in no class.
    pub elsewhere: u64,
    /// Those that failed.
    pub elsewhere_failed: u64,
    /// Time between the first and last call of each thread, all together.
    pub thread_ns: u64,
    /// Calls on files by purpose, the longest time first.
    pub classes: Vec<ClassSummary>,
    /// Reads of files.
    pub reads: Transfer,
    /// Writes of files.
    pub writes: Transfer,
    /// Mean bytes written between two syncs; `None` without syncs.
    pub bytes_between_syncs: Option<u64>,
    /// Files that were made. One that had content when the trace met it was there before.
    pub created: u64,
    /// Calls that make a file where there is none.
    pub create_calls: u64,
    /// Names that were removed.
    pub removed: u64,
    /// Files that were made and removed in the trace.
    pub short_lived: u64,
    /// Those of them that never had more than 64 KiB written.
    pub short_lived_small: u64,
    /// Time in syncs of files that were made and removed in the trace.
    pub removed_sync_ns: u64,
    /// Files and directories whose state before the trace is in it.
    pub known_before: u64,
    /// Files that were overwritten, removed or replaced before their state could be seen.
    pub unknown_before: u64,
    /// Most calls in a tenth of a second.
    pub peak_calls_per_tenth: u64,
    /// Block requests; `None` when the trace has none.
    pub device: Option<DeviceSummary>,
    /// True when a MiB of files or more was mapped shared: the program may wait for the device without
    /// a call.
    pub shared_mapping: bool,
    /// Page faults in mapped files, in no number of calls; `None` when they were not recorded.
    pub faults: Option<Faults>,
    /// Files with the longest time in calls.
    pub top_files: Vec<Share>,
    /// Directories of the files with the longest time in calls.
    pub top_directories: Vec<Share>,
    /// Processes with the longest time in calls.
    pub top_processes: Vec<Share>,
    /// Places outside of the directories that a container sees.
    pub mounts: Vec<Mount>,
    /// Calls on files that were in progress at the end, the longest first; they are in no number.
    pub unfinished: Vec<Unfinished>,
    /// Kinds of load that the source could not show.
    pub gaps: Vec<String>,
    /// The load without times and amounts; `None` if it has neither reads nor writes nor names.
    pub shape: Option<Shape>,
}

/// Calls of one purpose.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// Purpose.
    pub class: &'static str,
    /// Calls.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// Time in them, of all threads.
    pub time_ns: u64,
    /// Durations.
    pub durations: Spread,
}

/// Data that calls move.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Transfer {
    /// Calls that moved data.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Calls whose offset is known.
    pub located: u64,
    /// Of those, the ones that begin where the last one of the file ended.
    pub sequential: u64,
    /// Of those, the ones whose offset and length are multiples of 4 KiB.
    pub aligned: u64,
    /// Sizes.
    pub sizes: Spread,
    /// Distances to the end of the last one of the file, of those that do not begin there.
    pub seeks: Spread,
}

/// Page faults in mapped files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Faults.
    pub count: u64,
    /// Those by which pages became dirty that go to the file.
    pub written: u64,
    /// Those for which the thread slept.
    pub slept: u64,
    /// Time asleep in them, of all threads.
    pub slept_ns: u64,
}

impl Faults {
    fn add(&mut self, event: &seekwell_trace::Event) {
        self.count += 1;
        self.written += u64::from(event.flags == Some(1));
        self.slept += u64::from(event.duration_ns.is_some());
        self.slept_ns = self.slept_ns.saturating_add(event.duration_ns.unwrap_or(0));
    }
}

/// Block requests of the load: those of its processes and of threads of the kernel to the devices with its files.
/// A trace that names no devices or holds no calls counts all of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeviceSummary {
    /// Requests of other programs or to other devices; they are in no other number.
    pub others: u64,
    /// Their bytes.
    pub others_bytes: u64,
    /// Time with at least one request at a device.
    pub busy_ns: u64,
    /// Part of it in which a call on files or an asynchronous operation was in progress.
    pub busy_in_calls_ns: u64,
    /// Requests by operation.
    pub operations: Vec<OperationSummary>,
    /// Writes that wait for the medium (FUA) or flush before (preflush).
    pub forced: u64,
    /// Requests for which a process waits.
    pub sync: u64,
    /// Requests for metadata of the filesystem.
    pub meta: u64,
    /// Mean number of requests at the device when one is issued, that one included.
    pub mean_depth: Option<f64>,
}

/// Block requests of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationSummary {
    /// Operation.
    pub operation: &'static str,
    /// Requests.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Requests that begin where the last one of the device ended.
    pub sequential: u64,
    /// Sizes.
    pub sizes: Spread,
    /// Distances to the end of the last one of the device, bytes, of those that do not begin there.
    pub seeks: Spread,
    /// Durations.
    pub durations: Spread,
}

/// Part of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// File, directory or process.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// Time in them.
    pub time_ns: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

impl Summary {
    /// Reads the trace once, as a stream.
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn of(trace: &Trace) -> Result<Self, TraceError> {
        let mut summary = measure::measure(trace)?;
        summary.shape = Shape::of(&summary);
        Ok(summary)
    }

    /// Time of one purpose as a share of the time in all calls on files. Of asynchronous I/O the
    /// operations count, and not the calls that submit and await them.
    pub(crate) fn share(&self, wanted: &[&str]) -> f64 {
        let time_ns = |wanted: &[&str]| -> u64 {
            let named = |class: &&ClassSummary| wanted.contains(&class.class);
            self.classes.iter().filter(named).map(|class| class.time_ns).sum()
        };
        if self.operations == 0 {
            return ratio(time_ns(wanted), self.in_calls_ns);
        }
        let awaiting_ns = time_ns(&[Class::Asynchronous.name()]);
        let all_ns = self.in_calls_ns.saturating_sub(awaiting_ns) + self.operations_ns;
        ratio(time_ns(wanted), all_ns)
    }

    /// True for a load that works on devices without a filesystem, or of which only block requests are known.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        let has_requests = self.device.as_ref().is_some_and(|found| !found.operations.is_empty());
        let calls_ns = self.in_calls_ns.saturating_add(self.operations_ns);
        ratio(self.raw_ns, calls_ns) > 0.5 || self.calls == 0 && has_requests
    }

    /// The longest time that a device without any delay could save, and what limits it.
    #[must_use]
    pub fn bound(&self) -> Bound {
        let slept_ns = self.faults.map(|faults| faults.slept_ns);
        match (&self.device, slept_ns) {
            (Some(device), Some(slept_ns @ 1..)) => {
                let waited_ns = device.busy_in_calls_ns.saturating_add(slept_ns);
                Bound { ns: waited_ns.min(device.busy_ns), by: By::DeviceInFaults }
            }
            (Some(device), None) if self.shared_mapping => {
                Bound { ns: device.busy_ns, by: By::Device }
            }
            (Some(device), _) => Bound { ns: device.busy_in_calls_ns, by: By::DeviceInCalls },
            (None, _) => Bound { ns: self.in_progress_ns, by: By::Calls },
        }
    }

    pub(crate) fn operation(&self, wanted: Operation) -> Option<&OperationSummary> {
        let device = self.device.as_ref()?;
        device.operations.iter().find(|found| found.operation == wanted.name())
    }
}

/// Axes of storage that can matter to a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matters {
    /// The filesystem with its options.
    pub filesystem: bool,
    /// The I/O scheduler.
    pub scheduler: bool,
    /// The place of the journal.
    pub journal: bool,
    /// Mount options about names and attributes.
    pub names: bool,
}

impl Matters {
    /// True when any axis can matter.
    #[must_use]
    pub const fn any(self) -> bool {
        self.filesystem || self.scheduler || self.journal
    }
}

/// Upper limit of what a faster device saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Time.
    pub ns: u64,
    /// Origin.
    pub by: By,
}

/// Origin of a [`Bound`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Time in which a device was busy: page faults of mapped files need no call, and were not recorded.
    Device,
    /// Time in which a device was busy while a call was in progress, and that asleep in page faults.
    DeviceInFaults,
    /// Time in which a device was busy while a call was in progress.
    DeviceInCalls,
    /// Time in calls and asynchronous operations: the trace has no block requests.
    Calls,
}

#[allow(clippy::cast_precision_loss, reason = "shares are printed with two digits")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
