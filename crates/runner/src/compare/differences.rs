//! Differences between two runs that are not part of the comparison.

use super::Side;
use crate::judge::differences::{Setting, text};
use seekwell_model::comparison::Difference;
use seekwell_model::record::{InForce, Status};
use seekwell_model::stack::Stack;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const IN_FORCE: &[Setting] = &[
    ("device model", |found| found.device.model.clone()),
    ("serial number", |found| found.device.serial.clone()),
    ("firmware", |found| found.device.firmware.clone()),
    ("device size", |found| Some(found.device.size.to_string())),
    ("scheduler in force", |found| found.device.queue.scheduler.clone()),
    ("nr_requests", |found| text(found.device.queue.nr_requests)),
    ("read_ahead_kb", |found| text(found.device.queue.read_ahead_kb)),
    ("max_sectors_kb", |found| text(found.device.queue.max_sectors_kb)),
    ("rotational", |found| text(found.device.queue.rotational)),
    ("write_cache", |found| found.device.queue.write_cache.clone()),
    ("journal device model", |found| found.journal.as_ref()?.model.clone()),
    ("journal device firmware", |found| found.journal.as_ref()?.firmware.clone()),
    ("journal size", |found| text(found.journal_bytes)),
    ("filesystem block size", |found| text(found.block_bytes)),
    ("mount options", |found| found.mount.clone()),
    ("memory limit", |found| text(found.memory_limit)),
    ("memory cgroup", |found| found.memory_cgroup.clone()),
    ("swap", |found| text(found.swap)),
    ("CPUs", |found| Some(format!("{:?}", found.cpus))),
    ("node", |found| Some(found.node.as_ref()?.name.clone())),
    ("kernel of the node", |found| found.node.as_ref()?.kernel.clone()),
    ("CPU of the node", |found| found.node.as_ref()?.cpu.clone()),
    ("memory of the node", |found| text(found.node.as_ref()?.ram)),
];

/// Differences between the sides, and between the runs of one side.
pub(super) fn of_sides(
    first: &[Side<'_>],
    second: &[Side<'_>],
    shared: &[Vec<usize>],
) -> Vec<Difference> {
    let both: Vec<&Side<'_>> = first.iter().chain(second).collect();
    let pairs = |a: usize, b: usize| -> Vec<(usize, usize)> {
        shared.iter().map(|of| (of[a], of[b])).collect()
    };
    let mut all = between(&first[0], &second[0], &pairs(0, first.len()));
    let inside = (1..first.len()).map(|run| (0, run));
    let inside = inside.chain((1..second.len()).map(|run| (first.len(), first.len() + run)));
    for (a, b) in inside {
        for found in between(both[a], both[b], &pairs(a, b)) {
            if found.what != "seed" {
                let what = format!("{} ({}, {})", found.what, both[a].name, both[b].name);
                all.push(Difference { what, ..found });
            }
        }
    }
    all
}

fn between(first: &Side<'_>, second: &Side<'_>, pairs: &[(usize, usize)]) -> Vec<Difference> {
    let mut all = of_the_runs(first, second);
    all.extend(of_the_stacks(first, second, pairs));
    for (what, read) in IN_FORCE {
        let mut seen: BTreeMap<(Option<String>, Option<String>), Vec<String>> = BTreeMap::new();
        for (a, b) in pairs {
            let (one, two) = (values(first, *a, *read), values(second, *b, *read));
            if one != two && !(one.is_none() && two.is_none()) {
                let label = first.plan.stacks[*a].label.clone();
                seen.entry((one, two)).or_default().push(label);
            }
        }
        all.extend(seen.into_iter().map(|((first, second), stacks)| Difference {
            what: (*what).to_owned(),
            first,
            second,
            stacks,
        }));
    }
    all
}

/// Returns the value of a setting in the counted trials of a stack, several values joined.
fn values(side: &Side<'_>, stack: usize, read: fn(&InForce) -> Option<String>) -> Option<String> {
    let of_stack = |candidate: u32| {
        let candidate = side.plan.candidates.get(candidate as usize);
        candidate.is_some_and(|candidate| candidate.stack as usize == stack)
    };
    let found: BTreeSet<String> = side
        .records
        .values()
        .filter(|(trial, record)| record.status == Status::Ok && of_stack(trial.candidate))
        .filter_map(|(_, record)| read(&record.in_force))
        .collect();
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(" and "))
}

/// A fact of a side with its name.
type Said = (&'static str, fn(&Side<'_>) -> Option<String>);

const OF_THE_RUNS: &[Said] = &[
    ("kernel", |side| of_the_machine(side, "kernel")),
    ("CPU", |side| of_the_machine(side, "cpu")),
    ("memory of the machine", |side| of_the_machine(side, "ram")),
    ("version of Seekwell", |side| Some(side.tool.to_owned())),
    ("seed", |side| text(Some(side.plan.lab.seed))),
    ("tie width", |side| text(Some(side.plan.lab.judge.tie))),
    ("confidence", |side| text(Some(side.plan.lab.judge.confidence))),
    ("[trial] settings", |side| Some(format!("{:?}", side.plan.lab.trial))),
];

fn of_the_machine(side: &Side<'_>, key: &str) -> Option<String> {
    match side.environment.get(key)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn of_the_runs(one: &Side<'_>, two: &Side<'_>) -> Vec<Difference> {
    let difference = |(what, read): &Said| {
        let (first, second, what) = (read(one), read(two), (*what).to_owned());
        (first != second).then(|| Difference { what, first, second, stacks: vec![] })
    };
    OF_THE_RUNS.iter().filter_map(difference).collect()
}

/// An axis of a stack in words.
type Axis = (&'static str, fn(&Stack) -> String);

/// Stacks with the same label that the labs define differently.
fn of_the_stacks(first: &Side<'_>, second: &Side<'_>, pairs: &[(usize, usize)]) -> Vec<Difference> {
    let axes: [Axis; 6] = [
        ("device in the lab", |stack| words(serde_json::to_value(&stack.device))),
        ("layers in the lab", |stack| words(serde_json::to_value(&stack.layers))),
        ("journal in the lab", |stack| words(serde_json::to_value(&stack.journal))),
        ("filesystem in the lab", |stack| words(serde_json::to_value(&stack.filesystem))),
        ("scheduler in the lab", |stack| words(serde_json::to_value(&stack.scheduler))),
        ("memory limit in the lab", |stack| words(serde_json::to_value(&stack.memory))),
    ];
    let mut all = Vec::new();
    for (a, b) in pairs {
        let (one, two) = (&first.plan.stacks[*a], &second.plan.stacks[*b]);
        for (what, read) in &axes {
            let (left, right) = (read(one), read(two));
            if left == right {
                continue;
            }
            let new = Difference {
                what: (*what).to_owned(),
                first: Some(left),
                second: Some(right),
                stacks: vec![],
            };
            let known = all.iter().position(|known: &Difference| {
                known.what == new.what && known.first == new.first && known.second == new.second
            });
            let place = known.unwrap_or_else(|| {
                all.push(new);
                all.len() - 1
            });
            all[place].stacks.push(one.label.clone());
        }
    }
    all
}

/// A setting as the run file has it, without its quotation marks.
fn words(setting: serde_json::Result<serde_json::Value>) -> String {
    setting.map_or_else(|error| error.to_string(), |value| value.to_string().replace('"', ""))
}
