use super::*;
use seekwell_trace::calls::CallId;

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
        let since_ns = nth.checked_sub(1).map(|before| rows[before].start_ns + MS);
        active.add(event, since_ns, false);
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
    active.add(&row(10, None), None, false);
    active.add(&Event { awaited_ns: Some(39 * MS), ..row(50, Some(0)) }, Some(11 * MS), true);
    active.add(&row(90, Some(0)), Some(51 * MS), false);
    let found = active.times(100 * MS, &[], &Spans::new(2), false);
    assert_eq!((found.active_ns, found.idle_ns), (39 * MS, 61 * MS));
}

/// A loop of 4 ms next to programs that keep the CPU for 36 ms of 40.
#[test]
fn a_thread_that_is_ready_while_others_have_the_cpu_is_not_idle() {
    let mut active = Active::new();
    active.add(&row(10, None), None, false);
    let waited = |ms: u64| Event { waited_ns: Some(ms * MS), ..row(51, Some(4)) };
    active.add(&waited(0), Some(11 * MS), false);
    assert_eq!(active.ready_ns(), 36 * MS);
    let mut calls = Spans::new(2);
    calls.add(10 * MS, 11 * MS);
    calls.add(51 * MS, 52 * MS);
    let found = active.times(52 * MS, &[], &calls, false);
    assert_eq!((found.active_ns, found.idle_ns), (52 * MS, 0));
    // Asleep instead, it is idle; the recorder's own microseconds do not count as a wait for a CPU.
    let mut active = Active::new();
    active.add(&row(10, None), None, false);
    active.add(&waited(36), Some(11 * MS - 5_000), false);
    assert_eq!(active.ready_ns(), 0);
}
