//! The command line: arguments in, progress and errors out, exit codes.
//!
//! The only room that prints, exits or reads the environment; it holds no logic of its own.

mod args;
mod bench_flags;
mod commands;
mod failure;
mod foreign;
mod machine;
mod output;
mod progress;
mod screen;
mod stop;
mod terminal;

use clap::FromArgMatches;
use failure::{Exit, Failure};
use seekwell_session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(served) = seekwell_session::serve(&words, std::io::stdin(), std::io::stdout()) {
        let failed = |error| Failure::from_error(&error).show();
        return served.map_or_else(failed, |()| ExitCode::SUCCESS);
    }
    let matches = match args::command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return failure::usage(error),
    };
    let done = match matches.subcommand() {
        Some(("bench", bench)) => {
            on_this_machine(|session| commands::bench::run(session.machine(), bench))
        }
        _ => match args::Cli::from_arg_matches(&matches) {
            Ok(cli) => dispatch(cli.command),
            Err(error) => return failure::usage(error),
        },
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    }
}

/// Runs a command that may meet what an interrupted run left behind, which is put back first.
fn on_this_machine(
    command: impl FnOnce(&Session) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let session = machine::session()?;
    put_back(&session);
    command(&session)
}

/// Puts back what an interrupted run left behind; false if something stays changed.
fn put_back(session: &Session) -> bool {
    seekwell_session::put_back(session.machine(), &mut |line| {
        terminal::talk(&terminal::harmless(line));
    })
}

/// Runs `doctor`, with which the epilog of a node finds out whether something is left.
fn doctor(arguments: &args::DoctorArgs) -> Result<Exit, Failure> {
    let session = machine::session()?;
    let is_put_back = put_back(&session);
    let found = commands::doctor::run(session.machine(), arguments)?;
    if is_put_back {
        return Ok(found);
    }
    let text =
        "an interrupted run left settings that cannot be put back, see above; restore them by hand";
    Err(Failure::Error(text.to_owned()))
}

fn dispatch(command: args::Command) -> Result<Exit, Failure> {
    use args::Command;
    match command {
        Command::Extract(arguments) => commands::extract::run(&arguments),
        Command::Verify(arguments) => commands::verify::run(&arguments),
        Command::Repair(arguments) => commands::repair::run(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Manifest(arguments) => commands::manifest::run(&arguments),
        Command::Client(arguments) => commands::clients::client(&arguments),
        Command::Capture(arguments) => commands::capture::run(&arguments),
        Command::Trace(command) => commands::trace::run(&command),
        Command::Screen => progress::live::run(),
        Command::CaptureScreen => progress::recording::run(),
        Command::Completions(arguments) => commands::documents::completions(&arguments),
        Command::Documents(arguments) => commands::documents::documents(&arguments),
        Command::Doctor(arguments) => doctor(&arguments),
        other => on_this_machine(|session| on_session(session, other)),
    }
}

fn on_session(session: &Session, command: args::Command) -> Result<Exit, Failure> {
    use args::Command;
    match command {
        Command::Init(arguments) => commands::init::run(session, &arguments),
        Command::Plan(arguments) => commands::plan::run(session, &arguments),
        Command::Run(arguments) => commands::run::run(session, &arguments),
        Command::Advise(arguments) => commands::advised::run(session, &arguments),
        Command::Try(arguments) => commands::tried::run(session, &arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Probe(arguments) => commands::probe::run(session, &arguments),
        Command::Replicate(arguments) => commands::replicate::run(session, &arguments),
        Command::Watch(arguments) => commands::watch::run(session.machine(), &arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Claim(arguments) => commands::claim::claim(session.machine(), &arguments),
        Command::Release(arguments) => commands::claim::release(session.machine(), &arguments),
        Command::Kernel(command) => commands::kernel::run(session.machine(), &command),
        Command::Device(command) => commands::device::run(session, &command),
        Command::Calibrate(arguments) => commands::calibrate::run(session.machine(), &arguments),
        Command::Work(arguments) => commands::work::run(session, &arguments),
        Command::Clients(arguments) => commands::clients::run(session, &arguments),
        Command::Doctor(_)
        | Command::Extract(_)
        | Command::Verify(_)
        | Command::Repair(_)
        | Command::Manifest(_)
        | Command::Merge(_)
        | Command::Client(_)
        | Command::Capture(_)
        | Command::Trace(_)
        | Command::Screen
        | Command::CaptureScreen
        | Command::Completions(_)
        | Command::Documents(_) => Ok(Exit::Done),
    }
}
