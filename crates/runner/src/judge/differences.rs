//! Settings that the lab did not vary and that differed all the same: a part of what is compared.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{InForce, Record, Status};
use seekwell_model::warning::{Warning, WarningCode};
use std::collections::{BTreeMap, BTreeSet};

/// A setting as read back, for one trial; `None` when it was not read.
pub(crate) type Setting = (&'static str, fn(&InForce) -> Option<String>);

/// Settings that are made equal across the stacks of one device, or ought to be.
const SETTINGS: &[Setting] = &[
    ("nr_requests", |found| text(found.device.queue.nr_requests)),
    ("read_ahead_kb", |found| text(found.device.queue.read_ahead_kb)),
    ("max_sectors_kb", |found| text(found.device.queue.max_sectors_kb)),
    ("rotational", |found| text(found.device.queue.rotational)),
    ("logical_block_size", |found| text(found.device.queue.logical_block_bytes)),
    ("physical_block_size", |found| text(found.device.queue.physical_block_bytes)),
    ("write_cache", |found| found.device.queue.write_cache.clone()),
    ("filesystem block size", |found| text(found.block_bytes)),
    ("journal size", |found| text(found.journal_bytes)),
    ("swap", |found| text(found.swap)),
];

/// The text of a setting, where it has a value.
pub(crate) fn text<T: ToString>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// One doubt per setting that had several values among trials that count, although the lab gives
/// all of them the same.
pub(super) fn in_force(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (name, read) in SETTINGS {
        if varied_by_the_lab(plan, name) {
            continue;
        }
        // Stacks are compared inside rounds, so what differs between nodes alone is no part of a comparison.
        let mut nodes: BTreeMap<Option<&str>, BTreeMap<String, BTreeSet<&str>>> = BTreeMap::new();
        for (trial, record) in records.iter().filter(|(_, record)| record.status == Status::Ok) {
            if let Some(value) = read(&record.in_force) {
                let node = record.in_force.node.as_ref().map(|node| node.name.as_str());
                let stacks = nodes.entry(node).or_default().entry(value).or_default();
                stacks.insert(&plan.pair(trial).0.label);
            }
        }
        if *name == "nr_requests" && is_of_the_scheduler(plan, records) {
            continue;
        }
        warnings.extend(
            nodes.values().find(|stacks| stacks.len() > 1).map(|stacks| differs(name, stacks)),
        );
    }
    warnings
}

/// Returns true if the depth of the queue follows from the scheduler alone: without one it is that of the device.
/// It is then a part of that choice.
fn is_of_the_scheduler(plan: &Plan, records: &[(PlannedTrial, Record)]) -> bool {
    let mut depths: BTreeMap<(&str, Option<&str>), BTreeSet<u32>> = BTreeMap::new();
    for (trial, record) in records.iter().filter(|(_, record)| record.status == Status::Ok) {
        let node = record.in_force.node.as_ref().map(|node| node.name.as_str());
        let scheduler = plan.pair(trial).0.scheduler.name.as_str();
        depths
            .entry((scheduler, node))
            .or_default()
            .extend(record.in_force.device.queue.nr_requests);
    }
    depths.values().all(|depths| depths.len() < 2)
}

fn differs(name: &str, stacks: &BTreeMap<String, BTreeSet<&str>>) -> Warning {
    let one = |(value, labels): (&String, &BTreeSet<&str>)| {
        let first = labels.iter().next().copied().unwrap_or_default();
        let more = if labels.len() > 1 {
            format!(" and {} more", labels.len() - 1)
        } else {
            String::new()
        };
        format!("{value} on {first}{more}")
    };
    let values: Vec<String> = stacks.iter().map(one).collect();
    Warning::new(
        WarningCode::InForceDiffers,
        format!("{name} was not the same in all stacks: {}", values.join("; ")),
    )
    .with_remedy(format!(
        "treat it as part of the difference between the stacks, or set {name} in the lab"
    ))
}

/// Returns true if the lab itself asks for different values: by several devices, by a device's or a
/// scheduler's setting, by a journal's size.
fn varied_by_the_lab(plan: &Plan, name: &str) -> bool {
    let several_devices =
        plan.lab.devices.iter().map(|device| &device.base).collect::<BTreeSet<_>>().len() > 1;
    let settings = |stack: &seekwell_model::stack::Stack| match name {
        "nr_requests" => text(stack.scheduler.nr_requests.or(stack.device.settings.nr_requests)),
        "read_ahead_kb" => {
            text(stack.scheduler.read_ahead_kb.or(stack.device.settings.read_ahead_kb))
        }
        "max_sectors_kb" => text(stack.device.settings.max_sectors_kb),
        "rotational" => text(stack.device.settings.rotational),
        "write_cache" => stack.device.settings.write_cache.map(|cache| format!("{cache:?}")),
        "journal size" | "filesystem block size" => {
            // Different filesystems have journals and blocks of their own; along the journal axis
            // of one filesystem they are equal.
            Some(format!("{} {:?}", stack.filesystem.name, stack.journal.size))
        }
        _ => None,
    };
    let wanted: BTreeSet<_> = plan.stacks.iter().map(settings).collect();
    wanted.len() > 1 || (several_devices && name != "swap")
}

#[cfg(test)]
mod tests;
