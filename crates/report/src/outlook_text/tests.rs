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
    insta::assert_snapshot!(outlook_text(&outlook(), 80), @"");
}

#[test]
fn exact_trials_promise_no_more_than_they_know() {
    let exact = Outlook {
        spread: Some(0.0),
        buys: vec![Buys { rounds: 6, time_ns: 60_000_000_000, difference: Some(0.0) }],
        ..outlook()
    };
    insta::assert_snapshot!(outlook_text(&exact, 80), @"");
    let unknown = Outlook { spread: None, buys: vec![], tie_rounds: None, ..outlook() };
    insta::assert_snapshot!(outlook_text(&unknown, 80), @"");
}
