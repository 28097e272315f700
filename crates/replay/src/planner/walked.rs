//! The walked tree: files as they were before the recording, as capture saw them.

use super::files::below;
use super::laid::Made;
use super::tree::Kind;
use crate::error::ReplayError;
use seekwell_trace::path::is_below;
use seekwell_trace::{Content, DataRange, InitialAttribute, InitialEntry, Trace};
use std::collections::HashMap;
use std::rc::Rc;

/// Number of a row; the root is 0.
pub(super) type RowId = usize;

/// Most files and bytes of a tree that is rebuilt whole: files that the load does not use decide where
/// those lie that it uses.
const SMALL_ROWS: usize = 100_000;
const SMALL_BYTES: u64 = 256 << 20;

/// A file of the walked tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) directory: RowId,
    pub(super) name: u32,
    /// `None` for a directory above the walked ones: the trace knows its name alone.
    pub(super) facts: Option<Facts>,
    /// First row of the same file; its own number for all but further hard links.
    pub(super) first: RowId,
    /// True for a directory all of whose names were seen.
    pub(super) is_whole: bool,
    /// Path that a symbolic link leads to, below the target of the replay.
    pub(super) target: Option<Rc<str>>,
    pub(super) attributes: Vec<InitialAttribute>,
    pub(super) data: Vec<DataRange>,
}

impl Row {
    /// A name of which nothing else is known yet.
    fn new(directory: RowId, name: u32, first: RowId) -> Self {
        Self { directory, name, first, ..Self::default() }
    }
}

/// State of a file before the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) mode: u32,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) bytes: u64,
    /// Bytes with data: fewer than `bytes` in files with holes.
    pub(super) data_bytes: u64,
    /// True when its data was inside of its inode.
    pub(super) is_inline: bool,
    pub(super) content: Option<Content>,
    pub(super) made: Option<Made>,
}

impl Facts {
    fn of(entry: &InitialEntry) -> Self {
        let owner = entry.owner.zip(entry.group);
        // Small files can be inside of their inode, which allocates nothing for them.
        let is_inline = entry.allocated_bytes == 0
            && matches!(entry.content, Some(Content::Compressible(_) | Content::Random));
        let in_ranges = entry.data.iter().fold(0, |sum: u64, one| sum.saturating_add(one.bytes));
        let data_bytes = match (is_inline, in_ranges) {
            (true, _) => entry.bytes,
            (false, 0) => entry.allocated_bytes,
            (false, in_ranges) => in_ranges,
        };
        Self {
            mode: entry.mode,
            owner,
            bytes: entry.bytes,
            data_bytes: data_bytes.min(entry.bytes),
            is_inline,
            content: entry.content,
            made: Made::of(entry),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.mode & libc::S_IFMT {
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFLNK => Kind::Link(None),
            _ => Kind::File,
        }
    }
}

/// Path that the text of a link leads to, from the link's directory on, where that is in the replay.
fn target(entry: &InitialEntry, only: Option<&str>) -> Option<Rc<str>> {
    let text = entry.target.as_deref()?;
    let (directory, _) = entry.path.rsplit_once('/')?;
    let whole = if text.starts_with('/') { text.to_owned() } else { format!("{directory}/{text}") };
    below(&whole, only).ok().map(Into::into)
}

/// Files and directories before the recording, by directory and name.
#[derive(Debug, Default)]
pub(super) struct Walked {
    rows: Vec<Row>,
    by_name: HashMap<(RowId, u32), RowId>,
    numbers: HashMap<Rc<str>, u32>,
    names: Vec<Rc<str>>,
    /// First row of each file that may have several names.
    inodes: HashMap<(u32, u64), RowId>,
}

impl Walked {
    /// Nothing but a root.
    pub(super) fn empty() -> Self {
        Self { rows: vec![Row::new(0, u32::MAX, 0)], ..Self::default() }
    }

    /// The walked trees of a trace, those below `only` alone when it is given.
    pub(super) fn read(trace: &Trace, only: Option<&str>) -> Result<Self, ReplayError> {
        let mut walked = Self::empty();
        let trees = trace.meta().initial.iter().filter(|tree| tree.complete);
        let whole: Vec<String> = trees.map(|tree| tree.root.clone()).collect();
        trace.initial(|entry| {
            walked.add(&entry, only, &whole);
            Ok(())
        })?;
        // Needed only while rows are added.
        walked.inodes = HashMap::new();
        Ok(walked)
    }

    fn add(&mut self, entry: &InitialEntry, only: Option<&str>, whole: &[String]) {
        let kind = entry.mode & libc::S_IFMT;
        if !matches!(kind, libc::S_IFREG | libc::S_IFDIR | libc::S_IFLNK) {
            return;
        }
        let Ok(path) = below(&entry.path, only) else { return };
        let mut at = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let name = self.number(name);
            at = *self.by_name.entry((at, name)).or_insert_with(|| {
                let first = self.rows.len();
                self.rows.push(Row::new(at, name, first));
                first
            });
        }
        let is_directory = kind == libc::S_IFDIR;
        if let (Some(device), Some(inode), false) = (entry.device, entry.inode, is_directory) {
            self.rows[at].first = *self.inodes.entry((device, inode)).or_insert(at);
        }
        self.rows[at].facts = Some(Facts::of(entry));
        self.rows[at].target = target(entry, only);
        self.rows[at].attributes.clone_from(&entry.attributes);
        self.rows[at].data.clone_from(&entry.data);
        self.rows[at].is_whole =
            is_directory && whole.iter().any(|root| is_below(&entry.path, root));
    }

    /// Number of a name, also of names that were not walked.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let name: Rc<str> = name.into();
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(Rc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    /// The name with this number.
    pub(super) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name)
    }

    /// The row of a name in a directory.
    pub(super) fn find(&self, directory: RowId, name: u32) -> Option<RowId> {
        self.by_name.get(&(directory, name)).copied()
    }

    pub(super) fn row(&self, id: RowId) -> &Row {
        &self.rows[id]
    }

    /// True when all of it is rebuilt.
    pub(super) fn is_small(&self) -> bool {
        let files = self.rows.iter().enumerate().filter(|(id, row)| row.first == *id);
        let bytes = files.filter_map(|(_, row)| row.facts).map(|facts| facts.data_bytes);
        let sum = bytes.fold(0, u64::saturating_add);
        self.rows.len() <= SMALL_ROWS && sum <= SMALL_BYTES
    }

    /// Every row but the root; directories come before the names in them.
    pub(super) fn rows(&self) -> impl Iterator<Item = (RowId, &Row)> {
        self.rows.iter().enumerate().skip(1)
    }
}
