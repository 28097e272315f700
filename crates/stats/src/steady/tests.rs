use super::*;
use proptest::prelude::*;

#[test]
fn a_flat_series_is_steady_at_once() {
    let Steady::Reached(window) = WindowRule::default().judge(&[100.0; 5]) else {
        panic!("not steady")
    };
    assert_eq!((window.first, window.mean, window.range, window.slope), (0, 100.0, 0.0, 0.0));
}

#[test]
fn a_falling_series_becomes_steady_when_it_flattens() {
    let falling = [200.0, 160.0, 130.0, 110.0, 103.0, 100.0, 99.0, 100.0, 101.0];
    let Steady::Reached(window) = WindowRule::default().judge(&falling) else { panic!() };
    // 130…99: range 31/108.4 too wide; 110…100: range 11 %, the line falls 9.96 %.
    assert_eq!(window.first, 3);
    assert!((window.range - 11.0 / 102.4).abs() < 1e-12);
    let moved = -((110.0 * 2.0 + 103.0) - (99.0 + 100.0 * 2.0)) / 10.0 * 4.0 / 102.4;
    assert!((window.slope - moved).abs() < 1e-12, "{} {moved}", window.slope);
}

#[test]
fn each_limit_counts_and_is_inclusive() {
    let rule = WindowRule::default();
    // Range exactly 20 % of the mean 100, no slope.
    assert!(rule.judge(&[110.0, 90.0, 100.0, 90.0, 110.0]).is_reached());
    assert!(!rule.judge(&[110.1, 89.9, 100.0, 89.9, 110.1]).is_reached());
    // A line that moves 9.9 % and one that moves 10.1 %, both within the range.
    let line = |step: f64| (0..5).map(|x| 100.0 + step * (f64::from(x) - 2.0)).collect::<Vec<_>>();
    assert!(rule.judge(&line(2.475)).is_reached());
    assert!(!rule.judge(&line(2.525)).is_reached());
}

#[test]
fn too_few_rounds_are_not_yet_and_too_many_are_given_up() {
    let rule = WindowRule::default();
    assert_eq!(rule.judge(&[1.0; 4]), Steady::NotYet(None));
    let restless: Vec<f64> = (0..40).map(|r| if r % 2 == 0 { 100.0 } else { 200.0 }).collect();
    assert!(matches!(rule.judge(&restless[..24]), Steady::NotYet(Some(_))));
    assert!(matches!(rule.judge(&restless[..25]), Steady::GivenUp(Some(_))));
    let mut late = restless;
    late[25..].fill(150.0);
    assert!(!rule.judge(&late).is_reached(), "rounds past the 25th are too late");
    assert!(!rule.judge(&[0.0; 10]).is_reached(), "zero throughput is not a steady state");
}

#[test]
fn fio_criteria_are_read_and_written() {
    for text in ["iops:2%", "iops_slope:0.1%", "bw:4096", "bw_slope:5%", "lat:10%", "lat_slope:1"] {
        assert_eq!(text.parse::<FioCriterion>().unwrap().to_string(), text);
    }
    let slope: FioCriterion = "iops_slope:0.3%".parse().unwrap();
    assert_eq!(slope.metric, FioMetric::Iops);
    assert!(slope.slope);
    assert_eq!(slope.limit, FioLimit::Percent(0.3));
}

#[test]
fn mistakes_in_criteria_say_what_to_write() {
    for (text, what) in [
        ("iops", "has no limit"),
        ("speed:1%", "names an unknown metric"),
        ("_slope:1%", "names an unknown metric"),
        ("iops:fast", "has a limit that is not a number"),
        ("iops:-1%", "has a limit that is not positive"),
        ("iops:0", "has a limit that is not positive"),
        ("iops:inf", "has a limit that is not positive"),
    ] {
        let error = text.parse::<FioCriterion>().unwrap_err();
        assert_eq!(error.what, what, "{text}");
        assert!(error.to_string().contains("write METRIC:LIMIT"));
    }
}

#[test]
fn fio_deviation_and_slope_by_hand() {
    let window = [90.0, 100.0, 110.0, 100.0];
    let percent: FioCriterion = "iops:10.1%".parse().unwrap();
    assert_eq!(percent.measure(&window), Some(10.0));
    let slope: FioCriterion = "iops_slope:1".parse().unwrap();
    // Σ(x - 1.5)(y - 100) = -1.5·-10 + 0.5·10 = 20, over 5.
    assert_eq!(slope.measure(&window), Some(4.0));
    assert_eq!(slope.measure(&[1.0]), None);
}

proptest! {
    #[test]
    fn scaling_changes_nothing(
        series in proptest::collection::vec(1.0f64..1000.0, 0..40),
        factor in 0.001f64..1000.0,
    ) {
        let scaled: Vec<f64> = series.iter().map(|v| v * factor).collect();
        let rule = WindowRule::default();
        let first = |steady| match steady {
            Steady::Reached(window) => Some(window.first),
            _ => None,
        };
        prop_assert_eq!(first(rule.judge(&series)), first(rule.judge(&scaled)));
    }

    #[test]
    fn agrees_with_a_naive_window_rule(
        series in proptest::collection::vec(80.0f64..125.0, 0..40),
    ) {
        let naive = (0..series.len().min(25).saturating_sub(4)).find(|&first| {
            let w = &series[first..first + 5];
            let mean = w.iter().sum::<f64>() / 5.0;
            let mut sorted = w.to_vec();
            sorted.sort_by(f64::total_cmp);
            let slope = (2.0 * w[4] + w[3] - w[1] - 2.0 * w[0]) / 10.0;
            sorted[4] - sorted[0] <= 0.2 * mean && (slope * 4.0).abs() <= 0.1 * mean
        });
        let got = match WindowRule::default().judge(&series) {
            Steady::Reached(window) => Some(window.first),
            _ => None,
        };
        prop_assert_eq!(got, naive);
    }
}
