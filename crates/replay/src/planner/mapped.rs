//! Mappings of files, and the pages of them that a program touched. A mapping keeps its file open after
//! the descriptor is closed: it is one more descriptor, with a number that no program has.

use super::Planner;
use super::calls::Planned;
use super::descriptors::{HandleId, Target};
use super::draft::Draft;
use crate::action::Action;
use crate::order::Use;
use crate::plan::Reason;
use seekwell_trace::{Event, FileId};

/// Numbers of the descriptors of mappings begin here and fall; `AT_FDCWD` is -100.
const FIRST: i32 = -1000;

/// Number of the descriptor that a file's mappings are.
fn number(file: FileId) -> i32 {
    FIRST.saturating_sub_unsigned(file.0)
}

/// True for a mapping whose changes go to the file.
fn shares(event: &Event) -> bool {
    const TYPE: u64 = 0xf;
    const SHARED: [u64; 2] = [1, 3];
    !event.failed() && event.flags.is_some_and(|flags| SHARED.contains(&(flags & TYPE)))
}

impl Planner {
    /// A file was mapped, through this handle, which may be open for reading and writing.
    pub(super) fn map(&mut self, event: &Event, id: HandleId, is_both: bool, draft: &mut Draft) {
        if !self.faults {
            self.recorded.mapped_writes += u64::from(is_both && shares(event));
            return;
        }
        draft.operation.action = Action::Attach;
        draft.operation.flags = u64::from(is_both);
        let Some(file) = event.file.filter(|_| !event.failed()) else { return };
        self.handles.share(id);
        let target = Target::Handle(id);
        let before = self.handles.set(event.process, number(file), target, Some(file), true);
        self.dropped(before);
    }

    /// A range was unmapped; of a file with several mappings a later page opens it again.
    pub(super) fn unmap(&mut self, event: &Event) {
        let Some(file) = event.file.filter(|_| self.faults && !event.failed()) else { return };
        if event.call.call().name == "munmap" {
            let before = self.handles.take(event.process, number(file));
            self.dropped(before);
        }
    }

    /// The handle of a file's mapping. One that was made before the trace began is opened.
    fn attached(
        &mut self,
        event: &Event,
        draft: &mut Draft,
    ) -> Result<Result<HandleId, Reason>, crate::error::ReplayError> {
        let Some(file) = event.file else { return Ok(Err(Reason::UnknownFile)) };
        if let Err(reason) = self.files.path(Some(file)) {
            return Ok(Err(reason));
        }
        match self.handles.find(event.process, number(file)) {
            Some((Target::Handle(id), _)) => Ok(Ok(id)),
            _ => self.open_before(event, number(file), draft),
        }
    }

    /// Plans the touch of a page.
    pub(super) fn touch(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let id = match self.attached(event, draft)? {
            Ok(id) => id,
            Err(reason) => return Ok(Err(reason)),
        };
        let handle = self.handles.handle(id);
        draft.operation.slot = handle.slot;
        draft.uses(&mut handle.order, Use::Shared);
        let node = self.handles.open_file(id).node;
        let node = self.tree.node(node);
        // A page that is there has a byte at least.
        node.reaches(event.offset.unwrap_or(0).saturating_add(1));
        draft.uses_as_recorded(&mut node.data, Use::Shared);
        Ok(Ok(()))
    }

    /// Plans an msync. Without `MS_SYNC` it only marks what the kernel writes anyway.
    pub(super) fn sync_mapped(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        const MS_SYNC: u64 = 4;
        if event.failed() || event.flags.is_some_and(|flags| flags & MS_SYNC == 0) {
            return Ok(Err(Reason::Process));
        }
        let id = match self.attached(event, draft)? {
            Ok(id) => id,
            Err(Reason::UnknownFile) => return Ok(Err(Reason::NotRecorded)),
            Err(reason) => return Ok(Err(reason)),
        };
        draft.operation.action = Action::SyncData;
        Ok(self.on_handle(event, id, draft))
    }
}
