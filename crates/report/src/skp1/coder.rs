//! Reads an adaptive binary range coder.

/// Probability that the next bit of a kind is 0, in units of 1/65,536, and the number of bits seen.
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

/// Bytes to bits. Zeros follow the end: the checksum of the whole detects truncated data.
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

    /// A bit of a kind, learnt from.
    pub(super) fn bit(&mut self, chance: &mut Chance) -> bool {
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

    /// A bit of which nothing is known.
    fn plain(&mut self) -> bool {
        self.bit(&mut Chance::default())
    }

    /// Bytes of which nothing is known.
    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| (0..8).fold(0, |found, _| found << 1 | u8::from(self.plain())))
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
    pub(super) fn read(&mut self, coder: &mut Reader<'_>) -> u64 {
        let mut length = 0;
        while length < 64 && coder.bit(&mut self.lengths[length]) {
            length += 1;
        }
        if length == 0 {
            return 0;
        }
        let mut found = 1_u64;
        for done in 1..length {
            let bit = match done {
                1 => coder.bit(&mut self.highest[length][0]),
                2 => coder.bit(&mut self.highest[length][1 + (found & 1) as usize]),
                _ => coder.plain(),
            };
            found = found << 1 | u64::from(bit);
        }
        found
    }
}
