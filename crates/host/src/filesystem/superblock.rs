//! Block and journal sizes from the formats on disk, because each filesystem's own program prints
//! them differently and some do not at all.

use crate::error::Result;
use seekwell_model::units::Bytes;

#[cfg(test)]
mod tests;

/// Place of the journal by the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// There is none, or this format is not known here.
    None,
    Internal(Bytes),
    /// With its size, where the data device records it.
    External(Option<Bytes>),
}

/// Facts from the data device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnDisk {
    pub block_bytes: Option<u32>,
    pub journal: Place,
}

const UNKNOWN: OnDisk = OnDisk { block_bytes: None, journal: Place::None };

/// Recognises one format; `None` for any other.
type Parse = fn(&[u8]) -> Option<OnDisk>;

type Reader<'a> = dyn Fn(u64, usize) -> Result<Vec<u8>> + 'a;

/// Reads the data device's superblock.
pub(super) fn read(at: &Reader<'_>) -> Result<OnDisk> {
    let formats: [(u64, Parse); 4] = [(0, xfs), (1024, ext), (32 << 10, jfs), (64 << 10, reiserfs)];
    for (offset, parse) in formats {
        if let Some(found) = parse(&at(offset, 1024)?) {
            return Ok(found);
        }
    }
    Ok(UNKNOWN)
}

fn bytes<const N: usize>(block: &[u8], offset: usize) -> Option<[u8; N]> {
    block.get(offset..offset + N)?.try_into().ok()
}

fn le16(block: &[u8], offset: usize) -> Option<u16> {
    bytes(block, offset).map(u16::from_le_bytes)
}

fn le32(block: &[u8], offset: usize) -> Option<u32> {
    bytes(block, offset).map(u32::from_le_bytes)
}

fn be32(block: &[u8], offset: usize) -> Option<u32> {
    bytes(block, offset).map(u32::from_be_bytes)
}

fn product(count: u32, size: u32) -> Bytes {
    Bytes(u64::from(count) * u64::from(size))
}

/// `struct xfs_dsb`: block size at 4, start of the log at 48, its blocks at 96.
fn xfs(block: &[u8]) -> Option<OnDisk> {
    if !block.starts_with(b"XFSB") {
        return None;
    }
    let size = be32(block, 4)?;
    let start = u64::from_be_bytes(bytes(block, 48)?);
    let log = product(be32(block, 96)?, size);
    let journal = if start == 0 { Place::External(Some(log)) } else { Place::Internal(log) };
    Some(OnDisk { block_bytes: Some(size), journal })
}

const EXT_MAGIC: u16 = 0xEF53;
const EXT_HAS_JOURNAL: u32 = 0x4;
const EXT_JOURNAL_DEVICE: u32 = 0x8;

fn ext_block_size(block: &[u8]) -> Option<u32> {
    if le16(block, 56)? != EXT_MAGIC {
        return None;
    }
    1024_u32.checked_shl(le32(block, 24)?)
}

/// `struct ext4_super_block`: features at 92, journal inode at 224, its backup at 268 with the size
/// in the last two words, type of the backup at 253.
fn ext(block: &[u8]) -> Option<OnDisk> {
    let size = ext_block_size(block)?;
    let inode = le32(block, 224)?;
    let journal = if le32(block, 92)? & EXT_HAS_JOURNAL == 0 {
        Place::None
    } else if inode == 0 {
        Place::External(None)
    } else if block.get(253) == Some(&1) {
        let high = u64::from(le32(block, 268 + 15 * 4)?);
        let low = u64::from(le32(block, 268 + 16 * 4)?);
        Place::Internal(Bytes(high << 32 | low))
    } else {
        Place::None
    };
    Some(OnDisk { block_bytes: Some(size), journal })
}

const JFS_INLINE_LOG: u32 = 0x800;

/// `struct jfs_superblock`: block size at 16, flags at 36, extent of the inline log at 72 with its
/// length in 24 bits.
fn jfs(block: &[u8]) -> Option<OnDisk> {
    if !block.starts_with(b"JFS1") {
        return None;
    }
    let size = le32(block, 16)?;
    let inline = le32(block, 36)? & JFS_INLINE_LOG != 0;
    let length = le32(block, 72)? & 0x00FF_FFFF;
    let journal =
        if inline { Place::Internal(product(length, size)) } else { Place::External(None) };
    Some(OnDisk { block_bytes: Some(size), journal })
}

/// `struct reiserfs_super_block`: journal device at 16, its blocks without the one for its header at
/// 20, block size at 44, magic at 52.
fn reiserfs(block: &[u8]) -> Option<OnDisk> {
    let magic: [u8; 8] = bytes(block, 52)?;
    if !magic.starts_with(b"ReIsEr") {
        return None;
    }
    let size = u32::from(le16(block, 44)?);
    let log = product(le32(block, 20)?.checked_add(1)?, size);
    let journal =
        if le32(block, 16)? == 0 { Place::Internal(log) } else { Place::External(Some(log)) };
    Some(OnDisk { block_bytes: Some(size), journal })
}

const JBD_MAGIC: u32 = 0xC03B_3998;
const JFS_LOG_MAGIC: u32 = 0x8765_4321;

/// Size of the journal on a journal device of ext3, ext4 or JFS; `None` for any other content.
pub(super) fn external(at: &Reader<'_>) -> Result<Option<Bytes>> {
    let jfs_log = at(4096, 64)?;
    if le32(&jfs_log, 0) == Some(JFS_LOG_MAGIC) {
        let fields = le32(&jfs_log, 12).zip(le32(&jfs_log, 16));
        return Ok(fields.map(|(blocks, size)| product(blocks, size)));
    }
    let block = at(1024, 1024)?;
    let Some(size) = ext_block_size(&block) else { return Ok(None) };
    if le32(&block, 96).is_none_or(|features| features & EXT_JOURNAL_DEVICE == 0) {
        return Ok(None);
    }
    // The journal's own superblock follows in the next block that is free.
    let start = u64::from(size) * if size == 1024 { 2 } else { 1 };
    let header = at(start, 64)?;
    let is_journal = be32(&header, 0) == Some(JBD_MAGIC);
    let fields = be32(&header, 12).zip(be32(&header, 16)).filter(|_| is_journal);
    Ok(fields.map(|(size, blocks)| product(blocks, size)))
}
