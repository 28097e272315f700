//! The tests on one large file.

use super::{Found, arena, open};
use crate::error::WorkloadError;
use crate::step::StepContext;
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;
use seekwell_engine::buffer::Aligned;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::BonnieParams;
use seekwell_stats::{derive_seed, seeded};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of so many seeks one writes back what it read.
const SEEKS_PER_WRITE: u64 = 10;

/// Number of characters between two checks of the stop flag.
const LOOK_EVERY: u64 = 4096;

fn failed<'a>(action: &'static str, path: &'a Path) -> impl Fn(Errno) -> WorkloadError + use<'a> {
    move |errno| WorkloadError::file(action, path)(errno)
}

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

fn sync_and_close(file: OwnedFd, path: &Path) -> Result<(), WorkloadError> {
    rustix::fs::fsync(&file).map_err(failed("sync", path))?;
    drop(file);
    Ok(())
}

pub(super) fn put_characters(
    path: &Path,
    size: Bytes,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let file = open(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
    let mut found = Found::default();
    for position in 0..size.0 {
        if position % LOOK_EVERY == 0 && context.is_stopped() {
            found.stopped = true;
            break;
        }
        found.time(|| write(&file, &[position as u8 & 0x7f])).map_err(failed("write to", path))?;
        found.written += 1;
    }
    sync_and_close(file, path)?;
    Ok(found)
}

pub(super) fn get_characters(
    path: &Path,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let file = open(path, OFlags::RDWR)?;
    let mut found = Found::default();
    let mut sum = 0_u64;
    loop {
        if found.read % LOOK_EVERY == 0 && context.is_stopped() {
            found.stopped = true;
            break;
        }
        let mut byte = [0];
        if !found.time(|| read(&file, &mut byte)).map_err(failed("read", path))? {
            found.ops -= 1;
            break;
        }
        sum = sum.wrapping_add(u64::from(byte[0]));
        found.read += 1;
    }
    // What is read must be used, or it could be left out.
    std::hint::black_box(sum);
    sync_and_close(file, path)?;
    Ok(found)
}

fn buffer(params: &BonnieParams) -> Aligned {
    Aligned::zeroed(params.chunk.0)
}

pub(super) fn put_blocks(
    path: &Path,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let mut data = arena(params.chunk.0, params, context.seed, path)?;
    let file = open(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
    let mut found = Found::default();
    for _ in 0..params.size.0 / params.chunk.0 {
        if context.is_stopped() {
            found.stopped = true;
            break;
        }
        let block = data.block();
        found.time(|| write(&file, block)).map_err(failed("write to", path))?;
        found.written += params.chunk.0;
    }
    sync_and_close(file, path)?;
    Ok(found)
}

pub(super) fn rewrite(
    path: &Path,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let mut buffer = buffer(params);
    let file = open(path, OFlags::RDWR)?;
    let back = -i64::try_from(params.chunk.0).unwrap_or(i64::MAX);
    let mut found = Found::default();
    for block in 0..params.size.0 / params.chunk.0 {
        if context.is_stopped() {
            found.stopped = true;
            break;
        }
        let whole = found.time(|| {
            let whole = read(&file, &mut buffer).map_err(failed("read", path))?;
            let place = block as usize % buffer.len();
            buffer[place] = buffer[place].wrapping_add(1);
            rustix::fs::seek(&file, SeekFrom::Current(back)).map_err(failed("seek in", path))?;
            write(&file, &buffer).map_err(failed("write to", path))?;
            Ok::<bool, WorkloadError>(whole)
        })?;
        if !whole {
            return Err(failed("read", path)(Errno::IO));
        }
        // Counted once, as bonnie++ does: what is read and written is the same data.
        found.written += params.chunk.0;
    }
    sync_and_close(file, path)?;
    Ok(found)
}

pub(super) fn get_blocks(
    path: &Path,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let mut buffer = buffer(params);
    let file = open(path, OFlags::RDWR)?;
    let mut found = Found::default();
    for _ in 0..params.size.0 / params.chunk.0 {
        if context.is_stopped() {
            found.stopped = true;
            break;
        }
        if !found.time(|| read(&file, &mut buffer)).map_err(failed("read", path))? {
            return Err(failed("read", path)(Errno::IO));
        }
        std::hint::black_box(&buffer);
        found.read += params.chunk.0;
    }
    sync_and_close(file, path)?;
    Ok(found)
}

/// Seekers share what is left to do; each has a descriptor and so a position of its own.
pub(super) fn seeks(
    path: &Path,
    params: &BonnieParams,
    context: &StepContext<'_>,
) -> Result<Found, WorkloadError> {
    let taken = AtomicU64::new(0);
    let seeker = |number: u32| {
        let cpu_before_ns = thread_cpu_ns();
        let mut found = seek(path, params, context, number, &taken)?;
        found.other_cpu_ns = thread_cpu_ns().saturating_sub(cpu_before_ns);
        Ok::<Found, WorkloadError>(found)
    };
    let mut all = Found::default();
    std::thread::scope(|scope| {
        let seeker = &seeker;
        let threads: Vec<_> =
            (0..params.seekers).map(|number| scope.spawn(move || seeker(number))).collect();
        // All are waited for, also when one failed.
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
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

fn seek(
    path: &Path,
    params: &BonnieParams,
    context: &StepContext<'_>,
    number: u32,
    taken: &AtomicU64,
) -> Result<Found, WorkloadError> {
    let mut buffer = buffer(params);
    let mut rng = seeded(derive_seed(context.seed, &format!("bonnie seeker {number}")));
    let file = open(path, OFlags::RDWR)?;
    let blocks = params.size.0 / params.chunk.0;
    let mut found = Found::default();
    loop {
        let turn = taken.fetch_add(1, Ordering::Relaxed);
        if turn >= params.seeks {
            break;
        }
        if context.is_stopped() {
            found.stopped = true;
            break;
        }
        let offset =
            rng.index(usize::try_from(blocks).unwrap_or(usize::MAX)) as u64 * params.chunk.0;
        let writes = turn.is_multiple_of(SEEKS_PER_WRITE);
        found.time(|| {
            rustix::fs::seek(&file, SeekFrom::Start(offset)).map_err(failed("seek in", path))?;
            read(&file, &mut buffer).map_err(failed("read", path))?;
            if writes {
                let place = turn as usize % buffer.len();
                buffer[place] = buffer[place].wrapping_add(1);
                rustix::fs::seek(&file, SeekFrom::Start(offset))
                    .map_err(failed("seek in", path))?;
                write(&file, &buffer).map_err(failed("write to", path))?;
            }
            Ok::<(), WorkloadError>(())
        })?;
        found.read += params.chunk.0;
        if writes {
            found.written += params.chunk.0;
        }
    }
    sync_and_close(file, path)?;
    Ok(found)
}
