//! Size of the traces of real programs, as CSV on standard output: `cargo bench -p seekwell-capture
//! --bench size`, as root; `-- FOLDER` is a directory with 4 GB of room. It needs no quiet machine.
//!
//! Columns: case, events (calls and block requests), lost events, bytes of the whole folder with paths
//! and the state before the start, bytes per event.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

#[path = "../tests/common/loads.rs"]
mod loads;

use seekwell_capture::{Command, Options, Target, capture};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = words.iter().rfind(|word| Path::new(word).is_dir());
    let folder = folder.map_or("/var/tmp", String::as_str);
    println!("case,events,lost,bytes,bytes_per_event");
    in_directory(folder, |work| {
        let server = loads::Server::create(work, 10, "-c 4 -j 2 -t 2500").expect("PostgreSQL");
        measure("postgresql", work, &server.bench, Some((loads::NOBODY, loads::NOBODY)));
    });
    in_directory(folder, |work| measure("rrdtool", work, &loads::rrdtool(work, 1000, 10), None));
    in_directory(folder, |work| {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        std::os::unix::fs::symlink(own, work.join("from")).unwrap();
        measure("git", work, &loads::git(work), None);
    });
    in_directory(folder, |work| measure("maildir", work, &loads::maildir(work, 2_000), None));
    in_directory(folder, |work| measure("tar", work, &loads::tar(work, 12_000), None));
}

fn in_directory(folder: &str, each: impl FnOnce(&Path)) {
    let outer = tempfile::tempdir_in(folder).unwrap();
    let work = outer.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&work).unwrap();
    each(&work);
}

/// Records a script as a user does who wants to know all about one directory.
fn measure(case: &str, work: &Path, script: &str, user: Option<(u32, u32)>) {
    let words = ["sh", "-ec", script].map(Into::into).to_vec();
    let target = Target::Command(Command { words, user, ..Command::default() });
    let mut options = Options::new(work.with_extension("trace"), target);
    // The trace is on the same disk here: its requests are a part of it.
    (options.same_device, options.paths) = (true, vec![work.to_owned()]);
    let done = capture(&options, &AtomicBool::new(false), None).unwrap();
    assert!(done.status.is_some_and(|status| status.success()), "{case}");
    let lost: u64 = done.lost.iter().map(|lost| lost.count).sum();
    let files = std::fs::read_dir(&options.output).unwrap().flatten();
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    println!("{case},{},{lost},{bytes},{:.2}", done.events, bytes as f64 / done.events as f64);
}
