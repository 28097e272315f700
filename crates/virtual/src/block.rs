//! Requests and configuration of a virtio block device (virtio standard 1.2, section 5.2).

use seekwell_device::{Geometry, Operation};

use crate::memory::{GuestMemory, OutOfRange};
use crate::ring::Segment;

#[cfg(test)]
mod tests;

/// Bytes of a request's header: type, priority, sector.
const HEADER_BYTES: usize = 16;

/// Bytes of `struct virtio_blk_config` that are filled in; a guest may read further zeroes.
pub const CONFIG_BYTES: usize = 60;

/// Bytes of a serial number, zero-padded.
pub const SERIAL_BYTES: usize = 20;

/// `VIRTIO_BLK_S_OK`
pub const STATUS_OK: u8 = 0;
/// `VIRTIO_BLK_S_IOERR`
pub const STATUS_IO_ERROR: u8 = 1;
/// `VIRTIO_BLK_S_UNSUPP`
pub const STATUS_UNSUPPORTED: u8 = 2;

/// Largest segment. With it, the number of segments bounds the length of a request exactly.
const SEGMENT_BYTES: u32 = 4096;

/// Bytes of one range of a discard.
const RANGE_BYTES: usize = 16;

/// A decoded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Something a disk does.
    Disk {
        /// Read or write.
        operation: Operation,
        /// First sector of 512 bytes.
        sector: u64,
        /// Sectors of 512 bytes.
        sectors: u32,
    },
    /// The serial number.
    Identify,
    /// Nothing this device knows.
    Unknown,
    /// Known, but its length or range makes no sense.
    Malformed,
}

/// A request found in a chain of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The decoded request.
    pub command: Command,
    /// Guest address of the status byte.
    pub status_address: u64,
    /// Bytes of data in the direction of the command.
    pub data_bytes: u64,
    /// Number that the guest gave to the request's origin, in the field of its priority; 0 for none.
    pub origin: u32,
}

/// A chain that is not even the frame of a request, so that no status can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    #[error("a request has {0} bytes of header instead of 16")]
    Header(u64),
    #[error("a request has no byte for its status")]
    Status,
    #[error("a request points outside the guest's memory: {0}")]
    Outside(#[from] OutOfRange),
}

/// Reads the frame of a request and leaves in `segments` those of its data.
///
/// # Errors
///
/// [`FrameFault`].
pub fn parse(memory: &impl GuestMemory, segments: &mut Vec<Segment>) -> Result<Frame, FrameFault> {
    let header = take_header(memory, segments)?;
    let status_address = take_status(segments)?;
    let [t0, t1, t2, t3, o0, o1, o2, o3, s0, s1, s2, s3, s4, s5, s6, s7] = header;
    let kind = u32::from_le_bytes([t0, t1, t2, t3]);
    let sector = u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
    let writable = matches!(kind, 0 | 8);
    segments.retain(|segment| segment.writable == writable && segment.length > 0);
    let data_bytes = segments.iter().map(|segment| u64::from(segment.length)).sum();
    let command = match kind {
        0 => transfer(Operation::Read, sector, data_bytes),
        1 => transfer(Operation::Write, sector, data_bytes),
        4 => Command::Disk { operation: Operation::Flush, sector: 0, sectors: 0 },
        8 if data_bytes >= SERIAL_BYTES as u64 => Command::Identify,
        8 => Command::Malformed,
        11 => range(memory, Operation::Discard, segments, data_bytes)?,
        13 => range(memory, Operation::WriteZeroes, segments, data_bytes)?,
        _ => Command::Unknown,
    };
    let origin = u32::from_le_bytes([o0, o1, o2, o3]);
    Ok(Frame { command, status_address, data_bytes, origin })
}

fn transfer(operation: Operation, sector: u64, bytes: u64) -> Command {
    match u32::try_from(bytes / 512) {
        Ok(sectors) if bytes.is_multiple_of(512) && sectors > 0 => {
            Command::Disk { operation, sector, sectors }
        }
        _ => Command::Malformed,
    }
}

/// Devices here offer one range per request.
fn range(
    memory: &impl GuestMemory,
    operation: Operation,
    segments: &[Segment],
    bytes: u64,
) -> Result<Command, OutOfRange> {
    if bytes != RANGE_BYTES as u64 {
        return Ok(Command::Malformed);
    }
    let mut range = [0; RANGE_BYTES];
    gather(memory, segments, &mut range)?;
    let [s0, s1, s2, s3, s4, s5, s6, s7, n0, n1, n2, n3, ..] = range;
    let sector = u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
    let sectors = u32::from_le_bytes([n0, n1, n2, n3]);
    Ok(Command::Disk { operation, sector, sectors })
}

/// Copies the bytes of `segments`, in order, until `into` is full.
///
/// # Errors
///
/// [`OutOfRange`], also when the segments are shorter than `into`.
pub fn gather(
    memory: &impl GuestMemory,
    segments: &[Segment],
    into: &mut [u8],
) -> Result<(), OutOfRange> {
    let mut rest = into;
    for segment in segments {
        let length = rest.len().min(segment.length as usize);
        let (now, later) = rest.split_at_mut(length);
        memory.read(segment.address, now)?;
        rest = later;
    }
    if rest.is_empty() { Ok(()) } else { Err(OutOfRange::new(0, rest.len())) }
}

/// Copies `from` to the bytes of `segments`, in order, as far as they reach.
///
/// # Errors
///
/// [`OutOfRange`].
pub fn scatter(
    memory: &mut impl GuestMemory,
    segments: &[Segment],
    from: &[u8],
) -> Result<(), OutOfRange> {
    let mut rest = from;
    for segment in segments {
        let (now, later) = rest.split_at(rest.len().min(segment.length as usize));
        memory.write(segment.address, now)?;
        rest = later;
    }
    Ok(())
}

fn take_header(
    memory: &impl GuestMemory,
    segments: &mut [Segment],
) -> Result<[u8; HEADER_BYTES], FrameFault> {
    let mut header = [0; HEADER_BYTES];
    let mut filled = 0;
    for segment in segments.iter_mut().take_while(|segment| !segment.writable) {
        let length = (HEADER_BYTES - filled).min(segment.length as usize);
        memory.read(segment.address, &mut header[filled..filled + length])?;
        segment.address = segment.address.wrapping_add(length as u64);
        segment.length -= length as u32;
        filled += length;
        if filled == HEADER_BYTES {
            return Ok(header);
        }
    }
    Err(FrameFault::Header(filled as u64))
}

/// The last byte of the last buffer.
fn take_status(segments: &mut [Segment]) -> Result<u64, FrameFault> {
    let last = segments.iter_mut().rev().find(|segment| segment.writable && segment.length > 0);
    let segment = last.ok_or(FrameFault::Status)?;
    segment.length -= 1;
    let address = segment.address.checked_add(u64::from(segment.length));
    address.ok_or(FrameFault::Outside(OutOfRange { address: segment.address, length: 1 }))
}

/// Feature bits of virtio that every device here has: version 1, indirect descriptors, and the
/// block device's segment size, segment count, block size and topology.
const COMMON_FEATURES: u64 = 1 << 32 | 1 << 28 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 10;

/// `VIRTIO_BLK_F_RO`
const FEATURE_READ_ONLY: u64 = 1 << 5;
/// `VIRTIO_BLK_F_FLUSH`: offered by a device with a volatile write cache, and only by such.
const FEATURE_FLUSH: u64 = 1 << 9;
/// `VIRTIO_BLK_F_DISCARD`
const FEATURE_DISCARD: u64 = 1 << 13;
/// `VIRTIO_BLK_F_WRITE_ZEROES`
const FEATURE_WRITE_ZEROES: u64 = 1 << 14;

/// Feature bits of a device.
#[must_use]
pub fn features(geometry: &Geometry, read_only: bool) -> u64 {
    let optional = [
        (read_only, FEATURE_READ_ONLY),
        (geometry.write_cache, FEATURE_FLUSH),
        (geometry.max_discard_sectors.is_some(), FEATURE_DISCARD),
        (geometry.max_write_zeroes_sectors.is_some(), FEATURE_WRITE_ZEROES),
    ];
    let chosen = optional.iter().filter(|(has, _)| *has).map(|(_, bit)| bit);
    chosen.fold(COMMON_FEATURES, |all, bit| all | bit)
}

/// `struct virtio_blk_config` of a device.
#[must_use]
pub fn config(geometry: &Geometry) -> [u8; CONFIG_BYTES] {
    let mut config = [0; CONFIG_BYTES];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    let logical = geometry.logical_block.max(512);
    let segments = (geometry.max_request_bytes / SEGMENT_BYTES).max(1);
    let exponent = (geometry.physical_block.max(logical) / logical).ilog2() as u8;
    put(0, &geometry.sectors_512.to_le_bytes());
    put(8, &SEGMENT_BYTES.to_le_bytes());
    put(12, &segments.to_le_bytes());
    put(20, &logical.to_le_bytes());
    put(24, &[exponent]);
    put(32, &[u8::from(geometry.write_cache)]);
    put(34, &1_u16.to_le_bytes());
    if let Some(sectors) = geometry.max_discard_sectors {
        put(36, &sectors.to_le_bytes());
        put(40, &1_u32.to_le_bytes());
        put(44, &(logical / 512).to_le_bytes());
    }
    if let Some(sectors) = geometry.max_write_zeroes_sectors {
        put(48, &sectors.to_le_bytes());
        put(52, &1_u32.to_le_bytes());
    }
    config
}
