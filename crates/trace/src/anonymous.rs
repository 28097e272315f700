//! Names without meaning, for traces that others may see.
//!
//! The same name becomes the same word everywhere in a trace, so that directories, reuse and
//! processes can still be told apart. The words come from a random key that is stored nowhere:
//! without it, names cannot be guessed and tried. Sizes, modes and times stay: a tree of known sizes can be told.

use crate::event::{FileEntry, InitialAttribute, InitialEntry, ProcessEntry};
use crate::meta::Meta;
use sha2::{Digest, Sha256};
use std::io::Read;

/// Trees of the kernel at the root; their first name stays, as it tells that nothing is on a disk.
const KERNEL: [&str; 3] = ["dev", "proc", "sys"];
/// Extended attributes that the kernel names, of `include/uapi/linux/xattr.h`.
const ATTRIBUTES: [&str; 8] = [
    "system.posix_acl_access", "system.posix_acl_default", "security.apparmor",
    "security.capability", "security.evm", "security.ima", "security.selinux", "security.SMACK64",
];
/// Kinds of extended attributes.
const SPACES: [&str; 4] = ["user", "trusted", "security", "system"];
/// Digits of a word: two of 100 million names are the same with a probability of 0.03 %.
const DIGITS: usize = 16;

/// Replaces names by words.
#[derive(Clone)]
pub struct Anonymizer {
    key: [u8; 32],
}

impl Anonymizer {
    /// An anonymizer with a new random key.
    ///
    /// # Errors
    /// When the kernel's random numbers cannot be read.
    pub fn new() -> std::io::Result<Self> {
        let mut key = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self { key })
    }

    /// The word for a name.
    fn word(&self, name: &str) -> String {
        let digest = Sha256::new().chain_update(self.key).chain_update(name).finalize();
        let mut word: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        word.truncate(DIGITS);
        word
    }

    /// The path with a word for each name. Pipes and sockets keep theirs, which the kernel made.
    pub(crate) fn path(&self, path: &str) -> String {
        if !path.contains('/') && path.contains(":[") {
            return path.to_owned();
        }
        let is_kept = |at: usize, name: &str| {
            matches!(name, "" | "." | ".." | "…") || (at == 1 && KERNEL.contains(&name))
        };
        let words = path
            .split('/')
            .enumerate()
            .map(|(at, name)| if is_kept(at, name) { name.to_owned() } else { self.word(name) });
        words.collect::<Vec<_>>().join("/")
    }

    /// The name with a word for what a program may have chosen.
    fn attribute(&self, name: &str) -> String {
        match name.split_once('.') {
            _ if ATTRIBUTES.contains(&name) => name.to_owned(),
            Some((space, chosen)) if SPACES.contains(&space) => {
                format!("{space}.{}", self.word(chosen))
            }
            _ => self.word(name),
        }
    }

    pub(crate) fn file(&self, file: FileEntry) -> FileEntry {
        let path = match file.attribute() {
            Some(name) => Some(FileEntry::path_of_attribute(&self.attribute(name))),
            None => file.path.map(|path| self.path(&path)),
        };
        FileEntry { path, inode: None, ..file }
    }

    pub(crate) fn initial(&self, entry: InitialEntry) -> InitialEntry {
        let path = self.path(&entry.path);
        let named =
            |one: InitialAttribute| InitialAttribute { name: self.attribute(&one.name), ..one };
        let attributes = entry.attributes.into_iter().map(named).collect();
        let target = entry.target.as_deref().map(|text| self.path(text));
        InitialEntry {
            path,
            owner: None,
            group: None,
            inode: None,
            birth_ms: None,
            target,
            attributes,
            ..entry
        }
    }

    pub(crate) fn process(&self, process: ProcessEntry) -> ProcessEntry {
        ProcessEntry { name: process.name.map(|name| self.word(&name)), ..process }
    }

    /// The description without names of this machine.
    pub(crate) fn meta(&self, meta: &Meta) -> Meta {
        let paths = meta.paths.iter().map(|path| self.path(path)).collect();
        let mut initial = meta.initial.clone();
        initial.iter_mut().for_each(|tree| tree.root = self.path(&tree.root));
        let mounts = Vec::new();
        Meta { paths, initial, mounts, kernel: None, anonymous: true, ..meta.clone() }
    }
}

/// The key is a secret.
impl std::fmt::Debug for Anonymizer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Anonymizer")
    }
}

#[cfg(test)]
mod tests;
