//! Programs that were captured, planned and replayed: one whose threads wait for each other, and one
//! that keeps several operations in flight. They need root, eBPF, a C compiler and fio.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_capture::{CaptureError, Command, Options, Target, capture};
use seekwell_replay::{
    Action, Choice, Content, Fidelity, Plan, Replayed, Speed, plan, rebuild, replay,
};
use seekwell_trace::{Event, Trace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const ROUNDS: usize = 20;

/// The trace of a script that runs in the folder `data`; `None` where this machine cannot record it.
fn recorded(test: &str, work: &Path, script: &str) -> Option<Trace> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to load eBPF programs");
        return None;
    }
    let data = work.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let script = format!("cd {} && exec {script}", data.display());
    let words = ["sh", "-c", &script].map(Into::into).to_vec();
    let target = Target::Command(Command { words, ..Command::default() });
    let options = Options {
        ring_bytes: 4 << 20,
        same_device: true,
        paths: vec![data],
        ..Options::new(work.join("trace"), target)
    };
    match capture(&options, &AtomicBool::new(false), None) {
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

/// A program of the tests, compiled.
fn program(test: &str, work: &Path, name: &str) -> Option<String> {
    let Some(cc) = seekwell_testing::tool("cc") else {
        seekwell_testing::skip(test, "cc is not installed");
        return None;
    };
    let program = work.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c"));
    let mut compiler = std::process::Command::new(cc);
    let built = compiler.args(["-pthread", "-o"]).args([&program, &source]).status();
    assert!(built.unwrap().success());
    Some(program.to_string_lossy().into_owned())
}

/// The plan of what was done below the folder `data`.
fn plan_of(trace: &Trace, work: &Path) -> Plan {
    let data = work.join("data").canonicalize().unwrap();
    let only = Some(data.to_string_lossy().into_owned());
    plan(trace, &Choice { only, ..Choice::default() }).unwrap()
}

/// Replays a plan in a new folder. Every call must have its recorded result.
fn replayed(plan: &Plan, work: &Path, speed: Speed) -> Replayed {
    let target = work.join("target");
    std::fs::create_dir(&target).unwrap();
    rebuild(plan, &target, Content::Zeros, None).unwrap();
    let options = seekwell_replay::Options { speed, ..Default::default() };
    let replayed = replay(plan, &target, &options).unwrap();
    assert_eq!((replayed.issued, replayed.differing()), (plan.recorded().planned, 0));
    replayed
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
    let Some(program) = program(test, work.path(), "woken") else { return };
    let Some(trace) = recorded(test, work.path(), &program) else { return };
    let (writes, syncs) = calls(&trace);
    assert_eq!((writes.len(), syncs.len()), (ROUNDS + 1, 4 * (ROUNDS + 1)));
    // A sync that is over at once is not waited for; the machine may be busy with others.
    let awaited: Vec<_> = writes.iter().filter(|write| write.waker.is_some()).collect();
    assert!(awaited.len() * 2 > ROUNDS, "{} of {ROUNDS}", awaited.len());
    assert!(awaited.iter().all(|write| write.waker == Some(syncs[0].thread)));
    assert!(awaited.iter().all(|write| write.awaited_ns <= write.waited_ns));
    // The last one waited for the end of the thread.
    assert_eq!(writes[ROUNDS].waker, Some(syncs[0].thread));

    let plan = plan_of(&trace, work.path());
    let slept_ns: u64 = writes.iter().filter_map(|write| write.waited_ns).sum();
    let pauses_ns = pauses_ns(&plan);
    assert!(pauses_ns * 2 < slept_ns, "{pauses_ns} ns of {slept_ns} ns asleep");

    // On other syncs the thread that waits follows, and every result is the same.
    replayed(&plan, work.path(), Speed::Recorded(1.0));
}

#[test]
fn operations_in_flight_are_repeated_by_as_many_threads() {
    let test = "operations_in_flight_are_repeated_by_as_many_threads";
    if seekwell_testing::tool("fio").is_none() {
        return seekwell_testing::skip(test, "fio is not installed");
    }
    const BYTES: u64 = 4 << 20;
    let work = tempfile::tempdir().unwrap();
    let script = "fio --name=job --filename=file --size=4m --bs=4k --rw=randwrite --iodepth=8 \
                  --ioengine=io_uring --thread --fsync=128 --output=/dev/null";
    let Some(trace) = recorded(test, work.path(), script) else { return };
    let plan = plan_of(&trace, work.path());
    let recorded = plan.recorded();
    if recorded.asynchronous == 0 {
        return seekwell_testing::skip(test, "this kernel does not show operations of io_uring");
    }
    assert!(recorded.asynchronous >= BYTES / 4096, "{recorded:?}");
    let replayed = replayed(&plan, work.path(), Speed::AsFastAsPossible);
    assert!(replayed.bytes_written >= BYTES, "{}", replayed.bytes_written);
    let fidelity = Fidelity::of(recorded, &replayed);
    assert_eq!(fidelity.share(), Some(1.0), "{:?}", recorded.skipped);
    assert_eq!(fidelity.asynchronous, recorded.asynchronous);
}

/// A btrfs in an image, mounted until it is dropped.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn btrfs(work: &Path, at: std::path::PathBuf) -> Result<Self, String> {
        let run = |tool: &str, words: &[&Path]| {
            let path = seekwell_testing::tool(tool).ok_or(format!("{tool} is not installed"))?;
            let output = std::process::Command::new(path).args(words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() { Ok(()) } else { Err(format!("{tool}: {said}")) }
        };
        let image = work.join("image");
        std::fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        std::fs::create_dir(&at).unwrap();
        run("mkfs.btrfs", &[Path::new("-q"), &image])?;
        run("mount", &[Path::new("-o"), Path::new("loop"), &image, &at])?;
        Ok(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status = std::process::Command::new("umount").arg(&self.0).status();
        assert!(status.unwrap().success(), "{}", self.0.display());
    }
}

/// Length of an attribute of a file.
fn attribute(file: &Path, name: &str) -> rustix::io::Result<usize> {
    rustix::fs::getxattr(file, name, &mut [0_u8; 256][..])
}

#[test]
fn attributes_and_clones_of_a_program_are_repeated() {
    const BYTES: u64 = 64 << 10;
    let test = "attributes_and_clones_of_a_program_are_repeated";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to load eBPF programs");
    }
    let work = tempfile::tempdir().unwrap();
    let Some(program) = program(test, work.path(), "kept") else { return };
    let mounted = match Mounted::btrfs(work.path(), work.path().join("data")) {
        Ok(mounted) => mounted,
        Err(why) => return seekwell_testing::skip(test, &why),
    };
    let Some(trace) = recorded(test, work.path(), &program) else { return };
    let plan = plan_of(&trace, work.path());
    let lost: Vec<_> = plan.recorded().skipped.iter().filter(|(one, _)| one.is_loss()).collect();
    assert_eq!(lost, [], "{:?}", plan.recorded());
    // Cloned on btrfs again; copied in the folder for temporary files if that is on a filesystem without clones.
    let again = work.path().join("again");
    std::fs::create_dir(&again).unwrap();
    std::fs::create_dir(mounted.0.join("again")).unwrap();
    for (folder, is_btrfs) in [(mounted.0.join("again"), true), (again, false)] {
        let replayed = replayed(&plan, &folder, Speed::AsFastAsPossible);
        let copied = u64::from(replayed.bytes_written >= 2 * BYTES);
        assert_eq!(replayed.cloned_otherwise, copied);
        assert!(!is_btrfs || copied == 0, "{replayed:?}");
        let target = folder.join("target");
        assert_eq!(std::fs::metadata(target.join("c")).unwrap().len(), BYTES);
        assert_eq!(attribute(&target.join("b"), "user.one"), Ok(100));
        assert_eq!(attribute(&target.join("b"), "user.two"), Err(rustix::io::Errno::NODATA));
        assert!(!target.join("a").exists());
    }
}
