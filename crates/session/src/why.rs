//! The causes of a run's difference, by trials of it repeated with laws switched off, or on a real machine with flushes
//! and the device switched off.

use crate::error::SessionError;
use crate::kept;
use crate::options::HOST;
use crate::run::Planned;
use seekwell_model::backend::Backend;
use seekwell_model::laws::LawSet;
use seekwell_model::origin::TracedStep;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::Verdict;
use seekwell_model::why::Why;
use seekwell_runner::execute::RunError;
use seekwell_runner::traffic::traffic;
use seekwell_runner::why::on_host::{Rounds, USUAL_ROUNDS};
use seekwell_runner::why::{self, Changed, Pair, Question, Switched, Trials, USUAL_SINGLE};
use seekwell_store::{RunFile, Wanted};
use seekwell_virtual::{Experiment, Experiments};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod twin;

pub use twin::AskedTwin;

/// A question about the difference between two stacks of a finished run.
pub struct Asked<'a> {
    /// The run file.
    pub path: &'a Path,
    /// Labels of two stacks; `None` for the pick and the best other value of the axis that matters most.
    pub pair: Option<[&'a str; 2]>,
    /// Laws that are attributed one by one at most; the others are one part.
    pub single: usize,
    /// Ranks single improvements of the better stack too.
    pub what_if: bool,
    /// Rounds on a real machine, and on its twin.
    pub rounds: u32,
    /// Looks for the causes of a run on a real machine on a modelled device too.
    pub twin: Option<AskedTwin<'a>>,
    /// Ends the experiments.
    pub stop: Arc<AtomicBool>,
}

impl Asked<'_> {
    /// Laws that are attributed one by one unless more are asked for.
    pub const USUAL_SINGLE: u8 = USUAL_SINGLE as u8;
    /// Rounds on a real machine unless more are asked for.
    pub const USUAL_ROUNDS: u32 = USUAL_ROUNDS;
}

/// Progress of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The pair that is explained.
    Pair(Pair),
    /// Trials that are run now.
    Trials(usize),
    /// The twin's model, whose trials follow.
    Twin(String),
}

/// A pair of a run, and everything that its explanation is made from.
struct Open {
    plan: Plan,
    verdict: Verdict,
    pair: Pair,
    trials: Trials,
    measured: Vec<(PlannedTrial, f64)>,
}

impl Planned {
    /// Explains the difference between two stacks of a finished run and keeps the explanation in its file. The plan
    /// must be that of [`Session::reopen`](crate::Session::reopen).
    ///
    /// # Errors
    /// [`SessionError::NoLaws`] for a run whose causes cannot be tested here, [`SessionError::Why`] where nothing can be
    /// explained, and when the file or a guest fails. The file is then as before.
    pub fn why(&self, asked: &Asked<'_>, see: &mut dyn FnMut(Step)) -> Result<Why, SessionError> {
        if asked.twin.is_some() && self.options().backend != HOST {
            let backend = self.options().backend.clone();
            return Err(SessionError::Option { option: "twin", of: HOST.to_owned(), backend });
        }
        self.backend().check_causes(self.plan())?;
        // Held from now on, so that no trial is added while others are explained.
        let mut file = RunFile::open_for_append(asked.path)?;
        let now = self.backend().environment(&self.plan().lab)?;
        // Programs of the guests differ with every build; whether they matter the repeated trials show.
        if let Some(difference) = kept::differs(&file.environment()?, &now) {
            let path = asked.path.to_owned();
            return Err(SessionError::OtherMachine { path, difference });
        }
        let no_verdict = || {
            let path = asked.path.display();
            SessionError::Unusable(format!(
                "{path} has no verdict yet; finish the run first: seekwell run --resume -o {path}"
            ))
        };
        let verdict = file.verdict()?.ok_or_else(no_verdict)?;
        let plan = file.plan()?;
        let pair = match asked.pair {
            Some(labels) => why::pair_of(&verdict, labels)?,
            None => why::usual_pair(&plan, &verdict)?,
        };
        see(Step::Pair(pair.clone()));
        let measured = measured(&file, &verdict)?;
        let trials = why::trials(&plan, &verdict, &pair, &measured)?;
        let improved = match asked.what_if {
            true => self.backend().improved(plan.pair(&trials.trials[0]).0)?,
            false => Vec::new(),
        };
        // With the improved stacks, whose guests may need more memory.
        let stacks = improved.iter().map(|one| &one.stack);
        let (all, more) = why::with_stacks(&plan, &trials.trials[0], stacks);
        let experiments = self.backend().experiments(&all, &asked.stop)?;
        let open = Open { plan, verdict, pair, trials, measured };
        let found = match experiments {
            Some(experiments) => {
                open.by_laws(asked, &experiments, &all, (&improved, &more), see)?
            }
            None => self.on_host(asked, &open, see)?,
        };
        file.set_why(&found)?;
        Ok(found)
    }

    /// Rounds of both stacks on this machine.
    fn on_host(
        &self,
        asked: &Asked<'_>,
        open: &Open,
        see: &mut dyn FnMut(Step),
    ) -> Result<Why, SessionError> {
        let directory = self.options().scratch_directory(asked.path);
        let twin =
            asked.twin.as_ref().map(|twin| twin.prepare(&open.plan, &directory)).transpose()?;
        let rounds = |in_memory| Rounds::new(&open.plan, &open.trials, asked.rounds, in_memory);
        let mut all = rounds(true);
        if self.backend().check_room(&all.plan, asked.path).is_err() {
            all = rounds(false);
        }
        let mut opened = self.backend().open(&all.plan, asked.path)?;
        see(Step::Trials(all.plan.trials.len()));
        let records = run_all(&mut *opened.backend, &all.plan, &asked.stop);
        // Settings first: a failed trial must not leave any behind.
        opened.backend.finish().map_err(SessionError::PutBack)?;
        let mut found = all.explain(&open.pair, &open.verdict, &records?)?;
        if let (Some(twin), Some(on_host)) = (twin, &mut found.on_host) {
            on_host.twin = Some(twin.compare(open, asked, see)?);
        }
        Ok(found)
    }
}

impl Open {
    fn by_laws(
        &self,
        asked: &Asked<'_>,
        experiments: &Experiments,
        all: &Plan,
        (improved, more): (&[Changed], &[PlannedTrial]),
        see: &mut dyn FnMut(Step),
    ) -> Result<Why, SessionError> {
        let Self { plan, verdict, pair, trials, measured } = self;
        let law = |trial: &PlannedTrial| experiments.laws(plan.pair(trial).0);
        let laws = [law(&trials.trials[0])?, law(&trials.trials[1])?];
        let question = Question { plan, verdict, pair, trials, laws, single: asked.single };
        let mut run = |switched: &[Switched]| -> Result<Vec<Record>, SessionError> {
            see(Step::Trials(switched.len()));
            let experiment =
                |(side, off): &Switched| Experiment { trial: trials.trials[*side], off: *off };
            let all: Vec<Experiment> = switched.iter().map(experiment).collect();
            Ok(experiments.run(plan, &all)?)
        };
        let mut found = why::explain(&question, &mut run)?;
        let step = verdict.metric.split('.').next().unwrap_or_default();
        let traced = trials.trials.iter().map(|trial| Ok(experiments.trace(plan, trial, step)?.1));
        let traced = traced.collect::<Result<Option<Vec<TracedStep>>, SessionError>>()?;
        found.traffic = traced.unwrap_or_default().iter().map(traffic).collect();
        if asked.what_if {
            see(Step::Trials(more.len()));
            let more: Vec<Experiment> =
                more.iter().map(|trial| Experiment { trial: *trial, off: LawSet::NONE }).collect();
            let records = experiments.run(all, &more)?;
            let improved: Vec<(Changed, Record)> = improved.iter().cloned().zip(records).collect();
            found.what_if = why::what_if(&question, &found, &improved, measured);
        }
        Ok(found)
    }
}

/// Runs the trials of a plan until one breaks the backend.
fn run_all(
    backend: &mut dyn Backend,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<Vec<(PlannedTrial, Record)>, SessionError> {
    backend.announce(&plan.trials);
    let mut records = Vec::with_capacity(plan.trials.len());
    for trial in &plan.trials {
        if stop.load(Ordering::Relaxed) {
            return Err(SessionError::CausesStopped);
        }
        let record = backend.run(plan, trial, &mut |_| {});
        let record = record.map_err(|source| RunError::Backend { index: trial.index, source })?;
        records.push((*trial, record));
    }
    Ok(records)
}

/// Trials with a value of the judged metric.
fn measured(file: &RunFile, verdict: &Verdict) -> Result<Vec<(PlannedTrial, f64)>, SessionError> {
    let mut measured = Vec::new();
    file.each_record(&Wanted::by_verdicts(), &mut |trial, record| {
        measured.extend(why::value(&record, &verdict.metric).map(|value| (trial, value)));
    })?;
    Ok(measured)
}
