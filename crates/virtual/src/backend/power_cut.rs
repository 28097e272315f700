//! Power cuts of a stack's workload: one guest repeats the trial and is recorded, with its calls and with the
//! requests of its disks. The power fails afterwards at many of their completions, and other guests look at
//! what each cut leaves. It is compared with what the calls had acknowledged by then.

mod sequences;

pub use sequences::SequenceCut;

use std::collections::BTreeMap;

use seekwell_model::agent::{TrialPart, TrialRequest};
use seekwell_model::power_cut::{AfterCut, CutCounts, CutLosses, REPAIR, STEP, SURVEY};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::{DeviceSettings, Scheduler};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WorkloadParams;
use seekwell_stats::derive_seed;

use super::transcript::{self, State, Transcript};
use super::{Guest, Result, VirtualBackend, VirtualBackendError, failed, for_agent};
use crate::controller::Replacement;
use crate::cuts::changes::Changes;
use crate::cuts::promised::{Loss, Promised};
use crate::cuts::{CutError, Recording};
use crate::disk::DiskParts;
use crate::end::End;
use crate::instant::Instant;
use crate::machine::{DiskSetup, Outcome, run_replacing};

#[cfg(test)]
mod tests;

/// Name that the seed of the instants is derived from.
const INSTANTS: &str = "power-cuts";

/// Stages in which a survey fails because of the cut. The recorded guest came through all of them; in the first
/// the layers are brought up.
const UNUSABLE: [&str; 4] = ["setup", "mount", SURVEY, "umount"];

/// States that one guest looks at.
const SURVEYS_PER_GUEST: usize = 50;

impl VirtualBackend {
    /// Cuts the power of the trial's stack, and adds the results to its record. A stack that could not be
    /// made fails in the trial itself.
    pub(super) fn cut_power(
        &self,
        guest: &Guest<'_>,
        record: &mut Record,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
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
        self.surveys(guest, &story, &instants, &mut |at_ns, promised, state| {
            found.add(&story, at_ns, promised, state);
        })?;
        found.report(record);
        Ok(())
    }

    /// Looks at the stack after a power cut at each of these instants, which are in order.
    fn surveys(
        &self,
        guest: &Guest<'_>,
        story: &Story,
        instants: &[u64],
        each: &mut dyn FnMut(u64, &Promised<'_>, &State),
    ) -> Result<()> {
        let mut promised = Promised::new(&story.changes).with_names(story.with_names);
        let mut rest = instants;
        while !rest.is_empty() {
            let now = &rest[..rest.len().min(SURVEYS_PER_GUEST)];
            let states = self.survey(guest, story, now)?;
            rest = &rest[states.len()..];
            for (at_ns, state) in now.iter().zip(states) {
                promised.pass_to(*at_ns);
                each(*at_ns, &promised, &state);
            }
        }
        Ok(())
    }

    /// Records a guest that repeats the trial; the reason if it could not.
    fn story(&self, guest: &Guest<'_>) -> Result<Result<Story, String>> {
        let (disks, made) = self.made(guest)?;
        let Some(mut disks) = disks else {
            return Ok(Err(format!("the filesystem could not be made: {}", reason(&made))));
        };
        let ages_ns: Vec<u64> = disks.iter().map(|disk| disk.parts.age_ns()).collect();
        for disk in &mut disks {
            disk.parts.recording = Some(Recording::default());
        }
        let settings = self.settings(guest);
        let (record, mut outcome) =
            self.run_agent(&story_request(guest), disks, settings, &mut |_| {})?;
        if matches!(record.status, Status::Failed { .. }) {
            return Ok(Err(format!("the recorded trial failed: {}", reason(&record))));
        }
        let Some(mut records) = outcome.records.take() else {
            return Ok(Err("this lab kernel records no calls; build today's".to_owned()));
        };
        let label = &guest.stack().label;
        let changes = Changes::read(&mut records, &self.options.scratch)
            .map_err(failed(format!("cannot read the recorded calls of {label}")))?;
        if changes.lost > 0 {
            return Ok(Err(format!("{} records of calls were lost", changes.lost)));
        }
        if changes.is_asynchronous {
            let text = "the workload uses asynchronous I/O, whose syncs are not recorded";
            return Ok(Err(text.to_owned()));
        }
        let recordings = outcome.disks.iter_mut().filter_map(|disk| disk.parts.recording.take());
        let disks = recordings.zip(ages_ns);
        let disks = disks.map(|(recording, age_ns)| RecordedDisk { recording, age_ns }).collect();
        let begun_ns = measured_from(guest, &outcome).unwrap_or(changes.begun_ns);
        let parts = &guest.plan.pair(guest.trial).1.parts;
        let story = Story::new(disks, changes, begun_ns, parts);
        Ok(story.ok_or_else(|| "nothing was written".to_owned()))
    }

    /// Returns copies of the stack's disks with an empty filesystem, and the record of making it.
    fn made(&self, guest: &Guest<'_>) -> Result<(Option<Vec<DiskSetup>>, Record)> {
        let start = self.prepared(&Guest { part: TrialPart::Make, ..*guest }, &mut |_| {})?;
        Ok((start.disks, start.record))
    }

    /// The stack's disks after a power cut at this instant.
    fn cut(&self, guest: &Guest<'_>, story: &Story, at_ns: u64) -> Result<Vec<DiskSetup>> {
        let (disks, _) = self.made(guest)?;
        let cut = story.cut(disks.unwrap_or_default(), at_ns);
        cut.map_err(failed(format!("cannot cut the power of {}", guest.stack().label)))
    }

    /// Looks at the stack after a power cut at each of these instants, at least at the first: a guest that
    /// dies of a state sees no further one.
    fn survey(&self, guest: &Guest<'_>, story: &Story, instants: &[u64]) -> Result<Vec<State>> {
        let input = serde_json::to_vec(&survey_request(guest, instants.len()))?;
        let mut heard = Transcript::default();
        let mut failure = None;
        let disks = self.cut(guest, story, instants[0])?;
        let trial = self.trial(disks, &input, self.settings(guest));
        let outcome = run_replacing(trial, &mut |bytes| {
            let known = heard.states.len();
            heard.take(bytes, &mut |_| {});
            let at_ns = instants.get(heard.states.len()).filter(|_| heard.states.len() > known)?;
            let disks =
                self.cut(guest, story, *at_ns).map_err(|error| failure = Some(error)).ok()?;
            let content = |disk: DiskSetup| (disk.parts.content, disk.parts.damaged);
            Some(Replacement::from_iter(disks.into_iter().map(content)))
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if outcome.end == End::CalledOff {
            return Err(VirtualBackendError::CalledOff);
        }
        Ok(transcript::states(heard, &outcome, instants.len()))
    }
}

impl State {
    fn loss(&self, at_ns: u64, promised: &Promised<'_>) -> Loss {
        match self.record.as_ref().map(|record| &record.status) {
            Some(Status::Ok | Status::Marked) => promised.compare(at_ns, &self.files),
            Some(Status::Failed { .. }) | None => Loss::default(),
        }
    }
}

/// A disk of the guest that was recorded.
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

/// A guest that ran the workload, with the requests of its disks and the changes that its calls made.
struct Story {
    disks: Vec<RecordedDisk>,
    changes: Changes,
    /// Instants of the measured steps at which a request of any disk completed.
    times_ns: Vec<u64>,
    /// Start of the measured steps.
    begun_ns: u64,
    /// Rows of the workload's database before its transactions, and in each; `None` without one.
    rows: Option<(u64, u64)>,
    /// True if `fsync` of a file promises its names.
    with_names: bool,
}

impl Story {
    /// `None` if nothing completed.
    fn new(
        disks: Vec<RecordedDisk>,
        changes: Changes,
        begun_ns: u64,
        parts: &[WorkloadParams],
    ) -> Option<Self> {
        let times = disks.iter().flat_map(RecordedDisk::times_ns);
        let is_measured = |at_ns: &u64| (begun_ns..=changes.ended_ns).contains(at_ns);
        let mut times_ns: Vec<u64> = times.filter(is_measured).collect();
        times_ns.sort_unstable();
        times_ns.dedup();
        let rows = parts.iter().find_map(|part| match part {
            WorkloadParams::Sqlite(sqlite) => Some((sqlite.rows, sqlite.rows_per_transaction)),
            _ => None,
        });
        let with_names = parts.iter().any(|part| matches!(part, WorkloadParams::Calls(_)));
        (!times_ns.is_empty()).then_some(Self {
            disks,
            changes,
            times_ns,
            begun_ns,
            rows,
            with_names,
        })
    }

    /// Instants of this number of cuts, in order, each once: all if there are fewer.
    fn draw(&self, count: u32, seed: u64) -> Vec<u64> {
        let key = |at_ns: &u64| derive_seed(seed, &format!("{INSTANTS} {at_ns}"));
        let drawn: BTreeMap<u64, u64> =
            self.times_ns.iter().map(|at_ns| (key(at_ns), *at_ns)).collect();
        let mut instants: Vec<u64> = drawn.into_values().take(count as usize).collect();
        instants.sort_unstable();
        instants
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

/// Time at which the first measured step began.
fn measured_from(guest: &Guest<'_>, outcome: &Outcome) -> Option<u64> {
    let parts = &guest.plan.pair(guest.trial).1.parts;
    let steps = parts.iter().flat_map(WorkloadParams::steps);
    let first = steps.into_iter().find(|step| step.measured)?.name;
    transcript::begin_ns(outcome, &first)
}

fn story_request(guest: &Guest<'_>) -> TrialRequest {
    let mut request = Guest { part: TrialPart::Made, ..*guest }.request();
    request.settings.fsck = false;
    request.record_data = true;
    request
}

/// The disks of a survey take no time and have other limits than the stack's, so its queue settings are not for
/// them; mkfs and mount options are.
fn survey_request(guest: &Guest<'_>, count: usize) -> TrialRequest {
    let mut request = Guest { part: TrialPart::Survey, ..*guest }.request();
    request.stack = for_agent(guest.stack());
    request.stack.device.settings = DeviceSettings::default();
    request.stack.scheduler = Scheduler::plain("none");
    request.settings.fsck = true;
    request.surveys = u32::try_from(count).unwrap_or(u32::MAX);
    request
}

/// The outcome of a cut by a survey's record and losses, and its words; `None` if the survey itself failed.
fn judge(record: &Record, loss: &Loss) -> (Option<AfterCut>, String) {
    if let Status::Failed { stage, reason } = &record.status {
        let after = UNUSABLE.contains(&stage.as_str()).then_some(AfterCut::Unmountable);
        return (after, format!("{stage}: {reason}"));
    }
    if let Some(text) = &loss.first
        && loss.files + loss.bytes + loss.torn > 0
    {
        return (Some(AfterCut::LostSynced), text.clone());
    }
    let damage = WarningCode::FsckDamage.definition().code;
    if let Some(damage) = record.warnings.iter().find(|one| one.code == damage) {
        return (Some(AfterCut::Damaged), damage.text.clone());
    }
    if record.steps.iter().any(|step| step.name == REPAIR) {
        return (Some(AfterCut::Damaged), "it does not mount before a repair".to_owned());
    }
    (Some(AfterCut::Whole), String::new())
}

/// The cuts of a trial.
#[derive(Default)]
struct Found {
    counts: CutCounts,
    /// The first cut of each outcome that is a loss, in words.
    first: BTreeMap<AfterCut, String>,
    /// Surveys that failed, and the first reason.
    failed: (u64, String),
    /// True if the calls named files that a survey could find.
    is_seen: bool,
}

impl Found {
    fn add(&mut self, story: &Story, at_ns: u64, promised: &Promised<'_>, state: &State) {
        let Some(record) = &state.record else { return };
        let loss = state.loss(at_ns, promised);
        let (after, text) = judge(record, &loss);
        let Some(after) = after else {
            if self.failed.0 == 0 {
                self.failed.1 = text;
            }
            self.failed.0 += 1;
            return;
        };
        let top = state.files.first().map_or("", |top| &top.path);
        self.is_seen |= top.is_empty() || promised.has_names_below(top);
        self.counts.add(after);
        let losses = losses(story, at_ns, state, record, &loss);
        self.counts.losses.get_or_insert_default().add_all(losses);
        if after != AfterCut::Whole {
            let into_ms = at_ns.saturating_sub(story.begun_ns) as f64 / 1e6;
            let text = format!(
                "first at a cut {into_ms:.1} ms into the measured steps: {}",
                text.replace('\n', " | ")
            );
            self.first.entry(after).or_insert(text);
        }
    }

    /// Adds counts and warnings to the record.
    fn report(self, record: &mut Record) {
        let CutCounts { cuts, .. } = self.counts;
        if cuts > 0 && !self.is_seen {
            let text = "its files have other names in the recorded calls; nothing can be compared";
            return record.add_warning(no_cuts(text));
        }
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

/// Kind and size of the losses of one cut.
fn losses(story: &Story, at_ns: u64, state: &State, record: &Record, loss: &Loss) -> CutLosses {
    let has = |code: WarningCode| {
        record.warnings.iter().any(|warning| warning.code == code.definition().code)
    };
    let is_failed = matches!(record.status, Status::Failed { .. });
    let is_repaired = record.steps.iter().any(|step| step.name == REPAIR)
        && !is_failed
        && !has(WarningCode::FilesystemLost);
    let need_fsck = is_failed || is_repaired || has(WarningCode::FsckDamage);
    let found = state.database.as_ref().map_or(0, |database| database.rows);
    let lost_transactions = story.rows.and_then(|(before, per_transaction)| {
        let rows = story.changes.rows_by(at_ns)?;
        Some(rows.saturating_sub(found.max(before)).div_ceil(per_transaction))
    });
    CutLosses {
        torn: u64::from(loss.torn > 0),
        reordered: u64::from(loss.reordered > 0),
        need_fsck: u64::from(need_fsck),
        repaired: u64::from(is_repaired),
        database_damaged: u64::from(
            state.database.as_ref().is_some_and(|database| database.damage.is_some()),
        ),
        lost_files_max: loss.files,
        lost_bytes_max: loss.bytes,
        lost_transactions_max: lost_transactions,
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
