//! A lab with a number of one device at an end of its range: only the stacks of that device are run
//! again, and their trials take the places of those with the number as it is.

use crate::judge::Run;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::stack::{AXES, Backing};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

#[cfg(test)]
mod tests;

/// Axes whose values are devices.
const DEVICES: [&str; 2] = ["device", "journal"];

/// The lab's text with the stacks of one modelled device alone; `None` when the lab does not name it.
/// A lab that has it as a disk and as a journal stays as it is. Comments are lost.
///
/// # Errors
/// When the text is not TOML.
pub fn narrowed(text: &str, device: &str) -> Result<Option<String>, toml::de::Error> {
    let mut lab: Table = text.parse()?;
    let named = DEVICES.map(|axis| names(&lab, axis, device));
    match named {
        [none, nor] if none.is_empty() && nor.is_empty() => return Ok(None),
        [of_disk, none] if none.is_empty() => keep(&mut lab, "device", &of_disk),
        [none, of_journal] if none.is_empty() => keep(&mut lab, "journal", &of_journal),
        _ => return Ok(Some(text.to_owned())),
    }
    Ok(Some(lab.to_string()))
}

/// Names of the values of an axis that are this model, whatever its bus.
fn names(lab: &Table, axis: &str, device: &str) -> Vec<String> {
    let model = |value: &Value| {
        let model = value.get("model")?;
        let name = model.get("name").unwrap_or(model).as_str()?;
        let named = value.get("name").and_then(Value::as_str);
        is_model(name, device).then(|| named.unwrap_or(name).to_owned())
    };
    entries(lab, axis).filter_map(model).collect()
}

fn is_model(name: &str, device: &str) -> bool {
    name.split('@').next() == Some(device)
}

fn entries<'a>(lab: &'a Table, key: &str) -> impl Iterator<Item = &'a Value> {
    lab.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Leaves these values of an axis, and what matches them.
fn keep(lab: &mut Table, axis: &str, names: &[String]) {
    let is_kept =
        |value: &Value| value.as_str().is_some_and(|name| names.iter().any(|kept| kept == name));
    if let Some(Value::Array(values)) = lab.get_mut(axis) {
        values.retain(|value| value.get("name").is_some_and(is_kept));
    }
    for key in ["stack", "exclude"] {
        if let Some(Value::Array(matches)) = lab.get_mut(key) {
            matches.retain_mut(|one| match one.get_mut(axis) {
                None => true,
                Some(Value::Array(named)) => {
                    named.retain(is_kept);
                    !named.is_empty()
                }
                Some(named) => is_kept(named),
            });
        }
    }
}

/// The base run with the trials of the device's stacks as they came out at the end: those of the same
/// round and names on all axes. A trial that the end lacks is missing.
#[must_use]
pub fn merged(base: &Run, end: &Run, device: &str) -> Run {
    let at = |run: &Run, trial: &PlannedTrial| (trial.round, axes(&run.plan, trial));
    let found: BTreeMap<_, _> =
        end.records.values().map(|(trial, record)| (at(end, trial), record)).collect();
    let (mut records, mut again) = (BTreeMap::new(), BTreeSet::new());
    for (index, (trial, record)) in &base.records {
        if !has(&base.plan, trial, device) {
            records.insert(*index, (*trial, record.clone()));
        } else if let Some(record) = found.get(&at(base, trial)) {
            records.insert(*index, (*trial, (*record).clone()));
            again.insert(*index);
        }
    }
    Run { records, again, file: end.file.clone(), ..base.clone() }
}

/// Names on all axes, and of the workload.
fn axes(plan: &Plan, trial: &PlannedTrial) -> Vec<String> {
    let (stack, workload) = plan.pair(trial);
    let names = AXES.iter().map(|(_, of)| of(stack));
    names.chain([workload.name.as_str()]).map(str::to_owned).collect()
}

/// Returns true if a trial's disk or journal is this model.
fn has(plan: &Plan, trial: &PlannedTrial, device: &str) -> bool {
    let (stack, _) = plan.pair(trial);
    let of = |backing: &Backing| matches!(backing, Backing::Model { model, .. } if is_model(model, device));
    of(&stack.device.backing) || stack.journal.external.as_ref().is_some_and(of)
}
