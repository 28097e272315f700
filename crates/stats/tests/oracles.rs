//! Random inputs against naive oracles: the definition written down plainly, without care for
//! speed or rounding.

#![allow(clippy::unwrap_used, reason = "an oracle stops at the first surprise")]

use proptest::collection::vec;
use proptest::prelude::*;
use seekwell_stats::axis::axes;
use seekwell_stats::design::Design;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::linear::weighted_least_squares;
use seekwell_stats::paired::Standing;
use seekwell_stats::special::{f_upper_tail, t_quantile_upper, t_upper_tail};
use seekwell_stats::{Better, Finding, Question, compare};

/// The mean without an eighth of the values at each end.
fn typical(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = &sorted[values.len() / 8..values.len() - values.len() / 8];
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// Ends of "worse by" at this error on each side: a trimmed mean, the variance of the winsorized sample,
/// Student's t.
fn ends(worse_by: &[f64], error: f64) -> (f64, f64) {
    let mut sorted = worse_by.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, cut) = (sorted.len(), sorted.len() / 8);
    let kept = &sorted[cut..n - cut];
    let left = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / left;
    let clipped: Vec<f64> = sorted.iter().map(|d| d.clamp(kept[0], kept[kept.len() - 1])).collect();
    let middle = clipped.iter().sum::<f64>() / n as f64;
    let squares: f64 = clipped.iter().map(|d| (d - middle) * (d - middle)).sum();
    let reach = t_quantile_upper(error, left - 1.0) * (squares / (left * (left - 1.0))).sqrt();
    (mean - reach, mean + reach)
}

/// A stack, the bound on its loss and the standings of the others.
struct Led {
    leader: usize,
    loss: f64,
    standings: Vec<Option<Standing>>,
}

/// The stack with the smallest bound, from its definition. `None` too close to a limit.
fn led_by(worse: &[Vec<f64>], tie: f64, each: f64) -> Option<Led> {
    let stacks = worse.len();
    let by = |a: usize, b: usize| -> Vec<f64> {
        worse[a].iter().zip(&worse[b]).map(|(a, b)| a - b).collect()
    };
    let rivals = |leader: usize| (0..stacks).filter(move |rival| *rival != leader);
    let bound = |leader: usize| {
        rivals(leader).map(|rival| -ends(&by(rival, leader), each).0).fold(0.0, f64::max)
    };
    let bounds: Vec<f64> = (0..stacks).map(bound).collect();
    let least = bounds.iter().copied().fold(f64::INFINITY, f64::min);
    let mut best = (0..stacks).filter(|stack| bounds[*stack] - least < 1e-9);
    let leader = best.next()?;
    if best.next().is_some() || (least - tie).abs() < 1e-9 {
        return None;
    }
    let standing = |rival: usize| {
        let (low, high) = ends(&by(rival, leader), 0.5 * each);
        let proven = ends(&by(rival, leader), each).0;
        let near = [low + tie, high - tie, low - tie, low, proven + tie];
        if near.iter().any(|d| d.abs() < 1e-9) {
            return None;
        }
        Some(match (low >= -tie && high <= tie, low > tie, proven >= -tie) {
            (true, ..) => Standing::Within,
            (_, true, _) => Standing::Worse,
            (.., true) => Standing::NotBetter,
            _ => Standing::Open,
        })
    };
    let mut standings = vec![None; stacks];
    for rival in rivals(leader) {
        standings[rival] = Some(standing(rival)?);
    }
    Some(Led { leader, loss: least, standings })
}

/// The same with the shares of stacks that are worse left to the others, as long as that shows more to
/// be worse.
fn led(worse: &[Vec<f64>], tie: f64, error: f64) -> Option<Led> {
    let stacks = worse.len();
    let mut share = stacks;
    let mut before: Option<Led> = None;
    loop {
        let mut found = led_by(worse, tie, error / (share - 1).max(1) as f64)?;
        if let Some(earlier) = before.filter(|earlier| earlier.leader == found.leader) {
            for (now, earlier) in found.standings.iter_mut().zip(earlier.standings) {
                if earlier == Some(Standing::Worse) {
                    *now = earlier;
                }
            }
        }
        let gone = found.standings.iter().filter(|one| **one == Some(Standing::Worse)).count();
        let left = (stacks - gone).max(2);
        if left >= share {
            return Some(found);
        }
        (share, before) = (left, Some(found));
    }
}

/// Solves a square system by elimination with the largest pivot.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|x, y| a[*x][column].abs().total_cmp(&a[*y][column].abs()))?;
        if a[pivot][column].abs() < 1e-6 {
            return None;
        }
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..n {
            let factor = a[row][column] / a[column][column];
            let above = a[column].clone();
            for (entry, above) in a[row].iter_mut().zip(above).skip(column) {
                *entry -= factor * above;
            }
            b[row] -= factor * b[column];
        }
    }
    let mut x = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| a[row][k] * x[k]).sum();
        x[row] = (b[row] - known) / a[row][row];
    }
    Some(x)
}

proptest! {
    #[test]
    fn least_squares_solve_their_normal_equations(
        rows in vec((vec(-2.0f64..2.0, 3), -5.0f64..5.0, 0.1f64..4.0), 4..20),
    ) {
        let mut normal = vec![vec![0.0; 3]; 3];
        let mut right = vec![0.0; 3];
        for (x, y, weight) in &rows {
            for i in 0..3 {
                right[i] += weight * x[i] * y;
                for j in 0..3 {
                    normal[i][j] += weight * x[i] * x[j];
                }
            }
        }
        let Some(expected) = solve(normal, right) else { return Ok(()) };
        prop_assume!(expected.iter().all(|c| c.abs() < 100.0));
        let fit = weighted_least_squares(3, rows.iter().map(|(x, y, w)| (x.as_slice(), *y, *w)));
        for (ours, expected) in fit.coefficients.iter().zip(expected) {
            prop_assert!((ours - expected).abs() < 1e-4 * (1.0 + expected.abs()));
        }
    }

    #[test]
    fn verdicts_follow_from_their_definition(
        stacks in 2usize..6,
        rounds in 6usize..20,
        values in vec(0.9f64..1.2, 120),
        tie in 0.0f64..0.1,
        higher: bool,
    ) {
        let table: Vec<Vec<Option<f64>>> = (0..stacks)
            .map(|s| (0..rounds).map(|r| Some(values[s * 20 + r] * (1.0 + 0.03 * s as f64))).collect())
            .collect();
        let better = if higher { Better::Higher } else { Better::Lower };
        let sign = if higher { -1.0 } else { 1.0 };
        let log = |stack: usize, round: usize| sign * table[stack][round].unwrap().ln();
        let question = Question { exact: true, ..Question::new(better, tie, 0.95) };
        let found = compare(&table, &question).unwrap();
        let worse: Vec<Vec<f64>> =
            (0..stacks).map(|s| (0..rounds).map(|r| log(s, r)).collect()).collect();
        let Some(expected) = led(&worse, tie.ln_1p(), 0.05) else { return Ok(()) };
        prop_assert_eq!(found.baseline, Some(expected.leader));
        prop_assert!((found.loss.unwrap() - expected.loss.exp_m1()).abs() < 1e-9);
        let others: Vec<Standing> = expected.standings.iter().flatten().copied().collect();
        let rivals = (0..stacks).filter(|stack| *stack != expected.leader);
        let rows: Vec<Standing> = rivals.map(|stack| found.rows[stack].standing).collect();
        prop_assert_eq!(rows, others.clone());
        match found.finding {
            Finding::Winner { .. } => prop_assert!(others.iter().all(|s| *s == Standing::Worse)),
            Finding::Tie { .. } => {
                prop_assert!(!others.contains(&Standing::Open));
                prop_assert!(others.iter().any(|s| *s != Standing::Worse));
            }
            Finding::Unresolved { .. } => prop_assert!(expected.loss > tie.ln_1p()),
        }
    }

    #[test]
    fn axes_of_a_complete_product_are_differences_of_means(
        sizes in (2usize..4, 2usize..4),
        values in vec(0.95f64..1.05, 9 * 8),
    ) {
        let (first, second) = sizes;
        let stacks = first * second;
        let table: Vec<Vec<Observed>> = (0..stacks)
            .map(|s| (0..8).map(|r| Observed::Value(values[s * 8 + r])).collect())
            .collect();
        let question = Question::new(Better::Lower, 0.02, 0.95);
        let field = Field::new(&table, &question);
        let found = axes(&Design::product(&[first, second]), &field, &vec![false; stacks], &question);
        let level = |value: usize| {
            let of: Vec<f64> = (0..second)
                .map(|other| typical(&(0..8).map(|r| values[(value * second + other) * 8 + r].ln())
                    .collect::<Vec<_>>()))
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        for pair in &found[0].pairs {
            // Differences are trimmed inside each combination, so that they are near those of the means.
            let expected = level(pair.value) - level(pair.against);
            prop_assert!((pair.ratio.centre.ln() - expected).abs() < 0.03, "{pair:?} {expected}");
            prop_assert!(pair.ratio.low <= pair.ratio.centre && pair.ratio.centre <= pair.ratio.high);
        }
    }

    #[test]
    fn a_squared_t_is_an_f(t in 0.0f64..20.0, df in 1.0f64..200.0) {
        let (two_sided, f) = (2.0 * t_upper_tail(t, df), f_upper_tail(t * t, 1.0, df));
        prop_assert!((two_sided - f).abs() <= 1e-10 * f + 1e-14, "{two_sided} {f}");
    }
}
