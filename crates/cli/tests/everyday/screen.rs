//! Screens on a terminal of our own: whatever ends them, the terminal is as it was before.

use super::seekwell;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal, and everything that was written to it.
struct Terminal {
    master: File,
    slave: OwnedFd,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let slave = rustix::fs::open(path.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        let master = File::from(master);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, sink) = (master.try_clone().unwrap(), Arc::clone(&written));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        Self { master, slave, written }
    }

    /// The program with this terminal as its standard error.
    fn command(&self, directory: &Path) -> Command {
        let mut command = seekwell(directory);
        let stderr = Stdio::from(self.slave.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        command
    }

    /// All that the program writes to this terminal of `columns`, as its standard output.
    fn output(&self, columns: u16, words: &[&str]) -> String {
        let (text, code) = self.everything(columns, Path::new("/"), words);
        assert_eq!(code, Some(0), "{words:?}: {text}");
        text
    }

    /// All that the program writes to this terminal of `columns`, as its standard output and error, and its
    /// exit status.
    fn everything(&self, columns: u16, place: &Path, words: &[&str]) -> (String, Option<i32>) {
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.slave, size).unwrap();
        let terminal = || Stdio::from(self.slave.try_clone().unwrap());
        let mut command = seekwell(place);
        command.args(words).env("TERM", "xterm").env("NO_COLOR", "1").stdin(Stdio::null());
        let status = command.stdout(terminal()).stderr(terminal()).status().unwrap();
        // Its own mark at the end: what a terminal shows comes when it likes.
        let end = "-- that is all --";
        rustix::io::write(&self.slave, end.as_bytes()).unwrap();
        self.wait_for(end);
        (self.text().replace(end, "").replace('\r', ""), status.code())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until something was written.
    fn wait_for(&self, what: &str) {
        let begun = Instant::now();
        while !self.text().contains(what) {
            assert!(begun.elapsed() < PATIENCE, "no {what:?} in {:?}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&self, key: char) {
        (&self.master).write_all(&[key as u8]).unwrap();
    }

    /// Line by line and with echo, as it was made.
    fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Entered once, left at last, and usual again.
    fn assert_given_back(&self) {
        self.wait_for(LEAVE);
        let begun = Instant::now();
        while !self.is_usual() {
            assert!(begun.elapsed() < PATIENCE, "still a screen: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = self.text();
        assert!(text.rfind(ENTER).unwrap() < text.rfind(LEAVE).unwrap(), "{text:?}");
    }
}

#[test]
fn lists_fit_a_terminal_of_80_columns_and_are_whole_in_a_file() {
    for words in [&["device", "list"][..], &["doctor"]] {
        let shown = Terminal::new().output(80, words);
        let breaks = |line: &str| line.split_whitespace().count() > 1;
        for line in shown.lines().filter(|line| line.chars().count() > 80) {
            // One word that has no place to break may be longer.
            assert!(!breaks(line.trim_start()), "{} columns: {line}", line.chars().count());
        }
        let output = seekwell(Path::new("/")).args(words).output().unwrap();
        let whole = String::from_utf8(output.stdout).unwrap();
        // Free space and dirty memory may differ between the two.
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let unwrapped = |text: &str| {
            let words = text.split_whitespace().filter(|word| !is_number(word));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(unwrapped(&shown), unwrapped(&whole), "{words:?}");
        assert!(whole.lines().count() < shown.lines().count(), "nothing of {words:?} was wrapped");
    }
}

/// A line that is longer than the terminal and is neither one word nor a command to copy, nor ends with a
/// path.
fn wide(text: &str, columns: u16) -> Option<&str> {
    let is_path =
        |line: &str| line.split(' ').next_back().is_some_and(|word| word.starts_with('/'));
    let is_command = |line: &str| {
        let line = line.trim_start();
        line.starts_with("seekwell ") || line.starts_with("sudo seekwell ")
    };
    let mut lines = text.lines().filter(|line| line.chars().count() > usize::from(columns));
    lines.find(|line| line.trim().contains(' ') && !is_command(line) && !is_path(line))
}

/// A trace of two processes with long paths.
fn trace(folder: &Path) {
    let path = "/srv/a/folder/with/a/long/name/of/its/own";
    let calls = format!(
        "7 1700000000.000000 openat(AT_FDCWD, \"{path}/one\", O_RDWR|O_CREAT, 0644) = 3<{path}/one> <0.000100>\n\
         7 1700000000.010000 write(3<{path}/one>, \"x\", 4096) = 4096 <0.000200>\n\
         7 1700000000.020000 fsync(3<{path}/one>) = 0 <0.020000>\n\
         8 1700000001.000000 openat(AT_FDCWD, \"{path}/two\", O_RDONLY) = 3<{path}/two> <0.000100>\n\
         8 1700000001.010000 read(3<{path}/two>, \"x\", 4096) = 4096 <0.000200>\n"
    );
    std::fs::write(folder.join("log"), calls).unwrap();
    let import = ["trace", "import", "strace", "log", "-o", "t"];
    let imported = seekwell(folder).args(import).output().unwrap();
    assert!(imported.status.success(), "{}", super::talk(&imported));
}

#[test]
fn texts_fit_terminals_of_80_100_and_120_columns_without_broken_words() {
    // A run that another test kills would be put back here, with messages of its own.
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    trace(folder.path());
    let trace = folder.path().join("t");
    let trace = trace.to_str().unwrap();
    let absent = folder.path().join("a-run-file-with-a-long-name-that-is-not-there.seekwell");
    let absent = absent.to_str().unwrap();
    let cases: [(&[&str], i32); 11] = [
        (&["plan", "labs/demo.toml"], 0),
        (&["trace", "info", trace], 0),
        (&["trace", "requests", trace], 0),
        (&["device", "show", "wd-raptor-wd740gd"], 0),
        (&["--help"], 0),
        (&["run", "--help"], 0),
        (&["help", "run"], 0),
        (&["watch", "no-such-device-of-this-machine-with-a-long-name"], 1),
        (&["report", absent], 1),
        (&["run", "labs/demo.toml", "--budget", "5s"], 2),
        (&["try", "mail", "--for", "0s"], 2),
    ];
    for (words, code) in cases {
        let output = seekwell(&root).args(words).output().unwrap();
        let whole = super::data(&output) + &super::talk(&output);
        assert!(!whole.contains("-- --budget"), "a tip that leads nowhere: {whole}");
        let known: Vec<&str> = whole.split_whitespace().collect();
        for columns in [80, 100, 120] {
            let (text, status) = Terminal::new().everything(columns, &root, words);
            assert_eq!(status, Some(code), "{words:?}: {text}");
            assert_eq!(wide(&text, columns), None, "{words:?} in {columns} columns:\n{text}");
            let broken: Vec<&str> =
                text.split_whitespace().filter(|word| !known.contains(word)).collect();
            assert!(
                broken.is_empty(),
                "{words:?} in {columns} columns: {broken:?}\n{text}\n{whole}"
            );
        }
    }
    let (plan, _) = Terminal::new().everything(80, &root, &["plan", "labs/demo.toml"]);
    assert!(plan.lines().count() <= 24, "{}\n{plan}", plan.lines().count());
}

#[test]
fn lines_of_watch_fit_the_terminal_and_keep_the_utilisation() {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let Some(device) = entries.filter_map(|entry| entry.file_name().into_string().ok()).min()
    else {
        return seekwell_testing::skip("lines_of_watch_fit_the_terminal", "no block device");
    };
    for columns in [80, 100, 120] {
        let words = ["watch", &device, "--lines", "-n", "2", "-i", "50ms"];
        let text = Terminal::new().output(columns, &words);
        assert_eq!(wide(&text, columns), None, "{columns}:\n{text}");
        assert!(text.contains(" %util"), "{text}");
    }
}

#[test]
fn a_run_and_a_try_fit_the_terminal() {
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    if !seekwell_testing::root() || seekwell_testing::tool("mkfs.ext2").is_none() {
        return seekwell_testing::skip("a_run_and_a_try_fit", "needs root and mkfs.ext2");
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    std::fs::write(place.join("lab.toml"), LAB).unwrap();
    let run = ["run", "lab.toml", "--no-screen"];
    let tried = ["try", "touch {dir}/x", "--fs", "ext2", "--sched", "none,mq-deadline", "--size"];
    let tried = [&tried[..], &["64MiB", "--for", "2s", "--no-screen"]].concat();
    for (columns, words) in [
        (80, &run[..]),
        (100, &tried[..]),
        (100, &["report", "lab.seekwell"]),
        (120, &["report", "lab.seekwell"]),
        (80, &["report", "try.seekwell"]),
    ] {
        let (text, status) = Terminal::new().everything(columns, place, words);
        assert!(matches!(status, Some(0 | 4)), "{words:?}: {text}");
        assert_eq!(wide(&text, columns), None, "{words:?} in {columns} columns:\n{text}");
        let is_report = words[0] == "report";
        assert_eq!(text.contains("writing the image of "), !is_report, "{words:?}: {text}");
    }
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

fn watch(terminal: &Terminal) -> Option<Child> {
    let entries = std::fs::read_dir("/sys/block").ok()?.flatten();
    let device = entries.filter_map(|entry| entry.file_name().into_string().ok()).min()?;
    let mut command = terminal.command(Path::new("/"));
    let child = command.args(["watch", &device, "-i", "50ms", "--counters-only"]).spawn().unwrap();
    terminal.wait_for("q leaves");
    assert!(!terminal.is_usual());
    Some(child)
}

#[test]
fn watch_gives_the_terminal_back_on_a_key_and_on_signals() {
    for ending in ["key", "SIGINT", "SIGTERM"] {
        let terminal = Terminal::new();
        let Some(mut child) = watch(&terminal) else {
            return seekwell_testing::skip("watch_gives_the_terminal_back", "no block device");
        };
        match ending {
            "key" => terminal.press('q'),
            "SIGINT" => signal(&child, rustix::process::Signal::INT),
            _ => signal(&child, rustix::process::Signal::TERM),
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{ending}");
        terminal.assert_given_back();
    }
}

#[test]
fn the_screen_of_a_run_draws_what_it_is_told_and_ends_with_the_pipe() {
    let terminal = Terminal::new();
    let mut command = terminal.command(Path::new("/"));
    let mut child = command.arg("screen").stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let state = serde_json::json!({
        "lab": "demo", "question": "which?", "metric": "unpack.elapsed", "backend": "host",
        "scratch": "/nowhere", "disks": [], "done": 3, "total": 54, "round": 1,
        "left_ns": 60_000_000_000_u64,
        "done_before": 0, "image": null,
        "current": { "trial": 3, "name": "ext4/bfq", "step": "unpack" },
        "stacks": [{ "label": "ext4/bfq", "ok": 1, "marked": 0, "failed": 0 }],
        "notes": [],
    });
    // What is not a state is passed over.
    writeln!(pipe, "nonsense\n{state}").unwrap();
    terminal.wait_for("judged by unpack.elapsed");
    terminal.wait_for("ext4/bfq");
    assert!(!terminal.is_usual());
    // Ctrl-C is for the run, not for its screen.
    signal(&child, rustix::process::Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    terminal.assert_given_back();
}

const LAB: &str = "\
[[device]]
name = \"d\"
ram = \"32MiB\"
[[filesystem]]
type = \"ext2\"
[scheduler]
choose = [\"none\", \"mq-deadline\"]
[[workload]]
kind = \"command\"
run = \"sleep 0.05; touch {dir}/x\"
[judge]
metric = \"command.elapsed\"
rounds = 6
";

/// A run on the terminal whose screen is there; `None` where no run is possible.
fn run(test: &str, terminal: &Terminal, directory: &Path) -> Option<Child> {
    if !seekwell_testing::root() || seekwell_testing::tool("mkfs.ext2").is_none() {
        seekwell_testing::skip(test, "needs root and mkfs.ext2");
        return None;
    }
    std::fs::write(directory.join("lab.toml"), LAB).unwrap();
    let child = terminal.command(directory).args(["run", "lab.toml"]).spawn().unwrap();
    terminal.wait_for("judged by command.elapsed");
    assert!(!terminal.is_usual());
    Some(child)
}

/// The process that draws: a child of the run.
fn screen_of(run: &Child) -> rustix::process::Pid {
    let path = format!("/proc/{0}/task/{0}/children", run.id());
    let children = std::fs::read_to_string(path).unwrap();
    let draws = |pid: &&str| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(b"\0screen\0")
    };
    let pid = children.split_whitespace().find(draws).expect("no screen");
    rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap()
}

#[test]
fn leaving_the_screen_does_not_stop_the_run() {
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let (terminal, directory) = (Terminal::new(), tempfile::tempdir().unwrap());
    let Some(child) = run("leaving_the_screen", &terminal, directory.path()) else { return };
    terminal.press('q');
    terminal.wait_for("the run continues");
    terminal.assert_given_back();
    let output = child.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", terminal.text());
    assert!(terminal.text().contains("trial 12/12"), "{}", terminal.text());
    assert!(String::from_utf8_lossy(&output.stdout).contains("relative to the pick"));
}

#[test]
fn a_killed_screen_and_a_killed_run_give_the_terminal_back() {
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let (terminal, directory) = (Terminal::new(), tempfile::tempdir().unwrap());
    let Some(mut child) = run("a_killed_screen", &terminal, directory.path()) else { return };
    rustix::process::kill_process(screen_of(&child), rustix::process::Signal::KILL).unwrap();
    terminal.assert_given_back();
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 4)), "{}", terminal.text());

    let (terminal, directory) = (Terminal::new(), tempfile::tempdir().unwrap());
    let Some(mut child) = run("a_killed_run", &terminal, directory.path()) else { return };
    child.kill().unwrap();
    child.wait().unwrap();
    terminal.assert_given_back();
    // What the killed run left is put back before the next one is begun.
    let after = seekwell(directory.path()).args(["plan", "lab.toml"]).output().unwrap();
    assert_eq!(after.status.code(), Some(0));
}

#[test]
fn no_screen_means_lines() {
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    if !seekwell_testing::root() || seekwell_testing::tool("mkfs.ext2").is_none() {
        return seekwell_testing::skip("no_screen_means_lines", "needs root and mkfs.ext2");
    }
    let (terminal, directory) = (Terminal::new(), tempfile::tempdir().unwrap());
    std::fs::write(directory.path().join("lab.toml"), LAB).unwrap();
    let mut command = terminal.command(directory.path());
    let mut child = command.args(["run", "lab.toml", "--no-screen"]).spawn().unwrap();
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 4)), "{}", terminal.text());
    terminal.wait_for("trial 12/12");
    assert!(!terminal.text().contains(ENTER) && terminal.is_usual());
}

#[test]
fn the_screen_of_a_capture_draws_what_it_is_told_and_ends_with_the_pipe() {
    let terminal = Terminal::new();
    let mut command = terminal.command(Path::new("/"));
    let mut child = command.arg("capture-screen").stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let state = r#"{"trace": "/t", "per_second": 4321, "calls": [["read", 4000], ["sync", 321]],
        "files": [["/srv/\u001b[2Jdb", 4000]], "processes": [["7 db", 4321]],
        "events": 98765, "lost": 12, "bytes": 2500000}"#;
    writeln!(pipe, "{}", state.replace('\n', " ")).unwrap();
    // Blanks that are there already are not written again.
    for text in ["recording /t", "4321", "98765", "LOST", "2.5", "      4000 ████", "7 db"]
    {
        terminal.wait_for(text);
    }
    assert!(!terminal.text().contains("\u{1b}[2Jdb"), "a name steers the terminal");
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    terminal.assert_given_back();
}
