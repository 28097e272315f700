//! The blocks of a filesystem that only say where a file's blocks are.

use rustix::fs::fstat;
use seekwell_host::fiemap::Extent;
use std::fs::File;

/// `EXT2_SUPER_MAGIC` of linux/magic.h, which ext2, ext3 and ext4 share.
const EXT_MAGIC: u64 = 0xEF53;

/// Blocks of the filesystem that hold nothing but where the file's blocks are: indirect blocks of
/// ext2 and ext3, nodes of ext4's extent tree. These filesystems count them in `st_blocks`, so that
/// what is left of that after the mapped blocks are such blocks (an inode that keeps its extended
/// attributes in a block of their own has one more). `None` for other filesystems.
pub(super) fn pointer_blocks(file: &File, extents: &[Extent]) -> Option<u64> {
    let filesystem = rustix::fs::fstatfs(file).ok()?;
    if filesystem.f_type as u64 != EXT_MAGIC {
        return None;
    }
    let allocated = u64::try_from(fstat(file).ok()?.st_blocks).ok()? * 512;
    let mapped: u64 = extents.iter().map(|extent| extent.length).sum();
    let block = u64::try_from(filesystem.f_bsize).ok().filter(|block| *block > 0)?;
    Some(allocated.checked_sub(mapped)? / block)
}
