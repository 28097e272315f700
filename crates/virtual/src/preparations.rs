//! Stacks with their filesystem and files made, kept while a run lasts. The first trial that needs
//! one makes it; every trial that needs it starts from a copy, the first one too. Their disks are in memory
//! up to a bound for all together, the others in files without a name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use seekwell_model::record::Record;
use seekwell_model::units::Bytes;

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
#[derive(Debug)]
pub(crate) struct Preparations {
    slots: Mutex<BTreeMap<String, Slot>>,
    /// Bytes of frozen disks in memory.
    in_memory: AtomicU64,
    /// Most of them before disks go to files.
    most: Bytes,
}

impl Preparations {
    /// None yet; their disks take so many bytes of memory at most.
    pub(crate) fn new(most: Bytes) -> Self {
        Self { slots: Mutex::default(), in_memory: AtomicU64::new(0), most }
    }

    /// Changes the bound for the disks that are prepared from now on.
    pub(crate) fn bound(&mut self, most: Bytes) {
        self.most = most;
    }

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
        let mut made = prepare()?;
        if made.is_final {
            self.keep(&mut made);
        }
        let first = start(&made);
        *prepared = made.is_final.then_some(made);
        Ok(first)
    }

    /// Counts the disks of a new stack; those beyond the bound leave the memory.
    fn keep(&self, made: &mut Prepared) {
        for (_, disk) in made.disks.iter_mut().flatten() {
            let bytes = disk.memory_bytes();
            let together = self.in_memory.fetch_add(bytes, Ordering::Relaxed) + bytes;
            // A scratch directory without space must not end a run that the memory can still hold.
            if together > self.most.0 && disk.move_to_file().is_ok() {
                self.in_memory.fetch_sub(bytes - disk.memory_bytes(), Ordering::Relaxed);
            }
        }
    }

    fn slot(&self, key: &str) -> Slot {
        let mut known = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
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
