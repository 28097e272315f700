//! Weighted least squares for a few dozen unknowns.

/// A solved weighted least-squares problem.
#[derive(Clone, Debug)]
pub struct Fit {
    /// One coefficient per column.
    pub coefficients: Vec<f64>,
    /// Lower Cholesky factor of the (slightly ridged) normal matrix, by rows.
    factor: Vec<Vec<f64>>,
}

/// Solves min Σ w (y - x·β)² by Cholesky on the normal equations. `rows` yields (x, y, weight).
///
/// Columns that the data do not separate get the coefficient nearest to zero: a ridge of 1e-9 of
/// each column's own sum of squares (and of the largest, for a column of zeros) decides for them.
pub fn weighted_least_squares<'a>(
    columns: usize,
    rows: impl Iterator<Item = (&'a [f64], f64, f64)>,
) -> Fit {
    let mut normal = vec![vec![0.0; columns]; columns];
    let mut right = vec![0.0; columns];
    let mut filled = Vec::with_capacity(columns);
    for (x, y, weight) in rows {
        filled.clear();
        filled.extend((0..columns).filter(|i| x[*i] != 0.0));
        for (below, &i) in filled.iter().enumerate() {
            let scaled = weight * x[i];
            right[i] += scaled * y;
            let row = &mut normal[i];
            for &j in &filled[..=below] {
                row[j] += scaled * x[j];
            }
        }
    }
    let largest = (0..columns).map(|i| normal[i][i]).fold(f64::MIN_POSITIVE, f64::max);
    for (i, row) in normal.iter_mut().enumerate() {
        row[i] += 1e-9 * row[i].max(1e-3 * largest);
    }
    let factor = cholesky(normal);
    let coefficients = solve_upper(&factor, solve_lower(&factor, right));
    Fit { coefficients, factor }
}

impl Fit {
    /// The fitted value for a row.
    #[must_use]
    pub fn predict(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.coefficients).map(|(a, b)| a * b).sum()
    }

    /// Variance of a linear combination of the coefficients when the weights are reciprocal
    /// variances: x'(X'WX)⁻¹x.
    #[must_use]
    pub fn variance_of(&self, x: &[f64]) -> f64 {
        solve_lower(&self.factor, x.to_vec()).iter().map(|v| v * v).sum()
    }
}

/// A row of a design matrix: its columns that are not 0, in their order, with their values. Most columns tell stacks or
/// rounds apart, and 100,000 trials of 1,600 rounds would fill gigabytes with zeros.
pub type Row = Vec<(usize, f64)>;

/// Unweighted least squares of many right-hand sides on the same rows.
#[derive(Clone, Debug)]
pub struct Projector {
    rows: Vec<Row>,
    factor: Vec<Vec<f64>>,
}

impl Projector {
    /// Prepares the rows. `None` when their columns cannot be told apart.
    #[must_use]
    pub fn new(rows: Vec<Vec<f64>>) -> Option<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        let filled = |row: Vec<f64>| row.into_iter().enumerate().filter(|(_, x)| *x != 0.0);
        Self::of_rows(columns, rows.into_iter().map(|row| filled(row).collect()).collect())
    }

    /// The same with rows of so many columns, most of them 0.
    #[must_use]
    pub fn of_rows(columns: usize, rows: Vec<Row>) -> Option<Self> {
        let mut normal = vec![vec![0.0; columns]; columns];
        for row in &rows {
            for (place, (i, x)) in row.iter().enumerate() {
                for (j, other) in &row[..=place] {
                    normal[*i][*j] += x * other;
                }
            }
        }
        let own: Vec<f64> = (0..columns).map(|i| normal[i][i]).collect();
        let factor = cholesky(normal);
        // A pivot is what a column has left after those before it.
        let separable =
            (0..columns).all(|i| own[i] > 0.0 && factor[i][i] * factor[i][i] > 1e-9 * own[i]);
        separable.then_some(Self { rows, factor })
    }

    /// Number of coefficients.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.factor.len()
    }

    /// Coefficients for one right-hand side, one value per row.
    #[must_use]
    pub fn solve(&self, ys: &[f64]) -> Vec<f64> {
        let mut right = vec![0.0; self.columns()];
        for (row, y) in self.rows.iter().zip(ys) {
            for (column, x) in row {
                right[*column] += x * y;
            }
        }
        solve_upper(&self.factor, solve_lower(&self.factor, right))
    }

    /// Sum of squared residuals of a solution.
    #[must_use]
    pub fn residual_squares(&self, ys: &[f64], coefficients: &[f64]) -> f64 {
        self.residuals(ys, coefficients).iter().map(|r| r * r).sum()
    }

    /// Residuals of a solution.
    #[must_use]
    pub fn residuals(&self, ys: &[f64], coefficients: &[f64]) -> Vec<f64> {
        let fitted =
            |row: &Row| row.iter().map(|(column, x)| x * coefficients[*column]).sum::<f64>();
        self.rows.iter().zip(ys).map(|(row, y)| y - fitted(row)).collect()
    }

    /// Variance of a linear combination of coefficients for errors of variance 1.
    #[must_use]
    pub fn variance_of(&self, x: &[f64]) -> f64 {
        solve_lower(&self.factor, x.to_vec()).iter().map(|v| v * v).sum()
    }
}

/// Rows that are factored at the same time: a row alone waits for each of its additions.
const TOGETHER: usize = 16;

/// Replaces the lower triangle by its factor. Each element is the same sum in the same order however many rows are
/// factored together.
fn cholesky(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let count = a.len();
    for first in (0..count).step_by(TOGETHER) {
        let (above, rest) = a.split_at_mut(first);
        let rows = &mut rest[..TOGETHER.min(count - first)];
        if rows.len() == TOGETHER {
            below::<TOGETHER>(rows, above);
        } else {
            rows.chunks_mut(1).for_each(|row| below::<1>(row, above));
        }
        for own in 0..rows.len() {
            let (before, rest) = rows.split_at_mut(own);
            let (row, i) = (&mut rest[0], first + own);
            for (j, other) in (first..).zip(before.iter()) {
                row[j] = (row[j] - product(row, other, j)) / other[j];
            }
            row[i] = (row[i] - product(row, row, i)).max(f64::MIN_POSITIVE).sqrt();
        }
    }
    a
}

/// Elements of some rows in the columns of the finished rows above them.
fn below<const ROWS: usize>(rows: &mut [Vec<f64>], above: &[Vec<f64>]) {
    let column = |k: usize| std::array::from_fn(|row| rows[row][k]);
    let mut columns: Vec<[f64; ROWS]> = (0..above.len()).map(column).collect();
    for (j, other) in above.iter().enumerate() {
        let (done, rest) = columns.split_at_mut(j);
        let mut sums = [0.0; ROWS];
        for (own, factor) in done.iter().zip(other) {
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own * factor;
            }
        }
        for (own, sum) in rest[0].iter_mut().zip(sums) {
            *own = (*own - sum) / other[j];
        }
    }
    for (k, column) in columns.iter().enumerate() {
        for (row, value) in rows.iter_mut().zip(column) {
            row[k] = *value;
        }
    }
}

/// Product of the first elements of two rows.
fn product(a: &[f64], b: &[f64], count: usize) -> f64 {
    a[..count].iter().zip(&b[..count]).map(|(a, b)| a * b).sum()
}

/// Solves L z = b.
fn solve_lower(factor: &[Vec<f64>], mut b: Vec<f64>) -> Vec<f64> {
    for i in 0..b.len() {
        let dot: f64 = (0..i).map(|k| factor[i][k] * b[k]).sum();
        b[i] = (b[i] - dot) / factor[i][i];
    }
    b
}

/// Solves L' x = z.
fn solve_upper(factor: &[Vec<f64>], mut z: Vec<f64>) -> Vec<f64> {
    for i in (0..z.len()).rev() {
        let dot: f64 = (i + 1..z.len()).map(|k| factor[k][i] * z[k]).sum();
        z[i] = (z[i] - dot) / factor[i][i];
    }
    z
}

#[cfg(test)]
mod tests;
