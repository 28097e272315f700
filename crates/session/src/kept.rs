//! Existing run files: comparison with a lab and this machine.

use crate::error::SessionError;
use seekwell_model::lab::Lab;
use seekwell_store::RunFile;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Key of the fingerprints of modelled devices in the environment of a run.
pub(crate) const FINGERPRINTS: &str = "model_fingerprints";

/// State of a run file, as a run of a given plan.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// All trials and the verdict are in it.
    Complete,
    /// An interrupted run.
    Begun,
    /// A run of another lab or on another machine, with the difference.
    Stale(String),
}

pub(crate) fn standing(path: &Path, lab: &Lab, now: &Value) -> Result<Standing, SessionError> {
    let file = RunFile::open(path)?;
    if file.plan()?.lab != *lab {
        return Ok(Standing::Stale("lab file".to_owned()));
    }
    if let Some(difference) = differs(&file.environment()?, now) {
        return Ok(Standing::Stale(difference));
    }
    Ok(if file.verdict()?.is_some() { Standing::Complete } else { Standing::Begun })
}

/// Renames a run file to make room for a new run, since it may have taken hours; its new path.
///
/// # Errors
/// When the kernel refuses that.
pub fn set_aside(path: &Path) -> Result<PathBuf, SessionError> {
    let aside = (1..)
        .map(|number| path.with_extension(format!("before-{number}.seekwell")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("before.seekwell"));
    let shown = path.display();
    std::fs::rename(path, &aside)
        .map_err(|error| SessionError::Unusable(format!("cannot rename {shown}: {error}")))?;
    Ok(aside)
}

/// Refuses to continue a run that was started on another kernel or machine: its rounds would
/// compare old trials with new ones.
pub(crate) fn same_machine(file: &RunFile, now: &Value) -> Result<(), SessionError> {
    let then = file.environment()?;
    if let Some((ran, how)) = other_place(&then, now) {
        return Err(SessionError::OtherPlace { path: file.path().to_owned(), ran, how });
    }
    match difference(&then, now) {
        Some(difference) => {
            Err(SessionError::OtherMachine { path: file.path().to_owned(), difference })
        }
        None => Ok(()),
    }
}

/// Backend of a run that is resumed on the other one, and the option that selects it.
fn other_place(then: &Value, now: &Value) -> Option<(&'static str, &'static str)> {
    let is_virtual = |of: &Value| of.get("place").is_some_and(|place| place == "virtual");
    match (is_virtual(then), is_virtual(now)) {
        (true, false) => Some(("ran on the virtual backend", "with --place virtual")),
        (false, true) => Some(("ran on the host backend", "without --place virtual")),
        _ => None,
    }
}

/// The first difference between two environments with which trials cannot be compared.
pub(crate) fn difference(then: &Value, now: &Value) -> Option<String> {
    let image = || differs_in(then, now, "image", "root image of the guests");
    differs(then, now).or_else(image)
}

/// The first difference between the environments of two runs that affects results: its name, the
/// old and the new value. The programs of guests do not count: every build has others.
pub(crate) fn differs(then: &Value, now: &Value) -> Option<String> {
    let parts = [("place", "backend"), ("kernel", "kernel"), ("cpu", "CPU"), ("ram", "memory")];
    let part = parts.iter().find_map(|(key, name)| differs_in(then, now, key, name));
    part.or_else(|| other_model(then, now)).or_else(|| other_behaviour(then, now))
}

fn differs_in(then: &Value, now: &Value, key: &str, name: &str) -> Option<String> {
    let value = |of: &Value| of.get(key).cloned().unwrap_or(Value::Null);
    let (was, is) = (value(then), value(now));
    (was != is).then(|| format!("{name} ({was} then, {is} now)"))
}

/// The first modelled device that has the same values and behaves differently. Runs of versions that kept no
/// fingerprints are taken as they are.
fn other_behaviour(then: &Value, now: &Value) -> Option<String> {
    let (was, is) = (then.get(FINGERPRINTS)?.as_object()?, now.get(FINGERPRINTS)?.as_object()?);
    let (device, _) =
        is.iter().find(|(device, is)| was.get(*device).is_some_and(|was| was != *is))?;
    Some(format!("version of the model of {device}"))
}

/// The first value of a modelled device that differs.
fn other_model(then: &Value, now: &Value) -> Option<String> {
    let none = Map::new();
    let table = |of: &Value| of.as_object().cloned().unwrap_or_default();
    let of = |environment: &Value| environment.get("models").map(&table);
    let (was, is) = match (of(then), of(now)) {
        (None, Some(is)) if !is.is_empty() => {
            return Some("set of devices, or a version that did not keep their values".to_owned());
        }
        (was, is) => (was.unwrap_or_default(), is.unwrap_or_default()),
    };
    for device in was.keys().chain(is.keys()) {
        let values = |all: &Map<_, _>| all.get(device).map_or(none.clone(), &table);
        let (was, is) = (values(&was), values(&is));
        let key = was.keys().chain(is.keys()).find(|key| was.get(*key) != is.get(*key));
        if let Some(key) = key {
            let word = |of: &Map<String, Value>| {
                of.get(key).and_then(|value| value.as_str()).unwrap_or("nothing").to_owned()
            };
            return Some(format!("{key} of {device} ({} then, {} now)", word(&was), word(&is)));
        }
    }
    None
}
