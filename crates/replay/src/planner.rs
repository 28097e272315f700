//! Makes a plan from a trace: reads it twice, the first time to learn when threads end.

mod attributes;
mod calls;
mod descriptors;
mod draft;
mod files;
mod flights;
mod laid;
mod mapped;
mod names;
mod open;
mod polled;
mod processes;
mod requested;
mod room;
mod tree;
mod walked;
mod woken;

use crate::action::Action;
use crate::error::{ReplayError, rows};
use crate::lanes::{Lane, Spill};
use crate::order::{Known, Stamp};
use crate::plan::{Limits, Plan, Reason, Recorded};
use calls::split;
use descriptors::Handles;
use draft::Draft;
use files::Files;
use flights::Flights;
use mapped::Advised;
use polled::Polls;
use processes::{Processes, Survey};
use room::Room;
use seekwell_trace::calls::Class;
use seekwell_trace::{Event, FileId, Trace};
use std::collections::HashMap;
use tree::Tree;
use walked::Walked;
use woken::History;

/// Part of a trace to replay.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Folder of the recorded machine: calls on files elsewhere are left out. `None` for all.
    pub only: Option<String>,
    /// Repeats only every n-th sync of a process; 0 and 1 repeat all.
    pub sync_every: u32,
    /// Bounds.
    pub limits: Limits,
}

/// Makes the plan of a trace.
///
/// # Errors
/// When the trace cannot be read, or is larger than the limits.
pub fn plan(trace: &Trace, choice: &Choice) -> Result<Plan, ReplayError> {
    let (mut survey, mut flights) = (Survey::default(), Flights::default());
    let mut polls = Polls::default();
    trace.events(|event| {
        let event = flights.of(event);
        survey.add(&event);
        polls.survey(&event);
        Ok(())
    })?;
    let only = files::folder(choice.only.as_deref());
    let files = Files::new(trace.files()?, only.as_deref());
    let tree = Tree::new(Walked::read(trace, only.as_deref())?);
    let processes = Processes::new(trace.processes()?, survey);
    let mut planner = Planner {
        actions: Action::of_calls(),
        limits: choice.limits,
        sync_every: choice.sync_every,
        files,
        processes,
        tree,
        polls: polls.surveyed(),
        surveyed: flights,
        faults: trace.meta().faults,
        spill: Spill::at(trace.path(), (choice.limits.bytes, choice.limits.spilled_bytes)),
        ..Planner::default()
    };
    let unknown = rows(|each| trace.events(each), |event| planner.add(event))?;
    if unknown > 0 {
        planner.skip_many(Reason::NotRecorded, unknown);
    }
    let lost = trace.meta().lost_calls();
    if lost > 0 {
        planner.skip_many(Reason::Lost, lost);
    }
    planner.recorded.device_bytes = requested::device_bytes(trace)?;
    planner.finish(choice)
}

/// State while the trace is read.
#[derive(Default)]
pub(crate) struct Planner {
    actions: Vec<Action>,
    limits: Limits,
    sync_every: u32,
    /// Syncs of each process so far.
    syncs: HashMap<u32, u32>,
    files: Files,
    /// Sizes of files outside of the folder as far as calls wrote them, bytes: a rename may bring them in.
    outside: HashMap<FileId, u64>,
    processes: Processes,
    tree: Tree,
    handles: Handles,
    /// Last operations of each thread, for those that waited for it.
    history: History,
    polls: Polls,
    /// Operations of asynchronous I/O: those of the whole trace, and those up to this call.
    surveyed: Flights,
    flights: Flights,
    /// True when the trace holds the pages of mappings that the program touched.
    faults: bool,
    /// True when the trace tells computing and sleeping apart.
    tells_computing: bool,
    advised: Advised,
    attributes: attributes::OfNodes,
    lanes: Vec<Lane>,
    spill: Spill,
    room: Room,
    known: Known,
    recorded: Recorded,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Planner {
    /// Plans a call.
    fn add(&mut self, event: Event) -> Result<(), ReplayError> {
        let submitter = event.thread;
        let event = &self.flights.of(event);
        self.tells_computing |= event.cpu_ns.is_some();
        let lane = self.lane(event)?;
        self.joins(event, submitter, lane);
        self.processes.pause(event);
        self.polled(event, lane)?;
        self.woken(event, lane)?;
        let mut draft = self.draft(event, lane);
        self.submitted(event, submitter, &mut draft);
        let mut planned = split(self.call(event, &mut draft))?;
        if planned.is_ok() && self.leaves_out(event.process, draft.operation.action) {
            planned = Err(Reason::FewerSyncs);
        }
        match planned {
            Ok(()) => {
                self.processes.works(event);
                self.recorded.planned += 1;
                // A page that was in memory has no duration: it is computing.
                let is_page = draft.operation.action == Action::Touch;
                let is_timed = event.duration_ns.is_some() || is_page;
                self.recorded.untimed += u64::from(!is_timed);
                let inside_ns = event.duration_ns.unwrap_or(0);
                self.recorded.inside_ns = self.recorded.inside_ns.saturating_add(inside_ns);
                let start_ns = event.start_ns;
                self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
                self.last_ns = self.last_ns.max(draft.me.end_ns);
                self.emit(draft)?;
            }
            Err(reason) => {
                self.skip_many(reason, 1);
                if reason == Reason::Outside {
                    self.wrote_outside(event, draft.operation.action);
                }
                let is_left_out = matches!(reason, Reason::Machine | Reason::FewerSyncs);
                if is_left_out {
                    draft.used = true;
                } else if self.processes.waits_in(event, draft.operation.action, reason) {
                    self.processes.waited_in(event);
                }
                // What a thread does after its last operation holds up those that wait for its end.
                draft.used |= self.processes.is_before_last(event);
                // A process that is made begins after what its maker did until then.
                draft.used |= draft.operation.action == Action::Fork;
                // The time of a call that is left out is that of other stacks, and no pause of the program.
                let at_ns = if is_left_out { event.start_ns } else { draft.me.end_ns };
                self.emit_order(draft, at_ns)?;
            }
        }
        self.after(event, lane)
    }

    /// True for a sync that is left out.
    fn leaves_out(&mut self, process: u32, action: Action) -> bool {
        if self.sync_every < 2 || !matches!(action, Action::Sync | Action::SyncData) {
            return false;
        }
        let count = self.syncs.entry(process).or_default();
        *count += 1;
        // The first of each process is repeated: a process of few syncs has one.
        *count % self.sync_every != 1
    }

    /// Learns the size of a file outside of the folder.
    fn wrote_outside(&mut self, event: &Event, action: Action) {
        let Some(file) = event.file else { return };
        let end = match action {
            Action::Write | Action::WriteAt => {
                event.offset.zip(event.moved_bytes()).map(|(at, bytes)| at.saturating_add(bytes))
            }
            Action::SetSize | Action::SetSizeOf if !event.failed() => event.length,
            _ => None,
        };
        if let Some(end) = end {
            let known = self.outside.entry(file).or_default();
            *known = end.max(*known);
        }
    }

    fn skip_many(&mut self, reason: Reason, count: u64) {
        *self.recorded.skipped.entry(reason).or_default() += count;
    }

    /// An operation for this call, not in the plan yet.
    fn draft(&mut self, event: &Event, lane: u32) -> Draft {
        let action = self.actions.get(usize::from(event.call.0)).copied().unwrap_or(Action::Order);
        let number = self.lanes[lane as usize].count + 1;
        let mut draft = Draft::new(event, action, lane, number);
        self.processes.begin(event, &mut draft.needs);
        draft
    }

    /// Puts an operation into the plan.
    fn emit(&mut self, mut draft: Draft) -> Result<(), ReplayError> {
        let me = draft.me;
        let thread_ns = self.processes.ready_ns(draft.process, draft.thread);
        let ready_ns = draft
            .needs
            .iter()
            .map(|need| need.end_ns)
            .filter(|end| *end <= draft.operation.start_ns)
            .chain(thread_ns)
            .max();
        let begin_ns = if self.processes.runs(draft.process, draft.thread) {
            ready_ns.or(self.first_ns).unwrap_or(draft.operation.start_ns)
        } else {
            // Files that an ended thread left open are closed at once.
            draft.operation.start_ns
        };
        let gap_ns = draft.operation.start_ns.saturating_sub(begin_ns);
        let pause = self.processes.take_pause(draft.process, draft.thread);
        // A thread that waited for another may have been held back before that.
        let is_own = thread_ns.is_some_and(|thread_ns| begin_ns <= thread_ns);
        let stalled_ns = if is_own { pause.stalled_ns.min(gap_ns) } else { 0 };
        draft.operation.wait_ns = pause.waited_ns.min(gap_ns - stalled_ns);
        draft.operation.think_ns = gap_ns - stalled_ns - draft.operation.wait_ns;
        draft.operation.beside_ns = pause.beside_ns.min(draft.operation.think_ns);
        draft.operation.after = self.known.missing(me.lane, &draft.needs);
        draft.operation.pauses_first = is_own && gap_ns > 0 && !draft.operation.after.is_empty();
        self.put(&mut draft)
    }

    /// Appends an operation, whose pauses and order are known, to its lane.
    fn put(&mut self, draft: &mut Draft) -> Result<(), ReplayError> {
        let me = draft.me;
        if self.tells_computing {
            let own_ns = draft.operation.think_ns.saturating_sub(draft.operation.beside_ns);
            let sum_ns = self.recorded.computing_ns.get_or_insert_default();
            *sum_ns = sum_ns.saturating_add(own_ns);
        }
        let lane = &mut self.lanes[me.lane as usize];
        draft.operation.renews = std::mem::take(&mut lane.is_handed_on);
        let bytes = lane.push(&draft.operation);
        lane.count = me.number;
        self.processes.done(draft.process, draft.thread, me);
        self.history.add(draft.thread, me);
        self.spill.added(bytes, &mut self.lanes)
    }

    /// Puts the order that a call kept into the plan, where it has one. The time until `at_ns` counts as that of
    /// the program.
    fn emit_order(&mut self, mut draft: Draft, at_ns: u64) -> Result<(), ReplayError> {
        if !draft.used && draft.needs.is_empty() {
            return Ok(());
        }
        draft.adds(Action::Order, at_ns);
        self.emit(draft)
    }

    /// Processes that a call made or ended, and descriptors that it closed, planned or not.
    fn after(&mut self, event: &Event, lane: u32) -> Result<(), ReplayError> {
        if self.actions.get(usize::from(event.call.0)) == Some(&Action::Fork) {
            self.forked(event);
        }
        self.close_dropped(event, lane)?;
        if !self.processes.is_last(event) {
            return Ok(());
        }
        let stamp = self.last(lane, event);
        self.history.end(event.thread);
        if self.processes.end(event, stamp) {
            self.advised.end(event.process);
            self.close_all(event, lane)?;
        }
        Ok(())
    }

    /// The last operation of a lane so far, as one that ended with this call.
    fn last(&self, lane: u32, event: &Event) -> Stamp {
        let end_ns = event.end_ns();
        Stamp { lane, number: self.lanes[lane as usize].count, end_ns }
    }

    fn finish(mut self, choice: &Choice) -> Result<Plan, ReplayError> {
        if self.recorded.planned == 0 {
            return Err(ReplayError::Empty(choice.only.clone()));
        }
        let first_ns = self.first_ns.unwrap_or(0);
        self.recorded.elapsed_ns = self.last_ns.saturating_sub(first_ns);
        self.recorded.contradictions = self.tree.contradictions;
        self.recorded.unknown_files = self.tree.unknown_files;
        Ok(Plan {
            tree: self.tree.initial(),
            lanes: self.lanes,
            spilled: self.spill.into_file(),
            paths: self.files.into_paths(),
            slots: self.handles.slots(),
            growth: self.room.most,
            first_ns,
            tells_computing: self.tells_computing,
            recorded: self.recorded,
        })
    }
}

/// True for calls that move data: their histogram has a name of its own.
pub(crate) fn class(call: seekwell_trace::calls::CallId) -> &'static str {
    match call.call().class {
        Class::Read => "read",
        Class::Write => "write",
        Class::Sync => "fsync",
        _ => "other",
    }
}

#[cfg(test)]
mod tests;
