use super::*;
use seekwell_model::plan::Buys;

fn outlook() -> Outlook {
    let buys = |rounds: u32, seconds: u64, difference: f64| Buys {
        rounds,
        time_ns: seconds * 1_000_000_000,
        difference: Some(difference),
    };
    Outlook {
        trials: 12,
        spread: Some(0.031),
        spread_low: Some(0.02),
        spread_high: Some(0.069),
        trial_ns: 1_300_000_000,
        screen_trials: 24,
        screen_ns: 31_200_000_000,
        buys: vec![buys(10, 150, 0.082), buys(20, 254, 0.054), buys(40, 462, 0.037)],
        tie: 0.02,
        tie_rounds: Some(62),
        tie_ns: Some(692_000_000_000),
    }
}

#[test]
fn it_says_noise_time_resolution_and_what_a_tie_would_mean() {
    insta::assert_snapshot!(outlook_text(&outlook(), false, 80), @r"
    After 12 trials: a trial takes 1.3 s, and the trials of a stack vary by 3.1 % (2
    % to 6.9 %).
    Differences that are detected in 9 of 10 runs: above 8.2 % with 10 rounds (in 2
    min 30 s), above 5.4 % with 20 rounds (in 4 min 14 s), above 3.7 % with 40
    rounds (in 7 min 42 s).
    A tie means that no stack is better than the leader by more than 2 %. To show
    this for two equal stacks takes about 62 rounds (in 11 min 32 s); if the stacks
    are equal, this run will probably stay inconclusive unless you widen the tie.
    ");
}

#[test]
fn exact_trials_promise_no_more_than_they_know() {
    let exact = Outlook {
        spread: Some(0.0),
        buys: vec![Buys { rounds: 6, time_ns: 60_000_000_000, difference: Some(0.0) }],
        ..outlook()
    };
    insta::assert_snapshot!(outlook_text(&exact, false, 80), @r"
    After 12 trials: a trial takes 1.3 s, and the trials of a stack do not vary at
    all.
    Every difference is detected, however small.
    A tie means that no stack is better than the leader by more than 2 %.
    ");
    let unknown = Outlook { spread: None, buys: vec![], tie_rounds: None, ..outlook() };
    insta::assert_snapshot!(outlook_text(&unknown, false, 80), @r"
    After 12 trials: a trial takes 1.3 s; the variation between trials is not known
    yet.
    A tie means that no stack is better than the leader by more than 2 %.
    ");
}

#[test]
fn virtual_time_is_no_time_to_wait() {
    let text = outlook_text(&outlook(), true, 400);
    assert!(text.contains("a trial takes 1.3 s of virtual time"), "{text}");
    assert!(text.contains("with 10 rounds, above") && !text.contains("(in "), "{text}");
}
