//! The command line: arguments in, progress and errors out, exit codes.
//!
//! The only room that prints, exits or reads the environment; it holds no logic of its own.

mod args;
mod bench_flags;
mod commands;
mod failure;
mod place;
mod progress;
mod screen;
mod terminal;
mod virtual_place;

use clap::FromArgMatches;
use failure::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The kernel hands its first program words of its own besides ours.
    if commands::internal::is_guest() {
        return commands::internal::guest().show();
    }
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return failure::usage(&error),
    };
    let done = match matches.subcommand() {
        Some(("bench", bench)) => {
            place::put_back_what_died();
            commands::bench::run(bench)
        }
        _ => match args::Cli::from_arg_matches(&matches) {
            Ok(cli) => dispatch(cli.command),
            Err(error) => return failure::usage(&error),
        },
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    }
}

fn dispatch(command: args::Command) -> Result<Exit, Failure> {
    use args::Command;
    match command {
        Command::Agent => commands::internal::agent(),
        Command::Guardian(arguments) => commands::internal::guardian(&arguments),
        Command::Extract(arguments) => commands::extract::run(&arguments),
        Command::Screen => progress::live::run(),
        Command::Completions(arguments) => commands::documents::completions(&arguments),
        Command::Documents(arguments) => commands::documents::documents(&arguments),
        other => {
            place::put_back_what_died();
            match other {
                Command::Doctor => commands::doctor::run(),
                Command::Init(arguments) => commands::init::run(&arguments),
                Command::Plan(arguments) => commands::plan::run(&arguments),
                Command::Run(arguments) => commands::run::run(&arguments),
                Command::Report(arguments) => commands::report::run(&arguments),
                Command::Replicate(arguments) => commands::replicate::run(&arguments),
                Command::Watch(arguments) => commands::watch::run(&arguments),
                Command::Compare(arguments) => commands::compare::run(&arguments),
                Command::Claim(arguments) => commands::claim::claim(&arguments),
                Command::Release(arguments) => commands::claim::release(&arguments),
                Command::Kernel(command) => commands::kernel::run(&command),
                Command::Device(command) => commands::device::run(&command),
                Command::Calibrate => commands::calibrate::run(),
                Command::Agent
                | Command::Guardian(_)
                | Command::Extract(_)
                | Command::Screen
                | Command::Completions(_)
                | Command::Documents(_) => Ok(Exit::Done),
            }
        }
    }
}
