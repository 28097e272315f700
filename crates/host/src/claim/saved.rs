//! Partition table and signatures of a claimed device: what they are, and a copy of the places where
//! they are.

use crate::error::{Error, Result};
use crate::guard::WriteToken;
use crate::guard::tree::Device;
use crate::program;
use crate::state;
use crate::sysfs::System;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// Partitions with their places and signatures with their UUIDs, of a device and its partitions.
/// `None` without the program that finds them.
pub(super) fn content(system: &System, device: &Device) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for part in device.with_parts() {
        let place = |name: &str| part.attribute(name).unwrap_or_default();
        if part != *device {
            let text = format!("{} at {} of {} sectors", part.name, place("start"), place("size"));
            found.push(text);
        }
        let node = system.dev.join(&part.name);
        let arguments = ["--no-act", "--parsable", "--output", "OFFSET,TYPE,UUID", node.to_str()?];
        let output = program::run(system, "wipefs", "util-linux", &arguments).ok()?;
        let lines = output.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        found.extend(lines.map(|line| format!("{}: {line}", part.name)));
    }
    Some(found)
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
        let number = |name: &str| part.attribute(name).and_then(|text| text.parse::<u64>().ok());
        if let (Some(start), Some(sectors)) = (number("start"), number("size")) {
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
    let sectors = device.attribute("size").and_then(|text| text.parse::<u64>().ok());
    let pieces = pieces(device, sectors.unwrap_or_default() * 512);
    let mut bytes = Vec::new();
    let mut kept = Vec::new();
    for piece in pieces {
        let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
        let read = system.nodes.read_at(node, piece.offset, length);
        let read = read.map_err(Error::io("read the beginning and the end of", node))?;
        kept.push(Piece { offset: piece.offset, length: read.len() as u64 });
        bytes.extend(read);
    }
    let header = Header { format: 1, device: device.name.clone(), pieces: kept };
    let encoded = serde_json::to_vec(&header).map_err(|error| encoding(copy, error))?;
    state::replace(copy, &[encoded, b"\n".to_vec(), bytes].concat())
}

/// Writes back the pieces that are not as they were; their number.
///
/// # Errors
/// When the copy is damaged, or the device cannot be read or written.
pub(super) fn restore(copy: &Path, token: &WriteToken) -> Result<usize> {
    let mut bytes = Vec::new();
    state::open_own(copy)?.read_to_end(&mut bytes).map_err(Error::io("read", copy))?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let header: Header =
        serde_json::from_slice(&bytes[..end]).map_err(|error| encoding(copy, error))?;
    let mut rest = bytes.get(end + 1..).unwrap_or_default();
    let device = token.open(false)?;
    let mut written = 0;
    for piece in header.pieces {
        let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
        let Some((then, after)) = rest.split_at_checked(length) else {
            return Err(encoding(copy, std::io::ErrorKind::UnexpectedEof));
        };
        rest = after;
        let mut now = vec![0; length];
        device.read_exact_at(&mut now, piece.offset).map_err(Error::io("read", token.path()))?;
        if now != then {
            device.write_all_at(then, piece.offset).map_err(Error::io("write", token.path()))?;
            written += 1;
        }
    }
    device.sync_all().map_err(Error::io("sync", token.path()))?;
    Ok(written)
}

fn encoding(copy: &Path, error: impl Into<std::io::Error>) -> Error {
    Error::io("decode the copy", copy)(error.into())
}
