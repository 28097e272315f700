use super::*;
use crate::rng::seeded;

#[test]
fn a_line_through_points() {
    let rows = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]];
    let ys = [1.0, 3.0, 5.0];
    let fit = weighted_least_squares(2, rows.iter().zip(ys).map(|(x, y)| (x.as_slice(), y, 1.0)));
    assert!((fit.coefficients[0] - 1.0).abs() < 1e-7);
    assert!((fit.coefficients[1] - 2.0).abs() < 1e-7);
    // (X'X)⁻¹ of this design is [[5/6, -1/2], [-1/2, 1/2]].
    assert!((fit.variance_of(&[0.0, 1.0]) - 0.5).abs() < 1e-6);
    assert!((fit.variance_of(&[1.0, 0.0]) - 5.0 / 6.0).abs() < 1e-6);
}

#[test]
fn weights_count_like_repeated_rows() {
    let mut rng = seeded(1);
    let rows: Vec<[f64; 3]> = (0..8).map(|_| [1.0, rng.normal(), rng.normal()]).collect();
    let ys: Vec<f64> = (0..8).map(|_| rng.normal()).collect();
    let weighted = weighted_least_squares(
        3,
        rows.iter()
            .zip(&ys)
            .enumerate()
            .map(|(i, (x, y))| (x.as_slice(), *y, 1.0 + (i % 3) as f64)),
    );
    let repeated = weighted_least_squares(
        3,
        rows.iter()
            .zip(&ys)
            .enumerate()
            .flat_map(|(i, (x, y))| std::iter::repeat_n((x.as_slice(), *y, 1.0), 1 + i % 3)),
    );
    for (a, b) in weighted.coefficients.iter().zip(&repeated.coefficients) {
        assert!((a - b).abs() < 1e-10);
    }
}

#[test]
fn columns_that_cannot_be_told_apart_share_the_effect() {
    let rows = [[1.0, 1.0], [2.0, 2.0]];
    let fit = weighted_least_squares(2, rows.iter().map(|x| (x.as_slice(), 2.0 * x[0], 1.0)));
    assert!((fit.coefficients[0] - 1.0).abs() < 1e-3, "{:?}", fit.coefficients);
    assert!((fit.predict(&[1.0, 1.0]) - 2.0).abs() < 1e-6);
    let zero = weighted_least_squares(1, std::iter::once(([0.0].as_slice(), 5.0, 1.0)));
    assert_eq!(zero.coefficients, vec![0.0]);
}

#[test]
fn a_projector_solves_like_the_weighted_fit() {
    let mut rng = seeded(2);
    let rows: Vec<Vec<f64>> = (0..9).map(|_| vec![1.0, rng.normal(), rng.normal()]).collect();
    let ys: Vec<f64> = (0..9).map(|_| rng.normal()).collect();
    let projector = Projector::new(rows.clone()).unwrap();
    let solved = projector.solve(&ys);
    let fit = weighted_least_squares(3, rows.iter().zip(&ys).map(|(x, y)| (x.as_slice(), *y, 1.0)));
    for (a, b) in solved.iter().zip(&fit.coefficients) {
        assert!((a - b).abs() < 1e-7);
    }
    let squares = projector.residual_squares(&ys, &solved);
    let worse = projector.residual_squares(&ys, &[solved[0] + 0.1, solved[1], solved[2]]);
    assert!(squares < worse);
}

#[test]
fn columns_that_cannot_be_told_apart_are_refused() {
    assert!(Projector::new(vec![vec![1.0, 1.0], vec![2.0, 2.0]]).is_none());
    assert!(Projector::new(vec![vec![1.0, 0.0], vec![2.0, 0.0]]).is_none());
    assert!(Projector::new(vec![vec![1.0, 2.0]]).is_none(), "more columns than rows");
    assert!(Projector::new(vec![vec![1.0, 0.0], vec![2.0, 1.0]]).is_some());
}

/// Row after row, as the definition says.
fn cholesky_by_rows(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..a.len() {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let rest = a[i][j] - dot;
            a[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / a[j][j] };
        }
    }
    a
}

#[test]
fn rows_together_give_the_same_factor_to_the_last_bit() {
    let mut rng = crate::rng::seeded(1);
    for count in [0, 1, 2, 15, 16, 17, 31, 32, 50] {
        let mut a: Vec<Vec<f64>> =
            (0..count).map(|_| (0..count).map(|_| rng.normal()).collect()).collect();
        (0..count).for_each(|i| a[i][i] += 20.0);
        assert_eq!(cholesky(a.clone()), cholesky_by_rows(a), "{count}");
    }
}
