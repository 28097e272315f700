use super::*;
use proptest::prelude::*;

/// Misses of a cache that keeps what was used last, told by trying.
fn lru_misses(accesses: &[(u32, u64)], size: usize) -> usize {
    let mut cache: Vec<(u32, u64)> = Vec::new();
    let mut misses = 0;
    for access in accesses {
        match cache.iter().position(|held| held == access) {
            Some(at) => drop(cache.remove(at)),
            None => misses += 1,
        }
        cache.insert(0, *access);
        cache.truncate(size);
    }
    misses
}

fn followed(accesses: &[(u32, u64)], limit: usize) -> Reuse {
    let mut distances = Distances::with_limit(limit);
    accesses.iter().for_each(|(file, block)| distances.add(FileId(*file), block * BLOCK, BLOCK));
    distances.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn misses_are_those_of_a_cache(
        accesses in proptest::collection::vec((0_u32..3, 0_u64..40), 1..600),
    ) {
        let reuse = followed(&accesses, BLOCKS);
        prop_assert_eq!(reuse.sampled, 1.0);
        for miss in &reuse.misses {
            let size = usize::try_from(miss.cache_bytes / BLOCK).unwrap();
            let expected = lru_misses(&accesses, size) as f64 / accesses.len() as f64;
            prop_assert!((miss.share - expected).abs() < 1e-9, "{:?} {}", miss, expected);
        }
        let mut counts = std::collections::HashMap::new();
        accesses.iter().for_each(|access| *counts.entry(access).or_insert(0) += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        for (part, found) in [(10, reuse.busiest_tenth), (100, reuse.busiest_hundredth)] {
            let busiest: usize = counts[..counts.len().div_ceil(part)].iter().sum();
            let expected = busiest as f64 / accesses.len() as f64;
            prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
        }
    }
}

/// Blocks of which the low ones are used most.
fn skewed(count: u64, blocks: u64) -> Vec<(u32, u64)> {
    let uniform = |nth: u64| hash(FileId(7), nth) % 1_000_003;
    let square = |nth: u64| {
        let part = uniform(nth) as f64 / 1_000_003.0;
        (part * part * part * blocks as f64) as u64
    };
    (0..count).map(|nth| (0, square(nth))).collect()
}

#[test]
fn a_sample_is_near_the_whole() {
    let accesses = skewed(300_000, 20_000);
    let (whole, sample) = (followed(&accesses, BLOCKS), followed(&accesses, 1000));
    assert_eq!(whole.sampled, 1.0);
    assert!(sample.sampled < 0.1, "{}", sample.sampled);
    for miss in &whole.misses {
        let near = sample.misses.iter().find(|found| found.cache_bytes == miss.cache_bytes);
        let Some(near) = near else { continue };
        assert!((near.share - miss.share).abs() < 0.05, "{miss:?} {near:?}");
    }
    let (own, near) = (whole.busiest_tenth, sample.busiest_tenth);
    assert!(own > 0.2 && (own - near).abs() < 0.1, "{own} {near}");
    let part = sample.working_set_bytes as f64 / whole.working_set_bytes as f64;
    assert!((0.9..1.1).contains(&part), "{part}");
}

#[test]
fn an_access_counts_each_block_it_touches() {
    let mut distances = Distances::new();
    distances.add(FileId(0), 100, 4096);
    distances.add(FileId(0), 0, 0);
    distances.add(FileId(0), u64::MAX, 9);
    let reuse = distances.finish().unwrap();
    assert_eq!((reuse.accesses, reuse.working_set_bytes), (2, 8192));
    assert_eq!(Distances::new().finish(), None);
}

#[test]
fn a_call_that_says_it_moved_everything_is_followed_to_what_calls_can_move() {
    let mut distances = Distances::with_limit(16);
    distances.add(FileId(1), 0, u64::MAX >> 1);
    assert_eq!(distances.finish().unwrap().accesses, LONGEST_BYTES / BLOCK);
}
