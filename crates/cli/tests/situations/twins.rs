//! Bytes that are in use through another node: every kind of node, use and command. What reaches the same bytes is
//! refused, other parts of one file are not, and nothing is written.

use super::devices::{COMMANDS, LAB};
use super::{Place, Told, kept, try_family};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The program that puts the bytes to use.
const USER: &str = include_str!("user.py");

/// A node that is a use in itself.
const OVER: &str = "a loop device over it";

/// Nodes of the same bytes, or of some of them.
const SAME: [&str; 12] = [
    "itself", "a twin", "a second name", "a bound folder", "a file of an overlay",
    "a node of the same number", "a node in a namespace", "a part that overlaps",
    "the whole around it", "a part of it", OVER, "the loop device below it",
];

/// Nodes of other bytes.
const OTHER: [&str; 3] = ["a part before it", "a part behind it", "another file"];

/// Uses, each with words of its refusals.
const USES: [(&str, &[&str]); 9] = [
    ("held alone", &["O_EXCL: EBUSY"]),
    ("open for writing", &["open for writing"]),
    ("registered with a ring", &["registered with an io_uring"]),
    ("mapped", &["mapped for writing"]),
    ("mapped without a first thread", &["mapped for writing"]),
    ("mounted in a namespace", &["is mounted"]),
    ("unmounted with an open file", &["O_EXCL: EBUSY"]),
    ("mounted in a namespace of a descriptor", &["O_EXCL: EBUSY"]),
    ("mounted without a mount point", &["O_EXCL: EBUSY"]),
];

/// Uses that a regular file has.
const OF_FILES: [usize; 5] = [1, 2, 3, 4, 5];

/// Uses that only read, and things that do not use the device at all.
const HARMLESS: [&str; 2] = ["open for reading", "unused"];

/// A use of a node, before every command.
#[derive(Clone, Copy)]
struct Situation {
    node: &'static str,
    used: &'static str,
    /// Words of the refusal; empty if the use does not lead to one.
    refusal: &'static [&'static str],
}

fn situations() -> Vec<Situation> {
    let with = |node, used, refusal: &'static [&'static str]| Situation { node, used, refusal };
    let mut all = Vec::new();
    for (used, refusal) in USES {
        all.extend(SAME.iter().map(|node| with(node, used, refusal)));
        all.extend(OTHER.iter().map(|node| with(node, used, &[])));
    }
    all.extend(OF_FILES.iter().map(|at| with("the file", USES[*at].0, USES[*at].1)));
    for used in HARMLESS {
        // A loop device over or below it is a use in itself.
        let nodes = SAME[..10].iter().chain(&OTHER).chain(&["the file"]);
        all.extend(nodes.map(|node| with(node, used, &[])));
    }
    all
}

/// A process without a first thread hides its mounts, and with them the file. That is refused too, but by a plan.
const HIDDEN: (&str, &str) = ("a file of an overlay", "mapped without a first thread");

/// End of a plan.
const UNTOUCHED: &str = "Nothing was touched";

/// Starts of the parts of a file that have a filesystem.
const STARTS: [u64; 3] = [0, 8 << 20, 32 << 20];

/// A filesystem of 4 MiB, made once.
fn filesystem() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let path = kept("situations-twins").join("image");
        File::create(&path).unwrap().set_len(4 << 20).unwrap();
        let made = Command::new(seekwell_testing::tool("mkfs.ext4").unwrap())
            .args(["-q", "-F", "-O", "^has_journal"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        fs::read(path).unwrap()
    })
}

/// Makes a file of 48 MiB with a filesystem at each start, and holes.
fn make(path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len(48 << 20).unwrap();
    for start in STARTS {
        for (block, at) in filesystem().chunks(4096).zip((start..).step_by(4096)) {
            if block.iter().any(|byte| *byte != 0) {
                file.write_all_at(block, at).unwrap();
            }
        }
    }
}

/// True if the file is as [`make`] left it.
fn is_unchanged(path: &Path) -> bool {
    let now = fs::read(path).unwrap();
    let mut rest = 0;
    STARTS.iter().all(|start| {
        let start = *start as usize;
        let is_same = now[rest..start].iter().all(|byte| *byte == 0);
        rest = start + filesystem().len();
        is_same && now[start..rest] == *filesystem()
    }) && now.len() == 48 << 20
        && now[rest..].iter().all(|byte| *byte == 0)
}

/// The process that uses a node. It undoes everything at the end of its input.
struct User(Child);

impl User {
    /// The process, and the device to ask about.
    fn new(situation: &Situation, folder: &Path) -> Result<(Self, String), String> {
        let child = Command::new("unshare")
            .args(["--mount", "python3", "-c", USER, situation.node, situation.used])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut user = Self(child.unwrap());
        let mut line = String::new();
        BufReader::new(user.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim_end().split_once(' ') {
            Some(("ready", device)) => Ok((user, device.to_owned())),
            _ => Err(format!("no such use: {line}")),
        }
    }

    /// Ends it; `Err` if something of it is left.
    fn end(mut self) -> Result<(), String> {
        drop(self.0.stdin.take());
        let status = self.0.wait().unwrap();
        if status.success() { Ok(()) } else { Err(format!("the user ends with {status}")) }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn bytes_in_use_through_another_node_are_refused_and_no_others() {
    let test = "bytes_in_use_through_another_node_are_refused_and_no_others";
    let has = |name| seekwell_testing::tool(name).is_some();
    if !seekwell_testing::root()
        || !["losetup", "python3", "unshare", "mkfs.ext4"].into_iter().all(has)
    {
        return seekwell_testing::skip(test, "needs root, losetup, python3, unshare and mkfs.ext4");
    }
    try_family("nodes and uses, each with five commands", situations(), |situation| {
        let Situation { node, used, .. } = situation;
        attempt(situation).map_err(|why| format!("{node} {used}: {why}"))
    });
}

fn attempt(situation: &Situation) -> Result<(), String> {
    let place = Place::new();
    let [asked, other] = ["image", "other"].map(|name| place.others().join(name));
    make(&asked);
    make(&other);
    fs::write(place.home().join("lab.toml"), LAB).unwrap();
    let (user, device) = User::new(situation, &place.others())?;
    let command = |command: &&[&'static str]| {
        let word = |word: &str| if word == "DEVICE" { device.clone() } else { word.to_owned() };
        let words: Vec<String> = command.iter().map(|one| word(one)).collect();
        let told = place.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        told.and_then(|told| is_right(situation, &told))
            .map_err(|why| format!("{}: {why}", command[0]))
    };
    let wrong: Vec<String> = COMMANDS.iter().filter_map(|words| command(words).err()).collect();
    user.end()?;
    if !is_unchanged(&asked) || !is_unchanged(&other) {
        return Err("the bytes were changed".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// `Err` unless the command was refused for the use, or for want of a claim where the use is harmless.
fn is_right(situation: &Situation, told: &Told) -> Result<(), String> {
    let says = |words: &[&str]| words.iter().any(|words| told.text.contains(words));
    if (situation.node, situation.used) == HIDDEN && says(&["is out of sight", UNTOUCHED]) {
        return Ok(());
    }
    let is_right = if situation.refusal.is_empty() {
        says(&["was not claimed", "nothing was claimed"])
    } else {
        says(situation.refusal) || (situation.node == OVER && says(&["is the backing device of"]))
    };
    match told.code != 0 && is_right {
        true => Ok(()),
        false => Err(format!("status {}: {:.400}", told.code, told.text)),
    }
}

#[test]
fn disks_of_the_host_are_refused_in_another_pid_namespace() {
    let test = "disks_of_the_host_are_refused_in_another_pid_namespace";
    if !seekwell_testing::root() || seekwell_testing::tool("losetup").is_none() {
        return seekwell_testing::skip(test, "needs root and losetup for loop devices");
    }
    let place = Place::new();
    let path = place.others().join("image");
    make(&path);
    fs::write(place.home().join("lab.toml"), LAB).unwrap();
    let device = super::devices::Loop::attach(&path);
    for command in COMMANDS {
        let words =
            command.iter().map(|word| if *word == "DEVICE" { device.path() } else { *word });
        let within = ["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_seekwell")];
        let told =
            place.run_program("unshare", &within.into_iter().chain(words).collect::<Vec<_>>());
        let told = told.unwrap();
        // A plan may be made where its disks cannot be looked at.
        let words = if command[0] == "plan" { UNTOUCHED } else { "PID namespace" };
        assert!(told.text.contains(words), "{}", told.text);
        assert_eq!(told.code == 0, command[0] == "plan", "{}", told.text);
    }
    drop(device);
    assert!(is_unchanged(&path));
}
