//! Do printed 95 % intervals cover in 95 % of cases, and are dependent samples noticed?

use super::Scale;
use super::row::{Raw, Row, Share};
use seekwell_stats::estimate::mean;
use seekwell_stats::interval::mean_interval;
use seekwell_stats::serial::is_autocorrelated;
use seekwell_stats::{Rng, derive_seed, seeded};

/// A distribution of log-ratios with a known mean.
struct Shape {
    name: &'static str,
    draw: fn(&mut Rng) -> f64,
    mean: f64,
    /// Sample size from which coverage is promised.
    from: usize,
}

fn shapes() -> Vec<Shape> {
    vec![
        Shape { name: "normal", draw: Rng::normal, mean: 0.0, from: 6 },
        Shape {
            name: "ratio of lognormal trials, CoV 10 and 30 %",
            draw: |rng| 0.0998 * rng.normal() - 0.2936 * rng.normal(),
            mean: 0.0,
            from: 6,
        },
        Shape {
            name: "lognormal, σ = 0.25",
            draw: |rng| (0.25 * rng.normal()).exp(),
            mean: 1.031_743_407_499_102_6,
            from: 20,
        },
        Shape {
            name: "lognormal, σ = 0.5",
            draw: |rng| (0.5 * rng.normal()).exp(),
            mean: 1.133_148_453_066_826_3,
            from: 20,
        },
        Shape {
            name: "two modes 20 % apart in both stacks, 1 trial in 5",
            draw: |rng| slow(rng, 0.2) - slow(rng, 0.2) + 0.03 * rng.normal(),
            mean: 0.0,
            from: 20,
        },
        Shape {
            name: "two modes 20 % apart in one stack, 3 trials in 10",
            draw: |rng| slow(rng, 0.3) + 0.03 * rng.normal(),
            mean: 0.06,
            from: 20,
        },
        Shape {
            name: "two modes 20 % apart in one stack, 1 trial in 5",
            draw: |rng| slow(rng, 0.2) + 0.03 * rng.normal(),
            mean: 0.04,
            from: 20,
        },
    ]
}

fn slow(rng: &mut Rng, chance: f64) -> f64 {
    if rng.uniform() < chance { 0.2 } else { 0.0 }
}

/// Rows about intervals.
pub fn rows(scale: Scale, take: &mut impl FnMut(Row)) {
    for shape in shapes() {
        for count in [6, 10, 20, 40, 80] {
            take(coverage(scale, &shape, count));
        }
    }
    for count in [20, 40, 80] {
        for correlation in [0.0, 0.3, 0.5, 0.7, 0.9] {
            take(dependence(scale, correlation, count));
        }
    }
}

fn coverage(scale: Scale, shape: &Shape, count: usize) -> Row {
    let mut rng = seeded(derive_seed(scale.seed(count), shape.name));
    let intervals: Vec<(f64, f64)> = (0..scale.cases)
        .map(|_| {
            let sample: Vec<f64> = (0..count).map(|_| (shape.draw)(&mut rng)).collect();
            let interval = mean_interval(&sample, 0.05).expect("a sample with spread");
            (interval.low, interval.high)
        })
        .collect();
    let covered = Share::count(&intervals, |(low, high)| *low <= shape.mean && shape.mean <= *high);
    let width = mean(&intervals.iter().map(|(low, high)| high - low).collect::<Vec<_>>());
    let promised = count >= shape.from;
    let (what, target) = if promised {
        ("coverage of 95 % intervals", "93–97 %")
    } else {
        ("coverage of 95 % intervals, not promised", "")
    };
    Row {
        what,
        case: format!("{}, n = {count}", shape.name),
        figures: format!("{covered}; mean width {:.3}", width.unwrap_or(0.0)),
        share: covered,
        target: target.to_owned(),
        reached: promised.then_some((0.93..=0.97).contains(&covered.value())),
        unresolved: None,
        raw: Raw {
            name: "coverage".to_owned(),
            header: "shape,n,cases,covered,below_truth,above_truth".to_owned(),
            lines: vec![format!(
                "\"{}\",{count},{},{},{},{}",
                shape.name,
                covered.of,
                covered.hits,
                intervals.iter().filter(|(_, high)| *high < shape.mean).count(),
                intervals.iter().filter(|(low, _)| *low > shape.mean).count()
            )],
        },
    }
}

fn dependence(scale: Scale, correlation: f64, count: usize) -> Row {
    let mut rng = seeded(derive_seed(scale.seed(count), &format!("dependence {correlation}")));
    let found: Vec<(bool, bool)> = (0..scale.cases)
        .map(|_| {
            let mut last = rng.normal();
            let sample: Vec<f64> = (0..count)
                .map(|_| {
                    last = correlation * last
                        + (1.0 - correlation * correlation).sqrt() * rng.normal();
                    last
                })
                .collect();
            let interval = mean_interval(&sample, 0.05).expect("a sample with spread");
            (is_autocorrelated(&sample), interval.contains(0.0))
        })
        .collect();
    let marked = Share::count(&found, |(marked, _)| *marked);
    let covered = Share::count(&found, |(_, covered)| *covered);
    let silent = Share::count(&found, |(marked, covered)| !marked && !covered);
    let promised = correlation >= 0.5 && count >= 40;
    Row {
        what: "dependent rounds are marked",
        case: format!("first-order autoregressive {correlation}, n = {count}"),
        figures: format!(
            "{marked}; the interval covers in {:.1} %, misses without a mark in {:.1} %",
            100.0 * covered.value(),
            100.0 * silent.value()
        ),
        share: marked,
        target: if promised { "≥ 90 %" } else { "" }.to_owned(),
        reached: promised.then_some(marked.value() >= 0.9),
        unresolved: None,
        raw: Raw {
            name: "dependence".to_owned(),
            header: "correlation,n,cases,marked,covered,missed_unmarked".to_owned(),
            lines: vec![format!(
                "{correlation},{count},{},{},{},{}",
                marked.of, marked.hits, covered.hits, silent.hits
            )],
        },
    }
}
