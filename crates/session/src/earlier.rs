//! The modelled devices of a finished run, compared with the models of this program.

use crate::devices::Devices;
use crate::error::SessionError;
use crate::kept::FINGERPRINTS;
use crate::loaded::Session;
use serde_json::Value;
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

fn since(environment: &Value, devices: &Devices) -> Result<Since, SessionError> {
    let mut since = Since::default();
    let models = environment.get("models").and_then(Value::as_object);
    for (word, then) in models.into_iter().flatten() {
        let Some(file) = devices.find(word)? else {
            since.changed.push(format!("{word}: there is no such device any more"));
            continue;
        };
        if let Some(difference) = other_value(then, &serde_json::json!(file.values())) {
            since.changed.push(format!("{word}: {difference}"));
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

/// The first key, in their order, of which two sets of values have different ones.
fn other_value(then: &Value, now: &Value) -> Option<String> {
    let keys = [then, now].into_iter().filter_map(Value::as_object).flat_map(|of| of.keys());
    let key = keys.into_iter().find(|key| then.get(*key) != now.get(*key))?;
    let word = |of: &Value| of.get(key).and_then(Value::as_str).unwrap_or("nothing").to_owned();
    Some(format!("{key} was {}, is {}", word(then), word(now)))
}
