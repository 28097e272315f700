//! The twin of a run on a real machine: its stacks in guests on the modelled device nearest to its own.

use super::{Asked, Open, Step};
use crate::error::SessionError;
use crate::loaded::Session;
use crate::options::Options;
use crate::run::Planned;
use crate::{atlas, backends};
use seekwell_host::facts::disk_below;
use seekwell_host::sysfs::System;
use seekwell_model::backing::Backing;
use seekwell_model::laws::LawSet;
use seekwell_model::plan::Plan;
use seekwell_model::why::{Twin, Why};
use seekwell_runner::why::twin::{Ranks, Values, rounds_of};
use seekwell_runner::why::{self, Pair};
use seekwell_spec::LabFile;
use seekwell_virtual::Experiment;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[cfg(test)]
mod tests;

/// Backend of the twin.
const VIRTUAL: &str = "virtual";

/// A request for a twin.
pub struct AskedTwin<'a> {
    /// The session, which knows this machine's disks and the models.
    pub session: &'a Session,
    /// Model, or word of the atlas such as `ssd`; `None` for the model that is nearest to the disk of the images.
    pub model: Option<&'a str>,
    /// Number of parallel trials; `None` for one per CPU.
    pub jobs: Option<usize>,
}

/// A twin before its first trial.
pub(super) struct Prepared {
    twin: Twin,
    planned: Option<Planned>,
}

impl AskedTwin<'_> {
    /// Chooses the model and plans the run's lab on it. What prevents that is part of the result, unless the user named a
    /// model that does not exist.
    pub(super) fn prepare(&self, plan: &Plan, images: &Path) -> Result<Prepared, SessionError> {
        let mut twin = Twin::default();
        match self.model {
            Some(word) => {
                twin.model = atlas::device(word)
                    .filter(|device| device.form == atlas::Form::New)
                    .map_or(word, |device| device.model)
                    .to_owned();
                self.session.device(&twin.model)?;
            }
            None => match nearest(&self.session.machine().system, plan, images) {
                Ok((model, disk)) => (twin.model, twin.nearest_to) = (model.to_owned(), disk),
                Err(reason) => {
                    twin.impossible = Some(reason);
                    return Ok(Prepared { twin, planned: None });
                }
            },
        }
        let planned = self.planned(plan, &twin.model);
        twin.impossible = planned.as_ref().err().map(one_line);
        Ok(Prepared { twin, planned: planned.ok() })
    }

    fn planned(&self, plan: &Plan, model: &str) -> Result<Planned, SessionError> {
        let model = Some(model.to_owned());
        let options = Options { model, jobs: self.jobs, ..Options::of(VIRTUAL) };
        let backend = backends::choose(self.session, &options)?;
        let file = LabFile::without_text(plan.lab.clone(), &plan.lab.name);
        self.session.resolve_with(backend, file, Path::new(""), &options)?.plan()
    }
}

impl Prepared {
    /// Runs the twin, compares its ranks with those of the run, and looks for its causes if they agree.
    pub(super) fn compare(
        self,
        open: &Open,
        asked: &Asked<'_>,
        see: &mut dyn FnMut(Step),
    ) -> Result<Twin, SessionError> {
        let Self { mut twin, planned } = self;
        let Some(planned) = planned else { return Ok(twin) };
        see(Step::Twin(twin.model.clone()));
        match explained(&planned, open, asked, see) {
            Ok((ranks, found)) => {
                twin.pairs = (ranks.agree.len() + ranks.disagree.len()) as u32;
                twin.disagree = ranks
                    .disagree
                    .into_iter()
                    .map(|Pair { better, worse }| [better, worse])
                    .collect();
                twin.why = found.map(Box::new);
                Ok(twin)
            }
            Err(_) if asked.stop.load(Ordering::Relaxed) => Err(SessionError::CausesStopped),
            // The causes on the machine itself are worth as much without it.
            Err(error) => Ok(Twin { impossible: Some(one_line(&error)), ..twin }),
        }
    }
}

/// Ranks of the run and its twin, and the causes on the twin if it may explain the pair.
fn explained(
    planned: &Planned,
    open: &Open,
    asked: &Asked<'_>,
    see: &mut dyn FnMut(Step),
) -> Result<(Ranks, Option<Why>), SessionError> {
    let Open { verdict, pair, .. } = open;
    let run = Values::new(&open.plan, verdict, &open.measured);
    let plan = rounds_of(planned.plan().clone(), &run, asked.rounds);
    let no_laws = || SessionError::NoLaws;
    let experiments = planned.backend().experiments(&plan, &asked.stop)?.ok_or_else(no_laws)?;
    see(Step::Trials(plan.trials.len()));
    let whole = plan.trials.iter().map(|trial| Experiment { trial: *trial, off: LawSet::NONE });
    let records = experiments.run(&plan, &whole.collect::<Vec<_>>())?;
    let values = plan.trials.iter().zip(&records);
    let measured: Vec<_> = values
        .filter_map(|(trial, record)| Some((*trial, why::value(record, &verdict.metric)?)))
        .collect();
    let own = Values::new(&plan, verdict, &measured);
    let verdict = own.verdict(verdict, &pair.better);
    // An error names a stack that the guests did not measure.
    why::pair_of(&verdict, [&pair.better, &pair.worse])?;
    let ranks = Ranks::new(&run, &own);
    if !ranks.explain(pair) {
        return Ok((ranks, None));
    }
    let trials = why::trials(&plan, &verdict, pair, &measured)?;
    let twin = Open { plan, verdict, pair: pair.clone(), trials, measured };
    let asked = Asked { stop: Arc::clone(&asked.stop), what_if: false, twin: None, ..*asked };
    let mut found = twin.by_laws(&asked, &experiments, &twin.plan, (&[], &[]), see)?;
    // The run's own requests would be the ones to draw.
    found.traffic.iter_mut().for_each(|traffic| traffic.packed.clear());
    Ok((ranks, Some(found)))
}

/// The model of the atlas that is nearest to the disk below the images of a plan, and that disk in words; the reason if
/// there is none.
fn nearest(system: &System, plan: &Plan, images: &Path) -> Result<(&'static str, String), String> {
    let folders = plan.stacks.iter().filter_map(|stack| match &stack.device.backing {
        Backing::Loop { directory, .. } => Some(directory.as_deref().unwrap_or(images)),
        _ => None,
    });
    let Some(folder) = folders.min() else {
        return Err("the images of this run are in memory".to_owned());
    };
    let folder_name = folder.display();
    let advice = "name a model with --twin=MODEL, such as --twin=ssd";
    let disk = disk_below(system, folder);
    let disk = disk.ok_or_else(|| format!("the disk below {folder_name} is unknown; {advice}"))?;
    let near = atlas::like(system, &disk).map_err(|_| {
        let disk = disk.display();
        format!("no model is known to be like {disk}, which the images are on; {advice}")
    });
    near.map(|(device, reason)| (device.model, reason))
}

fn one_line(error: &SessionError) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
