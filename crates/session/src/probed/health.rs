//! Temperature and SMART data of a probed disk, before and after the probe.

use seekwell_host::sysfs::System;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// A disk that does not answer smartctl by then is unknown.
const SMART: Duration = Duration::from_secs(30);

/// Number of the attribute that counts reallocated sectors of ATA disks.
const REALLOCATED: i64 = 5;

/// Health of a disk at an instant, as far as smartctl tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Temperature in degrees Celsius.
    pub celsius: Option<i64>,
    /// The disk's own judgement.
    pub passed: Option<bool>,
    /// Minutes that an NVMe disk has spent above its limits of temperature.
    pub hot_minutes: Option<i64>,
    /// Sectors that an ATA disk has replaced.
    pub reallocated: Option<i64>,
}

/// Reads the health of a disk; `None` without smartctl, or when the device has no SMART data.
#[must_use]
pub fn health(system: &System, disk: &Path) -> Option<Health> {
    let program = system.program("smartctl")?;
    let value = seekwell_observe::smart::read_smart(&program, disk, SMART).ok()??;
    Some(of(&value))
}

fn of(value: &Value) -> Health {
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_i64);
    let nvme = |name: &str| number(&format!("/nvme_smart_health_information_log/{name}"));
    let hot = [nvme("warning_temp_time"), nvme("critical_comp_time")];
    let table = value.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    let is_reallocated = |row: &&Value| row.get("id").and_then(Value::as_i64) == Some(REALLOCATED);
    let row = table.and_then(|rows| rows.iter().find(is_reallocated));
    Health {
        celsius: number("/temperature/current"),
        passed: value.pointer("/smart_status/passed").and_then(Value::as_bool),
        hot_minutes: hot.iter().any(Option::is_some).then(|| hot.iter().flatten().sum()),
        reallocated: row.and_then(|row| row.pointer("/raw/value")).and_then(Value::as_i64),
    }
}

impl Health {
    /// Both readings in one line.
    #[must_use]
    pub fn line(before: Self, after: Self) -> String {
        let mut parts = Vec::new();
        match (before.celsius, after.celsius) {
            (Some(from), Some(to)) => parts.push(format!("{from} to {to} degrees Celsius")),
            _ => parts.push("temperature unknown".to_owned()),
        }
        match after.passed {
            Some(true) => parts.push("SMART passed".to_owned()),
            Some(false) => parts.push("SMART failed".to_owned()),
            None => {}
        }
        if let Some(count) = after.reallocated {
            parts.push(format!("{count} sectors reallocated"));
        }
        parts.join(", ")
    }

    /// Reasons to doubt what was measured between both readings, with a remedy.
    #[must_use]
    pub fn doubts(before: Self, after: Self) -> Vec<String> {
        let rose = |one: Option<i64>, other: Option<i64>| {
            one.zip(other).is_some_and(|(one, other)| other > one)
        };
        let mut doubts = Vec::new();
        if rose(before.hot_minutes, after.hot_minutes) {
            doubts.push(
                "the disk was above its limit of temperature during the probe, so it may have been throttled; cool it \
                 and probe it again"
                    .to_owned(),
            );
        }
        if after.passed == Some(false) {
            doubts.push("the disk reports that it is failing; copy its data first".to_owned());
        }
        if rose(before.reallocated, after.reallocated) {
            doubts.push(
                "the disk replaced bad sectors during the probe, which takes time; check it with smartctl".to_owned(),
            );
        }
        doubts
    }
}
