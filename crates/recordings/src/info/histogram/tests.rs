use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn percentiles_are_those_of_the_sorted_values(
        mut values in proptest::collection::vec(0_u64..1_000_000, 1..200),
    ) {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        values.sort_unstable();
        let exact = |percent: usize| values[(values.len() * percent).div_ceil(100).max(1) - 1];
        let spread = histogram.spread();
        for (found, percent) in [(spread.p50, 50), (spread.p90, 90), (spread.p99, 99)] {
            let (found, exact) = (found.unwrap(), exact(percent));
            prop_assert!(found.abs_diff(exact) <= exact / 14 + 1, "{} for {}", found, exact);
        }
        prop_assert_eq!(spread.max, values.last().copied());
    }
}

#[test]
fn an_empty_distribution_has_no_percentiles() {
    assert_eq!(Histogram::default().spread(), Spread::default());
}

#[test]
fn sizes_of_a_kind_are_exact() {
    let mut histogram = Histogram::default();
    [4096, 8192, 8192, 65_536].iter().for_each(|size| histogram.add(*size));
    let spread = histogram.spread();
    assert_eq!((spread.p50, spread.p99), (Some(8192), Some(65_536)));
}
