//! One thread of a replay.

use super::computing::Computing;
use super::debt::Debt;
use super::gate::Gate;
use super::progress::Progress;
use super::tally::{CLASSES, Durations, Kept, Tally};
use super::{Options, STACK_BYTES, Speed};
use crate::action::Action;
use crate::encode::Operation;
use crate::fidelity::Difference;
use crate::jail;
use crate::lanes::Operations;
use crate::perform::{Buffer, NotOpen, Performer};
use crate::plan::Plan;
use crate::planner::class;
use crate::slot::Slot;
use crate::{attributes, cloned};
use rustix::io::Errno;
use seekwell_trace::calls::CallId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(super) mod crew;

/// Longest time before a call that is spent awake where the recorded thread slept: threads that are
/// awake hold others up.
const MOST_AWAKE: Duration = Duration::from_micros(100);

/// Longest time before a call that is spent awake where the recording does not tell if the thread
/// slept or computed.
const MOST_UNKNOWN: Duration = Duration::from_millis(1);

/// Sleeps that are tried to learn how late they end.
const TRIED_SLEEPS: usize = 16;
const TRIED_SLEEP: Duration = Duration::from_micros(50);

/// Longest sleep before a look at the caller's stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Things that the threads of a replay share.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a Plan,
    pub(super) options: &'a Options,
    pub(super) slots: &'a [Slot],
    pub(super) data: &'a Buffer,
    pub(super) progress: Vec<Progress>,
    pub(super) start: Gate,
    /// Verb and cause of the first failure.
    pub(super) failed: Mutex<Option<(&'static str, Errno)>>,
    pub(super) began: OnceLock<Instant>,
    /// Time before a call that is spent awake, since a sleep would end late.
    pub(super) awake: Duration,
    /// Time of each call that is the engine's own.
    pub(super) own: Duration,
    pub(super) durations: &'a Durations,
    /// Free bytes of the filesystem when they became too few; until then [`NOT_FILLING`].
    pub(super) filling: AtomicU64,
}

/// Value of [`Shared::filling`] while there is room.
pub(super) const NOT_FILLING: u64 = u64::MAX;

impl Shared<'_> {
    fn stopped(&self) -> bool {
        self.filling.load(Ordering::Relaxed) != NOT_FILLING
            || self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    pub(super) fn fail(&self, what: &'static str, errno: Errno) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert((what, errno));
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Lets the others run when a thread ends, also by a panic.
struct Ends<'a>(&'a Progress);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs the operations of a lane.
pub(super) fn run(shared: &Shared<'_>, lane: usize) -> Tally {
    let _ends = Ends(&shared.progress[lane]);
    if let Err(errno) = jail::give_up_rights() {
        shared.fail("enter", errno);
    }
    fine_sleep();
    let mut work = Work::new(shared, lane);
    if !shared.start.pass() || shared.has_failed() {
        return Tally::default();
    }
    work.begin();
    let mut is_handed_on = work.until_renewed();
    while is_handed_on {
        // btrfs and others treat the calls of one thread unlike those of several.
        let next = std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let thread = builder.spawn_scoped(scope, || work.until_renewed());
            thread.map(std::thread::ScopedJoinHandle::join)
        });
        is_handed_on = match next {
            Ok(Ok(next)) => next,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
                shared.fail("make a thread for", errno);
                false
            }
        };
    }
    work.finish()
}

/// The work of a lane: that of one recorded thread after the other.
struct Work<'a> {
    lane: usize,
    began: Instant,
    runner: Runner<'a>,
    operations: Operations<'a>,
    /// The next one, once the thread before has ended.
    operation: Operation,
    number: u64,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Shared<'a>, lane: usize) -> Self {
        let plan = shared.plan;
        Self {
            lane,
            began: Instant::now(),
            runner: Runner::new(shared),
            operations: Operations::of(&plan.lanes[lane], plan.spilled.as_ref()),
            operation: Operation::default(),
            number: 0,
        }
    }

    /// Begins, as every other lane now.
    fn begin(&mut self) {
        self.began = *self.runner.shared.began.get_or_init(Instant::now);
        (self.runner.last_end, self.runner.worked_until) = (self.began, self.began);
    }

    /// Says that the operation is over.
    fn publish(&mut self) {
        self.number += 1;
        let done_ns = nanoseconds(self.runner.last_end - self.began);
        self.runner.shared.progress[self.lane].publish(self.number, done_ns);
    }

    fn finish(self) -> Tally {
        self.runner.finish(self.began, self.number)
    }

    /// Runs the operations of a recorded thread; true when another thread has more.
    fn until_renewed(&mut self) -> bool {
        let shared = self.runner.shared;
        // The thread before read the first operation of this one.
        let mut is_read = self.operation.renews;
        let is_more = loop {
            if !is_read && !self.next() {
                break false;
            }
            if self.operation.renews && !is_read {
                break true;
            }
            is_read = false;
            self.runner.one(&self.operation, self.began);
            self.publish();
            if shared.stopped() {
                self.runner.result.stopped = true;
                break false;
            }
        };
        self.runner.result.cpu_ns += cpu_ns();
        is_more
    }

    /// Reads the next operation; false at the end.
    fn next(&mut self) -> bool {
        match self.operations.next(&mut self.operation) {
            Ok(is_there) => is_there,
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                self.runner.shared.fail("read the plan of the replay in", errno);
                false
            }
        }
    }
}

/// Time that this thread had a processor.
pub(crate) fn cpu_ns() -> u64 {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    (cpu.tv_sec * 1_000_000_000 + cpu.tv_nsec).unsigned_abs()
}

/// Sleeps end within microseconds, not within the usual 50.
pub(crate) fn fine_sleep() {
    // SAFETY: PR_SET_TIMERSLACK takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}

/// Time by which sleeps of this machine end late, at most [`MOST_AWAKE`].
pub(super) fn oversleeps() -> Duration {
    fine_sleep();
    let mut late = [Duration::ZERO; TRIED_SLEEPS];
    for late in &mut late {
        let start = Instant::now();
        std::thread::sleep(TRIED_SLEEP);
        *late = start.elapsed().saturating_sub(TRIED_SLEEP);
    }
    late.sort_unstable();
    late[TRIED_SLEEPS * 3 / 4].min(MOST_AWAKE)
}

/// A pause before an operation.
struct Pause {
    /// Its end.
    due: Instant,
    /// The last part of it, in which the thread computes.
    computing: Duration,
}

/// The moment at which an operation is due.
#[derive(Clone, Copy)]
struct Due {
    /// That of the recording: lateness counts from here.
    planned: Instant,
    /// Later, when others had the processor while the thread was to compute: as the program's, its next
    /// pause begins then.
    moved: Instant,
}

impl Due {
    /// The later one of a due time and the end of what an operation comes after.
    fn later(due: Option<Self>, over: Option<Instant>) -> Option<Self> {
        let (Some(due), Some(over)) = (due, over) else {
            return due.or(over.map(|over| Self { planned: over, moved: over }));
        };
        Some(Self { planned: due.planned.max(over), moved: due.moved.max(over) })
    }
}

/// A call that was issued.
#[derive(Clone, Copy)]
struct Issued {
    planned: Instant,
    start: Instant,
}

struct Runner<'a> {
    shared: &'a Shared<'a>,
    performer: Performer<'a>,
    durations: Kept<'a>,
    classes: Vec<usize>,
    result: Tally,
    last_end: Instant,
    /// End of the last call, or of what the thread computed after it: a thread that only sleeps is not
    /// at work.
    worked_until: Instant,
    /// Lateness of operations without a call since the last call, which is as much later.
    behind: Duration,
    debt: Debt,
}

impl<'a> Runner<'a> {
    fn new(shared: &'a Shared<'a>) -> Self {
        let calls = (0_u16..).take(seekwell_trace::calls::CALLS.len()).map(CallId);
        let at = |call| CLASSES.iter().position(|name| *name == class(call)).unwrap_or(3);
        let mut performer = Performer::new(shared.slots, &shared.plan.paths, shared.data);
        performer.buffer = Buffer::of_one_of(shared.plan.lanes.len());
        performer.stop = shared.options.stop.as_deref();
        Self {
            shared,
            performer,
            durations: Kept::new(shared.durations),
            classes: calls.map(at).collect(),
            result: Tally::default(),
            last_end: Instant::now(),
            worked_until: Instant::now(),
            behind: Duration::ZERO,
            debt: Debt::default(),
        }
    }

    /// Waits for the operation's turn and its time, issues it and compares the result.
    fn one(&mut self, operation: &Operation, began: Instant) {
        self.performer.detach(operation);
        let due = self.turn(operation, began);
        if self.shared.stopped() {
            return;
        }
        if self.passes_by(operation, due) {
            return;
        }
        let issued = self.issues(due);
        let done = self.performer.perform(operation);
        self.ended(operation, &issued, done);
    }

    /// Ends the pause of an operation that makes no call; false for those that make one.
    fn passes_by(&mut self, operation: &Operation, due: Option<Due>) -> bool {
        if operation.action == Action::Order {
            // The moment itself, not that of waking up: what follows would begin that much later.
            self.passes(due);
            let slept = Duration::from_nanos(operation.wait_ns);
            let worked = self.last_end.checked_sub(slept).unwrap_or(self.last_end);
            self.worked_until = self.worked_until.max(worked);
            return true;
        }
        if self.performer.has_cloned(operation) {
            self.passes(due);
            self.result.spared += u64::from(!operation.added);
            return true;
        }
        false
    }

    /// Notes the start of a call; without a due time it was due at once.
    fn issues(&mut self, due: Option<Due>) -> Issued {
        let start = if due.is_some() { Instant::now() } else { self.now() };
        let due = due.unwrap_or(Due { planned: self.last_end, moved: self.last_end });
        if is_recorded(self.shared.options) {
            // The engine's own time before an operation that was due then.
            self.debt.late(start.saturating_duration_since(due.moved));
        }
        Issued { planned: due.planned, start }
    }

    /// Counts a call that has just ended.
    fn ended(&mut self, operation: &Operation, issued: &Issued, done: Result<i64, NotOpen>) {
        let (end, start) = (Instant::now(), issued.start);
        self.last_end = end;
        if operation.action == Action::Map {
            // The recorded time until the next call holds that of the page faults: what reading the
            // pages takes is part of it and not added.
            self.performer.unmap();
        }
        if operation.added {
            return;
        }
        self.worked_until = end;
        self.late(issued.planned, start);
        let Ok(done) = done else {
            self.result.not_open += 1;
            return;
        };
        self.result.issued += 1;
        let class = self.classes.get(usize::from(operation.call.0)).copied().unwrap_or(3);
        let inside = (end - start).saturating_sub(self.shared.own);
        if is_recorded(self.shared.options) {
            self.debt.own(self.shared.own);
        }
        if operation.action != Action::Touch || !self.debt.touched(inside) {
            let inside_ns = nanoseconds(inside);
            self.result.inside_ns += inside_ns;
            self.durations.call(class, inside_ns);
        }
        self.compare(operation, class, done);
    }

    /// Ends the pause of an operation that makes no call.
    fn passes(&mut self, due: Option<Due>) {
        let Some(due) = due else { return };
        self.behind += due.moved - due.planned;
        self.last_end = self.last_end.max(due.moved);
    }

    /// Notes by how much a call began late. As fast as possible, none is due before it begins.
    fn late(&mut self, planned: Instant, start: Instant) {
        let behind = std::mem::take(&mut self.behind);
        if self.shared.options.speed != Speed::AsFastAsPossible {
            let late = start.saturating_duration_since(planned) + behind;
            self.durations.late(nanoseconds(late));
        }
    }

    /// Waits for the operations that this one comes after, and for its time, which it returns.
    fn turn(&mut self, operation: &Operation, began: Instant) -> Option<Due> {
        if operation.pauses_first && is_recorded(self.shared.options) {
            let due = self.due(operation, began).map(|pause| self.spend(&pause));
            let over = self.others(operation, began);
            self.waited_until(over, due.map_or(self.last_end, |due| due.moved));
            return Due::later(due, over);
        }
        if let Some(over) = self.others(operation, began) {
            self.waited_until(Some(over), self.last_end);
            self.last_end = self.last_end.max(over);
        }
        self.due(operation, began).map(|pause| self.spend(&pause))
    }

    /// Takes what was owed out of the time in which the thread waited for others: it held nothing up.
    fn waited_until(&mut self, over: Option<Instant>, ready: Instant) {
        if let Some(over) = over {
            self.debt.pay(over.saturating_duration_since(ready));
        }
    }

    /// Waits for the operations of other lanes that this one comes after. Returns the time at which
    /// they were over, which is before this thread woke up, or looked; `None` when it comes after none.
    fn others(&self, operation: &Operation, began: Instant) -> Option<Instant> {
        let mut over = None;
        for (lane, number) in &operation.after {
            let Some(other) = self.shared.progress.get(*lane as usize) else { continue };
            let end_ns = other.wait(*number, || self.shared.stopped());
            over = over.max(Some(began + Duration::from_nanos(end_ns)));
        }
        over
    }

    /// The pause before the operation; `None` when it is to begin at once.
    fn due(&mut self, operation: &Operation, began: Instant) -> Option<Pause> {
        match self.shared.options.speed {
            Speed::AsFastAsPossible => None,
            Speed::Recorded(_) if operation.think_ns == 0 && operation.wait_ns == 0 => None,
            Speed::Recorded(factor) => {
                let wait = Duration::from_nanos(operation.wait_ns);
                let computing = self.debt.pay(scaled(operation.think_ns, factor));
                let pause = wait + computing;
                let computing = computing.saturating_sub(scaled(operation.beside_ns, factor));
                // In a guest to be due at once and to look at the clock would be to be late.
                let is_due = self.shared.options.awake || !pause.is_zero();
                is_due.then(|| Pause { due: self.last_end + pause, computing })
            }
            Speed::Open(factor) => {
                let since = operation.start_ns.saturating_sub(self.shared.plan.first_ns);
                Some(Pause { due: began + scaled(since, factor), computing: Duration::ZERO })
            }
        }
    }

    /// Sleeps, then computes up to the end of the pause, which it returns.
    fn spend(&mut self, pause: &Pause) -> Due {
        let known = self.shared.plan.tells_computing;
        let moved = match self.shared.options.awake {
            true => self.spend_awake(pause, known),
            false => self.spend_in_guest(pause),
        };
        Due { planned: pause.due, moved }
    }

    /// Computes by being awake, later than planned when others have the processor.
    fn spend_awake(&mut self, pause: &Pause, known: bool) -> Instant {
        let most = if known { pause.computing } else { pause.computing.min(MOST_UNKNOWN) };
        let mut now = Instant::now();
        if !self.sleep(pause.due, self.shared.awake.max(most), &mut now) {
            return pause.due;
        }
        let computing = if known { pause.computing } else { Duration::ZERO };
        let mut own = Computing::begin(pause.due, computing, now);
        let awake = now;
        while !own.is_over(now) && !self.shared.stopped() {
            std::hint::spin_loop();
            now = Instant::now();
        }
        self.result.awake_ns += nanoseconds(now - awake);
        own.end()
    }

    /// Computes by sleeping. Threads of a guest do not take turns: what is left of a pause is not computing
    /// alone, and a parent that waits for its child in a call that is not repeated would be slept twice.
    fn spend_in_guest(&self, pause: &Pause) -> Instant {
        self.sleep(pause.due, Duration::ZERO, &mut self.now());
        pause.due
    }

    /// Sleeps until less than `awake` is left; false when the replay was stopped. Asleep to the end, it does not look
    /// at the clock.
    fn sleep(&self, until: Instant, awake: Duration, now: &mut Instant) -> bool {
        while let left = until.saturating_duration_since(*now)
            && left > awake
        {
            if self.shared.stopped() {
                return false;
            }
            let sleep = (left - awake).min(LONGEST_SLEEP);
            std::thread::sleep(sleep);
            if sleep == left {
                break;
            }
            *now = Instant::now();
        }
        true
    }

    /// The time, which in a guest is that of the last operation's end: a look at the clock takes as
    /// long as a call there.
    fn now(&self) -> Instant {
        if self.shared.options.awake { Instant::now() } else { self.last_end }
    }

    fn compare(&mut self, operation: &Operation, class: usize, done: i64) {
        let moved = u64::try_from(done).unwrap_or(0);
        match class {
            0 => self.result.bytes_read += moved,
            1 => self.result.bytes_written += moved,
            _ => {}
        }
        if operation.action == Action::CloneFile {
            self.result.bytes_written += self.performer.take_copied_bytes();
            if cloned::is_other(operation.expected, done) {
                self.result.cloned_otherwise += 1;
                return;
            }
        }
        let Some(difference) = difference(operation, done) else { return };
        *self.result.differences.entry(difference).or_default() += 1;
    }

    fn finish(mut self, began: Instant, number: u64) -> Tally {
        self.result.overhead_ns = nanoseconds(self.debt.left());
        if number > 0 {
            self.result.elapsed_ns =
                nanoseconds(self.worked_until.saturating_duration_since(began));
        }
        self.result
    }
}

/// True when the recorded pauses are kept.
fn is_recorded(options: &Options) -> bool {
    matches!(options.speed, Speed::Recorded(_))
}

fn scaled(ns: u64, factor: f64) -> Duration {
    Duration::from_secs_f64((ns as f64 * factor / 1e9).max(0.0))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The difference between the recorded result and that of the replay. Numbers of bytes and positions
/// must be equal, of other calls success or the error.
fn difference(operation: &Operation, done: i64) -> Option<Difference> {
    let exact = matches!(
        operation.action,
        Action::Read
            | Action::ReadAt
            | Action::Write
            | Action::WriteAt
            | Action::Send
            | Action::Seek
            | Action::ReadLink
    );
    let expected = operation.expected;
    let asks = matches!(operation.action, Action::GetAttribute | Action::GetAttributeOpen);
    if asks && attributes::is_other(expected, done) {
        return None;
    }
    let both = expected >= 0 && done >= 0;
    if expected == done || (both && !exact) {
        return None;
    }
    // Two successes with another number are told from an error by 0 and 1.
    let (recorded, replayed) = (expected.min(0), if both { 1 } else { done.min(0) });
    Some(Difference { call: operation.call, recorded, replayed })
}
