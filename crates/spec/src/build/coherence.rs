//! Checks of the lab as a whole: sizes that do not fit each other, names used twice.

use super::{Positions, device_matches};
use crate::source::{Problem, Span};
use crate::walk::Checked;
use seekwell_model::filesystems::{filesystem, names_of};
use seekwell_model::lab::{Lab, Match, Workload};
use seekwell_model::stack::{Backing, Device, Filesystem};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::WorkloadParams;
use std::path::Path;

/// Checks across the axes. Combinations that the lab excludes need not fit.
pub(super) fn check(lab: &Lab, root: &Checked, positions: &Positions) -> Result<(), Problem> {
    check_paths(lab, root, positions)?;
    check_data_modes(lab, root)?;
    check_sizes(lab, positions)?;
    if lab.stacks_only && lab.stacks.is_empty() {
        let place = root.table("lab").and_then(|table| table.place("stacks_only"));
        let message = "stacks_only without a [[stack]] leaves nothing to run";
        return Err(Problem::new(place, message, "write a [[stack]], or leave stacks_only out"));
    }
    Ok(())
}

/// A device cannot hold data and its own journal, nor be two devices.
fn check_paths(lab: &Lab, root: &Checked, positions: &Positions) -> Result<(), Problem> {
    let path = |backing: &Backing| match backing {
        Backing::Disk { path } | Backing::Partition { path } => Some(path.clone()),
        _ => None,
    };
    let mut seen: Vec<(&str, std::path::PathBuf)> = Vec::new();
    for (device, span) in lab.devices.iter().zip(&positions.devices) {
        let Some(path) = path(&device.backing) else { continue };
        match seen.iter().find(|(base, other)| *other == path && *base != device.base) {
            Some((base, _)) => {
                let remedy = "values of settings go into lists below [device.settings]";
                return Err(twice(*span, &path, base, remedy));
            }
            None => seen.push((&device.base, path)),
        }
    }
    for (journal, table) in lab.journals.iter().zip(root.tables("journal")) {
        let Some(path) = journal.external.as_ref().and_then(path) else { continue };
        if let Some((base, _)) = seen.iter().find(|(_, other)| *other == path) {
            return Err(twice(table.span, &path, base, "name another device for the journal"));
        }
    }
    Ok(())
}

fn twice(span: Option<Span>, path: &Path, base: &str, remedy: &str) -> Problem {
    let message = format!("{} is already the device \"{base}\"", path.display());
    Problem::new(span, message, remedy)
}

/// `data=` must mean something to at least one filesystem.
fn check_data_modes(lab: &Lab, root: &Checked) -> Result<(), Problem> {
    let has_modes = |filesystem_of: &Filesystem| {
        let journal = filesystem(&filesystem_of.kind).and_then(|definition| definition.journal);
        journal.is_some_and(|journal| journal.data_modes)
    };
    for (journal, table) in lab.journals.iter().zip(root.tables("journal")) {
        if journal.data.is_some() && !lab.filesystems.iter().any(has_modes) {
            let message = "none of the lab's filesystems has `data=` modes";
            let with = names_of(|one| one.journal.is_some_and(|journal| journal.data_modes));
            let remedy = format!("leave `data` out, or add {with}");
            return Err(Problem::new(table.place("data"), message, remedy));
        }
    }
    for (value, table) in lab.filesystems.iter().zip(root.tables("filesystem")) {
        let option = table
            .texts("mount")
            .find(|(text, _)| text.split(',').any(|option| option.starts_with("data=")));
        let journal = lab.journals.iter().find(|journal| journal.data.is_some());
        if let (Some((_, span)), Some(journal)) = (option, journal) {
            let message = format!(
                "filesystem \"{}\" and journal \"{}\" both set the `data=` mode",
                value.name, journal.name
            );
            return Err(Problem::new(span, message, "keep `data` in [[journal]]"));
        }
    }
    Ok(())
}

/// Returns true if a workload can run on a raw device: each of its parts and the background workload.
pub(crate) fn runs_on_raw(workload: &Workload) -> bool {
    workload.parts.iter().chain(&workload.beside).all(|params| match params {
        WorkloadParams::Command(command) => {
            let prepare = command.prepare.as_deref().unwrap_or_default();
            command.raw && !prepare.contains("{dir}")
        }
        other => other.on_raw(),
    })
}

/// Bytes that a filesystem gets of a device at most, with whichever layers.
fn largest(lab: &Lab, device: &Device) -> Option<Bytes> {
    let own = device.backing.size()?;
    let usable = lab.layers.iter().map(|layers| layers.usable(own, &Backing::size));
    // Layers of unknown size refuse nothing.
    usable.collect::<Option<Vec<Bytes>>>()?.into_iter().max()
}

/// Images must be large enough for the filesystems and for the data.
fn check_sizes(lab: &Lab, positions: &Positions) -> Result<(), Problem> {
    for (device, place) in lab.devices.iter().zip(&positions.device_sizes) {
        let Some(size) = largest(lab, device) else { continue };
        let place = *place;
        for kind in &lab.filesystems {
            let Some(definition) = filesystem(&kind.kind) else { continue };
            if size < definition.minimum && wanted(lab, device, kind, None) {
                let message = format!(
                    "a device of {size} is too small for {}, which needs {}",
                    kind.name, definition.minimum
                );
                let remedy =
                    format!("make it \"{}\" or more, or exclude the pair", definition.minimum);
                return Err(Problem::new(place, message, remedy));
            }
            for workload in &lab.workloads {
                let needed = data_set(workload);
                let runs = !definition.is_raw() || runs_on_raw(workload);
                if needed > size && runs && wanted(lab, device, kind, Some(workload)) {
                    let message = format!(
                        "a device of {size} cannot hold the {} of workload \"{}\"",
                        readable(needed),
                        workload.name
                    );
                    let enough =
                        Bytes::mib(needed.0.saturating_mul(5).div_ceil(4 * Bytes::mib(1).0));
                    let remedy =
                        format!("make it \"{enough}\" or more, or make the workload smaller");
                    return Err(Problem::new(place, message, remedy));
                }
            }
        }
    }
    Ok(())
}

/// Returns the most bytes that the parts of a workload and its background workloads keep.
pub(crate) fn data_set(workload: &Workload) -> Bytes {
    let all = workload.parts.iter().chain(&workload.beside);
    Bytes(all.filter_map(WorkloadParams::data_set).fold(0, |sum, next| sum.saturating_add(next.0)))
}

/// As a person reads it: exact where that is short, else rounded.
pub(crate) fn readable(bytes: Bytes) -> String {
    let size = bytes.0 as f64;
    let (mib, gib) = (1_048_576.0, 1_073_741_824.0);
    match bytes.0 {
        0..10_000 => format!("{bytes}"),
        _ if bytes.0.is_multiple_of(Bytes::mib(1).0) => format!("{bytes}"),
        _ if size < mib => format!("{:.0} KiB", size / 1024.0),
        _ if size < 100.0 * mib => format!("{:.1} MiB", size / mib),
        _ if size < gib => format!("{:.0} MiB", size / mib),
        _ => format!("{:.1} GiB", size / gib),
    }
}

/// Returns true if the lab runs the pair of device and filesystem (with the workload): some values of
/// the other axes must not be excluded, and if only named stacks are run, one must name the pair.
fn wanted(lab: &Lab, device: &Device, kind: &Filesystem, workload: Option<&Workload>) -> bool {
    let pair = |rule: &Match| {
        rule.device.as_ref().is_none_or(|name| device_matches(device, name))
            && rule.filesystem.as_ref().is_none_or(|name| *name == kind.name)
    };
    let same = |rule: &Match, otherwise: bool| match (&rule.workload, workload) {
        (None, _) => true,
        (Some(name), Some(workload)) => *name == workload.name,
        (Some(_), None) => otherwise,
    };
    if lab.stacks_only {
        return lab.stacks.iter().any(|rule| pair(rule) && same(rule, true));
    }
    let whole = |rule: &Match| {
        let others = [&rule.layer, &rule.journal, &rule.scheduler, &rule.memory];
        others.iter().all(|axis| axis.is_none())
    };
    !lab.exclusions.iter().any(|rule| whole(rule) && pair(rule) && same(rule, false))
}
