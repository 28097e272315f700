//! Processes and threads of a trace: their lanes, and the order in which they begin and end.

use super::Planner;
use super::flights::Flights;
use crate::action::Action;
use crate::error::ReplayError;
use crate::lanes::Lane;
use crate::order::Stamp;
use crate::plan::Reason;
use seekwell_trace::{Event, FileId, ProcessEntry};
use std::collections::HashMap;

/// Lanes that are made before those of threads that have ended are used again.
const FRESH_LANES: usize = 64;

/// Longest time that a thread computes in a call that waits for others, nanoseconds.
const SHORT_NS: u64 = 20_000;

/// First reading of a trace: the number of calls of each thread and process.
#[derive(Debug, Default)]
pub(super) struct Survey {
    threads: HashMap<(u32, u32), u64>,
    processes: HashMap<u32, u64>,
}

impl Survey {
    pub(super) fn add(&mut self, event: &Event) {
        *self.threads.entry((event.process, event.thread)).or_default() += 1;
        *self.processes.entry(event.process).or_default() += 1;
    }
}

#[derive(Debug, Default)]
struct Process {
    parent: Option<u32>,
    /// Its start; `None` for one from before the trace, and where the trace does not tell.
    start_ns: Option<u64>,
    begun: bool,
    /// Its last operation.
    last: Option<Stamp>,
    /// Children that have ended and that it has made no call since.
    ended: Vec<Stamp>,
}

#[derive(Debug, Default)]
struct Thread {
    lane: u32,
    /// End of its last operation; of a new thread, of the operation that made it.
    ready_ns: Option<u64>,
    begun: bool,
    /// True once a call of it was planned.
    works: bool,
    /// Sleeps before calls that were not planned, which no other thread ended, since its last operation.
    naps: u32,
    /// End of its last call, planned or not.
    last_end_ns: Option<u64>,
    pause: Pause,
}

/// Time of a thread between its planned calls that it did not compute in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pause {
    /// It was ready, and others ran: the recorder among them.
    pub(super) stalled_ns: u64,
    /// It was asleep.
    pub(super) waited_ns: u64,
    /// It was asleep, and the thread that it waited for computed.
    pub(super) beside_ns: u64,
}

/// Processes and threads of a trace.
#[derive(Debug, Default)]
pub(super) struct Processes {
    survey: Survey,
    processes: HashMap<u32, Process>,
    threads: HashMap<(u32, u32), Thread>,
    /// Last operations of processes before they made threads which have not made a call yet, and the start of the call
    /// that made them.
    makers: HashMap<u32, (Stamp, u64)>,
    free: Vec<u32>,
    /// Handles without descriptors, to be closed after the call of their thread.
    dropped: Vec<usize>,
    /// Last writes to each pipe and socket.
    channels: HashMap<FileId, Vec<Stamp>>,
}

/// Time since then in which the thread of a call was ready and others ran.
fn stalled_ns(event: &Event, since_ns: u64) -> u64 {
    let (Some(cpu_ns), Some(waited_ns)) = (event.cpu_ns, event.waited_ns) else { return 0 };
    event.start_ns.saturating_sub(since_ns).saturating_sub(cpu_ns.saturating_add(waited_ns))
}

impl Processes {
    pub(super) fn new(entries: Vec<ProcessEntry>, survey: Survey) -> Self {
        let mut processes: HashMap<u32, Process> = HashMap::new();
        for entry in entries {
            let process = processes.entry(entry.process).or_default();
            process.parent = process.parent.or(entry.parent).filter(|one| *one != entry.process);
            process.start_ns = process.start_ns.or(Some(entry.start_ns).filter(|ns| *ns > 0));
        }
        Self { survey, processes, ..Self::default() }
    }

    pub(super) fn parent(&self, process: u32) -> Option<u32> {
        self.processes.get(&process)?.parent
    }

    /// True when no call of the process was planned yet; only the first time.
    pub(super) fn begins(&mut self, process: u32) -> bool {
        !std::mem::replace(&mut self.processes.entry(process).or_default().begun, true)
    }

    /// Adds the operations that this call comes after as part of its thread and process.
    pub(super) fn begin(&mut self, event: &Event, needs: &mut Vec<Stamp>) {
        let key = (event.process, event.thread);
        let is_new = self.threads.get(&key).is_some_and(|thread| !thread.begun);
        if is_new {
            let own = self.processes.get(&event.process).and_then(|process| process.last);
            // Operations overlap.
            let own = own.filter(|one| one.end_ns <= event.start_ns);
            let parent = self.parent(event.process).and_then(|one| self.processes.get(&one)?.last);
            let (made, made_ns) = self.makers.remove(&event.thread).unzip();
            let of_process = self.processes.get(&event.process).and_then(|one| one.start_ns);
            let made_ns = made_ns.or(of_process.filter(|_| own.is_none()));
            if made.is_none() && own.is_none() {
                self.unmade(event, needs);
            }
            let maker = made.or(own).or(parent);
            needs.extend(maker.filter(|maker| maker.number > 0));
            if let Some(thread) = self.threads.get_mut(&key) {
                thread.begun = true;
                thread.ready_ns = maker.map(|maker| maker.end_ns);
                if let Some((maker, made_ns)) = maker.zip(made_ns) {
                    // Until then its maker computed, whose own pause holds that.
                    thread.pause.beside_ns = made_ns.saturating_sub(maker.end_ns);
                    thread.pause.stalled_ns = stalled_ns(event, made_ns);
                }
            }
        }
        if let Some(process) = self.processes.get_mut(&event.process) {
            let ended = std::mem::take(&mut process.ended);
            let (over, running): (Vec<_>, _) =
                ended.into_iter().partition(|one| one.end_ns <= event.start_ns);
            process.ended = running;
            needs.extend(over);
        }
    }

    /// Adds the children that the parent of a new process waited for. The call that made the process is later in
    /// the trace than the first calls of the process: vfork ends when its child runs another program.
    fn unmade(&self, event: &Event, needs: &mut Vec<Stamp>) {
        let parent = self.parent(event.process).and_then(|one| self.processes.get(&one));
        let ended = parent.into_iter().flat_map(|parent| &parent.ended);
        needs.extend(ended.filter(|one| one.end_ns <= event.start_ns));
    }

    /// Adds the time before a call to the thread's pause.
    pub(super) fn pause(&mut self, event: &Event) {
        let Some(thread) = self.threads.get_mut(&(event.process, event.thread)) else { return };
        let end_ns = event.end_ns();
        let last_ns = thread.last_end_ns.replace(end_ns);
        let (Some(_), Some(waited_ns)) = (event.cpu_ns, event.waited_ns) else { return };
        thread.naps += u32::from(event.waker.is_none() && waited_ns > SHORT_NS);
        thread.pause.waited_ns = thread.pause.waited_ns.saturating_add(waited_ns);
        let Some(last_ns) = last_ns else { return };
        let stalled_ns = stalled_ns(event, last_ns);
        thread.pause.stalled_ns = thread.pause.stalled_ns.saturating_add(stalled_ns);
    }

    /// True for a call that is not reproduced and in which the thread was asleep: the kernel computes in few of
    /// them for so long.
    pub(super) fn waits_in(&self, event: &Event, action: Action, reason: Reason) -> bool {
        let is_long = event.duration_ns.is_some_and(|inside_ns| inside_ns > SHORT_NS);
        let is_fork = action == Action::Fork;
        is_long && (reason != Reason::Process || (is_fork && self.is_held_by_child(event)))
    }

    /// True for a vfork: it ends when its child runs another program.
    fn is_held_by_child(&self, event: &Event) -> bool {
        let child = event.result.and_then(|child| u32::try_from(child).ok());
        child.and_then(|child| self.processes.get(&child)).is_some_and(|child| child.begun)
    }

    /// Counts a call that is not reproduced as sleep of its thread.
    pub(super) fn waited_in(&mut self, event: &Event) {
        if let Some(thread) = self.threads.get_mut(&(event.process, event.thread)) {
            let pause = &mut thread.pause;
            pause.waited_ns = pause.waited_ns.saturating_add(event.duration_ns.unwrap_or(0));
        }
    }

    /// The pause of a thread up to the operation that ends it.
    pub(super) fn take_pause(&mut self, process: u32, thread: u32) -> Pause {
        let thread = self.threads.get_mut(&(process, thread));
        thread.map(|thread| std::mem::take(&mut thread.pause)).unwrap_or_default()
    }

    /// Sets the pause of a thread: what is left of it.
    pub(super) fn pauses(&mut self, process: u32, thread: u32, pause: Pause) {
        if let Some(thread) = self.threads.get_mut(&(process, thread)) {
            thread.pause = pause;
        }
    }

    /// True until the last call of the thread was planned.
    pub(super) fn runs(&self, process: u32, thread: u32) -> bool {
        self.threads.contains_key(&(process, thread))
    }

    /// Recorded time since which nothing but itself held the thread back.
    pub(super) fn ready_ns(&self, process: u32, thread: u32) -> Option<u64> {
        self.threads.get(&(process, thread))?.ready_ns
    }

    /// Notes that a call of the thread was planned.
    pub(super) fn works(&mut self, event: &Event) {
        if let Some(thread) = self.threads.get_mut(&(event.process, event.thread)) {
            thread.works = true;
        }
    }

    /// True for a thread of which no call was planned so far, and that slept more than once.
    pub(super) fn sleeps_at_intervals(&self, event: &Event) -> bool {
        let thread = self.threads.get(&(event.process, event.thread));
        thread.is_some_and(|thread| !thread.works && thread.naps > 1)
    }

    /// The lane of a thread that made calls.
    pub(super) fn lane_of(&self, process: u32, thread: u32) -> Option<u32> {
        self.threads.get(&(process, thread)).map(|thread| thread.lane)
    }

    /// Notes an operation.
    pub(super) fn done(&mut self, process: u32, thread: u32, me: Stamp) {
        if let Some(thread) = self.threads.get_mut(&(process, thread)) {
            thread.ready_ns = Some(me.end_ns);
            thread.naps = 0;
        }
        self.processes.entry(process).or_default().last = Some(me);
    }

    /// A call made a process or thread; returns true when it is a process that has made no call yet.
    pub(super) fn made(&mut self, parent: u32, child: u32, at_ns: u64) -> bool {
        if let Some(maker) = self.processes.get(&parent).and_then(|process| process.last) {
            self.makers.insert(child, (maker, at_ns));
        }
        let is_process = self.survey.processes.contains_key(&child);
        if !is_process {
            return false;
        }
        let process = self.processes.entry(child).or_default();
        process.parent = Some(parent).filter(|one| *one != child);
        !process.begun
    }

    /// A handle lost its last descriptor during a call.
    pub(super) fn drop_later(&mut self, handle: usize) {
        self.dropped.push(handle);
    }

    /// Handles that lost their last descriptor during a call.
    pub(super) fn dropped(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.dropped)
    }

    /// The last writes to a pipe or socket, one of each lane.
    pub(super) fn channel(&mut self, file: FileId) -> &mut Vec<Stamp> {
        self.channels.entry(file).or_default()
    }

    /// True when the call is the last one of its thread and was not counted yet.
    pub(super) fn is_before_last(&self, event: &Event) -> bool {
        self.survey.threads.get(&(event.process, event.thread)) == Some(&1)
    }

    /// Counts the call; true when it is the last one of its thread.
    pub(super) fn is_last(&mut self, event: &Event) -> bool {
        if let Some(left) = self.survey.processes.get_mut(&event.process) {
            *left = left.saturating_sub(1);
        }
        let left = self.survey.threads.get_mut(&(event.process, event.thread));
        left.is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    }

    /// Ends the thread; true when it was the last one of its process.
    pub(super) fn end(&mut self, event: &Event, stamp: Stamp) -> bool {
        let ended = self.threads.remove(&(event.process, event.thread));
        // Operations overlap those of threads that have ended.
        if let Some(thread) = ended.filter(|_| !Flights::is_made(event.thread)) {
            self.free.push(thread.lane);
        }
        if self.survey.processes.get(&event.process).is_some_and(|left| *left > 0) {
            return false;
        }
        let parent = self.parent(event.process);
        if let Some(parent) = parent.and_then(|parent| self.processes.get_mut(&parent))
            && stamp.number > 0
        {
            // Also an earlier one of the same lane: the parent's call may lie between both ends.
            parent.ended.push(stamp);
        }
        true
    }
}

impl Planner {
    /// The lane of a call's thread. A thread that begins takes that of one that has ended.
    pub(super) fn lane(&mut self, event: &Event) -> Result<u32, ReplayError> {
        let key = (event.process, event.thread);
        if let Some(thread) = self.processes.threads.get(&key) {
            return Ok(thread.lane);
        }
        // Unrelated processes share a lane only when there are many.
        let reuses = self.lanes.len() >= FRESH_LANES;
        let free = if reuses { self.processes.free.pop() } else { None };
        let lane = match free {
            Some(lane) => {
                let handed_on = &mut self.lanes[lane as usize];
                handed_on.is_handed_on = handed_on.count > 0;
                lane
            }
            None => {
                let lane = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
                if lane >= self.limits.lanes {
                    let (found, limit) = (u64::from(lane) + 1, self.limits.lanes.into());
                    let what = "threads at the same time";
                    return Err(ReplayError::too_large(what, found, limit));
                }
                self.lanes.push(Lane::default());
                lane
            }
        };
        self.processes.threads.insert(key, Thread { lane, ..Thread::default() });
        if self.processes.begins(event.process)
            && let Some(parent) = self.processes.parent(event.process)
        {
            self.handles.inherit(parent, event.process);
        }
        Ok(lane)
    }

    /// A process or thread was made.
    pub(super) fn forked(&mut self, event: &Event) {
        let child = event.result.and_then(|child| u32::try_from(child).ok());
        let Some(child) = child.filter(|child| *child > 0) else { return };
        if self.processes.made(event.process, child, event.start_ns) && self.processes.begins(child)
        {
            self.handles.inherit(event.process, child);
        }
    }
}
