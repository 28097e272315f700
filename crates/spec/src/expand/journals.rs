//! Journal sizes, equal across the stacks compared.

use super::{Axes, Combination};
use seekwell_model::filesystems::{JournalDefinition, filesystem};
use seekwell_model::plan::BackendFacts;
use seekwell_model::stack::{Backing, Journal};
use seekwell_model::units::Bytes;

/// By default a journal inside takes at most one part in so many of the device, so that enough is
/// left for the data.
const LEAST_DIVISOR: u64 = 4;

/// The journal definition of a filesystem of the lab.
pub(super) fn definition(axes: &Axes<'_>, index: usize) -> Option<JournalDefinition> {
    filesystem(&axes.lab.filesystems[index].kind)?.journal
}

/// Size of a device as the lab or the backend states it.
pub(super) fn size_of(backing: &Backing, facts: &BackendFacts) -> Option<Bytes> {
    match backing {
        Backing::Disk { path } | Backing::Partition { path } => {
            let named = |(known, _): &&(String, Bytes)| std::path::Path::new(known) == path;
            facts.disk_sizes.iter().find(named).map(|(_, size)| *size)
        }
        Backing::Model { model, size: None, .. } => {
            facts.disk_sizes.iter().find(|(known, _)| known == model).map(|(_, size)| *size)
        }
        other => other.size(),
    }
}

/// Size of every journal of this filesystem that the lab gives no size: the same in all of them, so
/// that they can be compared.
pub(super) fn common_size(
    axes: &Axes<'_>,
    journal: &JournalDefinition,
    facts: &BackendFacts,
) -> Bytes {
    let lab = axes.lab;
    if let Some(size) = size_of_the_others(&lab.journals).filter(|size| *size >= journal.minimum) {
        return size;
    }
    let usable = |size: Bytes| {
        let whole_mib = Bytes(size.0 >> 20 << 20);
        Some(whole_mib).filter(|size| *size >= journal.minimum)
    };
    let externals = lab.journals.iter().filter_map(|other| other.external.as_ref());
    let outside: Vec<Bytes> =
        externals.filter_map(|backing| size_of(backing, facts)).filter_map(usable).collect();
    let inside = lab
        .devices
        .iter()
        .filter_map(|device| size_of(&device.backing, facts))
        .filter_map(|size| usable(Bytes(size.0 / journal.internal_divisor.max(LEAST_DIVISOR))));
    // A journal that fills its device is as large as that.
    let default = outside.iter().min().filter(|_| journal.fills_device);
    let default = default.copied().unwrap_or(journal.default);
    outside.iter().copied().chain(inside).fold(default, Bytes::min)
}

/// Returns the size that a lab gives to journals inside or outside, for those to which it gives none:
/// such a lab compares the placement, so both get the same size.
fn size_of_the_others(journals: &[Journal]) -> Option<Bytes> {
    let is_outside = |journal: &Journal| journal.external.is_some();
    let (stated, open): (Vec<&Journal>, Vec<&Journal>) =
        journals.iter().partition(|journal| journal.size.is_some());
    let outside = is_outside(open.first()?);
    if open.iter().any(|journal| is_outside(journal) != outside)
        || stated.iter().any(|journal| is_outside(journal) == outside)
    {
        return None;
    }
    let size = stated.first()?.size;
    size.filter(|_| stated.iter().all(|journal| journal.size == size))
}

/// The journal of a stack: what its filesystem does not have is taken off.
pub(super) fn resolved(
    axes: &Axes<'_>,
    at: &Combination,
    common: Option<Bytes>,
    facts: &BackendFacts,
) -> Journal {
    let stated = &axes.lab.journals[at.journal];
    match definition(axes, at.filesystem) {
        None => Journal { name: stated.name.clone(), ..Journal::internal() },
        Some(journal) => {
            let device = stated.external.as_ref().and_then(|backing| size_of(backing, facts));
            let filled = device.filter(|_| journal.fills_device);
            Journal { size: filled.or(stated.size).or(common), ..stated.clone() }
        }
    }
}
