//! Sources of a kernel: Debian's package, or a tree of the user's.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::{KernelError, failed};

#[cfg(test)]
mod tests;

/// Tarball installed by Debian's package `linux-source-6.12`.
pub const DEBIAN_TARBALL: &str = "/usr/src/linux-source-6.12.tar.xz";

/// Source of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    /// A compressed tar file with one top directory, such as [`DEBIAN_TARBALL`].
    Tarball(PathBuf),
    /// The top directory of a source tree, which is not changed.
    Directory(PathBuf),
}

impl fmt::Display for KernelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Tarball(path) | Self::Directory(path)) = self;
        write!(formatter, "{}", path.display())
    }
}

/// A file or link of a tree.
struct TreeEntry {
    /// Below the top.
    path: PathBuf,
    kind: EntryKind,
}

enum EntryKind {
    Directory,
    File { executable: bool },
    Link { target: PathBuf },
}

impl KernelSource {
    /// Returns an error if the source is missing.
    pub(super) fn check(&self) -> Result<(), KernelError> {
        let lacks = match self {
            Self::Tarball(path) if !path.is_file() => format!(
                "kernel source not found at {self}; run `apt-get install linux-source-6.12`, or name a tree"
            ),
            Self::Directory(path) if !path.join("arch/um/Kconfig").is_file() => {
                format!(
                    "{self} has no User-Mode Linux; name the top directory of a Linux source tree"
                )
            }
            Self::Tarball(_) | Self::Directory(_) => return Ok(()),
        };
        Err(KernelError::Build(lacks))
    }

    /// Hash of every byte that a build may use.
    pub(super) fn hash(&self) -> Result<[u8; 32], KernelError> {
        let mut hash = Sha256::new();
        match self {
            Self::Tarball(path) => hash_file(path, &mut hash)?,
            Self::Directory(top) => {
                for TreeEntry { path, kind } in entries(top)? {
                    hash.update(path.as_os_str().as_bytes());
                    match kind {
                        EntryKind::Directory => hash.update([0]),
                        EntryKind::File { executable } => {
                            hash.update([1, u8::from(executable)]);
                            hash_file(&top.join(path), &mut hash)?;
                        }
                        EntryKind::Link { target } => {
                            hash.update([2]);
                            hash.update(target.as_os_str().as_bytes());
                        }
                    }
                }
            }
        }
        Ok(hash.finalize().into())
    }

    /// Makes `tree` a copy of the source.
    pub(super) fn unpack(&self, tree: &Path) -> Result<(), KernelError> {
        fs::create_dir(tree).map_err(failed(format!("make {}", tree.display())))?;
        match self {
            Self::Tarball(path) => unpack_tarball(path, tree),
            Self::Directory(top) => {
                for entry in entries(top)? {
                    let what = format!("copy {}", top.join(&entry.path).display());
                    copy_entry(top, &entry, tree).map_err(failed(what))?;
                }
                Ok(())
            }
        }
    }
}

/// Files of a kernel tree that no lab kernel compiles: drivers of real hardware, tests and texts. With the code of other
/// processors they are most of its bytes. Files of Kconfig and make stay, as others name them.
const UNUSED: [&str; 12] = [
    "arch/*.dts*", "drivers/accel/*.[ch]", "drivers/gpu/*.[ch]", "drivers/infiniband/*.[ch]",
    "drivers/media/*.[ch]", "drivers/net/ethernet/*.[ch]", "drivers/net/wireless/*.[ch]",
    "drivers/staging/*.[ch]", "sound/*.[ch]", "tools/perf/*", "tools/testing/*",
    "Documentation/*.[rty]*",
];

/// Processors besides x86, for which lab kernels are built.
const OTHER_PROCESSORS: [&str; 19] = [
    "alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze", "mips",
    "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa",
];

fn unpack_tarball(path: &Path, tree: &Path) -> Result<(), KernelError> {
    let what = format!("unpack {}", path.display());
    let output = Command::new("tar")
        .arg("--extract")
        .arg("--strip-components=1")
        .arg("--no-same-owner")
        .args(UNUSED.map(|files| format!("--exclude=*/{files}")))
        .args(OTHER_PROCESSORS.map(|processor| format!("--exclude=*/arch/{processor}/*.[chS]")))
        .arg("--file")
        .arg(path)
        .arg("--directory")
        .arg(tree)
        .stdin(Stdio::null())
        .output()
        .map_err(failed(what.clone()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(KernelError::System { what, source: io::Error::other(message) })
}

fn hash_file(path: &Path, hash: &mut Sha256) -> Result<(), KernelError> {
    let mut read = || {
        let mut file = File::open(path)?;
        hash.update(file.metadata()?.len().to_le_bytes());
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok::<_, io::Error>(()),
                read => hash.update(&buffer[..read]),
            }
        }
    };
    read().map_err(failed(format!("read {}", path.display())))
}

fn copy_entry(top: &Path, entry: &TreeEntry, tree: &Path) -> io::Result<()> {
    let to = tree.join(&entry.path);
    match &entry.kind {
        EntryKind::Directory => fs::create_dir(to),
        EntryKind::File { .. } => fs::copy(top.join(&entry.path), to).map(|_| ()),
        EntryKind::Link { target } => symlink(target, to),
    }
}

/// Everything in a tree that is source, in the order of the paths; a directory before its content.
fn entries(top: &Path) -> Result<Vec<TreeEntry>, KernelError> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let absolute = top.join(&directory);
        let mut list = || {
            for entry in fs::read_dir(&absolute)? {
                let entry = entry?;
                if !is_source(&entry.file_name()) {
                    continue;
                }
                let path = directory.join(entry.file_name());
                let facts = entry.metadata()?;
                let kind = if facts.is_dir() {
                    directories.push(path.clone());
                    EntryKind::Directory
                } else if facts.is_symlink() {
                    EntryKind::Link { target: fs::read_link(entry.path())? }
                } else {
                    EntryKind::File { executable: facts.permissions().mode() & 0o111 != 0 }
                };
                found.push(TreeEntry { path, kind });
            }
            Ok::<_, io::Error>(())
        };
        list().map_err(failed(format!("list {}", absolute.display())))?;
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Excludes build products and version history from the source.
fn is_source(name: &OsStr) -> bool {
    let path = Path::new(name);
    let built = ["o", "a", "ko", "cmd", "order", "symvers"];
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let kept_by_git = name == ".git";
    let made = [".config", ".config.old", "vmlinux", "linux", "System.map"];
    !kept_by_git && !built.contains(&extension) && !made.iter().any(|made| name == *made)
}
