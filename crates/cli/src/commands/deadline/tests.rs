use super::*;

#[test]
fn no_trial_begins_that_would_end_more_than_15_percent_late() {
    let begun = Instant::now();
    let at = |seconds: u64| begun + Duration::from_secs(seconds);
    let mut deadline = Deadline::new(begun, Nanos::seconds(100));
    let mut now = 0;
    while !deadline.is_reached() {
        deadline.began(at(now));
        now += 12;
        deadline.ended(at(now), Duration::from_secs(12));
    }
    // 108 s are over; one more of 12 s would end at 120, beyond 115.
    assert_eq!(now, 108);
    assert_eq!(deadline.left(at(40)), Nanos::seconds(60));
    assert_eq!(deadline.left(at(400)), Nanos::seconds(1));
}

#[test]
fn one_long_trial_ends_a_run_that_has_no_time_for_another() {
    let begun = Instant::now();
    let mut deadline = Deadline::new(begun, Nanos::seconds(10));
    deadline.began(begun);
    deadline.ended(begun + Duration::from_secs(7), Duration::from_secs(7));
    assert!(deadline.is_reached());
}

#[test]
fn an_image_that_is_written_before_the_first_trial_is_spent_and_not_expected_again() {
    let begun = Instant::now();
    let mut deadline = Deadline::new(begun, Nanos::seconds(60));
    deadline.began(begun);
    deadline.ended(begun + Duration::from_secs(40), Duration::from_secs(1));
    assert!(!deadline.is_reached());
    deadline.began(begun + Duration::from_secs(66));
    deadline.ended(begun + Duration::from_secs(69), Duration::from_secs(3));
    assert!(deadline.is_reached());
}
