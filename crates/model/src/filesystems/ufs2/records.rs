//! The records of UFS2, field by field, as FreeBSD documents them in `fs(5)` and in the headers that
//! it names.

use super::{DIRECTORY, Geometry, INODE, ROOT, SUMMARY, SUPERBLOCK_AT};
use std::ops::Range;

/// Bytes of a superblock.
pub(super) const SUPERBLOCK: u64 = 1376;
/// First byte of the maps in a group's block.
pub(super) const GROUP_MAPS: u64 = 168;

const SUPERBLOCK_MAGIC: u32 = 0x1954_0119;
const GROUP_MAGIC: u32 = 0x0009_0255;
/// Superblock: it was unmounted, and nothing is to be checked.
const CLEAN: u8 = 1;
/// Superblock: flags are in their own field.
const FLAGS_MOVED: u8 = 0x80;
/// A directory that all may read and its owner writes.
const DIRECTORY_MODE: u16 = 0o040_755;
/// Type of a directory in an entry.
const ENTRY_IS_DIRECTORY: u8 = 4;
/// Bytes of the smallest sector, in which an inode counts what its file has.
const SECTOR: u64 = 512;
/// Addresses in an inode.
const DIRECT_ADDRESSES: u64 = 12;
/// Bytes of an address.
const ADDRESS: u64 = 8;
/// Bytes of a symbolic link that the inode holds itself.
const SHORT_LINK: u32 = 120;

/// Counts of a group, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub directories: u64,
    pub free_blocks: u64,
    pub free_inodes: u64,
    /// Those in blocks that are not wholly free.
    pub free_fragments: u64,
}

impl Summary {
    pub fn add(&mut self, other: &Self) {
        self.directories += other.directories;
        self.free_blocks += other.free_blocks;
        self.free_inodes += other.free_inodes;
        self.free_fragments += other.free_fragments;
    }

    fn fields(&self) -> [u64; 4] {
        [self.directories, self.free_blocks, self.free_inodes, self.free_fragments]
    }
}

/// The maps of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub directories: u64,
    fragments: u64,
    inodes: u64,
    used_inodes: Vec<u8>,
    free: Vec<u8>,
}

impl Group {
    /// A group with so many fragments, all in use, in maps for `most`, and no inode in use.
    pub fn new(fragments: u64, most: u64, inodes: u64) -> Self {
        let map = |bits: u64| vec![0; bits.div_ceil(8) as usize];
        Self { directories: 0, fragments, inodes, used_inodes: map(inodes), free: map(most) }
    }

    pub fn free(&mut self, fragments: Range<u64>) {
        fragments.for_each(|bit| self.free[(bit / 8) as usize] |= 1 << (bit % 8));
    }

    pub fn take(&mut self, fragments: Range<u64>) {
        fragments.for_each(|bit| self.free[(bit / 8) as usize] &= !(1 << (bit % 8)));
    }

    pub fn use_inode(&mut self, inode: u64) {
        self.used_inodes[(inode / 8) as usize] |= 1 << (inode % 8);
    }

    fn is_free(&self, fragment: u64) -> bool {
        self.free[(fragment / 8) as usize] >> (fragment % 8) & 1 == 1
    }

    pub fn summary(&self, per_block: u64) -> Summary {
        let used: u32 = self.used_inodes.iter().map(|byte| byte.count_ones()).sum();
        let (free_blocks, runs) = self.runs(per_block);
        Summary {
            directories: self.directories,
            free_blocks,
            free_inodes: self.inodes - u64::from(used),
            free_fragments: (0..).zip(runs).map(|(length, count)| length * count).sum(),
        }
    }

    /// Blocks that are wholly free, and the number of runs of 0 to 7 free fragments in others.
    fn runs(&self, per_block: u64) -> (u64, [u64; 8]) {
        let (mut blocks, mut runs) = (0, [0; 8]);
        for block in (0..self.fragments).step_by(per_block as usize) {
            let mut length = 0;
            let mut of_block = [0; 8];
            for fragment in block..block + per_block {
                if self.is_free(fragment) {
                    length += 1;
                } else {
                    of_block[length] += 1;
                    length = 0;
                }
            }
            if length as u64 == per_block {
                blocks += 1;
                continue;
            }
            of_block[length] += 1;
            runs.iter_mut().zip(of_block).for_each(|(sum, count)| *sum += count);
        }
        // A run of none is no run.
        runs[0] = 0;
        (blocks, runs)
    }

    /// The group's block, of which the first inodes are `initialized`.
    pub fn record(&self, number: u64, geometry: &Geometry, initialized: u64, now: i64) -> Vec<u8> {
        let mut record = Record::new(geometry.block);
        let (_, runs) = self.runs(geometry.per_block);
        let of_inodes = GROUP_MAPS;
        let of_fragments = of_inodes + self.used_inodes.len() as u64;
        record.u32(4, GROUP_MAGIC);
        record.number(12, number);
        record.number(20, self.fragments);
        record.summary(24, &self.summary(geometry.per_block));
        for (place, count) in (52..).step_by(4).zip(runs) {
            record.number(place, count);
        }
        record.number(92, of_inodes);
        record.number(96, of_fragments);
        record.number(100, of_fragments + self.free.len() as u64);
        record.number(116, geometry.inodes);
        record.number(120, initialized);
        record.put(136, &now.to_le_bytes());
        record.put(of_inodes, &self.used_inodes);
        record.put(of_fragments, &self.free);
        record.bytes
    }
}

/// Bytes with fields at places.
#[derive(Debug)]
pub(super) struct Record {
    pub bytes: Vec<u8>,
}

impl Record {
    pub fn new(bytes: u64) -> Self {
        Self { bytes: vec![0; bytes as usize] }
    }

    fn put(&mut self, place: u64, bytes: &[u8]) {
        let place = place as usize;
        self.bytes[place..place + bytes.len()].copy_from_slice(bytes);
    }

    fn u32(&mut self, place: u64, value: u32) {
        self.put(place, &value.to_le_bytes());
    }

    /// A number that the format's bounds keep below 2^32.
    fn number(&mut self, place: u64, value: u64) {
        self.u32(place, u32::try_from(value).unwrap_or(u32::MAX));
    }

    fn u64(&mut self, place: u64, value: u64) {
        self.put(place, &value.to_le_bytes());
    }

    pub fn summary(&mut self, place: u64, summary: &Summary) {
        for (place, value) in (place..place + SUMMARY).step_by(4).zip(summary.fields()) {
            self.number(place, value);
        }
    }

    /// An entry of a directory for the root.
    pub fn entry(&mut self, place: u64, length: u64, name: &[u8]) {
        self.number(place, ROOT);
        self.put(place + 4, &(length as u16).to_le_bytes());
        self.put(place + 6, &[ENTRY_IS_DIRECTORY, name.len() as u8]);
        self.put(place + 8, name);
    }

    /// The inode of the root directory.
    pub fn inode(&mut self, place: u64, geometry: &Geometry, now: i64) {
        self.put(place, &DIRECTORY_MODE.to_le_bytes());
        let links: u16 = 2;
        self.put(place + 2, &links.to_le_bytes());
        self.u64(place + 16, DIRECTORY);
        self.u64(place + 24, geometry.fragment / SECTOR);
        for time in [32, 40, 48, 56] {
            self.put(place + time, &now.to_le_bytes());
        }
        self.u32(place + 80, 1);
        self.u64(place + 112, geometry.data + geometry.summaries);
    }

    pub fn superblock(&mut self, geometry: &Geometry, total: &Summary, now: i64) {
        let Geometry { block, fragment, per_block, .. } = *geometry;
        let mask = |size: u64| u32::MAX << size.trailing_zeros();
        let log = |size: u64| u64::from(size.trailing_zeros());
        let addresses = block / ADDRESS;
        let numbers = [
            (8, geometry.superblock),
            (12, geometry.head),
            (16, geometry.inode),
            (20, geometry.data),
            (44, geometry.groups),
            (48, block),
            (52, fragment),
            (56, per_block),
            (60, geometry.reserve),
            (80, log(block)),
            (84, log(fragment)),
            // Blocks that are written together, and blocks of one file in a group.
            (88, (128 << 10) / block),
            (92, addresses),
            (96, log(per_block)),
            (100, log(fragment / SECTOR)),
            (104, self.bytes.len() as u64),
            (116, addresses),
            (120, block / INODE),
            (124, fragment / SECTOR),
            // Whole fragments: Linux copies so many into memory that it takes for this size.
            (156, geometry.summaries * fragment),
            (
                160,
                (GROUP_MAPS + geometry.inodes.div_ceil(8) + geometry.group.div_ceil(8))
                    .next_multiple_of(fragment),
            ),
            (184, geometry.inodes),
            (188, geometry.group),
            (860, block),
            // Size of an average file, files of an average directory.
            (1196, 16_384),
            (1200, 64),
        ];
        numbers.into_iter().for_each(|(place, value)| self.number(place, value));
        self.u32(28, u32::MAX);
        self.u32(72, mask(block));
        self.u32(76, mask(fragment));
        self.put(144, &now.to_le_bytes());
        self.put(208, &[0, CLEAN, 0, FLAGS_MOVED]);
        self.u64(1000, SUPERBLOCK_AT);
        for (place, value) in (1008..).step_by(8).zip(total.fields()) {
            self.u64(place, value);
        }
        self.put(1072, &now.to_le_bytes());
        self.u64(1080, geometry.size);
        self.u64(1088, geometry.usable());
        self.u64(1096, geometry.data);
        self.u32(1320, SHORT_LINK);
        // The format of inodes since 4.4BSD.
        self.u32(1324, 2);
        let blocks = DIRECT_ADDRESSES + addresses + addresses.pow(2) + addresses.pow(3);
        self.u64(1328, blocks.saturating_mul(block) - 1);
        self.u64(1336, block - 1);
        self.u64(1344, fragment - 1);
        self.u32(1356, 1);
        self.u32(1360, 1);
        self.u32(1372, SUPERBLOCK_MAGIC);
    }
}
