//! Doubts that are known before anything ran.

use super::Axes;
use super::journals::size_of;
use crate::build::coherence::{data_set, readable};
use seekwell_model::filesystems::{FilesystemDefinition, filesystem};
use seekwell_model::lab::Workload;
use seekwell_model::plan::{BackendFacts, Candidate};
use seekwell_model::stack::{Filesystem, MemoryLimit, Scheduler, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::io::Pattern;
use seekwell_model::workloads::{
    CacheState, DeliverySync, HOUSEKEEPING_STEPS, StepOutline, WorkloadParams,
};
use std::collections::BTreeSet;

/// Share of a device from which data leaves a filesystem too little room to work normally.
const NEARLY_FULL: f64 = 0.8;

/// A memory limit below this slows mkfs and the workload's own code down.
const LEAST_LIMIT: Bytes = Bytes::mib(128);

/// From so many stacks on, or so many bytes of data in one round, a lab takes long.
const MANY_STACKS: usize = 500;
const MUCH_DATA: u64 = 1_000_000_000_000;

/// All doubts about a lab on a backend.
pub(super) fn doubts(
    axes: &Axes<'_>,
    stacks: &[Stack],
    candidates: &[Candidate],
    facts: &BackendFacts,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for workload in &axes.lab.workloads {
        warnings.extend(in_memory(axes, workload, facts));
        warnings.extend(nearly_full(axes, workload, facts));
        warnings.extend(not_judged(axes, workload));
    }
    warnings.extend(cramped(axes, stacks, facts));
    warnings.extend(not_durable(axes));
    warnings.extend(ends_by_time(axes));
    warnings.extend(housekeeping_on_raw(axes, stacks));
    warnings.extend(same_settings(axes));
    warnings.extend(nothing_to_compare(stacks, candidates));
    warnings.extend(large(axes, stacks, candidates));
    warnings
}

/// A lab whose first round alone takes long.
fn large(axes: &Axes<'_>, stacks: &[Stack], candidates: &[Candidate]) -> Option<Warning> {
    let workloads = &axes.lab.workloads;
    let data = |candidate: &Candidate| data_set(&workloads[candidate.workload as usize]).0;
    let written = candidates.iter().map(data).fold(0, u64::saturating_add);
    if stacks.len() < MANY_STACKS && written < MUCH_DATA {
        return None;
    }
    let terabytes = written as f64 / 1e12;
    let amount =
        if terabytes < 0.1 { String::new() } else { format!(" with {terabytes:.1} TB of data") };
    let text = format!(
        "{} stacks: one round is {} trials{amount}, and a verdict takes several rounds",
        stacks.len(),
        candidates.len()
    );
    Some(Warning::new(WarningCode::LargeLab, text))
}

/// Data that fits into memory is measured there, not on the device.
fn in_memory(axes: &Axes<'_>, workload: &Workload, facts: &BackendFacts) -> Option<Warning> {
    let cached: Vec<(String, Bytes)> = workload
        .outlines()
        .into_iter()
        .filter(|step| step.outline.measured && step.outline.cache != CacheState::Direct)
        .filter_map(|step| {
            let side = if step.beside { &workload.beside } else { &workload.parts };
            let part = side.get(step.part)?;
            let data = part.data_set()?;
            let judged = axes.lab.judge.metric.split_once('.');
            let judged = judged.filter(|(name, _)| *name == step.outline.name).map(|(_, it)| it);
            let answered = waits_for_the_device(part)
                || waits_when_judged(part, step.outline.writes, judged)
                || reads_once(part, &step.outline);
            (!answered).then_some((step.outline.name, data))
        })
        .collect();
    let limit = |limit: MemoryLimit| match limit {
        MemoryLimit::Limit(bytes) => Some(bytes),
        MemoryLimit::Quarter => facts.ram.map(|ram| Bytes(ram.0 / 4)),
        MemoryLimit::Unlimited => facts.ram,
    };
    let largest = axes.lab.memories.iter().filter_map(|memory| limit(memory.limit)).max()?;
    let enough = Bytes(largest.0.saturating_mul(2));
    let small: Vec<&(String, Bytes)> = cached.iter().filter(|(_, data)| *data < enough).collect();
    let data = small.iter().map(|(_, data)| *data).max()?;
    let steps: Vec<&str> = small.iter().map(|(name, _)| name.as_str()).collect();
    let text = format!(
        "the data of workload \"{}\" ({}) is less than twice the memory limit of {}: the page \
         cache may answer instead of the device in {}",
        workload.name,
        readable(data),
        readable(largest),
        steps.join(", ")
    );
    let half = Bytes::mib(data.0 >> 21);
    let remedy = match half >= LEAST_LIMIT {
        true => format!("use {} of data, or [memory] choose = [\"{half}\"]", readable(enough)),
        false => format!(
            "use {} of data, or [memory] choose = [\"{LEAST_LIMIT}\"] and {} of data",
            readable(enough),
            readable(Bytes(LEAST_LIMIT.0 * 2))
        ),
    };
    Some(Warning::new(WarningCode::DataSetInMemory, text).with_remedy(remedy))
}

/// A step is answered by the device if what is judged of it ends when its bytes are there, and so is
/// a step that only writes and is not judged: its table has that time.
fn waits_when_judged(part: &WorkloadParams, writes: bool, judged: Option<&str>) -> bool {
    let reads = matches!(part, WorkloadParams::Io(io) if io.read_percent > 0);
    match judged {
        // The device's writes are counted when all bytes are there.
        Some(metric) => {
            ["fsync", "device_written", "written_per_byte"].iter().any(|it| metric.starts_with(it))
                || metric.contains("durable")
        }
        None => writes && !reads,
    }
}

/// Files that are each read once after the cache was dropped come from the device, and so does a file
/// that is read from its start to its end.
fn reads_once(part: &WorkloadParams, step: &StepOutline) -> bool {
    let once = match part {
        WorkloadParams::Mail(_) => true,
        WorkloadParams::Io(io) => {
            io.pattern == Pattern::Sequential
                && io.threads == 1
                && step.bytes.is_some_and(|bytes| io.file_size.is_some_and(|file| bytes <= file))
        }
        _ => false,
    };
    once && step.cache == CacheState::Cold
}

/// A writer that syncs is answered by the device, however little its data is.
fn waits_for_the_device(part: &WorkloadParams) -> bool {
    match part {
        WorkloadParams::Io(io) => io.read_percent == 0 && io.syncs(),
        WorkloadParams::Pgbench(params) => {
            params.synchronous_commit && params.script != "select-only"
        }
        WorkloadParams::DbBench(params) => params.sync && params.benchmark == "overwrite",
        WorkloadParams::Sqlite(params) => params.synchronous != "off",
        WorkloadParams::Maildir(params) => params.sync != DeliverySync::None,
        _ => false,
    }
}

/// Filesystems behave differently when they are nearly full.
fn nearly_full(axes: &Axes<'_>, workload: &Workload, facts: &BackendFacts) -> Option<Warning> {
    let data = data_set(workload);
    let full = |size: Bytes| data.0 <= size.0 && data.0 as f64 > size.0 as f64 * NEARLY_FULL;
    let device =
        axes.lab.devices.iter().find(|device| size_of(&device.backing, facts).is_some_and(full))?;
    let text = format!(
        "the {} of workload \"{}\" nearly fill device \"{}\": filesystems slow down there, and some run out of space",
        readable(data),
        workload.name,
        device.name
    );
    Some(Warning::new(WarningCode::DeviceNearlyFull, text))
}

/// Some filesystems are another thing on a small device, and would be judged by that.
fn cramped(axes: &Axes<'_>, stacks: &[Stack], facts: &BackendFacts) -> Vec<Warning> {
    let warning = |definition: &FilesystemDefinition| {
        let (least, reason) = definition.cramped?;
        let small = |stack: &&Stack| {
            stack.filesystem.kind == definition.name
                && size_of(&stack.device.backing, facts).is_some_and(|size| size < least)
        };
        let stack = stacks.iter().find(small)?;
        let text = format!(
            "device \"{}\" is small for {}, which is faster on {least} or more: {reason}",
            stack.device.name, definition.name
        );
        Some(
            Warning::new(WarningCode::DeviceSmallForFilesystem, text)
                .with_remedy(format!("make the device {least}")),
        )
    };
    axes.lab
        .filesystems
        .iter()
        .map(|one| one.kind.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter_map(filesystem)
        .filter_map(warning)
        .collect()
}

fn judged<'a>(axes: &'a Axes<'_>) -> Option<(&'a str, &'a str)> {
    axes.lab.judge.metric.split_once('.')
}

fn outlines(axes: &Axes<'_>) -> impl Iterator<Item = StepOutline> {
    axes.lab.workloads.iter().flat_map(Workload::outlines).map(|step| step.outline)
}

/// A workload without the judged step runs, and does not count.
fn not_judged(axes: &Axes<'_>, workload: &Workload) -> Option<Warning> {
    let metric = &axes.lab.judge.metric;
    let (step, _) = judged(axes)?;
    if HOUSEKEEPING_STEPS.contains(&step) || workload.reports(metric) {
        return None;
    }
    let text = format!("workload \"{}\" does not report the judged metric {metric}", workload.name);
    Some(Warning::new(WarningCode::WorkloadNotJudged, text))
}

/// Writing that is judged when the last call returns is partly judged in memory.
fn not_durable(axes: &Axes<'_>) -> Option<Warning> {
    let (step, metric) = judged(axes)?;
    let durable = match metric {
        "elapsed" => "elapsed_durable",
        "mb_per_s" => "mb_per_s_durable",
        "files_per_s" => "elapsed_durable",
        _ => return None,
    };
    let mut writing = outlines(axes).filter(|outline| outline.name == step && outline.writes);
    writing.find(|outline| outline.cache != CacheState::Direct)?;
    let text = format!(
        "{step}.{metric} is taken when the last call returns; written data may still be in memory then"
    );
    Some(
        Warning::new(WarningCode::JudgedWithoutDurability, text)
            .with_remedy(format!("judge {step}.{durable}")),
    )
}

/// A step that ends by time takes that time on every stack.
fn ends_by_time(axes: &Axes<'_>) -> Option<Warning> {
    let (step, metric) = judged(axes)?;
    if !metric.starts_with("elapsed") {
        return None;
    }
    let bound = |outline: &StepOutline| {
        outline.name == step && outline.time_ns.is_some() && outline.operations.is_none()
    };
    outlines(axes).find(bound)?;
    let text =
        format!("step {step} ends by time, so {step}.{metric} is nearly the same on every stack");
    Some(
        Warning::new(WarningCode::JudgedByFixedTime, text)
            .with_remedy(format!("judge {step}.iops, or set count instead of time")),
    )
}

/// A raw device has no mkfs and no mount to time.
fn housekeeping_on_raw(axes: &Axes<'_>, stacks: &[Stack]) -> Option<Warning> {
    let (step, metric) = judged(axes)?;
    let raw = stacks.iter().any(|stack| stack.filesystem.kind == "raw");
    if HOUSEKEEPING_STEPS.contains(&step) && raw {
        let text = format!("raw stacks have no {step}.{metric}");
        return Some(
            Warning::new(WarningCode::WorkloadNotJudged, text)
                .with_remedy("their numbers are kept and not ranked"),
        );
    }
    if step == "fsck" && !axes.lab.trial.fsck {
        return Some(
            Warning::new(
                WarningCode::WorkloadNotJudged,
                format!("{step} is judged, and trials run none"),
            )
            .with_remedy("write [trial] and below it fsck = true"),
        );
    }
    None
}

/// Two names for one thing compare it with itself: useful to see chance at work, else a mistake.
fn same_settings(axes: &Axes<'_>) -> Vec<Warning> {
    fn pairs<T: PartialEq>(
        what: &str,
        values: &[T],
        name: fn(&T) -> &str,
        named: fn(&T, &str) -> T,
    ) -> Vec<Warning> {
        let pair = |(index, one): (usize, &T)| {
            let other = values[..index].iter().find(|other| named(other, name(one)) == *one)?;
            let (first, second) = (name(other), name(one));
            let text = format!(
                "{what} \"{first}\" and \"{second}\" differ in name only: their difference is chance"
            );
            Some(Warning::new(WarningCode::SameSettings, text))
        };
        values.iter().enumerate().take(200).filter_map(pair).collect()
    }
    let filesystem =
        |one: &Filesystem, name: &str| Filesystem { name: name.to_owned(), ..one.clone() };
    let scheduler =
        |one: &Scheduler, name: &str| Scheduler { name: name.to_owned(), ..one.clone() };
    let mut warnings = pairs("filesystems", &axes.lab.filesystems, |one| &one.name, filesystem);
    warnings.extend(pairs("schedulers", axes.schedulers, |one| &one.name, scheduler));
    warnings
}

/// One stack makes no comparison.
fn nothing_to_compare(stacks: &[Stack], candidates: &[Candidate]) -> Option<Warning> {
    if stacks.len() != 1 || candidates.is_empty() {
        return None;
    }
    let text =
        format!("there is one stack, \"{}\", and nothing to compare it with", stacks[0].label);
    Some(Warning::new(WarningCode::OneStack, text))
}
