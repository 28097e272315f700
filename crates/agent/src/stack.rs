//! A stack on its way up and down: a sequence of parts, each of which takes itself down.
//!
//! [`attached::Attached`] holds the devices, [`limits::Memory`] the memory limit,
//! [`limits::Queues`] the queue settings, [`observed::Observed`] the timeline,
//! [`made::Made`] the filesystem on the device, [`mounted::Mounted`] the mount.
//! [`standing`] is the only way to use a part, so a part is always taken down, even after an error
//! above it.

pub mod attached;
pub mod limits;
pub mod made;
pub mod mounted;
pub mod observed;
pub mod ready;

/// A part of a stack that is up. `E` is what going down needs and changes.
pub trait Part<E> {
    /// The failure of going down.
    type Error;

    /// Takes the part down, as far as it goes.
    ///
    /// # Errors
    /// The first thing that could not be undone.
    fn take_down(self, environment: &mut E) -> Result<(), Self::Error>;
}

/// Runs `body` while `part` is up, then takes the part down, even if `body` failed.
///
/// # Errors
/// The failure of `body`, else that of going down.
pub fn standing<E, P: Part<E>>(
    environment: &mut E,
    mut part: P,
    body: impl FnOnce(&mut E, &mut P) -> Result<(), P::Error>,
) -> Result<(), P::Error> {
    let done = body(environment, &mut part);
    let down = part.take_down(environment);
    done.and(down)
}

#[cfg(test)]
mod tests;
