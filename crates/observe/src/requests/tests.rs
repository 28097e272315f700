use super::*;

fn event(at_ns: u64, complete: bool, sector: u64, operation: char) -> BlockEvent {
    BlockEvent { at_ns, complete, sector, sectors: 8, operation, pid: 1 }
}

#[test]
fn issues_and_completions_become_requests_with_their_company() {
    let mut tracker = Tracker::default();
    let done = tracker.feed(vec![
        event(1_000, false, 80, 'R'),
        event(2_000, false, 160, 'W'),
        event(5_000, true, 80, 'R'),
        event(9_000, true, 160, 'W'),
    ]);
    let seen: Vec<_> =
        done.iter().map(|r| (r.operation, r.issued_ns, r.latency_ns, r.in_flight)).collect();
    assert_eq!(seen, [('R', 1_000, 4_000, 1), ('W', 2_000, 7_000, 2)]);
    assert_eq!(tracker.open.len(), 0);
}

#[test]
fn a_completion_that_is_read_before_its_issue_waits_one_batch() {
    let mut tracker = Tracker::default();
    assert_eq!(tracker.feed(vec![event(5_000, true, 80, 'R')]), []);
    let done = tracker.feed(vec![event(1_000, false, 80, 'R')]);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].latency_ns, 4_000);
}

#[test]
fn what_was_issued_before_anybody_looked_is_left_out_and_forgotten() {
    let mut tracker = Tracker::default();
    assert_eq!(tracker.feed(vec![event(5_000, true, 80, 'R')]), []);
    assert_eq!(tracker.feed(vec![]), []);
    // A later request to the same sector is a request of its own.
    let done = tracker.feed(vec![event(7_000, false, 80, 'R'), event(8_000, true, 80, 'R')]);
    assert_eq!((done.len(), done[0].latency_ns), (1, 1_000));
    assert!(tracker.early.is_empty());
}

#[test]
fn one_that_is_issued_again_is_one_request() {
    let mut tracker = Tracker::default();
    let done = tracker.feed(vec![
        event(1_000, false, 80, 'W'),
        event(3_000, false, 80, 'W'),
        event(4_000, true, 80, 'W'),
    ]);
    assert_eq!((done.len(), done[0].latency_ns, done[0].in_flight), (1, 1_000, 1));
}

#[test]
fn the_picture_counts_by_powers_of_two() {
    let request = |sector: u64, issued_ns: u64, latency_ns: u64, operation: char| Request {
        issued_ns,
        latency_ns,
        sector,
        sectors: 8,
        operation,
        in_flight: 3,
    };
    let picture = Picture::of(&[
        request(0, 1, 1_000, 'R'),
        request(8, 2, 1_001, 'R'),
        request(16, 3, 5_000_000_000, 'W'),
        request(99, 4, 4_000, 'F'),
    ]);
    assert_eq!((picture.read_latency[0], picture.read_latency[1]), (1, 1));
    assert_eq!((picture.write_latency[22], picture.write_latency[2]), (1, 1));
    // 8 sectors are 4 KiB: 512 · 2^3.
    assert_eq!(picture.sizes[3], 4);
    assert_eq!((picture.mean_in_flight, picture.most_in_flight), (Some(3.0), 3));
    assert_eq!(picture.latency_p50_ns, Some(1_001));
    assert_eq!(picture.latency_p99_ns, Some(5_000_000_000));
    assert!((picture.sequential.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(Picture::of(&[]), Picture::default());
}
