//! Reasons in words: what is left out, why, and what to do.

use super::reasons::{Reason, Rules, Why};
use crate::build::Positions;
use crate::build::coherence::readable;
use crate::source::Span;
use seekwell_model::lab::Match;
use seekwell_model::units::Bytes;

/// A reason in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// The names on the axes that matter.
    pub(super) what: String,
    pub(super) why: String,
    /// Empty where there is nothing to do.
    pub(super) remedy: String,
}

impl Rules<'_> {
    /// A reason in words.
    pub(super) fn text(&self, reason: Reason) -> Text {
        let known = |why: &Why| why.clone().unwrap_or_default();
        let plain = |why: String, remedy: &str| (why, remedy.to_owned());
        let (why, remedy) = match reason {
            Reason::Excluded(_) => plain("the lab excludes it".to_owned(), ""),
            Reason::Filesystem(index) => known(&self.filesystems[index]),
            Reason::Scheduler(index) => known(&self.schedulers[index]),
            Reason::Layer(index) => known(&self.layers[index]),
            Reason::Joined(l, d) => self.joined(l, d).unwrap_or_default(),
            Reason::Made(d, l, f) => self.not_made(d, l, f).unwrap_or_default(),
            Reason::Program(index) => known(&self.programs[index]),
            Reason::Journal(j, f) => known(&self.journals[j][f]),
            Reason::JournalSize(d, l, j, f) => {
                let size = self.axes.lab.journals[j].size.or(self.common[f]).unwrap_or_default();
                let largest = readable(self.largest_journal(d, l, f).unwrap_or_default());
                let why =
                    format!("it takes a journal of at most {largest} there, and this has {size}");
                plain(why, "make the device larger, or the journal smaller")
            }
            Reason::Device(_, f) => {
                let minimum = self.definition(f).map_or(Bytes(0), |one| one.minimum);
                let why = format!("the filesystem needs a device of at least {minimum}");
                plain(why, "use a larger device")
            }
            Reason::Raw(..) => plain("it works on files, and a raw device has none".to_owned(), ""),
            Reason::Sector(_, d) => plain(
                format!(
                    "its direct operations are not multiples of a sector of {} bytes",
                    self.sector(d)
                ),
                "make `size` a multiple of the sector",
            ),
            Reason::DataSet(..) => plain(
                "its data does not fit on the device".to_owned(),
                "use a larger device or less data",
            ),
            Reason::SameStack(j, _) => {
                let first = self.journal_name(self.first_internal.unwrap_or(j));
                plain(format!("the same as with {first}: it has no journal to set"), "")
            }
            Reason::NamedTwice(_) => plain("another [[stack]] names it too".to_owned(), ""),
        };
        Text { what: self.what(reason), why, remedy }
    }

    fn what(&self, reason: Reason) -> String {
        let lab = self.axes.lab;
        let device = |index: usize| format!("device \"{}\"", lab.devices[index].name);
        let kind = |index: usize| format!("filesystem \"{}\"", lab.filesystems[index].name);
        let workload = |index: usize| format!("workload \"{}\"", lab.workloads[index].name);
        match reason {
            Reason::Excluded(index) => match_names(&lab.exclusions[index]),
            Reason::NamedTwice(index) => match_names(&lab.stacks[index]),
            Reason::Filesystem(index) => kind(index),
            Reason::Scheduler(index) => {
                format!("scheduler \"{}\"", self.axes.schedulers[index].name)
            }
            Reason::Layer(index) => format!("layer \"{}\"", lab.layers[index].name),
            Reason::Joined(l, d) => format!("layer \"{}\" on {}", lab.layers[l].name, device(d)),
            Reason::Program(index) => workload(index),
            Reason::Journal(j, f) | Reason::SameStack(j, f) => {
                format!("{} with {}", kind(f), self.journal_name(j))
            }
            Reason::JournalSize(d, _, j, f) => {
                format!("{} with {} on {}", kind(f), self.journal_name(j), device(d))
            }
            Reason::Device(d, f) | Reason::Made(d, _, f) => {
                format!("{} on {}", kind(f), device(d))
            }
            Reason::Raw(w, f) => format!("{} on {}", workload(w), kind(f)),
            Reason::Sector(w, d) | Reason::DataSet(w, d) => {
                format!("{} on {}", workload(w), device(d))
            }
        }
    }

    fn journal_name(&self, index: usize) -> String {
        format!("journal \"{}\"", self.axes.lab.journals[index].name)
    }

    /// The fix for a reason that leaves no stack.
    pub(super) fn mend(&self, reason: Reason) -> String {
        match reason {
            Reason::Excluded(_) => "take it out of the lab, or exclude less".to_owned(),
            Reason::Raw(..) => {
                "add a [[filesystem]] that holds files, or a [[workload]] of kind seek or stream"
                    .to_owned()
            }
            other => match self.text(other).remedy {
                remedy if remedy.is_empty() => {
                    "add a [[journal]] inside, or take it out of the lab".to_owned()
                }
                remedy => remedy,
            },
        }
    }

    /// The position in the lab of the value that a reason is about.
    pub(super) fn place(&self, reason: Reason, positions: &Positions) -> Option<Span> {
        let (spans, index) = match reason {
            Reason::Excluded(index) => (&positions.exclusions, index),
            Reason::Filesystem(index) => (&positions.filesystems, index),
            Reason::Scheduler(index) => (&positions.schedulers, index),
            Reason::Layer(index) | Reason::Joined(index, _) => (&positions.layers, index),
            Reason::Journal(index, _)
            | Reason::JournalSize(_, _, index, _)
            | Reason::SameStack(index, _) => (&positions.journals, index),
            Reason::Device(index, _) => (&positions.devices, index),
            Reason::Made(_, _, index) => (&positions.filesystems, index),
            Reason::Program(index)
            | Reason::Raw(index, _)
            | Reason::Sector(index, _)
            | Reason::DataSet(index, _) => (&positions.workloads, index),
            Reason::NamedTwice(index) => (&positions.stacks, index),
        };
        spans.get(index).copied().flatten()
    }
}

/// The names of a match, as in a sentence.
fn match_names(wanted: &Match) -> String {
    let word = |axis| if axis == "memory" { "memory limit" } else { axis };
    let named = wanted.named().map(|(axis, name)| format!("{} \"{name}\"", word(axis)));
    named.collect::<Vec<_>>().join(" with ")
}
