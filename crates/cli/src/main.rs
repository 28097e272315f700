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

use args::{AtlasCommand, DeviceCommand, KernelCommand};
use clap::FromArgMatches;
use failure::{Exit, Failure};
use seekwell_session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    foreign::explain_limits();
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(served) = seekwell_session::serve(&words, std::io::stdin(), std::io::stdout()) {
        let failed = |error| Failure::from_error(&error).show();
        return served.map_or_else(failed, |()| ExitCode::SUCCESS);
    }
    // Before Linux 5.11, programs inherit what the caller left open.
    let _ = seekwell_host::namespace::close_on_exec();
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
        Command::Doctor(words) => doctor(&words),
        Command::Try(words) => on_this_machine(|session| commands::tried::run(session, &words)),
        Command::Init(words) => on_this_machine(|session| commands::init::run(session, &words)),
        Command::Plan(words) => on_this_machine(|session| commands::plan::run(session, &words)),
        Command::Run(words) => on_this_machine(|session| commands::run::run(session, &words)),
        Command::Advise(words) => {
            on_this_machine(|session| commands::advised::run(session, &words))
        }
        Command::Watch(words) => {
            on_this_machine(|session| commands::watch::run(session.machine(), &words))
        }
        Command::Capture(words) => commands::capture::run(&words),
        Command::Report(words) => on_this_machine(|_| commands::report::run(&words)),
        Command::Why(words) => on_this_machine(|session| commands::why::run(session, &words)),
        Command::Compare(words) => on_this_machine(|_| commands::compare::run(&words)),
        Command::Trace(command) => commands::trace::run(&command),
        Command::Device(command) => {
            on_this_machine(|session| commands::device::run(session, &command))
        }
        Command::Claim(words) => dispatch(Command::Device(DeviceCommand::Claim(words))),
        Command::Release(words) => dispatch(Command::Device(DeviceCommand::Release(words))),
        Command::Ask(words) => commands::ask::run(&machine::session()?, &words),
        Command::Atlas(command) => commands::atlas::run(&machine::session()?, &command),
        Command::Publish(words) => dispatch(Command::Atlas(AtlasCommand::Publish(words))),
        Command::Tune(words) => dispatch(Command::Atlas(AtlasCommand::Tune(words))),
        Command::File(command) => file(command),
        Command::Kernel(command) => {
            on_this_machine(|session| commands::kernel::run(session, &command))
        }
        Command::Completions(words) => commands::documents::completions(&words),
        Command::Help(words) => commands::documents::help(&words),
        Command::Documents(words) => commands::documents::documents(&words),
        Command::Screen => progress::live::run(),
        Command::CaptureScreen => progress::recording::run(),
        Command::Work(words) => on_this_machine(|session| commands::work::run(session, &words)),
        Command::Replicate(words) => dispatch(Command::Device(DeviceCommand::Replicate(words))),
        Command::Probe(words) => dispatch(Command::Device(DeviceCommand::Probe(words))),
        Command::Extract(words) => file(args::FileCommand::Extract(words)),
        Command::Verify(words) => file(args::FileCommand::Verify(words)),
        Command::Merge(words) => file(args::FileCommand::Merge(words)),
        Command::Repair(words) => file(args::FileCommand::Repair(words)),
        Command::Calibrate(words) => dispatch(Command::Kernel(KernelCommand::Calibrate(words))),
        Command::Cuts(words) => dispatch(Command::Kernel(KernelCommand::Cuts(words))),
    }
}

fn file(command: args::FileCommand) -> Result<Exit, Failure> {
    match command {
        args::FileCommand::Verify(words) => commands::verify::run(&words),
        args::FileCommand::Repair(words) => commands::repair::run(&words),
        args::FileCommand::Merge(words) => commands::merge::run(&words),
        args::FileCommand::Extract(words) => commands::extract::run(&words),
    }
}
