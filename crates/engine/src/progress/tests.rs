use super::*;

/// Bytes of a cache line of every processor that Seekwell is built for.
const LINE: usize = 64;

#[test]
fn counters_of_two_threads_never_share_a_cache_line() {
    let progress = Progress::new(5);
    let places: Vec<(usize, usize)> = progress
        .threads
        .iter()
        .map(|counters| {
            let first = std::ptr::from_ref(&counters.0.ops) as usize;
            let last = std::ptr::from_ref(&counters.0.bytes) as usize + size_of::<AtomicU64>() - 1;
            (first.min(last) / LINE, first.max(last) / LINE)
        })
        .collect();
    for pair in places.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{places:?}");
    }
}

#[test]
fn what_is_separated_fills_its_pair_of_lines_alone() {
    assert!(align_of::<Separated<u8>>() >= 2 * LINE);
    assert!(size_of::<Separated<u8>>() >= 2 * LINE);
}
