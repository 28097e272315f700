//! A chart that every terminal can show.

use super::{Axes, at, decade, points, titles};
use seekwell_model::bench::Curve;

const COLUMNS: usize = 62;
const ROWS: usize = 15;
const MARGIN: usize = 10;

/// The curve on logarithmic axes in at most 80 columns; empty without points.
pub(crate) fn chart(curve: &Curve) -> String {
    let Some(axes) = Axes::around(curve) else { return String::new() };
    let mut grid = vec![[' '; COLUMNS]; ROWS];
    for (x, y) in points(curve) {
        let column = (axes.x(x) * (COLUMNS - 1) as f64).round() as usize;
        let row = ((1.0 - axes.y(y)) * (ROWS - 1) as f64).round() as usize;
        grid[row.min(ROWS - 1)][column.min(COLUMNS - 1)] = '*';
    }
    let axis = curve.axis;
    let (x_title, y_title) = titles(axis);
    let mut out = format!("  {y_title:>7}\n");
    let label_of = |row: usize| {
        axes.decades().into_iter().find_map(|value| {
            let at = ((1.0 - axes.y(value)) * (ROWS - 1) as f64).round() as usize;
            (at == row).then(|| decade(value))
        })
    };
    for (row, cells) in grid.iter().enumerate() {
        let label = label_of(row).unwrap_or_default();
        let line: String = cells.iter().collect();
        out.push_str(format!("{label:>9} |{line}").trim_end());
        out.push('\n');
    }
    out.push_str(&format!("{}+{}\n", " ".repeat(MARGIN), "-".repeat(COLUMNS)));
    let (first, last) = (at(axis, axes.low_x as u64), at(axis, axes.high_x as u64));
    let gap = COLUMNS.saturating_sub(first.len() + last.len() + x_title.len());
    let (left, right) = (gap / 2, gap - gap / 2);
    out.push_str(&format!(
        "{}{first}{}{x_title}{}{last}\n",
        " ".repeat(MARGIN + 1),
        " ".repeat(left),
        " ".repeat(right)
    ));
    out
}
