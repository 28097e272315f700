//! A bounded search for synced data that a filesystem loses when the power fails.

use crate::error::SessionError;
use crate::loaded::Session;
use crate::options::Options;
use crate::resolved::LabText;
use seekwell_model::filesystems::filesystem;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::power_cut::AfterCut;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::calls::{Call, CallKind, sequence_text};
use seekwell_virtual::cuts::program::program;
use seekwell_virtual::cuts::space::{Sequence, Space};
use seekwell_virtual::{Batch, Experiments, SequenceCut};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(test)]
mod tests;

/// Sequences per guest. More share the start of a guest, but each survey looks at the files of all before it.
const PER_GUEST: usize = 50;

/// Guests between two reports of progress.
const GUESTS: usize = 8;

/// Smallest disk; twice what mkfs takes, if that is more. Larger filesystems take longer to check.
const SMALLEST: Bytes = Bytes::mib(64);

/// A search for losses.
#[derive(Clone, Debug)]
pub struct AskedCuts {
    /// Filesystem by name.
    pub filesystem: String,
    /// Mount options.
    pub mount: Vec<String>,
    /// Options of mkfs.
    pub mkfs: Vec<String>,
    /// Modelled device; a write cache is what loses data.
    pub model: String,
    /// Operations per sequence at most.
    pub operations: u32,
    /// Sequences at most.
    pub most: u64,
    /// Draws the sequences if the space has more.
    pub seed: u64,
    /// Parallel guests; `None` for one per CPU.
    pub jobs: Option<usize>,
    /// Lab kernel, by the start of its id; `None` for the usual one.
    pub kernel: Option<String>,
    /// True to end with the guests that lose something first.
    pub until_lost: bool,
    /// Ends the search.
    pub stop: Arc<AtomicBool>,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCuts {
    /// Sequences of the space.
    pub space: u64,
    /// Power cuts.
    pub cuts: u64,
    /// Part of them with a loss or damage.
    pub lost: u64,
    /// Number of the first of these.
    pub first: Option<u64>,
    /// The same, minimised.
    pub case: Option<Case>,
    /// True if the device keeps all that it acknowledged, so that it says little of the filesystem.
    pub keeps_all: bool,
}

/// A sequence after which a power cut loses data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The loss in words.
    pub text: String,
    /// The calls.
    pub calls: String,
    /// True if no part of the sequence can be left out; false if it loses nothing without those before it.
    pub is_minimal: bool,
    /// A C program that makes the calls.
    pub program: String,
    /// A lab that repeats the case.
    pub lab: String,
}

impl Session {
    /// Makes sequences of calls in guests, cuts the power after each, and compares what is left with what was synced.
    /// `see` gets the cuts so far, those with a loss, and all that will be.
    ///
    /// # Errors
    /// When the filesystem cannot be made here, or a guest fails.
    pub fn cuts(
        &self,
        asked: &AskedCuts,
        see: &mut dyn FnMut(u64, u64, u64),
    ) -> Result<FoundCuts, SessionError> {
        let text = asked.lab(&[vec![Call::new(CallKind::Sync, "")]]);
        let kernel = asked.kernel.clone();
        let options = Options { jobs: asked.jobs, kernel, ..Options::of("virtual") };
        let planned = self.resolve(&LabText::new("cuts", &text), &options)?.plan()?;
        let plan = planned.plan();
        let guests = planned.backend().experiments(plan, &asked.stop)?;
        let no_guests = || SessionError::Usage("the virtual backend has no guests".to_owned());
        let guests = guests.ok_or_else(no_guests)?;
        let search = Search { plan, trial: plan.trials[0], guests, asked };
        let space = Space::new(asked.operations);
        let drawn = space.draw(asked.most, asked.seed);
        let device = seekwell_device::build(&self.device(&asked.model)?, 1).geometry();
        let keeps_all = !device.write_cache;
        let mut found = FoundCuts { space: space.count(), keeps_all, ..FoundCuts::default() };
        let mut first: Option<(Vec<Sequence>, SequenceCut)> = None;
        let at_once = if asked.until_lost { asked.jobs.unwrap_or(GUESTS).max(1) } else { GUESTS };
        for sequences in drawn.chunks(PER_GUEST * at_once) {
            for (guest, cuts) in search.cut(sequences.chunks(PER_GUEST))?.into_iter().enumerate() {
                let of_guest = &sequences[guest * PER_GUEST..];
                for (nth, cut) in cuts.into_iter().enumerate() {
                    found.cuts += 1;
                    if cut.after != AfterCut::Whole {
                        found.lost += 1;
                        found.first.get_or_insert(found.cuts);
                        first.get_or_insert_with(|| (of_guest[..=nth].to_vec(), cut));
                    }
                }
            }
            see(found.cuts, found.lost, drawn.len() as u64);
            if asked.until_lost && found.lost > 0 {
                break;
            }
        }
        found.case = first.map(|(until, cut)| search.case(&until, cut)).transpose()?;
        Ok(found)
    }
}

/// A search under way.
struct Search<'a> {
    plan: &'a Plan,
    trial: PlannedTrial,
    guests: Experiments,
    asked: &'a AskedCuts,
}

impl Search<'_> {
    /// Cuts the power after each sequence of each guest.
    fn cut<'s>(
        &self,
        guests: impl Iterator<Item = &'s [Sequence]>,
    ) -> Result<Vec<Vec<SequenceCut>>, SessionError> {
        let batch = |sequences: &[Sequence]| -> Batch { (self.trial, calls(sequences)) };
        let batches: Vec<Batch> = guests.map(batch).collect();
        Ok(self.guests.cut(self.plan, &batches)?)
    }

    /// Minimises the last of these sequences, of one guest, whose cut lost something.
    fn case(&self, until: &[Sequence], cut: SequenceCut) -> Result<Case, SessionError> {
        let last = &until[until.len() - 1..];
        let alone = self.cut(last.chunks(1))?.into_iter().flatten().next();
        let Some(mut least) = alone.filter(|alone| alone.after != AfterCut::Whole) else {
            return Ok(self.asked.case(&calls(until), &cut, false));
        };
        let minimal = last[0].clone().minimise(&mut |shorter: &[Sequence]| {
            let cuts: Vec<SequenceCut> =
                self.cut(shorter.chunks(1))?.into_iter().flatten().collect();
            let lost = cuts.iter().map(|cut| cut.after != AfterCut::Whole).collect();
            if let Some(cut) = cuts.into_iter().find(|cut| cut.after != AfterCut::Whole) {
                least = cut;
            }
            Ok::<_, SessionError>(lost)
        })?;
        Ok(self.asked.case(&calls(&[minimal]), &least, true))
    }
}

fn calls(sequences: &[Sequence]) -> Vec<Vec<Call>> {
    sequences.iter().filter_map(Sequence::calls).collect()
}

impl AskedCuts {
    fn case(&self, sequences: &[Vec<Call>], cut: &SequenceCut, is_minimal: bool) -> Case {
        let calls = sequences.last().map(Vec::as_slice).unwrap_or_default();
        let options = [&self.mkfs[..], &self.mount].concat().join(" ");
        let name = format!("{} {options}", self.filesystem);
        let text = format!("{}: {}", cut.after.words(), cut.text);
        Case {
            calls: sequence_text(calls),
            is_minimal,
            program: program(&format!("{}, {text}", name.trim_end()), calls),
            lab: self.lab(sequences),
            text,
        }
    }

    /// A lab that makes these sequences and cuts the power.
    fn lab(&self, sequences: &[Vec<Call>]) -> String {
        let list =
            |texts: &[String]| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>();
        let run: Vec<String> = sequences.iter().map(|calls| sequence_text(calls)).collect();
        let run = list(&run).join(",\n  ");
        let (name, seed) = (&self.filesystem, self.seed);
        let (mkfs, mount) = (list(&self.mkfs).join(", "), list(&self.mount).join(", "));
        let least = filesystem(name).map_or(SMALLEST, |one| Bytes(2 * one.minimum.0));
        let size = least.max(SMALLEST);
        format!(
            "[lab]\nname = \"cuts\"\nseed = {seed}\nquestion = \"does {name} keep what was synced?\"\n\n\
             [[device]]\nname = \"disk\"\nmodel = {{ name = {:?}, size = \"{size}\" }}\n\n\
             [[filesystem]]\ntype = {name:?}\nmkfs = [{mkfs}]\nmount = [{mount}]\n\n\
             [scheduler]\nchoose = [\"none\"]\n\n[trial]\npower_cut = 1000\n\n\
             [[workload]]\nkind = \"calls\"\nrun = [\n  {run},\n]\n\n\
             [judge]\nmetric = \"calls.elapsed_durable\"\nrounds = 6\n",
            self.model
        )
    }
}
