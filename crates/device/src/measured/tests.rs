use super::Curve;
use proptest::prelude::*;

#[test]
fn curve_is_level_below_straight_between_and_goes_on_above() {
    let curve = Curve::new(&[[512.0, 100.0], [4096.0, 200.0], [8192.0, 240.0]]);
    let expected = [
        (1, 100_000),
        (512, 100_000),
        (2304, 150_000),
        (4096, 200_000),
        (6144, 220_000),
        (16384, 320_000),
    ];
    for (bytes, ns) in expected {
        assert_eq!(curve.ns(bytes), ns, "{bytes}");
    }
}

#[test]
fn a_falling_end_does_not_fall_on() {
    let curve = Curve::new(&[[512.0, 100.0], [4096.0, 50.0]]);
    assert_eq!((curve.ns(4096), curve.ns(1 << 20)), (50_000, 50_000));
    assert_eq!(Curve::new(&[[512.0, 7.0]]).ns(1 << 20), 7_000);
}

proptest! {
    #[test]
    fn between_two_points_it_stays_between_their_values(
        start in 1_u64..10_000, length in 1_u64..10_000, low in 0.0_f64..1000.0, high in 0.0_f64..1000.0, part in 0.0_f64..1.0,
    ) {
        let curve = Curve::new(&[[start as f64, low], [(start + length) as f64, high]]);
        let at = curve.ns(start + (length as f64 * part) as u64);
        let (low, high) = ((low.min(high) * 1e3).floor() as u64, (low.max(high) * 1e3).ceil() as u64);
        prop_assert!((low..=high + 1).contains(&at));
    }
}
