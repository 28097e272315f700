//! Published figures of a device beside what its model does.
//!
//! A device file lists them under `[[published]]`, each with its source. They change nothing in the model. A figure by
//! which a number of the file was chosen says so (`calibrates = true`): it shows that the file holds together, and
//! nothing about how well the model predicts.

use std::fmt::Write as _;

use crate::build::build;
use crate::file::{DeviceFile, Parameters};
use crate::model::{Model, Operation};
use crate::published::{Figure, Published};
use crate::shrunk::showable;
use crate::trial::{Load, Places, Trial, stream};
use seekwell_model::model_error::{ModelError, ModelErrors};

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

    /// The larger of the two figures over the smaller.
    fn factor(&self) -> f64 {
        let ratio = self.modelled / self.published.value;
        ratio.max(ratio.recip())
    }

    /// Both figures in words.
    pub(crate) fn sentence(&self) -> String {
        let Published { value, .. } = self.published;
        let (name, unit) = (self.published.name(), self.published.figure.unit());
        let (modelled, percent) = (three_digits(self.modelled), self.error() * 100.0);
        format!("{name}: {value} {unit}, model {modelled} ({percent:+.0} %)")
    }

    /// True when the model is farther away than [`TOLERANCE`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.error().abs() > TOLERANCE
    }
}

/// Known error of a model by class of request: of each class the figure that it misses most. A figure
/// by which a number of the file was chosen checks nothing, unless the model misses it all the same.
#[must_use]
pub fn errors(rows: &[Row]) -> ModelErrors {
    let mut errors = ModelErrors::new();
    for row in rows.iter().filter(|row| !row.published.calibrates || row.is_off()) {
        let factor = row.factor();
        let class = row.published.class();
        if errors.get(&class).is_some_and(|known| known.factor >= factor) {
            continue;
        }
        let (value, unit) = (row.published.value, row.published.figure.unit());
        let modelled = three_digits(row.modelled);
        let figure = format!("{}: {value} {unit}, model {modelled} {unit}", row.published.name());
        errors.insert(class, ModelError { factor, figure });
    }
    errors
}

/// Every published figure of a device that its model can be asked for.
#[must_use]
pub fn rows(file: &DeviceFile) -> Vec<Row> {
    rows_of(file, file.published())
}

/// The row that is farthest away.
pub(crate) fn worst<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.max_by(|one, other| one.factor().total_cmp(&other.factor()))
}

/// These figures, such as those of another file, and the model's.
pub(crate) fn rows_of(file: &DeviceFile, published: &[Published]) -> Vec<Row> {
    let row = |published: &Published| {
        let modelled = measure(file, published)?;
        Some(Row { published: published.clone(), modelled })
    };
    published.iter().filter_map(row).collect()
}

/// The model's figure, in the unit of the published one; `None` if the model takes no such load.
fn measure(file: &DeviceFile, published: &Published) -> Option<f64> {
    const BYTES: u64 = 64 << 20;
    let on_bus = published.bus.as_ref().map(|bus| file.on_bus(bus).ok());
    let file = &on_bus.unwrap_or_else(|| Some(file.clone()))?;
    let sectors = build(file, 1).geometry().sectors_512;
    let rate = |operation, lba, bytes| {
        stream(&mut *build(file, 1), published.stream(operation, lba, bytes))
    };
    let mean = |operation, bytes| {
        let seconds: Option<f64> =
            (0..9).map(|nth| rate(operation, sectors / 8 * nth, bytes).map(f64::recip)).sum();
        seconds.map(|seconds| 9.0 / seconds)
    };
    match published.figure {
        Figure::ReadStart => rate(Operation::Read, 0, BYTES),
        Figure::ReadEnd => rate(Operation::Read, sectors, BYTES),
        Figure::ReadMean => mean(Operation::Read, BYTES),
        Figure::WriteStart => rate(Operation::Write, 0, filling(file).max(BYTES)),
        Figure::WriteMean => mean(Operation::Write, filling(file).max(BYTES)),
        Figure::WriteAfterCache => after_cache(file, published),
        Figure::WriteHot => hot(file, published),
        Figure::WritesInTurn => in_turn(file, published),
        Figure::RandomReads => random(filled(file), Operation::Read, published, [200, 4000]),
        Figure::RandomReadsWithoutCredits => {
            random(without_credits(file)?, Operation::Read, published, [200, 4000])
        }
        Figure::RandomWrites => {
            let before = before(file);
            random(worn(file), Operation::Write, published, [before, before / 2])
        }
        Figure::RandomWritesEmpty => {
            random(build(file, 1), Operation::Write, published, [2000, 4000])
        }
        Figure::SyncedWrites => synced(file, published),
        Figure::ReadLatency => read_latency_ms(file, published),
        Figure::Flush => flush_ms(file, published),
        Figure::WriteAmplification => amplification(file, published),
    }
}

/// Random writes that bring the buffer of a device to its steady state.
fn before(file: &DeviceFile) -> u32 {
    u32::try_from(filling(file) / 4 / 4096).unwrap_or(u32::MAX).max(7000)
}

/// A volume whose credits are used up; `None` for other devices.
fn without_credits(file: &DeviceFile) -> Option<Box<dyn Model>> {
    let mut poor = file.clone();
    let Parameters::Fixed(parameters) = &mut poor.parameters else { return None };
    parameters.limit.as_mut()?.credits = 0.0;
    Some(build(&poor, 1))
}

/// Bytes of a stream of writes whose first quarter, which is not counted, is twice what the device's buffer takes.
fn filling(file: &DeviceFile) -> u64 {
    let buffer_kib = match file.parameters() {
        Parameters::Rotating(disk) => disk.buffer.write_kib,
        Parameters::Ssd(drive) => drive.buffer_kib,
        _ => 0,
    };
    8 * u64::from(buffer_kib) * 1024
}

/// The model as [`showable`] makes it: a solid-state disk that is smaller and holds data everywhere, as cells that were
/// never written need no reading.
fn filled(file: &DeviceFile) -> Box<dyn Model> {
    build(&showable(file), 1)
}

/// As [`filled`], with random writes before that bring a solid-state disk to its steady state.
fn worn(file: &DeviceFile) -> Box<dyn Model> {
    let mut shown = showable(file);
    if let Parameters::Ssd(parameters) = &mut shown.parameters {
        parameters.preconditioned = if parameters.prefilled { 2.0 } else { 0.0 };
    }
    build(&shown, 1)
}

/// Random requests a second anywhere on the device, after some that are not counted.
fn random(
    model: Box<dyn Model>,
    operation: Operation,
    published: &Published,
    [before, count]: [u32; 2],
) -> Option<f64> {
    let mut trial = Trial::new(model);
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    trial.run(published.load(operation, before), places)?;
    trial.run(published.load(operation, count), places).map(|found| found.per_second())
}

/// Bytes programmed for each byte that the host writes in steady state; `None` for devices that do not tell.
fn amplification(file: &DeviceFile, published: &Published) -> Option<f64> {
    let mut trial = Trial::new(worn(file));
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    let before = before(file);
    let mut programmed = [0; 2];
    for (count, bytes_programmed) in [before, before / 2].into_iter().zip(&mut programmed) {
        trial.run(published.load(Operation::Write, count), places)?;
        let flash = trial.flash()?;
        *bytes_programmed = flash.pages_programmed * flash.page_bytes;
    }
    let written = u64::from(before / 2) * u64::from(published.random_bytes());
    Some((programmed[1] - programmed[0]) as f64 / written as f64)
}

/// Latency of random reads that so many per cent do not exceed.
fn read_latency_ms(file: &DeviceFile, published: &Published) -> Option<f64> {
    const COUNT: u32 = 4000;
    let mut trial = Trial::new(filled(file));
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    trial.run(published.load(Operation::Read, 200), places)?;
    let mut latencies = trial.latencies(published.load(Operation::Read, COUNT), places)?;
    latencies.sort_unstable();
    let rank = (f64::from(COUNT) * published.percentile / 100.0).ceil() as usize;
    latencies.get(rank.max(1) - 1).map(|latency_ns| *latency_ns as f64 / 1e6)
}

/// Rate of writes to places in turn, each an erase unit of its own.
fn in_turn(file: &DeviceFile, published: &Published) -> Option<f64> {
    const ROUNDS: u32 = 16;
    let mut trial = Trial::new(build(file, 1));
    // Far apart, so that no two of them share a unit.
    let apart = trial.geometry().sectors_512 / u64::from(published.places + 1) / 8192 * 8192;
    let count = published.places * ROUNDS;
    let load = Load { depth: 1, ..published.load(Operation::Write, count) };
    trial.run(load, Places::InTurn { count: published.places, apart }).map(|found| found.mb_per_s())
}

/// Rate of sequential writes once the cache of faster cells is full, which does not depend on its size.
fn after_cache(file: &DeviceFile, published: &Published) -> Option<f64> {
    let mut full = file.clone();
    let Parameters::Ssd(parameters) = &mut full.parameters else { return None };
    parameters.slc.as_mut()?.mib = 1;
    // The first quarter, which is not counted, fills the buffer although the cells take nearly as much.
    let bytes = (4 * filling(file)).min(full.raw.presented.sectors * 512);
    stream(&mut *build(&full, 1), published.stream(Operation::Write, 0, bytes))
}

/// Rate of sequential writes of a disk that has reached the limit of its temperature.
fn hot(file: &DeviceFile, published: &Published) -> Option<f64> {
    let mut hot = file.clone();
    let Parameters::Ssd(parameters) = &mut hot.parameters else { return None };
    let heat = parameters.heat.as_mut()?;
    heat.initial_degrees = heat.limit_degrees;
    stream(&mut *build(&hot, 1), published.stream(Operation::Write, 0, filling(file)))
}

/// Random writes a second, each with a flush behind it.
fn synced(file: &DeviceFile, published: &Published) -> Option<f64> {
    const TIMES: u32 = 200;
    let sum_ms = with_flushes(file, published, [TIMES, 1], |write_ms, ms| write_ms + ms)?;
    Some(f64::from(TIMES) / sum_ms * 1000.0)
}

/// Mean of flushes, each after so many random writes at once.
fn flush_ms(file: &DeviceFile, published: &Published) -> Option<f64> {
    const TIMES: u32 = 20;
    let sum_ms = with_flushes(file, published, [TIMES, published.dirty], |_, ms| ms)?;
    Some(sum_ms / f64::from(TIMES))
}

/// Makes random writes, so many times so many, each time with a flush behind them. Sum of what counts of the mean time of
/// the writes and of the time of the flush, in milliseconds.
fn with_flushes(
    file: &DeviceFile,
    published: &Published,
    [times, writes]: [u32; 2],
    counts: impl Fn(f64, f64) -> f64,
) -> Option<f64> {
    let mut trial = Trial::new(filled(file));
    let places = Places::Random { sectors: trial.geometry().sectors_512 };
    let write = Load { depth: 1, ..published.load(Operation::Write, writes) };
    let flush = Load { operation: Operation::Flush, bytes: 0, depth: 1, count: 1 };
    let mut sum_ms = 0.0;
    for _ in 0..times {
        let write_ms = trial.run(write, places)?.mean_ms();
        sum_ms += counts(write_ms, trial.run(flush, places)?.mean_ms());
    }
    Some(sum_ms)
}

/// The figures of a device as text, a line each; empty when none is published.
#[must_use]
pub fn lines(file: &DeviceFile) -> String {
    let rows = rows(file);
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "\nPublished figures and the model\n".to_owned();
    let summary = checks(&rows);
    for row in rows {
        let Published { source, calibrates, .. } = &row.published;
        let mark = if row.is_off() { "  ! off by more than 10 %" } else { "" };
        let note = if *calibrates { " (used to choose the file's numbers)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}{mark}{note}: {source}", row.sentence());
    }
    text + "  " + &summary + "\n"
}

/// Figures by which numbers of a file were chosen, those that check its model, and those of them that the model meets.
struct Checks {
    calibrating: usize,
    checking: usize,
    met: usize,
}

impl Checks {
    fn of(rows: &[Row]) -> Self {
        let checking = || rows.iter().filter(|row| !row.published.calibrates);
        Self {
            calibrating: rows.len() - checking().count(),
            checking: checking().count(),
            met: checking().filter(|row| !row.is_off()).count(),
        }
    }
}

/// Extent to which the figures check the model, in one sentence.
fn checks(rows: &[Row]) -> String {
    let Checks { calibrating, checking, met } = Checks::of(rows);
    match (calibrating, checking) {
        (_, 0) => "no figure checks the model: all of them chose numbers of the file".to_owned(),
        (0, _) => format!("{checking} check the model, which meets {met} of them within 10 %"),
        _ => format!(
            "{checking} check the model, which meets {met} of them within 10 %; {calibrating} chose numbers of the file"
        ),
    }
}

fn three_digits(value: f64) -> String {
    let digits = value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(2 - digits).unwrap_or(0))
}

/// The rows of a device in one sentence for reports: which figures its model misses. `None` if it misses none and
/// has at least one.
#[must_use]
pub fn warning(file: &DeviceFile, rows: &[Row]) -> Option<String> {
    let name = file.name();
    if rows.is_empty() {
        let text = "has no published figures to compare it with; its absolute times may be far from those of the device";
        return Some(format!("the model {name} {text}"));
    }
    let off: Vec<&Row> = rows.iter().filter(|row| row.is_off()).collect();
    let worst = worst(off.iter().copied())?;
    let Published { value, .. } = worst.published;
    Some(format!(
        "the model {name} misses {} of {} published figures by more than 10 %, most of all \"{}\": {value} {unit}, \
         model {} {unit}; what a workload gains or loses there is as uncertain",
        off.len(),
        rows.len(),
        worst.published.name(),
        three_digits(worst.modelled),
        unit = worst.published.figure.unit(),
    ))
}

/// Devices with their published figures and the model's, as a document.
#[must_use]
pub fn document<'a>(devices: impl Iterator<Item = (&'a DeviceFile, Vec<Row>)>) -> String {
    let mut text = "# Device models and published figures\n\n\
        Every figure that was published for a device, compared with its model under the same load. **Off** marks \
        a model that is more than 10 % away. *Calibrated* marks a figure by which a number of the device file was \
        chosen: it shows that the file is consistent, not that the model predicts. Devices without a row have \
        no published figure that can be compared. Solid-state disks are compared at a smaller capacity, filled, \
        with the same amplification of writes; figures of an empty or new device are compared with the whole one.\n\n\
        ## What a verdict makes of it\n\n\
        A report on modelled devices widens the difference between the winner and the next stack by the known error \
        of the models: the largest factor by which a model misses a figure of a class of requests that makes up at \
        least 1 % of the judged step's requests, and never less than 10 %, to which models are checked. Classes are \
        reads and writes by their mean size (small: below 64 KiB), flushes, and the slowest reads where a percentile \
        is judged. The factors of two models are multiplied, since they may err in opposite directions. A difference \
        that the error could reverse is called a winner on the model, not on the device; a class that no figure checks \
        is named as unknown. A calibrated figure checks nothing, unless the model misses it all the same.\n\n\
        ## Figures\n\n\
        Generated by `SEEKWELL_UPDATE_DOCS=1 cargo test -p seekwell-device --test devices published`.\n\n\
        | device | figure | published | model | difference | | source |\n\
        | --- | --- | ---: | ---: | ---: | --- | --- |\n"
        .to_owned();
    let mut without = Vec::new();
    let mut summary = "\n## Calibrated on, checked by\n\n\
        | device | figures that chose numbers of its file | figures that check its model | met within 10 % |\n\
        | --- | ---: | ---: | ---: |\n"
        .to_owned();
    for (file, rows) in devices {
        if rows.is_empty() {
            without.push(file.name());
        } else {
            let Checks { calibrating, checking, met } = Checks::of(&rows);
            // Writing to a string cannot fail.
            let _ = writeln!(summary, "| {} | {calibrating} | {checking} | {met} |", file.name());
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
    let _ = writeln!(text, "{summary}\nNo published figure: {}.", without.join(", "));
    text
}
