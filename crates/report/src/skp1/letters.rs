//! Letters that mean nothing in markup as bytes: two of 91 letters are 13 bits.

/// Printable ASCII without the blank, `&`, `-` and `<`.
fn letter(value: u16) -> u8 {
    // 0x21 to 0x7e are 94 letters; three of them are stepped over.
    let mut byte = 0x21 + value as u8;
    for skipped in *b"&-<" {
        if byte >= skipped {
            byte += 1;
        }
    }
    byte
}

const LETTERS: u16 = 91;
const BITS: u32 = 13;

/// The bytes, with up to one byte of zeros behind them; `None` when a letter does not belong.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut values = [u16::MAX; 256];
    for value in 0..LETTERS {
        values[usize::from(letter(value))] = value;
    }
    let mut out = Vec::with_capacity(text.len() * 13 / 16 + 1);
    let (mut held, mut count) = (0_u32, 0);
    for pair in text.as_bytes().chunks(2) {
        let [low, high] = *pair else { return None };
        let (low, high) = (values[usize::from(low)], values[usize::from(high)]);
        if low == u16::MAX || high == u16::MAX {
            return None;
        }
        let group = u32::from(low) + u32::from(high) * u32::from(LETTERS);
        if group >= 1 << BITS {
            return None;
        }
        held |= group << count;
        count += BITS;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    Some(out)
}
