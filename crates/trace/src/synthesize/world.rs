//! Files of a load that is made: which of them exist, their sizes, and the descriptors of processes.
//! Results follow from it, so that a replay gets the same ones.

use super::model::{Access, Object, Tree};
use super::spectrum::below;
use crate::event::{FileEntry, FileId, InitialEntry};
use rand_core::Rng;
use std::collections::{BTreeMap, VecDeque};

/// Folder of everything that is made.
pub(super) const ROOT: &str = "/load";
/// Most files and directories that are there before.
const MOST: u64 = 1 << 20;
/// Namings and accesses that are remembered.
const REMEMBERED: usize = 1 << 18;
/// Accesses of one file that are remembered.
const BLOCKS: usize = 1 << 14;
/// Objects that a search looks at.
const SEARCH: usize = 256;
const FILE: u32 = 0o100_644;
const DIRECTORY: u32 = 0o040_755;
const PIPE: u32 = 0o010_600;

/// A path with what is there now.
pub(super) struct Node {
    pub(super) path: String,
    pub(super) object: Object,
    pub(super) exists: bool,
    /// True for what is there before the load.
    initial: bool,
    /// Size before the load.
    initial_bytes: u64,
    pub(super) bytes: u64,
    /// True once its size can no longer be that of a larger or smaller file from before.
    settled: bool,
    /// True once a call changed its size.
    resized: bool,
    /// End of the furthest read.
    read_end: u64,
    /// End of the last access.
    pub(super) end: u64,
    pub(super) accesses: VecDeque<u64>,
    /// Names in the directory.
    children: u64,
    parent: usize,
    /// True when the trace has its entry.
    is_written: bool,
    /// True for a missing name whose directory is missing too.
    pub(super) is_deep: bool,
}

/// An open file.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) node: usize,
    pub(super) position: u64,
    pub(super) appends: bool,
    /// True when it can be read, and when it can be written.
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Calls on it before its end; `None` when the description does not say.
    pub(super) left: Option<u64>,
}

impl Open {
    /// True when a call on it is still to come.
    pub(super) fn is_in_use(&self) -> bool {
        self.left != Some(0)
    }

    pub(super) const fn access(&self) -> Access {
        match (self.reads, self.writes) {
            (true, true) => Access::Both,
            (_, true) => Access::Write,
            (_, false) => Access::Read,
        }
    }
}

/// Descriptors of a process.
#[derive(Default)]
pub(super) struct Descriptors {
    pub(super) open: BTreeMap<i32, Open>,
    /// Those of `open` in the order of their last uses.
    pub(super) recent: Vec<i32>,
}

pub(super) struct World {
    pub(super) nodes: Vec<Node>,
    directories: Vec<usize>,
    /// Files from before that no call has named, by directory.
    unused: Vec<(usize, Vec<usize>)>,
    namings: [VecDeque<usize>; 5],
    same_directory: (u64, u64),
    /// Directory of the last file that was named first.
    here: usize,
}

impl World {
    pub(super) fn new(tree: &Tree, random: &mut impl Rng) -> Self {
        let root = Node::new(ROOT.to_owned(), Object::Directory, 0);
        let mut world = Self {
            nodes: vec![Node { initial: true, exists: true, ..root }],
            directories: vec![0],
            unused: Vec::new(),
            namings: Default::default(),
            same_directory: (tree.same_directory, tree.other_directory),
            here: 0,
        };
        let mut by_depth: Vec<Vec<usize>> = vec![vec![0]];
        for _ in 1..tree.directories.min(MOST) {
            let depth = tree.depths.draw(random).unwrap_or(1).max(1);
            let depth = usize::try_from(depth).unwrap_or(1).min(by_depth.len());
            let above = &by_depth[depth - 1];
            let parent = above[index(random, above.len())];
            let node = world.make(parent, Object::Directory);
            world.nodes[node].initial = true;
            if by_depth.len() == depth {
                by_depth.push(Vec::new());
            }
            by_depth[depth].push(node);
        }
        world.unused = world.directories.iter().map(|directory| (*directory, Vec::new())).collect();
        for _ in 0..tree.files.min(MOST) {
            let at = index(random, world.unused.len());
            let node = world.make(world.unused[at].0, Object::File);
            let bytes = tree.sizes.draw(random).unwrap_or(0);
            let of = &mut world.nodes[node];
            (of.initial, of.initial_bytes, of.bytes, of.settled) = (true, bytes, bytes, false);
            world.unused[at].1.push(node);
        }
        world.unused.retain(|(_, files)| !files.is_empty());
        world
    }

    /// Makes a file or directory with a new name.
    pub(super) fn make(&mut self, parent: usize, object: Object) -> usize {
        let (number, letter) =
            (self.nodes.len(), if object == Object::Directory { 'd' } else { 'f' });
        let path = format!("{}/{letter}{number}", self.nodes[parent].path);
        self.nodes.push(Node::new(path, object, parent));
        self.revive(number);
        number
    }

    /// A pipe: nothing on it reaches a device.
    pub(super) fn pipe(&mut self) -> usize {
        let number = self.nodes.len();
        let path = format!("pipe:[{number}]");
        self.nodes.push(Node { exists: true, ..Node::new(path, Object::Elsewhere, 0) });
        number
    }

    /// Lets a name exist.
    pub(super) fn revive(&mut self, node: usize) {
        if self.nodes[node].exists {
            return;
        }
        let (parent, is_directory) = (self.nodes[node].parent, self.nodes[node].is_directory());
        self.nodes[node].exists = true;
        self.nodes[node].settled = true;
        self.nodes[parent].children += 1;
        if is_directory {
            self.directories.push(node);
        }
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, node: usize) {
        let parent = self.nodes[node].parent;
        self.nodes[node].exists = false;
        self.nodes[parent].children = self.nodes[parent].children.saturating_sub(1);
        if self.nodes[node].is_directory() {
            self.directories.retain(|directory| *directory != node);
        }
    }

    /// A directory that new names go into: mostly that of the last ones.
    pub(super) fn parent(&mut self, random: &mut impl Rng) -> usize {
        let (same, other) = self.same_directory;
        let stays = below(random, same + other + 1) < same && self.nodes[self.here].exists;
        if !stays {
            self.here = self.directories[index(random, self.directories.len())];
        }
        self.here
    }

    /// A file from before that no call has named; makes one when all are named.
    pub(super) fn unused(&mut self, random: &mut impl Rng) -> usize {
        let wanted = self.parent(random);
        let at = self.unused.iter().take(SEARCH).position(|(directory, _)| *directory == wanted);
        let at = at.or_else(|| (!self.unused.is_empty()).then(|| index(random, self.unused.len())));
        let Some(at) = at else {
            // Nothing from before is in a directory that the load makes.
            let mut parent = wanted;
            while !self.nodes[parent].initial {
                parent = self.nodes[parent].parent;
            }
            let node = self.make(parent, Object::File);
            self.nodes[node].initial = true;
            self.nodes[node].settled = false;
            return node;
        };
        self.here = self.unused[at].0;
        let node = self.unused[at].1.pop();
        if self.unused[at].1.is_empty() {
            self.unused.swap_remove(at);
        }
        node.unwrap_or(0)
    }

    /// A name that does not exist; with `deep`, its directory does not exist either, so that nothing
    /// can be made there.
    pub(super) fn missing(&mut self, deep: bool, random: &mut impl Rng) -> usize {
        let (parent, number) = (self.parent(random), self.nodes.len());
        let below = if deep { "/x" } else { "" };
        let path = format!("{}/m{number}{below}", self.nodes[parent].path);
        self.nodes.push(Node { is_deep: deep, ..Node::new(path, Object::Missing, parent) });
        number
    }

    /// A directory that exists.
    pub(super) fn directory(&self, random: &mut impl Rng) -> usize {
        self.directories[index(random, self.directories.len())]
    }

    /// Remembers that a call named a path.
    pub(super) fn name(&mut self, node: usize, object: Object) {
        let namings = &mut self.namings[object as usize];
        if namings.len() == REMEMBERED {
            namings.pop_front();
        }
        namings.push_back(node);
    }

    /// The path that was named `gap` namings ago, or the nearest before it that is `fit`.
    pub(super) fn named(
        &self,
        object: Object,
        gap: u64,
        fit: impl Fn(&Node) -> bool,
    ) -> Option<usize> {
        let namings = &self.namings[object as usize];
        let gap = usize::try_from(gap).unwrap_or(usize::MAX).clamp(1, namings.len().max(1));
        let before = namings.iter().rev().skip(gap - 1).take(SEARCH);
        let after = namings.iter().rev().take(gap - 1).take(SEARCH);
        before.chain(after).copied().find(|node| fit(&self.nodes[*node]))
    }

    /// Bytes that a read of `length` at `offset` gets. It should be `wanted`: a file from before ends
    /// there when it is less than the length, and is large enough when it is all of it.
    pub(super) fn read(
        &mut self,
        node_number: usize,
        offset: u64,
        length: u64,
        wanted: u64,
    ) -> u64 {
        let node = &mut self.nodes[node_number];
        let end = offset.saturating_add(wanted);
        if node.initial && !node.settled {
            if wanted < length && end >= node.read_end {
                node.bytes = end;
                node.settled = true;
            } else if wanted == length {
                node.bytes = node.bytes.max(end);
            }
            node.initial_bytes = node.bytes;
        } else if wanted == length {
            self.reach(node_number, end);
        }
        let node = &mut self.nodes[node_number];
        let moved = node.bytes.saturating_sub(offset).min(length);
        node.read_end = node.read_end.max(offset + moved);
        node.accessed(offset, moved);
        moved
    }

    /// Makes a file from before at least this large, if no call has made it larger or smaller.
    pub(super) fn reach(&mut self, node: usize, end: u64) {
        let node = &mut self.nodes[node];
        if node.initial && !node.resized {
            node.bytes = node.bytes.max(end);
            node.initial_bytes = node.bytes;
        }
    }

    pub(super) fn write(&mut self, node: usize, offset: u64, length: u64) {
        let node = &mut self.nodes[node];
        let end = offset.saturating_add(length);
        node.resized |= end > node.bytes;
        node.bytes = node.bytes.max(end);
        node.settled = true;
        node.accessed(offset, length);
    }

    pub(super) fn resize(&mut self, node: usize, bytes: u64) {
        self.nodes[node].bytes = bytes;
        self.nodes[node].settled = true;
        self.nodes[node].resized = true;
    }

    /// The trace's entry of a path, the first time.
    pub(super) fn entry(&mut self, node: usize) -> Option<FileEntry> {
        let number = u32::try_from(node).ok()?;
        let node = &mut self.nodes[node];
        if std::mem::replace(&mut node.is_written, true) {
            return None;
        }
        Some(FileEntry {
            id: FileId(number),
            path: Some(node.path.clone()),
            device: None,
            inode: None,
            mode: match node.object {
                Object::Missing | Object::None => None,
                _ => Some(node.mode()),
            },
            bytes: None,
        })
    }

    /// Everything that was there before.
    pub(super) fn initial(&self) -> impl Iterator<Item = InitialEntry> {
        let entry = |(number, node): (usize, &Node)| InitialEntry {
            path: node.path.clone(),
            device: None,
            inode: Some(number as u64 + 1),
            mode: node.mode(),
            owner: None,
            group: None,
            bytes: node.initial_bytes,
            allocated_bytes: node.initial_bytes,
            content: None,
            birth_ms: None,
            target: None,
            attributes: Vec::new(),
            data: Vec::new(),
        };
        self.nodes.iter().enumerate().filter(|(_, node)| node.initial).map(entry)
    }
}

impl Node {
    fn new(path: String, object: Object, parent: usize) -> Self {
        Self {
            path,
            object,
            exists: false,
            initial: false,
            initial_bytes: 0,
            bytes: 0,
            settled: false,
            resized: false,
            read_end: 0,
            end: 0,
            accesses: VecDeque::new(),
            children: 0,
            parent,
            is_written: false,
            is_deep: false,
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.object == Object::Directory
    }

    pub(super) fn is_empty_directory(&self) -> bool {
        self.exists && self.is_directory() && self.children == 0 && self.path != ROOT
    }

    fn mode(&self) -> u32 {
        match self.object {
            Object::Directory => DIRECTORY,
            Object::Elsewhere => PIPE,
            _ => FILE,
        }
    }

    fn accessed(&mut self, offset: u64, moved: u64) {
        self.end = offset.saturating_add(moved);
        if self.accesses.len() == BLOCKS {
            self.accesses.pop_front();
        }
        self.accesses.push_back(offset);
    }
}

impl Descriptors {
    /// Opens a file at the lowest free descriptor.
    pub(super) fn add(&mut self, open: Open) -> i32 {
        let taken = self.open.range(3..).map(|(fd, _)| *fd);
        let free = (3..).zip(taken).find(|(free, taken)| free != taken);
        let fd = free.map_or_else(
            || self.open.range(3..).next_back().map_or(3, |(last, _)| last + 1),
            |(free, _)| free,
        );
        self.open.insert(fd, open);
        self.used(fd);
        fd
    }

    /// Puts a descriptor at the end of the order of uses.
    pub(super) fn used(&mut self, fd: i32) {
        self.recent.retain(|known| *known != fd);
        self.recent.push(fd);
    }

    /// Counts a call on a descriptor.
    pub(super) fn count(&mut self, fd: i32) {
        if let Some(left) = self.open.get_mut(&fd).and_then(|open| open.left.as_mut()) {
            *left = left.saturating_sub(1);
        }
    }

    pub(super) fn close(&mut self, fd: i32) {
        self.open.remove(&fd);
        self.recent.retain(|known| *known != fd);
    }

    /// The descriptor that was used before `rank` - 1 others that are `fit`, or the nearest to it.
    pub(super) fn find(&self, rank: u64, fit: impl Fn(&Open) -> bool) -> Option<i32> {
        let known = self.recent.iter().rev().copied();
        let fitting = known.filter(|fd| self.open.get(fd).is_some_and(&fit));
        fitting.take(usize::try_from(rank).unwrap_or(usize::MAX).max(1)).last()
    }
}

fn index(random: &mut impl Rng, count: usize) -> usize {
    usize::try_from(below(random, count as u64)).unwrap_or(0)
}
