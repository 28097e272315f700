//! A thread that submits to an io_uring: its calls and the operations that it submitted, each lane in its own order,
//! as entries of one ring.

use super::{Due, Ends, Issued, LONGEST_SLEEP, MOST_UNKNOWN, Pause, Shared, Work, cpu_ns};
use super::{fine_sleep, is_recorded, nanoseconds};
use crate::engine::computing::Computing;
use crate::engine::tally::Tally;
use crate::jail;
use crate::perform::NotOpen;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsRawFd as _, OwnedFd};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Entries of a ring: one for each lane that a plan makes for operations, and the waker.
const ENTRIES: u32 = 512;

/// Number of the waker's entry; those of operations are numbers of members.
const WAKER: u64 = u64::MAX;

/// The ring of a crew.
pub(in crate::engine) struct Ring {
    ring: IoUring,
    /// Written to by other threads once an operation is over that one of the crew comes after.
    waker: Arc<OwnedFd>,
    /// Operations that were submitted and are not over.
    in_flight: usize,
}

impl Ring {
    /// # Errors
    /// A kernel without io_uring, with io_uring switched off, or older than 5.11, which cannot wait until a time.
    pub(in crate::engine) fn new() -> io::Result<Self> {
        let ring = IoUring::new(ENTRIES)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let waker = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut ring = Self { ring, waker, in_flight: 0 };
        ring.watch();
        Ok(ring)
    }

    /// Ends the next wait once another thread writes to the waker.
    fn watch(&mut self) {
        let poll = opcode::PollAdd::new(types::Fd(self.waker.as_raw_fd()), libc::POLLIN as u32);
        self.push(&poll.build().user_data(WAKER));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: an operation's memory is its member's, which outlives the ring and does nothing else meanwhile.
        let pushed = unsafe { self.ring.submission().push(entry) };
        debug_assert!(pushed.is_ok(), "more entries than the ring has");
    }

    /// Submits what was pushed, and waits until an operation is over, the waker is written to, or `until`.
    fn submit(&mut self, until: Option<Instant>) -> io::Result<()> {
        let done = match until {
            None => self.ring.submit(),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP);
                let time = types::Timespec::from(left);
                let arguments = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
        let passes = |error: &io::Error| {
            error.kind() == io::ErrorKind::Interrupted
                || matches!(error.raw_os_error(), Some(libc::ETIME | libc::EBUSY))
        };
        match done {
            Err(error) if !passes(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Number of a member whose operation is over, and the operation's result.
    fn completion(&mut self) -> Option<(usize, i64)> {
        loop {
            let entry = self.ring.completion().next()?;
            if entry.user_data() != WAKER {
                self.in_flight -= 1;
                return Some((entry.user_data() as usize, entry.result().into()));
            }
            // Its number does not matter.
            let _ = rustix::io::read(&*self.waker, &mut [0_u8; 8]);
            self.watch();
        }
    }
}

impl Drop for Ring {
    /// The kernel reads and writes the members' memory until their operations are over.
    fn drop(&mut self) {
        while self.in_flight > 0 {
            let _ = self.submit(Some(Instant::now() + LONGEST_SLEEP));
            while self.completion().is_some() {}
        }
    }
}

/// Stage of a member's next operation.
enum State {
    /// It was not looked at.
    Next,
    /// It comes after operations of others. Its own pause is over, or follows.
    Held(Option<Due>),
    /// It pauses, perhaps after others that were over then.
    Pauses { pause: Option<Pause>, own: Option<Computing>, first: bool },
    /// Its time has come.
    Ready(Option<Due>),
    /// It is in the ring.
    Submitted(Issued),
    /// There is none.
    Over,
}

/// A lane of a crew.
struct Member<'a> {
    work: Work<'a>,
    state: State,
    /// True for operations that the crew's thread submitted: what passes between them is that thread's time.
    is_submitted: bool,
}

/// Things that the members share.
struct Crew<'a> {
    shared: &'a Shared<'a>,
    /// By lane, true for those of the crew.
    own: Vec<bool>,
}

impl Crew<'_> {
    /// End of the operations that this one comes after: `Some(None)` when it comes after none, `None` while one of
    /// them is not over.
    fn others(&self, work: &Work<'_>, ring: &Ring) -> Option<Option<Instant>> {
        let mut over = None;
        for (lane, number) in &work.operation.after {
            let lane = *lane as usize;
            let Some(other) = self.shared.progress.get(lane) else { continue };
            // No one wakes the thread that does the work itself.
            let waker = (!self.own[lane]).then_some(&ring.waker);
            let end_ns = other.reached(*number, waker)?;
            over = over.max(Some(work.began + Duration::from_nanos(end_ns)));
        }
        Some(over)
    }
}

impl<'a> Member<'a> {
    fn new(shared: &'a Shared<'a>, lane: usize, is_submitted: bool) -> Self {
        Self { work: Work::new(shared, lane), state: State::Next, is_submitted }
    }

    /// Takes one step without waiting; false when there is none to take.
    fn step(&mut self, number: usize, crew: &Crew<'_>, ring: &mut Ring) -> bool {
        let recorded = is_recorded(crew.shared.options);
        let next = match &mut self.state {
            State::Over | State::Submitted(_) => return false,
            State::Next if !self.work.next() => State::Over,
            State::Next => {
                self.work.runner.performer.detach(&self.work.operation);
                match self.work.operation.pauses_first && recorded {
                    true => self.pause(true),
                    false => State::Held(None),
                }
            }
            State::Held(due) => {
                let Some(over) = crew.others(&self.work, ring) else { return false };
                let due = *due;
                if self.work.operation.pauses_first && recorded {
                    State::Ready(Due::later(due, over))
                } else {
                    let runner = &mut self.work.runner;
                    runner.last_end = runner.last_end.max(over.unwrap_or(runner.last_end));
                    self.pause(false)
                }
            }
            State::Pauses { pause, own, first } => {
                let due = match pause {
                    None => None,
                    Some(pause) => match over(crew.shared, pause, own) {
                        None => return false,
                        due => due,
                    },
                };
                if *first { State::Held(due) } else { State::Ready(due) }
            }
            State::Ready(due) => {
                let due = *due;
                self.issue(number, due, ring)
            }
        };
        if matches!(next, State::Over) {
            crew.shared.progress[self.work.lane].end();
        }
        self.state = next;
        true
    }

    /// The pause before the operation.
    fn pause(&mut self, first: bool) -> State {
        let mut pause = self.work.runner.due(&self.work.operation, self.work.began);
        if self.is_submitted
            && let Some(pause) = &mut pause
        {
            pause.computing = Duration::ZERO;
        }
        State::Pauses { pause, own: None, first }
    }

    /// Submits the operation, or makes its call.
    fn issue(&mut self, number: usize, due: Option<Due>, ring: &mut Ring) -> State {
        let Work { runner, operation, .. } = &mut self.work;
        if runner.passes_by(operation, due) {
            self.work.publish();
            return State::Next;
        }
        let issued = runner.issues(due);
        let done = match self.is_submitted.then(|| runner.performer.entry(operation)) {
            Some(Ok(Some(entry))) => {
                ring.push(&entry.user_data(number as u64));
                ring.in_flight += 1;
                return State::Submitted(issued);
            }
            Some(Err(NotOpen)) => Err(NotOpen),
            Some(Ok(None)) | None => runner.performer.perform(operation),
        };
        runner.ended(operation, &issued, done);
        self.work.publish();
        State::Next
    }

    /// Takes in the result of its operation.
    fn completed(&mut self, result: i64) {
        let State::Submitted(issued) = self.state else { return };
        self.work.runner.ended(&self.work.operation, &issued, Ok(result));
        self.work.publish();
        self.state = State::Next;
    }

    /// The time at which its pause wants to be looked at; the past while it computes.
    fn wants(&self, shared: &Shared<'_>) -> Option<Instant> {
        let State::Pauses { pause: Some(pause), .. } = &self.state else { return None };
        pause.due.checked_sub(awake(shared, pause))
    }
}

/// The last part of a pause that is spent awake.
fn awake(shared: &Shared<'_>, pause: &Pause) -> Duration {
    if !shared.options.awake {
        return Duration::ZERO;
    }
    let known = shared.plan.tells_computing;
    let computing = if known { pause.computing } else { pause.computing.min(MOST_UNKNOWN) };
    shared.awake.max(computing)
}

/// The end of a pause that is over.
fn over(shared: &Shared<'_>, pause: &Pause, own: &mut Option<Computing>) -> Option<Due> {
    let now = Instant::now();
    if pause.due.saturating_duration_since(now) > awake(shared, pause) {
        return None;
    }
    let computes = shared.options.awake && shared.plan.tells_computing;
    let computing = if computes { pause.computing } else { Duration::ZERO };
    let own = own.get_or_insert_with(|| Computing::begin(pause.due, computing, now));
    own.is_over(now).then(|| Due { planned: pause.due, moved: own.end() })
}

/// Runs these lanes, the first of which submitted the operations of the others.
pub(in crate::engine) fn run(shared: &Shared<'_>, lanes: &[usize], ring: Ring) -> Vec<Tally> {
    let _ends: Vec<Ends<'_>> = lanes.iter().map(|lane| Ends(&shared.progress[*lane])).collect();
    if let Err(errno) = jail::give_up_rights() {
        shared.fail("enter", errno);
    }
    fine_sleep();
    let mut own = vec![false; shared.progress.len()];
    lanes.iter().for_each(|lane| own[*lane] = true);
    let crew = Crew { shared, own };
    let members = lanes.iter().zip(0..);
    let mut members: Vec<Member<'_>> =
        members.map(|(lane, nth)| Member::new(shared, *lane, nth > 0)).collect();
    if !shared.start.pass() || shared.has_failed() {
        return Vec::new();
    }
    members.iter_mut().for_each(|member| member.work.begin());
    // After the members: it ends before them.
    let mut ring = ring;
    if let Err(error) = work(&crew, &mut members, &mut ring) {
        let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
        shared.fail("submit to an io_uring for", errno);
    }
    drop(ring);
    members[0].work.runner.result.cpu_ns += cpu_ns();
    members.into_iter().map(|member| member.work.finish()).collect()
}

fn work(crew: &Crew<'_>, members: &mut [Member<'_>], ring: &mut Ring) -> io::Result<()> {
    loop {
        let mut went_on = false;
        for (number, member) in members.iter_mut().enumerate() {
            while member.step(number, crew, ring) {
                went_on = true;
                // One operation, then the others: some may have ended meanwhile.
                if matches!(member.state, State::Next) {
                    break;
                }
            }
        }
        if crew.shared.stopped() {
            members[0].work.runner.result.stopped = true;
            return Ok(());
        }
        if members.iter().all(|member| matches!(member.state, State::Over)) {
            return Ok(());
        }
        let started = Instant::now();
        let wants = members.iter().filter_map(|member| member.wants(crew.shared)).min();
        let until = wants.unwrap_or(started + LONGEST_SLEEP);
        let is_awake = !went_on && until <= started && crew.shared.options.awake;
        // A submission is a call; one of nothing is left out.
        if !ring.ring.submission().is_empty() || (!went_on && !is_awake) {
            ring.submit((!went_on).then_some(until))?;
        }
        while let Some((number, result)) = ring.completion() {
            members[number].completed(result);
        }
        if is_awake {
            std::hint::spin_loop();
            members[0].work.runner.result.awake_ns += nanoseconds(started.elapsed());
        }
    }
}
