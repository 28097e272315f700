use super::*;
use proptest::prelude::*;

fn from_values(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

const HOUR_NS: u64 = 3_600_000_000_000;

#[test]
fn empty_has_no_numbers() {
    let histogram = Histogram::new();
    assert!(histogram.is_empty());
    assert_eq!(histogram.count(), 0);
    assert_eq!(histogram.mean_ns(), None);
    assert_eq!(histogram.min_ns(), None);
    assert_eq!(histogram.max_ns(), None);
    assert_eq!(histogram.percentile_ns(0.5), None);
    assert_eq!(histogram.iter().count(), 0);
    assert_eq!(Histogram::from_bytes(&histogram.to_bytes()).unwrap(), histogram);
}

#[test]
fn small_values_are_exact() {
    let histogram = from_values(&[0, 1, 2, 3, 1000]);
    assert_eq!(histogram.min_ns(), Some(0));
    assert_eq!(histogram.max_ns(), Some(1000));
    assert_eq!(histogram.mean_ns(), Some(1006.0 / 5.0));
    assert_eq!(histogram.percentile_ns(0.5), Some(2));
    assert_eq!(histogram.percentile_ns(0.0), Some(0));
    assert_eq!(histogram.percentile_ns(1.0), Some(1000));
    assert_eq!(histogram.percentile_ns(7.0), Some(1000));
    assert_eq!(histogram.percentile_ns(f64::NAN), None);
}

#[test]
fn an_hour_is_kept_and_more_is_counted_as_overflow() {
    let mut histogram = from_values(&[HOUR_NS]);
    let kept = histogram.max_ns().unwrap() as f64;
    assert!((kept / HOUR_NS as f64 - 1.0).abs() < 1e-3, "{kept}");
    histogram.record(u64::MAX);
    histogram.record_n(1 << 43, 2);
    assert_eq!(histogram.count(), 4);
    let last = |of: &Histogram| of.iter().last().unwrap();
    assert_eq!(last(&histogram).1, 3);
    let again = Histogram::from_bytes(&histogram.to_bytes()).unwrap();
    assert_eq!(last(&again), last(&histogram));
}

#[test]
fn damaged_bytes_are_refused() {
    assert!(matches!(Histogram::from_bytes(&[]), Err(HistogramError::Decode { length: 0, .. })));
    let mut bytes = from_values(&[5, 70_000]).to_bytes();
    bytes.push(0);
    assert!(matches!(Histogram::from_bytes(&bytes), Err(HistogramError::Trailing(1))));
    bytes.truncate(bytes.len() - 2);
    assert!(matches!(Histogram::from_bytes(&bytes), Err(HistogramError::Decode { .. })));
    let coarse = Hdr::<u64>::new_with_bounds(1, 1000, 2).unwrap();
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&coarse, &mut bytes).unwrap();
    let refused = Histogram::from_bytes(&bytes);
    assert!(matches!(refused, Err(HistogramError::Precision(2))));
    let mut wide = Hdr::<u64>::new_with_bounds(1, 1 << 50, 3).unwrap();
    wide.record(1 << 49).unwrap();
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&wide, &mut bytes).unwrap();
    assert!(matches!(Histogram::from_bytes(&bytes), Err(HistogramError::Range(_))));
}

proptest! {
    #[test]
    fn agrees_with_sorted_values(
        mut values in proptest::collection::vec(0u64..HOUR_NS, 1..200),
        q in 0.0f64..=1.0,
    ) {
        let histogram = from_values(&values);
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).max(1);
        let exact = values[rank - 1] as f64;
        let got = histogram.percentile_ns(q).unwrap() as f64;
        prop_assert!((got - exact).abs() <= exact * 1e-3 + 0.5, "{got} for {exact}");
        prop_assert_eq!(histogram.count(), values.len() as u64);
        let mean = values.iter().map(|&v| v as f64).sum::<f64>() / values.len() as f64;
        prop_assert!((histogram.mean_ns().unwrap() - mean).abs() <= mean * 1e-3 + 0.5);
    }

    #[test]
    fn bytes_and_pairs_round_trip(values in proptest::collection::vec(any::<u64>(), 0..100)) {
        let histogram = from_values(&values);
        prop_assert_eq!(&Histogram::from_bytes(&histogram.to_bytes()).unwrap(), &histogram);
        let mut rebuilt = Histogram::new();
        for (value, count) in histogram.iter() {
            rebuilt.record_n(value, count);
        }
        prop_assert_eq!(rebuilt, histogram);
    }

    #[test]
    fn merging_equals_recording_together(
        left in proptest::collection::vec(any::<u64>(), 0..50),
        right in proptest::collection::vec(any::<u64>(), 0..50),
    ) {
        let mut merged = from_values(&left);
        merged.merge(&from_values(&right));
        let together: Vec<u64> = left.iter().chain(&right).copied().collect();
        prop_assert_eq!(merged, from_values(&together));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Histogram::from_bytes(&bytes);
    }
}
