//! Requests through io_uring, past the page cache.

use super::issue::{Device, Issue, MOST_IN_FLIGHT, Placed, RequestsReplayed};
use super::place::Place;
use super::plan::RequestPlan;
use crate::engine::Options;
use crate::error::ReplayError;
use crate::perform::Buffer;
use crate::rebuild::Content;
use io_uring::{IoUring, opcode, squeue, types};
use seekwell_trace::{Operation, RequestFlags};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The last time before a request is due that is spent awake.
const AWAKE_NS: u64 = 100_000;
/// Longest wait before a look at the caller's stop.
const PATIENCE_NS: u64 = 50_000_000;
/// Number of a flush before a write; its own end is of no interest.
const PREFLUSH: u64 = u64::MAX;
/// Piece of [`fill`].
const PIECE: u64 = 1 << 20;
/// Bytes of content that a buffer repeats.
const CONTENT: usize = 1 << 16;

/// A block device through a ring.
struct Ring {
    ring: IoUring,
    file: types::Fd,
    /// Data of writes, and target of reads that no one looks at.
    source: *const u8,
    target: *mut u8,
    began: Instant,
    awake: bool,
    /// True where the device discards through the ring: block devices of Linux 6.12 and newer that discard at all.
    discards: bool,
}

/// `BLOCK_URING_CMD_DISCARD` of `linux/blkdev.h`.
const DISCARD: u32 = 0x12 << 8;

fn discard(file: types::Fd, offset: u64, bytes: u64) -> squeue::Entry {
    let mut length = [0; 16];
    length[..8].copy_from_slice(&bytes.to_ne_bytes());
    opcode::UringCmd16::new(file, DISCARD).addr(Some(offset)).cmd(length).build()
}

impl Ring {
    /// Learns how the device discards: of one that does, a discard of no bytes is another error.
    fn learn_discards(&mut self) -> io::Result<()> {
        let entry = discard(self.file, 0, 0);
        self.push(&entry);
        self.ring.submit_and_wait(1)?;
        let result = self.ring.completion().next().map(|entry| entry.result());
        self.discards = result == Some(-libc::EINVAL);
        Ok(())
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: file and memory outlive the ring, and every length is at most that of the memory.
        let pushed = unsafe { self.ring.submission().push(entry) };
        // The ring has two entries for each number.
        debug_assert!(pushed.is_ok(), "more entries than the ring has");
    }
}

impl Device for Ring {
    fn now_ns(&mut self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn queue(&mut self, number: u32, request: &Placed) {
        let bytes = u32::try_from(request.bytes).unwrap_or(u32::MAX);
        let entry = match request.operation {
            Operation::Read => {
                opcode::Read::new(self.file, self.target, bytes).offset(request.offset).build()
            }
            Operation::Write => {
                if request.flags.has(RequestFlags::PREFLUSH) {
                    let flush = opcode::Fsync::new(self.file).build();
                    self.push(&flush.flags(squeue::Flags::IO_LINK).user_data(PREFLUSH));
                }
                let fua = request.flags.has(RequestFlags::FUA);
                let flags = if fua { libc::RWF_DSYNC } else { 0 };
                let write = opcode::Write::new(self.file, self.source, bytes);
                write.offset(request.offset).rw_flags(flags).build()
            }
            Operation::Discard if self.discards => {
                discard(self.file, request.offset, request.bytes)
            }
            // Of a file a hole; a block device writes zeroes, if it can do so without data.
            Operation::Discard => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                let discard = opcode::Fallocate::new(self.file, request.bytes);
                discard.offset(request.offset).mode(mode).build()
            }
            Operation::Flush => opcode::Fsync::new(self.file).build(),
            Operation::Other => opcode::Nop::new().build(),
        };
        self.push(&entry.user_data(number.into()));
    }

    fn submit(&mut self) -> io::Result<()> {
        while !self.ring.submission().is_empty() {
            match self.ring.submit() {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        let left_ns = until_ns.map(|until_ns| until_ns.saturating_sub(self.now_ns()));
        let awake_ns = if self.awake { AWAKE_NS } else { 0 };
        if left_ns.is_some_and(|left_ns| left_ns <= awake_ns) {
            std::hint::spin_loop();
            return Ok(());
        }
        let sleep_ns = left_ns.map_or(PATIENCE_NS, |left| (left - awake_ns).min(PATIENCE_NS));
        let time = types::Timespec::new()
            .sec(sleep_ns / 1_000_000_000)
            .nsec((sleep_ns % 1_000_000_000) as u32);
        let arguments = types::SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }

    fn completion(&mut self) -> Option<(u32, i32)> {
        loop {
            let entry = self.ring.completion().next()?;
            if entry.user_data() != PREFLUSH {
                return Some((entry.user_data() as u32, entry.result()));
            }
        }
    }
}

/// Issues the requests of a plan to a device that was opened for direct I/O.
///
/// # Errors
/// When there is no io_uring. A request that fails is counted, not an error.
pub fn replay_requests(
    plan: &RequestPlan,
    place: &Place,
    device: &File,
    path: &Path,
    options: &Options,
) -> Result<RequestsReplayed, ReplayError> {
    let work = || {
        crate::engine::fine_sleep();
        let length = longest(plan, place);
        // Given back only when nothing is in flight any more: the kernel reads and writes it.
        let buffer = |content: Content| Buffer::filled(length, &content.piece(CONTENT));
        let source = ManuallyDrop::new(buffer(options.content));
        let target = ManuallyDrop::new(buffer(Content::Zeros));
        let ring = IoUring::new(MOST_IN_FLIGHT as u32 * 2)?;
        let mut ring = Ring {
            ring,
            file: types::Fd(device.as_raw_fd()),
            source: source.address().cast::<u8>(),
            target: target.address().cast::<u8>(),
            began: Instant::now(),
            awake: options.awake,
            discards: false,
        };
        if plan.recorded().discards > 0 {
            ring.learn_discards()?;
        }
        let stopped = || options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let mut replayed = Issue::new(plan, place, options.speed, &mut ring).run(stopped)?;
        replayed.zeroed = if ring.discards { 0 } else { plan.recorded().discards };
        drop((ManuallyDrop::into_inner(source), ManuallyDrop::into_inner(target)));
        replayed.cpu_ns = crate::engine::cpu_ns();
        Ok(replayed)
    };
    // A thread of its own: its CPU time is that of the replay.
    let joined = std::thread::scope(|scope| scope.spawn(work).join());
    joined.map_err(|_| ReplayError::Panicked)?.map_err(|source: io::Error| ReplayError::Io {
        what: "issue requests through io_uring to",
        path: path.to_owned(),
        source,
    })
}

/// Longest read or write after rounding.
fn longest(plan: &RequestPlan, place: &Place) -> usize {
    let longest = plan.recorded().longest_bytes;
    // An offset that is no whole sector makes it longer at both ends.
    let rounded = place.of(0, longest).1 + 2 * place.of(0, 1).1;
    usize::try_from(rounded).unwrap_or(usize::MAX / 2)
}

/// Writes every MiB that the plan reads or writes: a device answers reads of blocks that were never
/// written without looking. Returns the bytes.
///
/// # Errors
/// When the device cannot be written.
pub fn fill(
    plan: &RequestPlan,
    place: &Place,
    device: &File,
    path: &Path,
    content: Content,
    stop: Option<&AtomicBool>,
) -> Result<u64, ReplayError> {
    let mut touched = BTreeSet::new();
    for request in &plan.all {
        if matches!(request.operation, Operation::Read | Operation::Write) && request.bytes > 0 {
            let (offset, bytes) = place.of(request.offset, request.bytes);
            touched.extend(offset / PIECE..=(offset + bytes - 1) / PIECE);
        }
    }
    let memory = Buffer::filled(PIECE as usize, &content.piece(CONTENT));
    let write = || -> io::Result<u64> {
        let mut written = 0;
        for piece in touched {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break;
            }
            let length = place.room(piece * PIECE).min(PIECE);
            device.write_all_at(&memory.bytes()[..length as usize], piece * PIECE)?;
            written += length;
        }
        device.sync_data()?;
        Ok(written)
    };
    write().map_err(ReplayError::io("fill", path))
}

#[cfg(test)]
mod tests;
