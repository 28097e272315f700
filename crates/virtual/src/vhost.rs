//! The part of the vhost-user protocol that a User-Mode Linux guest speaks
//! (`arch/um/drivers/virtio_uml.c`): the messages as plain data.
//!
//! Kicks and calls go as messages, each answered, because only that keeps virtual time exact.

use crate::mapped::RegionPlan;

#[cfg(test)]
mod tests;

/// Bytes of a message's header.
pub const HEADER_BYTES: usize = 12;

/// The longest payload that is accepted. The guest's longest is a configuration of 4 KiB.
pub const LONGEST_PAYLOAD: usize = 4096 + 64;

/// Protocol version 1 in the flags.
const VERSION: u32 = 1;
const FLAG_REPLY: u32 = 1 << 2;
const FLAG_NEED_REPLY: u32 = 1 << 3;

/// Feature bit of virtio that stands for the protocol features (`VHOST_USER_F_PROTOCOL_FEATURES`).
pub const FEATURE_PROTOCOL: u64 = 1 << 30;

/// `REPLY_ACK`, `BACKEND_REQ`, `CONFIG` and `INBAND_NOTIFICATIONS`: virtual time needs all four.
pub const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// Number of [`Request::Kick`] (`VHOST_USER_VRING_KICK`).
pub const KICK: u32 = 35;

/// `VHOST_USER_BACKEND_VRING_CALL`
const CALL: u32 = 4;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the request.
    pub request: u32,
    /// Version and flags.
    pub flags: u32,
    /// Bytes of payload that follow.
    pub size: u32,
}

impl Header {
    /// Reads a header.
    #[must_use]
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [r0, r1, r2, r3, f0, f1, f2, f3, s0, s1, s2, s3] = *bytes;
        Self {
            request: u32::from_le_bytes([r0, r1, r2, r3]),
            flags: u32::from_le_bytes([f0, f1, f2, f3]),
            size: u32::from_le_bytes([s0, s1, s2, s3]),
        }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        for (slot, number) in [self.request, self.flags, self.size].iter().enumerate() {
            bytes[slot * 4..slot * 4 + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Returns true if the guest waits for an answer to a request that has none of its own.
    #[must_use]
    pub fn needs_reply(&self) -> bool {
        self.flags & FLAG_NEED_REPLY != 0
    }
}

/// Guest-physical addresses of the parts of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingAddresses {
    /// Descriptor table.
    pub descriptors: u64,
    /// Used ring.
    pub used: u64,
    /// Available ring.
    pub available: u64,
}

/// A request of the guest. A disk has only ring 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Feature bits of virtio, please.
    GetFeatures,
    /// These were chosen.
    SetFeatures(u64),
    /// Nothing to do.
    SetOwner,
    /// The guest's memory, one file descriptor for each region.
    SetMemoryTable(Vec<RegionPlan>),
    /// Descriptors of the ring.
    SetRingSize(u32),
    /// First entry of the ring.
    SetRingBase(u32),
    /// Set the addresses of the ring.
    SetRingAddresses(RingAddresses),
    /// True if the ring is used from now on, false if no longer.
    EnableRing(bool),
    /// Protocol features, please.
    GetProtocolFeatures,
    /// These were chosen.
    SetProtocolFeatures(u64),
    /// The socket for calls comes with this message.
    SetCallSocket,
    /// So many bytes of the configuration from its start, please.
    GetConfig(u32),
    /// There is something in the ring.
    Kick,
    /// Anything else.
    Other(u32),
}

/// A malformed message of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// Not version 1.
    #[error("a vhost-user message has flags {0:#x}, not those of version 1")]
    Version(u32),
    /// Longer than any message.
    #[error("a vhost-user message announces {0} bytes")]
    Length(u32),
    /// Not the payload of its request.
    #[error("vhost-user request {request} has a payload of {bytes} bytes")]
    Payload {
        /// Number of the request.
        request: u32,
        /// Its length.
        bytes: usize,
    },
    /// For another ring.
    #[error("the driver set up ring {0}, but a disk has only ring 0")]
    Ring(u32),
}

/// Checks a header before its payload is read.
///
/// # Errors
///
/// [`MessageFault::Version`], [`MessageFault::Length`].
pub fn check(header: &Header) -> Result<(), MessageFault> {
    if header.flags & 3 != VERSION {
        return Err(MessageFault::Version(header.flags));
    }
    if header.size as usize > LONGEST_PAYLOAD {
        return Err(MessageFault::Length(header.size));
    }
    Ok(())
}

/// Reads a request.
///
/// # Errors
///
/// [`MessageFault::Payload`], [`MessageFault::Ring`].
pub fn parse(header: &Header, payload: &[u8]) -> Result<Request, MessageFault> {
    let fault = || MessageFault::Payload { request: header.request, bytes: payload.len() };
    let number = || u64_at(payload, 0).ok_or_else(fault);
    let state = || match u32_at(payload, 0).zip(u32_at(payload, 4)).ok_or_else(fault)? {
        (0, state) => Ok(state),
        (ring, _) => Err(MessageFault::Ring(ring)),
    };
    Ok(match header.request {
        1 => Request::GetFeatures,
        2 => Request::SetFeatures(number()?),
        3 => Request::SetOwner,
        5 => Request::SetMemoryTable(regions(payload).ok_or_else(fault)?),
        8 => Request::SetRingSize(state()?),
        9 => {
            let addresses = addresses(payload).ok_or_else(fault)?;
            state().map(|_| Request::SetRingAddresses(addresses))?
        }
        10 => Request::SetRingBase(state()?),
        15 => Request::GetProtocolFeatures,
        16 => Request::SetProtocolFeatures(number()?),
        18 => Request::EnableRing(state()? != 0),
        21 => Request::SetCallSocket,
        24 => Request::GetConfig(u32_at(payload, 4).ok_or_else(fault)?),
        KICK => state().map(|_| Request::Kick)?,
        other => Request::Other(other),
    })
}

fn u32_at(payload: &[u8], at: usize) -> Option<u32> {
    payload.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(payload: &[u8], at: usize) -> Option<u64> {
    payload.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn regions(payload: &[u8]) -> Option<Vec<RegionPlan>> {
    let count = u32_at(payload, 0)? as usize;
    let region = |index: usize| {
        let at = 8 + 32 * index;
        Some(RegionPlan {
            guest_address: u64_at(payload, at)?,
            bytes: u64_at(payload, at + 8)?,
            file_offset: u64_at(payload, at + 24)?,
        })
    };
    (count <= 8).then(|| (0..count).map(region).collect())?
}

fn addresses(payload: &[u8]) -> Option<RingAddresses> {
    Some(RingAddresses {
        descriptors: u64_at(payload, 8)?,
        used: u64_at(payload, 16)?,
        available: u64_at(payload, 24)?,
    })
}

/// The answer to a request, with a number as payload.
#[must_use]
pub fn reply_number(request: u32, number: u64) -> Vec<u8> {
    reply(request, &number.to_le_bytes())
}

/// The answer to [`Request::GetConfig`]: exactly as many bytes as were asked for.
#[must_use]
pub fn reply_config(request: u32, size: u32, config: &[u8]) -> Vec<u8> {
    let size = size.min(LONGEST_PAYLOAD as u32 - 12);
    let mut payload = vec![0; 12 + size as usize];
    payload[4..8].copy_from_slice(&size.to_le_bytes());
    let copied = config.len().min(size as usize);
    payload[12..12 + copied].copy_from_slice(&config[..copied]);
    reply(request, &payload)
}

fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    let header = Header { request, flags: VERSION | FLAG_REPLY, size: payload.len() as u32 };
    [&header.encode(), payload].concat()
}

/// Tells the guest of used chains in a ring, and asks for an answer.
#[must_use]
pub fn call(ring: u32) -> [u8; HEADER_BYTES + 8] {
    let header = Header { request: CALL, flags: VERSION | FLAG_NEED_REPLY, size: 8 };
    let mut bytes = [0; HEADER_BYTES + 8];
    bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
    bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&ring.to_le_bytes());
    bytes
}
