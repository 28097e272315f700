//! Deflated values that share a prefix.
//!
//! Records of one workload are nearly alike. Each is deflated (RFC 1951) as if the workload's
//! first record stood before it: what repeats costs a few bytes, and every record is still read
//! alone. To read one, a stored block with the prefix is put in front of it; any inflater can.

use crate::blob::{Problem, whole};
use crate::inflater::Inflater;
use flate2::read::DeflateDecoder;
use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use std::io::Read;

/// Deflate looks no further back.
const WINDOW: usize = 32 * 1024;

/// The best compression of deflate.
const BEST: u8 = 9;

/// Bytes that are taken from the deflater at once.
const PIECE: usize = 16 * 1024;

/// A deflater that has read a prefix, which takes longer than to deflate a value: each value is packed by a copy of it.
#[derive(Clone)]
pub(crate) struct Primed(Box<CompressorOxide>);

impl std::fmt::Debug for Primed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Primed")
    }
}

impl Primed {
    /// The value, deflated behind the prefix.
    pub(crate) fn pack(&self, plain: &[u8]) -> Vec<u8> {
        deflated(&mut self.0.clone(), plain, MZFlush::Finish)
    }
}

/// All that the deflater gives for these bytes.
fn deflated(state: &mut CompressorOxide, plain: &[u8], flush: MZFlush) -> Vec<u8> {
    let (mut out, mut rest, mut piece) = (Vec::new(), plain, [0; PIECE]);
    loop {
        let done = deflate(state, rest, &mut piece, flush);
        out.extend_from_slice(&piece[..done.bytes_written]);
        rest = &rest[done.bytes_consumed..];
        // A piece that is not full has all that there was.
        if done.bytes_written < PIECE || done.status != Ok(MZStatus::Ok) {
            return out;
        }
    }
}

/// The bytes that a value is deflated behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix(Vec<u8>);

impl Prefix {
    /// The end of the first value, as far back as deflate looks.
    pub(crate) fn of(first: &[u8]) -> Self {
        Self(first[first.len().saturating_sub(WINDOW)..].to_vec())
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A deflater that has read the prefix.
    pub(crate) fn primed(&self) -> Primed {
        let mut state = Box::<CompressorOxide>::default();
        state.set_format_and_level(DataFormat::Raw, BEST);
        // Ends at a whole byte: what follows can stand alone.
        if !self.0.is_empty() {
            let _ = deflated(&mut state, &self.0, MZFlush::Sync);
        }
        Primed(state)
    }

    /// The value that [`Primed::pack`] deflated.
    pub(crate) fn unpack(
        &self,
        packed: &[u8],
        inflater: &mut Inflater,
    ) -> Result<Vec<u8>, Problem> {
        let length = (self.0.len() as u16).to_le_bytes();
        // A stored block that is not the last: its length, and the complement of it.
        let head = [0, length[0], length[1], !length[0], !length[1]];
        let own = self.0.len();
        if let Some(mut plain) = inflater.raw([&head, &self.0, packed], own)
            && plain.len() >= own
        {
            return Ok(plain.split_off(own));
        }
        // Slower, and it knows what is wrong.
        let stream = head.chain(&self.0[..]).chain(packed);
        let mut plain = whole(DeflateDecoder::new(stream))?;
        if plain.len() < own {
            return Err("ends early".to_owned());
        }
        Ok(plain.split_off(own))
    }
}

#[cfg(test)]
mod tests;
