//! The conditions of a finished run, compared with those that a lab declares and with the models of this program.

use crate::backends;
use crate::devices::{Devices, backings};
use crate::error::SessionError;
use crate::kept::FINGERPRINTS;
use crate::loaded::Session;
use crate::options::Options;
use crate::resolved::LabText;
use seekwell_device::{catalogue, truth};
use seekwell_model::lab::Lab;
use seekwell_model::replication::ModelChecks;
use seekwell_model::stack::Backing;
use seekwell_store::RunFile;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Comparison of a run's modelled devices with those of this program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// Devices that would measure something else now, each with the reason.
    pub changed: Vec<String>,
    /// Devices with the same values, in a run that does not say how their models behaved.
    pub unknown: Vec<String>,
}

impl Session {
    /// Returns each declared condition that a finished run on modelled devices did not have: the lab with its
    /// workloads, the charge of CPU time, and changed numbers of devices. Needs no lab kernel. For the models
    /// themselves see [`Self::models_since`].
    ///
    /// # Errors
    /// When the lab or the options are wrong, or the run file cannot be read.
    pub fn not_declared(
        &self,
        file: &RunFile,
        lab: &LabText<'_>,
        options: &Options,
    ) -> Result<Vec<String>, SessionError> {
        let mut backend = backends::choose(self, options)?;
        let mut declared = seekwell_spec::read_lab_bytes(&lab.bytes, &lab.name)?.lab;
        backend.adapt(&mut declared, &lab.directory)?;
        let environment = file.environment()?;
        let mut found = Vec::new();
        found.extend(other_lab(&file.plan()?.lab, &declared).map(str::to_owned));
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("nothing").to_owned();
        for (key, declared) in backend.declared() {
            let then = text(environment.get(key));
            if then != declared {
                found.push(format!("{then}, where the lab declares: {declared}"));
            }
        }
        let changed = environment.get("changed").and_then(Value::as_array);
        let then: Vec<String> =
            changed.into_iter().flatten().map(|change| text(Some(change))).collect();
        let now: Vec<String> = options.changes.iter().map(ToString::to_string).collect();
        if then != now {
            let words = |all: &[String]| match all {
                [] => "none".to_owned(),
                some => some.join(", "),
            };
            found.push(format!("changed numbers {}, not {}", words(&then), words(&now)));
        }
        Ok(found)
    }

    /// Counts the models of the devices of these labs, and those that published figures check.
    ///
    /// # Errors
    /// When a built-in device file is wrong.
    pub fn model_checks<'a>(
        &self,
        labs: impl IntoIterator<Item = &'a Lab>,
    ) -> Result<ModelChecks, SessionError> {
        let name = |backing: &Backing| match backing {
            Backing::Model { model, .. } => model.split('@').next().map(str::to_owned),
            _ => None,
        };
        let backings = labs.into_iter().flat_map(backings);
        let names: BTreeSet<String> = backings.filter_map(name).collect();
        let files = self.devices()?;
        let mut checks = ModelChecks::default();
        for file in names.iter().filter_map(|name| catalogue::find(files, name).ok().flatten()) {
            let rows = truth::rows(&file);
            let checking: Vec<_> = rows.iter().filter(|row| !row.published.calibrates).collect();
            checks.models += 1;
            checks.checked += u32::from(!checking.is_empty());
            checks.met +=
                u32::from(!checking.is_empty() && checking.iter().all(|row| !row.is_off()));
        }
        Ok(checks)
    }

    /// Compares the modelled devices that the environment of a run names with those of this program.
    ///
    /// # Errors
    /// When a built-in device file is wrong, or a device file or change that the run has kept.
    pub fn models_since(&self, environment: &Value, run: &Path) -> Result<Since, SessionError> {
        let mut devices = Devices::new(self.devices()?);
        devices.of_run(environment, run)?;
        let changes = environment.get("changed").and_then(Value::as_array);
        let changes: Vec<_> = changes
            .into_iter()
            .flatten()
            .filter_map(|change| change.as_str()?.parse().ok())
            .collect();
        devices.change(&changes)?;
        since(environment, &devices)
    }
}

/// The part of two labs that differs; of several the one that readers look for first.
fn other_lab(then: &Lab, declared: &Lab) -> Option<&'static str> {
    if then == declared {
        return None;
    }
    Some(if then.workloads != declared.workloads {
        "other workloads than the lab's"
    } else {
        "another lab than the one declared"
    })
}

fn since(environment: &Value, devices: &Devices) -> Result<Since, SessionError> {
    let mut since = Since::default();
    let models = environment.get("models").and_then(Value::as_object);
    for (word, then) in models.into_iter().flatten() {
        let Some(file) = devices.find(word)? else {
            since.changed.push(format!("{word}: there is no such device any more"));
            continue;
        };
        let differences = other_values(then, &serde_json::json!(file.values()));
        if !differences.is_empty() {
            since.changed.push(format!("{word}: {}", differences.join(", ")));
            continue;
        }
        let now = format!("{:016x}", seekwell_device::fingerprint(&file));
        match environment.get(FINGERPRINTS).and_then(|all| all.get(word)).and_then(Value::as_str) {
            Some(then) if then == now => {}
            Some(_) => since.changed.push(format!("{word}: the model behaves differently")),
            None => since.unknown.push(word.clone()),
        }
    }
    Ok(since)
}

/// Every key of which two sets of values have different ones, with both values.
fn other_values(then: &Value, now: &Value) -> Vec<String> {
    let keys: BTreeSet<&String> =
        [then, now].into_iter().filter_map(Value::as_object).flat_map(|of| of.keys()).collect();
    let word =
        |of: &Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or("nothing").to_owned();
    keys.into_iter()
        .filter(|key| then.get(*key) != now.get(*key))
        .map(|key| format!("{key} was {}, is {}", word(then, key), word(now, key)))
        .collect()
}
