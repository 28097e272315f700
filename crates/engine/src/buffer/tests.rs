use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn shape(block_bytes: u32, depth: u32, reads: bool, writes: bool) -> ArenaShape {
    ArenaShape { block_bytes, depth, reads, writes, data: DataShape::default() }
}

fn copy(arena: &Arena, buffer: usize, length: u32) -> Vec<u8> {
    // SAFETY: `address` checks that the bytes lie inside the arena, and nothing else uses it.
    unsafe { std::slice::from_raw_parts(arena.address(buffer, length), length as usize) }.to_vec()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn slots_share_no_memory_and_all_of_it_is_aligned(
        block_bytes in prop::sample::select(vec![1_u32, 512, 4096, 5_000, 65_536, 1 << 20]),
        depth in 1_u32..40,
        reads: bool,
        writes: bool,
    ) {
        prop_assume!(reads || writes);
        let mut arena = Arena::new(shape(block_bytes, depth, reads, writes), 1).unwrap();
        let mut owners: Vec<(usize, usize, u32)> = Vec::new();
        for slot in 0..depth {
            if reads {
                let at = arena.read_buffer(slot);
                owners.push((at, at + block_bytes as usize, slot));
            }
            for _ in 0..if writes { 5 } else { 0 } {
                let at = arena.write_buffer(slot);
                owners.push((at, at + block_bytes as usize, slot));
            }
        }
        for (begin, end, slot) in &owners {
            prop_assert_eq!(begin % ALIGNMENT, 0);
            prop_assert_eq!(arena.address(*begin, block_bytes) as usize % ALIGNMENT, 0);
            prop_assert!(*end <= arena.length());
            for (other_begin, other_end, other) in &owners {
                if slot != other {
                    prop_assert!(end <= other_begin || other_end <= begin);
                }
            }
        }
    }
}

#[test]
fn written_data_does_not_repeat_within_what_filesystems_compress() {
    for (block_bytes, depth) in [(512_u32, 1_u32), (4096, 1), (4096, 32), (65_536, 4), (1 << 20, 1)]
    {
        let mut arena = Arena::new(shape(block_bytes, depth, false, true), 9).unwrap();
        let mut seen = HashSet::new();
        let blocks = UNREPEATED_BYTES / block_bytes as usize;
        for block in 0..blocks {
            let at = arena.write_buffer(block as u32 % depth);
            for word in words(&copy(&arena, at, block_bytes)) {
                assert!(seen.insert(word), "block {block} of {block_bytes} at depth {depth}");
            }
        }
    }
}

#[test]
fn no_4_kib_of_written_data_come_twice() {
    let mut arena = Arena::new(shape(8192, 1, true, true), 3).unwrap();
    let mut seen = HashSet::new();
    for _ in 0..2_000 {
        let at = arena.write_buffer(0);
        for part in copy(&arena, at, 8192).chunks(4096) {
            assert!(seen.insert(part.to_vec()));
        }
    }
}

#[test]
fn a_seed_gives_the_same_data() {
    let data = |seed| {
        let mut arena = Arena::new(shape(4096, 2, true, true), seed).unwrap();
        let at = arena.write_buffer(1);
        copy(&arena, at, 4096)
    };
    assert_eq!(data(5), data(5));
    assert_ne!(data(5), data(6));
}

#[test]
#[should_panic(expected = "beyond the arena")]
fn memory_beyond_the_arena_is_refused() {
    let arena = Arena::new(shape(4096, 1, true, false), 0).unwrap();
    let _ = arena.address(1, 4096);
}

#[test]
fn memory_is_bound_for_small_blocks_and_large_depths() {
    assert!(shape(512, 1, true, true).bytes() <= 9 << 20);
    assert!(shape(4096, 128, true, true).bytes() <= 2 << 20);
}

/// Share of zero bytes, in percent, and how many of 4 KiB units were written before.
fn measured(data: DataShape, block_bytes: u32) -> (f64, f64) {
    let shape = ArenaShape { data, ..shape(block_bytes, 2, true, true) };
    let mut arena = Arena::new(shape, 3).unwrap();
    let (mut zeros, mut bytes, mut again, mut units) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut seen = HashSet::new();
    for write in 0..400 {
        let buffer = arena.write_buffer(write % 2);
        let written = copy(&arena, buffer, block_bytes);
        zeros += written.iter().filter(|byte| **byte == 0).count();
        bytes += written.len();
        for unit in written.chunks(STAMP_EVERY) {
            again += usize::from(!seen.insert(unit.to_vec()));
            units += 1;
        }
    }
    (zeros as f64 * 100.0 / bytes as f64, again as f64 * 100.0 / units as f64)
}

#[test]
fn written_data_is_as_compressible_and_as_repeated_as_stated() {
    for block_bytes in [512, 4096, 65_536] {
        for zero_percent in [0, 30, 50, 99] {
            for repeated_percent in [0, 25, 100] {
                let data = DataShape::of(zero_percent, repeated_percent);
                let (zeros, again) = measured(data, block_bytes);
                // One byte of 256 is zero by chance, and eight of each unit always are data.
                let stated = f64::from(zero_percent);
                assert!((zeros - stated).abs() < 2.5, "{data:?} {block_bytes}: {zeros} % zeros");
                // The first of the repeated units was not written before.
                let stated = f64::from(repeated_percent);
                assert!((again - stated).abs() < 1.0, "{data:?} {block_bytes}: {again} % again");
            }
        }
    }
}
