//! Writes an EROFS image (`Documentation/filesystems/erofs.rst`): a read-only filesystem whose
//! uncompressed form is a table of inodes and the files one after the other.
//!
//! The image is a function of the tree alone: no times, no identifiers, one order.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::tree::{Node, Tree};

#[cfg(test)]
mod tests;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4096;

const SUPER_OFFSET: usize = 1024;
const MAGIC: u32 = 0xe0f5_e1e2;
const BLOCK_BITS: u8 = 12;
const INODE_BYTES: usize = 32;
const ENTRY_BYTES: usize = 12;

/// Inodes begin in the block after the superblock's.
const META_BLOCK: u32 = 1;

const TYPE_REGULAR: u16 = 0o100_000;
const TYPE_DIRECTORY: u16 = 0o040_000;
const TYPE_LINK: u16 = 0o120_000;

struct Inode<'a> {
    mode: u16,
    links: u16,
    data: Cow<'a, [u8]>,
    first_block: u32,
}

/// The image of a tree; its length is a multiple of [`BLOCK_BYTES`].
#[must_use]
pub fn image(tree: &Tree) -> Vec<u8> {
    let numbers: BTreeMap<&str, u64> =
        tree.iter().zip(0..).map(|((path, _), number)| (path, number)).collect();
    let mut inodes: Vec<Inode<'_>> =
        tree.iter().map(|(path, node)| inode(tree, &numbers, path, node)).collect();
    let meta_blocks = (inodes.len() * INODE_BYTES).div_ceil(BLOCK_BYTES);
    let mut next_block = META_BLOCK as usize + meta_blocks;
    for inode in &mut inodes {
        inode.first_block = next_block as u32;
        next_block += inode.data.len().div_ceil(BLOCK_BYTES);
    }
    let mut image = vec![0; next_block * BLOCK_BYTES];
    put_super(&mut image, inodes.len() as u64, next_block as u32);
    for (index, inode) in inodes.iter().enumerate() {
        let at = META_BLOCK as usize * BLOCK_BYTES + index * INODE_BYTES;
        image[at..at + INODE_BYTES].copy_from_slice(&inode_bytes(inode, index as u32));
        let data = &*inode.data;
        let at = inode.first_block as usize * BLOCK_BYTES;
        image[at..at + data.len()].copy_from_slice(data);
    }
    image
}

fn inode<'a>(
    tree: &'a Tree,
    numbers: &BTreeMap<&str, u64>,
    path: &str,
    node: &'a Node,
) -> Inode<'a> {
    let (mode, links, data): (_, _, Cow<'_, [u8]>) = match node {
        Node::File { executable, bytes } => {
            let mode = if *executable { 0o755 } else { 0o644 };
            (TYPE_REGULAR | mode, 1, Cow::Borrowed(bytes))
        }
        Node::Link { target } => (TYPE_LINK | 0o777, 1, Cow::Borrowed(target.as_bytes())),
        Node::Directory => {
            let (entries, subdirectories) = directory(tree, numbers, path);
            (TYPE_DIRECTORY | 0o755, 2 + subdirectories, Cow::Owned(entries))
        }
    };
    Inode { mode, links, data, first_block: 0 }
}

/// A directory's blocks: entries by name, in each block all fixed parts before all names.
fn directory(tree: &Tree, numbers: &BTreeMap<&str, u64>, path: &str) -> (Vec<u8>, u16) {
    let number = |path: &str| numbers.get(path).copied().unwrap_or(0);
    let mut entries = vec![
        (".".to_owned(), number(path), TYPE_DIRECTORY),
        ("..".to_owned(), number(Tree::parent(path)), TYPE_DIRECTORY),
    ];
    let mut subdirectories = 0;
    for (name, child, node) in tree.children(path) {
        subdirectories += u16::from(matches!(node, Node::Directory));
        entries.push((name.to_owned(), number(child), kind(node)));
    }
    entries.sort();
    let mut blocks: Vec<u8> = Vec::new();
    let mut rest = entries.as_slice();
    while !rest.is_empty() {
        let mut used = 0;
        let fits = |(name, ..): &&(String, u64, u16)| {
            used += ENTRY_BYTES + name.len();
            used <= BLOCK_BYTES
        };
        let (now, later) = rest.split_at(rest.iter().take_while(fits).count());
        blocks.resize(blocks.len().next_multiple_of(BLOCK_BYTES), 0);
        blocks.extend(directory_block(now));
        rest = later;
    }
    (blocks, subdirectories)
}

fn directory_block(entries: &[(String, u64, u16)]) -> Vec<u8> {
    let mut fixed = Vec::new();
    let mut names = Vec::new();
    for (name, number, kind) in entries {
        let name_at = entries.len() * ENTRY_BYTES + names.len();
        fixed.extend_from_slice(&number.to_le_bytes());
        fixed.extend_from_slice(&(name_at as u16).to_le_bytes());
        fixed.extend_from_slice(&[entry_type(*kind), 0]);
        names.extend_from_slice(name.as_bytes());
    }
    fixed.extend(names);
    fixed
}

fn kind(node: &Node) -> u16 {
    match node {
        Node::File { .. } => TYPE_REGULAR,
        Node::Link { .. } => TYPE_LINK,
        Node::Directory => TYPE_DIRECTORY,
    }
}

/// `FT_REG_FILE`, `FT_DIR`, `FT_SYMLINK`.
fn entry_type(kind: u16) -> u8 {
    match kind {
        TYPE_DIRECTORY => 2,
        TYPE_LINK => 7,
        _ => 1,
    }
}

/// `struct erofs_super_block`; the root is inode 0.
fn put_super(image: &mut [u8], inodes: u64, blocks: u32) {
    let mut put = |at: usize, bytes: &[u8]| {
        image[SUPER_OFFSET + at..SUPER_OFFSET + at + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &MAGIC.to_le_bytes());
    put(12, &[BLOCK_BITS]);
    put(16, &inodes.to_le_bytes());
    put(36, &blocks.to_le_bytes());
    put(40, &META_BLOCK.to_le_bytes());
}

/// `struct erofs_inode_compact`, its data in consecutive blocks (`EROFS_INODE_FLAT_PLAIN`).
fn inode_bytes(inode: &Inode<'_>, number: u32) -> [u8; INODE_BYTES] {
    let mut bytes = [0; INODE_BYTES];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(4, &inode.mode.to_le_bytes());
    put(6, &inode.links.to_le_bytes());
    put(8, &(inode.data.len() as u32).to_le_bytes());
    put(16, &inode.first_block.to_le_bytes());
    put(20, &number.to_le_bytes());
    bytes
}
