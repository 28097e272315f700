//! The processes that a command starts from its own program: agent, guardian, the first process of
//! a guest, and the server of a device.

use crate::served::{self, ServingError};
use seekwell_agent::guardian::GuardianError;
use seekwell_agent::process::{ProcessError, read_request, run_trial};
use seekwell_host::sysfs::System;
use seekwell_host::{confine, namespace, nfs};
use seekwell_model::workloads::WorkloadParams;
use seekwell_virtual::RootImage;
use seekwell_virtual::guest::{self, GuestError};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Errors of such a process.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The agent.
    #[error(transparent)]
    Agent(#[from] ProcessError),
    /// The rights of the agent.
    #[error(transparent)]
    Rights(#[from] seekwell_host::Error),
    /// The guardian.
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    /// The guardian was started without its socket.
    #[error("the guardian has no socket: {0}")]
    NoSocket(io::Error),
    /// The server of a device.
    #[error(transparent)]
    Device(#[from] ServingError),
    /// The first process of a guest.
    #[error(transparent)]
    Guest(#[from] GuestError),
}

/// Does the work of this process if its arguments show that a run started it; otherwise returns
/// `None`. A program that runs labs calls this first thing in `main` with its
/// standard input and output, and ends with the result.
#[must_use]
pub fn serve(
    arguments: &[OsString],
    input: impl Read + AsFd,
    output: impl Write,
) -> Option<Result<(), ServeError>> {
    let words = arguments.get(1..).unwrap_or_default();
    // A kernel gives its first program words of its own besides ours.
    if guest::is_first_process() && words.iter().any(|word| word == RootImage::INIT_ARGUMENT) {
        return Some(match guest::serve() {
            Err(error) => Err(error.into()),
            Ok(never) => match never {},
        });
    }
    match words {
        [agent] if agent == "agent" => Some(agent_process(input, output)),
        [guardian, undo, list, runner, pid]
            if guardian == "guardian" && undo == "--undo" && runner == "--runner" =>
        {
            let pid = pid.to_str()?.parse().ok()?;
            Some(guardian_process(Path::new(list), pid, &input))
        }
        [server, seed, scratch, word, list] if server == served::SERVER => {
            let arguments = [seed, scratch, word, list];
            Some(served::server(arguments, input, output).map_err(ServeError::from))
        }
        _ => None,
    }
}

/// Runs a trial with the rights that one needs. Its programs get no descriptor but 0, 1 and 2.
fn agent_process(input: impl Read, output: impl Write) -> Result<(), ServeError> {
    // The images are the agent's: a program of the workload could write to one below its filesystem.
    namespace::close_on_exec()?;
    let request = read_request(input)?;
    if let Some(state) = &request.hidden {
        confine::hide(state, Some(&request.work))?;
    }
    let privileged = |part: &WorkloadParams| match part {
        WorkloadParams::Command(command) => command.privileged,
        _ => false,
    };
    let workload = &request.workload;
    if !workload.parts.iter().chain(&workload.beside).any(privileged) {
        let serves = request.stack.filesystem.nfs.is_some();
        confine::keep_only(nfs::rights(&System::host(), serves))?;
    }
    Ok(run_trial(&request, output)?)
}

/// Watches a runner until it ends, and restores everything.
fn guardian_process(undo: &Path, runner: u32, input: &impl AsFd) -> Result<(), ServeError> {
    // A session of its own: neither Ctrl-C nor the end of the terminal reaches it. It fails only
    // where it leads one already.
    let _ = rustix::process::setsid();
    let socket = input.as_fd().try_clone_to_owned().map_err(ServeError::NoSocket)?;
    Ok(seekwell_agent::guardian::run(undo, runner, UnixStream::from(socket))?)
}
