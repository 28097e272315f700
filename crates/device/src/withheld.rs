//! Classes of requests that a probe withheld to judge its file (`[[withheld]]`): how near the model comes to the
//! device in each class of requests.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::error::{DeviceError, refuse};

#[cfg(test)]
mod tests;

/// Demerit above which a class should not be believed.
pub(crate) const BELIEVED: f64 = 0.2;

/// Requests of one class on the device and on the model of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    /// Class for people, such as `random reads`.
    pub class: String,
    /// Requests at a time.
    pub depth: u32,
    /// Requests.
    pub count: u64,
    /// Mean response of the device in milliseconds.
    pub device_ms: f64,
    /// Mean response of the model in milliseconds.
    pub model_ms: f64,
    /// Root mean square distance of the two distributions as a part of the device's mean.
    pub demerit: f64,
}

impl Withheld {
    /// True when the model predicts the class well enough to use it.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.demerit <= BELIEVED
    }

    pub(crate) fn check(&self, index: usize) -> Result<(), DeviceError> {
        let Self { device_ms, model_ms, demerit, .. } = *self;
        for (key, value) in [("device_ms", device_ms), ("model_ms", model_ms), ("demerit", demerit)]
        {
            if !(value.is_finite() && value >= 0.0) {
                let reason = "must be a number of at least 0";
                return Err(refuse(&format!("withheld.{index}.{key}"), value, reason));
            }
        }
        Ok(())
    }

    fn sentence(&self) -> String {
        let Self { class, depth, device_ms, model_ms, demerit, .. } = self;
        let percent = demerit * 100.0;
        format!(
            "{class} at depth {depth}: device {device_ms:.2} ms, model {model_ms:.2} ms, demerit {percent:.1} %"
        )
    }
}

/// The classes of a file as lines, with a heading; empty when there are none.
#[must_use]
pub fn lines(all: &[Withheld]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let heading = "\nRequests that the probe withheld to judge this file\n".to_owned();
    all.iter().fold(heading, |mut text, one| {
        let (mark, doubt) =
            if one.is_believed() { ("", "") } else { ("! ", "; do not believe this class") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {mark}{}{doubt}", one.sentence());
        text
    })
}

/// Warning about the classes of this model that should not be believed.
#[must_use]
pub fn warning(model: &str, all: &[Withheld]) -> Option<String> {
    let doubted: Vec<String> =
        all.iter().filter(|one| !one.is_believed()).map(Withheld::sentence).collect();
    (!doubted.is_empty()).then(|| {
        format!(
            "the model {model} should not be believed in what its probe found off by more than 20 %: {}",
            doubted.join("; ")
        )
    })
}
