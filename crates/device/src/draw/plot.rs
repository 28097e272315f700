//! Charts and tables of plain characters.

use std::fmt::Write as _;

#[cfg(test)]
mod tests;

const COLUMNS: usize = 62;
const ROWS: usize = 12;

/// A chart of points over the quantity `across`, in `unit`s from 0 upwards. Empty without points.
pub(super) fn plot(title: &str, points: &[(f64, f64)], across: &str, unit: &str) -> String {
    let most_y = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let width = if last.0 > first.0 { last.0 - first.0 } else { 1.0 };
    let height = if most_y > 0.0 { most_y } else { 1.0 };
    let mut cells = vec![[b' '; COLUMNS]; ROWS];
    for (at, value) in points {
        let column = ((at - first.0) / width * (COLUMNS - 1) as f64).round() as usize;
        let row = (value / height * (ROWS - 1) as f64).round() as usize;
        cells[ROWS - 1 - row.min(ROWS - 1)][column.min(COLUMNS - 1)] = b'*';
    }
    let mut text = format!("\n{title}\n");
    for (index, cells) in cells.iter().enumerate() {
        let value = height * (ROWS - 1 - index) as f64 / (ROWS - 1) as f64;
        let label = if index % 3 == 2 || index == 0 { number(value) } else { String::new() };
        let unit = if index == 0 { unit } else { "" };
        let line: String = cells.iter().map(|cell| char::from(*cell)).collect();
        let _ = writeln!(text, "{:>9} {unit:<5} |{}", label, line.trim_end());
    }
    let _ = writeln!(text, "{:15} +{}", "", "-".repeat(COLUMNS));
    let (low, high) = (number(first.0), number(last.0));
    let middle = COLUMNS.saturating_sub(low.len() + high.len());
    let _ = writeln!(text, "{:17}{low}{across:^middle$}{high}", "");
    trim_ends(&text)
}

/// A table whose first row is its head; columns are right-aligned.
pub(super) fn table(title: &str, rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = format!("\n{title}\n");
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// A number with about three digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if size < 10.0 {
        format!("{value:.2}")
    } else if size < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn trim_ends(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
