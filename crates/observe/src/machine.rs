//! State of the machine's memory and pressure, read without allocation.

/// Dirty page cache and page cache under write-back, of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// `Dirty` of `/proc/meminfo` in bytes.
    pub dirty_bytes: Option<u64>,
    /// `Writeback` of `/proc/meminfo` in bytes.
    pub writeback_bytes: Option<u64>,
}

impl MemoryState {
    /// Reads the content of `/proc/meminfo`. What is not there is absent.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut state = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            if let Some(value) = line.strip_prefix(b"Dirty:") {
                state.dirty_bytes = kib(value);
            } else if let Some(value) = line.strip_prefix(b"Writeback:") {
                state.writeback_bytes = kib(value);
            }
        }
        state
    }
}

/// `    1234 kB` in bytes.
fn kib(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let number: u64 = text.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    number.checked_mul(1024)
}

/// Use of some CPUs since boot, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processors {
    /// `user`, `nice` and `steal` of `/proc/stat`: programs, and other guests of the hypervisor. Time inside the kernel
    /// is not among it, where much is work for the programs that wait.
    pub programs: u64,
    /// All time, idle time included.
    pub all: u64,
}

impl Processors {
    /// Reads the lines of these CPUs from the content of `/proc/stat`; `None` if one is not there, or there are none.
    #[must_use]
    pub fn parse(text: &[u8], cpus: &[u32]) -> Option<Self> {
        let lines: Option<Vec<Self>> = cpus.iter().map(|cpu| Self::of_cpu(text, *cpu)).collect();
        let add = |sum: Self, one: Self| Self {
            programs: sum.programs + one.programs,
            all: sum.all + one.all,
        };
        lines
            .filter(|lines| !lines.is_empty())
            .map(|lines| lines.into_iter().fold(Self::default(), add))
    }

    fn of_cpu(text: &[u8], cpu: u32) -> Option<Self> {
        let name = format!("cpu{cpu} ");
        let mut lines = text.split(|byte| *byte == b'\n');
        let words = lines.find_map(|line| line.strip_prefix(name.as_bytes()))?;
        let words = std::str::from_utf8(words).ok()?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice already.
        let ticks: Vec<u64> =
            words.split_ascii_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let [user, nice, _, _, _, _, _, steal] = ticks[..] else { return None };
        Some(Self { programs: user + nice + steal, all: ticks.iter().sum() })
    }

    /// Share of the CPUs that others than a program with so much user time used since an earlier reading, in percent.
    /// `None` when no tick passed or a counter was reset.
    #[must_use]
    pub fn others_percent(self, earlier: Self, own_ticks: f64) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)? as f64;
        let programs = self.programs.checked_sub(earlier.programs)? as f64;
        Some((100.0 * (programs - own_ticks) / all).clamp(0.0, 100.0))
    }
}

/// Stall times since boot, `some` line of `/proc/pressure/*`, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PressureTotals {
    /// Tasks waiting for I/O.
    pub io_us: Option<u64>,
    /// Tasks waiting for a CPU.
    pub cpu_us: Option<u64>,
    /// Tasks waiting for memory.
    pub memory_us: Option<u64>,
}

impl PressureTotals {
    /// `total=` of the `some` line in µs.
    #[must_use]
    pub fn parse_total(text: &[u8]) -> Option<u64> {
        let line = text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"some "))?;
        let total =
            line.split(|byte| *byte == b' ').find_map(|word| word.strip_prefix(b"total="))?;
        std::str::from_utf8(total).ok()?.parse().ok()
    }

    /// Share of an interval that was stalled, in percent: the cumulative total is exact at every
    /// reading, while the averages in the same file lag by ten seconds and more. `None` when either end
    /// is absent, the interval is empty, or the counter was reset.
    #[must_use]
    pub fn percent(before: Option<u64>, after: Option<u64>, interval_ns: u64) -> Option<f64> {
        let stalled_us = after?.checked_sub(before?)?;
        (interval_ns > 0).then(|| stalled_us as f64 * 1e3 / interval_ns as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests;
