//! Captures, programs and replays, each on a fresh filesystem.

use crate::Asked;
use crate::programs::Program;
use crate::scratch::Mounted;
use seekwell_capture::{Command, Options, Target, capture};
use seekwell_replay::{Choice, Content, Fidelity, Plan, Speed, plan, rebuild, replay};
use seekwell_trace::Trace;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A run's time.
pub struct Sample {
    pub program: &'static str,
    pub pair: u32,
    pub side: &'static str,
    pub elapsed_s: f64,
    /// Time inside of calls; `None` for the program, which is not traced.
    pub inside_s: Option<f64>,
}

/// A captured program.
pub struct Recording {
    pub plan: Plan,
    /// Recorded time before the first and after the last replayed call.
    pub around_s: f64,
    /// Fidelity of the last replay.
    pub fidelity: RefCell<Option<Fidelity>>,
    /// Differing calls of the last replay, in words.
    pub differences: RefCell<String>,
}

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

    /// Captures the program.
    pub fn record(&mut self) -> Recording {
        let (mounted, work) = self.prepared(&self.asked.from);
        // In memory: a full disk would end the capture.
        let traces = tempfile::tempdir_in("/dev/shm").unwrap();
        let output = traces.path().join("trace");
        let words = self.program.words.iter().map(Into::into).collect();
        let target = Target::Command(Command { words, ..Command::default() });
        let options =
            Options { block: false, same_device: true, ..Options::new(output.clone(), target) };
        // The command's directory is this program's, and the walk is one of it.
        std::env::set_current_dir(&work).unwrap();
        let captured = capture(&options, &AtomicBool::new(false)).unwrap();
        std::env::set_current_dir("/").unwrap();
        assert_eq!(captured.lost, []);
        let trace = Trace::open(&output).unwrap();
        let only = Some(work.canonicalize().unwrap().to_string_lossy().into_owned());
        let plan = plan(&trace, &Choice { only, ..Choice::default() }).unwrap();
        drop(mounted);
        let around_ns = around(&trace, &plan);
        let (fidelity, differences) = (RefCell::default(), RefCell::default());
        Recording { plan, around_s: around_ns as f64 / 1e9, fidelity, differences }
    }

    /// Seconds of the program.
    pub fn program(&mut self) -> f64 {
        let (_mounted, work) = self.prepared(&self.asked.on);
        let start = Instant::now();
        self.program.run(&work);
        start.elapsed().as_secs_f64()
    }

    /// Seconds of the replay, and those inside of its calls.
    pub fn replay(&mut self, recording: &Recording, pauses: bool) -> (f64, Option<f64>) {
        let mounted = Mounted::fresh(&self.asked.on, self.folder);
        let target = mounted.at();
        rebuild(&recording.plan, target, Content::Random, None).unwrap();
        mounted.settle(self.asked.cold);
        let speed = if pauses { Speed::Recorded(1.0) } else { Speed::AsFastAsPossible };
        let options = seekwell_replay::Options { speed, ..seekwell_replay::Options::default() };
        let replayed = replay(&recording.plan, target, &options).unwrap();
        let around_s = if pauses { recording.around_s } else { 0.0 };
        if std::env::var_os("FAITHFUL_SHOW").is_some() {
            let of =
                |class: &str| replayed.latencies.get(class).map(|all| (all.count(), all.mean_ns()));
            eprintln!("{pauses} {:?}", ["read", "write", "fsync", "other"].map(of));
        }
        *recording.fidelity.borrow_mut() = Some(Fidelity::of(recording.plan.recorded(), &replayed));
        *recording.differences.borrow_mut() = format!("{:?}", replayed.differences);
        (replayed.elapsed_ns as f64 / 1e9 + around_s, Some(replayed.inside_ns as f64 / 1e9))
    }
}

/// Time before the first and after the last replayed call: in other calls and between them, without
/// that in which the thread was ready and the recorder ran.
fn around(trace: &Trace, plan: &Plan) -> u64 {
    let first_ns = plan.first_ns();
    let last_ns = first_ns + plan.recorded().elapsed_ns;
    let mut around_ns = 0;
    let each = |event: seekwell_trace::Event| {
        if event.start_ns < first_ns || event.start_ns >= last_ns {
            around_ns += event.duration_ns.unwrap_or(0);
            around_ns += event.cpu_ns.unwrap_or(0) + event.waited_ns.unwrap_or(0);
        }
        Ok(())
    };
    trace.events(each).unwrap();
    around_ns
}
