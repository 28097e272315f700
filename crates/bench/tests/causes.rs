//! The attribution names injected causes as in the kept results.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

#[path = "../examples/causes/injected.rs"]
mod injected;

const KEPT: &str = include_str!("../../../benches/runs/why/injected.csv");

/// Cases that are tried again: each takes a fraction of a second.
const AGAIN: u32 = 24;

#[test]
fn injected_causes_are_found_as_in_the_kept_results() {
    let mut kept = KEPT.lines();
    assert_eq!(kept.next(), Some(injected::HEAD));
    for number in 0..AGAIN {
        let case = injected::case(number).unwrap();
        assert!(case.is_right(), "{case}");
        assert_eq!(Some(case.to_string().as_str()), kept.next());
    }
}

#[test]
fn the_injected_law_is_first_in_95_of_100_kept_cases() {
    let cases: Vec<Vec<&str>> =
        KEPT.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let right = cases.iter().filter(|case| case[3] == case[6]).count();
    assert_eq!(cases.len(), 200);
    assert!(right * 100 >= cases.len() * 95, "{right}");
}
