use super::*;
use seekwell_model::record::StepRecord;

const AMOUNTS: Amounts = Amounts { brief: 200, most: 20_000 };

fn seen(trial_ms: u64, work_ms: u64, step_ms: u64) -> Seen {
    let [trial_ns, work_ns, step_ns] = [trial_ms, work_ms, step_ms].map(|ms| ms * 1_000_000);
    Seen { trial_ns, work_ns, step_ns }
}

#[test]
fn the_step_lasts_as_long_as_what_is_beside_the_work_and_half_a_second_at_least() {
    let amount = |seen: Seen| AMOUNTS.choose(&seen, 4, Nanos::seconds(1_000));
    // 1 s beside 200 ms of work: 1 s of work.
    assert_eq!(amount(seen(1_200, 200, 200)), 1_000);
    // 100 ms beside it: half a second of work.
    assert_eq!(amount(seen(200, 100, 100)), 1_000);
    // A step that is long enough stays.
    assert_eq!(amount(seen(1_100, 1_000, 1_000)), 200);
    assert_eq!(amount(seen(2, 1, 1)), 20_000);
}

#[test]
fn ten_rounds_fit_the_time_with_all_steps_of_the_work() {
    // 4 stacks, 10 rounds, 120 s: 3 s a trial, 1 s of it beside the work. The reading steps take
    // nine times as long as the judged one.
    let slow = seen(1_200, 200, 20);
    let amount = AMOUNTS.choose(&slow, 4, Nanos::seconds(120));
    assert_eq!(amount, 2_000);
    assert_eq!(AMOUNTS.least_time(&slow, 4, amount), Nanos::seconds(3 * 4 * 6));
    // No room at all: the brief amount, and the least time says what it takes.
    let slower = seen(9_000, 200, 200);
    assert_eq!(AMOUNTS.choose(&slower, 4, Nanos::seconds(120)), 200);
    assert_eq!(AMOUNTS.least_time(&slower, 4, 200), Nanos::seconds(9 * 24));
}

#[test]
fn steps_beside_the_work_are_told_by_their_names() {
    let step = |name: &str, started_ns: u64, ended_ns: u64| StepRecord {
        name: name.to_owned(),
        started_ns,
        ended_ns,
        ..StepRecord::default()
    };
    let steps = vec![
        step("mkfs", 0, 10),
        step("mount", 10, 15),
        step("unpack", 20, 50),
        step("remove", 50, 57),
        step("umount", 60, 80),
    ];
    let record = Record { steps, elapsed_ns: 100, ..Record::blank() };
    let expected = Seen { trial_ns: 100, work_ns: 37, step_ns: 30 };
    assert_eq!(Seen::of(&record, "unpack"), expected);
}
