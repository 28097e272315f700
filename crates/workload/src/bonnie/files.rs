//! The tests on many small files.

use super::{Found, arena, open};
use crate::error::WorkloadError;
use crate::mail::walk;
use crate::step::StepContext;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use seekwell_engine::buffer::{Aligned, Arena};
use seekwell_model::workloads::BonnieParams;
use seekwell_stats::{Rng, derive_seed, seeded};
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::path::Path;

/// A name has up to so many random characters besides its number.
const MOST_CHARACTERS: usize = 12;

const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The files of a test: made before its clock starts.
#[derive(Debug)]
pub struct Names {
    /// In the order in which they are created: path below the root, size.
    files: Vec<(CString, u64)>,
    /// Their directories; empty if all files are in the root itself.
    directories: Vec<CString>,
    /// The order in which they are looked at and deleted: indices; `None` is the order in which
    /// the directories list them.
    order: Option<Vec<u32>>,
}

impl Names {
    /// In sequential order the number comes first in a name, else random characters do.
    pub fn new(params: &BonnieParams, sequential: bool, seed: u64) -> Self {
        let word = if sequential { "bonnie sequential" } else { "bonnie random" };
        let mut rng = seeded(derive_seed(seed, word));
        let directories: Vec<String> = match params.directories {
            1 => vec![],
            count => (0..count).map(|number| format!("{number:05}")).collect(),
        };
        let mut files = Vec::with_capacity(usize::try_from(params.files).unwrap_or(0));
        for number in 0..params.files {
            let mut path = String::with_capacity(32);
            if params.directories > 1 {
                let directory = number * params.directories / params.files;
                path.push_str(&directories[directory as usize]);
                path.push('/');
            }
            let characters = rng.index(MOST_CHARACTERS + 1);
            if sequential {
                // Writing to a string cannot fail.
                let _ = write!(path, "{number:010x}");
                push_characters(&mut path, characters, &mut rng);
            } else {
                push_characters(&mut path, characters, &mut rng);
                let _ = write!(path, "{number:010x}");
            }
            let range = params.max_size.0 - params.min_size.0;
            let more = usize::try_from(range).unwrap_or(usize::MAX - 1);
            let size = params.min_size.0 + if more == 0 { 0 } else { rng.index(more + 1) as u64 };
            files.push((c_string(&path), size));
        }
        let order = (!sequential).then(|| {
            let mut order: Vec<u32> = (0..files.len() as u32).collect();
            rng.shuffle(&mut order);
            order
        });
        Self { files, directories: directories.iter().map(|name| c_string(name)).collect(), order }
    }
}

fn push_characters(path: &mut String, count: usize, rng: &mut Rng) {
    for _ in 0..count {
        path.push(char::from(CHARACTERS[rng.index(CHARACTERS.len())]));
    }
}

fn c_string(text: &str) -> CString {
    // Made of letters, digits and slashes.
    CString::new(text).unwrap_or_default()
}

fn open_root(root: &Path) -> Result<OwnedFd, WorkloadError> {
    open(root, OFlags::RDONLY | OFlags::DIRECTORY)
}

fn failed<'a>(
    action: &'static str,
    root: &'a Path,
    name: &'a CStr,
) -> impl FnOnce(Errno) -> WorkloadError + use<'a> {
    move |errno| WorkloadError::file(action, &root.join(name.to_string_lossy().as_ref()))(errno)
}

/// Creates and fills the files, and syncs.
pub(super) fn create(
    root: &Path,
    names: &Names,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    std::fs::create_dir(root).map_err(WorkloadError::file("make the directory", root))?;
    let at = open_root(root)?;
    for directory in &names.directories {
        rustix::fs::mkdirat(&at, directory.as_c_str(), Mode::from_raw_mode(0o700))
            .map_err(failed("make the directory", root, directory))?;
    }
    let mut content = arena(params.chunk.0, params, context.seed, root)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut found = Found::default();
    for (name, size) in &names.files {
        if context.is_stopped() {
            found.stopped = true;
            break;
        }
        found.time(|| {
            let file = rustix::fs::openat(&at, name.as_c_str(), flags, Mode::from_raw_mode(0o600))
                .map_err(failed("create", root, name))?;
            fill(&file, &mut content, *size).map_err(failed("write to", root, name))?;
            drop(file);
            Ok::<(), WorkloadError>(())
        })?;
        found.written += size;
    }
    rustix::fs::syncfs(&at).map_err(failed("sync", root, c"."))?;
    Ok(found)
}

fn fill(file: &OwnedFd, content: &mut Arena, mut left: u64) -> Result<(), Errno> {
    while left > 0 {
        let content = content.block();
        let part = &content[..content.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let written = rustix::io::retry_on_intr(|| rustix::io::write(file, part))?;
        if written == 0 {
            return Err(Errno::NOSPC);
        }
        left -= written as u64;
    }
    Ok(())
}

/// Looks at each file; one with data is read.
pub(super) fn look(
    root: &Path,
    names: &Names,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let at = open_root(root)?;
    let mut buffer = Aligned::zeroed(params.chunk.0.max(8));
    let mut found = Found::default();
    let mut look = |found: &mut Found, directory: &OwnedFd, name: &CStr| {
        found.read += found.time(|| {
            let facts = rustix::fs::statat(directory, name, AtFlags::empty())
                .map_err(failed("look at", root, name))?;
            if facts.st_size == 0 {
                return Ok::<u64, WorkloadError>(0);
            }
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = rustix::fs::openat(directory, name, flags, Mode::empty())
                .map_err(failed("open", root, name))?;
            let (size, mut read) = (facts.st_size as u64, 0);
            while read < size {
                let part = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *buffer))
                    .map_err(failed("read", root, name))?;
                if part == 0 {
                    return Err(failed("read", root, name)(Errno::IO));
                }
                std::hint::black_box(&buffer);
                read += part as u64;
            }
            Ok(read)
        })?;
        Ok::<(), WorkloadError>(())
    };
    visit(&at, root, names, context, &mut found, &mut look)?;
    Ok(found)
}

/// Deletes each file, then the directories, and syncs.
pub(super) fn delete(
    root: &Path,
    names: &Names,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let at = open_root(root)?;
    let mut found = Found::default();
    let mut unlink = |found: &mut Found, directory: &OwnedFd, name: &CStr| {
        found
            .time(|| rustix::fs::unlinkat(directory, name, AtFlags::empty()))
            .map_err(failed("remove", root, name))
    };
    visit(&at, root, names, context, &mut found, &mut unlink)?;
    if found.stopped {
        return Ok(found);
    }
    for directory in &names.directories {
        rustix::fs::unlinkat(&at, directory.as_c_str(), AtFlags::REMOVEDIR)
            .map_err(failed("remove", root, directory))?;
    }
    std::fs::remove_dir(root).map_err(WorkloadError::file("remove", root))?;
    rustix::fs::syncfs(&at).map_err(failed("sync", root, c"."))?;
    Ok(found)
}

/// Operation on a file in an open directory.
type Visit<'a> = dyn FnMut(&mut Found, &OwnedFd, &CStr) -> Result<(), WorkloadError> + 'a;

fn visit(
    at: &OwnedFd,
    root: &Path,
    names: &Names,
    context: &StepContext<'_>,
    found: &mut Found,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    if let Some(order) = &names.order {
        for index in order {
            if context.is_stopped() {
                found.stopped = true;
                return Ok(());
            }
            visit(found, at, &names.files[*index as usize].0)?;
        }
        return Ok(());
    }
    let own = [c".".to_owned()];
    let directories = if names.directories.is_empty() { &own[..] } else { &names.directories[..] };
    let mut buffer = walk::listing_buffer();
    for directory in directories {
        let open =
            walk::open_directory(at.as_fd(), directory).map_err(failed("open", root, directory))?;
        let path = root.join(directory.to_string_lossy().as_ref());
        let listed = walk::list(open.as_fd(), &path, buffer.spare_capacity_mut(), |entry| {
            found.stopped |= context.is_stopped();
            if !found.stopped {
                visit(found, &open, entry.name)?;
            }
            Ok(!found.stopped)
        });
        listed?;
    }
    Ok(())
}
