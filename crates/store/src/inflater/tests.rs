use super::*;
use crate::blob::{deflate, inflate};
use crate::prefix::Prefix;

/// Words that compress by so much.
fn text(length: usize, step: usize) -> Vec<u8> {
    (0..length)
        .map(|at| ((at / step) as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect()
}

#[test]
fn values_of_any_size_come_back() {
    let mut inflater = Inflater::default();
    for length in [0, 1, 4095, 4096, 4097, 100_000, 3_000_000] {
        for step in [1, 7, 100_000] {
            let plain = text(length, step);
            let packed = deflate(&plain);
            assert_eq!(inflater.zlib(&packed).as_ref(), Some(&plain), "{length} {step}");
            assert_eq!(inflate(&packed), Ok(plain.clone()));
            let prefix = Prefix::of(&text(length / 2, 3));
            let packed = prefix.primed().pack(&plain);
            assert_eq!(prefix.unpack(&packed, &mut inflater), Ok(plain), "{length} {step}");
        }
    }
}

#[test]
fn a_damaged_value_is_none_and_the_next_one_is_read() {
    let mut inflater = Inflater::default();
    let plain = text(20_000, 7);
    let packed = deflate(&plain);
    assert_eq!(inflater.zlib(&packed[..packed.len() / 2]), None);
    let mut other = packed.clone();
    // In the checksum at the end.
    *other.last_mut().unwrap() ^= 1;
    assert_eq!(inflater.zlib(&other), None);
    assert_eq!(inflater.zlib(&[]), None);
    assert_eq!(inflater.zlib(&packed), Some(plain));
}
