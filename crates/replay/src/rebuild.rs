//! Rebuilds the files that a trace found when it began.

use crate::error::ReplayError;
use crate::jail;
use crate::plan::{Plan, TreeEntry, TreeKind};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use seekwell_stats::seeded;
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
    /// Bytes of files.
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
    check_room(plan, target)?;
    let work = || {
        jail::give_up_rights().map_err(ReplayError::io("enter", target))?;
        let mut piece = content.piece(PIECE);
        let mut made = Rebuilt::default();
        for entry in &plan.tree {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break;
            }
            make(entry, content, &mut piece, made.files).map_err(|errno| {
                ReplayError::io("make", &target.join(entry.path.trim_start_matches('/')))(errno)
            })?;
            made.files += 1;
            made.bytes += if entry.kind == TreeKind::File { entry.bytes } else { 0 };
        }
        Ok(made)
    };
    // The rights are those of a thread of its own: the one around it has to leave the directory.
    jail::within(target, || {
        std::thread::scope(|scope| scope.spawn(work).join().map_err(|_| ReplayError::Panicked)?)
    })
}

/// Refuses a tree that is larger than the filesystem.
fn check_room(plan: &Plan, target: &Path) -> Result<(), ReplayError> {
    let facts = rustix::fs::statvfs(target).map_err(ReplayError::io("measure", target))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let refuse =
        |needed, free, unit| ReplayError::NoRoom { path: target.to_owned(), needed, free, unit };
    if plan.tree_bytes() > free {
        return Err(refuse(plan.tree_bytes(), free, "bytes"));
    }
    let files = plan.tree.len() as u64;
    // Filesystems without a fixed number of inodes report none.
    if facts.f_files > 0 && files > facts.f_favail {
        return Err(refuse(files, facts.f_favail, "files"));
    }
    Ok(())
}

fn make(entry: &TreeEntry, content: Content, piece: &mut [u8], number: u64) -> Result<(), Errno> {
    let path = entry.path.as_str();
    let mode = |usual: u32| Mode::from_raw_mode(entry.mode.unwrap_or(usual) & 0o1777);
    match entry.kind {
        TreeKind::Directory => match rustix::fs::mkdir(path, mode(0o755)) {
            // A filesystem comes with directories of its own, such as lost+found.
            Err(Errno::EXIST) => Ok(()),
            made => made,
        },
        TreeKind::Link => rustix::fs::symlink(link_target(entry.bytes), path),
        TreeKind::File => {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::open(path, flags, mode(0o644))?;
            let mut left = entry.bytes;
            while left > 0 {
                if content == Content::Random {
                    // No two pieces are equal, so that nothing is shared between files.
                    piece[..8].copy_from_slice(&number.to_le_bytes());
                    piece[8..16].copy_from_slice(&left.to_le_bytes());
                }
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
                let written = rustix::io::write(&file, &piece[..most])?;
                if written == 0 {
                    return Err(Errno::NOSPC);
                }
                left -= written as u64;
            }
            Ok(())
        }
    }
}

/// A target of this length that leads to the link's own directory.
fn link_target(bytes: u64) -> String {
    let bytes = usize::try_from(bytes).unwrap_or(1).clamp(1, 4095);
    "./".repeat(bytes.div_ceil(2))[..bytes].to_owned()
}

#[cfg(test)]
mod tests;
