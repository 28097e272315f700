//! Rebuilds the files that a trace found when it began.

use crate::attributes;
use crate::error::ReplayError;
use crate::jail;
use crate::links;
use crate::plan::{Plan, TreeEntry, TreeKind};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use seekwell_stats::seeded;
use seekwell_trace::{Content as Recorded, DataRange};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Data of rebuilt files and of recorded writes: a trace does not hold the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Bytes that do not compress.
    #[default]
    Random,
    /// Zeros.
    Zeros,
}

/// Size of the pieces that files are written in.
const PIECE: usize = 1 << 20;
/// Unit in which filesystems compress at least.
const PAGE: usize = 4096;

impl Content {
    /// A piece of data.
    pub(crate) fn piece(self, bytes: usize) -> Vec<u8> {
        let mut piece = vec![0; bytes];
        if self == Self::Random {
            let mut rng = seeded(1);
            for word in piece.chunks_exact_mut(8) {
                word.copy_from_slice(&rng.next_u64().to_le_bytes());
            }
        }
        piece
    }
}

/// Files and bytes that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Files, directories and links.
    pub files: u64,
    /// Bytes of data in files.
    pub bytes: u64,
}

/// Makes the initial tree of a plan in an empty directory.
///
/// # Errors
/// When it does not fit, before anything is made, or a file cannot be made.
pub fn rebuild(
    plan: &Plan,
    target: &Path,
    content: Content,
    stop: Option<&AtomicBool>,
) -> Result<Rebuilt, ReplayError> {
    check_room(plan, target, 0)?;
    let work = || {
        jail::give_up_rights().map_err(ReplayError::io("enter", target))?;
        let mut pieces = Pieces::new(content);
        let mut made = Rebuilt::default();
        for entry in &plan.tree {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break;
            }
            make(entry, &mut pieces, made.files).map_err(|errno| {
                ReplayError::io("make", &target.join(entry.path.trim_start_matches('/')))(errno)
            })?;
            made.files += 1;
            made.bytes += if entry.kind == TreeKind::File { entry.data_bytes } else { 0 };
        }
        Ok(made)
    };
    // The rights are those of a thread of its own: the one around it has to leave the directory.
    jail::within(target, || {
        std::thread::scope(|scope| scope.spawn(work).join().map_err(|_| ReplayError::Panicked)?)
    })
}

/// Refuses a plan whose tree and calls need more than the filesystem has free, of which `kept` bytes
/// are to stay free.
///
/// # Errors
/// [`ReplayError::Unfit`].
pub fn check_room(plan: &Plan, target: &Path, kept: u64) -> Result<(), ReplayError> {
    let facts = rustix::fs::statvfs(target).map_err(ReplayError::io("measure", target))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let refuse = |needed: u64, unit: &str, free: String| {
        let target = target.display();
        ReplayError::Unfit(format!(
            "the files of the trace need {needed} {unit}, {target} has {free}; use a larger device"
        ))
    };
    let needed = plan.tree_room(facts.f_frsize).saturating_add(plan.growth);
    if needed > free.saturating_sub(kept) {
        let but = match kept {
            0 => String::new(),
            kept => format!(", of which {kept} are kept for other programs"),
        };
        return Err(refuse(needed, "bytes", format!("{free} free{but}")));
    }
    let files = plan.tree.len() as u64;
    // Filesystems without a fixed number of inodes report none.
    if facts.f_files > 0 && files > facts.f_favail {
        return Err(refuse(files, "files", format!("{} free", facts.f_favail)));
    }
    Ok(())
}

/// Data of each kind that rebuilt files have, made once.
struct Pieces {
    chosen: Content,
    random: Vec<u8>,
    zeros: Vec<u8>,
    /// Data that compresses, by its percentage.
    compressible: HashMap<u8, Vec<u8>>,
}

impl Pieces {
    fn new(chosen: Content) -> Self {
        let (random, zeros) = (Content::Random.piece(PIECE), Content::Zeros.piece(PIECE));
        Self { chosen, random, zeros, compressible: HashMap::new() }
    }

    /// A piece for a file, unlike every other piece where its kind allows that.
    fn of(&mut self, entry: &TreeEntry, file: u64, left: u64) -> &[u8] {
        let piece = match (self.chosen, entry.content) {
            (Content::Zeros, _) | (_, Some(Recorded::Zero)) => return &self.zeros,
            (Content::Random, Some(Recorded::Compressible(percent))) => {
                let random = &self.random;
                let piece = || compressible(random, percent);
                self.compressible.entry(percent).or_insert_with(piece)
            }
            (Content::Random, _) => &mut self.random,
        };
        // No two pieces are equal, so that nothing is shared between files.
        piece[..8].copy_from_slice(&file.to_le_bytes());
        piece[8..16].copy_from_slice(&left.to_le_bytes());
        piece
    }
}

/// Data of which a compressor leaves about this percentage: so much of each page is random.
fn compressible(random: &[u8], percent: u8) -> Vec<u8> {
    let mut piece = random.to_vec();
    for page in piece.chunks_mut(PAGE) {
        let kept = page.len() * usize::from(percent.min(100)) / 100;
        page[kept..].fill(b' ');
    }
    piece
}

fn make(entry: &TreeEntry, pieces: &mut Pieces, number: u64) -> Result<(), Errno> {
    let path = entry.path.as_str();
    let mode = |usual: u32| Mode::from_raw_mode(entry.mode.unwrap_or(usual) & 0o1777);
    match entry.kind {
        TreeKind::Directory => match rustix::fs::mkdir(path, mode(0o755)) {
            // A filesystem comes with directories of its own, such as lost+found.
            Err(Errno::EXIST) => {}
            made => made?,
        },
        TreeKind::Link => {
            let unknown = || links::to_own_directory(entry.bytes);
            rustix::fs::symlink(entry.target.clone().unwrap_or_else(unknown), path)?;
        }
        TreeKind::Name => {
            let same_as = entry.same_as.as_deref().unwrap_or_default();
            return rustix::fs::link(same_as, path);
        }
        TreeKind::File => make_file(entry, mode(0o644), pieces, number)?,
    }
    match entry.owner {
        Some((user, group)) if (user, group) != (0, 0) => {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(CWD, path, Some(user), Some(group), flags)?;
        }
        _ => {}
    }
    let mode = entry.mode.unwrap_or(0o644);
    let mut each = entry.attributes.iter();
    each.try_for_each(|one| attributes::give(path, &one.name, one.bytes, (&pieces.random, mode)))
}

fn make_file(entry: &TreeEntry, mode: Mode, pieces: &mut Pieces, number: u64) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(entry.path.as_str(), flags, mode)?;
    let whole = [DataRange { start: 0, bytes: entry.data_bytes }];
    let ranges = if entry.data.is_empty() { &whole[..] } else { &entry.data };
    let mut reached = 0;
    for range in ranges {
        let end = range.start.saturating_add(range.bytes).min(entry.bytes);
        let mut at = range.start;
        while at < end {
            let left = end - at;
            let piece = pieces.of(entry, number, left);
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let written = rustix::io::pwrite(&file, &piece[..most], at)?;
            if written == 0 {
                return Err(Errno::NOSPC);
            }
            at += written as u64;
        }
        reached = at;
    }
    if entry.bytes > reached {
        rustix::fs::ftruncate(&file, entry.bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
