//! Time in which a load is active: at least one of its threads computes, or is in a call that can reach files.

use super::ratio;
use super::spans::Spans;
use seekwell_trace::Event;

/// Spans kept for a union: 16 MiB.
const SPANS: usize = 1 << 20;

/// Share of the time between the first and the last row from which on a load pauses.
const PAUSES: f64 = 0.05;

/// Shortest wait for a CPU that is counted: a shorter pause is the recorder's own work or a wake-up.
const LEAST_READY_NS: u64 = 100_000;

/// Time that threads computed between their calls.
pub(super) struct Active {
    computing: Spans,
    /// Time in which a thread was ready to run and others had the CPUs.
    ready: Spans,
    /// Start of the first row and end of the last.
    rows: Option<(u64, u64)>,
    /// Rows with known computing, less those without that are not the first of their thread.
    known: i64,
}

/// Times of a load, nanoseconds; together they are its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) active_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) unrecorded_ns: u64,
}

impl Active {
    pub(super) fn new() -> Self {
        Self { computing: Spans::new(SPANS), ready: Spans::new(SPANS), rows: None, known: 0 }
    }

    /// Adds a row. `since_ns` is the end of the last row of its thread, `None` for the first one;
    /// `woken_by_silent` when a thread without a row so far ended the sleep before it: that one may have
    /// computed.
    pub(super) fn add(&mut self, event: &Event, since_ns: Option<u64>, woken_by_silent: bool) {
        let end_ns = event.end_ns();
        let rows = self.rows.get_or_insert((event.start_ns, end_ns));
        *rows = (rows.0.min(event.start_ns), rows.1.max(end_ns));
        let Some(cpu_ns) = event.cpu_ns else {
            self.known -= i64::from(since_ns.is_some());
            return;
        };
        self.known += 1;
        // Of a poll it is the time since earlier calls too.
        let awaited_ns = event.awaited_ns.unwrap_or(0).min(event.waited_ns.unwrap_or(u64::MAX));
        let awaited_ns = if woken_by_silent { awaited_ns } else { 0 };
        // Where in its pause it computed is not known; a thread that is woken computes at the end.
        let ready_ns = ready_ns(event, since_ns);
        let span_ns = cpu_ns.saturating_add(awaited_ns).saturating_add(ready_ns);
        let from_ns = event.start_ns.saturating_sub(span_ns);
        if span_ns > 0 {
            self.computing.add(from_ns, event.start_ns);
        }
        if ready_ns > 0 {
            self.ready.add(from_ns, from_ns.saturating_add(ready_ns));
        }
    }

    /// Time in which at least one thread was ready to run and others had the CPUs.
    pub(super) fn ready_ns(&self) -> u64 {
        self.ready.length()
    }

    /// Time asleep in a page fault of a mapped file.
    pub(super) fn asleep(&mut self, event: &Event) {
        self.computing.add(event.start_ns, event.end_ns());
    }

    /// The times of a load of this length with these calls in progress. Without computing times, or when page
    /// faults that were not recorded may have waited (`may_fault`), no time is known to be idle. That before the
    /// first row and after the last one is taken for idle when the load pauses between its rows, for active when it
    /// does not: it may compute until its end.
    pub(super) fn times(
        &self,
        duration_ns: u64,
        unrecorded: &[(u64, u64)],
        in_progress: &Spans,
        may_fault: bool,
    ) -> Times {
        let gaps = unrecorded.iter().map(|(from, to)| to.saturating_sub(*from));
        let unrecorded_ns = gaps.fold(0, u64::saturating_add).min(duration_ns);
        let recorded_ns = duration_ns - unrecorded_ns;
        if self.known <= 0 || may_fault {
            return Times { active_ns: recorded_ns, idle_ns: 0, unrecorded_ns };
        }
        let active_ns = in_progress.joined(&self.computing).length().min(recorded_ns);
        let (first_ns, last_ns) = self.rows.unwrap_or((0, duration_ns));
        let inside_ns =
            last_ns.saturating_sub(first_ns).saturating_sub(unrecorded_ns).min(recorded_ns);
        let pauses = ratio(inside_ns.saturating_sub(active_ns), inside_ns) >= PAUSES;
        let edges_ns = if pauses { 0 } else { recorded_ns - inside_ns };
        let active_ns = active_ns.saturating_add(edges_ns).min(recorded_ns);
        Times { active_ns, idle_ns: recorded_ns - active_ns, unrecorded_ns }
    }
}

/// Time since the last row of a thread in which it neither computed nor slept.
fn ready_ns(event: &Event, since_ns: Option<u64>) -> u64 {
    let (Some(since_ns), Some(cpu_ns), Some(waited_ns)) = (since_ns, event.cpu_ns, event.waited_ns)
    else {
        return 0;
    };
    let pause_ns = event.start_ns.saturating_sub(since_ns);
    let ready_ns = pause_ns.saturating_sub(cpu_ns.saturating_add(waited_ns));
    if ready_ns >= LEAST_READY_NS { ready_ns } else { 0 }
}

#[cfg(test)]
mod tests;
