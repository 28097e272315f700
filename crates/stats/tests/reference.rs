//! The statistics against SciPy on 1,000 random inputs, equal to 1e-9.
//!
//! `testdata/reference/generate.py` made the file; nothing here needs Python.

#![allow(clippy::unwrap_used, reason = "helpers of a test stop at the first surprise")]

use seekwell_stats::estimate::{mean, median, quantile, skewness, std_dev};
use seekwell_stats::interval::{BOOTSTRAP_FROM, bca, mean_interval};
use seekwell_stats::linear::Projector;
use seekwell_stats::serial::von_neumann;
use seekwell_stats::special::{
    digamma, f_upper_tail, normal_cdf, normal_quantile, t_quantile_upper, t_upper_tail, trigamma,
};

const FILE: &str = include_str!("../testdata/reference/reference.csv");

struct Case {
    line: usize,
    numbers: Vec<f64>,
    x: Vec<f64>,
    /// Size of the sample's values: what an absolute rounding error is measured against.
    scale: f64,
}

fn cases() -> Vec<Case> {
    let parse = |part: &str| part.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
    FILE.lines()
        .enumerate()
        .filter(|(_, text)| !text.starts_with('#'))
        .map(|(line, text)| {
            let parts: Vec<&str> = text.split(';').collect();
            let (numbers, x) = (parse(parts[0]), parse(parts[1]));
            let scale = x.iter().map(|v| v.abs()).fold(0.0, f64::max);
            Case { line, numbers, x, scale }
        })
        .collect()
}

impl Case {
    fn equal(&self, what: &str, ours: Option<f64>, index: usize) {
        let (ours, theirs) = (ours.unwrap(), self.numbers[index]);
        let allowed = 1e-9 * theirs.abs() + 1e-13 * self.scale;
        assert!(
            (ours - theirs).abs() <= allowed,
            "line {}: {what}: {ours} here, {theirs} by SciPy",
            self.line
        );
    }
}

#[test]
fn there_are_a_thousand_inputs() {
    assert_eq!(cases().len(), 1000);
}

#[test]
fn samples_agree() {
    for case in cases() {
        case.equal("mean", mean(&case.x), 1);
        case.equal("standard deviation", std_dev(&case.x), 2);
        case.equal("median", median(&case.x), 3);
        case.equal("quantile", quantile(&case.x, 0.9), 4);
        case.equal("skewness", skewness(&case.x), 5);
        case.equal("von Neumann", von_neumann(&case.x), 10);
    }
}

#[test]
fn t_intervals_agree() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case.x.len() < BOOTSTRAP_FROM) {
        let interval = mean_interval(&case.x, case.numbers[0]);
        case.equal("t interval, low", interval.map(|i| i.low), 6);
        case.equal("t interval, high", interval.map(|i| i.high), 7);
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn from_twenty_values_on_the_ends_are_the_wider_of_t_and_bca() {
    let mut compared = 0;
    for case in cases() {
        if case.x.len() < BOOTSTRAP_FROM || case.numbers[25].is_nan() {
            continue;
        }
        let (low, high) = bca(&case.x, case.numbers[0]).unwrap();
        case.equal("BCa, low", Some(low), 25);
        case.equal("BCa, high", Some(high), 26);
        let interval = mean_interval(&case.x, case.numbers[0]).unwrap();
        assert!((interval.low - low.min(case.numbers[6])).abs() <= 1e-9 * case.scale);
        assert!((interval.high - high.max(case.numbers[7])).abs() <= 1e-9 * case.scale);
        compared += 1;
    }
    assert!(compared > 600, "{compared}");
}

#[test]
fn trends_agree() {
    for case in cases() {
        let n = case.x.len();
        let fit = Projector::new((0..n).map(|i| vec![1.0, i as f64]).collect()).unwrap();
        let solved = fit.solve(&case.x);
        case.equal("slope", Some(solved[1]), 11);
        let df = (n - 2) as f64;
        let variance = fit.residual_squares(&case.x, &solved) / df;
        let t = solved[1].abs() / (variance * fit.variance_of(&[0.0, 1.0])).sqrt();
        case.equal("p of the slope", Some(2.0 * t_upper_tail(t, df)), 12);
    }
}

#[test]
fn distributions_agree() {
    for case in cases() {
        let [p, df, z, f, d1] = [13, 15, 17, 20, 21].map(|i| case.numbers[i]);
        case.equal("normal quantile", Some(normal_quantile(p)), 14);
        case.equal("t quantile", Some(t_quantile_upper(p, df)), 16);
        case.equal("normal distribution", Some(normal_cdf(z)), 18);
        case.equal("t tail", Some(t_upper_tail(z, df)), 19);
        case.equal("F tail", Some(f_upper_tail(f, d1, df)), 22);
        case.equal("digamma", Some(digamma(df)), 23);
        case.equal("trigamma", Some(trigamma(df)), 24);
    }
}
