//! Files of parts of one run, joined.

use crate::error::SessionError;
use crate::kept;
use seekwell_model::plan::PlannedTrial;
use seekwell_runner::judge::prolong;
use seekwell_runner::records::Extractor;
use seekwell_store::{Merged, RunFile, Wanted};
use std::path::{Path, PathBuf};

/// Joins the files of parts of one run into a new one, and judges it if no trial is missing. The rounds of a race
/// follow from its results: continue it to have it judged.
///
/// # Errors
/// When the files are not parts of one run on comparable machines, or the new file cannot be made.
pub fn merge(parts: &[PathBuf], target: &Path) -> Result<(Merged, bool), SessionError> {
    let merged = RunFile::merge(parts, target, &kept::difference)?;
    let mut file = RunFile::open_for_append(target)?;
    let plan = file.plan()?;
    let is_whole = merged.missing == 0 && plan.race.is_none();
    if is_whole {
        let mut extractor = Extractor::new(&plan);
        let take = &mut |_: &PlannedTrial, record| extractor.outcome(&record);
        let (outcomes, integrity) = file.verified(&Wanted::by_verdicts(), take)?;
        integrity.refuse_changed(target)?;
        let outcomes = outcomes.into_iter().map(|one| (one.0.index, one)).collect();
        let verdict = prolong::judged(&plan, &outcomes);
        file.set_verdict(&verdict)?;
    }
    Ok((merged, is_whole))
}
