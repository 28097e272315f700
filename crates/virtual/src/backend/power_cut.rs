//! Power cuts of a stack: one guest writes and is recorded, the power fails afterwards at many of its
//! events, and for each of them another guest mounts the disks that the cut leaves.

use std::collections::BTreeMap;

use seekwell_model::agent::{AgentMessage, TrialPart, TrialRequest};
use seekwell_model::power_cut::{AfterCut, CutCounts, ENDURE, STEP, SURVEY};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::{DeviceSettings, Scheduler};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::derive_seed;

use super::{Guest, VirtualBackend, VirtualBackendError, for_agent};
use crate::cuts::{CutError, Recording};
use crate::disk::DiskParts;
use crate::instant::Instant;
use crate::machine::{DiskSetup, Outcome};

#[cfg(test)]
mod tests;

/// Name that the seed of the instants is derived from.
const INSTANTS: &str = "power-cuts";

/// Stages in which a trial fails because of the cut.
const UNUSABLE: [&str; 3] = ["mount", SURVEY, "umount"];

impl VirtualBackend {
    /// Cuts the power of the trial's stack, and adds the results to its record. A stack that could not be
    /// made fails in the trial itself.
    pub(super) fn cut_power(
        &self,
        guest: &Guest<'_>,
        record: &mut Record,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), VirtualBackendError> {
        if guest.is_raw() || matches!(record.status, Status::Failed { .. }) {
            if guest.is_raw() {
                record.add_warning(no_cuts("a raw device has no files to look for"));
            }
            return Ok(());
        }
        if guest.is_volatile() {
            record.add_warning(no_cuts("everything is in memory, and lost"));
            return Ok(());
        }
        progress(STEP);
        let story = match self.story(guest)? {
            Ok(story) => story,
            Err(reason) => {
                record.add_warning(no_cuts(&reason));
                return Ok(());
            }
        };
        let instants = story.draw(guest.plan.lab.trial.power_cut, guest.trial.seed);
        let mut found = Found::default();
        for at_ns in instants {
            let (after, told) = self.survey(guest, &story, at_ns)?;
            found.add(after, &story, at_ns, told);
        }
        found.tell(record);
        Ok(())
    }

    /// Records a guest that writes to the stack; the reason if it could not.
    fn story(&self, guest: &Guest<'_>) -> Result<Result<Story, String>, VirtualBackendError> {
        let (disks, made) = self.made(guest)?;
        let Some(mut disks) = disks else {
            return Ok(Err(format!("the filesystem could not be made: {}", reason(&made))));
        };
        let ages_ns: Vec<u64> = disks.iter().map(|disk| disk.parts.age_ns()).collect();
        for disk in &mut disks {
            disk.parts.recording = Some(Recording::default());
        }
        let settings = self.settings(guest);
        let request = endure_request(guest);
        let (record, mut outcome) = self.run_agent(&request, disks, settings, &mut |_| {})?;
        if matches!(record.status, Status::Failed { .. }) {
            return Ok(Err(format!("the files for it could not be written: {}", reason(&record))));
        }
        let recordings = outcome.disks.iter_mut().filter_map(|disk| disk.parts.recording.take());
        let disks = recordings.zip(ages_ns);
        let disks = disks.map(|(recording, age_ns)| RecordedDisk { recording, age_ns }).collect();
        Ok(Story::new(disks, outcome).ok_or_else(|| "nothing was written".to_owned()))
    }

    /// Returns copies of the stack's disks with an empty filesystem, and the record of making it.
    fn made(
        &self,
        guest: &Guest<'_>,
    ) -> Result<(Option<Vec<DiskSetup>>, Record), VirtualBackendError> {
        let start = self.prepared(&Guest { part: TrialPart::Make, ..*guest }, &mut |_| {})?;
        Ok((start.disks, start.record))
    }

    /// Looks at the stack after a power cut at this instant.
    fn survey(
        &self,
        guest: &Guest<'_>,
        story: &Story,
        at_ns: u64,
    ) -> Result<(Option<AfterCut>, String), VirtualBackendError> {
        let (disks, _) = self.made(guest)?;
        let cut = |source| {
            let label = guest.stack().label.clone();
            VirtualBackendError::Cut { label, source }
        };
        let disks = story.cut(disks.unwrap_or_default(), at_ns).map_err(cut)?;
        let request = survey_request(guest, story.synced_by(at_ns));
        let settings = self.settings(guest);
        let (record, _) = self.run_agent(&request, disks, settings, &mut |_| {})?;
        Ok(judge(&record))
    }
}

/// A disk of the guest that wrote.
struct RecordedDisk {
    recording: Recording,
    /// Age of the disk when the guest started: recorded times count from the disk's first day.
    age_ns: u64,
}

impl RecordedDisk {
    /// Times of the completions, in nanoseconds of the guest.
    fn times_ns(&self) -> impl Iterator<Item = u64> {
        let done = self.recording.completions().iter();
        done.map(|done| done.at_ns.saturating_sub(self.age_ns))
    }
}

/// A guest that wrote, with the requests of its disks and the times of its promises.
struct Story {
    disks: Vec<RecordedDisk>,
    outcome: Outcome,
    /// Instants at which a request of any disk completed after the writers were ready.
    times_ns: Vec<u64>,
    /// Time at which they were ready.
    ready_ns: u64,
}

impl Story {
    /// `None` if nothing completed after the writers were ready.
    fn new(disks: Vec<RecordedDisk>, outcome: Outcome) -> Option<Self> {
        let told_by = |at_ns: u64| !promises(outcome.output_by(at_ns)).is_empty();
        let ready_ns = outcome.heard.iter().map(|part| part.at_ns).find(|at_ns| told_by(*at_ns))?;
        let times = disks.iter().flat_map(RecordedDisk::times_ns);
        let mut times_ns: Vec<u64> = times.filter(|at_ns| *at_ns > ready_ns).collect();
        times_ns.sort_unstable();
        times_ns.dedup();
        (!times_ns.is_empty()).then_some(Self { disks, outcome, times_ns, ready_ns })
    }

    /// Instants for so many cuts, in order, none twice; fewer if there are not so many.
    fn draw(&self, count: u32, seed: u64) -> Vec<u64> {
        let key = |at_ns: &u64| derive_seed(seed, &format!("{INSTANTS} {at_ns}"));
        let mut drawn: BTreeMap<u64, u64> = BTreeMap::new();
        for at_ns in &self.times_ns {
            drawn.insert(key(at_ns), *at_ns);
        }
        let mut instants: Vec<u64> = drawn.into_values().take(count as usize).collect();
        instants.sort_unstable();
        instants
    }

    /// Everything that was said to be synced by then.
    fn synced_by(&self, at_ns: u64) -> Vec<String> {
        promises(self.outcome.output_by(at_ns))
    }

    /// The disks after a power cut at this instant, from copies of those that the guest began with. A request
    /// that was not completed by then never happened: one of the ways in which power can fail.
    fn cut(&self, before: Vec<DiskSetup>, at_ns: u64) -> Result<Vec<DiskSetup>, CutError> {
        let cut = |(setup, disk): (DiskSetup, &RecordedDisk)| {
            let DiskParts { model, content, .. } = setup.parts;
            let done = disk.times_ns().filter(|done_ns| *done_ns <= at_ns).count();
            let cut = disk.recording.cut(model, content, done as u64)?;
            let instant = Box::new(Instant::new(cut.content.sectors()));
            let mut parts = DiskParts::new(instant, cut.content);
            parts.damaged = cut.lost.damaged;
            Ok(DiskSetup { role: setup.role, parts })
        };
        before.into_iter().zip(&self.disks).map(cut).collect()
    }
}

/// The promises in an agent's output; a line that was not said to its end is none.
fn promises(output: &[u8]) -> Vec<String> {
    let whole = output.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = output[..whole].split(|byte| *byte == b'\n');
    let promise = |line: &[u8]| match serde_json::from_slice(line) {
        Ok(AgentMessage::Synced { what }) => Some(what),
        _ => None,
    };
    lines.filter_map(promise).collect()
}

fn endure_request(guest: &Guest<'_>) -> TrialRequest {
    let mut request = Guest { part: TrialPart::Endure, ..*guest }.request();
    request.settings.fsck = false;
    request.settings.fsck_torn = false;
    request
}

/// The disks of a survey take no time and have other limits than the stack's, so its queue settings are not for
/// them; mkfs and mount options are.
fn survey_request(guest: &Guest<'_>, synced: Vec<String>) -> TrialRequest {
    let mut request = Guest { part: TrialPart::Survey, ..*guest }.request();
    request.stack = for_agent(guest.stack());
    request.stack.device.settings = DeviceSettings::default();
    request.stack.scheduler = Scheduler::plain("none");
    request.settings.fsck = true;
    request.settings.fsck_torn = false;
    request.synced = synced;
    request
}

/// The state that a survey found, and what it says of it; `None` if the survey itself failed.
fn judge(record: &Record) -> (Option<AfterCut>, String) {
    if let Status::Failed { stage, reason } = &record.status {
        let after = UNUSABLE.contains(&stage.as_str()).then_some(AfterCut::Unmountable);
        return (after, format!("{stage}: {reason}"));
    }
    let text_of = |code: WarningCode| {
        record
            .warnings
            .iter()
            .find(|one| one.code == code.definition().code)
            .map(|one| one.text.clone())
    };
    if let Some(text) = text_of(WarningCode::SyncedDataLost) {
        return (Some(AfterCut::LostSynced), text);
    }
    match text_of(WarningCode::FsckDamage) {
        Some(text) => (Some(AfterCut::Damaged), text),
        None => (Some(AfterCut::Whole), String::new()),
    }
}

/// The cuts of a trial.
#[derive(Default)]
struct Found {
    counts: CutCounts,
    /// The first cut of each outcome that is a loss, in words.
    first: BTreeMap<AfterCut, String>,
    /// Surveys that failed, and the first reason.
    failed: (u64, String),
}

impl Found {
    fn add(&mut self, after: Option<AfterCut>, story: &Story, at_ns: u64, told: String) {
        let Some(after) = after else {
            if self.failed.0 == 0 {
                self.failed.1 = told;
            }
            self.failed.0 += 1;
            return;
        };
        self.counts.add(after);
        if after != AfterCut::Whole {
            let into_ms = at_ns.saturating_sub(story.ready_ns) as f64 / 1e6;
            let promises = story.synced_by(at_ns).len();
            let text = format!(
                "first at a cut {into_ms:.1} ms into `{ENDURE}`, after {promises} promises: {}",
                told.replace('\n', " | ")
            );
            self.first.entry(after).or_insert(text);
        }
    }

    /// Adds counts and warnings to the record.
    fn tell(self, record: &mut Record) {
        let CutCounts { cuts, .. } = self.counts;
        for (after, text) in self.first {
            let (code, count) = match after {
                AfterCut::Damaged => (WarningCode::PowerCutDamage, self.counts.damaged),
                AfterCut::LostSynced => (WarningCode::SyncedDataLost, self.counts.lost_synced),
                _ => (WarningCode::FilesystemLost, self.counts.unmountable),
            };
            let text = format!("{}: {count} of {cuts} power cuts, {text}", after.words());
            record.add_warning(Warning::new(code, text));
        }
        if self.failed.0 > 0 {
            let (failed, why) = self.failed;
            record.add_warning(no_cuts(&format!("{failed} cuts could not be looked at: {why}")));
        }
        if cuts > 0 {
            record.add_step(self.counts.step(record.elapsed_ns, record.elapsed_ns));
        }
    }
}

fn reason(record: &Record) -> String {
    match &record.status {
        Status::Failed { stage, reason } => format!("{stage}: {reason}"),
        Status::Ok | Status::Marked => "no reason given".to_owned(),
    }
}

fn no_cuts(reason: &str) -> Warning {
    Warning::new(WarningCode::NoPowerCuts, format!("no power cuts: {reason}"))
}
