//! `cargo xtask tidy | docs [--check] | test`: see the library for what each command does.

#![allow(
    clippy::print_stderr,
    reason = "a developer's command line tool: errors go to standard error"
)]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::{docs, suite, tidy};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy           budgets, dependency arrows and house rules over the whole tree
  docs           write the documents that are generated from the code
  docs --check   only compare them; exit 1 when one is out of date
  test           formatting, clippy, tidy, docs --check and every test; ends with the counts

exit codes: 0 in order, 1 something to mend, 2 wrong usage";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(command) = command(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match workspace_root().and_then(|root| command(&root)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

type Command = fn(&Path) -> Result<bool>;

fn command(words: &[&str]) -> Option<Command> {
    match words {
        ["tidy"] => Some(tidy::command),
        ["docs"] => Some(docs::write),
        ["docs", "--check"] => Some(docs::check),
        ["test"] => Some(suite::command),
        _ => None,
    }
}

/// This package lies in the folder `xtask` of the workspace.
fn workspace_root() -> Result<std::path::PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().context("xtask lies in no folder")?;
    Ok(root.to_owned())
}
