//! `seekwell run --ranges`: the lab again with every undetermined number of its devices at both bounds.

use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_model::verdict::{Decision, Verdict};
use seekwell_session::{Change, LabText, Options, Planned, Session, Standing};
use seekwell_store::RunFile;
use std::path::{Path, PathBuf};

/// A finished run whose verdict may depend on ranges.
pub struct Base<'a> {
    /// Its lab file.
    pub lab: &'a Path,
    /// Its run file.
    pub path: &'a Path,
    /// Its options.
    pub options: &'a Options,
    /// Exit status of its verdict.
    pub verdict: Exit,
}

/// The bounds to run, both of every range.
///
/// # Errors
/// When no number of the devices is a range, or the run has no modelled device.
pub fn bounds(planned: &Planned) -> Result<Vec<Change>, Failure> {
    let bounds: Vec<Change> = planned.bounds()?.into_iter().flatten().collect();
    if !bounds.is_empty() {
        return Ok(bounds);
    }
    let text = if planned.options().backend == "host" {
        "--ranges is for modelled devices; add --place virtual"
    } else {
        "--ranges: every number of the lab's devices is determined (seekwell device show NAME lists ranges); leave it out"
    };
    Err(Failure::Usage(text.to_owned()))
}

/// Runs the lab at each bound, in a run file of its own next to the first, and reports which bounds change the
/// verdict.
///
/// # Errors
/// When a run fails or is interrupted; what is complete is kept, and `resume` goes on with it.
pub fn run(
    session: &Session,
    base: &Base<'_>,
    bounds: &[Change],
    resume: bool,
) -> Result<Exit, Failure> {
    let first = verdict(base.path)?;
    let mut others = Vec::new();
    for (at, bound) in bounds.iter().enumerate() {
        terminal::talk(&format!("bound {} of {}: {bound}", at + 1, bounds.len()));
        let path = beside(base.path, bound);
        carry_out(session, base, bound, (&path, resume))?;
        let found = verdict(&path)?;
        if !is_same(&first, &found) {
            others.push(format!("  {bound}: {} ({})", sentence(&found), path.display()));
        }
    }
    let same = bounds.len() - others.len();
    terminal::data(&format!(
        "The verdict is the same at {same} of {} bounds of undetermined numbers.",
        bounds.len()
    ));
    others.iter().for_each(|line| terminal::data(line));
    Ok(if others.is_empty() { base.verdict } else { Exit::NotResolved })
}

/// Runs the lab at one bound unless that run is complete.
fn carry_out(
    session: &Session,
    base: &Base<'_>,
    bound: &Change,
    (path, resume): (&Path, bool),
) -> Result<(), Failure> {
    let mut options = base.options.clone();
    options.changes.push(bound.clone());
    let planned = session.resolve(&LabText::read(base.lab)?, &options)?.plan()?;
    let is_there = resume && path.is_file();
    if is_there && matches!(planned.standing(path)?, Standing::Complete) {
        return Ok(());
    }
    run::carry_out(planned, path, resume, false).map(drop)
}

/// Path of the run file of a bound: `RUN@DEVICE.KEY=NUMBER.seekwell`.
fn beside(path: &Path, bound: &Change) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let bound = bound.to_string().replace(':', ".");
    path.with_file_name(format!("{stem}@{bound}.seekwell"))
}

fn verdict(path: &Path) -> Result<Verdict, Failure> {
    let wrong = |error: seekwell_store::StoreError| Failure::from_error(&error);
    let found = RunFile::open(path).map_err(wrong)?.verdict().map_err(wrong)?;
    found.ok_or_else(|| Failure::Error(format!("{} holds no verdict", path.display())))
}

/// Two verdicts are the same if they decide the same for the same stacks. Stacks that an inconclusive one leaves
/// are no decision.
fn is_same(one: &Verdict, other: &Verdict) -> bool {
    let named = |verdict: &Verdict| {
        let mut stacks = verdict.stacks.clone();
        stacks.sort();
        stacks
    };
    one.decision == other.decision
        && (one.decision == Some(Decision::Inconclusive) || named(one) == named(other))
}

fn sentence(verdict: &Verdict) -> String {
    if verdict.sentence.is_empty() { verdict.reason.clone() } else { verdict.sentence.clone() }
}
