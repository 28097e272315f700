//! Share of a probe's measurements that was withheld to judge its file (`[measurements]`), and the classes of requests
//! (`[[withheld]]`): how near the model comes to the device in each.

use serde::{Deserialize, Serialize};

use crate::error::{DeviceError, refuse};

#[cfg(test)]
mod tests;

/// Name with which the classes of the mixed trace begin.
pub const MIXED: &str = "mixed trace";

/// Requests at a time, for people.
#[must_use]
pub fn depths(class: &str, depth: u32) -> String {
    match class.starts_with(MIXED) && depth > 1 {
        true => format!("depths up to {depth}"),
        false => format!("depth {depth}"),
    }
}

/// Demerit above which a class should not be believed.
pub const BELIEVED: f64 = 0.2;

/// Measurements of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// Measurements of all experiments.
    pub made: u64,
    /// Those of them that no experiment saw.
    pub withheld: u64,
}

impl Measurements {
    pub(crate) fn check(self) -> Result<(), DeviceError> {
        if self.withheld <= self.made {
            return Ok(());
        }
        let reason = "must be at most measurements.made";
        Err(refuse("measurements.withheld", self.withheld, reason))
    }

    /// The share in words.
    #[must_use]
    pub fn sentence(self) -> String {
        let Self { made, withheld } = self;
        let percent = withheld as f64 / made.max(1) as f64 * 100.0;
        format!(
            "{withheld} of {made} measurements ({percent:.0} %), and a mixed trace, which no fit saw"
        )
    }
}

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

    /// The class in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { class, depth, device_ms, model_ms, demerit, .. } = self;
        let (percent, depths) = (demerit * 100.0, depths(class, *depth));
        format!(
            "{class} at {depths}: device {device_ms:.2} ms, model {model_ms:.2} ms, demerit {percent:.1} %"
        )
    }
}

/// The whole mixed trace, which no fit saw; `None` when nothing was withheld, or the time of the probe was over.
#[must_use]
pub fn mixed(all: &[Withheld]) -> Option<&Withheld> {
    all.iter().find(|one| one.class == MIXED)
}

/// The share and the classes of a file as lines, with a heading; empty when there are none.
#[must_use]
pub fn lines(measurements: Option<Measurements>, all: &[Withheld]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let share = measurements.map(|made| format!("  {}\n", made.sentence())).unwrap_or_default();
    let heading = format!("\nRequests that the probe withheld to judge this file\n{share}");
    let line = |one: &Withheld| match one.is_believed() {
        true => format!("  {}\n", one.sentence()),
        false => format!("  ! {}; do not believe this class\n", one.sentence()),
    };
    heading + &all.iter().map(line).collect::<String>()
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
