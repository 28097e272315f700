//! The amount of work of a trial: enough to compare, and no more than the time allows.

use seekwell_model::record::Record;
use seekwell_model::units::Nanos;
use seekwell_model::workloads::is_housekeeping;

#[cfg(test)]
mod tests;

/// Rounds that a run of the given time has room for: with six a large difference is found, with
/// more a smaller one.
const ROUNDS: u64 = 10;

/// Rounds before which no run decides.
const FEWEST_ROUNDS: u64 = 6;

/// A judged step lasts this long at least, where there is time: interrupts, timer ticks and
/// write-back are a small share of it.
const ENOUGH_NS: u64 = 500_000_000;

/// The amounts of work that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Amount of the brief first trial, and the least that is chosen.
    pub brief: u64,
    /// The most.
    pub most: u64,
}

/// Times of a brief trial, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The whole trial.
    pub trial_ns: u64,
    /// All steps of the workload; they grow with the amount.
    pub work_ns: u64,
    /// The judged step.
    pub step_ns: u64,
}

impl Seen {
    /// Times of a trial whose judged step has this name.
    #[must_use]
    pub fn of(record: &Record, judged: &str) -> Self {
        let took = |name: &dyn Fn(&str) -> bool| -> u64 {
            let steps = record.steps.iter().filter(|step| name(&step.name));
            steps.map(|step| step.ended_ns.saturating_sub(step.started_ns)).sum()
        };
        Self {
            trial_ns: record.elapsed_ns,
            work_ns: took(&|name| !is_housekeeping(name)),
            step_ns: took(&|name| name == judged),
        }
    }

    /// Time of a trial that does not grow with its work.
    fn beside_ns(&self) -> u64 {
        self.trial_ns.saturating_sub(self.work_ns)
    }
}

impl Amounts {
    /// The amount that decides soonest: the judged step lasts as long as everything outside the
    /// work, and half a second at least. A shorter one spends the time on mkfs and mounts, a longer
    /// one on fewer rounds. All of it leaves room for ten rounds of `stacks` stacks in `time`.
    #[must_use]
    pub fn choose(&self, seen: &Seen, stacks: u64, time: Nanos) -> u64 {
        let beside_ns = seen.beside_ns();
        let longest_ns = time.0 / (stacks.max(1) * ROUNDS);
        let times = |of_ns: u64, step_ns: u64| of_ns as f64 / step_ns.max(1) as f64;
        let wanted = times(beside_ns.max(ENOUGH_NS), seen.step_ns);
        let fitting = times(longest_ns.saturating_sub(beside_ns), seen.work_ns);
        let amount = (self.brief as f64 * wanted.min(fitting)) as u64;
        amount.clamp(self.brief, self.most.max(self.brief))
    }

    /// The least time of a run with this amount: six rounds.
    #[must_use]
    pub fn least_time(&self, seen: &Seen, stacks: u64, amount: u64) -> Nanos {
        let work_ns = seen.work_ns as f64 * (amount as f64 / self.brief.max(1) as f64);
        let trial_ns = seen.beside_ns().saturating_add(work_ns as u64);
        Nanos(trial_ns.saturating_mul(stacks.max(1) * FEWEST_ROUNDS))
    }
}
