//! From a trace to a lab: the axes that can matter for a recorded load.

use crate::error::SessionError;
use crate::tried::{duration, quoted};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_replay::{Choice, Plan, ReplayError};
use seekwell_trace::Trace;
use seekwell_trace::info::{Matters, Summary};
use std::fmt::Write as _;
use std::path::PathBuf;

#[cfg(test)]
mod tests;

/// A question about a recorded load.
#[derive(Clone, Debug)]
pub struct Advised {
    /// Absolute path of the trace's folder.
    pub trace: PathBuf,
    /// Folder of the recorded machine; `None` for the one that capture walked.
    pub only: Option<String>,
    /// Filesystems by name.
    pub filesystems: Vec<String>,
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
}

/// Rounds that a verdict needs at least.
const ROUNDS: u64 = 6;
/// Smallest scratch image.
const LEAST_BYTES: u64 = 1 << 30;

impl Advised {
    /// Reads the trace and drafts the lab.
    ///
    /// # Errors
    /// [`SessionError::Advice`] for a trace that cannot be read or replayed.
    pub fn advise(&self) -> Result<Advice, SessionError> {
        let (summary, only, plan) = self.read().map_err(SessionError::Advice)?;
        let mut sentences = summary.sentences().to_vec();
        let matters = summary.matters();
        if !matters.any() {
            // It says more than the sentence about axes, and it is the answer.
            sentences.truncate(2);
            sentences.insert(0, no_help(&summary));
            return Ok(Advice { sentences, lab: None });
        }
        let schedulers =
            if matters.scheduler { &self.schedulers[..] } else { first(&self.schedulers) };
        let stacks = (self.filesystems.len() * schedulers.len()) as u64;
        sentences.push(cost(stacks, &plan));
        sentences.extend(elsewhere(matters));
        let lab = self.lab_text(only.as_deref(), schedulers, room(&summary, &plan));
        Ok(Advice { sentences, lab: Some(lab) })
    }

    fn read(&self) -> Result<(Summary, Option<String>, Plan), ReplayError> {
        let trace = Trace::open(&self.trace)?;
        let summary = Summary::of(&trace)?;
        let planned = |only: &Option<String>| {
            seekwell_replay::plan(&trace, &Choice { only: only.clone(), ..Choice::default() })
        };
        if self.only.is_none()
            && let [tree] = &trace.meta().initial[..]
        {
            let walked = Some(tree.root.clone());
            match planned(&walked) {
                // The load works elsewhere than in the directory that it was started in.
                Err(ReplayError::Empty { .. }) => {}
                plan => return Ok((summary, walked, plan?)),
            }
        }
        let plan = planned(&self.only)?;
        Ok((summary, self.only.clone(), plan))
    }

    fn lab_text(&self, only: Option<&str>, schedulers: &[String], room: Bytes) -> String {
        let mut text = format!(
            "# Written by `seekwell advise`. Every table and field: docs/lab-reference.md.\n\n\
             [lab]\nname = \"advise\"\nquestion = \"which stack runs the recorded load fastest?\"\n\n\
             [[device]]\nname = \"scratch\"\nloop = \"{room}\"\n"
        );
        for filesystem in &self.filesystems {
            let _ = write!(text, "\n[[filesystem]]\ntype = {}\n", quoted(filesystem));
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
            budget.unwrap_or_else(|| format!("rounds = {}\n", ROUNDS + 4))
        );
        text
    }
}

fn first(names: &[String]) -> &[String] {
    &names[..names.len().min(1)]
}

/// Room for the files of the load twice over, with what it writes.
fn room(summary: &Summary, plan: &Plan) -> Bytes {
    let used = plan.tree_bytes().saturating_add(summary.writes.bytes);
    let needed = used.saturating_mul(2).max(LEAST_BYTES);
    Bytes(needed.checked_next_multiple_of(LEAST_BYTES).unwrap_or(needed))
}

#[allow(clippy::cast_precision_loss, reason = "shown in whole seconds and per cent")]
fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// The sentence about a load that storage does not hold back.
fn no_help(summary: &Summary) -> String {
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

fn cost(stacks: u64, plan: &Plan) -> String {
    let one_ns = plan.recorded().elapsed_ns;
    format!(
        "The load took {} where it was recorded: {ROUNDS} rounds on {stacks} stacks take some {} and \
         the time to rebuild its files.",
        seconds(one_ns),
        seconds(one_ns.saturating_mul(stacks * ROUNDS))
    )
}

fn elsewhere(matters: Matters) -> Option<String> {
    matters.journal.then(|| {
        "The lab compares filesystems with their own journal; for a journal on a second device see \
         docs/how-to/journal-device.md."
            .to_owned()
    })
}
