use super::*;

#[test]
fn heartbeats_of_many_workers_are_no_more_than_those_of_two_hundred() {
    let seconds = [0, 2, 200, 500, 1000, 5000].map(|workers| beat_interval(workers).as_secs());
    assert_eq!(seconds, [2, 2, 2, 5, 10, 15]);
}
