//! Histograms as the number of values in each slot, predicted from the density so far.
//!
//! Where values are dense, each slot's count is coded; where they are sparse, the number of empty
//! slots before the next.

use super::coder::{Chance, Number, Reader};

/// Cookie, length, offset, digits, lowest, highest and ratio of an HDR histogram V2.
const HEADER: usize = 40;
/// Densities are of 65,536; below this one gaps are coded.
const SPARSE: u64 = 3_932;
/// Density at the first slot that is not empty.
const FIRST: u64 = 19_661;
/// Counts up to this are coded as a chain of binary decisions.
const CHAIN: usize = 14;
/// A histogram has not more slots; damaged bytes must not take all time.
const MOST_SLOTS: u64 = 1 << 20;

/// Slots that are not empty, rising, with their counts.
type Slots = Vec<(u64, u64)>;

/// Adaptive model of the histograms read so far.
pub(super) struct Model {
    same_header: Chance,
    /// Header of the one before, without its length.
    header: [u8; HEADER],
    filled: Number,
    first: Number,
    gaps: Vec<Number>,
    dense: Vec<Counts>,
    sparse: Vec<Counts>,
}

#[derive(Clone, Default)]
struct Counts {
    chain: [Chance; CHAIN],
    more: Number,
}

impl Counts {
    fn read(&mut self, coder: &mut Reader<'_>) -> u64 {
        for (at, chance) in (0_u64..).zip(&mut self.chain) {
            if !coder.bit(chance) {
                return at;
            }
        }
        self.more.read(coder).saturating_add(CHAIN as u64)
    }
}

/// Twice the length in bits, and the bit below the highest.
fn class(density: u64) -> usize {
    let length = u64::BITS - density.leading_zeros();
    let below = if length > 1 { density >> (length - 2) & 1 } else { 0 };
    (2 * length as usize + below as usize).min(CLASSES - 1)
}

const CLASSES: usize = 80;

impl Model {
    pub(super) fn new() -> Self {
        Self {
            same_header: Chance::default(),
            header: [0; HEADER],
            filled: Number::default(),
            first: Number::default(),
            gaps: vec![Number::default(); CLASSES],
            dense: vec![Counts::default(); CLASSES],
            sparse: vec![Counts::default(); CLASSES],
        }
    }

    /// A histogram as HDR histogram V2.
    pub(super) fn read(&mut self, coder: &mut Reader<'_>) -> Option<Vec<u8>> {
        if !coder.bit(&mut self.same_header) {
            self.header = coder.bytes();
        }
        Some(bytes(self.header, &self.slots(coder)?))
    }

    /// The slots; `None` when they cannot be.
    fn slots(&mut self, coder: &mut Reader<'_>) -> Option<Slots> {
        let filled = self.filled.read(coder);
        let mut found: Slots = Vec::new();
        let (mut slot, mut density) = (0_u64, 0_u64);
        while (found.len() as u64) < filled {
            if slot > MOST_SLOTS || found.len() as u64 > MOST_SLOTS {
                return None;
            }
            let at = class(density);
            let count = if density < SPARSE {
                let gaps = if found.is_empty() { &mut self.first } else { &mut self.gaps[at] };
                let gap = gaps.read(coder);
                slot = slot.checked_add(gap)?;
                for _ in 0..gap.min(60) {
                    density -= density >> 4;
                }
                self.sparse[at].read(coder).checked_add(1)?
            } else {
                self.dense[at].read(coder)
            };
            density = if density == 0 { FIRST } else { follow(density, count) };
            if count > 0 {
                found.push((slot, count));
            }
            slot += 1;
        }
        Some(found)
    }
}

/// A sixteenth of the way to the count.
fn follow(density: u64, count: u64) -> u64 {
    let count = count.min(65_535) << 16;
    if count >= density {
        density + ((count - density) >> 4)
    } else {
        density - ((density - count) >> 4)
    }
}

/// The histogram; the header has zeros where its length is.
fn bytes(header: [u8; HEADER], slots: &Slots) -> Vec<u8> {
    let mut out = header.to_vec();
    let mut slot = 0;
    for (at, count) in slots {
        match at - slot {
            0 => {}
            1 => out.push(0),
            empty => push_varint(&mut out, (empty << 1) - 1),
        }
        push_varint(&mut out, count << 1);
        slot = at + 1;
    }
    let length = u32::try_from(out.len() - HEADER).unwrap_or(u32::MAX);
    out[4..8].copy_from_slice(&length.to_be_bytes());
    out
}

/// Seven bits a byte, the lowest first; the ninth byte holds eight.
fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    for _ in 0..8 {
        if value < 0x80 {
            return out.push(value as u8);
        }
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
