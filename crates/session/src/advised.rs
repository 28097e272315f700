//! From a trace to a lab: the axes that can matter for a recorded load.

use crate::error::SessionError;
use crate::load_folder::{self, percent};
use crate::tried::{duration, quoted};
use seekwell_host::confine::{Reach, read_confined};
use seekwell_model::filesystems::{FilesystemDefinition, filesystem};
use seekwell_model::lab::FINAL_AT_ONCE;
use seekwell_model::units::{Bytes, Nanos};
use seekwell_recordings::info::{Matters, Summary};
use seekwell_replay::Plan;
use seekwell_trace::{Trace, TraceError};
use std::fmt::Write as _;
use std::path::PathBuf;

#[cfg(test)]
mod tests;

/// A question about a recorded load.
#[derive(Clone, Debug)]
pub struct Advised {
    /// Absolute path of the trace's folder.
    pub trace: PathBuf,
    /// Folder of the recorded machine; `None` for the one that capture walked, or that with most of the
    /// time in calls.
    pub only: Option<String>,
    /// Filesystems by name.
    pub filesystems: Vec<String>,
    /// Adds each with the mount options that can matter.
    pub has_variants: bool,
    /// True if the trials run in virtual time, in which a pause of the load is no wait.
    pub is_virtual: bool,
    /// I/O schedulers by name, for a load that they can matter to; the first one for others.
    pub schedulers: Vec<String>,
    /// Time of all trials together; `None` when none are to be run.
    pub time: Option<Nanos>,
}

/// An answer without a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The load in sentences: its waiting, the most that a device can gain, the axes to change.
    pub sentences: Vec<String>,
    /// Text of the lab that compares stacks; `None` when no change of the stack can help.
    pub lab: Option<String>,
    /// Time in which the drafted lab can end with a verdict.
    pub time: Nanos,
    /// Time of the replays that a verdict needs, where storage is no faster than the recorded one.
    pub needed: Nanos,
    /// Stacks of the drafted lab.
    pub stacks: u64,
}

impl Advice {
    /// The warning that a time is too short for the drafted lab on this machine, where a replay keeps its pauses;
    /// `None` when it may suffice.
    #[must_use]
    pub fn too_short(&self, time: Nanos) -> Option<String> {
        (self.needed > time).then(|| {
            format!(
                "{} is too short for this load: where storage is no faster than the recorded one, {ROUNDS} rounds on \
                 {} stacks take some {}. Replay a shorter part of it (seekwell trace filter).",
                time,
                self.stacks,
                seconds(self.needed.0)
            )
        })
    }
}

/// Rounds that a verdict needs at least.
const ROUNDS: u64 = 6;
/// Rounds of a lab without a budget.
const ROUNDS_DRAFTED: u64 = 10;
/// Shortest budget that is proposed.
const LEAST_TIME_NS: u64 = 300_000_000_000;
/// Time of mkfs, mount and teardown around a replay.
const AROUND_NS: u64 = 1_000_000_000;
/// Time to rebuild a byte of its files.
const REBUILD_NS: u64 = 5;
/// The way of a load without files.
const OF_DEVICE: &str = "The load is on a device without a filesystem, which leaves none to compare. A lab repeats its \
                         block requests on other devices and schedulers: kind = \"requests\" on a stack of type = \
                         \"raw\", see `requests` in docs/lab-reference.md.";
/// Smallest scratch image.
const LEAST_BYTES: u64 = 1 << 30;

impl Advised {
    /// Reads the trace and drafts the lab.
    ///
    /// # Errors
    /// [`SessionError::Advice`] for a trace that cannot be read or replayed.
    pub fn advise(&self) -> Result<Advice, SessionError> {
        read_confined(&Reach::default().reading_trace(&self.trace), || self.advise_confined())
    }

    fn advise_confined(&self) -> Result<Advice, SessionError> {
        let failed = |error: TraceError| SessionError::Advice(error.into());
        let trace = Trace::open(&self.trace).map_err(failed)?;
        let summary = Summary::of(&trace).map_err(failed)?;
        let mut sentences = summary.sentences().to_vec();
        if self.only.is_none() && summary.is_raw() {
            sentences.push(OF_DEVICE.to_owned());
            let (time, needed) = (Nanos(LEAST_TIME_NS), Nanos(0));
            return Ok(Advice { sentences, lab: None, time, needed, stacks: 0 });
        }
        let chosen = load_folder::chosen(&trace, &summary, self.only.as_ref());
        let (only, plan) = chosen.map_err(SessionError::Advice)?;
        // Neither its waiting nor its pauses are known.
        plan.check_pauses().map_err(SessionError::Advice)?;
        let between = Between::of(&self.trace).map_err(failed)?;
        let matters = summary.matters();
        if !matters.any() {
            // It says more than the sentence about axes, and it is the answer.
            sentences.truncate(2);
            sentences.insert(0, no_help(&summary, between));
            let time = Nanos(LEAST_TIME_NS);
            return Ok(Advice { sentences, lab: None, time, needed: Nanos(0), stacks: 0 });
        }
        let most = if matters.scheduler { self.schedulers.len() } else { 1 };
        let mut schedulers = &self.schedulers[..most.min(self.schedulers.len())];
        sentences.extend(between.and_then(|between| between.sentence(&summary)));
        sentences.extend(summary.cheaper());
        let mut filesystems = self.drafted(matters);
        let replay_ns = replay_ns(&plan);
        let trial_ns = replay_ns.saturating_add(AROUND_NS);
        sentences.extend(self.left_out(&mut filesystems, &mut schedulers, trial_ns));
        let stacks = (filesystems.len() * schedulers.len()) as u64;
        sentences.extend(load_folder::sentence(&summary, &plan, only.as_deref()));
        let rounds = if self.time.is_some() { ROUNDS } else { ROUNDS_DRAFTED };
        let trials = stacks * rounds;
        sentences.push(self.cost(stacks, rounds, &plan));
        sentences.extend(elsewhere(matters));
        let room = room(&summary, &plan).max(uncramped(&filesystems));
        let lab = Some(self.lab_text(only.as_deref(), &filesystems, schedulers, room));
        let trials = if self.is_virtual { 0 } else { trials };
        let time = proposed(trial_ns.saturating_mul(trials));
        let needed = Nanos(needed_ns(replay_ns).saturating_mul(stacks));
        Ok(Advice { sentences, lab, time, needed, stacks })
    }

    /// The filesystems, and those with the mount options that can matter to the load.
    fn drafted(&self, matters: Matters) -> Vec<Drafted<'_>> {
        let mut all: Vec<Drafted<'_>> =
            self.filesystems.iter().map(|kind| Drafted { kind, variant: None }).collect();
        let variants = [(matters.journal, DATA_JOURNAL), (matters.names, NO_ACCESS_TIMES)];
        let is_drafted = |(is_asked, _): &(bool, Variant)| *is_asked && self.has_variants;
        for (_, variant) in variants.into_iter().filter(is_drafted) {
            let has = |kind: &&String| filesystem(kind).is_some_and(|found| (variant.of)(found));
            let takes = self.filesystems.iter().filter(has);
            all.extend(takes.map(|kind| Drafted { kind, variant: Some(variant) }));
        }
        all
    }

    /// Takes the least promising stacks away until all start in the final and their rounds fit the time, but for
    /// two. Returns a sentence about those.
    fn left_out(
        &self,
        filesystems: &mut Vec<Drafted<'_>>,
        schedulers: &mut &[String],
        trial_ns: u64,
    ) -> Option<String> {
        let time = self.time.filter(|_| !self.is_virtual);
        let fitting = time.map_or(u64::MAX, |time| time.0 / needed_ns(trial_ns).max(1));
        let most = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(2, FINAL_AT_ONCE);
        let gone = cut(filesystems, schedulers, most);
        let reason = match time.filter(|_| most < FINAL_AT_ONCE) {
            Some(time) => format!("to fit {ROUNDS} rounds into {}", duration(time)),
            None => format!("to compare at most {FINAL_AT_ONCE} stacks"),
        };
        (!gone.is_empty()).then(|| format!("Left out {reason}: {}.", gone.join(", ")))
    }

    fn cost(&self, stacks: u64, rounds: u64, plan: &Plan) -> String {
        let one_ns = plan.recorded().elapsed_ns;
        let trials = stacks * rounds;
        let took = format!("The load took {} where it was recorded: ", seconds(one_ns));
        if self.is_virtual {
            return format!(
                "{took}{rounds} rounds on {stacks} stacks are {trials} trials in virtual time, which need not \
                 wait as long."
            );
        }
        format!(
            "{took}{rounds} rounds on {stacks} stacks take some {} and the time to rebuild its files.",
            seconds(one_ns.saturating_mul(trials))
        )
    }

    fn lab_text(
        &self,
        only: Option<&str>,
        filesystems: &[Drafted<'_>],
        schedulers: &[String],
        room: Bytes,
    ) -> String {
        let mut text = format!(
            "# Written by `seekwell advise`. Every table and field: docs/lab-reference.md.\n\n\
             [lab]\nname = \"advise\"\nquestion = \"which stack runs the recorded load fastest?\"\n\n\
             [[device]]\nname = \"scratch\"\nloop = \"{room}\"\n"
        );
        for one in filesystems {
            let _ = write!(text, "\n[[filesystem]]\ntype = {}\n", quoted(one.kind));
            if let Some(Variant { option, .. }) = one.variant {
                let name = quoted(&one.name());
                let _ = write!(text, "name = {name}\nmount = [{}]\n", quoted(option));
            }
        }
        let names: Vec<String> = schedulers.iter().map(|name| quoted(name)).collect();
        let trace = quoted(&self.trace.to_string_lossy());
        let only = only.map(|only| format!("only = {}\n", quoted(only))).unwrap_or_default();
        let budget = self.time.map(|time| format!("budget = \"{}\"\n", duration(time)));
        let _ = write!(
            text,
            "\n[scheduler]\nchoose = [{}]\n\n[[workload]]\nname = \"load\"\nkind = \"replay\"\n\
             trace = {trace}\n{only}\n[judge]\nmetric = \"replay.elapsed_durable\"\ntie = \"5%\"\n{}",
            names.join(", "),
            budget.unwrap_or_else(|| format!("rounds = {ROUNDS_DRAFTED}\n"))
        );
        text
    }
}

/// Takes mount options away, then schedulers, then filesystems, the last ones first, until at most this many stacks
/// are left. Returns their names.
fn cut(filesystems: &mut Vec<Drafted<'_>>, schedulers: &mut &[String], most: usize) -> Vec<String> {
    let mut gone = Vec::new();
    while filesystems.len() * schedulers.len() > most {
        let has_variant = filesystems.last().is_some_and(|last| last.variant.is_some());
        match (*schedulers, has_variant) {
            ([rest @ .., last], false) if !rest.is_empty() => {
                gone.push(format!("scheduler {last}"));
                *schedulers = rest;
            }
            _ => gone.extend(filesystems.pop().map(|last| last.name())),
        }
    }
    gone
}

/// The smallest device whose size hampers none of the filesystems.
fn uncramped(filesystems: &[Drafted<'_>]) -> Bytes {
    let least = |one: &Drafted<'_>| filesystem(one.kind)?.cramped.map(|(least, _)| least);
    filesystems.iter().filter_map(least).max().unwrap_or_default()
}

/// A mount option that can matter, and the filesystems that have it.
#[derive(Clone, Copy, Debug)]
struct Variant {
    name: &'static str,
    option: &'static str,
    of: fn(&FilesystemDefinition) -> bool,
}

/// Small synced writes go to the journal one behind the other.
const DATA_JOURNAL: Variant =
    Variant { name: "data-journal", option: "data=journal", of: has_data_modes };
/// A first lookup of a rebuilt tree also writes times of access.
const NO_ACCESS_TIMES: Variant = Variant {
    name: "noatime",
    option: "noatime",
    of: |found| !found.is_in_memory && !found.is_remote,
};

fn has_data_modes(found: &FilesystemDefinition) -> bool {
    found.journal.is_some_and(|journal| journal.data_modes)
}

/// A filesystem of the drafted lab.
#[derive(Debug)]
struct Drafted<'a> {
    kind: &'a str,
    variant: Option<Variant>,
}

impl Drafted<'_> {
    fn name(&self) -> String {
        let variant = self.variant.map(|variant| format!("-{}", variant.name));
        format!("{}{}", self.kind, variant.unwrap_or_default())
    }
}

/// Time of all threads between recorded calls.
#[derive(Clone, Copy, Debug, Default)]
struct Between {
    computing_ns: u64,
    /// Asleep, and no thread of the load ended that.
    asleep_ns: u64,
    /// Asleep until another thread of the load came: as long as that one's calls take.
    awaited_ns: u64,
}

impl Between {
    /// Reads it from the trace; `None` when the recording does not hold it.
    fn of(trace: &std::path::Path) -> Result<Option<Self>, TraceError> {
        let mut between: Option<Self> = None;
        Trace::open(trace)?.events(|event| {
            let (Some(cpu_ns), Some(waited_ns)) = (event.cpu_ns, event.waited_ns) else {
                return Ok(());
            };
            let sum = between.get_or_insert_default();
            sum.computing_ns = sum.computing_ns.saturating_add(cpu_ns);
            let awaited_ns = event.awaited_ns.unwrap_or(0).min(waited_ns);
            sum.asleep_ns = sum.asleep_ns.saturating_add(waited_ns - awaited_ns);
            sum.awaited_ns = sum.awaited_ns.saturating_add(awaited_ns);
            Ok(())
        })?;
        Ok(between)
    }

    /// Time of all threads, and the part of it in which they waited for a CPU.
    fn whole_ns(self, summary: &Summary) -> (u64, u64) {
        let Self { computing_ns, asleep_ns, awaited_ns } = self;
        let of_calls_ns = summary.in_calls_ns + summary.elsewhere_ns;
        let known_ns = computing_ns + asleep_ns + awaited_ns + of_calls_ns;
        // What is left over is also time of which the trace does not tell, if no wait for a CPU is known.
        let is_known = summary.cpu_wait_ns > 0;
        let ready_ns = if is_known { summary.thread_ns.saturating_sub(known_ns) } else { 0 };
        (known_ns + ready_ns, ready_ns)
    }

    fn sentence(self, summary: &Summary) -> Option<String> {
        let Self { computing_ns, asleep_ns, awaited_ns } = self;
        let (all_ns, _) = self.whole_ns(summary);
        let awaited = match percent(awaited_ns, all_ns) {
            none if none == "0 %" => String::new(),
            share => format!(
                " They wait {share} for each other, which is shorter where the calls of the others are."
            ),
        };
        (all_ns > 0).then(|| {
            format!(
                "Between calls its threads compute {} of their time and sleep {}: no stack changes \
                 that part.{awaited}",
                percent(computing_ns, all_ns),
                percent(asleep_ns, all_ns)
            )
        })
    }
}

/// Estimated time of a replay and of rebuilding its files, where storage is as fast as the recorded one.
fn replay_ns(plan: &Plan) -> u64 {
    plan.recorded().elapsed_ns.saturating_add(plan.tree_bytes().saturating_mul(REBUILD_NS))
}

/// Time of the rounds of a stack with such trials, a quarter of it for the check of the replay.
fn needed_ns(trial_ns: u64) -> u64 {
    (trial_ns / 3).saturating_mul(4 * ROUNDS)
}

/// Room for the files of the load twice over, with what it writes.
fn room(summary: &Summary, plan: &Plan) -> Bytes {
    let used = plan.tree_bytes().saturating_add(summary.writes.bytes);
    let needed = used.saturating_mul(2).max(LEAST_BYTES);
    Bytes(needed.checked_next_multiple_of(LEAST_BYTES).unwrap_or(needed))
}

/// The sentence about a load that storage does not hold back.
fn no_help(summary: &Summary, between: Option<Between>) -> String {
    if let Some(between @ Between { computing_ns, asleep_ns, awaited_ns }) = between {
        let waiting_ns = asleep_ns.saturating_add(awaited_ns).saturating_add(summary.elsewhere_ns);
        let (all_ns, ready_ns) = between.whole_ns(summary);
        let does = match computing_ns >= waiting_ns {
            true => format!("compute {} of their time", percent(computing_ns, all_ns)),
            false => format!(
                "sleep or wait for pipes, sockets, terminals and locks {} of their time",
                percent(waiting_ns, all_ns)
            ),
        };
        let ready = match percent(ready_ns, all_ns) {
            none if none == "0 %" => String::new(),
            share => format!(" and wait {share} for a CPU"),
        };
        return format!(
            "Nothing you change below the program will help: its threads {does}{ready}."
        );
    }
    let computing = summary.thread_ns.saturating_sub(summary.in_calls_ns + summary.elsewhere_ns);
    if computing >= summary.elsewhere_ns {
        let share = percent(computing, summary.thread_ns);
        return format!(
            "Nothing you change below the program will help: its threads spend {share} of their \
             time outside of calls, computing or waiting for a CPU."
        );
    }
    let share = percent(summary.elsewhere_ns, summary.thread_ns);
    format!(
        "Nothing you change below the program will help: its threads wait {share} of their time for \
         pipes, sockets, terminals and locks."
    )
}

#[allow(clippy::cast_precision_loss, reason = "shown with three digits")]
fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    let digits = if seconds < 10.0 { 2 } else { usize::from(seconds < 100.0) };
    format!("{seconds:.digits$} s")
}

/// A budget for trials of this length together, with the time around them; whole minutes.
fn proposed(trials_ns: u64) -> Nanos {
    const MINUTE_NS: u64 = 60_000_000_000;
    let needed = trials_ns.saturating_mul(2).max(LEAST_TIME_NS);
    Nanos(needed.checked_next_multiple_of(MINUTE_NS).unwrap_or(needed))
}

fn elsewhere(matters: Matters) -> Option<String> {
    matters.journal.then(|| {
        "The lab compares filesystems with their own journal; for a journal on a second device see \
         docs/how-to/journal-device.md."
            .to_owned()
    })
}
