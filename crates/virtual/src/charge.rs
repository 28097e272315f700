//! CPU time to charge in virtual time, measured on the machine that runs this program.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::machine::{CpuCharge, WorkCharge};

mod work;

pub use work::{KERNEL_LOG, WorkTime, charge_of, measure_work};

#[cfg(test)]
mod tests;

/// Batches of each measurement, of which the fastest counts: other processes only add time.
const BATCHES: u32 = 50;

/// System calls of a batch.
const CALLS: u32 = 2_000;

/// Bytes of a copy: far more than a call's own cost, and still inside a CPU's cache as the blocks of
/// a program that reads or writes are.
const COPY_BYTES: usize = 256 << 10;

/// Copies of a batch.
const COPIES: u32 = 20;

impl fmt::Display for CpuCharge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{},{}", self.syscall_ns, self.copy_ns_per_kib)?;
        let charged = self.work.named().into_iter().filter(|(_, ns)| *ns > 0);
        charged.into_iter().try_for_each(|(name, ns)| write!(formatter, ",{name}={ns}"))
    }
}

/// As [`CpuCharge`] is shown: `SYSCALL_NS,COPY_NS_PER_KIB`, then `WORK=NS_PER_KIB` for the work of layers.
impl FromStr for CpuCharge {
    /// The text that cannot be read, and the remedy.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let (Some(call), Some(copy)) = (parts.next(), parts.next()) else {
            return Err(format!(
                "'{text}' is not a CPU charge; write NANOSECONDS PER CALL,NANOSECONDS PER KIB, for example 300,40"
            ));
        };
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|error| {
                format!(
                    "'{text}' is not a number of nanoseconds: {error}; write for example 300,40"
                )
            })
        };
        let mut work = WorkCharge::default();
        for part in parts {
            let (name, ns) = part.split_once('=').unwrap_or((part, ""));
            let ns = number(ns)?;
            *work.value_mut(name.trim()).ok_or_else(|| {
                format!(
                    "'{part}' is not the work of a layer; write cipher, hash, parity, compress or decompress, for example 300,40,cipher=400"
                )
            })? = ns;
        }
        Ok(Self { syscall_ns: number(call)?, copy_ns_per_kib: number(copy)?, work })
    }
}

/// Measures what a system call of a file and a copied KiB cost this machine's CPU: reads and writes of
/// a file in memory, short and long. Takes less than a second. The work of layers is measured by
/// [`measure_work`].
///
/// # Errors
///
/// The system's error for a file in memory.
pub fn measure() -> io::Result<CpuCharge> {
    let file = File::from(memfd_create(c"seekwell-calibrate", MemfdFlags::CLOEXEC)?);
    let mut buffer = vec![1_u8; COPY_BYTES];
    file.write_all_at(&buffer, 0)?;
    let call = fastest(CALLS, || {
        file.read_exact_at(&mut buffer[..1], 0)?;
        file.write_all_at(&buffer[..1], 0)
    })? / 2;
    let copy = fastest(COPIES, || {
        file.read_exact_at(&mut buffer, 0)?;
        file.write_all_at(&buffer, 0)
    })? / 2;
    let kib = (COPY_BYTES / 1024) as u128;
    let per_kib = copy.saturating_sub(call).as_nanos() / kib;
    let whole = |nanoseconds: u128| u32::try_from(nanoseconds).unwrap_or(u32::MAX);
    Ok(CpuCharge {
        syscall_ns: whole(call.as_nanos()),
        copy_ns_per_kib: whole(per_kib),
        work: WorkCharge::default(),
    })
}

/// Time of one `work` in the fastest batch of so many.
fn fastest(count: u32, mut work: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..BATCHES {
        let begun = Instant::now();
        for _ in 0..count {
            work()?;
        }
        least = least.min(begun.elapsed());
    }
    Ok(least / count)
}
