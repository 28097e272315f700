//! The state of directory trees before a capture, so that it can be rebuilt.

use crate::error::CaptureError;
use seekwell_trace::meta::Tree;
use seekwell_trace::{Content, DataRange, InitialAttribute, InitialEntry};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Most entries of all trees.
const ENTRIES: u64 = 1_000_000;
/// Longest time of all trees.
const TIME: Duration = Duration::from_secs(20);
/// Longest time until contents are no longer sampled: cold files cost a seek each.
const SAMPLING: Duration = Duration::from_secs(10);
/// Size of a sample. One is taken at the start, one in the middle and one at the end.
const SAMPLE: usize = 4096;
const O_NOATIME: i32 = 0o1_000_000;

/// Takes an entry of a tree.
pub(crate) type Each<'a> = dyn FnMut(InitialEntry) -> Result<(), CaptureError> + 'a;

/// Limits that are shared by the trees of a capture.
struct Walk<'a> {
    started: Instant,
    left: u64,
    stop: &'a AtomicBool,
    /// Folder of the trace; it is not a part of the load.
    output: &'a Path,
}

/// Gives what is in these trees to `each`. Mounts in them are left out, unless they are roots themselves.
///
/// # Errors
/// Those of `each`.
pub(crate) fn visit(
    roots: &[PathBuf],
    output: &Path,
    stop: &AtomicBool,
    each: &mut Each<'_>,
) -> Result<Vec<Tree>, CaptureError> {
    let output = output.canonicalize().unwrap_or_else(|_| output.to_owned());
    let mut walk = Walk { started: Instant::now(), left: ENTRIES, stop, output: &output };
    let mut trees = Vec::new();
    for root in roots {
        let complete = walk.tree(root, each)?;
        trees.push(Tree { root: root.to_string_lossy().into_owned(), complete });
    }
    Ok(trees)
}

impl Walk<'_> {
    /// Gives a tree; true when all of it was seen.
    fn tree(&mut self, root: &Path, each: &mut Each<'_>) -> Result<bool, CaptureError> {
        let Ok(top) = root.symlink_metadata() else { return Ok(false) };
        let device = top.dev();
        let mut complete = true;
        let mut left = vec![root.to_owned()];
        each(self.entry(root, &top))?;
        while let Some(folder) = left.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else {
                complete &= folder.symlink_metadata().is_ok_and(|found| !found.is_dir());
                continue;
            };
            for entry in entries {
                if self.is_over() {
                    return Ok(false);
                }
                // A name that vanished meanwhile was not there at the start of the capture.
                let Ok(entry) = entry else {
                    complete = false;
                    continue;
                };
                let Ok(metadata) = entry.metadata() else { continue };
                let path = entry.path();
                if path == self.output {
                    continue;
                }
                if metadata.dev() != device {
                    // A mount: what is in it is not known.
                    complete = false;
                    continue;
                }
                self.left -= 1;
                each(self.entry(&path, &metadata))?;
                if metadata.is_dir() {
                    left.push(path);
                }
            }
        }
        Ok(complete)
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.started.elapsed() > TIME || self.stop.load(Ordering::Relaxed)
    }

    fn entry(&self, path: &Path, metadata: &Metadata) -> InitialEntry {
        let is_sampled =
            metadata.is_file() && metadata.len() > 0 && self.started.elapsed() < SAMPLING;
        InitialEntry {
            path: path.to_string_lossy().into_owned(),
            device: device(metadata.dev()),
            inode: Some(metadata.ino()),
            mode: metadata.mode(),
            owner: Some(metadata.uid()),
            group: Some(metadata.gid()),
            bytes: metadata.len(),
            allocated_bytes: metadata.blocks() * 512,
            content: is_sampled.then(|| content(path, metadata.len())).flatten(),
            birth_ms: birth_ms(metadata),
            attributes: attributes(path),
            data: if is_sampled && has_holes(metadata) { ranges(path) } else { Vec::new() },
            target: metadata.is_symlink().then(|| target(path)).flatten(),
        }
    }
}

/// Time of creation where the filesystem keeps it, milliseconds since 1970.
fn birth_ms(metadata: &Metadata) -> Option<u64> {
    let since = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// Extended attributes that a replay may set: those of users, and access lists. Most files have none, and the list is
/// all that is asked for. Values are read for their length alone.
fn attributes(path: &Path) -> Vec<InitialAttribute> {
    const LIST: usize = 4096;
    const LONGEST_VALUE: usize = 65_536;
    let mut list = [0_u8; LIST];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list[..]) else { return Vec::new() };
    let names = list[..length.min(LIST)].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let found = |name: &[u8]| {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('\n'))?;
        if !name.starts_with("user.") && !name.starts_with("system.posix_acl_") {
            return None;
        }
        let length = rustix::fs::lgetxattr(path, name, &mut vec![0; LONGEST_VALUE][..]).ok()?;
        Some(InitialAttribute { name: name.to_owned(), bytes: u32::try_from(length).ok()? })
    };
    names.filter_map(found).collect()
}

fn has_holes(metadata: &Metadata) -> bool {
    metadata.blocks() * 512 < metadata.len()
}

/// Ranges of a file that have data; none when there are too many.
fn ranges(path: &Path) -> Vec<DataRange> {
    use rustix::fs::SeekFrom::{Data, Hole};
    let flags = libc::O_NOFOLLOW | O_NOATIME;
    let open = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let Ok(file) = open else { return Vec::new() };
    let (mut found, mut at) = (Vec::new(), 0);
    while let Ok(start) = rustix::fs::seek(&file, Data(at)) {
        // The end of the file is a hole.
        let Ok(end) = rustix::fs::seek(&file, Hole(start)) else { break };
        if found.len() == DataRange::MOST || end <= start {
            return Vec::new();
        }
        found.push(DataRange { start, bytes: end - start });
        at = end;
    }
    found
}

/// Text of a symbolic link.
fn target(path: &Path) -> Option<String> {
    Some(std::fs::read_link(path).ok()?.to_string_lossy().into_owned())
}

/// The device as the kernel keeps it: major number << 20 | minor number.
fn device(number: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    (minor < 1 << 20 && major < 1 << 12).then_some(major << 20 | minor)
}

/// True for a page in the page cache; `None` where the filesystem maps no files.
///
/// A read with `RWF_NOWAIT` would start reading it, and find it there when the device is fast.
fn is_cached(file: &File, offset: u64) -> Option<bool> {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let (length, mut resident) = (rustix::param::page_size(), 0);
    let start = offset - offset % length as u64;
    let none = std::ptr::null_mut();
    // SAFETY: a new mapping at an address that the kernel chooses touches no existing memory.
    let mapped =
        unsafe { mmap(none, length, ProtFlags::READ, MapFlags::SHARED, file, start) }.ok()?;
    // SAFETY: the mapping is one page, for which `mincore` writes one byte; nothing reads the page itself.
    let asked = unsafe { libc::mincore(mapped, length, &raw mut resident) };
    // SAFETY: the page was mapped above and nothing refers to it.
    let _ = unsafe { munmap(mapped, length) };
    (asked == 0).then_some(resident & 1 == 1)
}

/// Reads a page; one that was not in the page cache is not there afterwards, so that the load starts as cold as it
/// would alone.
fn read_page(file: &File, offset: u64, page: &mut [u8]) -> io::Result<usize> {
    let was_cold = is_cached(file, offset) == Some(false);
    let read = file.read_at(page, offset)?;
    if was_cold {
        let length = std::num::NonZeroU64::new(page.len() as u64);
        // It only advises.
        let _ = rustix::fs::fadvise(file, offset, length, rustix::fs::Advice::DontNeed);
    }
    Ok(read)
}

/// Kind of the file's content.
fn content(path: &Path, bytes: u64) -> Option<Content> {
    let open =
        |flags| OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | flags).open(path);
    let file: File = open(O_NOATIME).or_else(|_| open(0)).ok()?;
    let advice = rustix::fs::Advice::Random;
    let _ = rustix::fs::fadvise(&file, 0, None, advice);
    let last = bytes.saturating_sub(1) / SAMPLE as u64;
    let mut places = vec![0, last / 2, last];
    places.dedup();
    let mut sample = Vec::with_capacity(places.len() * SAMPLE);
    for place in places {
        let mut page = [0; SAMPLE];
        let read = read_page(&file, place * SAMPLE as u64, &mut page).ok()?;
        sample.extend_from_slice(&page[..read]);
    }
    Content::of(&sample)
}

#[cfg(test)]
mod tests;
