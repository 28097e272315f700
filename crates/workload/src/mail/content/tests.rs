use super::*;
use std::collections::HashSet;

fn file(content: &mut Content, size: u64) -> Vec<u8> {
    content.begin_file();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let left = size - bytes.len() as u64;
        let record = content.next_bytes(left);
        assert!(!record.is_empty() && record.len() as u64 <= left);
        bytes.extend_from_slice(record);
    }
    bytes
}

#[test]
fn a_file_does_not_repeat_itself_within_the_pool() {
    let mut content = Content::new(1);
    let bytes = file(&mut content, POOL_BYTES as u64);
    let mut seen = HashSet::new();
    for word in bytes.chunks_exact(8) {
        assert!(seen.insert(word.to_vec()));
    }
}

#[test]
fn no_block_comes_twice_in_any_file() {
    let mut content = Content::new(2);
    let mut seen = HashSet::new();
    for size in [4096, 10_240, 1, 100_000, 3 << 20, 4096] {
        for block in file(&mut content, size).chunks(4096).filter(|block| block.len() >= 8) {
            assert!(seen.insert(block.to_vec()), "{size}");
        }
    }
}

#[test]
fn every_size_is_met_exactly_also_at_the_end_of_the_pool() {
    let mut content = Content::new(3);
    for size in [1_u64, 7, 8, 4095, 4096, 4097, 10_239, 10_240, 10_241, 2 * POOL_BYTES as u64 + 3] {
        assert_eq!(file(&mut content, size).len() as u64, size);
    }
}

#[test]
fn a_seed_gives_the_same_content() {
    let two_files = |seed| {
        let mut content = Content::new(seed);
        (file(&mut content, 5_000), file(&mut content, 20_000))
    };
    assert_eq!(two_files(4), two_files(4));
    assert_ne!(two_files(4), two_files(5));
}

#[test]
fn content_is_as_compressible_and_as_repeated_as_asked() {
    let shape = DataShape::of(50, 25);
    let mut content = Content::shaped(6, shape);
    let files: Vec<Vec<u8>> = (0..8).map(|_| file(&mut content, 64 << 10)).collect();
    for one in &files {
        let zeros = one.iter().filter(|byte| **byte == 0).count() as f64 / one.len() as f64;
        assert!((0.49..0.52).contains(&zeros), "{zeros}");
    }
    let different: HashSet<&Vec<u8>> = files.iter().collect();
    assert_eq!(different.len(), 7);
}
