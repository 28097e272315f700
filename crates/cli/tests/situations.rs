//! Hostile situations, each with a canary: files of others that no command may change, links that lead to them,
//! names that mean something to a shell or a terminal, options that reach files of the host, signatures on devices,
//! jobs and traces, and the state of earlier or other users.
//!
//! `make situations` tries all of them; `cargo test` a seeded sample of each family.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a test says how many situations it tried")]

#[path = "situations/arguments.rs"]
mod arguments;
#[path = "situations/devices.rs"]
mod devices;
#[path = "situations/inputs.rs"]
mod inputs;
#[path = "situations/jobs.rs"]
mod jobs;
#[path = "page/made.rs"]
mod made;
#[path = "situations/names.rs"]
mod names;
#[path = "situations/outputs.rs"]
mod outputs;
#[path = "situations/state.rs"]
mod state;
#[path = "situations/traces.rs"]
mod traces;
#[path = "situations/twins.rs"]
mod twins;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A sample has one of this many situations.
const SAMPLE: usize = 30;

/// Time after which a command hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tries the situations of a family, all or a sample, and fails with a list of those that went wrong.
fn try_family<T>(family: &str, all: Vec<T>, attempt: impl Fn(&T) -> Result<(), String>) {
    let whole = std::env::var("SEEKWELL_SITUATIONS").is_ok_and(|value| value == "all");
    let (count, seed) = (all.len(), seekwell_testing::seed());
    let tried: Vec<&T> = if whole {
        all.iter().collect()
    } else {
        let sample = seekwell_testing::sample(count, count.div_ceil(SAMPLE), seed);
        sample.into_iter().map(|at| &all[at]).collect()
    };
    let wrong: Vec<String> = tried.iter().filter_map(|one| attempt(one).err()).collect();
    eprintln!("{family}: {} of {count} situations tried, {} wrong", tried.len(), wrong.len());
    assert!(wrong.is_empty(), "with {}={seed}:\n{}", seekwell_testing::SEED, wrong.join("\n"));
}

/// A directory to work in, next to one that belongs to others.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.home()).unwrap();
        fs::create_dir_all(place.others().join("folder")).unwrap();
        fs::write(place.canary(), CANARY).unwrap();
        fs::write(place.others().join("folder/inner"), CANARY).unwrap();
        place
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn others(&self) -> PathBuf {
        self.0.path().join("others")
    }

    fn canary(&self) -> PathBuf {
        self.others().join("canary")
    }

    /// Runs the program; `Err` if it hangs, panics, or sends a raw escape to its output.
    fn run(&self, arguments: &[&str]) -> Result<Told, String> {
        self.run_program(env!("CARGO_BIN_EXE_seekwell"), arguments)
    }

    /// The same with another program, which runs it.
    fn run_program(&self, program: &str, arguments: &[&str]) -> Result<Told, String> {
        let (said, data) = (self.0.path().join("said"), self.0.path().join("data"));
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.home())
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(File::create(&data).unwrap())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err("it hangs".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = [fs::read(&data).unwrap(), fs::read(&said).unwrap()].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        match status.code() {
            None => Err(format!("it was ended by a signal: {text:.300}")),
            Some(101) => Err(format!("it panicked: {text:.300}")),
            // JSON for programs escapes control characters; it keeps others as they are.
            _ if text.contains(['\u{1b}', '\0'])
                || (text.contains('\u{202e}') && !arguments.contains(&"--json")) =>
            {
                Err(format!("it writes control characters: {text:.300?}"))
            }
            Some(code) => Ok(Told { code, text }),
        }
    }
}

/// Bytes that nobody may change.
const CANARY: &str = "a file of somebody else\n";

/// A command's exit status and everything that it said.
struct Told {
    code: i32,
    text: String,
}

/// Makes a FIFO that has no writer.
fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Everything below a directory: kind, mode, and content or target of each entry.
fn snapshot(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut rest = vec![top.to_owned()];
    while let Some(path) = rest.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        let kind = about.file_type();
        let content = if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if kind.is_file() {
            // As text, a mebibyte would take longer than the command.
            let mut hasher = DefaultHasher::new();
            fs::read(&path).unwrap().hash(&mut hasher);
            format!("{} bytes, {:x}", about.len(), hasher.finish())
        } else {
            format!(
                "{:?}",
                (kind.is_fifo(), kind.is_socket(), kind.is_char_device(), kind.is_dir())
            )
        };
        if kind.is_dir() {
            rest.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path, format!("{:o} {} {content}", about.mode(), about.uid()));
    }
    found
}

/// The first entry that is gone or differs; with `additions`, also the first that is new.
fn difference(
    before: &BTreeMap<PathBuf, String>,
    after: &BTreeMap<PathBuf, String>,
    additions: bool,
) -> Option<String> {
    let changed = before.iter().find(|(path, what)| after.get(*path) != Some(what));
    let new = after.keys().find(|path| additions && !before.contains_key(*path));
    changed
        .map(|(path, _)| format!("{} was changed", path.display()))
        .or_else(|| new.map(|path| format!("{} was made", path.display())))
}

/// An empty folder of this name for what all tests share. It is Cargo's: a static value is never
/// dropped, so that a temporary folder would stay.
fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A run, its HTML report and some data, made once.
fn shared() -> &'static Path {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    SHARED.get_or_init(|| {
        let folder = kept("situations");
        let wanted = made::Wanted {
            texts: ["ext4/none", "xfs/none"].map(str::to_owned).to_vec(),
            workloads: vec![(4, 64)],
            rounds: 6,
            samples: 4,
            operations: 20,
            single: false,
        };
        made::make(&folder.join("run.seekwell"), &wanted);
        fs::write(folder.join("data"), vec![7_u8; 1 << 20]).unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_seekwell"))
            .args(["report", "run.seekwell", "--html", "report.html"])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        folder
    })
}

/// Copies files of [`shared`] into a place.
fn bring(place: &Place, names: &[&str]) {
    for name in names {
        bring_to(&place.home().join(name), name);
    }
}

/// Copies a file of [`shared`].
fn bring_to(path: &Path, name: &str) {
    fs::copy(shared().join(name), path).unwrap();
}
