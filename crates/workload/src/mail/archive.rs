//! The user's own tar archive as the source of the tree. Nothing in it can make a step write
//! outside its directory.

use super::RECORD_BYTES;
use super::tree::Tree;
use super::unpack::Unpacker;
use crate::error::WorkloadError;
use crate::step::StepContext;
use seekwell_engine::buffer::Aligned;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::warning::{Warning, WarningCode};
use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::{Component, Path};
use tar::EntryType;

/// Deepest directory that is unpacked: removing holds one descriptor open per level.
const DEEPEST: usize = 256;

/// A step is bound by its source when the source alone takes this part of its time.
const SOURCE_BOUND: f64 = 0.8;

/// Kind of an archive entry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Directory,
    File,
    /// To this earlier file of the archive.
    HardLink(String),
    /// With this text.
    SymbolicLink(String),
}

/// Kind of file seen at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Directory,
    File { size: u64 },
    SymbolicLink,
}

/// Entries seen so far: they alone decide if an entry is harmless.
#[derive(Debug, Default)]
struct Rules {
    seen: HashMap<String, Seen>,
}

impl Rules {
    /// Refuses an entry that would leave the directory, or meet another entry in a way that
    /// depends on the order of system calls.
    fn check(&self, path: &str, item: &Item) -> Result<(), String> {
        for (end, _) in path.match_indices('/') {
            match self.seen.get(&path[..end]) {
                None | Some(Seen::Directory) => {}
                Some(Seen::File { .. }) => return Err("is below a file".to_owned()),
                Some(Seen::SymbolicLink) => return Err("is below a symbolic link".to_owned()),
            }
        }
        match (self.seen.get(path), item) {
            (None, _) | (Some(Seen::Directory), Item::Directory) => {}
            _ => return Err("comes twice".to_owned()),
        }
        match item {
            Item::Directory | Item::File => Ok(()),
            Item::HardLink(target) => match self.seen.get(target) {
                Some(Seen::File { .. }) => Ok(()),
                _ => Err(format!(
                    "is a hard link to '{target}', which is not an earlier file of the archive"
                )),
            },
            Item::SymbolicLink(target) if stays_inside(path, target) => Ok(()),
            Item::SymbolicLink(target) => {
                Err(format!("is a symbolic link to '{target}', which may lead outside"))
            }
        }
    }

    /// Directories above `path` that no entry made, outermost first.
    fn missing_parents(&self, path: &str) -> Vec<String> {
        path.match_indices('/')
            .map(|(end, _)| path[..end].to_owned())
            .filter(|parent| !self.seen.contains_key(parent))
            .collect()
    }

    fn size(&self, path: &str) -> Option<u64> {
        match self.seen.get(path) {
            Some(Seen::File { size }) => Some(*size),
            _ => None,
        }
    }
}

/// Returns true when a symbolic link stays below the root, whatever other links exist: steps up come
/// first, and no more of them than there are directories above the link.
fn stays_inside(path: &str, target: &str) -> bool {
    let mut above = path.matches('/').count();
    let mut down = false;
    for component in Path::new(target).components() {
        match component {
            Component::Normal(_) => down = true,
            Component::CurDir => {}
            Component::ParentDir if !down && above > 0 => above -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// A path of an archive below the root: without `./` and a slash at the end. `Ok(None)` is the
/// root itself.
fn normal(bytes: &[u8]) -> Result<Option<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "has a name that is not UTF-8".to_owned())?;
    let mut parts: Vec<&str> = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
            Component::CurDir => {}
            Component::ParentDir => return Err("has '..' in its path".to_owned()),
            Component::RootDir | Component::Prefix(_) => {
                return Err("has an absolute path".to_owned());
            }
        }
    }
    if parts.len() > DEEPEST {
        return Err(format!("is more than {DEEPEST} directories deep"));
    }
    if parts.is_empty() { Ok(None) } else { Ok(Some(parts.join("/"))) }
}

/// An entry that passed the rules.
struct Accepted<'a> {
    path: &'a str,
    item: &'a Item,
    /// Directories above it that no entry made.
    parents: Vec<String>,
    /// Size of a hard link's file.
    linked_size: u64,
    /// Returns true when the same directory came before.
    again: bool,
}

/// Goes through an archive: `accept` sees every harmless entry with its data and says how many
/// bytes that was, or `None` to stop.
fn entries(
    path: &Path,
    mut accept: impl FnMut(Accepted<'_>, &mut dyn Read) -> Result<Option<u64>, WorkloadError>,
) -> Result<(), WorkloadError> {
    let unreadable = |source: io::Error| WorkloadError::Archive { path: path.to_owned(), source };
    let file = seekwell_trust::open(path, u64::MAX).map_err(WorkloadError::file("open", path))?;
    let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 16, file));
    let mut rules = Rules::default();
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let refused = |reason: String| WorkloadError::Refused {
            path: path.to_owned(),
            entry: String::from_utf8_lossy(&name).into_owned(),
            reason,
        };
        let Some(below) = normal(&name).map_err(refused)? else { continue };
        let link = entry.link_name_bytes().map(|bytes| bytes.into_owned()).unwrap_or_default();
        let item = item(kind, &link).map_err(refused)?;
        rules.check(&below, &item).map_err(refused)?;
        let parents = rules.missing_parents(&below);
        let linked_size = match &item {
            Item::HardLink(target) => rules.size(target).unwrap_or(0),
            _ => 0,
        };
        let again = rules.seen.contains_key(&below);
        let made = parents.clone();
        let accepted = Accepted { path: &below, item: &item, parents: made, linked_size, again };
        let Some(size) = accept(accepted, &mut entry)? else { return Ok(()) };
        rules.seen.extend(parents.into_iter().map(|parent| (parent, Seen::Directory)));
        let seen = match item {
            Item::Directory => Seen::Directory,
            Item::File => Seen::File { size },
            Item::HardLink(_) => Seen::File { size: linked_size },
            Item::SymbolicLink(_) => Seen::SymbolicLink,
        };
        rules.seen.insert(below, seen);
    }
    Ok(())
}

fn item(kind: EntryType, link: &[u8]) -> Result<Item, String> {
    match kind {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Ok(Item::File),
        EntryType::Directory => Ok(Item::Directory),
        EntryType::Link => match normal(link) {
            Ok(Some(target)) => Ok(Item::HardLink(target)),
            _ => Err(format!("is a hard link to '{}'", String::from_utf8_lossy(link))),
        },
        EntryType::Symlink => String::from_utf8(link.to_vec())
            .map(Item::SymbolicLink)
            .map_err(|_| "is a symbolic link to a name that is not UTF-8".to_owned()),
        EntryType::Block | EntryType::Char => Err("is a device".to_owned()),
        EntryType::Fifo => Err("is a named pipe".to_owned()),
        other => Err(format!("is of the unknown type {:?}", char::from(other.as_byte()))),
    }
}

/// Reads the whole archive, so that the page cache has it, and lists its files.
///
/// # Errors
/// When it cannot be read, is no tar archive, holds no file, or holds an entry that is refused.
pub fn scan(path: &Path) -> Result<Tree, WorkloadError> {
    let mut files = Vec::new();
    let mut buffer = Aligned::zeroed(RECORD_BYTES as u64);
    entries(path, |accepted, data| {
        let mut size = 0;
        loop {
            match data.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => size += read as u64,
                Err(source) => {
                    return Err(WorkloadError::Archive { path: path.to_owned(), source });
                }
            }
        }
        match accepted.item {
            Item::File => files.push((accepted.path.into(), size)),
            Item::HardLink(_) => files.push((accepted.path.into(), accepted.linked_size)),
            Item::Directory | Item::SymbolicLink(_) => {}
        }
        Ok(Some(size))
    })?;
    if files.is_empty() {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it holds no file");
        return Err(WorkloadError::Archive { path: path.to_owned(), source });
    }
    Ok(Tree::listed(files))
}

/// Unpacks an archive; a stop ends it early.
pub(super) fn unpack(
    path: &Path,
    unpacker: &mut Unpacker,
    context: &StepContext<'_>,
) -> Result<(), WorkloadError> {
    let mut buffer = Aligned::zeroed(RECORD_BYTES as u64);
    entries(path, |accepted, data| {
        if context.is_stopped() {
            return Ok(None);
        }
        for parent in &accepted.parents {
            unpacker.make_directory(parent)?;
        }
        let below = accepted.path;
        let mut size = 0;
        match accepted.item {
            Item::Directory if accepted.again => {}
            Item::Directory => unpacker.make_directory(below)?,
            Item::HardLink(target) => {
                unpacker.hard_link(target, below, accepted.linked_size)?;
            }
            Item::SymbolicLink(target) => unpacker.symbolic_link(target, below)?,
            Item::File => {
                let file = unpacker.create(below)?;
                loop {
                    let read = data.read(&mut buffer).map_err(|source| WorkloadError::Archive {
                        path: path.to_owned(),
                        source,
                    })?;
                    if read == 0 {
                        break;
                    }
                    unpacker.write(&file, below, &buffer[..read])?;
                    size += read as u64;
                }
                unpacker.close(file, below, size)?;
            }
        }
        Ok(Some(size))
    })
}

/// Returns the time to read the archive once more, in ns: the speed of the source itself.
///
/// # Errors
/// When it cannot be read.
pub fn reading_time_ns(path: &Path) -> Result<u64, WorkloadError> {
    let mut file =
        seekwell_trust::open(path, u64::MAX).map_err(WorkloadError::file("open", path))?;
    let mut buffer = Aligned::zeroed(RECORD_BYTES as u64);
    let begin_ns = MonotonicClock.now_ns();
    while file.read(&mut buffer).map_err(WorkloadError::file("read", path))? > 0 {
        std::hint::black_box(&buffer);
    }
    Ok(MonotonicClock.now_ns().saturating_sub(begin_ns))
}

/// The doubt about an unpacking that hardly took longer than reading its archive.
#[must_use]
pub fn source_bound(step: &str, source_ns: Option<u64>, elapsed_ns: u64) -> Option<Warning> {
    let source_ns = source_ns.filter(|time| *time as f64 >= SOURCE_BOUND * elapsed_ns as f64)?;
    Some(Warning::new(
        WarningCode::SourceBound,
        format!(
            "{step} took {:.3} s and its source alone {:.3} s",
            elapsed_ns as f64 / 1e9,
            source_ns as f64 / 1e9
        ),
    ))
}

#[cfg(test)]
mod tests;
