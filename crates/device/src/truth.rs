//! Published figures of a device beside what its model does.
//!
//! A device file lists them under `[[published]]`, each with its source. They change nothing in the model. A figure by
//! which a number of the file was chosen says so (`calibrates = true`): it shows that the file holds together, and
//! nothing about how well the model predicts.

use std::fmt::Write as _;

use crate::build::build;
use crate::draw::{Load, Places, Trial, showable, stream};
use crate::file::DeviceFile;
use crate::model::Operation;
use crate::published::{Figure, Published};

#[cfg(test)]
mod tests;

/// Beyond this part of the published figure a model's is marked.
pub const TOLERANCE: f64 = 0.10;

/// A published figure and the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figure as published.
    pub published: Published,
    /// The model's, in the same unit.
    pub modelled: f64,
}

impl Row {
    /// The model's figure as a part of the published one, less 1.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.modelled / self.published.value - 1.0
    }

    /// True when the model is farther away than [`TOLERANCE`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.error().abs() > TOLERANCE
    }
}

/// Every published figure of a device that its model can be asked for.
#[must_use]
pub fn rows(file: &DeviceFile) -> Vec<Row> {
    let row = |published: &Published| {
        let modelled = measure(file, published)?;
        Some(Row { published: published.clone(), modelled })
    };
    file.published().iter().filter_map(row).collect()
}

fn measure(file: &DeviceFile, published: &Published) -> Option<f64> {
    const BYTES: u64 = 64 << 20;
    let sectors = build(file, 1).geometry().sectors_512;
    let depth = published.depth;
    let read = |lba: u64| stream(&mut *build(file, 1), Operation::Read, lba, BYTES);
    match published.figure {
        Figure::ReadStart => read(0),
        Figure::ReadEnd => read(sectors),
        Figure::ReadMean => {
            let seconds: Option<f64> =
                (0..9).map(|nth| read(sectors / 8 * nth).map(f64::recip)).sum();
            Some(9.0 / seconds?)
        }
        Figure::WriteStart => stream(&mut *build(file, 1), Operation::Write, 0, 4 * BYTES),
        Figure::RandomReads => random(file, Operation::Read, depth, [200, 4000]),
        Figure::RandomWrites => random(file, Operation::Write, depth, [7000, 3000]),
        Figure::Flush => flush_ms(file, published.dirty),
    }
}

/// Requests of 4 KiB a second anywhere on the device, after some that are not counted.
fn random(
    file: &DeviceFile,
    operation: Operation,
    depth: u32,
    [before, count]: [u32; 2],
) -> Option<f64> {
    let (shown, _) = showable(file);
    let mut trial = Trial::new(build(&shown, 1));
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    let load = |count| Load { operation, bytes: 4096, depth, count };
    trial.run(load(before), places)?;
    trial.run(load(count), places).map(|found| found.per_second())
}

/// Mean of flushes, each after so many random writes of 4 KiB at once.
fn flush_ms(file: &DeviceFile, dirty: u32) -> Option<f64> {
    const TIMES: u32 = 20;
    let (shown, _) = showable(file);
    let mut trial = Trial::new(build(&shown, 1));
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    let mut sum = 0.0;
    for _ in 0..TIMES {
        trial.run(
            Load { operation: Operation::Write, bytes: 4096, depth: 1, count: dirty },
            places,
        )?;
        let flush = Load { operation: Operation::Flush, bytes: 0, depth: 1, count: 1 };
        sum += trial.run(flush, places)?.mean_ms();
    }
    Some(sum / f64::from(TIMES))
}

/// The figures of a device as text, a line each; empty when none is published.
#[must_use]
pub fn lines(file: &DeviceFile) -> String {
    let rows = rows(file);
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "\nPublished figures and the model\n".to_owned();
    for row in rows {
        let Published { value, ref source, calibrates, .. } = row.published;
        let mark = if row.is_off() { "  ! off by more than 10 %" } else { "" };
        let note = if calibrates { " (used to choose the file's numbers)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {}: {value} {}, model {} ({:+.0} %){mark}{note}: {source}",
            row.published.name(),
            row.published.figure.unit(),
            three_digits(row.modelled),
            row.error() * 100.0,
        );
    }
    text
}

fn three_digits(value: f64) -> String {
    let digits = value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(2 - digits).unwrap_or(0))
}

/// Every device with its published figures and the model's, as a document.
#[must_use]
pub fn document<'a>(files: impl Iterator<Item = &'a DeviceFile>) -> String {
    let mut text = "# Device models and published figures\n\n\
        Every figure that was published for a device, compared with its model under the same load. **Off** marks \
        a model that is more than 10 % away. *Calibrated* marks a figure by which a number of the device file was \
        chosen: it shows that the file is consistent, not that the model predicts. Devices without a row have \
        no published figure that can be compared.\n\n\
        Generated by `SEEKWELL_UPDATE_DOCS=1 cargo test -p seekwell-device --test devices published`.\n\n\
        | device | figure | published | model | difference | | source |\n\
        | --- | --- | ---: | ---: | ---: | --- | --- |\n"
        .to_owned();
    let mut without = Vec::new();
    for file in files {
        let rows = rows(file);
        if rows.is_empty() {
            without.push(file.name());
        }
        for row in rows {
            let mark = match (row.is_off(), row.published.calibrates) {
                (true, _) => "**off**",
                (false, true) => "*calibrated*",
                (false, false) => "",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} {unit} | {} {unit} | {:+.0} % | {mark} | {} |",
                file.name(),
                row.published.name(),
                row.published.value,
                three_digits(row.modelled),
                row.error() * 100.0,
                row.published.source,
                unit = row.published.figure.unit(),
            );
        }
    }
    let _ = writeln!(text, "\nNo published figure: {}.", without.join(", "));
    text
}
