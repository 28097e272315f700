//! UFS2 on disk: superblock, cylinder groups, inodes and the root directory of an empty filesystem.
//!
//! Linux reads and writes UFS2 and has no program that makes one. The format is that of FreeBSD's
//! `newfs -O 2`: all numbers are little-endian, addresses count fragments, and a set bit of a map of
//! blocks is a free fragment. Groups keep no summary of free clusters, which Linux does not look at.

use crate::units::Bytes;

mod records;

#[cfg(test)]
mod tests;

use records::{Group, Record, Summary};

/// Byte at which Linux looks for the superblock.
const SUPERBLOCK_AT: u64 = 64 << 10;
/// Bytes that are kept for the superblock and for each of its copies.
const SUPERBLOCK_SPACE: u64 = 8 << 10;
/// Bytes of an inode.
const INODE: u64 = 256;
/// Inode of the root directory; 0 and 1 are never used.
const ROOT: u64 = 2;
/// Bytes of a directory's smallest part.
const DIRECTORY: u64 = 512;
/// Bytes of the summary of one group.
const SUMMARY: u64 = 16;
/// Blocks of inodes that are written with the group; the kernel writes further ones when it needs them.
const WRITTEN_INODE_BLOCKS: u64 = 2;
/// A small filesystem has this many groups.
const FEWEST_GROUPS: u64 = 4;

/// Bytes to write at a place of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Choices of who makes the filesystem, as `newfs` calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choices {
    /// `-b`: bytes of a block.
    block: u64,
    /// `-f`: bytes of a fragment.
    fragment: u64,
    /// `-i`: bytes for each inode.
    density: Option<u64>,
    /// `-m`: per cent that are kept free.
    reserve: u64,
}

/// Places and sizes, in fragments where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Geometry {
    block: u64,
    fragment: u64,
    reserve: u64,
    /// Fragments of a block.
    per_block: u64,
    /// Of the whole filesystem.
    size: u64,
    /// Of a group.
    group: u64,
    groups: u64,
    /// Inodes of a group.
    inodes: u64,
    /// First of the copy of the superblock in a group.
    superblock: u64,
    /// First of the group's own block.
    head: u64,
    /// First of the inodes.
    inode: u64,
    /// First of the data.
    data: u64,
    /// Those of the summaries of all groups, at the start of the first group's data.
    summaries: u64,
}

/// The pieces of an empty UFS2 on a device of this size, in the order in which they are to be written:
/// the superblock is the last. `arguments` are those of FreeBSD's newfs; `now` is the time in seconds.
///
/// # Errors
/// An argument that is not known here, or a device that is too small, in words.
pub fn pieces(
    device: Bytes,
    arguments: &[String],
    now: i64,
) -> Result<impl Iterator<Item = Piece>, String> {
    let geometry = Geometry::of(device, &Choices::read(arguments)?)?;
    let summaries: Vec<Summary> = (0..geometry.groups)
        .map(|number| geometry.map(number).summary(geometry.per_block))
        .collect();
    let superblock = geometry.superblock(&summaries, now);
    let copy = superblock.clone();
    // An old superblock goes too.
    let boot = Piece { offset: 0, bytes: vec![0; (SUPERBLOCK_AT + SUPERBLOCK_SPACE) as usize] };
    let groups = (0..geometry.groups).flat_map(move |number| {
        let start = number * geometry.group;
        let at = |fragment: u64| (start + fragment) * geometry.fragment;
        [
            Piece { offset: at(geometry.superblock), bytes: copy.clone() },
            Piece { offset: at(geometry.head), bytes: geometry.head(number, now) },
            Piece { offset: at(geometry.inode), bytes: geometry.inodes(number, now) },
        ]
    });
    let data = geometry.data * geometry.fragment;
    let summaries_piece = Piece { offset: data, bytes: geometry.summaries(&summaries) };
    let root = Piece {
        offset: data + geometry.summaries * geometry.fragment,
        bytes: geometry.root_directory(),
    };
    let last = Piece { offset: SUPERBLOCK_AT, bytes: superblock };
    Ok(std::iter::once(boot).chain(groups).chain([summaries_piece, root, last]))
}

/// Checks what [`pieces`] would refuse, on a device of any size if it is not known.
///
/// # Errors
/// As [`pieces`].
pub fn check(device: Option<Bytes>, arguments: &[String]) -> Result<(), String> {
    let choices = Choices::read(arguments)?;
    device.map_or(Ok(()), |device| Geometry::of(device, &choices).map(|_| ()))
}

impl Choices {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut choices = Self { block: 32 << 10, fragment: 4 << 10, density: None, reserve: 8 };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let Some((flag, rest)) = word.split_at_checked(2).filter(|_| word.starts_with('-'))
            else {
                return Err(format!("newfs has no argument {word}"));
            };
            let text = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
            let value: u64 = text
                .parse()
                .map_err(|_| format!("newfs {flag} takes a number, and has `{text}`"))?;
            match flag {
                "-O" if value == 2 => {}
                "-O" => return Err("newfs -O is 2 here: Linux writes UFS2".to_owned()),
                "-b" => choices.block = value,
                "-f" => choices.fragment = value,
                "-i" => choices.density = Some(value),
                "-m" => choices.reserve = value,
                _ => return Err(format!("newfs {flag} is not known here; use -b, -f, -i or -m")),
            }
        }
        choices.check()
    }

    /// Bounds of Linux: a fragment is at most a page, a block at most eight fragments.
    fn check(self) -> Result<Self, String> {
        let Self { block, fragment, density, reserve } = self;
        if !fragment.is_power_of_two() || !(512..=4096).contains(&fragment) {
            return Err(format!(
                "newfs -f {fragment}: a fragment has 512, 1024, 2048 or 4096 bytes"
            ));
        }
        if !block.is_power_of_two() || !(4096..=32 << 10).contains(&block) {
            return Err(format!("newfs -b {block}: a block has 4096, 8192, 16384 or 32768 bytes"));
        }
        if block < fragment || block > fragment * 8 {
            return Err(format!("newfs -b {block} -f {fragment}: a block has 1 to 8 fragments"));
        }
        if density.is_some_and(|density| density < fragment || density > 1 << 30) {
            return Err("newfs -i: a fragment to 1 GiB for each inode".to_owned());
        }
        if reserve > 50 {
            return Err(format!("newfs -m {reserve}: at most 50 per cent"));
        }
        Ok(self)
    }
}

impl Geometry {
    fn of(device: Bytes, choices: &Choices) -> Result<Self, String> {
        let Choices { block, fragment, reserve, .. } = *choices;
        let per_block = block / fragment;
        let whole = |fragments: u64| fragments.next_multiple_of(per_block);
        let superblock = whole((SUPERBLOCK_AT + SUPERBLOCK_SPACE).div_ceil(fragment));
        let head = superblock + whole(SUPERBLOCK_SPACE.div_ceil(fragment));
        let mut geometry = Self {
            block,
            fragment,
            reserve,
            per_block,
            size: device.0 / block * per_block,
            group: 0,
            groups: 0,
            inodes: 0,
            superblock,
            head,
            inode: head + per_block,
            data: 0,
            summaries: 0,
        };
        let largest = geometry.largest_group(choices.density);
        let few = geometry.size.div_ceil(FEWEST_GROUPS).next_multiple_of(per_block);
        geometry.set_group(largest.min(few), choices.density);
        geometry.end_with_a_whole_group(device)
    }

    /// Fragments of the largest group whose maps fit into its block.
    fn largest_group(&self, density: Option<u64>) -> u64 {
        let fits = |blocks: u64| {
            let mut group = *self;
            group.set_group(blocks * self.per_block, density);
            records::GROUP_MAPS + group.inodes.div_ceil(8) + group.group.div_ceil(8) <= self.block
        };
        // A bit for each fragment alone would fill the block.
        let (mut fit, mut no_fit) = (1, self.block * 8 / self.per_block);
        while no_fit - fit > 1 {
            let middle = fit.midpoint(no_fit);
            if fits(middle) { fit = middle } else { no_fit = middle }
        }
        fit * self.per_block
    }

    fn set_group(&mut self, group: u64, density: Option<u64>) {
        let per_inode = density.unwrap_or(2 * self.fragment);
        let in_block = self.block / INODE;
        self.group = group;
        self.inodes = (group * self.fragment).div_ceil(per_inode).next_multiple_of(in_block);
        self.data = self.inode + self.inodes / in_block * self.per_block;
    }

    /// Counts the groups. The last one may be short, and goes if it has room for its inodes alone.
    fn end_with_a_whole_group(mut self, device: Bytes) -> Result<Self, String> {
        self.groups = self.size.div_ceil(self.group.max(1));
        let last = self.size - self.groups.saturating_sub(1) * self.group;
        if last < self.data + self.per_block {
            self.groups = self.groups.saturating_sub(1);
            self.size = self.groups * self.group;
        }
        self.summaries = (self.groups * SUMMARY).div_ceil(self.fragment);
        let most = u64::from(u32::MAX);
        if self.size > most || self.groups * self.inodes > most {
            return Err(format!(
                "{device} is too large for UFS2 under Linux: at most 2^32 - 1 fragments and inodes"
            ));
        }
        let room = self.data + self.summaries + self.per_block;
        if self.groups == 0 || self.group < room || self.size < room {
            return Err(format!("{device} is too small for UFS2"));
        }
        Ok(self)
    }

    /// Free fragments and used inodes of a group.
    fn map(&self, number: u64) -> Group {
        let fragments = self.group.min(self.size - number * self.group);
        let mut group = Group::new(fragments, self.group, self.inodes);
        group.free(self.data..fragments);
        if number == 0 {
            group.take(self.data..self.data + self.summaries + 1);
            (0..=ROOT).for_each(|inode| group.use_inode(inode));
            group.directories = 1;
        } else {
            // The place of the boot program and the superblock is needed in the first group alone.
            group.free(0..self.superblock);
        }
        group
    }

    fn head(&self, number: u64, now: i64) -> Vec<u8> {
        let map = self.map(number);
        let initialized = self.inodes.min(WRITTEN_INODE_BLOCKS * self.block / INODE);
        map.record(number, self, initialized, now)
    }

    /// The first inodes of a group; in the first group the root directory is one of them.
    fn inodes(&self, number: u64, now: i64) -> Vec<u8> {
        let bytes = (self.inodes * INODE).min(WRITTEN_INODE_BLOCKS * self.block);
        let mut record = Record::new(bytes);
        if number == 0 {
            record.inode(ROOT * INODE, self, now);
        }
        record.bytes
    }

    fn summaries(&self, summaries: &[Summary]) -> Vec<u8> {
        let mut record = Record::new(self.summaries * self.fragment);
        for (place, summary) in (0..).step_by(SUMMARY as usize).zip(summaries) {
            record.summary(place, summary);
        }
        record.bytes
    }

    /// `.` and `..`.
    fn root_directory(&self) -> Vec<u8> {
        let mut record = Record::new(self.fragment);
        record.entry(0, 12, b".");
        record.entry(12, DIRECTORY - 12, b"..");
        record.bytes
    }

    fn superblock(&self, summaries: &[Summary], now: i64) -> Vec<u8> {
        let mut total = Summary::default();
        summaries.iter().for_each(|summary| total.add(summary));
        let mut record = Record::new(records::SUPERBLOCK.next_multiple_of(self.fragment));
        record.superblock(self, &total, now);
        record.bytes
    }

    /// Fragments that files can have.
    fn usable(&self) -> u64 {
        let of_groups = self.groups * (self.data - self.superblock);
        self.size - self.superblock - of_groups - self.summaries
    }
}
