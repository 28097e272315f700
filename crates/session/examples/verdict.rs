//! Seekwell as a library: a lab, a backend, a verdict, and no terminal.
//!
//! Prints one line per trial and the sentence of the verdict. `verdict LAB.toml [DIRECTORY]` runs a
//! lab with modelled devices on the virtual backend; the run file is kept in the directory.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use seekwell_session::{Finished, LabText, Machine, Options, Session, serve};
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Guests and agents are this program too: started by a run, not by a person.
    if let Some(served) = serve(&arguments, std::io::stdin(), std::io::stdout()) {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let lab = arguments.get(1).map_or_else(|| PathBuf::from("lab.toml"), PathBuf::from);
    let directory = arguments.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
    match verdict(&lab, &directory) {
        Ok(sentence) => {
            println!("{sentence}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a lab on the virtual backend; its verdict in a sentence.
fn verdict(lab: &Path, directory: &Path) -> Result<String, Box<dyn Error>> {
    let session = Session::new(machine()?);
    let planned = session.resolve(&LabText::read(lab)?, &Options::of("virtual"))?.plan()?;
    println!("{} trials", planned.plan().trials.len());
    let run = planned.create(&directory.join("verdict.seekwell"))?;
    let plan = run.plan().clone();
    let finished = run.execute(&AtomicBool::new(false), &mut |event| {
        if let seekwell_session::Event::Ended { trial, record } = event {
            println!("{}: {:?}", plan.pair(trial).0.label, record.status);
        }
    })?;
    match finished {
        Finished::Complete(done) => Ok(done.verdict.reason),
        Finished::Stopped(path) => Err(format!("stopped; resume {}", path.display()).into()),
    }
}

/// This machine, as far as the virtual backend needs it.
fn machine() -> Result<Machine, Box<dyn Error>> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(home?.join(".cache")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system_folders = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    Ok(Machine {
        system: seekwell_session::System::host(),
        program: std::env::current_exe()?,
        state: PathBuf::from("/var/lib/seekwell"),
        kernels: cache.map(|cache| cache.join("seekwell/kernels")),
        folders: std::env::split_paths(&path).chain(system_folders).collect(),
        temporary: std::env::temp_dir(),
    })
}
