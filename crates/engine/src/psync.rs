//! `pread` and `pwrite`: one operation at a time.

use crate::buffer::Arena;
use crate::commit::GroupCommit;
use crate::job::Job;
use crate::operation::{Completion, Engine, Operation, OperationKind};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use seekwell_model::workloads::SyncMethod;
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;

/// Synchronous system calls. Its depth is 1.
#[derive(Debug)]
pub struct Psync<'a> {
    target: BorrowedFd<'a>,
    sync: Option<SyncMethod>,
    group: Option<&'a GroupCommit>,
    memory: *mut u8,
    memory_bytes: usize,
    queued: Option<(u32, Operation)>,
    done: Option<Completion>,
    arena: PhantomData<*mut Arena>,
}

impl<'a> Psync<'a> {
    /// An engine for one thread of a job.
    ///
    /// # Safety
    /// The arena must live as long as the engine, and only the loop that drives the engine may
    /// touch its memory.
    #[must_use]
    pub unsafe fn new(job: &'a Job<'a>, arena: &Arena) -> Self {
        Self {
            target: job.target,
            sync: job.sync,
            group: job.group_commit.as_deref(),
            memory: arena.address(0, 0),
            memory_bytes: arena.length(),
            queued: None,
            done: None,
            arena: PhantomData,
        }
    }

    #[inline]
    fn perform(&self, operation: &Operation) -> Result<usize, Errno> {
        let length = operation.length as usize;
        assert!(operation.buffer + length <= self.memory_bytes, "buffer beyond the arena");
        match operation.kind {
            OperationKind::Read => {
                // SAFETY: the bytes are inside the arena as just checked, it lives as long as
                // this engine, and nothing else touches them during the call.
                let buffer = unsafe {
                    std::slice::from_raw_parts_mut(self.memory.add(operation.buffer), length)
                };
                rustix::io::pread(self.target, buffer, operation.offset)
            }
            OperationKind::Write => {
                // SAFETY: as for reading.
                let buffer = unsafe {
                    std::slice::from_raw_parts(self.memory.add(operation.buffer), length)
                };
                if self.sync == Some(SyncMethod::RwfDsync) {
                    let buffers = [IoSlice::new(buffer)];
                    let flags = ReadWriteFlags::DSYNC;
                    rustix::io::pwritev2(self.target, &buffers, operation.offset, flags)
                } else {
                    rustix::io::pwrite(self.target, buffer, operation.offset)
                }
            }
            OperationKind::Fsync => self.commit().map(|()| 0),
        }
    }

    #[inline]
    fn commit(&self) -> Result<(), Errno> {
        let sync = || loop {
            let result = match self.sync {
                Some(SyncMethod::Fsync) => rustix::fs::fsync(self.target),
                _ => rustix::fs::fdatasync(self.target),
            };
            if result != Err(Errno::INTR) {
                return result;
            }
        };
        match self.group {
            Some(group) => group.wait(sync),
            None => sync(),
        }
    }
}

impl Engine for Psync<'_> {
    #[inline]
    fn queue(&mut self, slot: u32, operation: &Operation) {
        self.queued = Some((slot, *operation));
    }

    #[inline]
    fn submit(&mut self, _timeout_ns: Option<u64>) -> io::Result<()> {
        if let Some((slot, operation)) = self.queued.take() {
            let result = loop {
                match self.perform(&operation) {
                    Err(Errno::INTR) => {}
                    Ok(bytes) => break bytes as i32,
                    Err(error) => break -error.raw_os_error(),
                }
            };
            self.done = Some(Completion { slot, result });
        }
        Ok(())
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        self.done.take()
    }
}
