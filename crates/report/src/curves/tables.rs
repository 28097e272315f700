//! The numbers of curves, comparisons and surfaces as plain tables.

use super::characters::letter;
use super::{at, axis_of, titles};
use crate::number::{DASH, quantity, ratio};
use crate::text::{Palette, Table, harmless, paragraph};
use seekwell_model::bench::{Curve, CurveAxis, CurveComparison, Surface};
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
pub(crate) fn curves_table(curves: &[Curve]) -> String {
    let axis = axis_of(curves);
    let mut table = Table::default();
    table.column(titles(axis).0, "", false);
    for (index, _) in curves.iter().enumerate() {
        let name = if curves.len() > 1 { letter(index).to_string() } else { String::new() };
        for title in ["IOPS", "MB/s", "access"] {
            table.column(format!("{name} {title}").trim(), "", true);
        }
    }
    let points = curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0);
    for row in 0..points {
        let first = curves.iter().find_map(|curve| curve.points.get(row));
        let mut cells = vec![first.map_or(String::new(), |point| at(axis, point.at))];
        for curve in curves {
            let point = curve.points.get(row);
            cells.push(known(None, point.map(|point| point.iops)));
            cells.push(known(None, point.and_then(|point| point.mb_per_s)));
            cells.push(known(Some(Unit::Nanoseconds), point.and_then(|point| point.seek_time_ns)));
        }
        table.row(None, cells);
    }
    let mut out = indented(&table);
    for (index, curve) in curves.iter().enumerate() {
        let Some(seek_time) = curve.seek_time_ns.filter(|_| axis == CurveAxis::BlockBytes) else {
            continue;
        };
        let smallest = curve.points.first().map_or(0, |point| point.at);
        let who = if curves.len() > 1 { format!("{}: ", letter(index)) } else { String::new() };
        let text = format!(
            "{who}seek time {}, estimated from the operations of {}",
            quantity(Some(Unit::Nanoseconds), seek_time),
            Bytes(smallest)
        );
        out.push_str(&paragraph("  ", &text, WIDTH));
    }
    out
}

fn indented(table: &Table) -> String {
    let (text, _) = table.render(WIDTH - 2, usize::MAX, Palette { colour: false });
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The ratio of two targets at each block size, where they cross, and whether they are alike.
pub(crate) fn comparison(comparison: &CurveComparison) -> String {
    let mut table = Table::default();
    table.column("block size", "", false);
    for title in ["B : A", "from", "to"] {
        table.column(title, "", true);
    }
    for row in &comparison.rows {
        let cells = [row.ratio, row.low, row.high].map(ratio);
        let mut all = vec![Bytes(row.block_bytes).to_string()];
        all.extend(cells);
        table.row(None, all);
    }
    let mut out = indented(&table);
    for crossing in &comparison.crossings {
        let text = format!("the curves cross at about {}", rounded(*crossing));
        out.push_str(&paragraph("  ", &text, WIDTH));
    }
    let tie = comparison.tie_width * 100.0;
    let rounds = comparison.rounds;
    let said = match comparison.alike {
        Some(true) => format!("alike: at every block size within {tie:.0} %"),
        Some(false) => format!("not alike: more than {tie:.0} % apart at some block size"),
        None => format!(
            "inconclusive: the data show neither a difference below {tie:.0} % everywhere nor one above \
             it; give more --rounds or a longer --time"
        ),
    };
    let confidence = comparison.confidence * 100.0;
    let text = format!(
        "{} and {} are {said} ({rounds} rounds in turn, {confidence:.0} % confidence for all sizes \
         together)",
        harmless(&comparison.targets[0]),
        harmless(&comparison.targets[1])
    );
    out.push_str(&paragraph("  ", &text, WIDTH));
    out
}

/// A block size between those that were measured.
fn rounded(bytes: f64) -> String {
    if bytes < 1024.0 {
        return format!("{bytes:.0} B");
    }
    if bytes < 1024.0 * 1024.0 {
        return format!("{:.1} KiB", bytes / 1024.0);
    }
    format!("{:.1} MiB", bytes / 1024.0 / 1024.0)
}

/// Throughput over file and record size, as many columns at a time as fit.
pub(crate) fn surface_table(surface: &Surface) -> String {
    let title = format!("{}: MB/s, file size down, record size across", surface.pass);
    let mut out = paragraph("  ", &harmless(&title), WIDTH);
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
