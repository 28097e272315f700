//! Traces and outputs of strace that are something else, lead elsewhere, or are damaged, and outputs that have the
//! name of something of others.

use super::{CANARY, Place, difference, fifo, kept, snapshot, try_family};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const STRACE: &str = "7 1700000000.000100 openat(AT_FDCWD</srv>, \"a\", O_RDWR|O_CREAT, 0644) = 3</srv/a> <0.000020>\n\
                      7 1700000000.000200 pread64(3</srv/a>, \"x\", 4096, 8192) = 1 <0.000110>\n";

/// A trace that was imported once.
fn good() -> &'static Path {
    static GOOD: OnceLock<PathBuf> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = kept("situations-trace");
        fs::write(folder.join("s"), STRACE).unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_seekwell"))
            .args(["trace", "import", "strace", "s", "-o", "t"])
            .current_dir(&folder)
            .stderr(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success());
        folder
    })
}

/// A copy of the good trace.
fn copy(to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(good().join("t")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The files of a copy whose name contains a word.
fn files(trace: &Path, word: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(trace).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains(word)).collect()
}

/// Replaces every file of a copy by what `make` leaves at its path.
fn each(trace: &Path, make: impl Fn(&Path)) {
    copy(trace);
    for path in files(trace, "") {
        fs::remove_file(&path).unwrap();
        make(&path);
    }
}

/// Changes the bytes of every file of a copy.
fn bytes(trace: &Path, change: impl Fn(&mut Vec<u8>)) {
    copy(trace);
    for path in files(trace, "") {
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    }
}

type Make = fn(&Path);

const INPUTS: [(&str, Make); 26] = [
    ("nothing", |_| {}),
    ("an empty file", |path| drop(File::create(path).unwrap())),
    ("a text", |path| fs::write(path, CANARY).unwrap()),
    ("an empty folder", |path| fs::create_dir(path).unwrap()),
    ("a link to itself", |path| symlink("in", path).unwrap()),
    ("a link to a canary", |path| symlink("../others/canary", path).unwrap()),
    ("a link to a folder of others", |path| symlink("../others", path).unwrap()),
    ("endless zeroes", |path| symlink("/dev/zero", path).unwrap()),
    ("a FIFO", fifo),
    ("FIFOs as files", |path| each(path, fifo)),
    ("its own memory", |path| symlink("/proc/self/mem", path).unwrap()),
    ("control characters", |path| {
        fs::write(path, "\u{1b}]0;x\u{7}\u{1b}[2J\n".repeat(99)).unwrap()
    }),
    ("lines without time", |path| fs::write(path, "read(3, \"\", 1) = 1\n").unwrap()),
    ("a line of 64 MiB", |path| fs::write(path, vec![b'x'; 64 << 20]).unwrap()),
    ("no byte of text", |path| fs::write(path, vec![0xff; 1 << 16]).unwrap()),
    ("empty files", |path| each(path, |file| drop(File::create(file).unwrap()))),
    ("links to a canary as files", |path| {
        each(path, |file| symlink("../../others/canary", file).unwrap())
    }),
    ("links to zeroes as files", |path| each(path, |file| symlink("/dev/zero", file).unwrap())),
    ("folders as files", |path| each(path, |file| fs::create_dir(file).unwrap())),
    ("holes of 1 GiB as files", |path| {
        each(path, |file| File::create(file).unwrap().set_len(1 << 30).unwrap());
    }),
    ("deep brackets as files", |path| {
        each(path, |file| fs::write(file, "[".repeat(99_999)).unwrap())
    }),
    ("files cut in half", |path| bytes(path, |bytes| bytes.truncate(bytes.len() / 2))),
    ("files without their end", |path| bytes(path, |bytes| bytes.truncate(bytes.len() - 1))),
    ("files of zeroes", |path| bytes(path, |bytes| bytes.fill(0))),
    ("files turned round", |path| bytes(path, |bytes| bytes.reverse())),
    ("files with every eighth byte at its most", |path| {
        bytes(path, |bytes| bytes.iter_mut().skip(3).step_by(8).for_each(|byte| *byte = 0xff));
    }),
];

const READERS: [(&str, &[&str]); 6] = [
    ("info", &["trace", "info", "in"]),
    ("info as JSON", &["trace", "info", "in", "--json"]),
    ("filter", &["trace", "filter", "in", "-o", "out"]),
    ("import", &["trace", "import", "strace", "in", "-o", "out"]),
    ("advise", &["advise", "in"]),
    ("bench", &["bench", "replay", ".", "--trace", "in"]),
];

#[test]
fn inputs_that_are_no_traces_are_refused() {
    let all = READERS.iter().flat_map(|reader| INPUTS.iter().map(move |input| (reader, input)));
    try_family("traces", all.collect(), |((name, arguments), (what, make))| {
        read(arguments, *make).map_err(|why| format!("{name} {what}: {why}"))
    });
}

fn read(arguments: &[&str], make: Make) -> Result<(), String> {
    let place = Place::new();
    make(&place.home().join("in"));
    let before = snapshot(&place.others());
    let told = place.run(arguments)?;
    if let Some(what) = difference(&before, &snapshot(&place.others()), true) {
        return Err(what);
    }
    if told.code == 0 && !told.text.contains("unreadable") {
        return Err(format!("it ends well: {:.300}", told.text));
    }
    if told.code != 0 && place.home().join("out").exists() {
        return Err("it leaves its output".to_owned());
    }
    Ok(())
}

/// Things of others with the name of the output.
const OUTPUTS: [(&str, Make); 9] = [
    ("a file", |path| fs::write(path, CANARY).unwrap()),
    ("a link to a canary", |path| symlink("../others/canary", path).unwrap()),
    ("a link to a full folder", |path| symlink("../others/folder", path).unwrap()),
    ("a full folder", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("trace.json"), CANARY).unwrap();
    }),
    ("a folder with a hidden file", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join(".keep"), CANARY).unwrap();
    }),
    ("a link to itself", |path| symlink("out", path).unwrap()),
    ("a dangling link", |path| symlink("../others/new", path).unwrap()),
    ("the trace itself", |path| symlink("in", path).unwrap()),
    ("a device", |path| symlink("/dev/null", path).unwrap()),
];

const WRITERS: [(&str, &[&str]); 2] = [
    ("filter", &["trace", "filter", "in", "-o", "out"]),
    ("import", &["trace", "import", "strace", "s", "-o", "out"]),
];

#[test]
fn outputs_of_traces_replace_nothing() {
    let all = OUTPUTS.iter().flat_map(|output| WRITERS.map(|command| (output, command)));
    try_family("outputs of traces", all.collect(), |((what, make), command)| {
        let (name, arguments) = command;
        write(arguments, *make).map_err(|why| format!("{name} onto {what}: {why}"))
    });
}

fn write(arguments: &[&str], make: Make) -> Result<(), String> {
    let place = Place::new();
    copy(&place.home().join("in"));
    fs::write(place.home().join("s"), STRACE).unwrap();
    make(&place.home().join("out"));
    let (others, home) = (snapshot(&place.others()), snapshot(&place.home()));
    let told = place.run(arguments)?;
    let changed = difference(&others, &snapshot(&place.others()), true)
        .or_else(|| difference(&home, &snapshot(&place.home()), true));
    match changed {
        Some(what) => Err(what),
        None if told.code == 0 => Err(format!("it ends well: {:.300}", told.text)),
        None => Ok(()),
    }
}
