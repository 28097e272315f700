//! Journal sizes, equal across the stacks compared.

use super::{Axes, Combination};
use seekwell_model::filesystems::{JournalDefinition, filesystem};
use seekwell_model::plan::PlaceFacts;
use seekwell_model::stack::{Backing, Journal};
use seekwell_model::units::Bytes;

/// The journal definition of a filesystem of the lab.
pub(super) fn definition(axes: &Axes<'_>, index: usize) -> Option<JournalDefinition> {
    filesystem(&axes.lab.filesystems[index].kind)?.journal
}

/// Size of a device as the lab or the place states it.
pub(super) fn size_of(backing: &Backing, facts: &PlaceFacts) -> Option<Bytes> {
    match backing {
        Backing::Disk { path } | Backing::Partition { path } => {
            let named = |(known, _): &&(String, Bytes)| std::path::Path::new(known) == path;
            facts.disk_sizes.iter().find(named).map(|(_, size)| *size)
        }
        other => other.size(),
    }
}

/// Size of every journal of this filesystem that the lab gives no size: what the lab says once for
/// another journal, else the definition's default as far as it fits into every device of the lab.
pub(super) fn common_size(
    axes: &Axes<'_>,
    journal: &JournalDefinition,
    facts: &PlaceFacts,
) -> Bytes {
    let mut stated: Vec<Bytes> = axes.lab.journals.iter().filter_map(|other| other.size).collect();
    stated.sort_unstable();
    stated.dedup();
    if let [only] = stated[..] {
        return only;
    }
    let outside = axes
        .lab
        .journals
        .iter()
        .filter_map(|other| other.external.as_ref())
        .filter_map(|backing| size_of(backing, facts));
    // Inside, a journal beyond a quarter of the device would leave too little for the data.
    let inside = axes
        .lab
        .devices
        .iter()
        .filter_map(|device| size_of(&device.backing, facts))
        .map(|size| Bytes(size.0 / 4));
    let whole_mib = |size: Bytes| Bytes(size.0 >> 20 << 20);
    let usable = outside.chain(inside).map(whole_mib).filter(|size| *size >= journal.minimum);
    usable.fold(journal.default, Bytes::min)
}

/// The journal of a stack: what its filesystem does not have is taken off.
pub(super) fn resolved(axes: &Axes<'_>, at: &Combination, common: Option<Bytes>) -> Journal {
    let stated = &axes.lab.journals[at.journal];
    match definition(axes, at.filesystem) {
        None => Journal { name: stated.name.clone(), ..Journal::internal() },
        Some(journal) => {
            let fixed = stated.external.is_none() && journal.internal_mkfs.is_empty();
            let size = if fixed { Some(journal.default) } else { stated.size.or(common) };
            Journal { size, ..stated.clone() }
        }
    }
}
