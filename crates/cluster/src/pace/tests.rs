use super::*;

const SECOND: Option<u64> = Some(1_000_000_000);

#[test]
fn a_share_is_some_seconds_of_work_or_a_fair_part_of_the_rest() {
    assert_eq!(share(None, 100_000, 2), 1, "nothing was measured");
    assert_eq!(share(SECOND, 100_000, 300), 10);
    assert_eq!(share(SECOND, 100_000, 1000), 30, "33 shares a second");
    assert_eq!(share(Some(5_000_000_000), 100_000, 1000), 6);
    assert_eq!(share(Some(90_000_000_000), 100_000, 1000), 1);
    assert_eq!(share(Some(1_000), 100_000, 10), MOST_TRIALS);
    assert_eq!(share(Some(0), 100_000, 10), MOST_TRIALS);
    assert_eq!(share(SECOND, 6_000, 1000), 3);
    assert_eq!(share(SECOND, 1_000, 1000), 1, "never more than leave some for all");
    assert_eq!(share(SECOND, 10, 0), 10);
}

#[test]
fn offers_are_one_for_each_worker_until_they_may_be_large() {
    assert_eq!([0, 2, 1000].map(|workers| offers(workers, false)), [64, 64, 1000]);
    assert_eq!([0, 2, 1000].map(|workers| offers(workers, true)), [64, 64, 2000]);
}

#[test]
fn heartbeats_of_many_workers_are_no_more_than_those_of_two_hundred() {
    let seconds = [0, 2, 200, 500, 1000, 5000].map(|workers| beat(workers).as_secs());
    assert_eq!(seconds, [2, 2, 2, 5, 10, 15]);
}

#[test]
fn an_idle_worker_looks_less_and_less_often() {
    let pauses = [0, 3, 4, 7, 8, 12, 100].map(|in_vain| look(in_vain).as_millis());
    assert_eq!(pauses, [100, 100, 200, 200, 400, 800, 800]);
}
