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

    /// All that the program writes to this terminal, of so many columns, as its standard output.
    fn output(&self, columns: u16, words: &[&str]) -> String {
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.slave, size).unwrap();
        let stdout = Stdio::from(self.slave.try_clone().unwrap());
        let mut command = seekwell(Path::new("/"));
        command.args(words).env("TERM", "xterm").stdin(Stdio::null()).stdout(stdout);
        assert!(command.status().unwrap().success(), "{words:?}");
        // Its own mark at the end: what a terminal shows comes when it likes.
        let end = "-- that is all --";
        rustix::io::write(&self.slave, end.as_bytes()).unwrap();
        self.wait_for(end);
        self.text().replace(end, "").replace('\r', "")
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
        let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(unwrapped(&shown), unwrapped(&whole), "{words:?}");
        assert!(whole.lines().count() < shown.lines().count(), "nothing of {words:?} was wrapped");
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
run = \"sleep 0.3; touch {dir}/x\"
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
    assert!(String::from_utf8_lossy(&output.stdout).contains("command.elapsed"));
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
