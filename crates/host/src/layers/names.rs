//! Names of layers on a machine with other work: ones that nothing else has, on the undo list before
//! anything has them.

use crate::error::{Error, Result};
use crate::guard::WriteToken;
use crate::sysfs::{self, System};
use crate::undo::added::sequence;
use crate::undo::{Target, Undo};
use seekwell_model::layers::{LAYER_PREFIX, Naming};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Numbers of a run's arrays. People begin with 0, mdadm itself with 127 downwards, and mdadm 4.3
/// refuses higher ones.
const ARRAYS: Range<usize> = 32..120;
/// Numbers in names of mapped devices: so many that no two runs draw the same.
const NAMES: usize = 1 << 48;

/// Notes the images that layers are put on, so that whatever is above them is taken down with them.
/// Disks are not noted: what a user puts on one after a killed run must stay, and the layers of a run
/// on it have names of their own.
///
/// # Errors
/// When the undo list cannot be written, or the kernel gives disks no numbers: then there may be no
/// layer.
pub(super) fn note_images<'a>(
    system: &System,
    undo: &mut Undo,
    devices: impl Iterator<Item = &'a WriteToken>,
) -> Result<()> {
    let images = devices.filter(|token| token.is_scratch());
    for device in images.map(WriteToken::kernel_name) {
        let number = sequence(system, device).ok_or_else(|| {
            Error::Argument(format!("this kernel does not number its disks ({device})"))
        })?;
        undo.record(&Target::Above { device: device.to_owned(), sequence: number })?;
    }
    Ok(())
}

/// The number of a layer, which it and nothing else has; noted. `None` for a kind whose devices the
/// kernel names.
///
/// # Errors
/// When no number is free, or the undo list cannot be written.
pub(super) fn reserve(system: &System, undo: &mut Undo, naming: Naming) -> Result<Option<usize>> {
    let (number, target) = match naming {
        Naming::Array => {
            let number = free_array(system, undo)?;
            (number, array(number))
        }
        Naming::Mapped => {
            let taken = mapped(system);
            let name = |number: usize| format!("{LAYER_PREFIX}{number}");
            let is_free = |number: &usize| {
                let name = name(*number);
                !taken.iter().any(|one| one.starts_with(&name))
            };
            let number = std::iter::repeat_with(|| random() % NAMES).find(is_free).unwrap_or(0);
            (number, Target::Mapped { name: name(number) })
        }
        Naming::Added(_) | Naming::Kernel => return Ok(None),
    };
    undo.record(&target)?;
    Ok(Some(number))
}

fn array(number: usize) -> Target {
    Target::Array { device: format!("md{number}") }
}

/// The first number from a random one on that no array has, and none of this run had.
fn free_array(system: &System, undo: &Undo) -> Result<usize> {
    let first = random();
    let numbers = (0..ARRAYS.len()).map(|step| ARRAYS.start + (first + step) % ARRAYS.len());
    let is_free = |number: &usize| {
        !system.block(&format!("md{number}")).exists() && !undo.has(&array(*number))
    };
    numbers.clone().find(is_free).ok_or_else(|| {
        Error::Argument(format!(
            "every array from md{} to md{} exists; stop one that is not needed",
            ARRAYS.start,
            ARRAYS.end - 1
        ))
    })
}

/// A random number, below 2^60.
fn random() -> usize {
    // Keys of a hasher come from the kernel's generator.
    let hash = RandomState::new().build_hasher().finish();
    usize::try_from(hash >> 4).unwrap_or_default()
}

/// Names of all mapped devices.
fn mapped(system: &System) -> Vec<String> {
    let devices = sysfs::names(&system.sys.join("class/block"));
    let name = |device: &String| sysfs::read_optional(&system.block(device).join("dm/name"));
    devices.iter().filter_map(name).map(|name| name.trim().to_owned()).collect()
}
