use super::*;
use crate::claims;
use std::convert::Infallible;

const CLAIMS: &str = r#"
frozen = "2026-01-01"
[[study]]
key = "9"
title = "t"
author = "a"
kernel = "k"
stands_for = "s"
[[value]]
id = "9.rate"
value = 50
unit = "MB/s"
line = 1
use = "fit"
[[value]]
id = "9.secret"
value = 60
unit = "MB/s"
line = 2
use = "predict"
"#;

fn values() -> FitValues {
    claims::read("x.toml", CLAIMS).unwrap().fit_values()
}

fn parameter(value: &str, range: [f64; 2]) -> Fit {
    Fit {
        device: "d".into(),
        parameter: "p".into(),
        range,
        source: "s".into(),
        value: value.into(),
        step: 0.5,
    }
}

#[test]
fn a_rising_and_a_falling_quantity_are_found() {
    let rising = |x: f64| Ok::<_, Infallible>(Some(2.0 * x));
    let found = fit(&parameter("9.rate", [0.0, 100.0]), &values(), &mut { rising }).unwrap();
    assert_eq!((found.parameter, found.measured, found.inside), (25.0, 50.0, true));
    let falling = |x: f64| Ok::<_, Infallible>(Some(1000.0 / x));
    let found = fit(&parameter("9.rate", [1.0, 100.0]), &values(), &mut { falling }).unwrap();
    assert_eq!((found.parameter, found.measured), (20.0, 50.0));
    assert!(found.tried.len() <= MOST_RUNS);
}

#[test]
fn what_lies_outside_of_the_range_takes_the_nearer_end_and_says_so() {
    let rising = |x: f64| Ok::<_, Infallible>(Some(2.0 * x));
    let found = fit(&parameter("9.rate", [0.0, 10.0]), &values(), &mut { rising }).unwrap();
    assert_eq!((found.parameter, found.inside, found.tried.len()), (10.0, false, 2));
}

#[test]
fn a_value_to_be_predicted_stops_the_fit_before_anything_runs() {
    let mut runs = 0;
    let mut measure = |_: f64| {
        runs += 1;
        Ok::<_, Infallible>(Some(1.0))
    };
    let error = fit(&parameter("9.secret", [0.0, 1.0]), &values(), &mut measure).unwrap_err();
    assert!(matches!(error, FitError::Value { source: FitValueError::Withheld(_), .. }));
    assert_eq!(runs, 0);
}

#[test]
fn a_lab_that_measures_nothing_is_said() {
    let nothing = |_: f64| Ok::<_, Infallible>(None);
    let error = fit(&parameter("9.rate", [0.0, 1.0]), &values(), &mut { nothing }).unwrap_err();
    assert_eq!(error.to_string(), "the fit of p: at 0 its lab measured no 9.rate");
}
