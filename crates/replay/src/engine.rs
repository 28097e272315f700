//! Runs a plan: one thread for each of its lanes, in the order that the plan demands.

mod computing;
mod debt;
mod gate;
mod lane;
mod progress;
mod tally;

use crate::error::ReplayError;
use crate::fidelity::Replayed;
use crate::jail;
use crate::perform::Buffer;
use crate::plan::Plan;
use crate::rebuild::Content;
use crate::slot::{Slot, close};
use gate::Gate;
use lane::crew::Ring;
use lane::{NOT_FILLING, Shared};
pub(crate) use lane::{cpu_ns, fine_sleep};
use progress::Progress;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tally::Durations;

/// Timing of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Each call as soon as those before it are over.
    AsFastAsPossible,
    /// With the recorded time between calls; what of it the thread computed is times a factor. A call
    /// that waits for another begins that much after it.
    Recorded(f64),
    /// At the recorded start of each call, times a factor, whether the calls before were quick or not.
    Open(f64),
}

/// Choices of a replay.
#[derive(Clone, Debug)]
pub struct Options {
    /// Timing.
    pub speed: Speed,
    /// Data of writes.
    pub content: Content,
    /// Ends the replay early when it becomes true.
    pub stop: Option<Arc<AtomicBool>>,
    /// True to spend the last moment before a call awake, since sleeps end late. False in guests in
    /// virtual time: nothing but calls takes time there, also looks at the clock.
    pub awake: bool,
    /// Bytes that must stay free on the target's filesystem: with fewer, the replay ends with
    /// [`ReplayError::Filling`]. 0 for a filesystem that is the replay's alone.
    pub kept: u64,
}

impl Default for Options {
    /// As recorded, random data.
    fn default() -> Self {
        Self {
            speed: Speed::Recorded(1.0),
            content: Content::default(),
            stop: None,
            awake: true,
            kept: 0,
        }
    }
}

/// Stack of a replaying thread.
const STACK_BYTES: usize = 256 << 10;

/// Replays a plan below a directory that holds its initial tree.
///
/// # Errors
/// When threads cannot be made or cannot take the directory as their root. A call that fails is a
/// difference, not an error.
pub fn replay(plan: &Plan, target: &Path, options: &Options) -> Result<Replayed, ReplayError> {
    replay_by(plan, target, options, Ring::new)
}

fn replay_by(
    plan: &Plan,
    target: &Path,
    options: &Options,
    ring: fn() -> io::Result<Ring>,
) -> Result<Replayed, ReplayError> {
    allow_open_files(plan.slots);
    let slots: Vec<Slot> = (0..plan.slots).map(|_| Slot::new(-1)).collect();
    let threads = threads(plan, ring);
    let data = Buffer::new(&options.content.piece(1 << 16));
    let durations = Durations::default();
    let shared = Shared {
        plan,
        options,
        slots: &slots,
        data: &data,
        progress: plan.lanes.iter().map(|_| Progress::default()).collect(),
        start: Gate::new(threads.len()),
        failed: Mutex::new(None),
        began: OnceLock::new(),
        awake: if options.awake { lane::oversleeps() } else { Duration::ZERO },
        own: if options.awake { debt::own_time(&data) } else { debt::own_time_in_guest() },
        durations: &durations,
        filling: AtomicU64::new(NOT_FILLING),
    };
    let result = jail::within(target, || run(&shared, threads, target));
    for slot in &slots {
        close(slot.take());
    }
    let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let free = shared.filling.load(Ordering::Relaxed);
    if free != NOT_FILLING {
        return Err(ReplayError::Filling { path: target.to_owned(), free });
    }
    match failed {
        Some((what, errno)) => Err(ReplayError::io(what, target)(errno)),
        None => result.map(|mut all| {
            durations.add_to(&mut all);
            all
        }),
    }
}

/// Time between two looks at the free space of the target's filesystem.
const ROOM_LOOK: Duration = Duration::from_millis(20);

/// Ends the replay before its filesystem is full, which other programs use too. Looks until `over` is
/// dropped.
fn watch_room(shared: &Shared<'_>, over: &Receiver<()>) {
    while over.recv_timeout(ROOM_LOOK) == Err(RecvTimeoutError::Timeout) {
        // The target is the root of this thread.
        let Ok(facts) = rustix::fs::statvfs("/") else { continue };
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        if free < shared.options.kept {
            shared.filling.store(free, Ordering::Relaxed);
            return;
        }
    }
}

/// Lanes of a thread of the replay, and the ring for those of more than one.
type Threads = Vec<(Vec<usize>, Option<Ring>)>;

/// The threads of a replay: each lane has one. Those of operations go with the thread that submitted them, where
/// there is io_uring.
fn threads(plan: &Plan, ring: fn() -> io::Result<Ring>) -> Threads {
    let mut crews: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, lane) in plan.lanes.iter().enumerate() {
        let first = lane.submitter.map_or(number, |submitter| submitter as usize);
        let crew = crews.entry(first).or_insert_with(|| vec![first]);
        if first != number {
            crew.push(number);
        }
    }
    let mut threads = Threads::new();
    for lanes in crews.into_values() {
        match (lanes.len() > 1).then(ring) {
            Some(Ok(ring)) => threads.push((lanes, Some(ring))),
            _ => threads.extend(lanes.into_iter().map(|lane| (vec![lane], None))),
        }
    }
    threads
}

fn run(shared: &Shared<'_>, crews: Threads, target: &Path) -> Result<Replayed, ReplayError> {
    std::thread::scope(|scope| {
        let (_under_way, over) = mpsc::channel();
        if shared.options.kept > 0 {
            scope.spawn(move || watch_room(shared, &over));
        }
        let mut threads = Vec::new();
        for (lanes, ring) in crews {
            let builder = std::thread::Builder::new()
                .name(format!("replay {}", lanes[0]))
                .stack_size(STACK_BYTES);
            let thread = builder.spawn_scoped(scope, move || match ring {
                Some(ring) => lane::crew::run(shared, &lanes, ring),
                None => vec![lane::run(shared, lanes[0])],
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.start.give_up();
                    return Err(ReplayError::io("make a thread for", target)(error));
                }
            }
        }
        let mut all = Replayed::default();
        let mut panicked = false;
        for thread in threads {
            match thread.join() {
                Ok(tallies) => tallies.into_iter().for_each(|one| one.add_to(&mut all)),
                Err(_) => panicked = true,
            }
        }
        if panicked { Err(ReplayError::Panicked) } else { Ok(all) }
    })
}

/// Raises the limit of open files as far as this process may.
fn allow_open_files(slots: u32) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    let wanted = u64::from(slots) + 256;
    if limits.current.is_some_and(|current| current < wanted) {
        let current = limits.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        // Without it, openings fail and are counted.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limits });
    }
}

#[cfg(test)]
mod tests;
