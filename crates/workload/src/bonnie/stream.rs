//! The tests on one large file.

use super::{Found, arena, open};
use crate::error::WorkloadError;
use crate::step::StepContext;
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;
use seekwell_engine::buffer::Aligned;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_model::workloads::BonnieParams;
use seekwell_stats::{derive_seed, seeded};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of so many seeks one writes back what it read.
const SEEKS_PER_WRITE: u64 = 10;

/// Number of characters between two checks of the stop flag.
const LOOK_EVERY: u64 = 4096;

/// Writes all of a buffer in one operation.
fn write(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    match rustix::io::retry_on_intr(|| rustix::io::write(file, bytes)) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::NOSPC),
        Err(errno) => Err(errno),
    }
}

/// Fills a buffer in one operation; `false` at the end of the file.
fn read(file: &OwnedFd, bytes: &mut [u8]) -> Result<bool, Errno> {
    match rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *bytes)) {
        Ok(read) if read == bytes.len() => Ok(true),
        Ok(0) => Ok(false),
        Ok(_) => Err(Errno::IO),
        Err(errno) => Err(errno),
    }
}

/// A large file, and the test on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream<'a> {
    pub(super) path: &'a Path,
    pub(super) params: &'a BonnieParams,
    pub(super) context: &'a StepContext<'a>,
}

impl<'a> Stream<'a> {
    fn failed(self, action: &'static str) -> impl Fn(Errno) -> WorkloadError + use<'a> {
        move |errno| WorkloadError::file(action, self.path)(errno)
    }

    fn buffer(self) -> Aligned {
        Aligned::zeroed(self.params.chunk.0)
    }

    /// Calls `work` with the open file `times` times or until the step is stopped, then syncs it.
    fn repeat(
        self,
        flags: OFlags,
        times: u64,
        mut work: impl FnMut(&OwnedFd, u64, &mut Found) -> Result<(), WorkloadError>,
    ) -> Result<Found, WorkloadError> {
        let file = open(self.path, OFlags::RDWR | flags)?;
        let mut found = Found::default();
        for turn in 0..times {
            if self.context.is_stopped() {
                found.stopped = true;
                break;
            }
            work(&file, turn, &mut found)?;
        }
        rustix::fs::fsync(&file).map_err(self.failed("sync"))?;
        Ok(found)
    }

    fn blocks(self) -> u64 {
        self.params.size.0 / self.params.chunk.0
    }

    pub(super) fn put_characters(self) -> Result<Found, WorkloadError> {
        let size = self.params.char_size.0;
        let create = OFlags::CREATE | OFlags::EXCL;
        self.repeat(create, size.div_ceil(LOOK_EVERY), |file, turn, found| {
            for position in turn * LOOK_EVERY..size.min((turn + 1) * LOOK_EVERY) {
                found
                    .time(|| write(file, &[position as u8 & 0x7f]))
                    .map_err(self.failed("write to"))?;
                found.written += 1;
            }
            Ok(())
        })
    }

    pub(super) fn get_characters(self) -> Result<Found, WorkloadError> {
        let file = open(self.path, OFlags::RDWR)?;
        let mut found = Found::default();
        let mut sum = 0_u64;
        loop {
            if found.read % LOOK_EVERY == 0 && self.context.is_stopped() {
                found.stopped = true;
                break;
            }
            let mut byte = [0];
            if !found.time(|| read(&file, &mut byte)).map_err(self.failed("read"))? {
                found.ops -= 1;
                break;
            }
            sum = sum.wrapping_add(u64::from(byte[0]));
            found.read += 1;
        }
        // What is read must be used, or it could be left out.
        std::hint::black_box(sum);
        rustix::fs::fsync(&file).map_err(self.failed("sync"))?;
        Ok(found)
    }

    pub(super) fn put_blocks(self) -> Result<Found, WorkloadError> {
        let mut data = arena(self.params.chunk.0, self.params, self.context.seed, self.path)?;
        let create = OFlags::CREATE | OFlags::EXCL;
        self.repeat(create, self.blocks(), |file, _, found| {
            let block = data.block();
            found.time(|| write(file, block)).map_err(self.failed("write to"))?;
            found.written += self.params.chunk.0;
            Ok(())
        })
    }

    pub(super) fn rewrite(self) -> Result<Found, WorkloadError> {
        let mut buffer = self.buffer();
        let back = -i64::try_from(self.params.chunk.0).unwrap_or(i64::MAX);
        self.repeat(OFlags::empty(), self.blocks(), |file, block, found| {
            let whole = found.time(|| {
                let whole = read(file, &mut buffer).map_err(self.failed("read"))?;
                let place = block as usize % buffer.len();
                buffer[place] = buffer[place].wrapping_add(1);
                rustix::fs::seek(file, SeekFrom::Current(back)).map_err(self.failed("seek in"))?;
                write(file, &buffer).map_err(self.failed("write to"))?;
                Ok::<bool, WorkloadError>(whole)
            })?;
            if !whole {
                return Err(self.failed("read")(Errno::IO));
            }
            // Counted once, as bonnie++ does: what is read and written is the same data.
            found.written += self.params.chunk.0;
            Ok(())
        })
    }

    pub(super) fn get_blocks(self) -> Result<Found, WorkloadError> {
        let mut buffer = self.buffer();
        self.repeat(OFlags::empty(), self.blocks(), |file, _, found| {
            if !found.time(|| read(file, &mut buffer)).map_err(self.failed("read"))? {
                return Err(self.failed("read")(Errno::IO));
            }
            std::hint::black_box(&buffer);
            found.read += self.params.chunk.0;
            Ok(())
        })
    }

    /// Seekers share what is left to do; each has a descriptor and so a position of its own.
    pub(super) fn seeks(self) -> Result<Found, WorkloadError> {
        let taken = AtomicU64::new(0);
        let seeker = |number: u32| {
            let cpu_before_ns = thread_cpu_ns();
            let mut found = self.seek(number, &taken)?;
            found.other_cpu_ns = thread_cpu_ns().saturating_sub(cpu_before_ns);
            Ok::<Found, WorkloadError>(found)
        };
        let mut all = Found::default();
        std::thread::scope(|scope| {
            let seeker = &seeker;
            let threads: Vec<_> = (0..self.params.seekers)
                .map(|number| scope.spawn(move || seeker(number)))
                .collect();
            // All are waited for, also when one failed.
            let ended: Vec<_> =
                threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            for found in ended {
                let found = found.map_err(|_| WorkloadError::Panicked)??;
                all.ops += found.ops;
                all.read += found.read;
                all.written += found.written;
                all.latencies.merge(&found.latencies);
                all.other_cpu_ns += found.other_cpu_ns;
                all.stopped |= found.stopped;
            }
            Ok(all)
        })
    }

    fn seek(self, number: u32, taken: &AtomicU64) -> Result<Found, WorkloadError> {
        let mut buffer = self.buffer();
        let label = format!("bonnie seeker {number}");
        let mut rng = seeded(derive_seed(self.context.seed, &label));
        let file = open(self.path, OFlags::RDWR)?;
        let blocks = usize::try_from(self.blocks()).unwrap_or(usize::MAX);
        let mut found = Found::default();
        loop {
            let turn = taken.fetch_add(1, Ordering::Relaxed);
            if turn >= self.params.seeks {
                break;
            }
            if self.context.is_stopped() {
                found.stopped = true;
                break;
            }
            let to = SeekFrom::Start(rng.index(blocks) as u64 * self.params.chunk.0);
            let writes = turn.is_multiple_of(SEEKS_PER_WRITE);
            found.time(|| {
                rustix::fs::seek(&file, to).map_err(self.failed("seek in"))?;
                read(&file, &mut buffer).map_err(self.failed("read"))?;
                if writes {
                    let place = turn as usize % buffer.len();
                    buffer[place] = buffer[place].wrapping_add(1);
                    rustix::fs::seek(&file, to).map_err(self.failed("seek in"))?;
                    write(&file, &buffer).map_err(self.failed("write to"))?;
                }
                Ok::<(), WorkloadError>(())
            })?;
            found.read += self.params.chunk.0;
            if writes {
                found.written += self.params.chunk.0;
            }
        }
        rustix::fs::fsync(&file).map_err(self.failed("sync"))?;
        Ok(found)
    }
}
