//! `seekwell file repair`: saves the good trials of a damaged run file into a new one.

use crate::args::RepairArgs;
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_host::confine::Reach;
use seekwell_store::RunFile;
use std::path::PathBuf;

/// Writes a new run file with every trial that matches its checksum.
///
/// # Errors
/// When nothing can be saved, or the new file cannot be made.
pub fn run(arguments: &RepairArgs) -> Result<Exit, Failure> {
    let target = arguments.output.clone().unwrap_or_else(|| {
        let name = arguments.run.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        PathBuf::from(format!("{name}-repaired.seekwell"))
    });
    foreign::confine(&Reach::default().reading_database(&arguments.run).writing(&target));
    let done = RunFile::repair(&arguments.run, &target)?;
    for lost in &done.lost {
        terminal::talk(&format!("lost: {lost}"));
    }
    terminal::data(&format!(
        "{} trials saved, {} planned; wrote {}. Plan and environment of a damaged file have no checksum: read \
         them. Run what is missing with: {}",
        done.saved,
        done.plan.trials.len(),
        target.display(),
        run::continuing_plan(&target, &done.plan, &done.environment)
    ));
    Ok(Exit::Done)
}
