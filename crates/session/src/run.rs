//! From a plan to its verdict: the run file is created or continued, and the trials are run.

use crate::effects::Effects;
use crate::error::SessionError;
use crate::kept::{self, Standing};
use crate::options::{More, Options};
use crate::replay_check::{self, Bounds};
use crate::setup::{Opened, Setup};
use seekwell_cluster::ClusterError;
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::lab::Lab;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::{Verdict, VerdictKind};
use seekwell_runner::execute::{Ended, Event, Execution, Keeper, RunError};
use seekwell_runner::judge::prolong::{self, NoMore};
use seekwell_runner::order;
use seekwell_runner::records::{self, Extractor, Outcomes};
use seekwell_store::{RunFile, Wanted};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[cfg(test)]
mod tests;

/// Key of a run file's environment: the options that the run needs again to be continued.
const OPTIONS: &str = "options";

/// A plan and the backend that is set up for it. Nothing has been touched yet.
pub struct Planned {
    pub(crate) plan: Plan,
    pub(crate) backend: Box<dyn Setup>,
    pub(crate) options: Options,
    /// True if the run draws its seed when it is created, because the lab sets none.
    pub(crate) draws_seed: bool,
    pub(crate) notes: Vec<String>,
    /// Folder of the undo lists.
    pub(crate) lists: PathBuf,
}

impl Planned {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn backend(&self) -> &dyn Setup {
        &*self.backend
    }

    /// Effects of the plan on the machine.
    ///
    /// # Errors
    /// When a stack has a journal that its filesystem cannot have.
    pub fn effects(&self) -> Result<Effects, SessionError> {
        Effects::of(&self.plan)
    }

    /// The options that made it.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Remarks for the user.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Checks that every disk of the plan may be written, as far as that can be known before a run.
    ///
    /// # Errors
    /// [`SessionError::Refused`] with the first that may not.
    pub fn check_devices(&self) -> Result<(), SessionError> {
        self.backend.check_devices(&self.plan, None)
    }

    /// Checks that the images of the plan fit next to a run file.
    ///
    /// # Errors
    /// When a directory has too little room.
    pub fn check_room(&self, run_file: &Path) -> Result<(), SessionError> {
        self.backend.check_room(&self.plan, run_file)
    }

    /// Checks that the run may begin: that every disk of the plan may be written, and that a person
    /// has seen the plan if it writes one whole. [`Self::create`], [`Self::resume`] and
    /// [`Self::first_trial`] check the same.
    ///
    /// # Errors
    /// [`SessionError::Refused`] and [`SessionError::NotSeen`].
    pub fn check_start(&self, run_file: &Path) -> Result<(), SessionError> {
        self.backend.check_start(&self.plan, run_file)
    }

    /// Notes that a person has seen the effects of the plan.
    ///
    /// # Errors
    /// When the note cannot be written, as by an ordinary user.
    pub fn note_seen(&self) -> Result<(), SessionError> {
        self.backend.note_seen(&self.plan)
    }

    /// Compares an existing run file with this plan.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn standing(&self, path: &Path) -> Result<Standing, SessionError> {
        let lab = self.lab_like(path)?;
        kept::standing(path, &lab, &self.backend.environment(&lab)?)
    }

    /// Runs the first trial alone to measure the cost of a trial; its record is not kept. `run_file`
    /// is the path of the run that may follow.
    ///
    /// # Errors
    /// When the backend refuses a device, cannot be opened, or breaks.
    pub fn first_trial(self, run_file: &Path) -> Result<Record, SessionError> {
        let mut backend = self.backend.open(&self.plan, run_file)?.backend;
        let trial = order::round_order(self.plan.lab.seed, self.plan.candidates.len() as u32, 0)
            .first()
            .copied()
            .ok_or_else(|| SessionError::Unusable("the lab has no trials to run".to_owned()))?;
        let ran = backend.run(&self.plan, &trial, &mut |_| {});
        // Its record is not kept: nothing of it has to wait for that.
        let settled = backend.settled();
        let put_back = backend.finish();
        let record = ran.map_err(|source| RunError::Backend { index: trial.index, source })?;
        settled.and(put_back).map_err(SessionError::PutBack)?;
        Ok(record)
    }

    /// Starts a run with a new run file. A run that cannot start leaves no file.
    ///
    /// # Errors
    /// When the backend refuses a device or cannot be opened, or the file exists.
    pub fn create(mut self, path: &Path) -> Result<Run, SessionError> {
        if self.draws_seed {
            order::reseed(&mut self.plan, drawn_seed());
        }
        self.open(path, &|plan, environment| Ok(RunFile::create(path, plan, environment)?), true)
    }

    /// The lab, with the seed that the run file drew.
    fn lab_like(&self, path: &Path) -> Result<Lab, SessionError> {
        let mut lab = self.plan.lab.clone();
        if self.draws_seed {
            lab.seed = RunFile::open(path)?.plan()?.lab.seed;
        }
        Ok(lab)
    }

    /// Continues a run: its plan is that of the run file.
    ///
    /// # Errors
    /// When the file holds another lab or was started elsewhere; otherwise as [`Self::create`].
    pub fn resume(mut self, path: &Path) -> Result<Run, SessionError> {
        self.plan = same_lab(path, &self.lab_like(path)?)?;
        can_go_on(path, &self.plan)?;
        let reopened = |_: &Plan, environment: &serde_json::Value| {
            kept::same_machine(&RunFile::open(path)?, environment)?;
            Ok(RunFile::open_for_append(path)?)
        };
        self.open(path, &reopened, false)
    }

    /// The backend before the file: a run that cannot start leaves none.
    fn open(
        self,
        path: &Path,
        file: &dyn Fn(&Plan, &serde_json::Value) -> Result<RunFile, SessionError>,
        is_new: bool,
    ) -> Result<Run, SessionError> {
        let Opened { backend, mut environment, notes } = self.backend.open(&self.plan, path)?;
        environment[OPTIONS] = self.options.again().into();
        let opened = file(&self.plan, &environment).and_then(|file| {
            let extends_verdict = self.options.more.is_some() && file.verdict()?.is_some();
            let kept =
                records::worth_keeping(&self.plan, outcomes(&self.plan, &file)?, extends_verdict);
            Ok((file, kept))
        });
        let (file, kept) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // The reason why there is no run is what the user must hear.
                let _ = backend.finish();
                return Err(error);
            }
        };
        let scratch = self.options.scratch_directory(path);
        let more = self.options.more;
        let lists = self.lists;
        Ok(Run { plan: self.plan, backend, file, kept, is_new, notes, scratch, more, lists })
    }
}

/// The outcomes of the trials in a run file. Whole records stay there: those of 100,000 trials fill gigabytes.
///
/// # Errors
/// When the file cannot be read or a record is damaged.
pub fn outcomes(plan: &Plan, file: &RunFile) -> Result<Outcomes, SessionError> {
    let (mut extractor, mut outcomes) = (Extractor::new(plan), Outcomes::new());
    file.each_record(&Wanted::by_verdicts(), &mut |trial, record| {
        outcomes.insert(trial.index, (trial, extractor.outcome(&record)));
    })?;
    Ok(outcomes)
}

/// A seed that no earlier run had, but for chance.
fn drawn_seed() -> u64 {
    // The keys of the standard library's maps are random.
    RandomState::new().build_hasher().finish() >> 32
}

/// Refuses a run whose trials this version would make otherwise.
///
/// # Errors
/// When its plan needs a key of earlier versions.
fn can_go_on(path: &Path, plan: &Plan) -> Result<(), SessionError> {
    match plan.retired() {
        None => Ok(()),
        Some(key) => Err(SessionError::Usage(format!(
            "{} was started by an earlier version with `{key}`, which this version no longer has; run \
             the lab again without it",
            path.display()
        ))),
    }
}

fn same_lab(path: &Path, lab: &Lab) -> Result<Plan, SessionError> {
    let plan = RunFile::open(path)?.plan()?;
    if plan.lab == *lab {
        return Ok(plan);
    }
    Err(SessionError::Unusable(format!(
        "the lab is not the one that {} was started with; resume without naming a lab, or start a new run with -o",
        path.display()
    )))
}

/// An active run: backend and run file are open.
pub struct Run {
    plan: Plan,
    backend: Box<dyn Backend>,
    file: RunFile,
    kept: Outcomes,
    is_new: bool,
    notes: Vec<String>,
    scratch: PathBuf,
    more: Option<More>,
    lists: PathBuf,
}

/// End of a run.
pub enum Finished {
    /// All rounds are done and the verdict is in the run file.
    Complete(Box<Done>),
    /// The stop flag was raised; the run can be resumed from this file.
    Stopped(PathBuf),
}

/// A run that is over.
pub struct Done {
    /// The run file, with plan, records and verdict.
    pub file: RunFile,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason why rounds that were asked for could not be added.
    pub no_more: Option<NoMore>,
}

/// A run that ended as it should: its verdict, and why it could have no more rounds.
type Judged = (Verdict, Option<NoMore>);

struct KeepInFile<'a>(&'a mut RunFile);

impl Keeper for KeepInFile<'_> {
    fn keep(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.0.append(trial, record).map_err(Into::into)
    }

    fn put(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.0.put(trial, record).map_err(Into::into)
    }

    fn settle(&mut self) -> Result<(), BackendError> {
        self.0.settle().map_err(Into::into)
    }
}

impl Run {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Directory of the scratch images.
    #[must_use]
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Remarks for the user.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Runs the missing trials and judges the run; then adds rounds if the options ask for them.
    /// Every record is kept at once; changes by the backend are restored, however the run ends.
    ///
    /// # Errors
    /// When backend or run file fail, or something cannot be restored. Kept trials stay kept.
    pub fn execute(
        mut self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Finished, SessionError> {
        let ended = self.until_over(stop, on_event);
        let put_back = self.backend.finish();
        let judged = ended.inspect_err(|_| {
            if self.is_new {
                leave_nothing_empty(&self.file);
            }
        })?;
        // Only now: a setting that stays changed must not cost the verdict of hours.
        put_back.map_err(SessionError::PutBack)?;
        Ok(match judged {
            Some((verdict, no_more)) => {
                Finished::Complete(Box::new(Done { file: self.file, verdict, no_more }))
            }
            None => Finished::Stopped(self.file.path().to_owned()),
        })
    }

    /// Compares replays with their recordings before the first trial; false if it was stopped.
    fn check_replays(
        &mut self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, SessionError> {
        let has_begun = !self.kept.is_empty() || !self.plan.replay_checks.is_empty();
        if has_begun || replay_check::replayed(&self.plan.workloads).next().is_none() {
            return Ok(true);
        }
        on_event(Event::CheckingReplays);
        let bounds = Bounds { lists: &self.lists, effort: self.plan.lab.judge.effort, stop };
        let Some(checks) = replay_check::check(&self.plan.workloads, &bounds) else {
            return Ok(false);
        };
        self.plan.replay_checks = checks;
        self.file.replace_plan(&self.plan)?;
        Ok(true)
    }

    /// Runs and judges until no more rounds are wanted; `None` if it was stopped before.
    fn until_over(
        &mut self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Judged>, SessionError> {
        if !self.check_replays(stop, on_event)? {
            return Ok(None);
        }
        loop {
            let ended = self.leg(stop, on_event)?;
            if ended == Ended::Stopped && self.plan.prolonged.is_none() {
                return Ok(None);
            }
            let verdict = prolong::judged(&self.plan, &self.kept);
            self.file.set_verdict(&verdict)?;
            if ended == Ended::Stopped {
                return Ok(None);
            }
            let is_enough =
                |more: More| more.until_decided && verdict.kind != VerdictKind::Unresolved;
            if ended == Ended::AllMarked || self.more.is_none_or(is_enough) {
                return Ok(Some((verdict, None)));
            }
            if let Err(no_more) = prolong::prolong(&mut self.plan, &self.kept, &verdict) {
                return Ok(Some((verdict, Some(no_more))));
            }
            self.file.replace_plan(&self.plan)?;
        }
    }

    /// True for a race that was judged, and for a continued one of which no more rounds are wanted:
    /// only whoever says how long continues it.
    fn is_over(&self) -> Result<bool, SessionError> {
        match self.plan.prolonged {
            Some(_) => Ok(self.more.is_none()),
            None => Ok(self.file.verdict()?.is_some()),
        }
    }

    /// Runs the missing trials of the plan.
    fn leg(
        &mut self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, SessionError> {
        if self.plan.race.is_some() && self.is_over()? {
            return Ok(Ended::Complete);
        }
        let mut execution = Execution::new(&self.plan, std::mem::take(&mut self.kept));
        let mut keeper = KeepInFile(&mut self.file);
        let ended = execution.run(&mut *self.backend, &mut keeper, stop, on_event);
        self.kept = execution.into_outcomes();
        match ended {
            Err(RunError::Backend { source, .. }) if is_stopped(&source) => Ok(Ended::Stopped),
            ended => Ok(ended?),
        }
    }
}

/// True if a backend ended because the user wished it, while it waited for a trial.
fn is_stopped(error: &BackendError) -> bool {
    matches!(error.downcast_ref(), Some(ClusterError::Stopped))
}

/// Removes the file of a run that failed before its first trial: it would block the next run.
fn leave_nothing_empty(file: &RunFile) {
    if file.is_empty().is_ok_and(|is_empty| is_empty) {
        // Its failure to go changes nothing about why the run broke.
        let _ = std::fs::remove_file(file.path());
    }
}
