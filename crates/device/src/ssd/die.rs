//! One die: what it works on, what waits for it, and what was suspended.

use std::collections::VecDeque;

use crate::volatile::Pieces;

#[cfg(test)]
mod tests;

/// A page to read for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) id: u64,
    /// Sectors that leave the die.
    pub(super) from_die: u64,
    /// Sectors of them that the host asked for.
    pub(super) sectors: u64,
    /// Time the cells need.
    pub(super) cells_ns: u64,
}

/// A stripe to program, with the collecting that comes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programming {
    pub(super) units: Vec<u32>,
    pub(super) pieces: Pieces,
    /// Sectors that go to the die.
    pub(super) sectors: u64,
    /// Time the cells need.
    pub(super) cells_ns: u64,
}

/// Current operation of a die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Read(Reading),
    Program(Programming),
}

#[derive(Clone, Debug)]
struct Running {
    work: Work,
    end_ns: u64,
    suspensions: u32,
}

/// A program that waits until no read is left.
#[derive(Clone, Debug)]
struct Suspended {
    programming: Programming,
    left_ns: u64,
    suspensions: u32,
}

/// A die. Reads go first.
#[derive(Clone, Debug, Default)]
pub(super) struct Die {
    running: Option<Running>,
    suspended: Option<Suspended>,
    /// Those that wait.
    pub(super) reads: VecDeque<Reading>,
    pub(super) waiting: VecDeque<Programming>,
}

/// Rules of suspending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspension {
    /// Time until the cells can be read; `None` when it cannot be done.
    pub(super) after_ns: Option<u64>,
    pub(super) most: u32,
}

impl Die {
    /// Returns true if no program is running, suspended or waiting.
    pub(super) fn takes_program(&self) -> bool {
        let programs = matches!(&self.running, Some(Running { work: Work::Program(_), .. }));
        !programs && self.suspended.is_none() && self.waiting.is_empty()
    }

    /// Returns the end of the current operation.
    pub(super) fn end_ns(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.end_ns)
    }

    /// Ends the work that is due at `now_ns`.
    pub(super) fn finish(&mut self, now_ns: u64) -> Option<Work> {
        self.running.take_if(|running| running.end_ns <= now_ns).map(|running| running.work)
    }

    /// Makes way for waiting reads, if the program now running can be suspended and has longer to go than that takes.
    /// Says when the cells can be read.
    pub(super) fn suspend(&mut self, now_ns: u64, how: Suspension) -> Option<u64> {
        let after_ns = how.after_ns.filter(|_| !self.reads.is_empty())?;
        let worth = |running: &mut Running| {
            let left_ns = running.end_ns.saturating_sub(now_ns);
            matches!(running.work, Work::Program(_))
                && running.suspensions < how.most
                && left_ns > after_ns
        };
        let Running { work, end_ns, suspensions } = self.running.take_if(worth)?;
        if let Work::Program(programming) = work {
            let left_ns = end_ns - now_ns;
            self.suspended = Some(Suspended { programming, left_ns, suspensions: suspensions + 1 });
        }
        Some(now_ns + after_ns)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none()
    }

    /// Resumes the suspended operation; returns false if there is none.
    pub(super) fn resume(&mut self, now_ns: u64) -> bool {
        let Some(Suspended { programming, left_ns, suspensions }) = self.suspended.take() else {
            return false;
        };
        self.running = Some(Running {
            work: Work::Program(programming),
            end_ns: now_ns + left_ns,
            suspensions,
        });
        true
    }

    pub(super) fn run(&mut self, work: Work, end_ns: u64) {
        self.running = Some(Running { work, end_ns, suspensions: 0 });
    }

    /// Everything that is being programmed or waits for it.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Programming> {
        let running = self.running.iter().filter_map(|running| match &running.work {
            Work::Program(programming) => Some(programming),
            Work::Read(_) => None,
        });
        let suspended = self.suspended.iter().map(|suspended| &suspended.programming);
        running.chain(suspended).chain(&self.waiting)
    }
}
