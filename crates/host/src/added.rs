//! Disks that the kernel adds when it is asked to, such as those of zram. Each is on the undo list
//! before there is one, so that it is removed whatever happens to who asked.
//!
//! A disk is known by the number that the kernel gives every disk when it appears: no other disk ever
//! has it. Before it is known, the list has the highest one of all disks and the name that the next
//! one will have: a later disk of this name is removed if it has no size yet and no process has it open (the
//! kernel refuses to remove one that is). If a run is killed in this moment while another program adds
//! a disk too, that may be the other's: it held nothing, and the other's next step fails.

use crate::error::{Error, Result};
use crate::sysfs::{self, System};
use crate::undo::added::{folder, remover, sequence};
use crate::undo::{Target, Undo};
use seekwell_model::layers::Control;

#[cfg(test)]
mod tests;

/// Adds a disk and gives its number, for example 1 for `zram1`.
///
/// # Errors
/// When this kernel cannot add one, or the undo list cannot be written: then there is none.
pub(crate) fn add(system: &System, control: &Control, undo: &mut Undo) -> Result<usize> {
    let name = |number: usize| format!("{}{number}", control.prefix);
    let target = |device: String, sequence: u64, is_known: bool| Target::Added {
        class: control.class.to_owned(),
        device,
        sequence,
        is_known,
    };
    let free = (0..).find(|number| !system.block(&name(*number)).exists()).unwrap_or_default();
    let announced = target(name(free), highest(system), false);
    undo.record(&announced)?;
    let path = folder(system, control.class).join("hot_add");
    let text = sysfs::read(&path)?;
    let number: usize =
        text.parse().map_err(|_| Error::format(path, &text, "the number of a new disk"))?;
    let device = name(number);
    let recorded = sequence(system, &device)
        .ok_or_else(|| Error::Argument(format!("this kernel does not number its disks ({device})")))
        .and_then(|sequence| undo.record(&target(device.clone(), sequence, true)).map(drop));
    if let Err(error) = recorded {
        let _ = system.nodes.write_once(&remover(system, control.class), &number.to_string());
        return Err(error);
    }
    undo.forget(&announced)?;
    Ok(number)
}

/// Returns true if this kernel adds disks of this class.
pub(crate) fn is_offered(system: &System, control: &Control) -> bool {
    folder(system, control.class).join("hot_add").exists()
}

/// The highest number that any disk has.
fn highest(system: &System) -> u64 {
    let disks = sysfs::names(&system.sys.join("class/block"));
    disks.iter().filter_map(|name| sequence(system, name)).max().unwrap_or_default()
}
