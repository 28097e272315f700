//! Other programs on the CPUs of a trial.

use seekwell_observe::machine::Processors;

/// A reading at the start of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    /// Content of `/proc/stat`: the CPUs of the trial are chosen later.
    stat: Vec<u8>,
    own_user_ns: u64,
}

impl Others {
    /// The state now; `None` when the kernel does not say.
    pub(crate) fn now() -> Option<Self> {
        let stat = std::fs::read("/proc/stat").ok()?;
        cpu_ns().map(|[own_user_ns, _]| Self { stat, own_user_ns })
    }

    /// Share of these CPUs that other programs used since this reading, in percent. The trial's own programs are taken
    /// to have run on them alone.
    pub(crate) fn percent_since(&self, cpus: &[u32]) -> Option<f64> {
        let now = Self::now()?;
        let own_ns = now.own_user_ns.saturating_sub(self.own_user_ns);
        let own_ticks = own_ns as f64 / 1e9 * ticks_per_second()?;
        let (before, after) =
            (Processors::parse(&self.stat, cpus)?, Processors::parse(&now.stat, cpus)?);
        after.others_percent(before, own_ticks)
    }
}

fn ticks_per_second() -> Option<f64> {
    // SAFETY: sysconf takes no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    (ticks > 0).then_some(ticks as f64)
}

/// CPU time of this process and of its children that were waited for: in programs, and in the kernel.
pub(crate) fn cpu_ns() -> Option<[u64; 2]> {
    let (own, children) = (usage(libc::RUSAGE_SELF)?, usage(libc::RUSAGE_CHILDREN)?);
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Some([ns(own.ru_utime) + ns(children.ru_utime), ns(own.ru_stime) + ns(children.ru_stime)])
}

/// Resources that this process or its children used.
fn usage(who: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: rusage is plain data for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage for the kernel to fill.
    (unsafe { libc::getrusage(who, &raw mut usage) } == 0).then_some(usage)
}

#[cfg(test)]
mod tests;
