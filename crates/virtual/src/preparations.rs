//! Stacks with their filesystem and files made, kept while a run lasts. The first trial that needs
//! one makes it; every trial that needs it starts from a copy, the first one too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use seekwell_model::record::Record;

use crate::content::Keeping;
use crate::disk::{DiskParts, FrozenDisk};
use crate::machine::DiskSetup;

#[cfg(test)]
mod tests;

/// A stack that was prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its disks by role, or `None` where preparing failed: the record says why.
    pub(crate) disks: Option<Vec<(String, FrozenDisk)>>,
    /// The record of preparing.
    pub(crate) record: Record,
    /// True if the guest ended by itself, so that every guest would end so. One that died or took too
    /// long may have done so for a reason of the host.
    pub(crate) is_final: bool,
}

/// The state that a trial starts from.
#[derive(Debug)]
pub(crate) struct Start {
    /// Copies of the disks, or `None` where preparing failed.
    pub(crate) disks: Option<Vec<DiskSetup>>,
    /// The record of preparing.
    pub(crate) record: Record,
}

/// One stack; the thread with the lock prepares it.
type Slot = Arc<Mutex<Option<Prepared>>>;

/// Everything that was prepared, by what it depends on.
#[derive(Debug, Default)]
pub(crate) struct Preparations(Mutex<BTreeMap<String, Slot>>);

impl Preparations {
    /// Returns the disks to start from for `key`; `prepare` makes them if no trial has. Who comes
    /// meanwhile waits.
    ///
    /// # Errors
    ///
    /// Those of `prepare`; the next one tries again, as it does where the result is not final.
    pub(crate) fn start<E>(
        &self,
        key: &str,
        keeping: &Keeping,
        prepare: impl FnOnce() -> Result<Prepared, E>,
    ) -> Result<Start, E> {
        let slot = self.slot(key);
        // What a preparation that panicked left behind is nothing.
        let mut prepared = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let start = |prepared: &Prepared| Start {
            disks: prepared.disks.as_deref().map(|disks| thaw(disks, keeping)),
            record: prepared.record.clone(),
        };
        if let Some(known) = &*prepared {
            return Ok(start(known));
        }
        let made = prepare()?;
        let first = start(&made);
        *prepared = made.is_final.then_some(made);
        Ok(first)
    }

    fn slot(&self, key: &str) -> Slot {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key.to_owned()).or_default().clone()
    }
}

fn thaw(disks: &[(String, FrozenDisk)], keeping: &Keeping) -> Vec<DiskSetup> {
    let setup = |(role, disk): &(String, FrozenDisk)| {
        let parts: DiskParts = disk.thaw(keeping.clone());
        DiskSetup { role: role.clone(), parts }
    };
    disks.iter().map(setup).collect()
}
