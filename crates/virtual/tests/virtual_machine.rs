//! Real guests on modelled disks. Needs a lab kernel in the user's cache (`seekwell kernel build`).
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use seekwell_device::Model;
use seekwell_virtual::instant::Instant;
use seekwell_virtual::{
    CpuCharge, DiskParts, DiskSetup, End, Keeping, Outcome, Recording, RootBuilder, RootImage,
    Settings, Task, Transport, Trial, device_path, difference, run,
};

/// What every guest of these tests has.
struct Stage {
    kernel: PathBuf,
    root: RootImage,
    scratch: tempfile::TempDir,
}

impl Stage {
    fn new(test: &str, tools: &[&str]) -> Option<Self> {
        let kernel = common::lab_kernel(test)?.path;
        let scratch = tempfile::tempdir().unwrap();
        let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
        let mut builder =
            RootBuilder::new(Path::new(env!("CARGO_BIN_EXE_seekwell-test-guest"))).unwrap();
        for tool in tools {
            let Some(path) = seekwell_testing::tool(tool) else {
                seekwell_testing::skip(test, &format!("{tool} is not installed"));
                return None;
            };
            builder.tool(&path).unwrap();
        }
        if Path::new("/etc/mke2fs.conf").exists() {
            builder.file(Path::new("/etc/mke2fs.conf"), Path::new("/etc/mke2fs.conf")).unwrap();
        }
        let note: String = (0..200_000).map(|number| format!("{number}\n")).collect();
        builder.text(Path::new("/etc/long"), &note).unwrap();
        Some(Self { kernel, root: builder.build(keeping).unwrap(), scratch })
    }

    fn settings(&self) -> Settings {
        Settings::new(self.scratch.path())
    }

    fn run(&self, words: &str, input: &[u8], disks: Vec<DiskSetup>, settings: Settings) -> Outcome {
        let command = std::iter::once("/seekwell").chain(words.split(' '));
        let trial = Trial {
            kernel: &self.kernel,
            root: &self.root,
            disks,
            task: Task::Program(command.map(str::to_owned).collect()),
            input,
            settings,
        };
        run(trial, &mut |_| {}).unwrap()
    }

    /// Runs on one disk and insists on success.
    fn output(&self, words: &str, model: Box<dyn Model>, settings: Settings) -> String {
        let disk = DiskSetup::empty("data", model, &settings);
        finished(&self.run(words, b"", vec![disk], settings))
    }
}

fn finished(outcome: &Outcome) -> String {
    let log = String::from_utf8_lossy(&outcome.log);
    assert!(outcome.end.is_success(), "{}\n{log}\n{}", outcome.end, outcome.console);
    String::from_utf8(outcome.output.clone()).unwrap()
}

fn instant() -> Box<dyn Model> {
    Box::new(Instant::new(1 << 20))
}

fn device(name: &str) -> Box<dyn Model> {
    let path = format!("{}/../../devices/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let file = seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap();
    seekwell_device::build(&file, 1)
}

#[test]
fn input_output_log_and_status_go_through() {
    let Some(stage) = Stage::new("input_output_log_and_status_go_through", &[]) else { return };
    let input: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
    let outcome = stage.run("echo", &input, vec![], stage.settings());
    assert!(outcome.end.is_success(), "{}", outcome.end);
    assert!(outcome.output == input);
    assert_eq!(outcome.log, b"300000 bytes\n");
    assert!(outcome.cost.start.unwrap() <= outcome.cost.wall);
    assert_eq!(outcome.transport, Transport::Bells);
    let outcome = stage.run("status 7", b"", vec![], stage.settings());
    assert_eq!(outcome.end, End::Finished { status: 7 });
    let left = std::fs::read_dir(stage.scratch.path()).unwrap().count();
    assert_eq!(left, 0, "a guest leaves nothing behind");
}

#[test]
fn the_root_image_is_read_as_it_was_made() {
    let Some(stage) = Stage::new("the_root_image_is_read_as_it_was_made", &[]) else { return };
    let expected: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    assert!(stage.output("cat /etc/long", instant(), stage.settings()) == expected);
}

#[test]
fn the_ways_to_end_are_told_apart_in_real_guests() {
    let Some(stage) = Stage::new("the_ways_to_end_are_told_apart_in_real_guests", &[]) else {
        return;
    };
    let mut settings = stage.settings();
    settings.limits.spin = Duration::from_secs(1);
    settings.limits.virtual_ns = 3_600_000_000_000;
    let spin = stage.run("spin", b"", vec![], settings.clone());
    assert!(matches!(spin.end, End::ProgramSpins(..)), "{}", spin.end);
    let asleep = stage.run("sleep 999999999", b"", vec![], settings.clone());
    assert_eq!(asleep.end, End::VirtualLimit);
    let broken = Settings { memory_bytes: 4 << 20, ..settings };
    let crash = stage.run("echo", b"", vec![], broken);
    assert!(!matches!(crash.end, End::Finished { .. }), "{}", crash.end);
    assert!(crash.cost.wall < Duration::from_secs(60));
}

#[test]
fn a_first_program_that_is_none_is_a_panic() {
    let test = "a_first_program_that_is_none_is_a_panic";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
    let root = RootBuilder::new(Path::new("/etc/passwd")).unwrap().build(keeping).unwrap();
    let settings = Settings::new(scratch.path());
    let trial = Trial {
        kernel: &kernel.path,
        root: &root,
        disks: vec![],
        task: Task::Agent,
        input: b"",
        settings,
    };
    let outcome = run(trial, &mut |_| {}).unwrap();
    let End::Panic(reason) = outcome.end else { panic!("{}", outcome.end) };
    assert!(reason.starts_with("Requested init /seekwell failed"), "{reason}");
    assert!(outcome.console.contains("Kernel panic"));
}

#[test]
fn time_is_virtual_and_cpu_is_free_unless_it_is_charged() {
    let Some(stage) = Stage::new("time_is_virtual_and_cpu_is_free_unless_it_is_charged", &[])
    else {
        return;
    };
    assert_eq!(stage.output("sleep 100000", instant(), stage.settings()), "100000\n");
    let cost = |syscall_ns, copy_ns_per_kib| -> i64 {
        let charge = CpuCharge { syscall_ns, copy_ns_per_kib, ..CpuCharge::default() };
        let settings = Settings { charge, ..stage.settings() };
        stage.output("syscalls 5000", instant(), settings).trim().parse().unwrap()
    };
    let free = cost(0, 0);
    assert!(free < 5000, "reading the clock costs 256 ns, nothing else any: {free}");
    let charged = cost(700, 0) - free;
    assert!((charged - 5001 * 700).abs() <= 2 * 700, "{charged}");
    assert_eq!(cost(0, 1000) - free, 0, "nothing was copied");
}

#[test]
fn the_block_layer_sees_what_the_model_presents() {
    let Some(stage) = Stage::new("the_block_layer_sees_what_the_model_presents", &[]) else {
        return;
    };
    let model = device("ide-40gb-2005");
    let found = stage.output("queue /dev/vda", model, stage.settings());
    let expected = "rotational 1\nnr_requests 4\nmax_hw_sectors_kb 2147483647\nmax_segments 32\n\
        write_cache write back\nlogical_block_size 512\nphysical_block_size 512\nmax_segment_size 4096\n\
        sectors 78165360\nserial data\n";
    assert_eq!(found, expected);
    let ssd = stage.output("queue /dev/vda", device("ssd-sata-250gb"), stage.settings());
    assert!(ssd.starts_with("rotational 0\n"), "{ssd}");
}

#[test]
fn a_seed_decides_everything_random() {
    let Some(stage) = Stage::new("a_seed_decides_everything_random", &[]) else { return };
    let random = |seed| stage.output("random", instant(), Settings { seed, ..stage.settings() });
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
}

#[test]
fn every_transport_and_any_load_give_the_same_run() {
    let test = "every_transport_and_any_load_give_the_same_run";
    let Some(stage) = Stage::new(test, &["mkfs.ext4"]) else { return };
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for transport in
            [Transport::Bells, Transport::SharedClock, Transport::Messages, Transport::Bells]
        {
            let (stage, outcomes) = (&stage, &outcomes);
            scope.spawn(move || {
                let settings = Settings { transport, keep_events: true, ..stage.settings() };
                let disk = DiskSetup::empty("data", device("ide-40gb-2005"), &settings);
                let outcome =
                    stage.run("churn /dev/vda ext4 mq-deadline", b"", vec![disk], settings);
                finished(&outcome);
                assert_eq!(outcome.transport, transport);
                outcomes.lock().unwrap().push(outcome);
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    assert!(outcomes[0].fingerprint.events > 500, "{}", outcomes[0].fingerprint.events);
    for other in &outcomes[1..] {
        if let Some(difference) = difference(&outcomes[0], other) {
            panic!("{difference}");
        }
    }
    let settings = Settings { seed: 2, ..stage.settings() };
    let disk = DiskSetup::empty("data", device("ide-40gb-2005"), &settings);
    let reseeded = stage.run("churn /dev/vda ext4 mq-deadline", b"", vec![disk], settings);
    assert_ne!(outcomes[0].fingerprint.hash, reseeded.fingerprint.hash);
}

#[test]
fn a_scheduler_helps_a_disk_that_takes_one_request_and_not_one_that_sorts_itself() {
    let test = "a_scheduler_helps_a_disk_that_takes_one_request_and_not_one_that_sorts_itself";
    let Some(stage) = Stage::new(test, &[]) else { return };
    let elapsed = |name: &str, scheduler: &str| -> f64 {
        let words = format!("at-once /dev/vda {scheduler} 32 20");
        stage.output(&words, device(name), stage.settings()).trim().parse().unwrap()
    };
    let shallow = ["none", "mq-deadline"].map(|name| elapsed("ide-40gb-2005", name));
    assert!(shallow[0] > 1.2 * shallow[1], "{shallow:?}");
    let deep = ["none", "mq-deadline"].map(|name| elapsed("sata-2tb-5400", name));
    assert!((deep[0] / deep[1] - 1.0).abs() < 0.15, "{deep:?}");
}

#[test]
fn several_disks_keep_their_roles_and_places() {
    let Some(stage) = Stage::new("several_disks_keep_their_roles_and_places", &[]) else { return };
    let settings = stage.settings();
    let disks = vec![
        DiskSetup::empty("data", device("sata-2tb-5400"), &settings),
        DiskSetup::empty("journal", device("cf-kingston-24x"), &settings),
    ];
    let second = device_path(1);
    let outcome = stage.run(&format!("queue {}", second.display()), b"", disks, settings);
    let text = finished(&outcome);
    assert!(text.contains("serial journal\n") && text.contains("rotational 0\n"), "{text}");
    let roles: Vec<&str> = outcome.disks.iter().map(|disk| disk.role.as_str()).collect();
    assert_eq!(roles, ["data", "journal"]);
}

/// Cuts the power of a recorded run after this number of requests; a second guest looks at the rest.
fn survives(stage: &Stage, kind: &str, events: usize) -> String {
    let empty = || DiskSetup::empty("data", device("ide-40gb-2005"), &stage.settings());
    let mut disk = empty();
    disk.parts.recording = Some(Recording::default());
    let words = format!("fill /dev/vda {kind}");
    let mut outcome = stage.run(&words, b"", vec![disk], stage.settings());
    finished(&outcome);
    let recording = outcome.disks.remove(0).parts.recording.unwrap();
    let at_ns = recording.completions()[events - 1].at_ns;
    let DiskParts { model, content, .. } = empty().parts;
    let cut = recording.cut(model, content, events as u64).unwrap();
    let mut parts = DiskParts::new(device("ide-40gb-2005"), cut.content);
    parts.damaged = cut.lost.damaged;
    let setup = DiskSetup { role: "data".to_owned(), parts };
    let words = format!("verify /dev/vda {kind}");
    finished(&stage.run(&words, outcome.output_by(at_ns), vec![setup], stage.settings()))
}

#[test]
fn what_was_synced_survives_a_power_cut() {
    let test = "what_was_synced_survives_a_power_cut";
    let Some(stage) = Stage::new(test, &["mkfs.ext4", "e2fsck"]) else { return };
    for events in [5000, 6500] {
        let told = survives(&stage, "ext4", events);
        assert!(told.ends_with("files are whole\n") && !told.starts_with("0 "), "{told}");
    }
}

#[test]
fn an_ordinary_user_can_run_it() {
    let test = "an_ordinary_user_can_run_it";
    let Some(kernel) = common::lab_kernel(test) else { return };
    if !seekwell_testing::root() {
        return; // Every other test here is this one.
    }
    let Some(setpriv) = seekwell_testing::tool("setpriv") else {
        return seekwell_testing::skip(test, "setpriv is not installed (package util-linux)");
    };
    let open = tempfile::tempdir().unwrap();
    let place = |from: &Path, name: &str| {
        let to = open.path().join(name);
        std::fs::copy(from, &to).unwrap();
        to
    };
    std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let program = place(&std::env::current_exe().unwrap(), "program");
    let kernel = place(&kernel.path, "linux");
    // The folder for temporary files of whoever runs the tests may be closed to others.
    let scratch = open.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    std::fs::set_permissions(&scratch, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let output = std::process::Command::new(setpriv)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"])
        .arg(program)
        .args(["--exact", "a_seed_decides_everything_random", "--nocapture"])
        .env("SEEKWELL_TEST_KERNEL", kernel)
        .env("TMPDIR", &scratch)
        .current_dir("/")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}
