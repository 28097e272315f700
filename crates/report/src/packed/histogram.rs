//! Histograms as how many values each slot has, told from the density so far.
//!
//! Where values are dense, each slot's count is coded; where they are sparse, how many empty slots
//! come before the next one that is not. Latencies of one kind lie close together, so the density
//! of the last slots says nearly all that is to be known about the next.

use super::coder::{Chance, Coder, Number, Reader};

/// Cookie, length, offset, digits, lowest, highest and ratio of an HDR histogram V2.
const HEADER: usize = 40;
const COOKIE: u32 = 0x1c84_9303;
/// Densities are of 65,536; below this one gaps are coded.
const SPARSE: u64 = 3_932;
/// What the density is taken for at the first slot that is not empty.
const FIRST: u64 = 19_661;
/// Counts up to this are told by a chain of chances.
const CHAIN: usize = 14;
/// A histogram has not more slots; damaged bytes must not take all time.
const MOST_SLOTS: u64 = 1 << 20;

/// Slots that are not empty, rising, with their counts.
pub(super) type Slots = Vec<(u64, u64)>;

/// What was learnt from the histograms before.
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
    fn code(&mut self, coder: &mut impl Coder, value: u64) -> u64 {
        for (at, chance) in (0_u64..).zip(&mut self.chain) {
            if !coder.bit(chance, value > at) {
                return at;
            }
        }
        self.more.code(coder, value.saturating_sub(CHAIN as u64)).saturating_add(CHAIN as u64)
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

    /// A histogram in its own form.
    pub(super) fn write(&mut self, coder: &mut impl Coder, histogram: &Hdr) {
        self.header(coder, histogram.header);
        self.slots(coder, &histogram.slots);
    }

    pub(super) fn read(&mut self, coder: &mut Reader<'_>) -> Option<Hdr> {
        let header = self.header(coder, [0; HEADER]);
        Some(Hdr { header, slots: self.slots(coder, &[])? })
    }

    fn header(&mut self, coder: &mut impl Coder, header: [u8; HEADER]) -> [u8; HEADER] {
        if !coder.bit(&mut self.same_header, header == self.header) {
            self.header = coder.bytes(header);
        }
        self.header
    }

    /// The slots that `known` holds where the coder writes; `None` when they cannot be.
    fn slots<C: Coder>(&mut self, coder: &mut C, known: &[(u64, u64)]) -> Option<Slots> {
        let filled = self.filled.code(coder, known.len() as u64);
        let mut found: Slots = Vec::new();
        let (mut slot, mut density) = (0_u64, 0_u64);
        while (found.len() as u64) < filled {
            if slot > MOST_SLOTS || found.len() as u64 > MOST_SLOTS {
                return None;
            }
            let next = known.get(found.len()).copied().unwrap_or((slot, 1));
            let at = class(density);
            let count = if density < SPARSE {
                let gaps = if found.is_empty() { &mut self.first } else { &mut self.gaps[at] };
                let gap = gaps.code(coder, next.0 - slot);
                slot = slot.checked_add(gap)?;
                for _ in 0..gap.min(60) {
                    density -= density >> 4;
                }
                self.sparse[at].code(coder, next.1 - 1).checked_add(1)?
            } else {
                self.dense[at].code(coder, if next.0 == slot { next.1 } else { 0 })
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

/// An HDR histogram V2 taken apart.
pub(super) struct Hdr {
    /// With zeros where its length stands.
    header: [u8; HEADER],
    slots: Slots,
}

impl Hdr {
    /// Takes one apart, when that loses nothing.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let mut header: [u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        if u32::from_be_bytes(bytes[..4].try_into().ok()?) & !0xf0 != COOKIE {
            return None;
        }
        header[4..8].fill(0);
        let mut slots = Vec::new();
        let (mut rest, mut slot) = (&bytes[HEADER..], 0_u64);
        while !rest.is_empty() {
            let raw = varint(&mut rest)?;
            // Zigzag: even numbers are counts, odd ones how many empty slots there are.
            if raw & 1 == 1 {
                slot = slot.checked_add((raw >> 1) + 1)?;
            } else {
                if raw > 0 {
                    slots.push((slot, raw >> 1));
                }
                slot += 1;
            }
            if slot > MOST_SLOTS {
                return None;
            }
        }
        let found = Self { header, slots };
        (found.bytes() == bytes).then_some(found)
    }

    /// It as it was.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.header.to_vec();
        let mut slot = 0;
        for (at, count) in &self.slots {
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
}

/// Seven bits a byte, the lowest first; the ninth byte holds eight.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        if at == 8 {
            return Some(value | u64::from(*byte) << 56);
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

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
