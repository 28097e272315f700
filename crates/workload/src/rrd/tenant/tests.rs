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
    let tenant = Tenant::start(&path, Nanos(1_000_000)).unwrap();
    let flush = tenant.flush();
    let now_ns = MonotonicClock.now_ns();
    // Half of the time to come, so that both kinds of fsyncs are due.
    flush.start(now_ns + 50_000_000);
    MonotonicClock.sleep_until_ns(now_ns + 100_000_000);
    let found = tenant.finish().unwrap();
    let during = found.during_flush.count();
    assert!(during > 0 && during < found.all.count(), "{during} of {}", found.all.count());
}
