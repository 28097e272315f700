//! io_uring: many operations in flight per thread, with a registered file and registered buffers.

use crate::buffer::Arena;
use crate::error::JobError;
use crate::job::Job;
use crate::operation::{Completion, Engine, Operation, OperationKind};
use io_uring::{IoUring, opcode, squeue, types};
use seekwell_model::workloads::SyncMethod;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Index of the target among the registered files.
const TARGET: types::Fixed = types::Fixed(0);
/// Index of the arena among the registered buffers.
const ARENA: u16 = 0;

/// Remedy where the buffers cannot be registered.
const MORE_MEMORY: &str =
    "raise the limit of locked memory (ulimit -l), or use a smaller depth or size";

/// A ring of one thread. It must be used by the thread that made it.
pub struct Uring<'a> {
    ring: IoUring,
    memory: *mut u8,
    memory_bytes: usize,
    sync: Option<SyncMethod>,
    target: PhantomData<BorrowedFd<'a>>,
}

impl std::fmt::Debug for Uring<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Uring").field("memory_bytes", &self.memory_bytes).finish()
    }
}

impl<'a> Uring<'a> {
    /// A ring for the operations in flight of one thread, with the target and the arena registered.
    ///
    /// # Errors
    /// When the kernel has no io_uring, forbids it, or does not let so much memory be pinned.
    ///
    /// # Safety
    /// The arena must live as long as the engine, and only the loop that drives the engine may
    /// touch its memory, a slot's buffers only while the slot has nothing in flight.
    pub unsafe fn new(job: &Job<'a>, arena: &Arena) -> Result<Self, JobError> {
        let ring = ring(job.depth).map_err(|source| JobError::Setup {
            action: "set up io_uring",
            remedy: ring_remedy(&source),
            source,
        })?;
        let memory = arena.address(0, 0);
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: arena.length() };
        // SAFETY: the memory is mapped, and the caller keeps it mapped as long as the ring lives.
        unsafe { ring.submitter().register_buffers(&[vector]) }
            .map_err(JobError::setup("register the buffers with io_uring", MORE_MEMORY))?;
        ring.submitter()
            .register_files(&[job.target.as_raw_fd()])
            .map_err(JobError::setup("register the target with io_uring", "use engine psync"))?;
        let memory_bytes = arena.length();
        Ok(Self { ring, memory, memory_bytes, sync: job.sync, target: PhantomData })
    }

    fn entry(&self, operation: &Operation) -> squeue::Entry {
        let Operation { kind, offset, length, buffer } = *operation;
        assert!(buffer + length as usize <= self.memory_bytes, "buffer beyond the arena");
        // SAFETY: the offset lies inside the arena as just checked.
        let address = unsafe { self.memory.add(buffer) };
        match kind {
            OperationKind::Read => {
                opcode::ReadFixed::new(TARGET, address, length, ARENA).offset(offset).build()
            }
            OperationKind::Write => {
                let durable = self.sync == Some(SyncMethod::RwfDsync);
                opcode::WriteFixed::new(TARGET, address, length, ARENA)
                    .offset(offset)
                    .rw_flags(if durable { libc::RWF_DSYNC } else { 0 })
                    .build()
            }
            OperationKind::Fsync => {
                let flags = match self.sync {
                    Some(SyncMethod::Fsync) => types::FsyncFlags::empty(),
                    _ => types::FsyncFlags::DATASYNC,
                };
                opcode::Fsync::new(TARGET).flags(flags).build()
            }
        }
    }
}

/// A ring that only its own thread uses and that completes work when that thread asks, where the
/// kernel (6.1 and later) has this; a plain one otherwise.
fn ring(depth: u32) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    let modern = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    match modern {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        result => result,
    }
}

fn ring_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring: use engine psync",
        Some(libc::EPERM) => {
            "io_uring is forbidden here: set sysctl kernel.io_uring_disabled=0, leave the \
             container's seccomp profile, or use engine psync"
        }
        Some(libc::ENOMEM) => {
            "raise the limit of locked memory (ulimit -l), or use a smaller depth or fewer threads"
        }
        _ => "use engine psync",
    }
}

impl Engine for Uring<'_> {
    #[inline]
    fn queue(&mut self, slot: u32, operation: &Operation) {
        let entry = self.entry(operation).user_data(u64::from(slot));
        // SAFETY: file and memory are registered and stay so as long as the ring lives; the loop
        // does not touch a slot's buffers before it took the completion.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // The ring has an entry for every slot, and a slot is never queued twice.
        assert!(pushed.is_ok(), "more operations than slots");
    }

    #[inline]
    fn submit(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        loop {
            let result = match timeout_ns {
                None => self.ring.submit_and_wait(1),
                Some(timeout_ns) => {
                    let time = types::Timespec::new()
                        .sec(timeout_ns / 1_000_000_000)
                        .nsec((timeout_ns % 1_000_000_000) as u32);
                    let arguments = types::SubmitArgs::new().timespec(&time);
                    self.ring.submitter().submit_with_args(1, &arguments)
                }
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ETIME) => return Ok(()),
                Err(error) => return Err(error),
                // The kernel may take fewer than offered and then does not wait.
                Ok(_) if !self.ring.submission().is_empty() => {}
                Ok(_) => return Ok(()),
            }
        }
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        Some(Completion { slot: entry.user_data() as u32, result: entry.result() })
    }
}
