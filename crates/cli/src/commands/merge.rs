//! `seekwell file merge`: the files of parts of one run become one.

use crate::args::MergeArgs;
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_host::confine::Reach;
use std::path::Path;

/// Writes the merged file.
///
/// # Errors
/// When the files are not parts of one run, or the new one cannot be made.
pub fn run(arguments: &MergeArgs) -> Result<Exit, Failure> {
    // The new file is read again to be judged.
    let folder = arguments.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut reach = Reach::default().writing(&arguments.output).reading(folder);
    for part in &arguments.parts {
        reach = reach.reading_database(part);
    }
    foreign::confine(&reach);
    let target = &arguments.output;
    let (merged, is_judged) = seekwell_session::merge(&arguments.parts, target)?;
    let shared = match merged.shared {
        0 => String::new(),
        shared => format!(" ({shared} more were the same)"),
    };
    let said = format!("{} trials{shared} in {}", merged.kept, target.display());
    let next = match is_judged {
        true => format!("show it with: seekwell report {}", target.display()),
        false => format!(
            "{} of the plan are missing; run them with: {}",
            merged.missing,
            run::continuing(target)?
        ),
    };
    terminal::data(&format!("{said}; {next}"));
    Ok(Exit::Done)
}
