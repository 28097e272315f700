//! `seekwell file verify`: whether a run file is what was written, and its verdict what its trials give.

use crate::args::VerifyArgs;
use crate::commands::report::other_verdict;
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_host::confine::Reach;
use seekwell_runner::judge::prolong;
use seekwell_store::{Integrity, RunFile};

/// Checks all digests of a run file and judges its trials again.
///
/// # Errors
/// When the file cannot be read or is not what was written.
pub fn run(arguments: &VerifyArgs) -> Result<Exit, Failure> {
    foreign::confine(&Reach::default().reading_database(&arguments.run));
    let file = RunFile::open(&arguments.run)?;
    match file.verify()? {
        Integrity::Intact { attempts, verdict } => {
            let what =
                if verdict { "plan, environment and verdict" } else { "plan and environment" };
            terminal::data(&format!(
                "{} is intact: {what} and {attempts} trial attempts are unchanged",
                file.path().display()
            ));
            judged_again(&file)?;
        }
        changed => changed.refuse_changed(file.path())?,
    }
    Ok(Exit::Done)
}

/// Says what the trials give today.
fn judged_again(file: &RunFile) -> Result<(), Failure> {
    let Some(stored) = file.verdict()? else { return Ok(()) };
    let plan = file.plan()?;
    if plan.control.is_some() {
        terminal::data("its verdict has a control, which only earlier versions judge");
        return Ok(());
    }
    let outcomes = seekwell_session::outcomes(&plan, file)?;
    let said = match other_verdict(&stored, &prolong::judged(&plan, &outcomes)) {
        Some(warning) => warning.text,
        None => "its trials give the same verdict with this version".to_owned(),
    };
    terminal::data(&said);
    Ok(())
}
