//! Captures, programs and replays, each on a fresh filesystem.

use crate::Asked;
use crate::programs::Program;
use crate::scratch::Mounted;
use seekwell_capture::{Command, Options, Target, capture};
use seekwell_replay::{Choice, Content, Fidelity, Plan, Replayed, Speed, plan, rebuild, replay};
use seekwell_trace::Trace;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A captured program.
pub struct Recording {
    pub plan: Plan,
    /// Recorded time before the first replayed call.
    pub before_s: f64,
}

/// Recordings of a program on a filesystem.
const RECORDINGS: usize = 3;

/// Runs of a program.
pub struct Runs<'a> {
    pub asked: &'a Asked,
    pub program: &'a Program,
    pub folder: &'a Path,
}

impl Runs<'_> {
    /// The mounted filesystem with the program's files.
    fn prepared(&self, kind: &str) -> (Mounted, PathBuf) {
        let mounted = Mounted::fresh(kind, self.folder);
        let work = mounted.at().join("work");
        std::fs::create_dir(&work).unwrap();
        self.program.set_up(&work);
        mounted.settle(self.asked.cold);
        (mounted, work)
    }

    /// The middle one of some recordings by time: one that other work disturbed has its pauses.
    pub fn record_middle(&self, from: &str) -> Recording {
        let mut all: Vec<Recording> = (0..RECORDINGS).map(|_| self.record(from)).collect();
        all.sort_by_key(|one| one.plan.recorded().elapsed_ns);
        all.swap_remove(RECORDINGS / 2)
    }

    /// Captures the program on a filesystem.
    fn record(&self, from: &str) -> Recording {
        let (mounted, work) = self.prepared(from);
        // In memory: a full disk would end the capture.
        let traces = tempfile::tempdir_in("/dev/shm").unwrap();
        let output = traces.path().join("trace");
        let words = self.program.words.iter().map(Into::into).collect();
        let target = Target::Command(Command { words, ..Command::default() });
        let options =
            Options { block: false, same_device: true, ..Options::new(output.clone(), target) };
        // The command's directory is this program's, and the walk is one of it.
        std::env::set_current_dir(&work).unwrap();
        let captured = quietly(|| capture(&options, &AtomicBool::new(false), None).unwrap());
        std::env::set_current_dir("/").unwrap();
        assert_eq!(captured.lost, []);
        let trace = Trace::open(&output).unwrap();
        let only = Some(work.canonicalize().unwrap().to_string_lossy().into_owned());
        let plan = plan(&trace, &Choice { only, ..Choice::default() }).unwrap();
        drop(mounted);
        let before_ns = before(&trace, &plan);
        let recording = Recording { plan, before_s: before_ns as f64 / 1e9 };
        if self.asked.show {
            show_recorded(&trace, &recording);
        }
        recording
    }

    /// Seconds of the program.
    pub fn program(&self, on: &str) -> f64 {
        let (_mounted, work) = self.prepared(on);
        let start = Instant::now();
        self.program.run(&work);
        start.elapsed().as_secs_f64()
    }

    /// Seconds of the replay, those inside of its calls, and its fidelity.
    pub fn replay(&self, recording: &Recording, on: &str, pauses: bool) -> (f64, f64, Option<f64>) {
        let mounted = Mounted::fresh(on, self.folder);
        let target = mounted.at();
        rebuild(&recording.plan, target, Content::Random, None).unwrap();
        mounted.settle(self.asked.cold);
        let speed = if pauses { Speed::Recorded(1.0) } else { Speed::AsFastAsPossible };
        let options = seekwell_replay::Options { speed, ..seekwell_replay::Options::default() };
        let replayed = replay(&recording.plan, target, &options).unwrap();
        let before_s = if pauses { recording.before_s } else { 0.0 };
        if self.asked.show {
            show(&recording.plan, &replayed, pauses);
        }
        let fidelity = Fidelity::of(recording.plan.recorded(), &replayed);
        if self.asked.show && fidelity.share() != Some(1.0) {
            eprintln!("{fidelity:?} {:?}", replayed.differences);
        }
        let elapsed_s = replayed.elapsed_ns as f64 / 1e9 + before_s;
        (elapsed_s, replayed.inside_ns as f64 / 1e9, fidelity.share())
    }
}

/// Does something while what this process and its children say goes nowhere, as in [`Program::run`]:
/// lines to a pipe or a file take longer.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};
    let nowhere = std::fs::File::create("/dev/null").unwrap();
    let [out, errors] = [stdout(), stderr()].map(|one| one.try_clone_to_owned().unwrap());
    dup2_stdout(&nowhere).unwrap();
    dup2_stderr(&nowhere).unwrap();
    let result = work();
    dup2_stdout(&out).unwrap();
    dup2_stderr(&errors).unwrap();
    result
}

/// Prints the parts of the recording: calls by name with their time, and time between calls.
fn show_recorded(trace: &Trace, recording: &Recording) {
    let mut calls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let (mut own_ns, mut waited_ns) = (0, 0);
    let each = |event: seekwell_trace::Event| {
        let (count, inside_ns) = calls.entry(event.call.call().name).or_default();
        *count += 1;
        *inside_ns += event.duration_ns.unwrap_or(0);
        own_ns += event.cpu_ns.unwrap_or(0);
        waited_ns += event.waited_ns.unwrap_or(0);
        Ok(())
    };
    trace.events(each).unwrap();
    let recorded = recording.plan.recorded();
    eprintln!(
        "recorded: elapsed {:.2} ms, before {:.2}, in calls {:.2}; all events: computing {:.2}, asleep {:.2}",
        recorded.elapsed_ns as f64 / 1e6,
        recording.before_s * 1e3,
        recorded.inside_ns as f64 / 1e6,
        own_ns as f64 / 1e6,
        waited_ns as f64 / 1e6
    );
    for (name, (count, inside_ns)) in calls {
        eprintln!("  {name}: {count} calls, {:.2} ms", inside_ns as f64 / 1e6);
    }
}

/// Prints the parts of a replay.
fn show(plan: &Plan, replayed: &Replayed, pauses: bool) {
    let operations = (0..plan.lanes()).flat_map(|lane| plan.operations(lane));
    let (mut think_ns, mut wait_ns) = (0, 0);
    for one in operations {
        (think_ns, wait_ns) = (think_ns + one.think_ns, wait_ns + one.wait_ns);
    }
    eprintln!(
        "pauses {pauses}: elapsed {:.2} ms, in calls {:.2}, late {:.2}; planned: computing {:.2}, asleep {:.2}",
        replayed.elapsed_ns as f64 / 1e6,
        replayed.inside_ns as f64 / 1e6,
        replayed.lateness.mean_ns().unwrap_or(0.0) * replayed.lateness.count() as f64 / 1e6,
        think_ns as f64 / 1e6,
        wait_ns as f64 / 1e6
    );
    for (class, all) in &replayed.latencies {
        let sum_ms = all.mean_ns().unwrap_or(0.0) * all.count() as f64 / 1e6;
        eprintln!("  {class}: {} calls, {sum_ms:.2} ms", all.count());
    }
}

/// Time of the program before its first replayed call, without that in which it was ready and the recorder
/// ran: of the thread that makes it, with its parents until they made it. What follows the last call is replayed.
fn before(trace: &Trace, plan: &Plan) -> u64 {
    let until = line_of(trace, plan.first_ns());
    let mut before = 0;
    let each = |event: seekwell_trace::Event| {
        let of = (event.process, event.thread);
        let (inside, own) = (event.duration_ns.unwrap_or(0), event.cpu_ns.unwrap_or(0));
        let waited = event.waited_ns.unwrap_or(0);
        if let Some(left_ns) = until.get(&of).and_then(|until| until.checked_sub(event.start_ns)) {
            // A parent may wait for its child inside of the call that made it.
            before += own + waited + inside.min(left_ns);
        }
        Ok(())
    };
    trace.events(each).unwrap();
    before
}

/// The thread of the first replayed call and its parents, with the time until which the program was
/// where they were.
fn line_of(trace: &Trace, first_ns: u64) -> HashMap<(u32, u32), u64> {
    let made = trace.processes().unwrap().into_iter();
    let made: HashMap<u32, (u32, u64)> =
        made.filter_map(|one| Some((one.process, (one.parent?, one.start_ns)))).collect();
    let mut first = None;
    let each = |event: seekwell_trace::Event| {
        if event.start_ns == first_ns {
            first.get_or_insert((event.process, event.thread));
        }
        Ok(())
    };
    trace.events(each).unwrap();
    let first = first.unwrap();
    let (mut process, mut until) = (first.0, HashMap::from([(first, first_ns)]));
    while let Some((parent, start_ns)) = made.get(&process).copied()
        && parent != process
    {
        until.insert((parent, parent), start_ns);
        process = parent;
    }
    until
}
