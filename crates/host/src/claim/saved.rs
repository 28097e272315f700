//! A copy of the places where a claimed device has its partition table and signatures.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::planned::{FNV_OFFSET_BASIS, fnv};
use crate::state;
use crate::sysfs::System;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Partition tables, superblocks and metadata of layers are within this distance of an end.
const END: u64 = 1 << 20;

/// A piece of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    offset: u64,
    length: u64,
}

/// The first line of a copy; the bytes of the pieces follow.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    device: String,
    pieces: Vec<Piece>,
}

fn pieces(device: &Device, size: u64) -> Vec<Piece> {
    let mut pieces = BTreeMap::new();
    let mut add = |from: u64, to: u64| {
        for end in [from, to.saturating_sub(END)] {
            let length = END.min(to.min(size).saturating_sub(end));
            if length > 0 {
                pieces.insert(end, length);
            }
        }
    };
    add(0, size);
    for part in device.partitions() {
        if let Some((start, sectors)) = part.range() {
            add(start * 512, (start + sectors) * 512);
        }
    }
    pieces.into_iter().map(|(offset, length)| Piece { offset, length }).collect()
}

/// Copies the ends of a device and of its partitions into a private file.
///
/// # Errors
/// When the device cannot be read or the copy cannot be written.
pub(super) fn save(system: &System, copy: &Path, node: &Path, device: &Device) -> Result<()> {
    let pieces = pieces(device, device.numeric("size").unwrap_or_default() * 512);
    let mut bytes = Vec::new();
    let mut kept = Vec::new();
    for piece in pieces {
        let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
        let read = system.nodes.read_at(node, piece.offset, length);
        let read = read.map_err(Error::io("read the start and the end of", node))?;
        kept.push(Piece { offset: piece.offset, length: read.len() as u64 });
        bytes.extend(read);
    }
    let header = Header { format: 1, device: device.name.clone(), pieces: kept };
    let encoded = serde_json::to_vec(&header).map_err(|error| encoding(copy, error))?;
    state::replace(copy, &[encoded, b"\n".to_vec(), bytes].concat())
}

/// A copy as it was read back: offset and bytes of each piece.
#[derive(Debug)]
pub(super) struct Saved(Vec<(u64, Vec<u8>)>);

/// Reads a copy.
///
/// # Errors
/// When it is damaged, or another user could have written it.
pub(super) fn load(copy: &Path) -> Result<Saved> {
    let mut bytes = Vec::new();
    state::open_own(copy)?.read_to_end(&mut bytes).map_err(Error::io("read", copy))?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let header: Header =
        serde_json::from_slice(&bytes[..end]).map_err(|error| encoding(copy, error))?;
    let mut rest = bytes.get(end + 1..).unwrap_or_default();
    let mut pieces = Vec::with_capacity(header.pieces.len());
    for piece in header.pieces {
        let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
        let Some((piece_bytes, after)) = rest.split_at_checked(length) else {
            return Err(encoding(copy, std::io::ErrorKind::UnexpectedEof));
        };
        pieces.push((piece.offset, piece_bytes.to_vec()));
        rest = after;
    }
    Ok(Saved(pieces))
}

impl Saved {
    /// A text that any write to the device changes: the kernel's counts of writes since the disk
    /// appeared, and a hash of the pieces, since writes through another node of the disk are counted
    /// there. `None` where one of them is unknown.
    pub(super) fn state(&self, system: &System, target: &Path, device: &Device) -> Option<String> {
        let disk = device.disk();
        let counts = disk.as_ref().unwrap_or(device).attribute("queue/iostats");
        let stat = device.attribute("stat").filter(|_| counts.as_deref() == Some("1"))?;
        let fields: Vec<&str> = stat.split_whitespace().collect();
        let [writes, sectors, discards, discarded] =
            [4, 6, 11, 13].map(|field| fields.get(field).copied());
        let mut hash = FNV_OFFSET_BASIS;
        for (offset, then) in &self.0 {
            let now = system.nodes.read_at(target, *offset, then.len()).ok()?;
            hash = fnv(hash, &now);
        }
        Some(format!(
            "boot {}, disk {}, {} writes of {} sectors, {} discards of {}, ends {hash:032x}",
            system.boot_id().ok()?,
            Identity::read(system, device, None).diskseq?,
            writes?,
            sectors?,
            // Kernels before 4.18 count none.
            discards.unwrap_or("-"),
            discarded.unwrap_or("-"),
        ))
    }

    /// Writes back the pieces that are not as they were.
    ///
    /// # Errors
    /// When the device cannot be read or written.
    pub(super) fn restore(&self, device: &File, path: &Path) -> Result<()> {
        for (offset, then) in &self.0 {
            let mut now = vec![0; then.len()];
            device.read_exact_at(&mut now, *offset).map_err(Error::io("read", path))?;
            if now != *then {
                device.write_all_at(then, *offset).map_err(Error::io("write", path))?;
            }
        }
        device.sync_all().map_err(Error::io("sync", path))
    }
}

fn encoding(copy: &Path, error: impl Into<std::io::Error>) -> Error {
    Error::io("decode the copy", copy)(error)
}
