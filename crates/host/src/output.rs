//! Files that are written for the user: reports, charts, tables. Whole or not at all, never through a
//! link, and never in place of a file that is something else. The folder is opened once, as root never through the link
//! of another user; the file is compared, made and renamed in what was opened.

use crate::error::{Error, Result};
use crate::state::{Draft, folder_of, sync_folder_of};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, fstat, linkat, open,
};
use rustix::io::Errno;
use seekwell_trust::Entry;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Extended attribute of files that were written here; its value is the kind.
pub const KIND_MARK: &str = "user.seekwell.output";

/// Bytes of two files that are compared.
const HEAD: usize = 4096;
/// A first line that is shorter says nothing.
const TELLING: usize = 10;
/// Number of names that are tried for a draft.
const ATTEMPTS: u32 = 16;
/// Permissions of a new file, less the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

/// Content of a file. One of the same kind may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An HTML page.
    Page,
    /// A drawing as SVG.
    Drawing,
    /// Comma-separated values.
    Csv,
    /// Markdown.
    Markdown,
    /// A Parquet table.
    Parquet,
    /// A lab.
    Lab,
    /// A run file that is taken out of a report.
    RunFile,
    /// A device file.
    Device,
    /// A man page or a completion.
    Document,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Drawing => "drawing",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Parquet => "parquet",
            Self::Lab => "lab",
            Self::RunFile => "run file",
            Self::Device => "device file",
            Self::Document => "document",
        }
    }

    /// True when an unmarked file looks like an earlier output: files lose their marks in copies and
    /// checkouts, and earlier versions set none.
    fn is_like(self, existing: &[u8], new: &[u8]) -> bool {
        let alike = existing.iter().zip(new).take_while(|(one, other)| one == other).count();
        let first_line = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().map(<[u8]>::len);
        match self {
            Self::Page => alike >= 100,
            Self::Drawing => alike >= 70,
            Self::Csv | Self::Markdown => {
                let (old, length) = (first_line(existing), first_line(new));
                old == length && length.is_some_and(|length| length >= TELLING && alike >= length)
            }
            Self::Lab => existing == new || existing.windows(6).any(|part| part == b"\n[lab]"),
            Self::Parquet | Self::RunFile | Self::Device | Self::Document => false,
        }
    }
}

/// Files that may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// None: the file is new.
    Nothing,
    /// An earlier output of the same kind.
    SameKind,
    /// Any plain file, because the user said so.
    AnyFile,
}

/// Writes a file for the user. It appears whole under its name, or nothing changes.
///
/// Terminals, pipes and standard output (`/dev/stdout`) are written to as they are.
///
/// # Errors
/// [`Error::Argument`] when the name leads elsewhere or to a file that is something else;
/// [`Error::Io`] when it cannot be written, for example because the disk is full.
pub fn write(path: &Path, kind: Kind, bytes: &[u8], replace: Replace) -> Result<()> {
    let content = Content { head: bytes, write: &|out| out.write_all(bytes) };
    write_piecewise(path, kind, &content, replace)
}

/// Content that is never in memory as a whole.
pub struct Content<'a> {
    /// Its first bytes, of which an earlier output has as many as the kind demands.
    pub head: &'a [u8],
    /// Writes all of it.
    pub write: &'a dyn Fn(&mut dyn Write) -> std::io::Result<()>,
}

/// As [`write`], piece by piece.
///
/// # Errors
/// As [`write`], and the error of the content.
pub fn write_piecewise(
    path: &Path,
    kind: Kind,
    content: &Content<'_>,
    replace: Replace,
) -> Result<()> {
    let entry = entry(path)?;
    let place = Place { named: path, at: entry.path() };
    match target(&place)? {
        Target::Stream => stream(path, content),
        Target::Nothing => {
            let placed = draft(&place, kind, content, None)?;
            placed.put_new(&place)
        }
        Target::File(existing) => {
            match replace {
                Replace::Nothing => {
                    return Err(refused(path, "exists", "name another file, or remove it"));
                }
                Replace::SameKind => same_kind(path, &existing, kind, content.head)?,
                Replace::AnyFile => {}
            }
            let facts = fstat(&existing).map_err(Error::io("examine", path))?;
            let placed = draft(&place, kind, content, Some(facts.st_mode & 0o777))?;
            placed.put_over(&place)
        }
    }
}

/// Place of an output.
struct Place<'a> {
    /// As the user named it: for messages, and for streams.
    named: &'a Path,
    /// By way of the folder's descriptor.
    at: PathBuf,
}

fn entry(path: &Path) -> Result<Entry> {
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(refused(path, "is the name of a folder", "name a file in it"));
    }
    Entry::of(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::NoFolder { folder: folder_of(path).to_owned() },
        _ => Error::io("find the folder of", path)(error),
    })
}

fn refused(path: &Path, why: &str, remedy: &str) -> Error {
    Error::Argument(format!("{} {why}; {remedy}", path.display()))
}

enum Target {
    /// A terminal, a pipe, standard output.
    Stream,
    Nothing,
    /// A plain file, open for reading.
    File(File),
}

fn target(place: &Place<'_>) -> Result<Target> {
    let path = place.named;
    let facts = match fs::symlink_metadata(&place.at) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Target::Nothing),
        Err(error) => return Err(Error::io("examine", path)(error)),
    };
    let kind = facts.file_type();
    if kind.is_file() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(&place.at, flags, Mode::empty()).map_err(Error::io("open", path))?;
        return Ok(Target::File(File::from(file)));
    }
    if kind.is_dir() {
        return Err(refused(path, "is a folder", "name a file in it"));
    }
    if kind.is_block_device() {
        return Err(refused(path, "is a block device", "name a file"));
    }
    if !kind.is_symlink() {
        return Ok(Target::Stream);
    }
    // Links that the system made, as /dev/stdout, lead to what the user's shell has opened.
    let of_the_system = path.starts_with("/dev") || path.starts_with("/proc");
    match fs::metadata(path) {
        Ok(facts) if of_the_system && !facts.file_type().is_block_device() => Ok(Target::Stream),
        _ => Err(refused(path, "is a symbolic link", "name the file itself")),
    }
}

/// There is nothing to lose, and nothing that could be whole.
fn stream(path: &Path, content: &Content<'_>) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(Error::io("open", path))?;
    pour(&File::from(file), content).map_err(Error::io("write", path))
}

fn same_kind(path: &Path, existing: &File, kind: Kind, new: &[u8]) -> Result<()> {
    let mut mark = [0_u8; 32];
    if let Ok(length) = fgetxattr(existing, KIND_MARK, mark.as_mut_slice())
        && mark.get(..length) == Some(kind.word().as_bytes())
    {
        return Ok(());
    }
    let mut head = Vec::new();
    existing.take(HEAD as u64).read_to_end(&mut head).map_err(Error::io("read", path))?;
    // A file without content has nothing to lose: `mktemp` makes such.
    if head.is_empty() || kind.is_like(&head, new) {
        return Ok(());
    }
    let why = format!("exists and is not a {} that Seekwell wrote", kind.word());
    Err(refused(path, &why, "name another file, or replace it with --force"))
}

/// A file with all its content, on the disk, and not yet under its name.
enum Placed {
    /// Without any name: gone when closed.
    Nameless(File),
    /// A draft in the folder of the file, on filesystems without nameless files.
    Named(Draft),
}

fn draft(
    place: &Place<'_>,
    kind: Kind,
    content: &Content<'_>,
    mode: Option<u32>,
) -> Result<Placed> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(folder_of(&place.at), flags, NEW_FILE) {
        Ok(file) => {
            let file = File::from(file);
            fill(&file, place.named, kind, content, mode)?;
            Ok(Placed::Nameless(file))
        }
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let (draft, file) = named(place)?;
            fill(&file, place.named, kind, content, mode)?;
            Ok(Placed::Named(draft))
        }
        Err(error) => Err(Error::io("write in the folder", folder_of(place.named))(error)),
    }
}

/// A new file next to the output, with a unique name.
fn named(place: &Place<'_>) -> Result<(Draft, File)> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (draft, file) = uniquely(place, "make", |path| open(path, flags, NEW_FILE))?;
    Ok((draft, File::from(file)))
}

/// Makes a name in the folder of the output that nothing has. One that exists belongs to another program.
fn uniquely<T>(
    place: &Place<'_>,
    action: &'static str,
    make: impl Fn(&Path) -> rustix::io::Result<T>,
) -> Result<(Draft, T)> {
    let mut last = Errno::EXIST;
    for _ in 0..ATTEMPTS {
        let draft = Draft::beside(&place.at);
        match make(&draft.0) {
            Ok(made) => return Ok((draft, made)),
            Err(error) => {
                // It is not ours to remove.
                std::mem::forget(draft);
                last = error;
            }
        }
        if last != Errno::EXIST {
            break;
        }
    }
    Err(Error::io(action, place.named)(last))
}

fn pour(file: &File, content: &Content<'_>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    (content.write)(&mut out)?;
    out.flush()
}

fn fill(
    file: &File,
    path: &Path,
    kind: Kind,
    content: &Content<'_>,
    mode: Option<u32>,
) -> Result<()> {
    pour(file, content).map_err(Error::io("write", path))?;
    if let Some(mode) = mode {
        // The permissions that the user gave the file that is replaced.
        file.set_permissions(fs::Permissions::from_mode(mode))
            .map_err(Error::io("set the permissions of", path))?;
    }
    // Where there are no extended attributes the next call looks at the content.
    let _ = fsetxattr(file, KIND_MARK, kind.word().as_bytes(), XattrFlags::empty());
    file.sync_all().map_err(Error::io("write", path))
}

impl Placed {
    /// Gives it a name that nothing has; a file or a link that appeared meanwhile stays.
    fn put_new(&self, place: &Place<'_>) -> Result<()> {
        let linked = match self {
            Self::Nameless(file) => {
                linkat(CWD, fd_path(file), CWD, &place.at, AtFlags::SYMLINK_FOLLOW)
            }
            Self::Named(draft) => linkat(CWD, &draft.0, CWD, &place.at, AtFlags::empty()),
        };
        match linked {
            Ok(()) => sync_folder_of(&place.at),
            // A filesystem without hard links, as FAT.
            Err(Errno::PERM | Errno::OPNOTSUPP) if matches!(self, Self::Named(_)) => {
                self.put_over(place)
            }
            Err(error) => Err(Error::io("write", place.named)(error)),
        }
    }

    /// Puts it in the place of a file in one step.
    fn put_over(&self, place: &Place<'_>) -> Result<()> {
        let named;
        let draft = match self {
            Self::Named(draft) => draft,
            Self::Nameless(file) => {
                let link =
                    |path: &Path| linkat(CWD, fd_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW);
                (named, ()) = uniquely(place, "write", link)?;
                &named
            }
        };
        fs::rename(&draft.0, &place.at).map_err(Error::io("replace", place.named))?;
        sync_folder_of(&place.at)
    }
}

/// The name of an open file that `linkat` takes.
fn fd_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// True when two paths lead to one file, so that writing one would write over the other.
#[must_use]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}
