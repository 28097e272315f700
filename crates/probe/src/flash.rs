//! Flash, which only writes tell: cards that map erase units as wholes, and solid-state disks.

use super::accuracy::{Judging, add, mixed_trace};
use super::believed::Accuracy;
use super::describe::UNNAMED;
use super::tape::{Class, Draws as _, Judged, Recorder, Tape};
use super::writes::Pen;
use super::{Interval, News, ProbeError, Result, Span, Stage, Timed, WriteTarget};
use seekwell_device::file::load;
use seekwell_device::model::Geometry;

mod card;
mod file;
mod report;
mod solid;
mod steps;
mod wear;

#[cfg(test)]
mod tests;

pub use card::Card;
pub use file::flash_file;
pub use report::flash_summary;
pub use solid::{Rate, Solid};
pub use wear::{Cliff, Erases, Faster};

/// Fewest sectors that can be probed: 32 MiB.
const LEAST_SECTORS: u64 = 1 << 16;

/// Blocks of a device, in sectors.
const BLOCK: u32 = 8;

/// Random writes from which a card is told from a solid-state disk, and the part of them that counts.
const TOLD: usize = 96;

/// Requests of a class that is only judged.
const WITHHELD: usize = 200;

const ROWS: Class = Class::of(ROW, Judged::Last);
const RANDOM_WRITES: Class = Class::of(RANDOM, Judged::Last);
const RANDOM_READS: Class = Class::of(READS, Judged::Last);
const FLUSHED: Class = Class::of(SYNCED, Judged::Whole);

/// Everything found about a flash device.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashFindings {
    /// Capacity, blocks and limits.
    pub geometry: Geometry,
    /// The device itself.
    pub kind: FlashKind,
}

/// The kinds of flash.
#[derive(Clone, Debug, PartialEq)]
pub enum FlashKind {
    /// A card or stick, which closes a unit when others are written.
    Card(Box<Card>),
    /// A solid-state disk, whose random writes cost no more than others at first.
    Solid(Box<Solid>),
}

/// Probes a flash device; `tell` hears of each stage before it begins. At most `budget_bytes` are written, so that a
/// device wears little: what needs more is not probed. The contents of the device are lost.
///
/// # Errors
///
/// [`ProbeError`].
pub fn probe_flash(
    target: &mut dyn WriteTarget,
    tape: &mut Tape,
    seed: u64,
    budget_bytes: u64,
    tell: &mut dyn FnMut(News),
) -> Result<FlashFindings> {
    let geometry = target.geometry();
    if geometry.sectors_512 < LEAST_SECTORS {
        return Err(ProbeError::TooSmall { sectors: geometry.sectors_512, least: LEAST_SECTORS });
    }
    let mut recorder = Recorder::new(target, tape);
    let mut pen = Pen::new(&mut recorder, seed);
    tell(News::Begins(Stage::Kind));
    let is_card = is_card(&mut pen)?;
    let name = if is_card { "card or stick" } else { "solid-state disk" };
    report::found(tell, vec![("kind", name.to_owned())]);
    let kind = match is_card {
        true => FlashKind::Card(Box::new(card::find(&mut pen, tell)?)),
        false => FlashKind::Solid(Box::new(solid::find(&mut pen, budget_bytes, tell)?)),
    };
    Ok(FlashFindings { geometry, kind })
}

/// Random writes of a card each close a unit; those of a solid-state disk cost as much as writes in a row.
fn is_card(pen: &mut Pen<'_>) -> Result<bool> {
    let mean = |times: &[Timed]| {
        let last = times.get(times.len() / 2..).unwrap_or_default();
        last.iter().map(|time| time.took_ns() as f64).sum::<f64>() / last.len().max(1) as f64
    };
    let row = pen.row(BLOCK, TOLD as u64);
    let row_ns = mean(&each(pen, ROWS, &row)?);
    pen.rest()?;
    let spans = pen.places(TOLD, BLOCK);
    let random_ns = mean(&each(pen, RANDOM_WRITES, &spans)?);
    Ok(random_ns > 3.0 * row_ns && random_ns > 1e6)
}

/// Writes one by one; the times of those that are not sealed.
fn each(pen: &mut Pen<'_>, class: Class, spans: &[Span]) -> Result<Vec<Timed>> {
    let mut times = Vec::with_capacity(spans.len());
    for span in spans {
        times.extend(pen.one(class, |pen| pen.write(*span))?);
    }
    Ok(times)
}

/// Compares the file made of `findings` with the device on the measurements that the tape sealed, on requests that the
/// findings did not use, and on a mixed trace. The contents of the device are lost.
///
/// # Errors
///
/// [`ProbeError`].
pub fn judge_flash(
    target: &mut dyn WriteTarget,
    tape: &Tape,
    findings: &FlashFindings,
    seed: u64,
) -> Result<Accuracy> {
    let file = load(&flash_file(UNNAMED, findings, None)).ok();
    let mut judging = Judging::new(tape, findings.geometry, file)?;
    let (device, region) = withheld(target, seed)?;
    let (modelled, _) = withheld(&mut judging.model, seed)?;
    for ((name, depth, device), (_, _, modelled)) in device.iter().zip(&modelled) {
        add(&mut judging.compared, name, *depth, device, modelled);
    }
    // Where data was written in a row: what other places hold is another thing on every device.
    judging.mixed(region, seed, true, |trace| mixed_trace(target, trace))
}

/// Class of reads of blocks that were written in a row.
const READS: &str = "random reads";
/// Class of writes in a row.
const ROW: &str = "writes in a row";
/// Class of writes that are each flushed.
const SYNCED: &str = "random writes, each flushed";
/// Class of random writes.
const RANDOM: &str = "random writes";

/// Name, depth and times of a class.
type Listed = (&'static str, u32, Vec<Timed>);

/// Requests that no experiment made, by class: their times on a device, and the region that they wrote in a row.
fn withheld(target: &mut dyn WriteTarget, seed: u64) -> Result<(Vec<Listed>, (u64, u64))> {
    const IDLE_NS: u64 = 60_000_000_000;
    let mut tape = Tape::new(seed);
    let mut recorder = Recorder::new(target, &mut tape);
    let mut pen = Pen::new(&mut recorder, seed);
    let geometry = pen.target.geometry();
    let depth = geometry.queue_depth.min(32);
    let long = pen.long();
    // Faster cells are empty again after an idle time.
    pen.rest()?;
    pen.wait(IDLE_NS);
    let row = pen.row(long, 4 * WITHHELD as u64);
    // The first half closes what was open before, which is another thing on every device.
    let written = pen.target.write_all(&row, 1)?.split_off(row.len() / 2);
    pen.rest()?;
    let first = row.first().map_or(0, |span| span.lba);
    let sectors = row.len() as u64 * u64::from(long);
    let mut reads = |count: usize| -> Vec<Span> {
        let block = u64::from(BLOCK);
        let lba = |pen: &mut Pen<'_>| first + pen.below(sectors / block) * block;
        (0..count).map(|_| Span { lba: lba(&mut pen), sectors: BLOCK }).collect()
    };
    let (single, deep) = (reads(WITHHELD), reads(20 * WITHHELD));
    let mut classes = vec![(ROW, 1, written), (READS, 1, pen.target.read_all(&single, 1)?)];
    if depth > 1 {
        classes.push((READS, depth, pen.target.read_all(&deep, depth)?));
    }
    let mut synced = Vec::with_capacity(WITHHELD);
    for span in pen.places(2 * WITHHELD, BLOCK) {
        let start_ns = pen.write(span)?.start_ns;
        synced.push(Timed { start_ns, end_ns: pen.target.flush()?.end_ns });
    }
    classes.push((SYNCED, 1, synced));
    pen.rest()?;
    let spans = pen.places(WITHHELD / 2, BLOCK);
    classes.push((RANDOM, 1, pen.target.write_all(&spans, 1)?));
    pen.rest()?;
    Ok((classes, (first, sectors)))
}

/// A difference of times that cannot be negative.
pub(super) fn minus(one: Interval, other: Interval) -> Interval {
    Interval {
        value: (one.value - other.value).max(0.0),
        low: (one.low - other.high).max(0.0),
        high: (one.high - other.low).max(0.0),
    }
}

pub(super) fn scaled(found: Interval, by: f64) -> Interval {
    found.map(|value| value * by)
}
