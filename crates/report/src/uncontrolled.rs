//! Factors that were not controlled, named with every result. Settings that differed unasked are warnings of
//! the run.

use crate::view::RunView;
use seekwell_model::record::Status;
use seekwell_model::stack::Backing;
use std::collections::BTreeSet;

/// One sentence each.
pub(crate) fn uncontrolled(view: &RunView) -> Vec<String> {
    // A recording controls nothing, and Seekwell ran no workload.
    if view.is_recording() {
        return vec![];
    }
    let mut said = backings(view);
    let records = || view.records.iter().map(|(_, record)| record);
    if records().any(|record| record.in_force.swap.is_some_and(|swap| swap.0 > 0)) {
        said.push("swap was on: memory pressure may have written to another device".to_owned());
    }
    let ran =
        |record: &&seekwell_model::record::Record| !matches!(record.status, Status::Failed { .. });
    if records().filter(ran).any(|record| record.in_force.cpus.is_empty()) {
        said.push("the workload was not pinned to CPUs in every trial".to_owned());
    }
    let extra = view.environment.get("uncontrolled").and_then(serde_json::Value::as_array);
    said.extend(extra.into_iter().flatten().filter_map(|text| text.as_str()).map(str::to_owned));
    said
}

/// Some names, and how many more there are.
fn few(labels: &BTreeSet<&str>) -> String {
    let mut names: Vec<String> = labels.iter().take(3).map(|label| (*label).to_owned()).collect();
    if labels.len() > names.len() {
        names.push(format!("{} more", labels.len() - names.len()));
    }
    names.join(", ")
}

fn backings(view: &RunView) -> Vec<String> {
    let mut images = BTreeSet::new();
    let mut ram = BTreeSet::new();
    for stack in &view.plan.stacks {
        let journal = stack.journal.external.as_ref().map(|backing| (&stack.journal.name, backing));
        let device = stack.uses_device().then_some((&stack.device.base, &stack.device.backing));
        for (name, backing) in device.into_iter().chain(journal) {
            match backing {
                Backing::Loop { .. } => images.insert(name.as_str()),
                Backing::Ram { .. } => ram.insert(name.as_str()),
                Backing::Disk { .. } | Backing::Partition { .. } | Backing::Model { .. } => false,
            };
        }
    }
    let mut said = Vec::new();
    if !images.is_empty() {
        said.push(format!(
            "{} is an image on a disk of this machine: the disk's cache, age and other users \
             affect the numbers",
            few(&images)
        ));
    }
    if !ram.is_empty() {
        said.push(format!("{} is memory, not a disk: its numbers are an upper bound", few(&ram)));
    }
    said
}

#[cfg(test)]
mod tests;
