//! Deflated values that share a prefix.
//!
//! Records of one workload are nearly alike. Each is deflated (RFC 1951) as if the workload's
//! first record stood before it: what repeats costs a few bytes, and every record is still read
//! alone. To read one, a stored block with the prefix is put in front of it; any inflater can.

use crate::blob::Problem;
use crate::inflater::{Inflater, LARGEST_UNPACKED};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

/// Deflate looks no further back.
const WINDOW: usize = 32 * 1024;

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

    /// The value, deflated behind the prefix.
    pub(crate) fn pack(&self, plain: &[u8]) -> Vec<u8> {
        let packed = || {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&self.0)?;
            // Ends at a whole byte: what follows can stand alone.
            encoder.flush()?;
            let own = encoder.get_ref().len();
            encoder.write_all(plain)?;
            Ok::<_, std::io::Error>(encoder.finish()?.split_off(own))
        };
        // Writing to memory does not fail.
        packed().unwrap_or_default()
    }

    /// The value that [`Prefix::pack`] deflated.
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
        let mut plain = Vec::new();
        let mut decoder = DeflateDecoder::new(stream).take(LARGEST_UNPACKED);
        decoder.read_to_end(&mut plain).map_err(|error| format!("cannot be unpacked ({error})"))?;
        if plain.len() as u64 == LARGEST_UNPACKED {
            return Err("is larger than any trial makes".to_owned());
        }
        if plain.len() < self.0.len() {
            return Err("ends early".to_owned());
        }
        Ok(plain.split_off(self.0.len()))
    }
}

#[cfg(test)]
mod tests;
