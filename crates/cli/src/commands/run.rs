//! `seekwell run`: a lab becomes a verdict.

use crate::args::RunArgs;
use crate::commands::{plan, report};
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::{place, terminal};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::VerdictKind;
use seekwell_runner::execute::{self, Ended, Execution, Keeper, Records};
use seekwell_runner::judge;
use seekwell_store::RunFile;
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

/// Runs a lab, or what is missing of an interrupted run.
///
/// # Errors
/// When the lab, the run file or the place fails. Trials that were kept stay kept.
pub fn run(arguments: &RunArgs) -> Result<Exit, Failure> {
    // The place before the file: a run that cannot begin leaves none.
    let (path, plan) = planned(arguments)?;
    let stop = place::stop_on_interrupt()?;
    let mut place = place::host(&plan, &path, arguments.scratch.as_deref())?;
    let mut file = match open(arguments, &path, &plan) {
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
    let mut progress = Progress::new(&plan, &arguments.place, &scratch, !arguments.no_screen);
    let mut execution = Execution::new(&plan, kept);
    let ended = execution.run(&mut place, &mut KeepInFile(&mut file), &stop, &mut |event| {
        progress.show(&event);
    });
    progress.finish();
    let put_back = place.finish();
    match ended.map_err(|error| Failure::from_error(&error))? {
        Ended::Stopped => return Err(interrupted(&path)),
        Ended::Complete => {}
    }
    put_back.map_err(|error| Failure::from_error(&error))?;
    conclude(arguments, &path, &plan, &mut file, execution.into_records())
}

fn conclude(
    arguments: &RunArgs,
    path: &Path,
    plan: &Plan,
    file: &mut RunFile,
    records: Records,
) -> Result<Exit, Failure> {
    let verdict = judge::judge(plan, &records);
    file.set_verdict(&verdict).map_err(|error| Failure::from_error(&error))?;
    let kind = verdict.kind;
    let view = report::view(file)?;
    report::print(&view, arguments.json);
    terminal::talk(&format!("run file: {}", path.display()));
    Ok(exit_of(kind))
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
    let from_lab = arguments.lab.as_ref().map(|lab| plan::plan_of(lab)).transpose()?;
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
    place::same_machine(&file)?;
    Ok((path, plan))
}

fn open(arguments: &RunArgs, path: &Path, plan: &Plan) -> Result<RunFile, Failure> {
    let opened = if arguments.resume {
        RunFile::open_for_append(path)
    } else {
        RunFile::create(path, plan, &place::environment())
    };
    opened.map_err(|error| Failure::from_error(&error))
}
