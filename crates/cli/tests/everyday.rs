//! The everyday commands from outside, through the program alone; none of these tests needs a
//! device of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "everyday/book.rs"]
mod book;
#[path = "everyday/capture.rs"]
mod capture;
#[path = "everyday/compare.rs"]
mod compare;
#[path = "everyday/documents.rs"]
mod documents;
#[path = "everyday/foreign.rs"]
mod foreign;
#[path = "everyday/init.rs"]
mod init;
#[path = "everyday/labs.rs"]
mod labs;
#[path = "everyday/marks.rs"]
mod marks;
#[path = "everyday/probe.rs"]
mod probe;
#[path = "everyday/screen.rs"]
mod screen;
#[path = "everyday/watch.rs"]
mod watch;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

/// A machine takes one run at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// The program in a directory, with an environment that changes nothing.
fn seekwell(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(directory).env("NO_COLOR", "1").env("TERM", "dumb");
    command
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
