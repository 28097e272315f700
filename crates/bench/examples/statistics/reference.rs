//! The statistics against SciPy on 1,000 random inputs.

use super::row::{Raw, Row, Share};
use seekwell_stats::estimate::{a12, hodges_lehmann, mean, median, quantile, skewness, std_dev};
use seekwell_stats::interval::bca;
use seekwell_stats::serial::von_neumann;
use seekwell_stats::special::{
    digamma, f_upper_tail, normal_cdf, normal_quantile, t_quantile_upper, t_upper_tail, trigamma,
};

/// Made by `testdata/reference/generate.py`.
const FILE: &str = include_str!("../../../stats/testdata/reference/reference.csv");

/// Equal is a relative difference up to this.
const EQUAL: f64 = 1e-9;

/// One input: our values and SciPy's, and the size of the sample's values, against which
/// rounding is measured where a statistic is near zero.
struct Case {
    pairs: Vec<(f64, f64)>,
    scale: f64,
}

impl Case {
    fn read(line: &str) -> Self {
        let mut parts = line.split(';').map(|part| {
            part.split(' ').map(|n| n.parse().expect("a number")).collect::<Vec<f64>>()
        });
        let mut next = || parts.next().expect("three lists");
        let (n, x, y) = (next(), next(), next());
        let ends = bca(&x, n[0]);
        let ours = [
            (1, mean(&x)),
            (2, std_dev(&x)),
            (3, median(&x)),
            (4, quantile(&x, 0.9)),
            (5, skewness(&x)),
            (8, hodges_lehmann(&x)),
            (9, a12(&x, &y)),
            (10, von_neumann(&x)),
            (14, Some(normal_quantile(n[13]))),
            (16, Some(t_quantile_upper(n[13], n[15]))),
            (18, Some(normal_cdf(n[17]))),
            (19, Some(t_upper_tail(n[17], n[15]))),
            (22, Some(f_upper_tail(n[20], n[21], n[15]))),
            (23, Some(digamma(n[15]))),
            (24, Some(trigamma(n[15]))),
            (25, ends.map(|ends| ends.0)),
            (26, ends.map(|ends| ends.1)),
        ];
        let pairs = ours
            .into_iter()
            .filter(|(index, _)| !n[*index].is_nan())
            .map(|(index, value)| (value.unwrap_or(f64::NAN), n[index]))
            .collect();
        Self { pairs, scale: x.iter().map(|v| v.abs()).fold(0.0, f64::max) }
    }

    /// Largest difference in units of what is allowed.
    fn worst(&self) -> f64 {
        let allowed = |theirs: f64| EQUAL * theirs.abs() + 1e-13 * self.scale;
        let off = |(ours, theirs): &(f64, f64)| (ours - theirs).abs() / allowed(*theirs);
        self.pairs.iter().map(off).fold(0.0, |a: f64, b| if b.is_nan() { b } else { a.max(b) })
    }
}

/// The row about agreement.
pub fn rows(take: &mut impl FnMut(Row)) {
    let lines = FILE.lines().filter(|line| !line.starts_with('#'));
    let cases: Vec<Case> = lines.map(Case::read).collect();
    let equal = Share::count(&cases, |case| case.worst() <= 1.0);
    let worst = cases.iter().map(Case::worst).fold(0.0, f64::max);
    take(Row {
        what: "statistics against SciPy",
        case: format!("17 functions on {} random inputs", cases.len()),
        figures: format!(
            "equal to 1e-9 on {} of {}; largest relative difference {:.1e}",
            equal.hits,
            equal.of,
            worst * EQUAL
        ),
        share: equal,
        target: "equal to 1e-9".to_owned(),
        reached: Some(equal.hits == equal.of && equal.of >= 1000),
        unresolved: None,
        raw: Raw::default(),
    });
}
