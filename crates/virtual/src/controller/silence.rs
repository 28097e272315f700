//! A guest that has the token and sends nothing: busy, spinning or hung.

use std::time::Duration;

use super::halt::Halt;
use crate::end::End;
use crate::process::CpuTicks;

#[cfg(test)]
mod tests;

/// Ticks per second of the CPU times in `/proc` (`USER_HZ`, fixed by the kernel's interface).
const TICKS_PER_SECOND: u64 = 100;

/// A silent guest that has the token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    first: CpuTicks,
    last: CpuTicks,
    /// Looks in a row at which no CPU had been used.
    idle_looks: u32,
}

/// Looks without any CPU use after which a silent guest counts as hung: 60 seconds.
const MOST_IDLE_LOOKS: u32 = 240;

impl Silence {
    pub(super) fn new(used: CpuTicks) -> Self {
        Self { first: used, last: used, idle_looks: 0 }
    }

    /// Takes another look at the CPU time used.
    pub(super) fn judge(&mut self, used: CpuTicks, limit: Duration) -> Result<(), Halt> {
        let kernel = used.kernel.saturating_sub(self.first.kernel);
        let programs = used.programs.saturating_sub(self.first.programs);
        let ticks = kernel + programs;
        if ticks > limit.as_secs().saturating_mul(TICKS_PER_SECOND) {
            return Err(Halt::Ended(match programs > kernel {
                true => End::ProgramSpins(ticks),
                false => End::KernelSpins(ticks),
            }));
        }
        self.idle_looks = if used == self.last { self.idle_looks + 1 } else { 0 };
        self.last = used;
        // Silent and idle although it has the clock, which the protocol does not allow.
        if self.idle_looks > MOST_IDLE_LOOKS { Err(Halt::Ended(End::Stuck)) } else { Ok(()) }
    }
}
