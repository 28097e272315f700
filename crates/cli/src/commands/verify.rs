//! `seekwell file verify`: whether a run file is what was written, and its verdict what its trials give.

use crate::args::VerifyArgs;
use crate::commands::report::other_verdict;
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_host::confine::Reach;
use seekwell_runner::judge::prolong;
use seekwell_store::{Integrity, RunFile, StoreError};

/// Checks all digests of a run file and judges its trials again.
///
/// # Errors
/// When the file cannot be read or is not what was written.
pub fn run(arguments: &VerifyArgs) -> Result<Exit, Failure> {
    foreign::confine(&Reach::default().reading_database(&arguments.run));
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
            Ok(Exit::Done)
        }
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
