//! `seekwell device serve`: modelled devices as block devices of this machine. Real loop devices; needs root and FUSE.
//!
//! Nothing here asserts a time of the real clock but that no answer comes before the model's.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use seekwell_engine::buffer::Aligned;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Loop devices are numbered by the kernel: one test at a time, so that each sees its own come and go.
static MACHINE: Mutex<()> = Mutex::new(());

const BLOCK: u64 = 4096;

/// Patience with a machine under load before something counts as left behind.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that serves a device.
struct Serving {
    /// `None` once it is waited for.
    command: Option<Child>,
    device: PathBuf,
}

/// A test that fails leaves no device behind.
impl Drop for Serving {
    fn drop(&mut self) {
        let Some(mut command) = self.command.take() else { return };
        let _ = kill_process(Pid::from_child(&command), Signal::INT);
        let _ = command.wait();
    }
}

impl Serving {
    fn start(name: &str) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_seekwell")).args(["device", "serve", name]))
    }

    fn of(command: &mut Command) -> Self {
        let mut command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(command.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            command.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("nothing is served: {said}");
        }
        Self { command: Some(command), device: line.trim().into() }
    }

    fn queue(&self, attribute: &str) -> String {
        let name = self.device.file_name().unwrap();
        let path = Path::new("/sys/block").join(name).join(attribute);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    fn open(&self, flags: OFlags) -> File {
        open(&self.device, flags | OFlags::DIRECT, Mode::empty()).unwrap().into()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.command.as_ref().unwrap())
    }

    /// The server, a child of the command.
    fn server(&self) -> Pid {
        let pid = self.command.as_ref().unwrap().id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
    }

    fn end(mut self, signal: Signal) -> Output {
        kill_process(self.pid(), signal).unwrap();
        self.command.take().unwrap().wait_with_output().unwrap()
    }
}

/// File behind a loop device; `None` when it is free.
fn behind(name: &str) -> Option<String> {
    std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
}

/// Undo lists of served devices, and the settings of free loop devices that a served one changes.
fn traces() -> (Vec<String>, BTreeMap<String, String>) {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let lists = names("/var/lib/seekwell/undo");
    let is_free = |name: &String| name.starts_with("loop") && behind(name).is_none();
    let loops = names("/sys/block").into_iter().filter(is_free);
    let settings = loops.flat_map(|name| {
        let attributes = ["scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb"];
        attributes.map(|attribute| {
            let path = format!("/sys/block/{name}/queue/{attribute}");
            (path.clone(), std::fs::read_to_string(path).unwrap_or_default())
        })
    });
    (lists.into_iter().filter(|name| name.contains("-served-")).collect(), settings.collect())
}

/// Waits until a device is detached and everything is as it was before. A loop device that was not free then, or that
/// another test has attached since, has that one's settings; one that is new has the kernel's.
fn is_gone(device: &Path, before: &(Vec<String>, BTreeMap<String, String>)) {
    let name = device.file_name().unwrap().to_str().unwrap();
    let queue = format!("/{name}/");
    let begun = Instant::now();
    loop {
        let now = traces();
        let mut own = before.1.iter().filter(|(path, _)| path.contains(&queue));
        let is_same = own.all(|(path, value)| now.1.get(path).is_none_or(|now| now == value));
        let is_ours = behind(name).is_some_and(|file| file.contains("seekwell-served-device"));
        if now.0 == before.0 && is_same && !is_ours {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{}: {now:?}\nbefore: {before:?}", device.display());
        sleep(Duration::from_millis(20));
    }
}

/// Reads a block in each of so many threads at once; the time of all.
fn reads(file: &File, threads: u64) -> Duration {
    let begun = Instant::now();
    scope(|scope| {
        for nth in 0..threads {
            scope.spawn(move || {
                let mut buffer = Aligned::zeroed(BLOCK);
                file.read_exact_at(&mut buffer, nth * BLOCK).unwrap();
            });
        }
    });
    begun.elapsed()
}

/// Returns false, and counts a skip, where nothing can be served.
fn can_serve(test: &str) -> bool {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to serve a device");
        return false;
    }
    for node in ["/dev/fuse", "/dev/loop-control"] {
        if !Path::new(node).exists() {
            seekwell_testing::skip(test, &format!("there is no {node}"));
            return false;
        }
    }
    true
}

#[test]
fn a_served_device_answers_at_the_models_time_and_many_at_once() {
    if !can_serve("a_served_device_answers") {
        return;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = traces();
    let served = Serving::start("fixed,fixed.read_latency_us=200000,fixed.write_latency_us=1000");
    let [direct, autoclear] = ["loop/dio", "loop/autoclear"].map(|name| served.queue(name));
    assert_eq!((direct.as_str(), autoclear.as_str()), ("1", "1"));
    let limits =
        ["nr_requests", "max_sectors_kb", "rotational", "write_cache", "logical_block_size"];
    let limits = limits.map(|name| served.queue(&format!("queue/{name}")));
    assert_eq!(limits, ["32", "512", "0", "write through", "512"]);

    let file = served.open(OFlags::RDWR);
    let mut written = Aligned::zeroed(BLOCK);
    written.iter_mut().enumerate().for_each(|(nth, byte)| *byte = nth as u8);
    let begun = Instant::now();
    file.write_all_at(&written, 5 * BLOCK).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(1));
    let mut read = Aligned::zeroed(3 * BLOCK);
    let begun = Instant::now();
    file.read_exact_at(&mut read, 4 * BLOCK).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(200));
    let expected = [vec![0; BLOCK as usize], written.to_vec(), vec![0; BLOCK as usize]].concat();
    assert!(read[..] == expected[..]);
    // Twelve after one another would take 2.4 s.
    let (one, many) = (reads(&file, 1), reads(&file, 12));
    assert!(many < 6 * one, "12 reads at once took {many:?}, one took {one:?}");

    drop(file);
    let device = served.device.clone();
    let output = served.end(Signal::INT);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in ["serving Fixed latency", "serving adds about ", " requests; "] {
        assert!(said.contains(part), "{said}");
    }
    is_gone(&device, &before);
}

#[test]
fn a_served_device_is_read_by_the_probe_and_written_only_when_it_is_claimed() {
    if !can_serve("a_served_device_is_read_by_the_probe") {
        return;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = traces();
    let served = Serving::start("fixed");
    let probe = |arguments: &[&str]| {
        let mut probe = Command::new(env!("CARGO_BIN_EXE_seekwell"));
        let output = probe.arg("probe").arg(&served.device).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = probe(&["--write"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("was not claimed"), "{said}");
    // Which process serves it is no reason against it: it holds the device for reading alone.
    let mut claim = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    let claim = claim.arg("claim").arg(&served.device).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&claim.stderr);
    assert!(!said.contains("in use") && !said.contains("open for writing"), "{said}");
    let (status, said) = probe(&[]);
    assert_eq!(status, Some(1), "{said}");
    // With other load on the machine its times may look like those of a disk, which then has no angle.
    assert!(said.contains("no rotation found") || said.contains("cannot be found"), "{said}");
    let device = served.device.clone();
    assert_eq!(served.end(Signal::TERM).status.code(), Some(0));
    is_gone(&device, &before);
}

#[test]
fn nothing_is_left_of_a_served_device_when_a_process_is_killed() {
    if !can_serve("nothing_is_left_of_a_served_device") {
        return;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = traces();
    // Data in the page cache has to be written when the device is let go.
    let dirty = |served: &Serving| {
        let data = vec![3; 4 << 20];
        open(&served.device, OFlags::RDWR, Mode::empty())
            .map(File::from)
            .unwrap()
            .write_all_at(&data, 0)
            .unwrap();
    };
    let served = Serving::start("fixed");
    dirty(&served);
    let device = served.device.clone();
    let output = served.end(Signal::KILL);
    assert_eq!(output.status.code(), None);
    // The server says there what it could not put back.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("error"), "{said}");
    is_gone(&device, &before);

    let mut served = Serving::start("fixed");
    dirty(&served);
    let device = served.device.clone();
    kill_process(served.server(), Signal::KILL).unwrap();
    let output = served.command.take().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the server of the device ended by itself"), "{said}");
    is_gone(&device, &before);
}

/// A card that claims 64 MiB and has 16, whose sectors beyond those are the first ones again.
const FAKE: &str = r#"name = "fake"
title = "a fake"
kind = "fixed"
[presented]
sectors = 131072
wraps_at = 32768
queue_depth = 32
max_request_kib = 512
[fixed]
read_latency_us = 1
write_latency_us = 1
mb_per_s = 5000
parallel = 32
[sources]
presented = "test"
fixed = "test"
"#;

const TRUE_BYTES: u64 = 16 << 20;
const CLAIMED_BYTES: u64 = 64 << 20;

/// The program with a folder of claims of its own.
fn with_own_state(directory: &Path, words: &[&str]) -> Output {
    in_own_state(directory, words).output().unwrap()
}

fn in_own_state(directory: &Path, words: &[&str]) -> Command {
    std::fs::create_dir_all(directory.join("state")).unwrap();
    let script = "mount --make-rprivate / && mount --bind state /var/lib && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_seekwell")])
        .args(words)
        .current_dir(directory)
        .env("NO_COLOR", "1");
    command
}

/// Bytes that a step of a bench found wrong, and the codes of the warnings.
fn found(output: &Output, step: &str) -> (u64, u64, Vec<String>) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = result["steps"].as_array().unwrap();
    let metrics = &steps.iter().find(|found| found["name"] == step).unwrap()["metrics"];
    let number = |name: &str| metrics[name].as_f64().unwrap() as u64;
    let warnings = result["warnings"].as_array().unwrap().iter();
    let codes = warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect();
    (number("checked_bytes"), number("wrong_bytes"), codes)
}

const LAB: &str = r#"
[lab]
name = "served"
question = "is a served device a disk like others?"
[[device]]
model = "ram"
[[filesystem]]
type = "ext2"
[[filesystem]]
type = "ext4"
[[workload]]
name = "mail"
kind = "mail"
files = 20
steps = ["read_archive"]
[judge]
metric = "unpack.elapsed_durable"
tie = "50%"
rounds = 6
"#;

#[test]
fn a_lab_runs_on_a_served_device() {
    if !can_serve("a_lab_runs_on_a_served_device") {
        return;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = traces();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("disk.toml"), FAKE.replace("wraps_at = 32768\n", "")).unwrap();
    std::fs::write(path("lab.toml"), LAB).unwrap();
    let serve = ["device", "serve", &path("disk.toml")];
    let served = Serving::of(&mut in_own_state(folder.path(), &serve));
    let device = served.device.to_str().unwrap().to_owned();
    let run = |words: &[&str]| with_own_state(folder.path(), words);
    let claimed = run(&["claim", &device, "--confirm", "131072"]);
    assert!(claimed.status.success(), "{}", String::from_utf8_lossy(&claimed.stderr));
    let lab = ["run", "lab.toml", "--place", "host", "--device", &device, "-o", "out.seekwell"];
    // The first call shows what will be written.
    let shown = run(&lab);
    assert_eq!(shown.status.code(), Some(3), "{}", String::from_utf8_lossy(&shown.stderr));
    let done = run(&lab);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(matches!(done.status.code(), Some(0 | 4)), "{said}");
    served.end(Signal::INT);
    is_gone(Path::new(&device), &before);
}

/// All of a device, past the cache.
fn content(file: &File) -> Vec<u8> {
    let mut all = Aligned::zeroed(CLAIMED_BYTES);
    file.read_exact_at(&mut all, 0).unwrap();
    all.to_vec()
}

#[test]
fn a_fake_is_found_by_the_checks_of_capacity_and_of_written_data() {
    if !can_serve("a_fake_is_found_by_the_checks") {
        return;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = traces();
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("fake.toml");
    std::fs::write(&model, FAKE).unwrap();
    let served = Serving::start(model.to_str().unwrap());
    let device = served.device.to_str().unwrap().to_owned();
    let run = |words: &[&str]| with_own_state(folder.path(), words);
    let full = ["bench", "capacity", &device, "--full", "--json"];
    let refused = run(&full);
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    let claimed = run(&["claim", &device, "--confirm", "131072"]);
    assert!(claimed.status.success(), "{}", String::from_utf8_lossy(&claimed.stderr));

    let mut data = Aligned::zeroed(TRUE_BYTES);
    data.chunks_mut(512).zip(0_u64..).for_each(|(sector, number)| {
        sector[..8].copy_from_slice(&number.to_le_bytes());
    });
    // Closed again: a device that is open for writing is refused.
    served.open(OFlags::RDWR).write_all_at(&data, 0).unwrap();
    let before_check = content(&served.open(OFlags::RDONLY));
    assert!(before_check.chunks(TRUE_BYTES as usize).all(|part| *part == data[..]));
    let (checked, wrong, codes) =
        found(&run(&["bench", "capacity", &device, "--json"]), "capacity");
    // Stamps at 0, 1, 2, 4, 8, 16 and 32 MiB and at the end; the one at 0 was written last.
    assert_eq!((checked, wrong), (8 * BLOCK, 2 * BLOCK));
    assert!(codes.iter().any(|code| code == "wrong-capacity"), "{codes:?}");
    assert!(content(&served.open(OFlags::RDONLY)) == before_check, "the content is not restored");

    // Of blocks in ascending order the last ones are kept.
    let lost = CLAIMED_BYTES - TRUE_BYTES;
    let (checked, wrong, codes) = found(&run(&full), "capacity");
    assert_eq!((checked, wrong), (CLAIMED_BYTES, lost));
    assert!(codes.iter().any(|code| code == "wrong-capacity"), "{codes:?}");
    let stream = ["bench", "stream", &device, "--write", "--direct", "--file-size", "64MiB"];
    let verify = run(&[&stream[..], &["--verify", "100", "--json"]].concat());
    let (checked, wrong, codes) = found(&verify, "stream-verify");
    assert_eq!((checked, wrong), (CLAIMED_BYTES, lost));
    assert!(codes.iter().any(|code| code == "wrong-data"), "{codes:?}");
    let within = ["bench", "stream", &device, "--write", "--file-size", "16MiB"];
    let verify = run(&[&within[..], &["--verify", "50", "--json"]].concat());
    let (checked, wrong, codes) = found(&verify, "stream-verify");
    assert!(checked > 0 && checked < TRUE_BYTES && wrong == 0, "{wrong} of {checked}");
    assert!(!codes.iter().any(|code| code == "wrong-data"), "{codes:?}");

    assert_eq!(served.end(Signal::TERM).status.code(), Some(0));
    is_gone(Path::new(&device), &before);
}

#[test]
fn a_device_that_is_not_there_is_not_served() {
    let output = Command::new(env!("CARGO_BIN_EXE_seekwell"))
        .args(["device", "serve", "none-such"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("none-such"), "{said}");
}
