//! Operations as entries of an io_uring.

use super::{NotOpen, Performer, flags};
use crate::action::Action;
use crate::encode::Operation;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};
use rustix::fd::AsRawFd as _;

/// The kernel's word for the position of the file.
const POSITION: u64 = u64::MAX;

impl Performer<'_> {
    /// The entry that submits an operation, `None` for those that are calls in any case. Its memory is this
    /// value's own: nothing else is performed until it is complete.
    pub(crate) fn entry(
        &mut self,
        operation: &Operation,
    ) -> Result<Option<squeue::Entry>, NotOpen> {
        let (write, offset) = match operation.action {
            Action::Read => (false, POSITION),
            Action::ReadAt => (false, operation.offset),
            Action::Write => (true, POSITION),
            Action::WriteAt => (true, operation.offset),
            Action::Sync | Action::SyncData => {
                let file = Fd(self.file(operation.slot)?.as_raw_fd());
                let data_alone = operation.action == Action::SyncData;
                let flags = if data_alone { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                return Ok(Some(opcode::Fsync::new(file).flags(flags).build()));
            }
            _ => return Ok(None),
        };
        let file = Fd(self.file(operation.slot)?.as_raw_fd());
        self.parts(write, operation);
        let (parts, count) = (self.vectors.as_ptr(), self.vectors.len() as u32);
        Ok(Some(match write {
            true => opcode::Writev::new(file, parts, count)
                .offset(offset)
                .rw_flags(flags(operation))
                .build(),
            false => opcode::Readv::new(file, parts, count)
                .offset(offset)
                .rw_flags(flags(operation))
                .build(),
        }))
    }
}
