use super::*;
use crate::calls::CallId;

const MS: u64 = 1_000_000;

/// A call of 1 ms; before it the thread computed.
fn row(start_ms: u64, cpu_ms: Option<u64>) -> Event {
    let event = Event::new(start_ms * MS, 1, 1, CallId(0));
    Event { duration_ns: Some(MS), cpu_ns: cpu_ms.map(|ms| ms * MS), ..event }
}

/// Active, idle and unrecorded milliseconds of a load of 100 ms with these rows.
fn times(rows: &[Event], unrecorded: &[(u64, u64)], may_fault: bool) -> [u64; 3] {
    let (mut active, mut calls) = (Active::new(), Spans::new(16));
    for (nth, event) in rows.iter().enumerate() {
        active.add(event, nth == 0, false);
        calls.add(event.start_ns, event.start_ns + MS);
    }
    let found = active.times(100 * MS, unrecorded, &calls, may_fault);
    [found.active_ns, found.idle_ns, found.unrecorded_ns].map(|ns| ns / MS)
}

#[test]
fn what_no_thread_computes_is_idle() {
    let rows = [row(10, None), row(50, Some(4)), row(90, Some(0))];
    assert_eq!(times(&rows, &[], false), [7, 93, 0]);
    assert_eq!(times(&rows, &[(20 * MS, 40 * MS)], false), [7, 73, 20]);
    // Page faults that were not recorded may have waited.
    assert_eq!(times(&rows, &[], true), [100, 0, 0]);
}

#[test]
fn without_times_of_computing_nothing_is_known_to_be_idle() {
    assert_eq!(times(&[row(10, None), row(50, None)], &[], false), [100, 0, 0]);
}

#[test]
fn a_load_that_does_not_pause_may_compute_until_its_end() {
    assert_eq!(times(&[row(10, None), row(20, Some(9))], &[], false), [100, 0, 0]);
}

#[test]
fn a_sleep_that_a_thread_without_calls_ended_is_no_pause() {
    let mut active = Active::new();
    active.add(&row(10, None), true, false);
    active.add(&Event { awaited_ns: Some(39 * MS), ..row(50, Some(0)) }, false, true);
    active.add(&row(90, Some(0)), false, false);
    let found = active.times(100 * MS, &[], &Spans::new(2), false);
    assert_eq!((found.active_ns, found.idle_ns), (39 * MS, 61 * MS));
}
