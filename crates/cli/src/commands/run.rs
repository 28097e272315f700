//! `seekwell run`: a lab becomes a verdict.

use crate::args::RunArgs;
use crate::commands::{plan, report};
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::{place, terminal, virtual_place};
use seekwell_agent::host_place::HostPlace;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::verdict::VerdictKind;
use seekwell_runner::execute::{self, Ended, Execution, Keeper, Place};
use seekwell_runner::judge;
use seekwell_store::RunFile;
use seekwell_virtual::Lanes;
use std::error::Error;
use std::path::{Path, PathBuf};

struct KeepInFile<'a>(&'a mut RunFile);

impl Keeper for KeepInFile<'_> {
    fn keep(
        &mut self,
        trial: &PlannedTrial,
        record: &Record,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.append(trial, record).map_err(Into::into)
    }
}

/// The place that was asked for.
enum Chosen {
    Host(Box<HostPlace>),
    Virtual(Lanes),
}

impl Chosen {
    /// The place, and what is written of it into the run file.
    fn open(
        arguments: &RunArgs,
        plan: &Plan,
        path: &Path,
    ) -> Result<(Self, serde_json::Value), Failure> {
        if arguments.at.is_virtual() {
            let (lanes, environment) = virtual_place::lanes(plan, arguments)?;
            if let Some(note) = lanes.note() {
                terminal::talk(&format!("note: {note}"));
            }
            return Ok((Self::Virtual(lanes), environment));
        }
        let host = place::host(plan, path, arguments.scratch.as_deref())?;
        Ok((Self::Host(Box::new(host)), place::environment()))
    }

    fn place(&mut self) -> &mut dyn Place {
        match self {
            Self::Host(host) => &mut **host,
            Self::Virtual(lanes) => lanes,
        }
    }

    /// Puts back what the place changed.
    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Host(host) => host.finish().map_err(|error| Failure::from_error(&error)),
            // A guest changes nothing.
            Self::Virtual(_) => Ok(()),
        }
    }
}

/// Runs a lab, or what is missing of an interrupted run, and shows its report.
///
/// # Errors
/// When the lab, the run file or the place fails. Trials that were kept stay kept.
pub fn run(arguments: &RunArgs) -> Result<Exit, Failure> {
    let done = carry_out(arguments)?;
    let view = report::view(&done.file)?;
    report::print(&view, arguments.json);
    terminal::talk(&format!("run file: {}", done.file.path().display()));
    let failed = |record: &Record| matches!(record.status, Status::Failed { .. });
    if !view.records.is_empty() && view.records.iter().all(|(_, record)| failed(record)) {
        let text =
            "every trial failed, so that there is nothing to judge; the warnings above say why";
        return Err(Failure::Error(text.to_owned()));
    }
    Ok(exit_of(done.kind))
}

/// A run that is over.
pub struct Done {
    /// Its file, the verdict in it.
    pub file: RunFile,
    /// The verdict.
    pub kind: VerdictKind,
}

/// Runs a lab, or what is missing of an interrupted run.
///
/// # Errors
/// When the lab, the run file or the place fails. Trials that were kept stay kept.
pub fn carry_out(arguments: &RunArgs) -> Result<Done, Failure> {
    arguments.at.check()?;
    let of_virtual = [
        ("--jobs", arguments.jobs.is_some()),
        ("--cpu", arguments.cpu.is_some()),
        ("--check", arguments.check),
    ];
    arguments.at.only(true, &of_virtual)?;
    // The place before the file: a run that cannot begin leaves none.
    let (path, plan) = planned(arguments)?;
    let stop = place::stop_on_interrupt()?;
    let (mut place, environment) = Chosen::open(arguments, &plan, &path)?;
    let mut file = match open(arguments, &path, &plan, &environment) {
        Ok(file) => file,
        Err(failure) => {
            // The reason why there is no run is what the user must hear.
            let _ = place.finish();
            return Err(failure);
        }
    };
    let records = file.records().map_err(|error| Failure::from_error(&error))?;
    let kept = execute::worth_keeping(&plan, records);
    let scratch = place::scratch_directory(&path, arguments.scratch.as_deref());
    let mut progress = Progress::new(&plan, &arguments.at.place, &scratch, !arguments.no_screen);
    let mut execution = Execution::new(&plan, kept);
    let ended = execution.run(place.place(), &mut KeepInFile(&mut file), &stop, &mut |event| {
        progress.show(&event);
    });
    progress.finish();
    let put_back = place.finish();
    let ended = ended.map_err(|error| {
        leave_nothing_empty(arguments, &file);
        Failure::from_error(&error)
    });
    match ended? {
        Ended::Stopped => return Err(interrupted(&path)),
        Ended::Complete => {}
    }
    put_back?;
    let verdict = judge::judge(&plan, &execution.into_records());
    file.set_verdict(&verdict).map_err(|error| Failure::from_error(&error))?;
    Ok(Done { file, kind: verdict.kind })
}

/// A run that broke before its first trial leaves no file that stands in the way of the next.
fn leave_nothing_empty(arguments: &RunArgs, file: &RunFile) {
    if !arguments.resume && file.records().is_ok_and(|records| records.is_empty()) {
        // Its failure to go changes nothing about why the run broke.
        let _ = std::fs::remove_file(file.path());
    }
}

/// Exit code of a verdict.
pub fn exit_of(kind: VerdictKind) -> Exit {
    match kind {
        VerdictKind::Winner | VerdictKind::Tie => Exit::Done,
        VerdictKind::Unresolved => Exit::NotResolved,
    }
}

fn interrupted(path: &Path) -> Failure {
    Failure::Error(format!(
        "stopped; finished trials are kept, go on with: seekwell run --resume -o {}",
        path.display()
    ))
}

/// Path of the run file and the plan, from the lab or, when a run is resumed, from its file.
fn planned(arguments: &RunArgs) -> Result<(PathBuf, Plan), Failure> {
    let from_lab =
        arguments.lab.as_ref().map(|lab| plan::plan_of(lab, &arguments.at)).transpose()?;
    let path = match (&arguments.output, &from_lab) {
        (Some(path), _) => path.clone(),
        (None, Some(plan)) => PathBuf::from(format!("{}.seekwell", plan.lab.name)),
        (None, None) if arguments.resume => {
            return Err(Failure::Usage("--resume needs -o FILE, the run to go on with".to_owned()));
        }
        (None, None) => {
            let text = "name a lab file, or --resume -o FILE to go on with a run";
            return Err(Failure::Usage(text.to_owned()));
        }
    };
    if !arguments.resume {
        let text = "name a lab file; only --resume goes without";
        return from_lab.map(|plan| (path, plan)).ok_or_else(|| Failure::Usage(text.to_owned()));
    }
    let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
    let plan = file.plan().map_err(|error| Failure::from_error(&error))?;
    if from_lab.is_some_and(|now| now.lab != plan.lab) {
        return Err(Failure::Error(format!(
            "the lab is not the one that {} was begun with; resume without naming a lab, or begin a new run with -o",
            path.display()
        )));
    }
    Ok((path, plan))
}

fn open(
    arguments: &RunArgs,
    path: &Path,
    plan: &Plan,
    environment: &serde_json::Value,
) -> Result<RunFile, Failure> {
    let opened = if arguments.resume {
        let file = RunFile::open(path).map_err(|error| Failure::from_error(&error))?;
        place::same_machine(&file, environment)?;
        RunFile::open_for_append(path)
    } else {
        RunFile::create(path, plan, environment)
    };
    opened.map_err(|error| Failure::from_error(&error))
}
