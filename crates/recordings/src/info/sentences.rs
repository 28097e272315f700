//! Three sentences about a load.

use super::text::{bytes, count, in_progress, percent, time};
use super::{ASYNCHRONOUS, By, DeviceSummary, Matters, SYNCED_WRITE, Summary, ratio};
use seekwell_trace::Operation;
use seekwell_trace::calls::Class;

/// Smaller shares of the time are not worth a change.
const NOTICEABLE: f64 = 0.05;
/// Axes at which less of the active time is at stake are not named, and no other advice is given.
pub const AT_STAKE: f64 = 0.1;
/// Requests in a row of this size and more take the device's bandwidth, smaller ones its latency.
const LARGE_REQUEST: u64 = 64 << 10;
/// Larger shares of the time in calls decide which axes matter.
const LARGE: f64 = 0.2;
/// Calls about names and attributes.
const OF_NAMES: [Class; 5] = [Class::Open, Class::Close, Class::Stat, Class::Name, Class::Change];
/// Larger shares of requests that follow one another make a load sequential.
const SEQUENTIAL: f64 = 0.5;
/// Mean requests at the device from which on a scheduler has something to choose from.
const DEEP: f64 = 2.0;

/// Purposes of calls that wait until data is on the device.
const SYNCS: [&str; 3] = [Class::Sync.name(), SYNCED_WRITE, ASYNCHRONOUS[2]];

/// Larger shares of calls without duration leave times unknown.
const MOST_UNTIMED: f64 = 0.01;

/// Share of the trace from which on a call in progress at its end changes what it says.
const LONG_IN_PROGRESS: f64 = 0.05;

impl Summary {
    /// Three sentences: what the load waits for, what a faster device could gain at most, and which
    /// axes can matter.
    #[must_use]
    pub fn sentences(&self) -> [String; 3] {
        let [first, second, third] = of_load(self);
        [incomplete(self) + &first, second, third]
    }

    /// Axes of storage that can matter to the load, by the bounds of the third sentence; all of them when the trace
    /// cannot tell.
    #[must_use]
    pub fn matters(&self) -> Matters {
        let on_files: u64 = self.classes.iter().map(|class| class.count).sum();
        if ratio(self.untimed, on_files) > MOST_UNTIMED {
            return Matters { filesystem: true, scheduler: true, journal: true, names: true };
        }
        let calling = ratio(self.in_progress_ns, self.active_ns);
        let device = ratio(self.bound().ns, self.active_ns);
        if calling < AT_STAKE && device < AT_STAKE {
            return Matters::default();
        }
        let depth = self.device.as_ref().map(|found| found.mean_depth.unwrap_or(0.0));
        Matters {
            filesystem: true,
            // Without block requests no one knows how many wait at the device.
            scheduler: is_unseen(self)
                || depth.is_none_or(|depth| device >= AT_STAKE && depth >= DEEP),
            journal: is_large(self.share(&SYNCS), calling),
            names: is_large(self.share(&OF_NAMES.map(Class::name)), calling),
        }
    }
}

/// Parts of the trace that are not there, before all that is said of it.
fn incomplete(summary: &Summary) -> String {
    let mut said = String::new();
    if let Some(missing) = &summary.missing {
        said.push_str(&format!("Events are lost: {missing}. "));
    }
    if !summary.ended {
        said.push_str("The recording still runs or was killed: its last events are lost. ");
    }
    let longest_ns = summary.unfinished.iter().map(|one| one.longest_ns).max().unwrap_or(0);
    let is_long = ratio(longest_ns, summary.duration_ns) > LONG_IN_PROGRESS;
    if let Some(calls) = in_progress(summary).filter(|_| is_long) {
        said.push_str(&format!(
            "At the end calls were in progress that no figure counts: {calls}. "
        ));
    }
    said
}

fn of_load(summary: &Summary) -> [String; 3] {
    if summary.calls == 0 {
        if let Some(device) = summary.device.as_ref().filter(|device| !device.operations.is_empty())
        {
            return of_requests(summary, device);
        }
        return [
            "The trace holds no calls.".to_owned(),
            "It cannot tell what a faster device could gain.".to_owned(),
            "It cannot tell which choices can matter.".to_owned(),
        ];
    }
    let on_files: u64 = summary.classes.iter().map(|class| class.count).sum();
    if ratio(summary.untimed, on_files) > MOST_UNTIMED {
        return untimed(summary, on_files);
    }
    [waits_for(summary), gain(summary), axes(summary)]
}

/// True for a large share of the time in calls, which take the share `calling` of the active time.
fn is_large(share: f64, calling: f64) -> bool {
    share >= LARGE && share * calling >= AT_STAKE
}

/// Sentences about requests without calls: what waited for them is not known.
fn of_requests(summary: &Summary, device: &DeviceSummary) -> [String; 3] {
    let counted: u64 = device.operations.iter().map(|found| found.count).sum();
    let reads = summary.operation(Operation::Read).map_or(0, |found| found.count);
    let seconds = ratio(summary.duration_ns, 1_000_000_000);
    let rate = if seconds > 0.0 {
        format!(", {:.0} a second", ratio(counted, 1) / seconds)
    } else {
        String::new()
    };
    let load = format!(
        "The trace holds block requests alone: {}{rate}, {} of them reads.",
        count(counted),
        percent(ratio(reads, counted))
    );
    let gain = if device.busy_ns == 0 {
        "It cannot tell what a faster device could gain: the time of its requests is unknown."
            .to_owned()
    } else {
        format!(
            "A device without any delay would save at most {} of {} ({}): the time in which a \
             device was busy; how much of it a program waited is unknown.",
            time(device.busy_ns),
            time(summary.duration_ns),
            percent(ratio(device.busy_ns, summary.duration_ns))
        )
    };
    let axes = of_device(summary);
    let axes = match axes.as_slice() {
        [] => "It cannot tell which choices can matter.".to_owned(),
        axes => format!(
            "These choices can matter: {}. Without calls it cannot tell about filesystem and journal.",
            list(axes)
        ),
    };
    [load, gain, axes]
}

/// Sentences about calls whose durations the source does not have.
fn untimed(summary: &Summary, on_files: u64) -> [String; 3] {
    [
        format!(
            "The trace holds {} calls on files, {} of them without duration: it cannot tell what \
             the load waits for.",
            count(on_files),
            percent(ratio(summary.untimed, on_files))
        ),
        "It cannot tell what a faster device could gain.".to_owned(),
        "It cannot tell which choices can matter.".to_owned(),
    ]
}

/// A list as a part of a sentence, between semicolons.
fn list(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{}; and {last}", others.join("; ")),
        None => String::new(),
    }
}

/// Share of the time in calls that is on files of filesystems without block requests in the trace.
fn unseen(summary: &Summary) -> f64 {
    ratio(summary.unseen_ns, summary.in_calls_ns.saturating_add(summary.operations_ns))
}

/// True when calls take long on such files while the device is hardly busy: they may wait for a server, or be
/// served from memory.
fn is_unseen(summary: &Summary) -> bool {
    summary.device.is_some()
        && ratio(summary.unseen_ns, summary.active_ns) >= NOTICEABLE
        && ratio(summary.bound().ns, summary.active_ns) < NOTICEABLE
}

/// Sentence about pauses; empty when there are none to speak of.
fn idle(summary: &Summary) -> String {
    let share = ratio(summary.idle_ns, summary.duration_ns);
    if share < NOTICEABLE {
        return String::new();
    }
    format!(" Its threads sleep {} of {}.", percent(share), time(summary.duration_ns))
}

/// Sentence about waiting for a CPU; empty when that is short.
fn cpu_wait(summary: &Summary) -> String {
    let share = ratio(summary.cpu_wait_ns, summary.active_ns);
    if share < NOTICEABLE {
        return String::new();
    }
    format!(" It waits for a CPU {} of its active time.", percent(share))
}

fn waits_for(summary: &Summary) -> String {
    let calling = ratio(summary.calling_ns, summary.active_ns);
    let is_idle = !idle(summary).is_empty();
    let idle = cpu_wait(summary) + &idle(summary);
    let of = if is_idle { "its active time" } else { "the time" };
    let share = percent(calling);
    let mut classes = summary.classes.iter().filter(|class| !ASYNCHRONOUS.contains(&class.class));
    let largest = classes.next().map_or_else(String::new, |class| {
        let of_calls = percent(ratio(class.time_ns, summary.in_calls_ns));
        format!(", {of_calls} of that in {}", plural(class.class))
    });
    if calling >= NOTICEABLE {
        return format!("It spends {share} of {of} in calls on files{largest}.{idle}");
    }
    let flying = ratio(summary.in_flight_ns, summary.active_ns);
    if flying >= NOTICEABLE {
        return format!(
            "It spends {share} of {of} in calls on files, but asynchronous I/O is in progress {} \
             of it: the trace cannot tell how much of it the program waits.{idle}",
            percent(flying)
        );
    }
    format!(
        "It spends only {share} of {of} in calls on files; the rest is computing or waiting for \
         other programs and the network.{idle}"
    )
}

fn plural(class: &str) -> &'static str {
    match class {
        "open" => "opening files",
        "close" => "closing files",
        "read" => "reads",
        "write" => "writes",
        "sync" => "syncs (fsync and the like)",
        SYNCED_WRITE => "writes that wait for the device (O_SYNC, O_DSYNC)",
        "stat" => "asking for attributes and names",
        "name" => "creating, renaming and removing names",
        "change" => "changing attributes and sizes",
        "async" => "asynchronous I/O",
        _ => "other calls",
    }
}

fn gain(summary: &Summary) -> String {
    if is_unseen(summary) {
        return format!(
            "It cannot tell what a faster device could gain: {} of the time in calls is on filesystems \
             without a block request in the trace (NFS, FUSE, 9p, pmem and zram make none, others none \
             while memory serves them).",
            percent(unseen(summary))
        );
    }
    let bound = summary.bound();
    // Page faults that were not recorded may have waited while nothing else was done.
    let all_ns = summary.active_ns.max(bound.ns);
    let share = percent(ratio(bound.ns, all_ns));
    let origin = match bound.by {
        By::Device => {
            "the time in which a device was busy; files are mapped, so that it may wait without a call"
        }
        By::DeviceInFaults => {
            "the time in which a device was busy during a call on files, and that asleep in page faults of mapped files"
        }
        By::DeviceInCalls => "the time in which a device was busy during a call on files",
        By::Calls => {
            "the time in calls on files; without block requests the trace cannot tell how much of it \
             the page cache served"
        }
    };
    let mut lost = match (summary.lost, &summary.missing) {
        (0, None) => String::new(),
        (0, Some(_)) => "; with missing segments it may be more".to_owned(),
        (lost, _) => format!("; with {} lost events it may be more", count(lost)),
    };
    if summary.device.is_some() && ratio(summary.unseen_ns, summary.active_ns) >= NOTICEABLE {
        lost.push_str(&format!(
            "; {} of the time in calls is on filesystems without a device of their own in the trace (such as NFS, \
             FUSE, btrfs or an overlay): where they wait for something else, it may be more",
            percent(unseen(summary))
        ));
    }
    let active = if idle(summary).is_empty() { "" } else { " in which it is active" };
    format!(
        "A device without any delay would save at most {} of {}{active} ({share}): {origin}{lost}.",
        time(bound.ns),
        time(all_ns),
    )
}

fn axes(summary: &Summary) -> String {
    let calling = ratio(summary.in_progress_ns, summary.active_ns);
    let device = ratio(summary.bound().ns, summary.active_ns);
    if calling < AT_STAKE && device < AT_STAKE {
        return "No choice of storage can matter: look at the program, the CPU or the network first."
            .to_owned();
    }
    let mut axes = Vec::new();
    if is_large(summary.share(&SYNCS), calling) {
        let each = summary
            .bytes_between_syncs
            .filter(|mean| *mean > 0)
            .map(|mean| format!(" every {}", bytes(mean)));
        let below = if summary.is_raw() { "" } else { "journal placement, filesystem and " };
        axes.push(format!("{below}the device's flushes (it syncs{})", each.unwrap_or_default()));
    }
    let names = summary.share(&OF_NAMES.map(Class::name));
    if is_large(names, calling) {
        axes.push(format!(
            "filesystem with its mkfs and mount options ({} of the time in calls is about names and \
             attributes)",
            percent(names)
        ));
    }
    if device >= AT_STAKE && summary.device.is_some() {
        axes.extend(of_device(summary));
    }
    if axes.is_empty() {
        let served = match (is_unseen(summary), &summary.device) {
            (false, Some(_)) => "calls are served from the page cache",
            _ => "the trace cannot tell whether the page cache serves the calls",
        };
        axes.push(format!("filesystem and memory ({served})"));
    }
    let listed = list(&axes);
    let hardly = match (&summary.device, is_unseen(summary)) {
        (Some(_), false) if device < AT_STAKE => " Device and I/O scheduler hardly matter.",
        (Some(_), true) => " About device and I/O scheduler the trace cannot tell.",
        _ => "",
    };
    format!("These choices can matter: {listed}.{hardly}")
}

/// Axes of a device that is busy.
fn of_device(summary: &Summary) -> Vec<String> {
    let mut axes = Vec::new();
    for (operation, plural) in [(Operation::Read, "reads"), (Operation::Write, "writes")] {
        let Some(found) = summary.operation(operation) else { continue };
        let all: u64 = [Operation::Read, Operation::Write]
            .into_iter()
            .filter_map(|operation| summary.operation(operation))
            .map(|found| found.bytes)
            .sum();
        if ratio(found.bytes, all) < LARGE {
            continue;
        }
        let size = found.sizes.p50.map_or_else(String::new, bytes);
        let is_sequential = ratio(found.sequential, found.count) >= SEQUENTIAL;
        if is_sequential && found.sizes.p50.is_some_and(|size| size < LARGE_REQUEST) {
            axes.push(format!("latency of the device ({plural} of {size} in a row)"));
        } else if is_sequential {
            let ahead = if operation == Operation::Read { " and read-ahead" } else { "" };
            axes.push(format!("bandwidth of the device{ahead} (sequential {plural} of {size})"));
        } else {
            axes.push(format!("latency of the device (scattered {plural} of {size})"));
        }
    }
    let depth = summary.device.as_ref().and_then(|device| device.mean_depth);
    if let Some(depth) = depth.filter(|depth| *depth >= DEEP) {
        axes.push(format!(
            "I/O scheduler (queue depth {depth:.1}, the mean when a request is issued)"
        ));
    }
    axes
}
