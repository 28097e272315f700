use super::*;
use std::collections::BTreeSet;

#[test]
fn no_sector_of_any_request_of_any_client_comes_twice() {
    let mut seen = BTreeSet::new();
    let mut sectors = 0;
    for rank in [0, 1, 9_999] {
        let mut data = Data::new(rank, 1 << 20);
        // Each client passes the end of its pool.
        for length in [4096, 1 << 20, 100, 512, 700, 9 << 10].into_iter().cycle().take(60) {
            for sector in data.next(length).chunks(SECTOR) {
                sectors += 1;
                seen.insert(sector.to_vec());
            }
        }
    }
    assert_eq!(seen.len(), sectors);
}

/// Compression that looks back finds nothing: within a pool only stamps differ from what was random at the start.
#[test]
fn small_requests_do_not_repeat_each_other() {
    let mut data = Data::new(3, 4096);
    let mut seen = BTreeSet::new();
    for _ in 0..256 {
        for word in data.next(4096).chunks_exact(8) {
            assert!(seen.insert(word.to_vec()), "{word:?} comes twice within 1 MiB");
        }
    }
}

#[test]
fn a_request_has_the_length_that_is_asked_for() {
    let mut data = Data::new(0, 3000);
    for length in [0, 1, 7, 511, 512, 513, 3000] {
        assert_eq!(data.next(length).len(), length);
    }
}
