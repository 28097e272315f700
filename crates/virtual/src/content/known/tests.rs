use proptest::prelude::*;

use super::*;
use crate::content::{BLOCK_SECTORS, Content, Keeping};

fn stamped(stamp: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..8].copy_from_slice(&stamp.to_le_bytes());
    block
}

fn counting(start: u32) -> Vec<u8> {
    (0..1024).flat_map(|at| start.wrapping_add(at).to_le_bytes()).collect()
}

proptest! {
    #[test]
    fn what_is_known_comes_back_and_stamps_follow_one_another(stamp: u64, start: u32, at in 8..BLOCK_BYTES, byte in 1_u8..) {
        let again = |block: &[u8]| {
            Key::recognise(block).map(|key| key.block().to_vec())
        };
        for block in [stamped(stamp), counting(start)] {
            if let Some(made) = again(&block) {
                prop_assert!(made == block);
            } else {
                prop_assert!(start > u32::MAX - 1024, "not known: {:?}", &block[..16]);
            }
            let mut other = block.clone();
            other[at] ^= byte;
            prop_assert!(again(&other).is_none_or(|made| made == other));
        }
        let (one, next) = (Key::recognise(&stamped(stamp)), Key::recognise(&stamped(stamp.wrapping_add(STAMP_STEP))));
        let (one, next) = (one.unwrap(), next.unwrap());
        prop_assert_eq!(next.number, one.number.wrapping_add(1));
    }
}

#[test]
fn a_stamped_file_and_its_indirect_blocks_take_no_room() {
    let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
    let mut content = Content::new(1 << 20, keeping);
    let mut stamp = 77_u64;
    for block in 0..4096_u64 {
        let data = if block % 1025 == 0 { counting(block as u32 + 1) } else { stamped(stamp) };
        stamp = stamp.wrapping_add(STAMP_STEP);
        content.write(block * BLOCK_SECTORS, &data).unwrap();
    }
    assert_eq!(content.stored_bytes(), 0);
    assert!(content.runs() <= 9, "{}", content.runs());
}
