use super::*;
use proptest::prelude::*;

#[test]
fn what_repeats_the_prefix_is_small() {
    let first: Vec<u8> = (0..4000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let prefix = Prefix::of(&first);
    let mut second = first.clone();
    second[9000] ^= 1;
    assert!(prefix.pack(&second).len() < 200);
    assert!(Prefix::default().pack(&second).len() > 2000);
}

#[test]
fn only_the_window_is_kept() {
    let first: Vec<u8> = (0..100_000_u32).map(|n| (n / 7) as u8).collect();
    assert_eq!(Prefix::of(&first).bytes(), &first[100_000 - WINDOW..]);
}

#[test]
fn another_prefix_or_a_cut_is_noticed_or_gives_other_bytes() {
    let prefix = Prefix::of(b"a record of an earlier trial");
    let packed = prefix.pack(b"a record of a later trial");
    assert!(prefix.unpack(&packed[..packed.len() - 3], &mut Inflater::default()).is_err());
    assert!(prefix.unpack(&[], &mut Inflater::default()).is_err());
    let other =
        Prefix::of(b"a second of an earlier trial").unpack(&packed, &mut Inflater::default());
    assert_ne!(other.as_deref(), Ok(b"a record of a later trial".as_slice()));
}

proptest! {
    #[test]
    fn comes_back(first: Vec<u8>, value: Vec<u8>) {
        let prefix = Prefix::of(&first);
        prop_assert_eq!(prefix.unpack(&prefix.pack(&value), &mut Inflater::default()), Ok(value));
    }
}
