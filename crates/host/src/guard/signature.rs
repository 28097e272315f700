//! Marks of layers that a device belongs to even while they are not running.

use crate::device::Device;
use crate::error::Error;
use crate::program;
use crate::sysfs::System;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Bytes of the beginning that are read at once: all signatures except those at the end (RAID, ZFS).
const HEAD: usize = 512 << 10;

/// Second header of LUKS2, at one of these offsets.
const LUKS2_SECOND: [usize; 5] = [0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000];

const MD_MAGIC: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
const BCACHE_MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
/// Of an uberblock, in the byte order of the machine that wrote it.
const ZFS_MAGIC: u64 = 0x00ba_b10c;
const ZFS_LABEL: u64 = 256 << 10;
const BTRFS_SUPERBLOCK: usize = 64 << 10;

/// Layers that libblkid knows besides every `…_member`, the image of a machine that hibernates, and
/// filesystems that another machine may have mounted, which nothing here shows.
const OTHER_LAYERS: [&str; 20] = [
    "BitLocker", "DM_integrity", "DM_snapshot_cow", "DM_verity_hash", "VMFS", "bcache",
    "ceph_bluestore", "crypto_LUKS", "cs_fvault2", "drbd", "drbdmanage_control_volume",
    "drbdproxy_datalog", "gfs", "gfs2", "ocfs2", "stratis", "swsuspend", "ubi", "ubifs", "vdo",
];

/// The layer that a device is a member of; `None` when it carries no such mark.
///
/// # Errors
/// When it cannot be read, also by `wipefs`, without which the rarer marks are not known.
pub(crate) fn layer(
    system: &System,
    device: &Device,
    node: &Path,
) -> Result<Option<String>, Error> {
    match by_reading(system, device, node).map_err(Error::io("read", node))? {
        Some(layer) => Ok(Some(layer)),
        None => by_wipefs(system, node),
    }
}

/// The layers that people lose most, without the help of another program.
fn by_reading(system: &System, device: &Device, node: &Path) -> std::io::Result<Option<String>> {
    let unknown = || std::io::Error::other("its size is not known, so its end cannot be looked at");
    let size = device.numeric("size").ok_or_else(unknown)? * 512;
    let head = system.nodes.read_at(node, 0, HEAD)?;
    if let Some(found) = in_head(&head) {
        return Ok(Some(found.to_owned()));
    }
    let at = |offset: u64, length: usize| system.nodes.read_at(node, offset, length);
    for offset in raid_at_end(size) {
        if at(offset, 4)?.starts_with(&MD_MAGIC) {
            return Ok(Some("linux_raid_member".to_owned()));
        }
    }
    let end = size / ZFS_LABEL * ZFS_LABEL;
    for label in [2, 1] {
        let offset = end.saturating_sub(label * ZFS_LABEL);
        if size >= 4 * ZFS_LABEL && has_uberblock(&at(offset, HEAD / 2)?, 0) {
            return Ok(Some("zfs_member".to_owned()));
        }
    }
    Ok(None)
}

fn in_head(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| {
        head.get(offset..offset + magic.len()).is_some_and(|bytes| bytes == magic)
    };
    let lvm = (0..4).map(|sector| sector * 512);
    if lvm.into_iter().any(|offset| at(offset, b"LABELONE") && at(offset + 24, b"LVM2 001")) {
        return Some("LVM2_member");
    }
    if at(0, b"LUKS\xba\xbe") || LUKS2_SECOND.iter().any(|offset| at(*offset, b"SKUL\xba\xbe")) {
        return Some("crypto_LUKS");
    }
    if at(0, &MD_MAGIC) || at(4096, &MD_MAGIC) {
        return Some("linux_raid_member");
    }
    if at(4096 + 24, &BCACHE_MAGIC) {
        return Some("bcache");
    }
    if has_uberblock(head, 0) || has_uberblock(head, HEAD / 2) {
        return Some("zfs_member");
    }
    // One device is an ordinary filesystem; several are an array.
    let devices = head.get(BTRFS_SUPERBLOCK + 0x88..BTRFS_SUPERBLOCK + 0x90);
    let several = devices.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    if at(BTRFS_SUPERBLOCK + 64, b"_BHRfS_M") && several.is_some_and(|count| count > 1) {
        return Some("btrfs of several devices");
    }
    None
}

/// The second half of a ZFS label is a ring of uberblocks of 1 KiB or more.
fn has_uberblock(bytes: &[u8], label: usize) -> bool {
    let ring = bytes.get(label + HEAD / 4..label + HEAD / 2).unwrap_or_default();
    ring.chunks_exact(1024).any(|block| {
        let magic: [u8; 8] = block[..8].try_into().unwrap_or_default();
        u64::from_le_bytes(magic) == ZFS_MAGIC || u64::from_be_bytes(magic) == ZFS_MAGIC
    })
}

/// Metadata of versions 0.90 and 1.0 is near the end.
fn raid_at_end(size: u64) -> Vec<u64> {
    const CHUNK: u64 = 64 << 10;
    if size < 2 * CHUNK {
        return Vec::new();
    }
    let version_0 = size / CHUNK * CHUNK - CHUNK;
    let version_1 = ((size / 512 - 16) & !7) * 512;
    vec![version_0, version_1]
}

/// libblkid knows rarer layers. Looking only: `--no-act`.
fn by_wipefs(system: &System, node: &Path) -> Result<Option<String>, Error> {
    let node = node.to_string_lossy();
    let arguments = ["--no-act", "--parsable", "--output", "TYPE", node.as_ref()];
    let output = program::run(system, "wipefs", "util-linux", &arguments)?;
    let types = output.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut layers = types.filter(|name| name.ends_with("_member") || OTHER_LAYERS.contains(name));
    Ok(layers.next().map(str::to_owned))
}
