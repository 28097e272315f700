//! Room for the guests' memory: where it is, and for how many guests at once.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use seekwell_model::units::Bytes;

#[cfg(test)]
mod tests;

/// Where the guests' memory will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The directory.
    pub directory: PathBuf,
    /// How many guests run at once.
    pub guests: usize,
    /// What a person should know of it; `None` when all is as it was asked for.
    pub note: Option<String>,
}

/// A place that may be taken, and what is free there or why it may not be.
pub(crate) type Place = (PathBuf, Result<Bytes, &'static str>);

/// Looks at a directory that guests' memory may be in.
pub(crate) fn look(directory: &Path) -> Place {
    (directory.to_owned(), free(directory))
}

fn free(directory: &Path) -> Result<Bytes, &'static str> {
    let facts = statvfs(directory).map_err(|_| "cannot be used")?;
    if facts.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err("is mounted noexec");
    }
    if access(directory, Access::WRITE_OK).is_err() {
        return Err("cannot be written to");
    }
    Ok(Bytes(facts.f_bavail.saturating_mul(facts.f_frsize)))
}

/// RAM of this machine.
pub(crate) fn machine_memory() -> Bytes {
    let facts = rustix::system::sysinfo();
    Bytes((facts.totalram as u64).saturating_mul(u64::from(facts.mem_unit)))
}

/// The first place that has room for a guest of `largest`, and how many go there: at most as many as
/// the place and the machine's `memory` hold. `places` begins with the one that is memory; in the others
/// the kernel writes guests' memory to a disk, over and over.
///
/// # Errors
/// What each place has, when none has room for one guest.
pub(crate) fn choose(
    largest: Bytes,
    at_most: usize,
    memory: Bytes,
    places: &[Place],
) -> Result<Room, String> {
    let fitting = |room: Bytes| usize::try_from(room.0 / largest.0.max(1)).unwrap_or(usize::MAX);
    for (index, (directory, free)) in places.iter().enumerate() {
        let fit = free.map_or(0, fitting);
        if fit > 0 {
            let guests = at_most.min(fit).min(fitting(memory)).max(1);
            let note =
                note(largest, guests, at_most, (index > 0).then_some((directory, &places[0])));
            return Ok(Room { directory: directory.clone(), guests, note });
        }
    }
    Err(places.iter().map(found).collect::<Vec<_>>().join(", "))
}

fn found((directory, free): &Place) -> String {
    match free {
        Ok(free) => format!("{} has {free}", directory.display()),
        Err(why) => format!("{} {why}", directory.display()),
    }
}

fn note(
    largest: Bytes,
    guests: usize,
    at_most: usize,
    on_disk: Option<(&PathBuf, &Place)>,
) -> Option<String> {
    let fewer = (guests < at_most).then(|| {
        format!("a guest has {largest} of memory: {guests} of {at_most} trials at a time fit here")
    });
    let slower = on_disk.map(|(directory, wanted)| {
        format!(
            "the guests' memory is in {}, where the kernel writes it to the disk, since {}: trials take several times as long; mount -o remount,size={largest} {} helps",
            directory.display(),
            found(wanted),
            wanted.0.display()
        )
    });
    let both: Vec<String> = [fewer, slower].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}
