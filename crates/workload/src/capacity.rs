//! Test that a device keeps the data of all of its blocks.

use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use crate::target::{self, Access};
use seekwell_engine::buffer::Aligned;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{CapacityParams, StepOutline};
use seekwell_stats::derive_seed;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a stamp: the largest sector.
const STAMP: usize = 4096;

/// Bytes of a read or write of the full check.
const CHUNK: usize = 1 << 20;

/// First distance of the quick check.
const NEAREST: u64 = 1 << 20;

/// Device operations that a check needs. Offsets and lengths are multiples of [`STAMP`].
pub trait Medium {
    /// Bytes that it claims.
    fn claimed(&self) -> u64;
    /// Reads a whole buffer.
    ///
    /// # Errors
    /// What the device says.
    fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes a whole buffer.
    ///
    /// # Errors
    /// What the device says.
    fn write(&mut self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Brings what was written out of all caches.
    ///
    /// # Errors
    /// What the device says.
    fn flush(&mut self) -> io::Result<()>;
}

/// Result of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Bytes that were written and read back.
    pub checked: u64,
    /// Bytes of them that had another content.
    pub wrong: u64,
    /// Offset of the first of those.
    pub first_wrong: Option<u64>,
}

impl Found {
    fn add(&mut self, offset: u64, right: bool) {
        self.checked += STAMP as u64;
        if !right {
            self.wrong += STAMP as u64;
            self.first_wrong = Some(self.first_wrong.map_or(offset, |first| first.min(offset)));
        }
    }
}

/// Fills a stamp with words that follow from its offset and the seed.
fn stamp(buffer: &mut [u8], offset: u64, seed: u64) {
    let mut word = seed ^ offset.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for bytes in buffer.chunks_exact_mut(8) {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

/// Offsets of the quick check, ascending: the start, powers of two, and the last stamp.
fn offsets(claimed: u64) -> Vec<u64> {
    let last = (claimed / STAMP as u64).saturating_sub(1) * STAMP as u64;
    let mut all = vec![0];
    all.extend(
        std::iter::successors(Some(NEAREST), |at| at.checked_mul(2)).take_while(|at| *at < last),
    );
    if last > 0 {
        all.push(last);
    }
    all
}

/// Stamps a few blocks, reads them back, and restores what they held, also after an error.
///
/// # Errors
/// What the device says.
pub fn quick(medium: &mut dyn Medium, seed: u64) -> io::Result<Found> {
    let offsets = offsets(medium.claimed());
    let mut kept = Vec::with_capacity(offsets.len());
    for offset in &offsets {
        let mut old = Aligned::zeroed(STAMP as u64);
        medium.read(&mut old, *offset)?;
        kept.push(old);
    }
    let found = stamped(medium, &offsets, seed);
    // All of it is tried, so that one bad block does not keep the others from being restored.
    let mut restored = Ok(());
    for (offset, old) in offsets.iter().zip(&kept) {
        let written = medium.write(old, *offset);
        restored = restored.and(written);
    }
    let restored = restored.and(medium.flush());
    let found = found?;
    restored?;
    Ok(found)
}

fn stamped(medium: &mut dyn Medium, offsets: &[u64], seed: u64) -> io::Result<Found> {
    let mut buffer = Aligned::zeroed(STAMP as u64);
    // The far ones first: where they wrap, the near ones then take their place.
    for offset in offsets.iter().rev() {
        stamp(&mut buffer, *offset, seed);
        medium.write(&buffer, *offset)?;
    }
    medium.flush()?;
    let mut expected = vec![0; STAMP];
    let mut found = Found::default();
    for offset in offsets {
        medium.read(&mut buffer, *offset)?;
        stamp(&mut expected, *offset, seed);
        found.add(*offset, buffer[..] == expected[..]);
    }
    Ok(found)
}

/// Writes every block, then reads every block.
///
/// # Errors
/// What the device says; `Interrupted` when `stopped` says so.
pub fn full(medium: &mut dyn Medium, seed: u64, stopped: &dyn Fn() -> bool) -> io::Result<Found> {
    let end = medium.claimed() / STAMP as u64 * STAMP as u64;
    let mut buffer = Aligned::zeroed(CHUNK as u64);
    let length = |offset: u64| CHUNK.min((end - offset) as usize);
    for offset in (0..end).step_by(CHUNK) {
        let chunk = &mut buffer[..length(offset)];
        for (index, part) in chunk.chunks_exact_mut(STAMP).enumerate() {
            stamp(part, offset + (index * STAMP) as u64, seed);
        }
        medium.write(chunk, offset)?;
        if stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    medium.flush()?;
    let mut expected = vec![0; STAMP];
    let mut found = Found::default();
    for offset in (0..end).step_by(CHUNK) {
        let chunk = &mut buffer[..length(offset)];
        medium.read(chunk, offset)?;
        for (index, part) in chunk.chunks_exact(STAMP).enumerate() {
            let at = offset + (index * STAMP) as u64;
            stamp(&mut expected, at, seed);
            found.add(at, *part == expected[..]);
        }
        if stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    Ok(found)
}

/// A block device, past the page cache.
struct Device {
    file: File,
    claimed: u64,
}

impl Medium for Device {
    fn claimed(&self) -> u64 {
        self.claimed
    }

    fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buffer, offset)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The step.
#[must_use]
pub fn steps(params: CapacityParams) -> Vec<Box<dyn Step>> {
    step::each(params.steps(), |outline| Capacity { outline, params })
}

#[derive(Debug)]
struct Capacity {
    outline: StepOutline,
    params: CapacityParams,
}

impl Step for Capacity {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let step = &self.outline.name;
        if !context.raw {
            let problem = "checks a whole device, and this is a directory";
            return Err(WorkloadError::unfit(step, problem, "name the device"));
        }
        let access = Access { write: true, direct: true, durable: false };
        let file = target::open_device(context, access, step)?;
        let mut device = Device { file, claimed: context.device_bytes };
        let seed = derive_seed(context.seed, "capacity");
        let begin_ns = MonotonicClock.now_ns();
        let found = match self.params.full {
            true => full(&mut device, seed, &|| context.is_stopped()),
            false => quick(&mut device, seed),
        };
        let found = found.map_err(WorkloadError::file("check", context.device))?;
        let mut outcome = StepOutcome {
            ops: found.checked / STAMP as u64,
            app_bytes_read: found.checked,
            app_bytes_written: found.checked,
            elapsed_ns: MonotonicClock.now_ns() - begin_ns,
            ..StepOutcome::default()
        };
        outcome.compute(&self.outline.metrics);
        let metrics = &mut outcome.metrics;
        metrics.insert("checked_bytes".to_owned(), found.checked as f64);
        metrics.insert("wrong_bytes".to_owned(), found.wrong as f64);
        outcome.warnings.extend(fake(&found, context.device_bytes));
        outcome.warnings.extend(partly(&found, self.params.full));
        Ok(outcome)
    }
}

fn fake(found: &Found, claimed: u64) -> Option<Warning> {
    let first = found.first_wrong?;
    let text = format!(
        "the device claims {claimed} bytes and lost what was written to {} of {} bytes checked, the \
         first of them at offset {first}: it is smaller than it claims, or broken",
        found.wrong, found.checked
    );
    Some(Warning::new(WarningCode::WrongCapacity, text))
}

/// The limit of a quick check that found nothing.
fn partly(found: &Found, full: bool) -> Option<Warning> {
    let blocks = found.checked / STAMP as u64;
    let text = format!(
        "{blocks} blocks of 4 KiB kept their data. That excludes a device that drops what is written \
         beyond its true size, and one that wraps at a power of two or a sum of two of them; one that \
         wraps elsewhere passes"
    );
    (!full && found.wrong == 0).then(|| Warning::new(WarningCode::PartlyChecked, text))
}

#[cfg(test)]
mod tests;
