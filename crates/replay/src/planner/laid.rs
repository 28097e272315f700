//! Order in which the initial tree is made. A filesystem puts files that are made one after another next
//! to each other: made in the order in which the program reads them, they would be read faster.

use crate::plan::{TreeEntry, TreeKind};
use seekwell_trace::InitialEntry;
use std::collections::HashMap;

/// Place of a file in the order of making. Inodes of files in different directories do not tell it, so
/// births come first; on filesystems without births all of them are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Made {
    birth_ms: Option<u64>,
    device: u32,
    inode: u64,
}

impl Made {
    /// The place of a walked entry; `None` when the walk did not tell its inode.
    pub(super) fn of(entry: &InitialEntry) -> Option<Self> {
        let (device, inode) = entry.device.zip(entry.inode)?;
        Some(Self { birth_ms: entry.birth_ms, device, inode })
    }
}

/// A file and its place.
pub(super) type Found = (Option<Made>, TreeEntry);

/// The entries by birth and inode, those without a place behind, further names of files last; each
/// directory before what is in it.
pub(super) fn in_order(found: Vec<Found>) -> Vec<TreeEntry> {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| {
        let (made, entry) = &found[*at];
        (entry.kind == TreeKind::Name, made.is_none(), *made)
    });
    let mut directories: HashMap<&str, usize> = HashMap::new();
    for (at, (_, entry)) in found.iter().enumerate() {
        if entry.kind == TreeKind::Directory {
            directories.insert(&entry.path, at);
        }
    }
    let mut sorted = Vec::with_capacity(found.len());
    let mut is_made = vec![false; found.len()];
    let mut above = Vec::new();
    for at in order {
        let mut next = Some(at);
        while let Some(at) = next.filter(|at| !is_made[*at]) {
            is_made[at] = true;
            above.push(at);
            let parent = found[at].1.path.rsplit_once('/').map(|(parent, _)| parent);
            next = parent.and_then(|parent| directories.get(parent).copied());
        }
        sorted.extend(above.drain(..).rev());
    }
    drop(directories);
    let mut found: Vec<Option<Found>> = found.into_iter().map(Some).collect();
    sorted.into_iter().filter_map(|at| found[at].take()).map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests;
