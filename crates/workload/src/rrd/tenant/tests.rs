use super::*;

#[test]
fn a_flush_contains_the_times_from_its_start_until_its_end() {
    let flush = Flush::default();
    assert!(!flush.contains(0) && !flush.contains(u64::MAX - 1));
    flush.start(100);
    assert_eq!([99, 100, 5_000].map(|at| flush.contains(at)), [false, true, true]);
    flush.end(200);
    assert_eq!([99, 100, 199, 200].map(|at| flush.contains(at)), [false, true, true, false]);
    flush.start(300);
    assert_eq!([199, 299, 300].map(|at| flush.contains(at)), [false, false, true]);
}

#[test]
fn fsyncs_that_were_due_during_a_flush_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenant.data");
    prepare(&path).unwrap();
    let count = |half_ns: u64| {
        let tenant = Tenant::start(&path, Nanos(1_000_000)).unwrap();
        let flush = tenant.flush();
        let now_ns = MonotonicClock.now_ns();
        // Half of the time to come, so that both kinds of fsyncs are due.
        flush.start(now_ns + half_ns);
        MonotonicClock.sleep_until_ns(now_ns + 2 * half_ns);
        let found = tenant.finish().unwrap();
        (found.during_flush.count(), found.all.count())
    };
    // On a slow disk a single fsync takes as long as the shorter times.
    let (during, all) = [50, 400, 3_200]
        .into_iter()
        .map(|half_ms| count(half_ms * 1_000_000))
        .find(|(during, all)| 0 < *during && during < all)
        .unwrap_or_default();
    assert!(0 < during && during < all, "{during} of {all}");
}
