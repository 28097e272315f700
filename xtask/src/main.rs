//! `cargo xtask tidy | docs [--check] | mutants | test`: the library documents each command.

#![allow(
    clippy::print_stderr,
    reason = "a developer's command line tool: errors go to standard error"
)]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::{docs, mutants, suite, tidy};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy                   check limits, dependency arrows and house rules over the whole tree
  tidy --room ROOM       list the findings of one crate or folder
  tidy --commits A..B    check the subjects of the commits in a range
  docs                   write the documents that are generated from the code
  docs --check           compare them only; exit 1 when one is out of date
  mutants [COUNT SEED]   change guard, undo and judge in COUNT (200) places, one at a time; list what no test notices
  test                   formatting, clippy, tidy, docs --check and every test; ends with the counts

exit codes: 0 in order, 1 something to fix, 2 wrong usage";

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

type Command<'w> = Box<dyn Fn(&Path) -> Result<bool> + 'w>;

fn command<'w>(words: &[&'w str]) -> Option<Command<'w>> {
    match *words {
        ["tidy"] => Some(Box::new(tidy::command)),
        ["tidy", "--room", room] => Some(Box::new(move |root| tidy::room(root, room))),
        ["tidy", "--commits", range] => {
            Some(Box::new(move |root| tidy::commits::command(root, range)))
        }
        ["docs"] => Some(Box::new(docs::write)),
        ["docs", "--check"] => Some(Box::new(docs::check)),
        ["mutants"] => Some(mutants(200, 1)),
        ["mutants", count, seed] => Some(mutants(count.parse().ok()?, seed.parse().ok()?)),
        ["test"] => Some(Box::new(suite::command)),
        _ => None,
    }
}

fn mutants<'w>(count: usize, seed: u64) -> Command<'w> {
    Box::new(move |root| mutants::command(root, mutants::Choice { count, seed }))
}

/// Returns the parent of this package's folder.
fn workspace_root() -> Result<std::path::PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().context("xtask has no parent folder")?;
    Ok(root.to_owned())
}
