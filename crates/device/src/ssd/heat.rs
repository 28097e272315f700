//! Temperature: programs heat the disk, time cools it, and above a limit it programs more slowly.

use serde::Deserialize;

use crate::clock::Rate;
use crate::error::{DeviceError, refuse, within};

#[cfg(test)]
mod tests;

/// Heating and throttling. Temperatures are degrees above those of the idle disk.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatParameters {
    /// Rise for each 10^9 bytes programmed, if nothing cooled.
    pub degrees_per_gb: f64,
    /// Time in which an idle disk loses 63 % of its rise, in seconds.
    pub cooling_s: f64,
    /// Rise from which the disk is throttled.
    pub limit_degrees: f64,
    /// Rise below which it no longer is.
    pub resume_degrees: f64,
    /// Rate at which the throttled disk programs, in 10^6 bytes a second.
    pub throttled_mb_per_s: f64,
    /// Rise at time 0.
    #[serde(default)]
    pub initial_degrees: f64,
}

impl HeatParameters {
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        let numbers = [
            ("degrees_per_gb", self.degrees_per_gb, 0.0, 1e6),
            ("cooling_s", self.cooling_s, 1e-3, 1e6),
            ("limit_degrees", self.limit_degrees, 1e-3, 200.0),
            ("resume_degrees", self.resume_degrees, 0.0, 200.0),
            ("throttled_mb_per_s", self.throttled_mb_per_s, 1e-3, 1e6),
            ("initial_degrees", self.initial_degrees, 0.0, 200.0),
        ];
        numbers.iter().try_for_each(|(key, value, low, high)| {
            within(&format!("ssd.heat.{key}"), *value, *low, *high)
        })?;
        if self.resume_degrees > self.limit_degrees {
            let reason = "must not be above limit_degrees";
            return Err(refuse("ssd.heat.resume_degrees", self.resume_degrees, reason));
        }
        Ok(())
    }
}

/// The temperature of a disk.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    parameters: HeatParameters,
    throttled: Rate,
    degrees: f64,
    at_ns: u64,
    is_throttled: bool,
}

impl Heat {
    pub(super) fn new(parameters: &HeatParameters) -> Self {
        Self {
            throttled: Rate::from_mb_per_s(parameters.throttled_mb_per_s),
            degrees: parameters.initial_degrees,
            at_ns: 0,
            is_throttled: parameters.initial_degrees >= parameters.limit_degrees,
            parameters: parameters.clone(),
        }
    }

    /// Programs so many bytes on one of `dies`; the least time that takes.
    pub(super) fn program_ns(&mut self, now_ns: u64, bytes: u64, dies: u64) -> u64 {
        self.cool(now_ns);
        self.degrees += self.parameters.degrees_per_gb * bytes as f64 / 1e9;
        if self.degrees >= self.parameters.limit_degrees {
            self.is_throttled = true;
        } else if self.degrees <= self.parameters.resume_degrees {
            self.is_throttled = false;
        }
        if self.is_throttled { self.throttled.ns(bytes * dies) } else { 0 }
    }

    /// Cools exponentially. Products only, so that every machine has the same result.
    fn cool(&mut self, now_ns: u64) {
        const STEPS: i32 = 64;
        let passed_s = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let step = passed_s / self.parameters.cooling_s / f64::from(STEPS);
        // Squaring six times is the power of 64.
        let kept = (0..6).fold(1.0 / (1.0 + step), |kept, _| kept * kept);
        self.degrees *= kept;
        self.at_ns = self.at_ns.max(now_ns);
    }
}
