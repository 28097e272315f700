//! Contents that a filesystem must have after a power cut, and those that a survey found instead.
//!
//! A sync that returned makes everything durable that had returned before it began. Of what came later each
//! sector and each name may be old or new. A name counts as durable if its directory was synced, and the
//! names of all directories above it are; where [`Promised::with_names`] says so, also if the file was synced.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Included, Unbounded};
use std::ops::Range;
use std::rc::Rc;

use seekwell_agent::survey::{SECTOR_BYTES, sum};
use seekwell_model::agent::FoundFile;

use super::changes::{Cause, Change, Changes, Node, Timed};

#[cfg(test)]
mod tests;

/// Times of changes whose call had not returned at the cut.
const NEVER: u64 = u64::MAX;

/// A later change of a file: data at an offset, or a size.
#[derive(Clone, Debug)]
enum Edit {
    Data { at: u64, data: Rc<[u8]> },
    Zeros { at: u64, bytes: u64 },
    Size { bytes: u64 },
}

/// A file: the durable bytes, and what came later, with the times.
#[derive(Clone, Debug, Default)]
struct Content {
    durable: Vec<u8>,
    later: Vec<(u64, Edit)>,
    /// Part of it is not known.
    is_unseen: bool,
}

/// A name: the durable node, and later ones.
#[derive(Clone, Debug, Default)]
struct Name {
    durable: Option<Node>,
    later: Vec<Renaming>,
    /// Nodes that this name had, and that were replaced or removed for good.
    gone: Vec<Node>,
    /// Nodes that this name had, and that were renamed for good.
    left: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Renaming {
    end_ns: u64,
    node: Option<Node>,
    cause: Cause,
    /// Size of the file when it got this name.
    bytes: u64,
}

/// Everything that was acknowledged up to an instant, and what may be there too.
#[derive(Clone, Debug)]
pub(crate) struct Promised<'a> {
    changes: &'a Changes,
    /// True if the sync of a file keeps its names, as ext4, xfs, btrfs and f2fs promise.
    with_names: bool,
    /// Changes that are applied.
    done: usize,
    contents: Vec<Rc<Content>>,
    names: BTreeMap<Rc<str>, Name>,
}

/// Losses of a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Files and names that are missing, or are there again after a removal.
    pub(crate) files: u64,
    /// Bytes that are missing, those of missing files among them.
    pub(crate) bytes: u64,
    /// Files that are there, but not with all of their bytes.
    pub(crate) torn: u64,
    /// Files of which a later change is there and an earlier one is not, neither of them synced.
    pub(crate) reordered: u64,
    /// The first loss, in words.
    pub(crate) first: Option<String>,
}

impl Loss {
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.first.get_or_insert_with(text);
    }
}

/// A file compared with one that it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Compared {
    lost_bytes: u64,
    /// Bytes beyond the largest size that it ever had.
    extra_bytes: u64,
    is_reordered: bool,
}

impl<'a> Promised<'a> {
    /// Before the first change.
    pub(crate) fn new(changes: &'a Changes) -> Self {
        let contents = vec![Rc::default(); changes.nodes];
        Self { changes, with_names: false, done: 0, contents, names: BTreeMap::new() }
    }

    /// The same for filesystems whose `fsync` of a file keeps the names that it has by then.
    pub(crate) fn with_names(self, with_names: bool) -> Self {
        Self { with_names, ..self }
    }

    /// Lets time pass to this instant, which is not before the last one.
    pub(crate) fn pass_to(&mut self, at_ns: u64) {
        let changes = self.changes;
        while let Some(timed) = changes.all.get(self.done).filter(|timed| timed.end_ns <= at_ns) {
            self.apply(timed, timed.end_ns);
            self.done += 1;
        }
    }

    /// Compares what a survey found after a cut at this instant.
    pub(crate) fn compare(&self, at_ns: u64, found: &[FoundFile]) -> Loss {
        let mut possible = self.clone();
        let rest = &self.changes.all[self.done..];
        for timed in rest.iter().filter(|timed| timed.start_ns < at_ns) {
            // A sync that has not returned promises nothing, and the data of a write may be there.
            possible.apply_in_flight(timed);
        }
        let top = found.first().map_or("", |top| &top.path);
        let below = format!("{top}/");
        let found: BTreeMap<&str, &FoundFile> =
            found.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut loss = Loss::default();
        for (path, name) in possible.names.range::<str, _>((Included(below.as_str()), Unbounded)) {
            if !path.starts_with(&below) {
                break;
            }
            possible.compare_name(path, name, &found, &below, &mut loss);
        }
        possible.compare_renamed(&found, &below, &mut loss);
        loss
    }

    /// True if any call named a file below this directory.
    pub(crate) fn has_names_below(&self, top: &str) -> bool {
        let is_named = |timed: &Timed| matches!(&timed.change, Change::Name { path, .. } if path.starts_with(top));
        self.changes.all.iter().any(is_named)
    }

    fn apply(&mut self, timed: &Timed, end_ns: u64) {
        match &timed.change {
            Change::Data { node, at, data, is_durable } => {
                let content = Rc::make_mut(&mut self.contents[*node]);
                let edit = Edit::Data { at: *at, data: data.clone() };
                if *is_durable {
                    edit.apply(&mut content.durable);
                }
                // What is older and not durable yet comes before it.
                if !is_durable || !content.later.is_empty() {
                    content.later.push((end_ns, edit));
                }
            }
            Change::Zeros { node, at, bytes } => {
                let content = Rc::make_mut(&mut self.contents[*node]);
                content.later.push((end_ns, Edit::Zeros { at: *at, bytes: *bytes }));
            }
            Change::Size { node, bytes } => {
                let content = Rc::make_mut(&mut self.contents[*node]);
                content.later.push((end_ns, Edit::Size { bytes: *bytes }));
            }
            Change::Unseen { node } => Rc::make_mut(&mut self.contents[*node]).is_unseen = true,
            Change::Name { path, node, cause } => {
                let bytes = node.map_or(0, |node| self.contents[node].bytes());
                let renaming = Renaming { end_ns, node: *node, cause: *cause, bytes };
                self.names.entry(path.clone()).or_default().later.push(renaming);
            }
            Change::Sync { node, with_names } => {
                Rc::make_mut(&mut self.contents[*node]).settle(timed.start_ns);
                if *with_names && self.with_names {
                    let names = self.names.values_mut();
                    names.for_each(|name| name.settle_as(*node, timed.start_ns));
                }
            }
            Change::SyncNames { directory } => {
                let below = format!("{directory}/");
                let all = (Included(below.as_str()), Unbounded);
                for (path, name) in self.names.range_mut::<str, _>(all) {
                    match path.strip_prefix(&below) {
                        None => break,
                        Some(rest) if rest.contains('/') => {}
                        Some(_) => name.settle(timed.start_ns),
                    }
                }
            }
            Change::SyncAll => {
                for content in self.contents.iter_mut().filter(|content| !content.later.is_empty())
                {
                    Rc::make_mut(content).settle(timed.start_ns);
                }
                self.names.values_mut().for_each(|name| name.settle(timed.start_ns));
            }
        }
    }

    fn apply_in_flight(&mut self, timed: &Timed) {
        match &timed.change {
            Change::Sync { .. } | Change::SyncNames { .. } | Change::SyncAll => {}
            Change::Data { node, at, data, .. } => {
                let edit = Edit::Data { at: *at, data: data.clone() };
                Rc::make_mut(&mut self.contents[*node]).later.push((NEVER, edit));
            }
            _ => self.apply(timed, NEVER),
        }
    }

    fn compare_name(
        &self,
        path: &Rc<str>,
        name: &Name,
        found: &BTreeMap<&str, &FoundFile>,
        below: &str,
        loss: &mut Loss,
    ) {
        let is_promised = self.are_durable_above(path, below);
        let may_be_missing = !is_promised
            || name.durable.is_none()
            || name.later.iter().any(|later| later.node.is_none());
        let Some(file) = found.get(&**path) else {
            let Some(node) = name.durable.filter(|_| is_promised) else { return };
            if may_be_missing && !self.is_lost_in_renaming(node, name, found) {
                return;
            }
            loss.files += 1;
            loss.bytes += self.contents[node].promised_bytes();
            return loss.note(|| format!("{path} is missing"));
        };
        let later = name.later.iter().filter_map(|later| Some((later.node?, Some(later))));
        let nodes = name.durable.map(|node| (node, None)).into_iter().chain(later);
        let compared = nodes.map(|(node, later)| {
            let mut compared = self.contents[node].compare(file);
            compared.is_reordered |= later.is_some_and(|later| {
                later.cause == Cause::Renamed && file.bytes.is_some_and(|bytes| bytes < later.bytes)
            });
            compared
        });
        match compared.min() {
            // A file that was removed for good, in a directory that is.
            None if is_promised => {
                loss.files += 1;
                loss.note(|| format!("{path} was removed, and is there"));
            }
            None => {}
            Some(Compared { lost_bytes, extra_bytes, is_reordered }) => {
                loss.reordered += u64::from(is_reordered);
                if extra_bytes > 0 {
                    loss.torn += 1;
                    loss.note(|| format!("{path} is {extra_bytes} bytes longer than it ever was"));
                }
                if lost_bytes > 0 {
                    loss.torn += u64::from(extra_bytes == 0);
                    loss.bytes += lost_bytes;
                    loss.note(|| format!("{path} lost {lost_bytes} synced bytes"));
                }
            }
        }
    }

    /// Files whose old name is gone for good, and whose new one is not promised: one of the two must be there.
    fn compare_renamed(&self, found: &BTreeMap<&str, &FoundFile>, below: &str, loss: &mut Loss) {
        let named: BTreeSet<Node> = self.names.values().filter_map(|name| name.durable).collect();
        let promised = self
            .names
            .iter()
            .filter(|(path, _)| path.starts_with(below) && self.are_durable_above(path, below));
        let left =
            promised.flat_map(|(path, name)| name.left.iter().map(move |node| (*node, path)));
        let left: BTreeMap<Node, &Rc<str>> =
            left.filter(|(node, _)| !named.contains(node)).collect();
        for (node, path) in left.into_iter().filter(|(node, _)| self.is_nowhere(*node, found)) {
            loss.files += 1;
            loss.bytes += self.contents[node].promised_bytes();
            loss.note(|| format!("{path} was renamed, and has neither name"));
        }
    }

    /// True if the file was only renamed since, and none of its names is there.
    fn is_lost_in_renaming(
        &self,
        node: Node,
        name: &Name,
        found: &BTreeMap<&str, &FoundFile>,
    ) -> bool {
        name.later.iter().all(|later| later.cause == Cause::Renamed) && self.is_nowhere(node, found)
    }

    /// True if none of the names of a file is there, and none was removed or given to another file.
    fn is_nowhere(&self, node: Node, found: &BTreeMap<&str, &FoundFile>) -> bool {
        if self.names.values().any(|other| other.gone.contains(&node)) {
            return false;
        }
        let mut others = self.names.iter().filter(|(_, other)| other.may_be(node));
        let is_replaced = |other: &Name| {
            let given = other.later.iter().position(|later| later.node == Some(node));
            // Without one it had the name before: all of them came since.
            let since = &other.later[given.map_or(0, |given| given + 1)..];
            let is_other = |later: &Renaming| later.node.is_some() || later.cause == Cause::Removed;
            since.iter().any(is_other)
        };
        others.all(|(path, other)| !found.contains_key(&**path) && !is_replaced(other))
    }

    /// True if the directories above a path have durable names.
    fn are_durable_above(&self, path: &str, below: &str) -> bool {
        let slashes = path.match_indices('/').map(|(at, _)| at).filter(|at| *at >= below.len());
        slashes.map(|at| &path[..at]).all(|directory| {
            let name = self.names.get(directory);
            name.is_none_or(|name| name.durable.is_some() && name.later.is_empty())
        })
    }
}

impl Name {
    /// Makes changes durable that had returned by then.
    fn settle(&mut self, at_ns: u64) {
        self.settle_first(self.later.iter().take_while(|later| later.end_ns <= at_ns).count());
    }

    fn settle_first(&mut self, count: usize) {
        for later in self.later.drain(..count) {
            let is_renamed = later.node.is_none() && later.cause == Cause::Renamed;
            let past = if is_renamed { &mut self.left } else { &mut self.gone };
            past.extend(self.durable);
            self.durable = later.node;
        }
    }

    /// Makes changes durable up to the last that gave the name to this node by then.
    fn settle_as(&mut self, node: Node, at_ns: u64) {
        let is_given = |later: &Renaming| later.node == Some(node) && later.end_ns <= at_ns;
        // Calls may take no virtual time: the order counts, not the time.
        if let Some(last) = self.later.iter().rposition(is_given) {
            self.settle_first(last + 1);
        }
    }

    fn may_be(&self, node: Node) -> bool {
        self.durable == Some(node) || self.later.iter().any(|later| later.node == Some(node))
    }
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Size { bytes: size } => bytes.resize(*size as usize, 0),
            Self::Zeros { at, bytes: length } => {
                let (at, end) = (*at as usize, (*at + *length) as usize);
                let end = end.min(bytes.len());
                bytes[at.min(end)..end].fill(0);
            }
            Self::Data { at, data } => {
                let (at, end) = (*at as usize, *at as usize + data.len());
                bytes.resize(bytes.len().max(end), 0);
                bytes[at..end].copy_from_slice(data);
            }
        }
    }

    /// Bytes that it changes, of a file of at most `size` bytes.
    fn range(&self, size: u64) -> Range<u64> {
        match self {
            Self::Data { at, data } => *at..*at + data.len() as u64,
            Self::Zeros { at, bytes } => *at..*at + *bytes,
            Self::Size { bytes } => *bytes..size.max(*bytes),
        }
    }

    fn bytes_after(&self, bytes: u64) -> u64 {
        match self {
            Self::Data { at, data } => bytes.max(*at + data.len() as u64),
            Self::Zeros { .. } => bytes,
            Self::Size { bytes } => *bytes,
        }
    }
}

impl Content {
    fn settle(&mut self, at_ns: u64) {
        let settled = self.later.iter().take_while(|(end_ns, _)| *end_ns <= at_ns).count();
        for (_, edit) in self.later.drain(..settled) {
            edit.apply(&mut self.durable);
        }
    }

    /// Size after all changes.
    fn bytes(&self) -> u64 {
        let later = self.later.iter().map(|(_, edit)| edit);
        later.fold(self.durable.len() as u64, |bytes, edit| edit.bytes_after(bytes))
    }

    /// Largest size that any of the changes leaves.
    fn most_bytes(&self) -> u64 {
        let durable = self.durable.len() as u64;
        self.later.iter().fold(durable, |most, (_, edit)| most.max(edit.bytes_after(0)))
    }

    /// Bytes that must be there: those that no later change may have cut off.
    fn promised_bytes(&self) -> u64 {
        let cut = self.later.iter().filter_map(|(_, edit)| match edit {
            Edit::Size { bytes } => Some(*bytes),
            Edit::Data { .. } | Edit::Zeros { .. } => None,
        });
        cut.fold(self.durable.len() as u64, u64::min)
    }

    fn compare(&self, file: &FoundFile) -> Compared {
        let mut compared = Compared { lost_bytes: 0, extra_bytes: 0, is_reordered: false };
        let Some(size) = file.bytes.filter(|_| !self.is_unseen) else { return compared };
        compared.extra_bytes = size.saturating_sub(self.most_bytes());
        let promised = self.promised_bytes();
        let sectors = promised.max(size).div_ceil(SECTOR_BYTES as u64);
        for sector in 0..sectors {
            let start = sector * SECTOR_BYTES as u64;
            let end = start + SECTOR_BYTES as u64;
            let found = file.sectors.get(sector as usize).filter(|_| start < size);
            let is_known = found.is_some_and(|found| self.may_be(start..end.min(size), *found));
            // The end of the promised bytes may be in a sector that is shorter now.
            let is_whole = is_known && size >= promised.min(end);
            if !is_whole && start < promised {
                compared.lost_bytes += promised.min(end) - start;
            } else if !is_known {
                compared.is_reordered = true;
            }
        }
        compared
    }

    /// True if a sector of these bytes, of which the file has no more, may have this sum.
    fn may_be(&self, place: Range<u64>, found: u32) -> bool {
        let length = (place.end - place.start) as usize;
        let mut bytes = [0; SECTOR_BYTES];
        let known = self.durable.get(place.start as usize..).unwrap_or_default();
        let known = &known[..known.len().min(length)];
        bytes[..known.len()].copy_from_slice(known);
        if sum(&bytes) == found {
            return true;
        }
        self.later.iter().any(|(_, edit)| {
            let range = edit.range(place.end);
            let (from, to) = (range.start.max(place.start), range.end.min(place.end));
            if from >= to {
                return false;
            }
            let within = (from - place.start) as usize..(to - place.start) as usize;
            match edit {
                Edit::Size { .. } | Edit::Zeros { .. } => bytes[within].fill(0),
                Edit::Data { at, data } => {
                    let data = &data[(from - at) as usize..(to - at) as usize];
                    bytes[within].copy_from_slice(data);
                }
            }
            sum(&bytes) == found
        })
    }
}
