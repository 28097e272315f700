//! The folder that a session and its workers share.
//!
//! Files appear whole, by renaming. A share of the trials, which is some trials or a round, moves from `wanted` to
//! `taken` with one rename, which only one worker can do, also over NFS. Results of trials are added to it there one by
//! one (see `sheet`), those of a round together; with the last one it moves to `done`.
//!
//! The folder is opened once and used by its descriptor. It belongs to one user, and no other one can exchange it: nor
//! can they rename in a folder above it.
//!
//! | path | made by | holds |
//! | --- | --- | --- |
//! | `work.json` | session | plan, environment, settings of the trials' backend |
//! | `id` | session | a random number of that work: results of another one do not count, and strangers do not know it |
//! | `wanted/INDEX` | session | a share that any worker may take |
//! | `taken/INDEX.TASK` | worker | the share that it runs |
//! | `done/INDEX` | worker | the share with its records, or why there is none |
//! | `beats/NAME` | all | a number that grows while the writer lives; the session's with the number of workers |
//! | `disks/NAME/TASK` | worker | the one that may write to this disk, which several nodes may see |
//! | `logs/TASK.txt` | scheduler | words of a worker |
//! | `job` | session | the job of its workers, which the next session ends |
//! | `stop` | session | tells workers to end |

use crate::error::ClusterError;
use crate::pace;
use rustix::fs::{Mode, OFlags, open};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_trust::{Folder, shown};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod disks;
mod files;
mod sheet;
#[cfg(test)]
mod tests;

use files::{empty, failed, moved, names, read, read_sheet, remove, unless_torn};

pub use disks::Writer;
pub use sheet::{Line, Sheet};

/// Name of a session's heartbeat.
pub(crate) const SESSION: &str = "session";

const WORK: &str = "work.json";
const ID: &str = "id";
const WANTED: &str = "wanted";
const TAKEN: &str = "taken";
const DONE: &str = "done";
const BEATS: &str = "beats";
const DISKS: &str = "disks";
const LOGS: &str = "logs";
const STOP: &str = "stop";
const JOB: &str = "job";
/// Name of an offer that is being withdrawn.
const ASIDE: &str = ".withdrawn";

/// Everything that a worker needs besides the trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The plan.
    pub plan: Plan,
    /// Everything besides the plan that affects results; a worker whose own differs must not run trials.
    pub environment: serde_json::Value,
    /// Settings of the backend that runs the trials, as its room writes them.
    pub settings: serde_json::Value,
}

/// Trials that one worker takes together: some trials, or a round where trials depend on their node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Number of its first trial, or of the round.
    pub index: u32,
    /// Its trials in their order.
    pub trials: Vec<PlannedTrial>,
}

impl From<PlannedTrial> for Share {
    fn from(trial: PlannedTrial) -> Self {
        Self { index: trial.index, trials: vec![trial] }
    }
}

/// The record of a trial, or the error of a backend that is broken.
pub type Outcome = Result<Box<Record>, String>;

/// The results of a share.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Number of the work that the worker was given: two plans may have the same trial.
    pub(crate) work: u64,
    /// The share.
    pub share: Share,
    /// The worker; of several the last one.
    pub task: String,
    /// One for each trial; of a backend that is broken up to the error.
    pub results: Vec<Outcome>,
    /// Time that a node needed for one trial, if it was measured.
    pub trial_ns: Option<u64>,
}

/// The shared folder.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The folder once it is there.
    held: Option<Arc<Folder>>,
    work: u64,
}

impl Spool {
    /// Makes the folder of a session. Results that an interrupted session of the same work left there
    /// stay; trials without one are wanted again when the run asks for them.
    ///
    /// # Errors
    /// [`ClusterError::Spool`], and [`ClusterError::Foreign`] for a folder of others.
    pub fn create(folder: &Path, work: &Work) -> Result<Self, ClusterError> {
        let mut spool = Self::planned(folder);
        spool.make(work)?;
        Ok(spool)
    }

    /// A folder that is not made yet.
    pub(crate) fn planned(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), held: None, work: 0 }
    }

    /// Opens a folder that is there, if no other user can write or exchange it.
    fn held(folder: &Path) -> Result<Self, ClusterError> {
        let wrong = failed("open", folder);
        let foreign = || ClusterError::Foreign(folder.to_owned());
        let held = Folder::open_own(folder).map_err(|error| match error.kind() {
            // A link, a file, or the folder of another user.
            io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied => foreign(),
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => foreign(),
            _ => wrong(error),
        })?;
        if held.mode().map_err(wrong)? & 0o077 != 0 {
            return Err(foreign());
        }
        not_exchangeable("open", folder)?;
        Ok(Self { folder: folder.to_owned(), held: Some(Arc::new(held)), work: 0 })
    }

    /// As [`Self::create`], for a planned folder.
    pub(crate) fn make(&mut self, work: &Work) -> Result<(), ClusterError> {
        let spool = self;
        let folder = &spool.folder.clone();
        // A folder above that others can exchange is refused before anything is made in it.
        not_exchangeable("make", folder)?;
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(failed("make", folder))?,
        }
        *spool = Self::held(folder)?;
        spool.check_session()?;
        let number = random().map_err(failed("number", folder))?;
        let same = read::<Work>(&spool.path(WORK)).is_ok_and(|kept| kept == Some(work.clone()));
        if same {
            // Results that are there have the number of the session that was interrupted.
            spool.work = unless_torn(read(&spool.path(ID)))?.unwrap_or(number);
            remove(&spool.path(STOP))?;
            spool.rescue()?;
            // Emptied, not removed: workers that the interrupted session left may go on.
            [WANTED, TAKEN, BEATS].iter().try_for_each(|name| empty(&spool.path(name)))?;
        } else {
            spool.work = number;
            let old = [ID, WORK, WANTED, TAKEN, DONE, BEATS, LOGS, STOP, ASIDE];
            old.iter().try_for_each(|name| remove(&spool.path(name)))?;
        }
        // Disks stay locked: workers of an earlier session may write to them still.
        for name in [WANTED, TAKEN, DONE, BEATS, LOGS, DISKS] {
            let path = spool.path(name);
            fs::DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(&path)
                .map_err(failed("make", &path))?;
        }
        spool.write(&spool.path(WORK), work, true)?;
        spool.write(&spool.path(ID), &spool.work, true)
    }

    /// The job of a session that died, if there was one.
    pub(crate) fn earlier_job(&self) -> Option<String> {
        // Anybody could write a number into the folder of others.
        let held = Self::held(&self.folder).ok()?;
        read(&held.path(JOB)).ok().flatten()
    }

    /// Notes the job of this session.
    pub(crate) fn note_job(&self, job: &str) -> Result<(), ClusterError> {
        self.write(&self.path(JOB), &job, true)
    }

    /// Forgets the job, which is over.
    pub(crate) fn forget_job(&self) -> Result<(), ClusterError> {
        remove(&self.path(JOB))
    }

    /// Opens the folder of a session, as a worker.
    ///
    /// # Errors
    /// When it is the folder of others, or has no work.
    pub fn open(folder: &Path) -> Result<(Self, Work), ClusterError> {
        let mut spool = Self::held(folder)?;
        spool.work = spool.there(ID)?;
        let work = spool.there(WORK)?;
        if spool.is_other_work()? {
            return Self::open(folder);
        }
        Ok((spool, work))
    }

    /// Opens the folder of a session that lives, as a worker that may be there before it; looks each time
    /// after this long.
    ///
    /// # Errors
    /// As [`Self::open`], except that the folder is not there yet.
    pub fn wait(folder: &Path, look: std::time::Duration) -> Result<(Self, Work), ClusterError> {
        let mut before = None;
        loop {
            let now = match Self::planned(folder).is_gone() {
                true => None,
                false => {
                    let spool = Self::held(folder)?;
                    let heard = spool.path(ID).exists().then(|| spool.heard_session());
                    heard.transpose()?.flatten().map(|(count, _)| count)
                }
            };
            if now.is_some() && before.is_some() && now != before {
                return Self::open(folder);
            }
            before = now;
            std::thread::sleep(look);
        }
    }

    /// True if the folder has other work now: a run with the same name was started anew.
    pub(crate) fn is_other_work(&self) -> Result<bool, ClusterError> {
        Ok(read::<u64>(&self.path(ID))?.is_some_and(|work| work != self.work))
    }

    /// The results of a share, for [`Self::deliver`].
    pub(crate) fn delivery(&self, share: Share, task: &str, results: Vec<Outcome>) -> Delivery {
        Delivery { work: self.work, share, task: task.to_owned(), results, trial_ns: None }
    }

    /// True if there is no folder any more, because the run is over, or another one has its name.
    pub(crate) fn is_gone(&self) -> bool {
        match fs::symlink_metadata(&self.folder) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => self.held.as_ref().is_some_and(|held| !held.is_at(&self.folder)),
        }
    }

    /// Folder of the workers' logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        Self::logs_in(&self.folder)
    }

    /// Folder of the workers' logs in a session's folder.
    #[must_use]
    pub fn logs_in(folder: &Path) -> PathBuf {
        folder.join(LOGS)
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Offers a share to the workers, unless it is offered, or one has it or has run it.
    pub(crate) fn want(&self, share: &Share) -> Result<(), ClusterError> {
        let (name, wanted) = (name(share.index), self.path(WANTED));
        // In the order in which a share moves, so that it cannot be missed on its way.
        if wanted.join(&name).exists()
            || self.taken()?.iter().any(|(index, _)| *index == share.index)
            || self.path(DONE).join(&name).exists()
        {
            return Ok(());
        }
        self.offer(share)
    }

    /// Offers a share that was never offered before.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn offer(&self, share: &Share) -> Result<(), ClusterError> {
        let sheet = Sheet { work: self.work, share: share.clone(), lines: Vec::new() };
        self.put(&self.path(WANTED).join(name(share.index)), sheet.text(), false)
    }

    /// Numbers of the shares that no worker has taken yet.
    pub(crate) fn offered(&self) -> Result<Vec<u32>, ClusterError> {
        let names = names(&self.path(WANTED))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Withdraws the offer of a share without results; false if a worker has it, or had and left results.
    pub(crate) fn withdraw(&self, index: u32) -> Result<bool, ClusterError> {
        let (offered, aside) = (self.path(WANTED).join(name(index)), self.path(ASIDE));
        if !moved("withdraw", &offered, &aside)? {
            return Ok(false);
        }
        if unless_torn(read_sheet(&aside))?.is_some_and(|sheet| !sheet.lines.is_empty()) {
            fs::rename(&aside, &offered).map_err(failed("put back", &offered))?;
            return Ok(false);
        }
        remove(&aside).map(|()| true)
    }

    /// Takes the first share that is wanted, or a later one when others are faster: each that was lost to another
    /// worker doubles the number of shares among which the next one is chosen. It has the results of a worker that was
    /// lost.
    ///
    /// # Errors
    /// When the folder cannot be read or written, or has other work now.
    pub fn take(&self, task: &str) -> Result<Option<Sheet>, ClusterError> {
        let mut offered = names(&self.path(WANTED))?;
        let mut lost = 0_u32;
        while !offered.is_empty() {
            let among = offered.len().min(1 << lost.min(pace::MOST_CHOICES));
            let chosen = offered.remove(fnv(format!("{task} {lost}").as_bytes()) as usize % among);
            let to = self.path(TAKEN).join(format!("{chosen}.{task}"));
            // Over NFS a rename that succeeded may be answered with "no such file": what is there counts.
            match fs::rename(self.path(WANTED).join(&chosen), &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("take", &to)(error));
                }
                _ => {}
            }
            match self.whole(&to)? {
                Some(sheet) if sheet.work == self.work => return Ok(Some(sheet)),
                // The folder has other work since this worker began: the share is for another one, which may have come
                // before it was taken.
                Some(_) => {
                    let back = fs::rename(&to, self.path(WANTED).join(&chosen));
                    back.map_err(failed("put back", &to))?;
                    return Err(ClusterError::OtherWork(self.folder.clone()));
                }
                None => lost += 1,
            }
        }
        Ok(None)
    }

    /// Adds a result to a taken share, durably; false if the share was taken away from this worker.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn add(&self, index: u32, line: &Line) -> Result<bool, ClusterError> {
        let path = self.path(TAKEN).join(format!("{}.{}", name(index), line.task));
        let damaged = |source| ClusterError::Damaged { path: shown(&path), source };
        let text = line.text(self.work).map_err(damaged)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut file = match open(&path, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            opened => File::from(opened.map_err(io::Error::from).map_err(failed("write", &path))?),
        };
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        written.map(|()| true).map_err(failed("write", &path))
    }

    /// Delivers a taken share with the results that were added to it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn hand_over(&self, index: u32, task: &str) -> Result<(), ClusterError> {
        let name = name(index);
        let (from, to) = (self.path(TAKEN).join(format!("{name}.{task}")), self.path(DONE));
        // Not there: it was taken away, and its next worker delivers it.
        moved("deliver", &from, &to.join(name)).map(drop)
    }

    /// Delivers the results of a taken share, all or none.
    pub(crate) fn deliver(&self, delivery: &Delivery) -> Result<(), ClusterError> {
        let Delivery { work, share, task, results, trial_ns } = delivery;
        let line = |(trial, result): (&PlannedTrial, &Outcome)| Line {
            trial: trial.index,
            task: task.clone(),
            wall_ns: *trial_ns,
            result: result.clone(),
        };
        let lines = share.trials.iter().zip(results).map(line).collect();
        let (name, share) = (name(share.index), share.clone());
        let sheet = Sheet { work: *work, share, lines };
        // A result of the run that has the folder now stays.
        if !self.is_other_work()? {
            self.put(&self.path(DONE).join(&name), sheet.text(), true)?;
        }
        remove(&self.path(TAKEN).join(format!("{name}.{task}")))
    }

    /// The results of exactly these trials, and perhaps of others of their share, if they were delivered.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file in it is damaged.
    pub fn delivered(&self, share: &Share) -> Result<Option<Delivery>, ClusterError> {
        let path = self.path(DONE).join(name(share.index));
        let Some(sheet) = read_sheet(&path)? else { return Ok(None) };
        let all = &sheet.share.trials;
        if sheet.work != self.work || !share.trials.iter().all(|trial| all.contains(trial)) {
            // Of a plan that was made longer or shorter since, or by a worker of another run.
            return remove(&path).map(|()| None);
        }
        if !sheet.is_whole() {
            // A line was damaged after it was written.
            let wanted = self.path(WANTED).join(name(share.index));
            return fs::rename(&path, wanted).map(|()| None).map_err(failed("put back", &path));
        }
        Ok(Some(delivery_of(sheet)))
    }

    /// True if the results of a share are there, as far as its name tells.
    pub(crate) fn is_delivered(&self, index: u32) -> bool {
        self.path(DONE).join(name(index)).exists()
    }

    /// True if there is a result of any trial.
    pub(crate) fn has_results(&self) -> Result<bool, ClusterError> {
        if !names(&self.path(DONE))?.is_empty() {
            return Ok(true);
        }
        for folder in [WANTED, TAKEN].map(|name| self.path(name)) {
            for name in names(&folder)? {
                let sheet = unless_torn(read_sheet(&folder.join(name)))?;
                if sheet.is_some_and(|sheet| !sheet.lines.is_empty()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Shares whose results an interrupted session left.
    pub(crate) fn left(&self) -> Result<Vec<Share>, ClusterError> {
        let done = self.path(DONE);
        let mut left = Vec::new();
        for path in names(&done)?.into_iter().map(|name| done.join(name)) {
            match self.whole(&path)? {
                // The node may be well again.
                Some(sheet) if sheet.lines.iter().any(|line| line.result.is_err()) => {
                    remove(&path)?
                }
                sheet => left.extend(sheet.map(|sheet| sheet.share)),
            }
        }
        Ok(left)
    }

    /// Delivers the results of shares that are not whole, each by itself, also of one that was being withdrawn.
    fn rescue(&self) -> Result<(), ClusterError> {
        let mut paths = vec![self.path(ASIDE)];
        for folder in [WANTED, TAKEN].map(|name| self.path(name)).iter().filter(|one| one.exists())
        {
            paths.extend(names(folder)?.into_iter().map(|name| folder.join(name)));
        }
        for path in paths {
            let sheet = unless_torn(read_sheet(&path))?;
            let Some(Sheet { work, share, lines }) = sheet else { continue };
            let of = |line: &Line| share.trials.iter().find(|one| one.index == line.trial);
            let results = lines.into_iter().filter(|line| line.result.is_ok());
            for (trial, line) in results.filter_map(|line| Some((*of(&line)?, line))) {
                let path = self.path(DONE).join(self::name(trial.index));
                // What is delivered may have more results than this one.
                if !path.exists() {
                    let sheet = Sheet { work, share: trial.into(), lines: vec![line] };
                    self.put(&path, sheet.text(), true)?;
                }
            }
        }
        remove(&self.path(ASIDE))
    }

    /// The results that a taken share has so far; one whose file is torn is removed.
    pub(crate) fn begun(&self, index: u32, task: &str) -> Result<Option<Sheet>, ClusterError> {
        self.whole(&self.path(TAKEN).join(format!("{}.{task}", name(index))))
    }

    /// Reads the file of a share. One that is torn, as a power cut leaves it, is removed: its trials are wanted again.
    fn whole(&self, path: &Path) -> Result<Option<Sheet>, ClusterError> {
        match read_sheet(path) {
            Err(ClusterError::Damaged { .. }) => remove(path).map(|()| None),
            read => read,
        }
    }

    /// Removes results that the run has kept.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn kept(&self, index: u32) -> Result<(), ClusterError> {
        remove(&self.path(DONE).join(name(index)))
    }

    /// Taken shares with their workers.
    pub(crate) fn taken(&self) -> Result<Vec<(u32, String)>, ClusterError> {
        let split = |name: String| {
            let (index, task) = name.split_once('.')?;
            Some((index.parse().ok()?, task.to_owned()))
        };
        Ok(names(&self.path(TAKEN))?.into_iter().filter_map(split).collect())
    }

    /// Offers a share again whose worker is lost.
    pub(crate) fn put_back(&self, index: u32, task: &str) -> Result<(), ClusterError> {
        let from = self.path(TAKEN).join(format!("{}.{task}", name(index)));
        // Not there: the worker has delivered it just now.
        moved("put back", &from, &self.path(WANTED).join(name(index))).map(drop)
    }

    /// Offers a delivered share again, because the backend of its worker is broken. Results stay if they count alone.
    pub(crate) fn offer_again(&self, index: u32, is_kept: bool) -> Result<(), ClusterError> {
        let (name, aside) = (name(index), self.path(ASIDE));
        let done = self.path(DONE).join(&name);
        fs::rename(&done, &aside).map_err(failed("put back", &done))?;
        if let Some(mut sheet) = unless_torn(read_sheet(&aside))? {
            sheet.lines.retain(|line| is_kept && line.result.is_ok());
            self.put(&self.path(WANTED).join(name), sheet.text(), true)?;
        }
        remove(&aside)
    }

    /// Shows that a worker lives.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn beat(&self, name: &str, count: u64) -> Result<(), ClusterError> {
        self.write(&self.path(BEATS).join(name), &count, false)
    }

    /// Shows that the session lives, and how many workers it has.
    pub(crate) fn beat_session(&self, count: u64, workers: u32) -> Result<(), ClusterError> {
        self.write(&self.path(BEATS).join(SESSION), &(count, workers), false)
    }

    /// The number of the session's heartbeat, and of its workers.
    pub(crate) fn heard_session(&self) -> Result<Option<(u64, u32)>, ClusterError> {
        unless_torn(read(&self.path(BEATS).join(SESSION)))
    }

    /// The number of each worker's heartbeat by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn beats(&self) -> Result<BTreeMap<String, u64>, ClusterError> {
        let folder = self.path(BEATS);
        let mut beats = BTreeMap::new();
        for name in names(&folder)?.into_iter().filter(|name| name != SESSION) {
            // One that is torn is the last of a worker whose node lost its power, or of one that writes anew soon.
            if let Some(count) = unless_torn(read(&folder.join(&name)))? {
                beats.insert(name, count);
            }
        }
        Ok(beats)
    }

    /// Tells every worker to end.
    pub(crate) fn stop(&self) -> Result<(), ClusterError> {
        self.write(&self.path(STOP), &true, true)
    }

    /// True if workers shall end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.path(STOP).exists()
    }

    /// Removes the folder; nothing of it is needed after a run. What no session or worker wrote stays, and
    /// the folder with it.
    pub(crate) fn remove(&self) -> Result<(), ClusterError> {
        if self.is_gone() {
            return Ok(());
        }
        let all = names(&self.folder)?;
        if all.iter().all(|name| is_of_run(name)) {
            return remove(&self.folder);
        }
        let ours = all.iter().filter(|name| is_of_run(name));
        ours.map(|name| self.path(name)).try_for_each(|path| remove(&path))
    }

    /// Refuses a folder that was there before and is not the one of a session.
    fn check_session(&self) -> Result<(), ClusterError> {
        // A session that died while it made the folder left folders without files.
        let is_empty = |name: &String| {
            files::is_unfinished(name)
                || is_of_run(name) && names(&self.path(name)).is_ok_and(|inner| inner.is_empty())
        };
        if self.path(WORK).exists() || names(&self.folder)?.iter().all(is_empty) {
            Ok(())
        } else {
            Err(ClusterError::Taken(self.folder.clone()))
        }
    }

    /// The last lines of the newest log that says anything.
    pub(crate) fn last_words(&self) -> String {
        let folder = self.path(LOGS);
        let logs = names(&folder).unwrap_or_default().into_iter().map(|name| folder.join(name));
        let dated = logs.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)));
        let text = dated
            .filter_map(|(time, path)| {
                Some((time, seekwell_trust::read_text(&path, LOG_BYTES).ok()?))
            })
            .filter(|(_, text)| !text.trim().is_empty())
            .max_by_key(|(time, _)| *time)
            .map(|(_, text)| text);
        let Some(text) = text else { return "none".to_owned() };
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join(" ")
    }

    /// Path of an entry, by way of the folder's descriptor once it is held: for this process alone.
    fn path(&self, name: &str) -> PathBuf {
        self.held.as_ref().map_or_else(|| self.folder.join(name), |held| held.at(name))
    }

    /// Reads a file that has to be there.
    fn there<T: DeserializeOwned>(&self, name: &str) -> Result<T, ClusterError> {
        let path = self.path(name);
        let missing = || failed("read", &path)(io::Error::from(io::ErrorKind::NotFound));
        read(&path)?.ok_or_else(missing)
    }

    /// Writes a file that appears whole. One that is kept stays after a crash of this machine; another one is written
    /// anew by a session that is started again.
    fn write(
        &self,
        path: &Path,
        value: &impl Serialize,
        is_kept: bool,
    ) -> Result<(), ClusterError> {
        self.put(path, serde_json::to_vec(value), is_kept)
    }

    fn put(
        &self,
        path: &Path,
        text: serde_json::Result<Vec<u8>>,
        is_kept: bool,
    ) -> Result<(), ClusterError> {
        let damaged = |source| ClusterError::Damaged { path: shown(path), source };
        let text = text.map_err(damaged)?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let unfinished = self.path(&files::unfinished(&host, std::process::id(), &number));
        files::write(path, &unfinished, &text, is_kept)
    }
}

/// Refuses a folder in whose place other users can put another one.
fn not_exchangeable(action: &'static str, folder: &Path) -> Result<(), ClusterError> {
    match seekwell_trust::exchangeable(folder).map_err(failed(action, folder))? {
        Some(parent) => Err(ClusterError::Exchangeable { path: folder.to_owned(), parent }),
        None => Ok(()),
    }
}

/// A number that other users cannot guess.
fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// FNV-1a.
fn fnv(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |number: u64, byte| {
        (number ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// True for names that a session and its workers give, also to files that are not whole.
fn is_of_run(name: &str) -> bool {
    const SCRIPTS: [&str; 2] = ["task.sh", "allocation.sh"];
    let own = [ID, WORK, WANTED, TAKEN, DONE, BEATS, DISKS, LOGS, STOP, JOB, ASIDE];
    own.iter().chain(&SCRIPTS).any(|own| name == *own) || files::is_unfinished(name)
}

/// Longest log that is looked at.
const LOG_BYTES: u64 = 16 << 20;

/// Lines of a log in an error.
const LAST_LINES: usize = 5;

fn name(index: u32) -> String {
    format!("{index:08}")
}

/// The results of a share that is whole.
fn delivery_of(sheet: Sheet) -> Delivery {
    let Sheet { work, share, mut lines } = sheet;
    let place = |line: &Line| share.trials.iter().position(|trial| trial.index == line.trial);
    lines.sort_by_key(place);
    let times: Vec<u64> = lines.iter().filter_map(|line| line.wall_ns).collect();
    let trial_ns = times.iter().sum::<u64>().checked_div(times.len() as u64);
    let task = lines.last().map(|line| line.task.clone()).unwrap_or_default();
    // Of a backend that is broken, results may be missing before the error.
    let results = share.trials.iter().map(|trial| {
        let found = lines.iter().find(|line| line.trial == trial.index);
        found.map(|line| line.result.clone())
    });
    let results = results.map_while(|result| result).collect();
    Delivery { work, share, task, results, trial_ns }
}
