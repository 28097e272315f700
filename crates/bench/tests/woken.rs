//! A program whose threads wait for each other: captured, planned and replayed. It needs root, eBPF
//! and a C compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_capture::{CaptureError, Command, Options, Target, capture};
use seekwell_replay::{Action, Choice, Content, Plan, Speed, plan, rebuild, replay};
use seekwell_trace::{Event, Trace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const ROUNDS: usize = 20;

/// The trace of the program; `None` where this machine cannot record it.
fn recorded(test: &str, work: &Path) -> Option<Trace> {
    let Some(cc) = seekwell_testing::tool("cc") else {
        seekwell_testing::skip(test, "cc is not installed");
        return None;
    };
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to load eBPF programs");
        return None;
    }
    let program = work.join("woken");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/woken.c");
    let mut compiler = std::process::Command::new(cc);
    let built = compiler.args(["-pthread", "-o"]).args([&program, &source]).status();
    assert!(built.unwrap().success());
    let data = work.join("data");
    std::fs::create_dir(&data).unwrap();
    let script = format!("cd {} && exec {}", data.display(), program.display());
    let words = ["sh", "-c", &script].map(Into::into).to_vec();
    let target = Target::Command(Command { words, ..Command::default() });
    let options = Options {
        ring_bytes: 4 << 20,
        same_device: true,
        paths: vec![data],
        ..Options::new(work.join("trace"), target)
    };
    match capture(&options, &AtomicBool::new(false)) {
        Ok(captured) => {
            assert_eq!(captured.status.and_then(|status| status.code()), Some(0));
            assert_eq!(captured.lost, []);
        }
        Err(
            error @ (CaptureError::NotBuilt | CaptureError::Btf { .. } | CaptureError::Bpf { .. }),
        ) => {
            seekwell_testing::skip(test, &error.to_string());
            return None;
        }
        Err(error) => panic!("{error}"),
    }
    Some(Trace::open(&options.output).unwrap())
}

/// Calls that write to the file of the thread that waits, and those that sync.
fn calls(trace: &Trace) -> (Vec<Event>, Vec<Event>) {
    let mut all = Vec::new();
    let each = |event: Event| {
        all.push(event);
        Ok(())
    };
    trace.events(each).unwrap();
    let of = |name: &'static str| all.iter().filter(move |one| one.call.call().name == name);
    let main = |event: &&Event| event.thread == event.process;
    (of("pwrite64").filter(main).copied().collect(), of("fsync").copied().collect())
}

/// Time that the plan lets the thread that waits compute and sleep by itself.
fn pauses_ns(plan: &Plan) -> u64 {
    let is_own = |lane: &usize| plan.operations(*lane).iter().all(|one| one.action != Action::Sync);
    let lanes = (0..plan.lanes()).filter(is_own).flat_map(|lane| plan.operations(lane));
    lanes.map(|one| one.think_ns + one.wait_ns).sum()
}

#[test]
fn a_wait_for_the_sync_of_another_thread_is_no_sleep_of_its_own() {
    let test = "a_wait_for_the_sync_of_another_thread_is_no_sleep_of_its_own";
    let work = tempfile::tempdir().unwrap();
    let Some(trace) = recorded(test, work.path()) else { return };
    let (writes, syncs) = calls(&trace);
    assert_eq!((writes.len(), syncs.len()), (ROUNDS + 1, 4 * (ROUNDS + 1)));
    // A sync that is over at once is not waited for; the machine may be busy with others.
    let awaited: Vec<_> = writes.iter().filter(|write| write.waker.is_some()).collect();
    assert!(awaited.len() * 2 > ROUNDS, "{} of {ROUNDS}", awaited.len());
    assert!(awaited.iter().all(|write| write.waker == Some(syncs[0].thread)));
    assert!(awaited.iter().all(|write| write.awaited_ns <= write.waited_ns));
    // The last one waited for the end of the thread.
    assert_eq!(writes[ROUNDS].waker, Some(syncs[0].thread));

    let data = work.path().join("data").canonicalize().unwrap();
    let only = Some(data.to_string_lossy().into_owned());
    let plan = plan(&trace, &Choice { only, ..Choice::default() }).unwrap();
    let slept_ns: u64 = writes.iter().filter_map(|write| write.waited_ns).sum();
    let pauses_ns = pauses_ns(&plan);
    assert!(pauses_ns * 2 < slept_ns, "{pauses_ns} ns of {slept_ns} ns asleep");

    // Slower syncs: the thread that waits follows, and every result is the same.
    let target = work.path().join("target");
    std::fs::create_dir(&target).unwrap();
    rebuild(&plan, &target, Content::Zeros, None).unwrap();
    let options = seekwell_replay::Options { speed: Speed::Recorded(1.0), ..Default::default() };
    let replayed = replay(&plan, &target, &options).unwrap();
    assert_eq!((replayed.issued, replayed.differing()), (plan.recorded().planned, 0));
}
