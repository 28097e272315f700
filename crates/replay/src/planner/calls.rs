//! Resources that calls use, and the calls of the engine in their place.

use super::Planner;
use super::descriptors::HandleId;
use super::draft::Draft;
use super::polled::is_lock_command;
use crate::action::Action;
use crate::error::ReplayError;
use crate::order::Use;
use crate::plan::Reason;
use seekwell_trace::Event;

const AT_REMOVEDIR: u64 = 0x200;
const AT_EMPTY_PATH: u64 = 0x1000;
const AT_SYMLINK_NOFOLLOW: u64 = 0x100;

/// A call that is planned, or the cause for which it is not.
pub(super) type Planned = Result<(), Unplanned>;

/// Causes for which a call is not planned.
#[derive(Debug)]
pub(super) enum Unplanned {
    /// The call is left out of the plan.
    Skipped(Reason),
    /// There is no plan at all.
    Failed(ReplayError),
}

impl From<Reason> for Unplanned {
    fn from(reason: Reason) -> Self {
        Self::Skipped(reason)
    }
}

impl From<ReplayError> for Unplanned {
    fn from(error: ReplayError) -> Self {
        Self::Failed(error)
    }
}

/// Tells the reason for which a call is left out from the failure of the plan.
pub(super) fn split<T>(planned: Result<T, Unplanned>) -> Result<Result<T, Reason>, ReplayError> {
    match planned {
        Ok(planned) => Ok(Ok(planned)),
        Err(Unplanned::Skipped(reason)) => Ok(Err(reason)),
        Err(Unplanned::Failed(error)) => Err(error),
    }
}

impl Planner {
    /// Plans a call.
    pub(super) fn call(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let operation = &mut draft.operation;
        operation.flags = event.flags.unwrap_or(0);
        operation.length = event.length.unwrap_or(0);
        operation.offset = event.offset.unwrap_or(0);
        match operation.action {
            Action::Machine => Err(Reason::Machine.into()),
            _ if event.call.call().is_operation() && operation.action != Action::Asynchronous => {
                self.operation(event, draft)
            }
            Action::Asynchronous => Err(self.asynchronous(event).into()),
            Action::Touch => self.touch(event, draft),
            Action::SyncMemory if self.faults => self.sync_mapped(event, draft),
            Action::SyncMemory => Err(Reason::NotRecorded.into()),
            Action::GetAttribute
            | Action::GetAttributeOpen
            | Action::SetAttribute
            | Action::SetAttributeOpen
            | Action::RemoveAttribute
            | Action::RemoveAttributeOpen => self.attribute(event, draft),
            Action::AdviseMemory => self.advise_mapped(event, draft),
            Action::Memory => {
                self.unmap(event);
                Err(Reason::Process.into())
            }
            Action::Fork | Action::Directory => Err(Reason::Process.into()),
            Action::Execute => self.execute(event),
            Action::Order | Action::Skip | Action::LockRecord | Action::Partly => {
                Err(Reason::NotRecorded.into())
            }
            Action::Open => self.open(event, draft),
            Action::Close => self.close(event, draft),
            Action::CloseRange => self.close_range(event),
            Action::Duplicate => self.duplicate(event, draft),
            Action::Control => self.control(event, draft),
            Action::Send => self.send(event, draft),
            Action::CloneFile => self.clone_file(event, draft),
            Action::Map if event.fd.is_none_or(|fd| fd < 0) => Err(Reason::Process.into()),
            Action::MakeDirectory
            | Action::RemoveDirectory
            | Action::Unlink
            | Action::MakeFile
            | Action::MakeLink => Ok(self.name(event, draft)?),
            Action::Rename | Action::Link => Ok(self.two_names(event, draft)?),
            Action::StatusOf | Action::SetModeOf | Action::SetOwnerOf | Action::SetTimesOf => {
                self.path_or_descriptor(event, draft)
            }
            Action::StatusOfLink
            | Action::SystemStatusOf
            | Action::Access
            | Action::ReadLink
            | Action::SetSizeOf
            | Action::SetOwnerOfLink
            | Action::ListAttributes => Ok(self.path(event, draft)?),
            _ => self.descriptor(event, draft),
        }
    }

    /// Calls on a path that mean the directory's descriptor itself when the path is empty.
    fn path_or_descriptor(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let name = event.call.call().name;
        let flags = event.flags.unwrap_or(0);
        let takes_flags = !matches!(name, "chmod" | "fchmodat" | "stat" | "chown");
        if takes_flags && flags & AT_EMPTY_PATH != 0 {
            let process = event.process;
            if let Some(id) = self.handles.of_file(process, event.file) {
                draft.operation.action = match draft.operation.action {
                    Action::StatusOf => Action::Status,
                    Action::SetOwnerOf => Action::SetOwner,
                    _ => Action::SetMode,
                };
                self.on_handle(event, id, draft);
                return Ok(());
            }
        }
        if takes_flags && flags & AT_SYMLINK_NOFOLLOW != 0 {
            match draft.operation.action {
                Action::StatusOf => draft.operation.action = Action::StatusOfLink,
                Action::SetOwnerOf => draft.operation.action = Action::SetOwnerOfLink,
                _ => {}
            }
        }
        Ok(self.path(event, draft)?)
    }

    /// Calls on a descriptor.
    pub(super) fn descriptor(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        if event.result == Some(-i64::from(libc::EBADF)) {
            return Err(Reason::Process.into());
        }
        let id = self.handle(event, draft).inspect_err(|_| self.channel(event, draft))?;
        self.on_handle(event, id, draft);
        Ok(())
    }

    /// A call on an open file of the replay.
    pub(super) fn on_handle(&mut self, event: &Event, id: HandleId, draft: &mut Draft) {
        let handle = self.handles.handle(id);
        draft.operation.slot = handle.slot;
        draft.uses(&mut handle.order, Use::Shared);
        let open = self.handles.open_file(id);
        let (node, appends, is_both) = (open.node, open.appends, open.is_both);
        match draft.operation.action {
            Action::Read | Action::Write | Action::Seek => {
                draft.uses(&mut open.position, Use::Alone);
            }
            Action::List => {
                draft.uses(&mut open.position, Use::Alone);
                draft.used = true;
                self.tree.contents(node, draft.me, Use::Listing, &mut draft.needs);
            }
            _ => {}
        }
        if draft.operation.action == Action::Map {
            self.map(event, id, is_both, draft);
        }
        let moved = event.moved_bytes().unwrap_or(0);
        let length = event.length.unwrap_or(0);
        // Calls with vectors tell no length.
        draft.operation.length = event.length.unwrap_or(moved);
        match draft.operation.action {
            Action::Read | Action::ReadAt | Action::Map | Action::Attach | Action::ReadAhead => {
                let end = event.offset.map_or(0, |offset| offset.saturating_add(moved));
                let node = self.tree.node(node);
                node.reaches(end);
                draft.uses_as_recorded(&mut node.data, Use::Shared);
            }
            // From the end, to data or to a hole: the file's size and blocks decide.
            Action::Seek if event.flags.is_some_and(|from| from >= 2) => {
                draft.uses_as_recorded(&mut self.tree.node(node).data, Use::Shared);
            }
            Action::Write | Action::WriteAt => {
                self.write(node, event.offset.filter(|_| !appends), moved, draft);
            }
            Action::Sync | Action::SyncData | Action::SyncRange | Action::SyncFilesystem => {
                draft.uses_as_recorded(&mut self.tree.node(node).data, Use::Alone);
            }
            Action::Allocate => {
                let node = self.tree.node(node);
                let end = allocated_to(event, length);
                self.room.add(end.saturating_sub(node.bytes));
                node.bytes = node.bytes.max(end);
                draft.uses_as_recorded(&mut node.data, Use::Alone);
            }
            Action::SetSize => {
                let node = self.tree.node(node);
                if !event.failed() {
                    self.room.free(node.bytes.saturating_sub(length));
                    node.bytes = length;
                }
                draft.uses_as_recorded(&mut node.data, Use::Alone);
            }
            Action::Lock => self.lock(event, id, draft),
            Action::LockRecord => draft.uses(&mut self.tree.node(node).locks, Use::Alone),
            Action::SetMode => draft.operation.flags = self.permissions(draft.operation.flags),
            _ => {}
        }
    }

    /// A lock of a whole file. Locks are had in the recorded order. One that waited may return before the call that
    /// made way does, which then comes later in the trace and does not wait for it.
    fn lock(&mut self, event: &Event, id: HandleId, draft: &mut Draft) {
        const LOCK_UN: u64 = 8;
        let unlocks = event.flags.is_some_and(|how| how & LOCK_UN != 0);
        let open = self.handles.open_file(id);
        if !event.failed() {
            open.is_locked = !unlocks;
        }
        let locks = &mut self.tree.node(open.node).locks;
        match unlocks {
            true => draft.uses_as_recorded(locks, Use::Alone),
            false => draft.uses(locks, Use::Alone),
        }
    }

    /// A write: one that makes the file longer keeps its order with all others, one in place overlaps
    /// others.
    fn write(
        &mut self,
        node: super::tree::NodeId,
        offset: Option<u64>,
        moved: u64,
        draft: &mut Draft,
    ) {
        let node = self.tree.node(node);
        let start = offset.unwrap_or(node.bytes);
        let end = start.saturating_add(moved);
        // A gap before the data is a hole.
        self.room.add(end.saturating_sub(start.max(node.bytes)));
        let kind = if end > node.bytes { Use::Alone } else { Use::Shared };
        node.bytes = node.bytes.max(end);
        draft.uses_as_recorded(&mut node.data, kind);
    }

    /// Calls of fcntl: copies, locks, and questions that cost little.
    fn control(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        const COPIES: [u64; 2] = [0, 1030];
        match event.flags {
            Some(command) if COPIES.contains(&command) => {
                draft.operation.action = Action::Duplicate;
                self.duplicate(event, draft)
            }
            Some(command) if is_lock_command(command) => {
                draft.operation.action = Action::LockRecord;
                self.descriptor(event, draft)
            }
            _ => self.descriptor(event, draft),
        }
    }

    /// Copies between descriptors. One to a socket or pipe is a read, one from them a write.
    fn send(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let from = split(self.handle(event, draft))?;
        let to = self.handles.of_file(event.process, event.to_file);
        let moved = event.moved_bytes().unwrap_or(0);
        draft.operation.length = event.length.unwrap_or(0).max(moved);
        match (from, to) {
            (Ok(from), Some(to)) => {
                let slot = self.handles.handle(to).slot;
                draft.operation.to_slot = slot;
                draft.uses(&mut self.handles.handle(to).order, Use::Shared);
                draft.uses(&mut self.handles.handle(from).order, Use::Shared);
                draft.operation.slot = self.handles.handle(from).slot;
                for id in [from, to] {
                    draft.uses(&mut self.handles.open_file(id).position, Use::Alone);
                }
                let node = self.handles.open_file(from).node;
                self.tree.node(node).reaches(moved);
                draft.uses_as_recorded(&mut self.tree.node(node).data, Use::Shared);
                let node = self.handles.open_file(to).node;
                self.write(node, None, moved, draft);
            }
            // It moved nothing, and the other file is not there to fail with.
            (Ok(_), None) | (Err(_), Some(_)) if event.failed() => {
                return Err(Reason::Outside.into());
            }
            (Ok(from), None) => {
                draft.operation.action = Action::Read;
                self.on_handle(event, from, draft);
                draft.operation.length = moved;
            }
            (Err(_), Some(to)) => {
                draft.operation.action = Action::Write;
                self.on_handle(event, to, draft);
                draft.operation.length = moved;
            }
            (Err(reason), None) => {
                self.channel(event, draft);
                return Err(reason.into());
            }
        }
        Ok(())
    }

    /// A clone of a whole file. One that failed between two filesystems is not issued, since a replay
    /// has one.
    fn clone_file(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        if event.result == Some(-i64::from(libc::EXDEV)) {
            return Err(Reason::Process.into());
        }
        let from = split(self.handle(event, draft))?;
        let to = self.handles.of_file(event.process, event.to_file);
        let (from, to) = match (from, to) {
            (Ok(from), Some(to)) => (from, to),
            // The data of the clone is not known.
            (Err(_), Some(_)) if !event.failed() => return Err(Reason::UnknownFile.into()),
            (Err(reason), _) => return Err(reason.into()),
            (Ok(_), None) => {
                let reason = self.files.path(event.to_file).err();
                return Err(reason.unwrap_or(Reason::UnknownFile).into());
            }
        };
        draft.operation.to_slot = self.handles.handle(to).slot;
        draft.operation.slot = self.handles.handle(from).slot;
        for id in [from, to] {
            draft.uses(&mut self.handles.handle(id).order, Use::Shared);
        }
        let node = self.handles.open_file(from).node;
        if !event.failed() {
            // A source of unknown size is rebuilt without data.
            self.tree.loses(node);
        }
        let bytes = self.tree.node(node).bytes;
        draft.uses_as_recorded(&mut self.tree.node(node).data, Use::Shared);
        let node = self.tree.node(self.handles.open_file(to).node);
        if !event.failed() {
            node.bytes = node.bytes.max(bytes);
        }
        draft.uses_as_recorded(&mut node.data, Use::Alone);
        Ok(())
    }

    /// Permissions without the bits that a replay leaves out.
    pub(super) fn permissions(&mut self, mode: u64) -> u64 {
        self.recorded.special_bits += u64::from(mode & 0o6000 != 0);
        mode & 0o1777
    }

    /// A name removed from a directory is a directory's when the flags say so.
    pub(super) fn removal(event: &Event) -> Action {
        let flagged = event.call.call().name == "unlinkat"
            && event.flags.is_some_and(|flags| flags & AT_REMOVEDIR != 0);
        let rmdir = event.call.call().name == "rmdir";
        if flagged || rmdir { Action::RemoveDirectory } else { Action::Unlink }
    }
}

/// End of what a call allocates, as far as that makes the file longer: of the modes, only the plain one
/// does.
fn allocated_to(event: &Event, length: u64) -> u64 {
    match event.flags {
        Some(0) if !event.failed() => event.offset.unwrap_or(0).saturating_add(length),
        _ => 0,
    }
}
