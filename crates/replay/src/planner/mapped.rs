//! Mappings of files, and the pages of them that a program touched. A mapping keeps its file open after
//! the descriptor is closed: it is one more descriptor, with a number that no program has. Advice on a mapping
//! decides how much a touch of a page reads, so each touch has that of its page.

use super::Planner;
use super::calls::{Planned, Unplanned};
use super::descriptors::{HandleId, Target};
use super::draft::Draft;
use crate::action::Action;
use crate::order::Use;
use crate::plan::Reason;
use crate::window::Reading;
use seekwell_trace::{Event, FileId};
use std::collections::HashMap;

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

/// Ranges of one file in a process whose advice is kept.
const MOST_ADVICE: usize = 64;

/// Advice of processes that run on the files that they mapped. Later ranges count.
#[derive(Debug, Default)]
pub(super) struct Advised(HashMap<u32, HashMap<FileId, Vec<Range>>>);

/// Bytes of a file and the advice on them.
type Range = (u64, u64, Reading);

impl Advised {
    /// Sets the advice of the bytes from `start` to `end`.
    fn set(&mut self, process: u32, file: FileId, (start, end): (u64, u64), reading: Reading) {
        let all = self.0.entry(process).or_default().entry(file).or_default();
        all.retain(|(first, last, _)| *first < start || *last > end);
        if all.len() >= MOST_ADVICE {
            all.remove(0);
        }
        all.push((start, end, reading));
    }

    /// The advice of the byte at an offset.
    fn of(&self, process: u32, file: FileId, offset: u64) -> Reading {
        let all = self.0.get(&process).and_then(|files| files.get(&file)).into_iter().flatten();
        let mut there = all.rev().filter(|(start, end, _)| (*start..*end).contains(&offset));
        there.next().map_or(Reading::default(), |(_, _, reading)| *reading)
    }

    /// A file was mapped: a new mapping has no advice.
    fn map(&mut self, process: u32, file: FileId, range: (u64, u64)) {
        if self.0.get(&process).is_some_and(|files| files.contains_key(&file)) {
            self.set(process, file, range, Reading::default());
        }
    }

    /// The process has ended, and its mappings with it.
    pub(super) fn end(&mut self, process: u32) {
        self.0.remove(&process);
    }
}

/// Bytes of the file that a call maps or works on: whole pages.
fn range(event: &Event) -> (u64, u64) {
    const PAGE: u64 = 4096;
    let start = event.offset.unwrap_or(0);
    let length = event.length.unwrap_or(0);
    (start, start.saturating_add(length.checked_next_multiple_of(PAGE).unwrap_or(length)))
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
        self.advised.map(event.process, file, range(event));
        self.handles.share(id);
        self.set(event, number(file), Target::Handle(id), true);
    }

    /// A range was unmapped; of a file with several mappings a later page opens it again.
    pub(super) fn unmap(&mut self, event: &Event) {
        let Some(file) = event.file.filter(|_| self.faults && !event.failed()) else { return };
        if event.call.call().name == "munmap" {
            self.drop_descriptor(event.process, number(file));
        }
    }

    /// The handle of a file's mapping. One that was made before the trace began is opened.
    fn attached(&mut self, event: &Event, draft: &mut Draft) -> Result<HandleId, Unplanned> {
        let file = event.file.ok_or(Reason::UnknownFile)?;
        self.files.path(Some(file))?;
        match self.handles.find(event.process, number(file)) {
            Some((Target::Handle(id), _)) => Ok(id),
            _ => self.open_before(event, number(file), draft),
        }
    }

    /// Plans the touch of a page.
    pub(super) fn touch(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let id = self.attached(event, draft)?;
        if let Some(file) = event.file {
            let reading = self.advised.of(event.process, file, draft.operation.offset);
            draft.operation.flags = reading.touch(draft.operation.flags & 1 != 0);
        }
        let handle = self.handles.handle(id);
        draft.operation.slot = handle.slot;
        draft.uses(&mut handle.order, Use::Shared);
        let node = self.handles.open_file(id).node;
        let node = self.tree.node(node);
        // A page that is there has a byte at least.
        node.reaches(event.offset.unwrap_or(0).saturating_add(1));
        draft.uses_as_recorded(&mut node.data, Use::Shared);
        Ok(())
    }

    /// Plans an msync. Without `MS_SYNC` it only marks what the kernel writes anyway.
    pub(super) fn sync_mapped(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        const MS_SYNC: u64 = 4;
        if event.failed() || event.flags.is_some_and(|flags| flags & MS_SYNC == 0) {
            return Err(Reason::Process.into());
        }
        let id = self.attached(event, draft).map_err(|cause| match cause {
            Unplanned::Skipped(Reason::UnknownFile) => Unplanned::Skipped(Reason::NotRecorded),
            cause => cause,
        })?;
        draft.operation.action = Action::SyncData;
        self.on_handle(event, id, draft);
        Ok(())
    }

    /// Plans advice on a mapping: reads ahead at once, or keeps for the pages that are touched later how they are
    /// read.
    pub(super) fn advise_mapped(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        const MADV_WILLNEED: u64 = 3;
        let is_kept = self.faults && !event.failed();
        let file = event.file.filter(|_| is_kept).ok_or(Reason::Process)?;
        let flags = event.flags.unwrap_or(0);
        if flags != MADV_WILLNEED {
            if let Some(reading) = Reading::advised(flags) {
                self.advised.set(event.process, file, range(event), reading);
            }
            return Err(Reason::Process.into());
        }
        let id = self.attached(event, draft)?;
        draft.operation.action = Action::ReadAhead;
        self.on_handle(event, id, draft);
        Ok(())
    }
}
