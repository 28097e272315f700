use super::*;
use proptest::prelude::*;

fn column(unit: Option<Unit>, values: &[f64]) -> (Vec<String>, &'static str) {
    let scale = Scale::fit(unit, values.iter().copied());
    (values.iter().map(|value| scale.number(Some(*value))).collect(), scale.symbol())
}

#[test]
fn a_column_has_one_unit_and_equal_decimals() {
    let seconds = Some(Unit::Seconds);
    assert_eq!(column(seconds, &[0.412, 0.0731]), (vec!["412.0".into(), "73.1".into()], "ms"));
    assert_eq!(column(seconds, &[12.3456, 1.2]), (vec!["12.35".into(), "1.20".into()], "s"));
    assert_eq!(column(Some(Unit::Nanoseconds), &[1_500.0]), (vec!["1.50".into()], "µs"));
    assert_eq!(column(Some(Unit::Years), &[0.00365]), (vec!["1.33".into()], "days"));
    assert_eq!(column(Some(Unit::Bytes), &[44e6, 0.0]), (vec!["44.0".into(), "0.0".into()], "MB"));
    assert_eq!(column(Some(Unit::PerSecond), &[4998.2]), (vec!["4998".into()], "/s"));
    assert_eq!(column(None, &[0.5]), (vec!["0.500".into()], ""));
}

#[test]
fn nothing_known_is_a_dash_and_zero_is_zero() {
    let scale = Scale::fit(Some(Unit::Seconds), []);
    assert_eq!((scale.number(None), scale.symbol()), ("-".to_owned(), "s"));
    assert_eq!(column(Some(Unit::Seconds), &[0.0]).0, ["0"]);
    assert_eq!(scale.number(Some(f64::NAN)), "-");
    assert_eq!(ratio(None), "-");
    assert_eq!(ratio(Some(f64::INFINITY)), "-");
}

#[test]
fn percents_have_as_many_digits_as_they_deserve() {
    assert_eq!(percent(0.02), "2 %");
    assert_eq!(percent(0.023), "2.3 %");
    assert_eq!(percent(0.1234), "12 %");
    assert_eq!(percent(0.999), "100 %");
    assert_eq!(percent(0.95), "95 %");
}

#[test]
fn units_come_from_the_catalogue_of_metrics() {
    assert_eq!(unit_of("unpack.elapsed_durable"), Some(Unit::Seconds));
    assert_eq!(unit_of("seek.latency_p99"), Some(Unit::Nanoseconds));
    assert_eq!(unit_of("command.my_score"), None);
}

proptest! {
    #[test]
    fn three_digits_of_every_value_are_kept(value in 1e-9_f64..1e12) {
        let text = Scale::fit(Some(Unit::Seconds), [value]).number(Some(value));
        let digits = text.trim_start_matches(['0', '.']).replace('.', "").len();
        prop_assert!(digits >= 3, "{value} {text}");
    }
}

#[test]
fn what_was_set_is_not_rounded() {
    assert_eq!(exact_percent(0.999), "99.9 %");
    assert_eq!(exact_percent(0.995), "99.5 %");
    assert_eq!(exact_percent(0.125), "12.5 %");
    assert_eq!(exact_percent(0.0005), "0.05 %");
    assert_eq!(exact_percent(0.07), "7 %");
    assert_eq!(exact_percent(0.0), "0 %");
}
