//! An adaptive binary range coder. One description of a model serves both directions: who writes is
//! told the bits and puts them out, who reads is told nothing that counts and gives them.

/// How likely the next bit of a kind is 0, of 65,536, and how much was seen of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    zero: u32,
    seen: u8,
}

impl Default for Chance {
    fn default() -> Self {
        Self { zero: 1 << 15, seen: 0 }
    }
}

/// The more was seen, the smaller the steps.
const SHIFTS: [u32; 16] = [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5];
/// No bit is ever certain.
const LEAST: u32 = 32;
/// Below this a range is widened by a byte.
const NARROW: u32 = 1 << 24;

impl Chance {
    fn learn(&mut self, bit: bool) {
        let shift = SHIFTS[usize::from(self.seen)];
        let zero = match bit {
            true => self.zero - (self.zero >> shift),
            false => self.zero + ((65_536 - self.zero) >> shift),
        };
        self.zero = zero.clamp(LEAST, 65_536 - LEAST);
        self.seen = (self.seen + 1).min(15);
    }
}

/// One direction.
pub(super) trait Coder {
    /// A bit of a kind, learnt from.
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool;

    /// A bit of which nothing is known.
    fn plain(&mut self, bit: bool) -> bool {
        self.bit(&mut Chance::default(), bit)
    }

    /// Bytes of which nothing is known.
    fn bytes<const N: usize>(&mut self, bytes: [u8; N]) -> [u8; N] {
        bytes.map(|byte| {
            (0..8).rev().fold(0, |found, at| found << 1 | u8::from(self.plain(byte >> at & 1 == 1)))
        })
    }
}

/// Bits to bytes.
pub(super) struct Writer {
    low: u64,
    range: u32,
    held: u8,
    /// Bytes that a carry can still change, the held one among them.
    open: u64,
    out: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { low: 0, range: u32::MAX, held: 0, open: 1, out: Vec::new() }
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > u64::from(u32::MAX) {
            let carry = (self.low >> 32) as u8;
            self.out.push(self.held.wrapping_add(carry));
            for _ in 1..self.open {
                self.out.push(0xff_u8.wrapping_add(carry));
            }
            self.open = 0;
            self.held = (self.low >> 24) as u8;
        }
        self.open += 1;
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// All of it; the first byte is always 0 and left out.
    pub(super) fn finish(mut self) -> Vec<u8> {
        (0..5).for_each(|_| self.shift());
        self.out.split_off(1)
    }
}

impl Coder for Writer {
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        let bound = (self.range >> 16) * chance.zero;
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.learn(bit);
        while self.range < NARROW {
            self.range <<= 8;
            self.shift();
        }
        bit
    }
}

/// Bytes to bits. Behind the end come zeros: what is torn is told by the checksum of the whole.
pub(super) struct Reader<'a> {
    range: u32,
    code: u32,
    rest: std::slice::Iter<'a, u8>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = Self { range: u32::MAX, code: 0, rest: bytes.iter() };
        (0..4).for_each(|_| reader.pull());
        reader
    }

    fn pull(&mut self) {
        self.code = self.code << 8 | u32::from(self.rest.next().copied().unwrap_or(0));
    }
}

impl Coder for Reader<'_> {
    fn bit(&mut self, chance: &mut Chance, _: bool) -> bool {
        let bound = (self.range >> 16) * chance.zero;
        let bit = self.code >= bound;
        if bit {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.learn(bit);
        while self.range < NARROW {
            self.range <<= 8;
            self.pull();
        }
        bit
    }
}

/// Bits above the first that are learnt of a number's mantissa: their chances by its length.
const LEARNT: usize = 3;

/// A kind of whole number: the number of its bits, then the bits, of which the highest are learnt.
#[derive(Clone, Debug)]
pub(super) struct Number {
    lengths: [Chance; 65],
    highest: Vec<[Chance; LEARNT]>,
}

impl Default for Number {
    fn default() -> Self {
        Self { lengths: [Chance::default(); 65], highest: vec![[Chance::default(); LEARNT]; 65] }
    }
}

impl Number {
    pub(super) fn code(&mut self, coder: &mut impl Coder, value: u64) -> u64 {
        let wanted = u64::BITS - value.leading_zeros();
        let mut length = 0;
        while length < 64 && coder.bit(&mut self.lengths[length as usize], wanted > length) {
            length += 1;
        }
        if length == 0 {
            return 0;
        }
        let mut found = 1_u64;
        for at in (0..length - 1).rev() {
            let bit = value >> at & 1 == 1;
            let bit = match length - 1 - at {
                1 => coder.bit(&mut self.highest[length as usize][0], bit),
                2 => coder.bit(&mut self.highest[length as usize][1 + (found & 1) as usize], bit),
                _ => coder.plain(bit),
            };
            found = found << 1 | u64::from(bit);
        }
        found
    }
}
