//! Threads that compute by a scripted clock.

use super::*;

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Microseconds from `due - computing` to the end, looking at the clock at these times.
fn ends(sleep_us: u64, computing_us: u64, looks_us: &[u64]) -> (bool, u64) {
    let zero = Instant::now();
    let due = zero + us(sleep_us + computing_us);
    let mut own = Computing::begin(due, us(computing_us), zero + us(looks_us[0]));
    let mut over = false;
    for look in looks_us {
        over = own.is_over(zero + us(*look));
    }
    (over, u64::try_from((own.end() - zero).as_micros()).unwrap())
}

#[test]
fn a_thread_that_is_not_disturbed_ends_when_it_is_due() {
    assert_eq!(ends(0, 50, &[0, 20, 40, 49]), (false, 50));
    assert_eq!(ends(0, 50, &[0, 20, 40, 50]), (true, 50));
    // The clock is looked at before the computing begins.
    assert_eq!(ends(30, 50, &[0, 29, 45, 60, 80]), (true, 80));
    // A sleep that ended late, but not for long.
    assert_eq!(ends(0, 150, &[90, 110, 130, 150]), (true, 150));
}

#[test]
fn time_of_others_does_not_count() {
    // Others run from 20 to 3020.
    assert_eq!(ends(0, 50, &[0, 20, 3020, 3040]), (false, 3050));
    assert_eq!(ends(0, 50, &[0, 20, 3020, 3040, 3050]), (true, 3050));
    // Of time before the computing, only its own part.
    assert_eq!(ends(30, 50, &[0, 1030]), (false, 1080));
    // A sleep that ended a millisecond late, since others ran.
    assert_eq!(ends(200, 50, &[1200, 1210, 1230]), (false, 1250));
}

#[test]
fn a_thread_without_computing_is_due_whatever_others_do() {
    assert_eq!(ends(100, 0, &[0, 5000]), (true, 100));
    assert_eq!(ends(100, 0, &[5000]), (true, 100));
}
