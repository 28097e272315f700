//! `seekwell run`: a lab becomes a verdict.

use crate::args::RunArgs;
use crate::commands::deadline::Deadline;
use crate::commands::report::Print;
use crate::commands::{plan, report};
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::{machine, terminal};
use seekwell_model::plan::Plan;
use seekwell_model::record::{Record, Status};
use seekwell_model::verdict::VerdictKind;
use seekwell_session::{
    Done, Event, Finished, Options, Planned, Session, SessionError, Standing, set_aside,
};
use seekwell_store::{RunFile, StoreError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs a lab, or what is missing of an interrupted run, and shows its report.
///
/// # Errors
/// When the lab, the run file or the backend fails. Trials that were kept stay kept.
pub fn run(session: &Session, arguments: &RunArgs) -> Result<Exit, Failure> {
    let waits = arguments.at.is_elsewhere() || arguments.wait;
    let stop = stop_while(waits)?;
    let options = arguments.options(&stop);
    let mut deadline = arguments.longest().map(|time| Deadline::new(Instant::now(), time));
    let (path, planned) = planned(session, arguments, &options)?;
    let mut is_over = |event: &Event<'_>| {
        deadline.as_mut().is_some_and(|deadline| deadline.is_over(event, Instant::now()))
    };
    let finished = execute(planned, &path, arguments.resume, !arguments.no_screen, &mut is_over)?;
    let is_late = deadline.is_some_and(|deadline| deadline.is_reached());
    match finished {
        Finished::Complete(done) => {
            if let Some(reason) = done.no_more {
                terminal::talk(&format!("no rounds could be added: {reason}"));
            }
        }
        Finished::Stopped(_) if is_late => {
            terminal::talk("time is up; every completed trial is kept")
        }
        Finished::Stopped(path) => return Err(interrupted(&path, &options)),
    }
    conclude(&path, arguments.json)
}

/// The flag that an interrupt raises, if the run waits for others; else one that stays down.
///
/// # Errors
/// When the handler cannot be installed.
pub fn stop_while(waits: bool) -> Result<Arc<AtomicBool>, Failure> {
    if waits { machine::stop_on_interrupt() } else { Ok(Arc::default()) }
}

/// Checks that a run may begin. The plan of one that writes a disk whole is shown instead, if no one has
/// seen it lately on this machine: that of a lab, of `try`, of a study, or of a run file to be continued.
///
/// # Errors
/// When the plan had to be shown, or the guard refuses a disk.
pub fn check_start(planned: &Planned, path: &Path) -> Result<(), Failure> {
    show_unseen(planned, path)?.map_or(Ok(()), Err)
}

/// As [`check_start`]; a plan that had to be shown is no error yet, and the failure says so.
///
/// # Errors
/// When the guard refuses a disk, or the plan cannot be noted as seen.
pub fn show_unseen(planned: &Planned, path: &Path) -> Result<Option<Failure>, Failure> {
    let disks = match planned.check_start(path) {
        Err(SessionError::NotSeen { disks }) => disks,
        checked => return Ok(checked.map(|()| None)?),
    };
    plan::show(planned)?;
    planned.note_seen()?;
    let disks: Vec<String> = disks.iter().map(|disk| disk.display().to_string()).collect();
    Ok(Some(Failure::Refused(format!(
        "this run writes {} whole, and its plan was not shown in the last 30 days; read it above, then \
         run the same command again to start",
        disks.join(" and ")
    ))))
}

/// Shows the report of a run file; the exit status is that of its verdict.
///
/// # Errors
/// When the file cannot be read or was changed, or every trial failed.
pub fn conclude(path: &Path, json: bool) -> Result<Exit, Failure> {
    let file = RunFile::open(path)?;
    let view = report::view_as_text(&file)?;
    terminal::talk(&format!("run file: {}", path.display()));
    report::print(&file, &view, path, Print { json, all: false })?;
    report::refuse_changed(&file, &view)?;
    if let Some(reason) = seekwell_session::all_marked(&file)? {
        terminal::talk(&reason);
    }
    let failed = |record: &Record| matches!(record.status, Status::Failed { .. });
    if !view.records.is_empty() && view.records.iter().all(|(_, record)| failed(record)) {
        let text = "every trial failed, so there is nothing to judge; the reasons are above";
        return Err(Failure::Error(text.to_owned()));
    }
    Ok(match view.verdict.kind {
        VerdictKind::Winner | VerdictKind::Tie => Exit::Done,
        VerdictKind::Unresolved => Exit::NotResolved,
    })
}

/// Runs the trials of a plan, or what is missing of an interrupted run, and shows progress. A run
/// that is to be resumed and has no file yet begins, so that a script can give one command again
/// and again.
///
/// # Errors
/// When backend or run file fail, or the run was interrupted.
pub fn carry_out(
    planned: Planned,
    path: &Path,
    resume: bool,
    on_screen: bool,
) -> Result<Done, Failure> {
    let options = planned.options().clone();
    match execute(planned, path, resume, on_screen, &mut |_| false)? {
        Finished::Complete(done) => Ok(*done),
        Finished::Stopped(path) => Err(interrupted(&path, &options)),
    }
}

/// Runs what a file lacks of a plan. A run of another lab in its place is kept under another name.
///
/// # Errors
/// As [`carry_out`].
pub fn complete(planned: Planned, path: &Path) -> Result<(), Failure> {
    if path.is_file() {
        match planned.standing(path)? {
            Standing::Complete => return Ok(()),
            Standing::Begun => {}
            Standing::Stale(why) => terminal::talk(&format!(
                "{} was run with another {why}; it is kept as {} and the lab runs again",
                path.display(),
                set_aside(path)?.display()
            )),
        }
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    terminal::talk(&format!("{name}:"));
    carry_out(planned, path, true, false).map(|_| ())
}

/// As [`carry_out`]; `is_over` sees every event, and ends the run after the trial under way.
///
/// # Errors
/// When backend or run file fail.
pub fn execute(
    planned: Planned,
    path: &Path,
    resume: bool,
    on_screen: bool,
    is_over: &mut dyn FnMut(&Event<'_>) -> bool,
) -> Result<Finished, Failure> {
    check_start(&planned, path)?;
    let stop = machine::stop_on_interrupt()?;
    let backend = planned.options().backend.clone();
    let is_there = path.symlink_metadata().is_ok();
    let run = if resume && is_there { planned.resume(path)? } else { planned.create(path)? };
    run.notes().iter().for_each(|note| terminal::talk(note));
    let plan = run.plan().clone();
    let mut progress = Progress::new(&plan, &backend, run.scratch(), on_screen);
    let finished = run.execute(&stop, &mut |event| {
        progress.show(&event);
        if is_over(&event) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    progress.finish();
    Ok(finished?)
}

/// The message of a run with these options that was stopped.
pub fn interrupted(path: &Path, options: &Options) -> Failure {
    let kept = || -> Result<_, StoreError> {
        let file = RunFile::open(path)?;
        Ok((file.completed()?.len(), file.plan()?))
    };
    let (trials, plan) = match kept() {
        Ok(kept) => kept,
        Err(error) => return error.into(),
    };
    let saved = match trials {
        0 => "no trial was complete".to_owned(),
        1 => "1 completed trial is saved".to_owned(),
        trials => format!("{trials} completed trials are saved"),
    };
    // Those of a continued run may be others than those that its file names.
    let command = without_end(seekwell_report::resume_with(path, &options.again()), &plan);
    Failure::Error(format!("stopped; {saved}. Continue with: {command}"))
}

/// The command that continues the run of this file.
///
/// # Errors
/// When the file cannot be read.
pub fn continuing(path: &Path) -> Result<String, Failure> {
    let file = RunFile::open(path)?;
    Ok(continuing_plan(path, &file.plan()?, &file.environment()?))
}

/// The command that continues a run of this plan and environment.
pub fn continuing_plan(path: &Path, plan: &Plan, environment: &Value) -> String {
    without_end(seekwell_report::resume_command(path, environment), plan)
}

/// The command with a time, if the run has no end: a race that was continued beyond its own.
fn without_end(command: String, plan: &Plan) -> String {
    let has_no_end = plan.race.is_some() && plan.prolonged.is_some();
    let more = if has_no_end { " --until-decided --at-most TIME" } else { "" };
    command + more
}

/// Path of the run file and the plan, from the lab or, without one, from the run file.
fn planned(
    session: &Session,
    arguments: &RunArgs,
    options: &Options,
) -> Result<(PathBuf, Planned), Failure> {
    match (&arguments.lab, &arguments.output) {
        (Some(lab), output) => {
            let planned = plan::planned(session, lab, options)?;
            let of_lab = || PathBuf::from(format!("{}.seekwell", planned.plan().lab.name));
            Ok((output.clone().unwrap_or_else(of_lab), planned))
        }
        (None, Some(path)) if arguments.resume => {
            Ok((path.clone(), session.reopen(path, options)?))
        }
        (None, None) if arguments.resume => {
            Err(Failure::Usage("--resume needs -o FILE, the run to continue".to_owned()))
        }
        (None, Some(_)) => {
            Err(Failure::Usage("name a lab file; only --resume works without one".to_owned()))
        }
        (None, None) => {
            let text = "name a lab file, or continue a run with --resume -o FILE";
            Err(Failure::Usage(text.to_owned()))
        }
    }
}
