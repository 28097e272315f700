//! The entries that Seekwell starts itself: the agent and the guardian.

use crate::args::GuardianArgs;
use crate::failure::{Exit, Failure};
use seekwell_virtual::RootImage;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Runs one trial: the request on standard input, messages on standard output.
///
/// # Errors
/// When the request cannot be read or the messages cannot be written.
pub fn agent() -> Result<Exit, Failure> {
    let done = seekwell_agent::process::serve(std::io::stdin().lock(), std::io::stdout().lock());
    done.map_err(|error| Failure::from_error(&error))?;
    Ok(Exit::Done)
}

/// Whether a kernel of the virtual place started this program as its first.
pub fn is_guest() -> bool {
    seekwell_virtual::guest::is_first_process()
        && std::env::args().skip(1).any(|word| word == RootImage::INIT_ARGUMENT)
}

/// Does what a guest is ordered to and switches it off; comes back only when that does not work, and
/// the kernel then tells the other side.
pub fn guest() -> Failure {
    match seekwell_virtual::guest::serve() {
        Err(error) => Failure::from_error(&error),
        Ok(never) => match never {},
    }
}

/// Watches a runner until it ends, and puts everything back.
///
/// # Errors
/// When something could not be put back.
pub fn guardian(arguments: &GuardianArgs) -> Result<Exit, Failure> {
    // A session of its own: neither Ctrl-C nor the end of the terminal reaches it. It fails only
    // where it leads one already.
    let _ = rustix::process::setsid();
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Failure::Error(format!("the guardian has no socket: {error}")))?;
    seekwell_agent::guardian::run(&arguments.undo, arguments.runner, UnixStream::from(socket))
        .map_err(|error| Failure::from_error(&error))?;
    Ok(Exit::Done)
}
