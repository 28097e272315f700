//! Descriptors of a trace: numbers of a process lead to handles, handles to open files. Processes
//! that inherit a descriptor share its handle; a copied descriptor is another handle of the same
//! open file.

use super::tree::NodeId;
use crate::order::{Resource, Stamp};
use seekwell_trace::FileId;
use std::collections::HashMap;

/// Number of a handle.
pub(super) type HandleId = usize;

/// A descriptor of the replay.
#[derive(Debug, Default)]
pub(super) struct Handle {
    pub(super) slot: u64,
    pub(super) open: usize,
    /// Descriptors of processes that lead to it.
    pub(super) shared_by: u32,
    pub(super) order: Resource,
}

/// An open file: descriptors that are copies share it.
#[derive(Debug, Default)]
pub(super) struct OpenFile {
    pub(super) node: NodeId,
    pub(super) file: Option<FileId>,
    pub(super) appends: bool,
    /// Opened for reading and writing: a shared mapping of it may be written through.
    pub(super) is_both: bool,
    pub(super) handles: u32,
    pub(super) position: Resource,
    /// True while it has a lock of `flock`, which its last close takes away.
    pub(super) is_locked: bool,
}

/// Target of a descriptor of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// File of the replay.
    Handle(HandleId),
    /// Pipe, socket, device, or a file elsewhere.
    Other,
}

impl Target {
    /// The handle of a file of the replay.
    pub(super) fn handle(self) -> Option<HandleId> {
        match self {
            Self::Handle(id) => Some(id),
            Self::Other => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    target: Target,
    file: Option<FileId>,
    close_on_exec: bool,
}

/// Slots of a lane that are free, each with the operation that closed it.
type FreeSlots = HashMap<u32, Vec<(u64, Stamp)>>;

/// Descriptors of all processes.
#[derive(Debug, Default)]
pub(super) struct Handles {
    tables: HashMap<u32, HashMap<i32, Descriptor>>,
    handles: Vec<Handle>,
    free_handles: Vec<HandleId>,
    open: Vec<OpenFile>,
    free_open: Vec<usize>,
    free_slots: FreeSlots,
    last_slot: u32,
}

impl Handles {
    /// Places of the table that the engine needs, the unused place 0 included.
    pub(super) fn slots(&self) -> u32 {
        self.last_slot + 1
    }

    pub(super) fn handle(&mut self, id: HandleId) -> &mut Handle {
        &mut self.handles[id]
    }

    pub(super) fn open_file(&mut self, id: HandleId) -> &mut OpenFile {
        &mut self.open[self.handles[id].open]
    }

    /// The descriptor's target, and the file that it had when it was made.
    pub(super) fn find(&self, process: u32, fd: i32) -> Option<(Target, Option<FileId>)> {
        let found = self.tables.get(&process)?.get(&fd)?;
        Some((found.target, found.file))
    }

    /// A handle of the process for this file; of several that with the smallest number.
    pub(super) fn of_file(&self, process: u32, file: Option<FileId>) -> Option<HandleId> {
        let (file, table) = (file?, self.tables.get(&process)?);
        let of_file = table.iter().filter_map(|(fd, found)| match found.target {
            Target::Handle(id) if found.file == Some(file) && *fd >= 0 => Some((*fd, id)),
            _ => None,
        });
        of_file.min().map(|(_, id)| id)
    }

    /// Gives a descriptor its target; returns the handle that it had.
    pub(super) fn set(
        &mut self,
        process: u32,
        fd: i32,
        target: Target,
        file: Option<FileId>,
        close_on_exec: bool,
    ) -> Option<HandleId> {
        let table = self.tables.entry(process).or_default();
        table.insert(fd, Descriptor { target, file, close_on_exec })?.target.handle()
    }

    /// Takes a descriptor from its process; returns its handle.
    pub(super) fn take(&mut self, process: u32, fd: i32) -> Option<HandleId> {
        self.tables.get_mut(&process)?.remove(&fd)?.target.handle()
    }

    /// Numbers of a process's descriptors in order: all, or those that an exec closes.
    pub(super) fn numbers(&self, process: u32, of_exec: bool) -> Vec<i32> {
        let table = self.tables.get(&process).into_iter().flatten();
        let wanted = table.filter(|(_, descriptor)| !of_exec || descriptor.close_on_exec);
        let mut numbers: Vec<i32> = wanted.map(|(fd, _)| *fd).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(super) fn forget(&mut self, process: u32) {
        self.tables.remove(&process);
    }

    /// A new process gets the descriptors of its parent.
    pub(super) fn inherit(&mut self, parent: u32, child: u32) {
        let Some(table) = self.tables.get(&parent).cloned() else { return };
        for id in table.values().filter_map(|descriptor| descriptor.target.handle()) {
            self.handles[id].shared_by += 1;
        }
        self.tables.insert(child, table);
    }

    /// A handle of an open file; a new open file when none is given. `None` when there are `most`.
    pub(super) fn new_handle(
        &mut self,
        open: Option<usize>,
        lane: u32,
        most: u32,
        needs: &mut Vec<Stamp>,
    ) -> Option<HandleId> {
        let slot = self.slot(lane, most, needs)?;
        let new = || put(&mut self.open, &mut self.free_open, OpenFile::default());
        let open = open.unwrap_or_else(new);
        self.open[open].handles += 1;
        let handle = Handle { slot, open, ..Handle::default() };
        Some(put(&mut self.handles, &mut self.free_handles, handle))
    }

    /// A free place: one that the lane itself has closed, a new one, or one that another has.
    fn slot(&mut self, lane: u32, most: u32, needs: &mut Vec<Stamp>) -> Option<u64> {
        let own = self.free_slots.get_mut(&lane).and_then(Vec::pop);
        if let Some((slot, closed)) = own {
            needs.push(closed);
            return Some(slot);
        }
        if self.last_slot < most {
            self.last_slot += 1;
            return Some(self.last_slot.into());
        }
        let (slot, closed) = self.free_slots.values_mut().find_map(Vec::pop)?;
        needs.push(closed);
        Some(slot)
    }

    /// Another descriptor leads to this handle.
    pub(super) fn share(&mut self, id: HandleId) {
        self.handles[id].shared_by += 1;
    }

    /// One descriptor less leads to this handle; true when it was the last.
    pub(super) fn release(&mut self, id: HandleId) -> bool {
        let handle = &mut self.handles[id];
        handle.shared_by = handle.shared_by.saturating_sub(1);
        handle.shared_by == 0
    }

    /// The handle was closed by `me`.
    pub(super) fn closed(&mut self, id: HandleId, me: Stamp) {
        let (slot, open) = (self.handles[id].slot, self.handles[id].open);
        self.free_slots.entry(me.lane).or_default().push((slot, me));
        self.free_handles.push(id);
        self.open[open].handles = self.open[open].handles.saturating_sub(1);
        if self.open[open].handles == 0 {
            self.free_open.push(open);
        }
    }
}

/// Puts a value into a free place, or a new one; returns the place.
fn put<T>(all: &mut Vec<T>, free: &mut Vec<usize>, value: T) -> usize {
    let Some(at) = free.pop() else {
        all.push(value);
        return all.len() - 1;
    };
    all[at] = value;
    at
}
