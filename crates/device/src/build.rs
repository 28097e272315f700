//! From a device file to a model.

use crate::bus::Link;
use crate::file::{DeviceFile, Parameters};
use crate::fixed::Fixed;
use crate::flash::Card;
use crate::model::{Geometry, Model};
use crate::rotating::{Disk, Shingled};
use crate::ssd::Drive;

/// The model of a device, switched on at time 0.
///
/// The seed decides what a data sheet cannot: the angle of the disk at the start, and which cells are slower. The same
/// file and seed give the same device.
#[must_use]
pub fn build(file: &DeviceFile, seed: u64) -> Box<dyn Model> {
    let geometry = geometry(file);
    let link = Link::new(file.bus());
    let mut model: Box<dyn Model> = match file.parameters() {
        Parameters::Rotating(p) => match &p.shingled {
            Some(shingled) => Box::new(Shingled::new(geometry, p, shingled, link, seed)),
            None => Box::new(Disk::new(geometry, p, link, seed)),
        },
        Parameters::Flash(p) => Box::new(Card::new(geometry, p, link)),
        Parameters::Ssd(p) => Box::new(Drive::new(geometry, p, link, seed)),
        Parameters::Ram(p) => Box::new(Fixed::new(geometry, &p.as_fixed())),
        Parameters::Fixed(p) => Box::new(Fixed::new(geometry, p)),
    };
    model.switch_off(file.off);
    model
}

/// Geometry that the device presents, from its file.
fn geometry(file: &DeviceFile) -> Geometry {
    let presented = &file.raw.presented;
    let (turns, write_cache) = match file.parameters() {
        Parameters::Rotating(p) => (true, p.buffer.write_back),
        Parameters::Ssd(p) => (false, !p.power_loss_protection),
        _ => (false, false),
    };
    let sectors = |kib: u32| kib.saturating_mul(2);
    Geometry {
        sectors_512: presented.sectors,
        logical_block: presented.logical_block,
        physical_block: presented.physical_block,
        queue_depth: file.queue_depth(),
        max_request_bytes: file.max_request_bytes(),
        rotational: presented.rotational.unwrap_or(turns),
        write_cache,
        max_discard_sectors: presented.max_discard_kib.map(sectors),
        max_write_zeroes_sectors: presented.max_write_zeroes_kib.map(sectors),
        wraps_at: presented.wraps_at,
    }
}
