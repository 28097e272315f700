//! The guest's root image: tools of this machine by an explicit list, their libraries, nothing else.
//!
//! The image has a hash over its content, so that two machines can tell whether their guests
//! ran the same programs. Everything a guest writes goes to memory.

mod erofs;
mod needs;
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::content::{Content, Frozen, Keeping};
use tree::{Node, Tree};

#[cfg(test)]
mod tests;

/// A file of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Path in the guest.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// A root image, ready for any number of guests.
#[derive(Clone, Debug)]
pub struct RootImage {
    content: Arc<Frozen>,
    hash: String,
    manifest: Vec<ManifestEntry>,
}

impl RootImage {
    /// The image's filesystem, as the kernel calls it.
    pub const FILESYSTEM: &'static str = "erofs";

    /// Path of the guest's first program.
    pub const INIT: &'static str = "/seekwell";

    /// Its only argument.
    pub const INIT_ARGUMENT: &'static str = "guest";

    /// The image's bytes.
    #[must_use]
    pub fn content(&self) -> Arc<Frozen> {
        self.content.clone()
    }

    /// SHA-256 of the image in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every file in it.
    #[must_use]
    pub fn manifest(&self) -> &[ManifestEntry] {
        &self.manifest
    }
}

/// Errors of making an image.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A file cannot be read.
    #[error("cannot read {path} for the root image: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A program needs a library that this machine's loader would not find either.
    #[error(
        "{program} needs the library {library}, which is in none of the loader's directories; reinstall the package of {program}"
    )]
    Library {
        /// The program.
        program: PathBuf,
        /// The library.
        library: String,
    },
    /// A path that is not absolute.
    #[error("{0} is not absolute; name files of the root image from /")]
    Relative(PathBuf),
    /// The image could not be kept.
    #[error("cannot store the root image: {0}")]
    Keep(io::Error),
}

/// Directories that the guest mounts something on.
const MOUNT_POINTS: [&str; 8] = ["/proc", "/sys", "/dev", "/tmp", "/run", "/mnt", "/root", "/var"];

/// Directories that are links, as on every merged system.
const MERGED: [(&str, &str); 4] =
    [("/bin", "usr/bin"), ("/sbin", "usr/sbin"), ("/lib", "usr/lib"), ("/lib64", "usr/lib64")];

/// Directories in which every loader looks.
const LOADER_DIRECTORIES: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64", "/lib64"];

/// Gathers what goes into an image.
#[derive(Clone, Debug)]
pub struct RootBuilder {
    tree: Tree,
    done: BTreeSet<PathBuf>,
    libraries: Vec<PathBuf>,
}

impl RootBuilder {
    /// An image whose first program is `init`.
    ///
    /// # Errors
    ///
    /// [`RootError`].
    pub fn new(init: &Path) -> Result<Self, RootError> {
        let mut tree = Tree::default();
        for point in MOUNT_POINTS {
            tree.add(point, Node::Directory);
        }
        for (link, target) in MERGED {
            tree.add(&format!("/{target}"), Node::Directory);
            tree.add(link, Node::Link { target: target.to_owned() });
        }
        tree.add("/etc/mtab", Node::Link { target: "../proc/self/mounts".to_owned() });
        let libraries = needs::system_directories();
        let mut builder = Self { tree, done: BTreeSet::new(), libraries };
        builder.text(Path::new("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
        builder.text(Path::new("/etc/group"), "root:x:0:\n")?;
        builder.file(init, Path::new(RootImage::INIT))?;
        Ok(builder)
    }

    /// Adds a program of this machine under its own path, with what it needs.
    ///
    /// # Errors
    ///
    /// [`RootError`].
    pub fn tool(&mut self, path: &Path) -> Result<(), RootError> {
        let read = |source| RootError::Read { path: path.to_path_buf(), source };
        let real = fs::canonicalize(path).map_err(read)?;
        let seen = guest_path(path)?;
        let target = guest_path(&real)?;
        if seen != target {
            self.tree.add(&seen, Node::Link { target: target.clone() });
        }
        self.put(&real, &target)
    }

    /// Adds a file of this machine at a path in the guest; a program comes with what it needs.
    ///
    /// # Errors
    ///
    /// [`RootError`].
    pub fn file(&mut self, from: &Path, to: &Path) -> Result<(), RootError> {
        let to = guest_path(to)?;
        self.put(from, &to)
    }

    /// Adds the files of a folder, those in folders below it left out, or a file.
    ///
    /// # Errors
    ///
    /// [`RootError`].
    pub fn folder(&mut self, from: &Path, to: &Path) -> Result<(), RootError> {
        if from.is_file() {
            return self.file(from, to);
        }
        let read = |source| RootError::Read { path: from.to_path_buf(), source };
        let entries =
            fs::read_dir(from).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let mut entries = entries.map_err(read)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.path().is_file() {
                self.file(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Adds a file with this text.
    ///
    /// # Errors
    ///
    /// [`RootError::Relative`].
    pub fn text(&mut self, to: &Path, text: &str) -> Result<(), RootError> {
        let node = Node::File { executable: false, bytes: text.as_bytes().to_vec() };
        self.tree.add(&guest_path(to)?, node);
        Ok(())
    }

    /// Makes the image.
    ///
    /// # Errors
    ///
    /// [`RootError::Keep`].
    pub fn build(self, keeping: Keeping) -> Result<RootImage, RootError> {
        let image = erofs::image(&self.tree);
        let manifest = self.tree.iter().filter_map(|(path, node)| match node {
            Node::File { bytes, .. } => Some(ManifestEntry {
                path: path.to_owned(),
                bytes: bytes.len() as u64,
                sha256: hexadecimal(&Sha256::digest(bytes)),
            }),
            Node::Directory | Node::Link { .. } => None,
        });
        let manifest = manifest.collect();
        let hash = hexadecimal(&Sha256::digest(&image));
        let mut content = Content::new((image.len() / 512) as u64, keeping);
        content.write(0, &image).map_err(RootError::Keep)?;
        Ok(RootImage { content: content.freeze(), hash, manifest })
    }

    fn put(&mut self, from: &Path, to: &str) -> Result<(), RootError> {
        if self.tree.contains(to) {
            return Ok(());
        }
        let read = |source| RootError::Read { path: from.to_path_buf(), source };
        let bytes = fs::read(from).map_err(read)?;
        let mode = fs::metadata(from).map_err(read)?.permissions().mode();
        let needs = needs::needs(from, &bytes).map_err(read)?;
        self.tree.add(to, Node::File { executable: mode & 0o111 != 0, bytes });
        if let Some(interpreter) = &needs.interpreter
            && self.done.insert(interpreter.clone())
        {
            self.tool(interpreter)?;
        }
        for library in &needs.libraries {
            let found = needs::find_library(library, &needs.search, &self.libraries);
            let found = found.ok_or_else(|| RootError::Library {
                program: from.to_path_buf(),
                library: library.clone(),
            })?;
            if self.done.insert(found.clone()) {
                self.library(library, &found)?;
            }
        }
        Ok(())
    }

    /// Adds a library, where every loader finds it without a configuration.
    fn library(&mut self, name: &str, found: &Path) -> Result<(), RootError> {
        self.tool(found)?;
        let path = guest_path(found)?;
        if !LOADER_DIRECTORIES.contains(&Tree::parent(&path)) {
            for directory in ["/usr/lib", "/usr/lib64"] {
                self.tree.add(&format!("{directory}/{name}"), Node::Link { target: path.clone() });
            }
        }
        Ok(())
    }
}

/// The path in the guest of a path on this machine, free of `.` and `..`, with the directories
/// that are links in the guest resolved.
fn guest_path(path: &Path) -> Result<String, RootError> {
    if !path.is_absolute() {
        return Err(RootError::Relative(path.to_path_buf()));
    }
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    let joined = format!("/{}", parts.join("/"));
    let merged = MERGED.iter().find_map(|(link, target)| {
        let rest = joined.strip_prefix(link)?;
        rest.starts_with('/').then(|| format!("/{target}{rest}"))
    });
    Ok(merged.unwrap_or(joined))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
