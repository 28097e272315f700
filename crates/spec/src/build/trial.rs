//! `[trial]`: how trials are run.

use super::narrow;
use crate::source::Problem;
use crate::tables;
use crate::walk::{Checked, with_defaults};
use seekwell_model::field::Value;
use seekwell_model::lab::TrialSettings;
use seekwell_model::units::Nanos;

const SAMPLES: (Nanos, Nanos) = (Nanos(10_000_000), Nanos::seconds(60));
const TIMEOUTS: (Nanos, Nanos) = (Nanos::seconds(1), Nanos::seconds(30 * 86_400));

/// The settings, with defaults where the table or a field is left out.
pub(super) fn trial(table: Option<&Checked>) -> Result<TrialSettings, Problem> {
    let defaults = with_defaults(&tables::TRIAL);
    let table = table.unwrap_or(&defaults);
    let cpus: Vec<u32> = table
        .list("cpus")
        .iter()
        .filter_map(|(value, _)| match value {
            Value::Integer(number) => narrow(Some(*number)),
            _ => None,
        })
        .collect();
    Ok(TrialSettings {
        cpus: table.has("cpus").then_some(cpus),
        block_events: table.values.bool("block_events"),
        single_ios: false,
        sample_interval: within(table, "sample_interval", SAMPLES, ("10ms", "60s"))?,
        timeout: within(table, "timeout", TIMEOUTS, ("1s", "30d"))?,
        fsck: table.values.bool("fsck"),
        freeze: table.values.bool("freeze"),
        make_once: table.values.bool("make_once"),
        power_cut: narrow(table.values.integer("power_cut")).unwrap_or(0),
    })
}

fn within(
    table: &Checked,
    name: &str,
    (min, max): (Nanos, Nanos),
    (least, most): (&str, &str),
) -> Result<Nanos, Problem> {
    let value = table.values.duration(name).unwrap_or(min);
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    let message = format!("`{name}` takes a duration from {least} to {most}, not {value}");
    let near = if value < min { least } else { most };
    Err(Problem::new(table.place(name), message, format!("write {name} = \"{near}\"")))
}
