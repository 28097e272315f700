//! `seekwell try`: an answer from a few words, without a lab file.

use crate::args::TryArgs;
use crate::commands::deadline::Deadline;
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::{output, terminal};
use seekwell_host::output::Kind;
use seekwell_model::record::Status;
use seekwell_report::shell_word;
use seekwell_session::{Finished, Options, Planned, Seen, Session, Tried};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Tries one kind of work on every stack that was named, for at most the time that was given; shows
/// the verdict, and writes the lab that it ran.
///
/// # Errors
/// When the words do not make a lab, or its run fails.
pub fn run(session: &Session, arguments: &TryArgs) -> Result<Exit, Failure> {
    let mut deadline = Deadline::new(Instant::now(), arguments.time);
    let path = arguments.output.clone().unwrap_or_else(|| free_name("try"));
    let stop = run::stop_while(arguments.run.wait)?;
    let mut options = arguments.run.options(&arguments.at, &stop);
    let mut tried = arguments.tried().found()?;
    tried.check(|name| session.machine().find(name).is_some())?;
    if options.backend != "host" {
        let programs = tried.programs(|name| session.machine().find(name));
        for program in &programs {
            terminal::talk(&format!("guests get {} with its libraries", program.display()));
        }
        options.bring.extend(programs);
    }
    let amount = amount(session, &mut tried, &options, &path, &deadline)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = tried.lab_text(&lab_name(&name), amount);
    let lab = path.with_extension("toml");
    let planned = Tried::resolve(session, lab.display().to_string(), &text, &options)?.plan()?;
    execute(planned, &path, !arguments.run.no_screen, &mut deadline)?;
    let exit = run::conclude(&path, arguments.run.json)?;
    write_lab(&lab, &text, &options)?;
    Ok(exit)
}

/// Runs the trials of a drafted lab until its verdict is clear or the time is up.
///
/// # Errors
/// When the run fails or is interrupted.
pub fn execute(
    planned: Planned,
    path: &Path,
    screen: bool,
    deadline: &mut Deadline,
) -> Result<(), Failure> {
    planned.notes().iter().for_each(|note| terminal::talk(note));
    // The user named these, and waits for them otherwise.
    for one in &planned.plan().left_out {
        terminal::talk(&terminal::harmless(&format!("{} is left out: {}", one.what, one.reason)));
    }
    let options = planned.options().clone();
    let finished = run::execute(planned, path, false, screen, &mut |event| {
        deadline.is_over(event, Instant::now())
    })?;
    match finished {
        Finished::Complete(_) => {}
        Finished::Stopped(_) if deadline.is_reached() => {
            terminal::talk("time is up; every completed trial counts");
        }
        Finished::Stopped(path) => return Err(run::interrupted(&path, &options)),
    }
    Ok(())
}

/// The amount of work that fits the time, from one brief trial of the first stack; `None` for a
/// command. The time that this took is no longer there for the run.
fn amount(
    session: &Session,
    tried: &mut Tried,
    options: &Options,
    path: &Path,
    deadline: &Deadline,
) -> Result<Option<u64>, Failure> {
    let Some(brief) = tried.brief() else { return Ok(None) };
    let text = tried.lab_text("brief", Some(brief));
    let planned = Tried::resolve(session, "the lab of try".to_owned(), &text, options)?.plan()?;
    run::check_start(&planned, path)?;
    terminal::talk("measuring one trial to see how much work fits the time");
    let record = planned.first_trial(path)?;
    tried.time = deadline.left(Instant::now());
    if let Status::Failed { stage, reason } = &record.status {
        return Err(Failure::Error(format!("the first trial failed in {stage}: {reason}")));
    }
    Ok(tried.amount(&Seen::of(&record, tried.step())).or(Some(brief)))
}

/// The first of `try.seekwell`, `try-2.seekwell` … that does not exist, nor its lab.
pub(super) fn free_name(stem: &str) -> PathBuf {
    let is_free = |path: &PathBuf| !path.exists() && !path.with_extension("toml").exists();
    let numbered = (2..).map(|number: u32| PathBuf::from(format!("{stem}-{number}.seekwell")));
    let plain = PathBuf::from(format!("{stem}.seekwell"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(is_free).unwrap_or(plain)
}

/// The command that runs a lab with these options.
fn run_again(lab: &Path, options: &Options) -> String {
    let lab = lab.display().to_string();
    let words = std::iter::once(lab).chain(options.for_lab());
    let words: String = words.map(|word| format!(" {}", shell_word(&word))).collect();
    format!("seekwell run{words} -o NEW.seekwell")
}

/// A lab's name has letters, digits, - and _ alone.
fn lab_name(stem: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(plain).collect();
    if name.is_empty() { "try".to_owned() } else { name }
}

/// Writes the lab that was run, unless a file has its name.
pub(super) fn write_lab(path: &Path, text: &str, options: &Options) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        terminal::talk(&format!("{} exists and is not overwritten", path.display()));
        return Ok(());
    }
    output::new(path, Kind::Lab, text.as_bytes())?;
    terminal::talk(&format!(
        "lab: {}; to change and run it: {}",
        path.display(),
        run_again(path, options)
    ));
    Ok(())
}

#[cfg(test)]
mod tests;
