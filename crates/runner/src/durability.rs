//! Durability class of a stack: the data that survive a power cut, derived from the stack's definition
//! and the settings in force.
//!
//! A stack that may lose acknowledged data can be faster; it is not comparable with one that may not.
//! The class says which stacks are comparable. It follows from rules, and from the power cuts of a lab that
//! asks for them: a rule cannot make up for data that a cut lost.

use crate::records::{Apart, Outcomes};
use seekwell_model::filesystems::{AfterPowerCut, filesystem};
use seekwell_model::lab::Eligible;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::power_cut::CutCounts;
use seekwell_model::record::InForce;
use seekwell_model::stack::{Backing, DataMode, Stack, WriteCache};
use seekwell_model::verdict::{DurabilityClass, StackDurability};

/// Ranked stacks that may not be picked, because they may lose data that others of the lab keep. Of a
/// run without trials yet by rules alone.
pub(crate) fn ineligible(plan: &Plan, outcomes: &Outcomes) -> Vec<usize> {
    if plan.lab.judge.durability == Eligible::Any {
        return vec![];
    }
    let classes: Vec<DurabilityClass> =
        of_plan(plan, outcomes).into_iter().map(|found| kept(found.class)).collect();
    let strongest = classes.iter().min().copied();
    (0..classes.len()).filter(|stack| Some(classes[*stack]) != strongest).collect()
}

/// A mount that writes every change at once keeps no more of what was acknowledged by a sync.
fn kept(class: DurabilityClass) -> DurabilityClass {
    class.max(DurabilityClass::Synced)
}

/// The class of every ranked stack.
pub(crate) fn of_plan(plan: &Plan, outcomes: &Outcomes) -> Vec<StackDurability> {
    let one = |(index, (stack, cuts)): (usize, (&Stack, Option<CutCounts>))| {
        let is_its = |trial: &PlannedTrial| {
            plan.candidates[trial.candidate as usize].stack as usize == index
        };
        let own = || outcomes.values().filter(move |(trial, _)| is_its(trial)).map(|(_, one)| one);
        let in_force = own().map(|one| &*one.in_force).find(|in_force| in_force.mount.is_some());
        let apart = own().filter_map(|one| one.judged.as_ref()?.apart.as_deref().copied());
        with_cuts(of_stack(stack, in_force, &apart.collect::<Vec<_>>()), cuts)
    };
    let stacks = plan.stacks[..plan.ranked()].iter().zip(cuts(plan, outcomes));
    stacks.enumerate().map(one).collect()
}

/// The power cuts of each stack, of all its trials.
fn cuts(plan: &Plan, outcomes: &Outcomes) -> Vec<Option<CutCounts>> {
    let mut of_stacks: Vec<Option<CutCounts>> = vec![None; plan.stacks.len()];
    for (trial, outcome) in outcomes.values() {
        let Some(counts) = outcome.cuts.as_deref() else { continue };
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        of_stacks[stack].get_or_insert_default().add_all(*counts);
    }
    of_stacks
}

/// Lowers the class to what the power cuts found.
fn with_cuts(mut found: StackDurability, cuts: Option<CutCounts>) -> StackDurability {
    found.cuts = cuts;
    let Some(counts) = cuts else { return found };
    found.known = Some(found.class);
    let all = counts.cuts;
    let mut outcomes = [
        (counts.lost_synced, DurabilityClass::Unsafe, "lost data that a sync had returned for"),
        (counts.unmountable, DurabilityClass::Unsafe, "left a filesystem that cannot be used"),
        (counts.damaged, DurabilityClass::Unordered, "left damage that the checker finds"),
    ];
    // The worst last, which is the reason that an answer gives.
    outcomes.sort_by_key(|(count, class, _)| (*class, *count));
    for (count, class, what) in outcomes {
        if count > 0 {
            found.class = found.class.max(class);
            found.reasons.push(format!("{count} of {all} power cuts {what}"));
        }
    }
    found
}

/// The class of one stack; `in_force` is what a trial of it read back, `apart` the requests of its trials where its
/// journal has a device of its own.
fn of_stack(stack: &Stack, in_force: Option<&InForce>, apart: &[Apart]) -> StackDurability {
    let mut found: Vec<(DurabilityClass, String)> = Vec::new();
    let options = options(stack, in_force);
    let has = |wanted: &str| options.iter().any(|option| option == wanted);
    in_memory(stack, &mut found);
    flushes(stack, in_force, &options, &mut found);
    if stack.journal.data != Some(DataMode::Journal) && !has("data=journal") {
        found.extend(unflushed(in_force, apart));
    }
    let kind = stack.filesystem.kind.as_str();
    let definition = filesystem(kind);
    if definition.is_some_and(|one| one.after_power_cut == AfterPowerCut::NeedsCheck) {
        let text = format!("{kind} has no journal: after a power cut it needs a check");
        found.push((DurabilityClass::Unordered, text));
    }
    let damaged = definition.map_or(&[][..], |one| one.damaged_with).iter();
    let damaged = damaged.filter(|(feature, _)| has_feature(&stack.filesystem.mkfs, feature));
    found.extend(damaged.map(|(_, text)| (DurabilityClass::Unordered, (*text).to_owned())));
    if stack.journal.data == Some(DataMode::Writeback) || has("data=writeback") {
        let text = "data=writeback: a file may hold old blocks after a power cut";
        found.push((DurabilityClass::Unordered, text.to_owned()));
    }
    let class = match found.iter().map(|(class, _)| *class).max() {
        Some(class) => class,
        None if has("sync") => {
            found.push((DurabilityClass::EveryWrite, "mounted sync".to_owned()));
            DurabilityClass::EveryWrite
        }
        None => DurabilityClass::Synced,
    };
    StackDurability {
        stack: stack.label.clone(),
        class,
        reasons: found.into_iter().map(|(_, reason)| reason).collect(),
        cuts: None,
        known: None,
    }
}

/// True if `-O` turns this feature on; the last word about it counts.
fn has_feature(mkfs: &[String], feature: &str) -> bool {
    let values = mkfs.iter().zip(mkfs.iter().skip(1).map(Some).chain([None]));
    let values = values.filter_map(|(word, next)| match word.strip_prefix("-O")? {
        "" => next.map(String::as_str),
        value => Some(value),
    });
    let words = values.flat_map(|value| value.split(','));
    words.filter(|word| word.trim_start_matches('^') == feature).last() == Some(feature)
}

/// Mount options, those asked for and those in force.
fn options(stack: &Stack, in_force: Option<&InForce>) -> Vec<String> {
    let shown = in_force.and_then(|found| found.mount.as_deref()).unwrap_or_default();
    let asked = stack.filesystem.mount.iter().flat_map(|option| option.split(','));
    asked.chain(shown.split(',')).map(|option| option.trim().to_owned()).collect()
}

fn in_memory(stack: &Stack, found: &mut Vec<(DurabilityClass, String)>) {
    if matches!(stack.device.backing, Backing::Ram { .. }) {
        found.push((DurabilityClass::Volatile, "the device is memory".to_owned()));
    }
    if stack.layers.is_in_memory() {
        found.push((DurabilityClass::Volatile, "the lowest layer is memory".to_owned()));
    }
    if filesystem(&stack.filesystem.kind).is_some_and(|one| one.is_in_memory) {
        let text = "the filesystem is in memory";
        found.push((DurabilityClass::Volatile, text.to_owned()));
    }
    if stack.filesystem.overlay.is_some_and(|overlay| overlay.upper.is_some()) {
        let text = "written data stay in memory until the overlay is written back";
        found.push((DurabilityClass::Volatile, text.to_owned()));
    }
    if matches!(stack.journal.external, Some(Backing::Ram { .. })) {
        let text = "the journal is in memory: without it the filesystem cannot be recovered";
        found.push((DurabilityClass::Unsafe, text.to_owned()));
    }
}

/// Flushes of a journal's device in a step from which on those of the data's device say something.
const TELLING: u64 = 20;
/// Flushes of a journal's device per second that syncs make. The kernel commits by itself every five seconds, and may
/// leave data in their cache then.
const PER_SECOND: f64 = 1.0;

/// The flushes that a filesystem with its journal on another device left out. A sync that flushes the journal alone
/// leaves the data in the cache of their own device: ext4 of Linux 6.12 does so unless it is mounted with
/// `dioread_lock`, and lost synced data in power cuts (`benches/runs/virtual/cuts/external-journal.seekwell`).
fn unflushed(in_force: Option<&InForce>, apart: &[Apart]) -> Option<(DurabilityClass, String)> {
    if in_force?.device.queue.write_cache.as_deref() == Some("write through") {
        return None;
    }
    let is_left_out = |one: &&Apart| {
        let syncs = one.journal_flushes;
        let are_waited_for = syncs >= TELLING && syncs as f64 >= PER_SECOND * one.seconds;
        are_waited_for && one.writes * 2 >= syncs && one.flushes * TELLING < syncs
    };
    let Apart { flushes, journal_flushes, .. } = apart.iter().find(is_left_out)?;
    let text = format!(
        "{journal_flushes} flushes of the journal's device and {flushes} of the data's: data that a sync returned for \
         may be in the cache of their device"
    );
    Some((DurabilityClass::Unsafe, text))
}

fn flushes(
    stack: &Stack,
    in_force: Option<&InForce>,
    options: &[String],
    found: &mut Vec<(DurabilityClass, String)>,
) {
    if stack.filesystem.nfs.as_ref().is_some_and(|nfs| nfs.is_async) {
        let text = "exported async: the NFS server confirms data that its disk may not have";
        found.push((DurabilityClass::Unsafe, text.to_owned()));
    }
    if let Some(export) = &stack.filesystem.export {
        let from = &export.from;
        let text = format!("{from} may be exported async, or from memory: its server does not say");
        found.push((DurabilityClass::Unsafe, text));
        return;
    }
    let told = stack.device.settings.write_cache;
    let cache = in_force.and_then(|found| found.device.queue.write_cache.as_deref());
    // The kernel's word on the cache is the device's own where the lab did not change it.
    let needs_flushes = told.is_some() || cache != Some("write through");
    if !needs_flushes {
        return;
    }
    if told == Some(WriteCache::WriteThrough) {
        let text = "write_cache = \"write-through\": the kernel sends no flushes, whatever the device's own cache does";
        found.push((DurabilityClass::Unsafe, text.to_owned()));
    }
    let no_flush =
        filesystem(&stack.filesystem.kind).map_or(&[][..], |definition| definition.no_flush_mount);
    if let Some(option) = options.iter().find(|option| no_flush.contains(&option.as_str())) {
        let text = format!("mounted {option}: no flushes, so what fsync returned for may be lost");
        found.push((DurabilityClass::Unsafe, text));
    }
}

#[cfg(test)]
mod tests;
