//! Runs of which no trial can be ranked: the reason, and the key of the lab to change.

use crate::error::SessionError;
use seekwell_model::record::Status;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_store::{RunFile, Wanted};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Marks, and the keys of a lab that remove them.
const KEYS: [(WarningCode, &str); 6] = [
    (WarningCode::ServedFromCache, "`cache` or the amount of data in [[workload]]"),
    (WarningCode::LowFidelity, "`trace` or `only` in [[workload]]"),
    (WarningCode::ImageChanged, "`directory` in [[device]]"),
    (WarningCode::FsckDamage, "`type` in [[filesystem]]"),
    (WarningCode::WrongData, "`type` in [[filesystem]]"),
    (WarningCode::NotSteady, "`time` in [[workload]]"),
];

/// Returns the reason why no trial of a run can be ranked, with the key of the lab to change; `None` if a
/// trial can, or if no mark is the reason.
///
/// # Errors
/// When the file cannot be read or a record is damaged.
pub fn all_marked(file: &RunFile) -> Result<Option<String>, SessionError> {
    let mut marks = BTreeMap::<String, (u64, Warning)>::new();
    let (mut trials, mut has_ranked) = (0, false);
    file.each_record(&Wanted::by_verdicts(), &mut |_, record| {
        trials += 1;
        has_ranked |= record.status == Status::Ok;
        let of_steps = record.steps.iter().flat_map(|step| &step.warnings);
        for mark in record.warnings.iter().chain(of_steps).filter(|one| one.keeps_from_ranking()) {
            marks.entry(mark.code.clone()).or_insert_with(|| (0, mark.clone())).0 += 1;
        }
    })?;
    let most = marks.into_values().max_by_key(|(count, _)| *count);
    Ok(most.filter(|_| !has_ranked).map(|(_, mark)| sentence(trials, &mark)))
}

fn sentence(trials: u64, mark: &Warning) -> String {
    let keys = KEYS.iter().find(|(code, _)| mark.is(*code));
    let keys = keys.map_or("the lab", |(_, keys)| keys);
    format!(
        "none of {trials} trials can be ranked, all are marked {} ({}); change {keys}: {}",
        mark.code, mark.text, mark.remedy
    )
}
