use super::*;
use proptest::prelude::*;

/// xoshiro256++ written from the authors' description, seeded by SplitMix64.
fn reference(seed: u64, count: usize) -> Vec<u64> {
    let mut counter = seed;
    let mut s = [0u64; 4];
    for word in &mut s {
        *word = split_mix(counter);
        counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    let mut out = Vec::new();
    for _ in 0..count {
        out.push(s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]));
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
    }
    out
}

#[test]
fn stream_is_the_published_one() {
    for seed in [0, 1, 42, u64::MAX] {
        let mut rng = seeded(seed);
        let got: Vec<u64> = (0..20).map(|_| rng.next_u64()).collect();
        assert_eq!(got, reference(seed, 20));
    }
}

#[test]
fn numbers_are_pinned() {
    // A change here changes every order ever printed in a plan.
    let mut rng = seeded(7);
    let mut order: Vec<usize> = (0..10).collect();
    rng.shuffle(&mut order);
    assert_eq!(order, PINNED_ORDER);
    assert_eq!(derive_seed(7, "order"), PINNED_SEED);
}

// From a separate program that follows the published algorithms.
const PINNED_ORDER: [usize; 10] = [3, 8, 9, 4, 6, 7, 2, 5, 1, 0];
const PINNED_SEED: u64 = 0x79fb_3106_a990_7a36;

#[test]
fn labels_and_seeds_give_different_streams() {
    let seeds = [
        derive_seed(1, "order"),
        derive_seed(1, "bootstrap"),
        derive_seed(2, "order"),
        derive_seed(1, ""),
        derive_seed(0, ""),
    ];
    for (i, a) in seeds.iter().enumerate() {
        for b in &seeds[i + 1..] {
            assert_ne!(a, b);
        }
    }
}

#[test]
fn bounds_of_nothing_are_zero() {
    assert_eq!(seeded(1).below(0), 0);
    assert_eq!(seeded(1).below(1), 0);
    seeded(1).shuffle::<u8>(&mut []);
}

#[test]
fn shuffle_is_uniform_over_all_orders_of_four() {
    let mut rng = seeded(11);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        let mut items = [0, 1, 2, 3];
        rng.shuffle(&mut items);
        *counts.entry(items).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 24);
    let chi2: f64 = counts.values().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
    // 23 degrees of freedom: the 99.9 % quantile is 49.7.
    assert!(chi2 < 49.7, "{chi2}");
}

#[test]
fn normal_has_mean_zero_and_variance_one() {
    let mut rng = seeded(3);
    let values: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
    let mean = values.iter().sum::<f64>() / 1e5;
    let variance = values.iter().map(|v| v * v).sum::<f64>() / 1e5;
    let beyond = values.iter().filter(|v| v.abs() > 1.959_964).count() as f64 / 1e5;
    assert!(mean.abs() < 0.012, "{mean}");
    assert!((variance - 1.0).abs() < 0.02, "{variance}");
    assert!((beyond - 0.05).abs() < 0.003, "{beyond}");
}

proptest! {
    #[test]
    fn below_stays_below(seed: u64, bound in 1u64..) {
        let mut rng = seeded(seed);
        for _ in 0..20 {
            prop_assert!(rng.below(bound) < bound);
        }
    }

    #[test]
    fn uniform_stays_in_range(seed: u64) {
        let mut rng = seeded(seed);
        for _ in 0..20 {
            prop_assert!((0.0..1.0).contains(&rng.uniform()));
        }
    }

    #[test]
    fn shuffle_keeps_the_items(seed: u64, length in 0usize..40) {
        let mut items: Vec<usize> = (0..length).collect();
        seeded(seed).shuffle(&mut items);
        items.sort_unstable();
        prop_assert_eq!(items, (0..length).collect::<Vec<_>>());
    }
}
