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

/// Room in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// What is free.
    pub(crate) free: Bytes,
    /// All of it.
    pub(crate) size: Bytes,
}

/// A place that may be taken, and its room or why it may not be.
pub(crate) type Place = (PathBuf, Result<Space, &'static str>);

/// Why a place may not be taken whose mount forbids programs: a guest's memory is mapped as one.
const NOEXEC: &str = "is mounted noexec";

/// Looks at a directory that guests' memory may be in.
pub(crate) fn look(directory: &Path) -> Place {
    (directory.to_owned(), space(directory))
}

fn space(directory: &Path) -> Result<Space, &'static str> {
    let facts = statvfs(directory).map_err(|_| "cannot be used")?;
    if facts.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(NOEXEC);
    }
    if access(directory, Access::WRITE_OK).is_err() {
        return Err("cannot be written to");
    }
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(facts.f_frsize));
    Ok(Space { free: bytes(facts.f_bavail), size: bytes(facts.f_blocks) })
}

/// RAM of this machine.
pub(crate) fn machine_memory() -> Bytes {
    let facts = rustix::system::sysinfo();
    Bytes((facts.totalram as u64).saturating_mul(u64::from(facts.mem_unit)))
}

/// The first place that has room for a guest of `largest`, and how many go there: at most as many as
/// the place and the machine's `memory` hold. `places` begins with the one that is memory.
///
/// # Errors
/// What each place has, and what would help, when none has room for one guest.
pub(crate) fn choose(
    largest: Bytes,
    at_most: usize,
    memory: Bytes,
    places: &[Place],
) -> Result<Room, String> {
    let fitting = |room: Bytes| usize::try_from(room.0 / largest.0.max(1)).unwrap_or(usize::MAX);
    for (index, (directory, space)) in places.iter().enumerate() {
        let fit = space.map_or(0, |space| fitting(space.free));
        if fit > 0 {
            let guests = at_most.min(fit).min(fitting(memory)).max(1);
            let fewer = (guests < at_most).then(|| {
                format!("a guest has {largest} of memory: {guests} of {at_most} trials at a time fit here")
            });
            let elsewhere = (index > 0).then(|| elsewhere(directory, &places[0], largest));
            let notes: Vec<String> = [fewer, elsewhere].into_iter().flatten().collect();
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            return Ok(Room { directory: directory.clone(), guests, note });
        }
    }
    let found = places.iter().map(found).collect::<Vec<_>>().join(", ");
    let help = places.first().map(|wanted| format!("; {} helps", help(wanted, largest)));
    Err(format!("{found}{}", help.unwrap_or_default()))
}

fn found((directory, space): &Place) -> String {
    match space {
        Ok(space) => format!("{} has {}", directory.display(), space.free),
        Err(why) => format!("{} {why}", directory.display()),
    }
}

fn elsewhere(directory: &Path, wanted: &Place, largest: Bytes) -> String {
    format!(
        "the guests' memory is in {}, since {}: where that is on a disk the kernel writes it there over and over, and trials take several times as long; {} helps",
        directory.display(),
        found(wanted),
        help(wanted, largest)
    )
}

/// The command that makes room for a guest in a place.
fn help((directory, space): &Place, largest: Bytes) -> String {
    let option = match space {
        Ok(space) => {
            let needed = space.size.0.saturating_sub(space.free.0).saturating_add(largest.0);
            format!("size={}m", needed.div_ceil(1 << 20))
        }
        Err(why) if *why == NOEXEC => "exec".to_owned(),
        Err(_) => format!("size={}m", largest.0.div_ceil(1 << 20)),
    };
    format!("mount -o remount,{option} {}", directory.display())
}
