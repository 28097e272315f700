use super::{Heat, HeatParameters};

fn parameters() -> HeatParameters {
    HeatParameters {
        degrees_per_gb: 10.0,
        cooling_s: 100.0,
        limit_degrees: 40.0,
        resume_degrees: 30.0,
        throttled_mb_per_s: 500.0,
        initial_degrees: 0.0,
    }
}

#[test]
fn a_disk_is_throttled_from_the_limit_on_until_it_has_cooled() {
    let mut heat = Heat::new(&parameters());
    // 0.1 GB at once, again and again: the 40th gigabyte's tenth reaches the limit.
    let throttled: Vec<u64> = (0..40).map(|_| heat.program_ns(0, 100_000_000, 4)).collect();
    assert_eq!(throttled[..39], [0; 39]);
    assert_eq!(throttled[39], 800_000_000);
    // From 40 to 30 degrees takes 100 s times the logarithm of 4/3: 28.8 s.
    assert_eq!(heat.clone().program_ns(28_000_000_000, 1000, 4), 8_000);
    assert_eq!(heat.program_ns(29_500_000_000, 1000, 4), 0);
}

#[test]
fn cooling_is_exponential_in_long_and_in_short_steps() {
    let mut once = Heat::new(&HeatParameters { initial_degrees: 39.0, ..parameters() });
    let mut often = once.clone();
    once.cool(100_000_000_000);
    (1..=1000).for_each(|nth| often.cool(nth * 100_000_000));
    for heat in [once, often] {
        let off = heat.degrees / (39.0 / std::f64::consts::E) - 1.0;
        assert!(off.abs() < 0.01, "{off}");
    }
}

#[test]
fn a_disk_that_resumes_above_its_limit_is_refused() {
    let error = HeatParameters { resume_degrees: 50.0, ..parameters() }.check().unwrap_err();
    assert_eq!(error.key(), Some("ssd.heat.resume_degrees"));
}
