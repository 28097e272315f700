use super::*;
use proptest::prelude::*;

#[test]
fn what_repeats_the_prefix_is_small() {
    let first: Vec<u8> = (0..4000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let prefix = Prefix::of(&first);
    let mut second = first.clone();
    second[9000] ^= 1;
    assert!(prefix.primed().pack(&second).len() < 200);
    assert!(Prefix::default().primed().pack(&second).len() > 2000);
}

#[test]
fn only_the_window_is_kept() {
    let first: Vec<u8> = (0..100_000_u32).map(|n| (n / 7) as u8).collect();
    assert_eq!(Prefix::of(&first).bytes(), &first[100_000 - WINDOW..]);
}

#[test]
fn another_prefix_or_a_cut_is_noticed_or_gives_other_bytes() {
    let prefix = Prefix::of(b"a record of an earlier trial");
    let packed = prefix.primed().pack(b"a record of a later trial");
    assert!(prefix.unpack(&packed[..packed.len() - 3], &mut Inflater::default()).is_err());
    assert!(prefix.unpack(&[], &mut Inflater::default()).is_err());
    let other =
        Prefix::of(b"a second of an earlier trial").unpack(&packed, &mut Inflater::default());
    assert_ne!(other.as_deref(), Ok(b"a record of a later trial".as_slice()));
}

/// As values were packed before their deflater was kept.
fn plainly(prefix: &Prefix, plain: &[u8]) -> Vec<u8> {
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::Write;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(prefix.bytes()).unwrap();
    encoder.flush().unwrap();
    let own = encoder.get_ref().len();
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap().split_off(own)
}

/// Values of many pieces, each packed as if it were the first, and no longer than by another encoder.
#[test]
fn each_value_is_packed_as_the_first_one() {
    let noise = |seed: u32| -> Vec<u8> {
        let next = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some((*state >> 24) as u8)
        };
        std::iter::repeat_n((), 100_000).scan(seed, |state, ()| next(state)).collect()
    };
    for prefix in [Prefix::default(), Prefix::of(&noise(1))] {
        let primed = prefix.primed();
        for plain in [noise(1), noise(2), noise(1)[50_000..].to_vec(), vec![7; 200_000], vec![]] {
            let packed = primed.pack(&plain);
            assert_eq!(packed, prefix.primed().pack(&plain));
            assert!(packed.len() <= plainly(&prefix, &plain).len() + 64);
            assert_eq!(prefix.unpack(&packed, &mut Inflater::default()).as_ref(), Ok(&plain));
        }
    }
}

proptest! {
    #[test]
    fn comes_back(first: Vec<u8>, value: Vec<u8>) {
        let prefix = Prefix::of(&first);
        prop_assert_eq!(prefix.unpack(&prefix.primed().pack(&value), &mut Inflater::default()), Ok(value));
    }
}
