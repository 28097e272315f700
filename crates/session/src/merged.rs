//! Files of parts of one run, joined.

use crate::error::SessionError;
use crate::kept;
use seekwell_runner::judge::prolong;
use seekwell_store::{Integrity, Merged, RunFile, StoreError, Timeline, Wanted};
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
        // No finding needs more of a record, and a run of 100,000 trials fills gigabytes.
        let wanted =
            Wanted { histograms: false, series: false, timeline: Timeline::Told, metrics: None };
        let (records, integrity) = file.verified_records(&wanted, &mut |_, _| {})?;
        if let Integrity::Changed(problems) = integrity {
            let (path, problem) = (target.to_owned(), problems.join("; "));
            return Err(StoreError::Damaged { path, problem }.into());
        }
        let records = records.into_iter().map(|(trial, record)| (trial.index, (trial, record)));
        let verdict = prolong::judged(&plan, &records.collect());
        file.set_verdict(&verdict)?;
    }
    Ok((merged, is_whole))
}
