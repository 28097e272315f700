//! The tree that a trace implies: names as they come and go, and the files that must have been there
//! before its first call.

use super::laid;
use super::walked::{Row, RowId, Walked};
use crate::links;
use crate::order::{Resource, Stamp, Use};
use crate::plan::{TreeEntry, TreeKind};
use std::collections::HashMap;
use std::rc::Rc;

/// Number of a file of the tree.
pub(super) type NodeId = usize;

/// Most symbolic links on the way to a file, as in the kernel.
const MOST_LINKS: u32 = 40;

/// Type of a file, as far as calls have shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file or a directory.
    #[default]
    Unknown,
    File,
    Directory,
    /// Symbolic link with the names of its target; `None` when the trace does not tell.
    Link(Option<Rc<[u32]>>),
}

/// State of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Named {
    /// No call has told.
    #[default]
    Unknown,
    /// Nothing has this name.
    Nothing,
    /// A file has it.
    File(NodeId),
}

#[derive(Debug, Default)]
struct Name {
    state: Named,
    order: Resource,
    /// The directory that lookups below it would find, if there is one.
    supposed: Option<NodeId>,
}

/// A file of the tree.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: Kind,
    names: HashMap<u32, Name>,
    /// Directory and name before the first call; `None` for files that a call made.
    origin: Option<(NodeId, u32)>,
    pub(super) mode: Option<u32>,
    /// Size now.
    pub(super) bytes: u64,
    first_bytes: u64,
    /// True when the trace tells the first size.
    pub(super) bytes_known: bool,
    /// Its data.
    pub(super) data: Resource,
    /// Names in it.
    contents: Resource,
    /// Its locks.
    pub(super) locks: Resource,
    /// True when a name in it must exist that no call names.
    holds_unknown: bool,
    /// True while no call has shown that it exists.
    is_supposed: bool,
    /// Its row in the walked tree.
    row: Option<RowId>,
}

impl Node {
    fn new(kind: Kind, origin: Option<(NodeId, u32)>, mode: Option<u32>, bytes: u64) -> Self {
        Self { kind, origin, mode, bytes, first_bytes: bytes, ..Self::default() }
    }

    /// Permissions for an access list of the file.
    pub(super) fn list_mode(&self) -> u64 {
        let usual = if self.kind == Kind::Directory { 0o755 } else { 0o644 };
        self.mode.map_or(usual, |mode| (mode & 0o777).into())
    }

    /// Learns that an initial file of unknown size reaches this far.
    pub(super) fn reaches(&mut self, bytes: u64) {
        if self.origin.is_some() && !self.bytes_known && self.bytes < bytes {
            self.bytes = bytes;
            self.first_bytes = bytes;
        }
    }
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: NodeId,
    pub(super) name: u32,
}

/// The tree, while the trace is read.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    walked: Walked,
    /// Files of the walked tree that calls named.
    by_row: HashMap<RowId, NodeId>,
    /// The same by the first row of each file.
    by_first: HashMap<RowId, NodeId>,
    /// Further names of files: directory, name and file.
    more_names: Vec<(NodeId, u32, NodeId)>,
    /// Paths that could not be followed.
    pub(super) contradictions: u64,
    /// Files that calls removed or cut before their size was known.
    pub(super) unknown_files: u64,
}

impl Tree {
    pub(super) fn new(walked: Walked) -> Self {
        let mut root = Node::new(Kind::Directory, None, Some(0o755), 0);
        // The root is there before and has no name.
        root.origin = Some((0, u32::MAX));
        root.row = Some(0);
        Self {
            nodes: vec![root],
            walked,
            by_row: HashMap::from([(0, 0)]),
            by_first: HashMap::from([(0, 0)]),
            ..Self::default()
        }
    }

    pub(super) fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    /// Names of the extended attributes that a file had before the first call.
    pub(super) fn attributes(&self, id: NodeId) -> Vec<String> {
        let row = self.nodes[id].row.map(|row| self.walked.row(row));
        row.into_iter().flat_map(|row| &row.attributes).map(|one| one.name.clone()).collect()
    }

    /// Names of a path.
    pub(super) fn parts(&mut self, path: &str) -> Rc<[u32]> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(|part| self.walked.number(part)).collect()
    }

    fn name(&mut self, place: Place) -> &mut Name {
        let is_new = !self.nodes[place.directory].names.contains_key(&place.name);
        let state = if is_new { self.first_state(place) } else { Named::Unknown };
        let names = &mut self.nodes[place.directory].names;
        names.entry(place.name).or_insert_with(|| Name { state, ..Name::default() })
    }

    /// State of a name before the first call.
    fn first_state(&mut self, place: Place) -> Named {
        let directory = &self.nodes[place.directory];
        if directory.origin.is_none() {
            return Named::Nothing;
        }
        let row = directory.row.and_then(|row| self.walked.find(row, place.name));
        row.map_or(Named::Unknown, |row| Named::File(self.walked_node(row, place)))
    }

    /// The file of a row of the walked tree.
    fn walked_node(&mut self, row: RowId, place: Place) -> NodeId {
        let first = self.walked.row(row).first;
        if let Some(id) = self.by_first.get(&first).copied() {
            self.by_row.insert(row, id);
            self.more_names.push((place.directory, place.name, id));
            return id;
        }
        let facts = self.walked.row(row).facts;
        let target = self.walked.row(row).target.clone();
        let kind = match facts.map_or(Kind::Directory, |facts| facts.kind()) {
            Kind::Link(None) => Kind::Link(target.map(|target| self.parts(&target))),
            kind => kind,
        };
        let (mode, bytes) =
            (facts.map(|facts| facts.mode & 0o1777), facts.map_or(0, |facts| facts.bytes));
        let origin = Some((place.directory, place.name));
        let id = self.nodes.len();
        let mut node = Node::new(kind, origin, mode, bytes);
        node.bytes_known = facts.is_some();
        node.row = Some(row);
        self.nodes.push(node);
        self.by_row.insert(row, id);
        self.by_first.insert(first, id);
        id
    }

    /// True when the walk saw that nothing had the name, which no call has told.
    pub(super) fn was_absent(&mut self, place: Place) -> bool {
        let row = self.nodes[place.directory].row;
        row.is_some_and(|row| self.walked.row(row).is_whole)
    }

    /// A call takes data from a file: the rebuilt one has as much only if its size is known.
    pub(super) fn loses(&mut self, id: NodeId) {
        let node = &mut self.nodes[id];
        let is_file = matches!(node.kind, Kind::File | Kind::Unknown);
        if node.origin.is_some() && is_file && !node.bytes_known {
            node.bytes_known = true;
            self.unknown_files += 1;
        }
    }

    pub(super) fn state(&mut self, place: Place) -> Named {
        self.name(place).state
    }

    pub(super) fn set(&mut self, place: Place, state: Named) {
        self.name(place).state = state;
    }

    /// The place that a path names; lookups of the directories on the way are uses by `me`. `sure` is
    /// true when the call's result shows that they exist. `None` when the way is not known.
    pub(super) fn walk(
        &mut self,
        parts: &Rc<[u32]>,
        sure: bool,
        me: Stamp,
        needs: &mut Vec<Stamp>,
    ) -> Option<Place> {
        let mut left: Vec<u32> = parts.iter().rev().copied().collect();
        let (mut at, mut links) = (0, 0);
        loop {
            let place = Place { directory: at, name: left.pop()? };
            if left.is_empty() {
                return Some(place);
            }
            self.name(place).order.add(me, Use::Shared, needs);
            let id = match self.state(place) {
                Named::File(id) => id,
                Named::Unknown if sure => self.found(place, Kind::Directory, None, 0),
                Named::Unknown => self.supposed(place),
                Named::Nothing => {
                    self.contradictions += u64::from(sure);
                    return None;
                }
            };
            match &self.nodes[id].kind {
                Kind::Directory => at = id,
                Kind::Unknown => {
                    if sure {
                        self.nodes[id].kind = Kind::Directory;
                    }
                    at = id;
                }
                Kind::Link(Some(target)) if links < MOST_LINKS => {
                    left.extend(target.iter().rev());
                    (at, links) = (0, links + 1);
                }
                Kind::Link(_) | Kind::File => {
                    self.contradictions += u64::from(sure);
                    return None;
                }
            }
        }
    }

    /// A lookup of the name by `me`.
    pub(super) fn look(&mut self, place: Place, me: Stamp, needs: &mut Vec<Stamp>) {
        self.name(place).order.add(me, Use::Shared, needs);
    }

    /// A change of the name by `me`: it also changes the directory's contents.
    pub(super) fn change(&mut self, place: Place, me: Stamp, needs: &mut Vec<Stamp>) {
        self.name(place).order.add(me, Use::Alone, needs);
        self.nodes[place.directory].contents.add(me, Use::Shared, needs);
    }

    /// A listing of a directory, or its removal, by `me`.
    pub(super) fn contents(&mut self, id: NodeId, me: Stamp, kind: Use, needs: &mut Vec<Stamp>) {
        self.nodes[id].contents.add(me, kind, needs);
    }

    /// A file that was there before the first call.
    pub(super) fn found(
        &mut self,
        place: Place,
        kind: Kind,
        mode: Option<u32>,
        bytes: u64,
    ) -> NodeId {
        let supposed = self.name(place).supposed.take();
        let id = supposed.unwrap_or(self.nodes.len());
        // This is the name that kept the directory from being empty.
        self.nodes[place.directory].holds_unknown = false;
        if supposed.is_none() {
            self.nodes.push(Node::new(Kind::Unknown, None, None, 0));
        }
        let node = &mut self.nodes[id];
        node.origin = Some((place.directory, place.name));
        node.is_supposed = false;
        (node.kind, node.mode, node.bytes, node.first_bytes) = (kind, mode, bytes, bytes);
        self.set(place, Named::File(id));
        id
    }

    /// The directory that a name would have if it exists: lookups below it keep their order.
    fn supposed(&mut self, place: Place) -> NodeId {
        if let Some(id) = self.name(place).supposed {
            return id;
        }
        let id = self.nodes.len();
        let origin = Some((place.directory, place.name));
        let mut node = Node::new(Kind::Unknown, origin, None, 0);
        node.is_supposed = true;
        self.nodes.push(node);
        self.name(place).supposed = Some(id);
        id
    }

    /// A file that a call made.
    pub(super) fn made(&mut self, place: Place, kind: Kind, mode: Option<u32>) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Node::new(kind, None, mode, 0));
        self.set(place, Named::File(id));
        id
    }

    /// Learns that a directory has something in it.
    pub(super) fn not_empty(&mut self, id: NodeId) {
        let node = &mut self.nodes[id];
        let known = node.names.values().any(|name| matches!(name.state, Named::File(_)));
        node.holds_unknown |= !known && node.origin.is_some();
    }

    /// Learns that a directory is empty.
    pub(super) fn empty(&mut self, id: NodeId) {
        self.nodes[id].holds_unknown = false;
    }

    /// Files that were there before the first call, parents first. Of the walked tree these are the
    /// files that calls named, and the names next to them, which have no data. In the order in which
    /// they were made, as far as the walk tells it.
    pub(super) fn initial(&self) -> Vec<TreeEntry> {
        let mut paths: HashMap<NodeId, String> = HashMap::from([(0, String::new())]);
        let mut entries = Vec::new();
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            let Some(origin) = node.origin.filter(|_| !node.is_supposed) else { continue };
            let Some(path) = self.path(&paths, origin) else { continue };
            paths.insert(id, path.clone());
            let row = node.row.map(|row| self.walked.row(row));
            let entry = described(path, &node.kind, node.mode, node.first_bytes, row);
            let inside = format!("{}/not recorded", entry.path);
            entries.push((row.and_then(|row| row.facts?.made), entry));
            if node.holds_unknown {
                entries.push((None, TreeEntry::new(inside, TreeKind::File, None, 0)));
            }
        }
        for (directory, name, id) in &self.more_names {
            let Some(path) = self.path(&paths, (*directory, *name)) else { continue };
            let (kind, same_as) = (TreeKind::Name, paths.get(id).cloned());
            entries.push((None, TreeEntry { path, kind, same_as, ..TreeEntry::default() }));
        }
        self.neighbours(&paths, &mut entries);
        laid::in_order(entries)
    }

    fn path(
        &self,
        paths: &HashMap<NodeId, String>,
        (directory, name): (NodeId, u32),
    ) -> Option<String> {
        Some(format!("{}/{}", paths.get(&directory)?, self.walked.name(name)?))
    }

    /// Files of the walked tree that no call named: of a small tree all, with their data; of a large one
    /// the names in directories that calls used.
    fn neighbours(&self, paths: &HashMap<NodeId, String>, entries: &mut Vec<laid::Found>) {
        let is_small = self.walked.is_small();
        // Paths of the rows that are made here.
        let mut made: HashMap<RowId, String> = HashMap::new();
        for (id, row) in self.walked.rows() {
            let Some(facts) = row.facts.filter(|_| !self.by_row.contains_key(&id)) else {
                continue;
            };
            let above = match self.by_row.get(&row.directory) {
                Some(directory) => paths.get(directory),
                None => made.get(&row.directory),
            };
            let name = self.walked.name(row.name);
            let Some(path) = above.zip(name).map(|(above, name)| format!("{above}/{name}")) else {
                continue;
            };
            let same_as = match self.by_first.get(&row.first) {
                Some(id) => paths.get(id).cloned(),
                None => made.get(&row.first).cloned(),
            };
            if same_as.is_some() {
                let kind = TreeKind::Name;
                entries.push((None, TreeEntry { path, kind, same_as, ..TreeEntry::default() }));
                continue;
            }
            let (kind, mode) = (facts.kind(), Some(facts.mode & 0o1777));
            let mut entry = described(path.clone(), &kind, mode, facts.bytes, Some(row));
            if is_small {
                made.insert(id, path);
            } else {
                entry.data_bytes = 0;
                entry.data.clear();
            }
            entries.push((facts.made, entry));
        }
    }
}

/// A file that was there before, with what the walk saw of it: owner, content, extended attributes and holes, and the
/// text of a link whose target it saw.
fn described(
    path: String,
    kind: &Kind,
    mode: Option<u32>,
    bytes: u64,
    row: Option<&Row>,
) -> TreeEntry {
    let (kind, bytes) = match kind {
        Kind::Directory => (TreeKind::Directory, 0),
        Kind::Link(_) => (TreeKind::Link, bytes),
        Kind::File | Kind::Unknown => (TreeKind::File, bytes),
    };
    let mut entry = TreeEntry::new(path, kind, mode, bytes);
    let Some(row) = row else { return entry };
    entry.attributes.clone_from(&row.attributes);
    if let Some(facts) = row.facts {
        (entry.owner, entry.content) = (facts.owner, facts.content);
        if kind == TreeKind::File {
            (entry.data_bytes, entry.is_inline) = (facts.data_bytes, facts.is_inline);
        }
    }
    if kind == TreeKind::File {
        entry.data.clone_from(&row.data);
    }
    if let Some(target) = row.target.as_deref().filter(|_| kind == TreeKind::Link) {
        entry.target = Some(links::text(&entry.path, target, entry.bytes));
    }
    entry
}

#[cfg(test)]
mod tests;
