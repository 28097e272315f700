use super::*;
use proptest::prelude::*;

#[test]
fn normal_at_known_points() {
    assert!((normal_cdf(0.0) - 0.5).abs() < 1e-16);
    assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-13);
    assert!((normal_quantile(1e-10) + 6.361_340_902_404_056).abs() < 1e-12);
    assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    assert!(normal_quantile(1.5).is_nan());
    assert!(normal_quantile(f64::NAN).is_nan());
}

#[test]
fn t_with_one_degree_of_freedom_is_cauchy() {
    for t in [0.1f64, 1.0, 12.7, 1e6] {
        let exact = 0.5 - t.atan() / PI;
        let got = t_upper_tail(t, 1.0);
        // The subtraction in `exact` loses digits for large t.
        assert!((got - exact).abs() < 1e-15, "{t}: {got} {exact}");
    }
    assert!((t_quantile_upper(0.025, 1.0) - 12.706_204_736_174_7).abs() < 1e-9);
}

#[test]
fn t_with_two_degrees_of_freedom_has_a_closed_form() {
    for upper in [0.4, 0.025, 1e-3, 1e-9] {
        let p: f64 = 1.0 - upper;
        let exact = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
        let got = t_quantile_upper(upper, 2.0);
        assert!((got / exact - 1.0).abs() < 1e-7, "{upper}: {got} {exact}");
    }
}

#[test]
fn nonsense_is_not_a_number() {
    assert!(t_quantile_upper(0.0, 5.0).is_nan());
    assert!(t_quantile_upper(1.0, 5.0).is_nan());
    assert!(t_quantile_upper(0.1, 0.0).is_nan());
    assert!(t_upper_tail(f64::NAN, 3.0).is_nan());
    assert!(beta_cdf(0.5, -1.0, 1.0).is_nan());
}

#[test]
fn digamma_and_trigamma_at_known_points() {
    // ψ(1) = -γ, ψ'(1) = π²/6, ψ'(1/2) = π²/2.
    assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-13);
    assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-12);
    assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-12);
    assert!((trigamma_inverse(PI * PI / 6.0) - 1.0).abs() < 1e-9);
    assert_eq!(trigamma_inverse(0.0), f64::INFINITY);
}

proptest! {
    #[test]
    fn t_quantile_inverts_the_tail(upper in 1e-12f64..0.999, df in 1.0f64..500.0) {
        let t = t_quantile_upper(upper, df);
        prop_assert!((t_upper_tail(t, df) / upper - 1.0).abs() < 1e-10);
    }

    #[test]
    fn normal_quantile_inverts(p in 1e-300f64..0.999_999) {
        prop_assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-11);
    }

    #[test]
    fn beta_is_symmetric(x in 0.0f64..=1.0, a in 0.1f64..50.0, b in 0.1f64..50.0) {
        prop_assert!((beta_cdf(x, a, b) + beta_cdf(1.0 - x, b, a) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn f_with_one_numerator_degree_is_t_squared(t in 0.01f64..20.0, df in 1.0f64..100.0) {
        let two_sided = 2.0 * t_upper_tail(t, df);
        prop_assert!((f_upper_tail(t * t, 1.0, df) / two_sided - 1.0).abs() < 1e-9);
    }
}
