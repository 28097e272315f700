//! `seekwell run`: a lab becomes a verdict.

use crate::args::RunArgs;
use crate::commands::{plan, report};
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::{place, terminal};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::verdict::VerdictKind;
use seekwell_runner::execute::{Ended, Execution, Keeper, Records};
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
    let (path, plan, mut file) = open(arguments)?;
    let kept = kept_records(&file)?;
    let stop = place::stop_on_interrupt()?;
    let mut place = place::host(&plan, &path, arguments.scratch.as_deref())?;
    let mut progress = Progress::new(&plan);
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

/// What need not be run again: a trial that failed is tried anew when a run is resumed.
fn kept_records(file: &RunFile) -> Result<Records, Failure> {
    let records = file.records().map_err(|error| Failure::from_error(&error))?;
    let good =
        |(_, record): &(PlannedTrial, Record)| !matches!(record.status, Status::Failed { .. });
    Ok(records
        .into_iter()
        .filter(good)
        .map(|(trial, record)| (trial.index, (trial, record)))
        .collect())
}

fn open(arguments: &RunArgs) -> Result<(PathBuf, Plan, RunFile), Failure> {
    if arguments.resume {
        return resume(arguments);
    }
    let Some(lab) = &arguments.lab else {
        return Err(Failure::Usage(
            "name a lab file, or --resume -o FILE to go on with a run".to_owned(),
        ));
    };
    let plan = plan::plan_of(lab)?;
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.seekwell", plan.lab.name)));
    let environment = place::environment();
    let file =
        RunFile::create(&path, &plan, &environment).map_err(|error| Failure::from_error(&error))?;
    Ok((path, plan, file))
}

fn resume(arguments: &RunArgs) -> Result<(PathBuf, Plan, RunFile), Failure> {
    let path = match (&arguments.output, &arguments.lab) {
        (Some(path), _) => path.clone(),
        (None, Some(lab)) => PathBuf::from(format!("{}.seekwell", plan::plan_of(lab)?.lab.name)),
        (None, None) => {
            return Err(Failure::Usage("--resume needs -o FILE, the run to go on with".to_owned()));
        }
    };
    let file = RunFile::open_for_append(&path).map_err(|error| Failure::from_error(&error))?;
    let plan = file.plan().map_err(|error| Failure::from_error(&error))?;
    if let Some(lab) = &arguments.lab {
        let now = plan::plan_of(lab)?;
        if now.lab != plan.lab {
            return Err(Failure::Error(format!(
                "{} is not the lab that {} was begun with; resume without naming a lab, or begin a new run with -o",
                lab.display(),
                path.display()
            )));
        }
    }
    place::warn_of_another_machine(&file);
    Ok((path, plan, file))
}
