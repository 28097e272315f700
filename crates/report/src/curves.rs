//! Curves and surfaces of a bench as tables.

use crate::number::{DASH, quantity};
use crate::text::{Palette, Table, paragraph};
use seekwell_model::bench::{Curve, CurveAxis, Surface};
use seekwell_model::metrics::Unit;
use seekwell_model::units::Bytes;

const WIDTH: usize = 80;
/// Record sizes side by side in one block of a surface.
const COLUMNS: usize = 8;
const CELL: usize = 8;

fn known(unit: Option<Unit>, value: Option<f64>) -> String {
    value.map_or(DASH.to_owned(), |value| quantity(unit, value))
}

/// One row for each block size or number of threads.
pub(crate) fn curve_table(curve: &Curve) -> String {
    let mut table = Table::default();
    let title = match curve.axis {
        CurveAxis::BlockBytes => "block size",
        CurveAxis::Threads => "threads",
    };
    table.column(title, "", false);
    table.numbers(["IOPS", "MB/s", "access"]);
    for point in &curve.points {
        let at = match curve.axis {
            CurveAxis::BlockBytes => Bytes(point.at).to_string(),
            CurveAxis::Threads => point.at.to_string(),
        };
        let cells = vec![
            at,
            quantity(None, point.iops),
            known(None, point.mb_per_s),
            known(Some(Unit::Nanoseconds), point.seek_time_ns),
        ];
        table.row(None, cells);
    }
    let mut out = indented(&table);
    let smallest = curve.points.first().filter(|_| curve.axis == CurveAxis::BlockBytes);
    if let (Some(seek_time), Some(smallest)) = (curve.seek_time_ns, smallest) {
        let text = format!(
            "seek time {}, estimated from the operations of {}",
            quantity(Some(Unit::Nanoseconds), seek_time),
            Bytes(smallest.at)
        );
        out.push_str(&paragraph("  ", &text, WIDTH));
    }
    out
}

/// The table behind two blanks.
pub(crate) fn indented(table: &Table) -> String {
    let (text, _) = table.render(WIDTH - 2, usize::MAX, Palette { colour: false });
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Throughput over file and record size, as many columns at a time as fit.
pub(crate) fn surface_table(surface: &Surface) -> String {
    let title = format!("{}: MB/s, file size down, record size across", surface.pass);
    let mut out = paragraph("  ", &title, WIDTH);
    for first in (0..surface.records.len()).step_by(COLUMNS) {
        let columns = first..(first + COLUMNS).min(surface.records.len());
        let mut head = format!("  {:>8}", "");
        for record in &surface.records[columns.clone()] {
            head.push_str(&format!("{:>CELL$}", Bytes(*record).to_string()));
        }
        out.push_str(&head);
        out.push('\n');
        for (file, row) in surface.files.iter().zip(&surface.mb_per_s) {
            let cells = &row[columns.clone()];
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let mut line = format!("  {:>8}", Bytes(*file).to_string());
            for cell in cells {
                line.push_str(&format!("{:>CELL$}", known(None, *cell)));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests;
