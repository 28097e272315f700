//! A device as it is tried: small enough to be overwritten.

use crate::file::{DeviceFile, Parameters};
use crate::ssd::SsdParameters;

/// The device as it is tried: a solid-state disk is made smaller, so that it can be overwritten, and filled, so that
/// reads find data.
#[must_use]
pub fn showable(file: &DeviceFile) -> DeviceFile {
    let Parameters::Ssd(parameters) = file.parameters() else {
        return file.clone();
    };
    let mut small = file.clone();
    let (shrunk, sectors) = shrink(parameters, file.raw.presented.sectors);
    small.raw.presented.sectors = sectors;
    small.parameters = Parameters::Ssd(Box::new(shrunk));
    small
}

/// The same disk with fewer pages to a block and fewer blocks to a die, its cache smaller by as much.
///
/// Costs that would weigh more in the small disk are scaled: erasing costs as much for each page, and the reserve of a die comes
/// on top of the additional cells. With 11.5 % of them, random writes are then amplified 4.9 times in a die of 50
/// blocks of 64 units as in one of 1000, and 5.2 times in one of 1000 blocks of 256 units.
fn shrink(parameters: &SsdParameters, sectors: u64) -> (SsdParameters, u64) {
    let mut small = parameters.clone();
    small.prefilled = true;
    small.preconditioned = 0.0;
    // Blocks of fewer units hold less valid data when they are collected.
    let stripe_units = parameters.page_kib / parameters.unit_kib * parameters.planes;
    // As many of each kind.
    let kinds = u32::try_from(parameters.read_more_us.len()).unwrap_or(1).max(1);
    let fewer = (64 / stripe_units).max(4);
    small.pages_per_block = parameters.pages_per_block.min(fewer - fewer % kinds.min(fewer));
    small.erase_us *= f64::from(small.pages_per_block) / f64::from(parameters.pages_per_block);
    let block_kib = parameters.page_kib * parameters.planes * small.pages_per_block;
    let dies = parameters.channels * parameters.dies_per_channel;
    let blocks = u64::from(800 / dies).clamp(50, 200);
    let wanted = blocks * u64::from(dies) * u64::from(block_kib) * 2;
    let fewer = wanted.min(sectors) / 128 * 128;
    if let Some(slc) = &mut small.slc {
        let part = fewer as f64 / sectors as f64;
        slc.mib = ((f64::from(slc.mib) * part).round() as u32).max(1);
    }
    let cells = blocks as f64 * (1.0 + parameters.over_provisioning);
    let whole = (cells + f64::from(parameters.reserve_blocks)).round();
    small.over_provisioning = whole / blocks as f64 - 1.0 - 1e-9;
    if small.shape(fewer).is_ok() { (small, fewer) } else { (parameters.clone(), sectors) }
}
