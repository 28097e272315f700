//! `seekwell verify`: whether a run file is what was written, and its verdict what its trials give.

use crate::args::VerifyArgs;
use crate::commands::report::other_verdict;
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_host::confine::Reach;
use seekwell_host::output::Kind;
use seekwell_host::signature::{self, Checked};
use seekwell_host::sysfs::System;
use seekwell_runner::judge::prolong;
use seekwell_store::{Integrity, RunFile, StoreError};
use std::path::Path;

/// Checks all digests of a run file and judges its trials again.
///
/// # Errors
/// When the file cannot be read or is not what was written.
pub fn run(arguments: &VerifyArgs) -> Result<Exit, Failure> {
    // The bytes are checked before anything in them is read.
    if let Some(key) = &arguments.key {
        check(arguments, key)?;
    }
    if arguments.sign.is_none() {
        foreign::confine(&Reach::default().reading_database(&arguments.run));
    }
    let wrong = |error: StoreError| Failure::from_error(&error);
    let file = RunFile::open(&arguments.run).map_err(wrong)?;
    let path = file.path().display();
    let found = file.verify().map_err(wrong)?;
    match found {
        Integrity::Changed(_) => {
            found.refuse_changed(file.path()).map_err(wrong).map(|()| Exit::Done)
        }
        Integrity::Intact { attempts, verdict } => {
            let what =
                if verdict { "plan, environment and verdict" } else { "plan and environment" };
            terminal::data(&format!(
                "{path} is intact: {what} and {attempts} trial attempts are unchanged"
            ));
            judged_again(&file)?;
            sign(arguments)?;
            Ok(Exit::Done)
        }
    }
}

/// Signs the file if a key is given.
fn sign(arguments: &VerifyArgs) -> Result<(), Failure> {
    let Some(key) = &arguments.sign else { return Ok(()) };
    let text = signature::sign(&System::host(), key, &arguments.run)
        .map_err(|error| Failure::from_host(&error))?;
    output::write(&signature::path_of(&arguments.run), Kind::Signature, &text, false)
}

/// Checks the signature of the file.
fn check(arguments: &VerifyArgs, key: &Path) -> Result<(), Failure> {
    let path = signature::path_of(&arguments.run);
    let checked = signature::check(&System::host(), key, &arguments.run, &path)
        .map_err(|error| Failure::from_host(&error))?;
    match checked {
        Checked::Good => {
            terminal::data(&format!("the owner of {} signed this file", key.display()));
            Ok(())
        }
        Checked::Bad(why) => Err(Failure::Error(format!(
            "{} is not a signature of {} by the owner of {}: {why}",
            path.display(),
            arguments.run.display(),
            key.display()
        ))),
    }
}

/// Says what the trials give today.
fn judged_again(file: &RunFile) -> Result<(), Failure> {
    let wrong = |error: StoreError| Failure::from_error(&error);
    let Some(stored) = file.verdict().map_err(wrong)? else { return Ok(()) };
    let plan = file.plan().map_err(wrong)?;
    let outcomes = seekwell_session::outcomes(&plan, file)?;
    let said = match other_verdict(&stored, &prolong::judged(&plan, &outcomes)) {
        Some(warning) => warning.text,
        None => "its trials give the same verdict with this version".to_owned(),
    };
    terminal::data(&said);
    Ok(())
}
