//! The folder that a session and its workers share.
//!
//! Files appear whole, by renaming. A share of the trials, which is one trial or a round, moves from `wanted` to
//! `taken` with one rename, which only one worker can do, also over NFS; its results appear in `done`.
//!
//! | path | made by | holds |
//! | --- | --- | --- |
//! | `work.json` | session | plan, environment, settings of the trials' backend |
//! | `id` | session | a number of that work: results of another one do not count |
//! | `wanted/INDEX` | session | a share that any worker may take |
//! | `taken/INDEX.TASK` | worker | the share that it runs |
//! | `done/INDEX` | worker | the records, or why there is none |
//! | `beats/NAME` | all | a number that grows while the writer lives |
//! | `disks/NAME` | worker | the one that may write to this disk, which several nodes may see |
//! | `logs/TASK.txt` | scheduler | words of a worker |
//! | `stop` | session | tells workers to end |

use crate::error::ClusterError;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::geteuid;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

mod disks;
#[cfg(test)]
mod tests;

pub use disks::Writer;

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

/// Times that a folder is emptied in which others still write.
const EMPTIED_AT_MOST: usize = 100;

/// Doublings of the number of trials among which a worker chooses.
const MOST_DOUBLINGS: u32 = 12;

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

/// Trials that one worker runs and delivers together: one trial, or a round where trials depend on their node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Number of the trial, or of the round.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Number of the work that the worker was given: two plans may have the same trial.
    pub(crate) work: u64,
    /// The share.
    pub share: Share,
    /// The worker.
    pub task: String,
    /// One for each trial; of a backend that is broken up to the error.
    pub results: Vec<Outcome>,
}

/// The shared folder.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
    work: u64,
}

impl Spool {
    /// Makes the folder of a session. Results that an interrupted session of the same work left there
    /// stay; trials that were taken then are wanted again when the run asks for them.
    ///
    /// # Errors
    /// [`ClusterError::Spool`], and [`ClusterError::Foreign`] for a folder of others.
    pub fn create(folder: &Path, work: &Work) -> Result<Self, ClusterError> {
        let mut spool = Self::planned(folder, work);
        spool.make(work)?;
        Ok(spool)
    }

    /// A folder that is not made yet.
    pub(crate) fn planned(folder: &Path, work: &Work) -> Self {
        Self { folder: folder.to_owned(), work: number_of(work) }
    }

    /// As [`Self::create`], for a planned folder.
    pub(crate) fn make(&mut self, work: &Work) -> Result<(), ClusterError> {
        let spool = self;
        let folder = &spool.folder.clone();
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => spool.check_owner()?,
            made => made.map_err(failed("make", folder))?,
        }
        let same = read::<Work>(&spool.path(WORK)).is_ok_and(|kept| kept == Some(work.clone()));
        if same {
            // Numbers of a plan may be read as their neighbours, which makes another text of it.
            spool.work = read(&spool.path(ID))?.unwrap_or(spool.work);
            remove(&spool.path(STOP))?;
            // Emptied, not removed: workers that the interrupted session left may go on.
            [WANTED, TAKEN, BEATS].iter().try_for_each(|name| empty(&spool.path(name)))?;
        } else {
            let old = [ID, WORK, WANTED, TAKEN, DONE, BEATS, LOGS, STOP];
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
        spool.write(&spool.path(WORK), work)?;
        spool.write(&spool.path(ID), &spool.work)
    }

    /// Opens the folder of a session, as a worker.
    ///
    /// # Errors
    /// When it is the folder of others, or has no work.
    pub fn open(folder: &Path) -> Result<(Self, Work), ClusterError> {
        let mut spool = Self { folder: folder.to_owned(), work: 0 };
        spool.check_owner()?;
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
            let spool = Self { folder: folder.to_owned(), work: 0 };
            let now = if spool.is_gone() || !spool.path(ID).exists() {
                None
            } else {
                spool.heard(SESSION)?
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
        Delivery { work: self.work, share, task: task.to_owned(), results }
    }

    /// True if there is no folder any more, because the run is over.
    pub(crate) fn is_gone(&self) -> bool {
        fs::symlink_metadata(&self.folder)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
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
        self.note(&wanted.join(name), share)
    }

    /// Offers these shares as [`Self::want`] does, and withdraws the offers of all others.
    pub(crate) fn want_only(&self, shares: &[Share]) -> Result<(), ClusterError> {
        let wanted: BTreeMap<String, &Share> =
            shares.iter().map(|share| (name(share.index), share)).collect();
        // As in `want`.
        let mut known: BTreeSet<String> = names(&self.path(WANTED))?.into_iter().collect();
        for offered in known.iter().filter(|offered| !wanted.contains_key(*offered)) {
            remove(&self.path(WANTED).join(offered))?;
        }
        known.extend(self.taken()?.into_iter().map(|(index, _)| name(index)));
        known.extend(names(&self.path(DONE))?);
        let new = wanted.into_iter().filter(|(name, _)| !known.contains(name));
        new.into_iter()
            .try_for_each(|(name, share)| self.note(&self.path(WANTED).join(name), share))
    }

    /// Takes the first share that is wanted, or a later one when others are faster: each that was lost to another
    /// worker doubles the number of shares among which the next one is chosen.
    pub(crate) fn take(&self, task: &str) -> Result<Option<Share>, ClusterError> {
        let mut offered = names(&self.path(WANTED))?;
        let mut lost = 0_u32;
        while !offered.is_empty() {
            let among = offered.len().min(1 << lost.min(MOST_DOUBLINGS));
            let chosen = offered.remove(fnv(format!("{task} {lost}").as_bytes()) as usize % among);
            let to = self.path(TAKEN).join(format!("{chosen}.{task}"));
            // Over NFS a rename that succeeded may be answered with "no such file": what is there counts.
            match fs::rename(self.path(WANTED).join(&chosen), &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("take", &to)(error));
                }
                _ => {}
            }
            if let Some(share) = read(&to)? {
                return Ok(Some(share));
            }
            lost += 1;
        }
        Ok(None)
    }

    /// Delivers the results of a taken share, all or none.
    pub(crate) fn deliver(&self, delivery: &Delivery) -> Result<(), ClusterError> {
        let name = name(delivery.share.index);
        self.write(&self.path(DONE).join(&name), delivery)?;
        remove(&self.path(TAKEN).join(format!("{name}.{}", delivery.task)))
    }

    /// The results of exactly these trials, and perhaps of others of their share, if they were delivered.
    pub(crate) fn delivered(&self, share: &Share) -> Result<Option<Delivery>, ClusterError> {
        let path = self.path(DONE).join(name(share.index));
        let holds = |delivery: &Delivery| {
            let all = &delivery.share.trials;
            delivery.work == self.work && share.trials.iter().all(|trial| all.contains(trial))
        };
        match read::<Delivery>(&path)? {
            Some(delivery) if holds(&delivery) => Ok(Some(delivery)),
            // Of a plan that was made longer or shorter since, or by a worker of another run.
            Some(_) => remove(&path).map(|()| None),
            None => Ok(None),
        }
    }

    /// Removes results that the run has kept.
    pub(crate) fn kept(&self, index: u32) -> Result<(), ClusterError> {
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
        match fs::rename(&from, self.path(WANTED).join(name(index))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("put back", &from)(error))
            }
            // Not there: the worker has delivered it just now.
            _ => Ok(()),
        }
    }

    /// Shows that the session or a worker lives.
    pub(crate) fn beat(&self, name: &str, count: u64) -> Result<(), ClusterError> {
        self.note(&self.path(BEATS).join(name), &count)
    }

    /// The number of one heartbeat.
    pub(crate) fn heard(&self, name: &str) -> Result<Option<u64>, ClusterError> {
        read(&self.path(BEATS).join(name))
    }

    /// The number of each heartbeat by name.
    pub(crate) fn beats(&self) -> Result<BTreeMap<String, u64>, ClusterError> {
        let folder = self.path(BEATS);
        let mut beats = BTreeMap::new();
        for name in names(&folder)? {
            if let Some(count) = read(&folder.join(&name))? {
                beats.insert(name, count);
            }
        }
        Ok(beats)
    }

    /// Tells every worker to end.
    pub(crate) fn stop(&self) -> Result<(), ClusterError> {
        self.write(&self.path(STOP), &true)
    }

    /// True if workers shall end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.path(STOP).exists()
    }

    /// Removes the folder; nothing of it is needed after a run.
    pub(crate) fn remove(&self) -> Result<(), ClusterError> {
        remove(&self.folder)
    }

    /// The last lines of the newest log that says anything.
    pub(crate) fn last_words(&self) -> String {
        let logs =
            names(&self.logs()).unwrap_or_default().into_iter().map(|name| self.logs().join(name));
        let dated = logs.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)));
        let text = dated
            .filter_map(|(time, path)| Some((time, fs::read_to_string(path).ok()?)))
            .filter(|(_, text)| !text.trim().is_empty())
            .max_by_key(|(time, _)| *time)
            .map(|(_, text)| text);
        let Some(text) = text else { return "none".to_owned() };
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join(" ")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a file that has to be there.
    fn there<T: DeserializeOwned>(&self, name: &str) -> Result<T, ClusterError> {
        let path = self.path(name);
        let missing = || failed("read", &path)(io::Error::from(io::ErrorKind::NotFound));
        read(&path)?.ok_or_else(missing)
    }

    fn check_owner(&self) -> Result<(), ClusterError> {
        let facts = fs::symlink_metadata(&self.folder).map_err(failed("open", &self.folder))?;
        let ours = facts.is_dir() && facts.uid() == geteuid().as_raw() && facts.mode() & 0o077 == 0;
        if ours { Ok(()) } else { Err(ClusterError::Foreign { path: self.folder.clone() }) }
    }

    /// Writes a file that appears whole and stays after a crash of this machine.
    fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
        self.put(path, value, true)
    }

    /// Writes a file that appears whole; a session that is started again writes it anew.
    fn note(&self, path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
        self.put(path, value, false)
    }

    fn put(&self, path: &Path, value: &impl Serialize, is_kept: bool) -> Result<(), ClusterError> {
        let wrong = failed("write", path);
        // Two writers of one file have different process numbers, or are on different nodes.
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let unfinished = self.folder.join(format!(".{host}-{}", std::process::id()));
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let unfinished = unfinished.with_extension(number);
        let text = serde_json::to_vec(value)
            .map_err(|source| ClusterError::Damaged { path: path.to_owned(), source })?;
        let written = || -> io::Result<()> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
            let mode = Mode::RUSR | Mode::WUSR;
            let mut file = File::from(open(&unfinished, flags | OFlags::NOFOLLOW, mode)?);
            file.write_all(&text)?;
            if is_kept {
                file.sync_all()?;
            }
            fs::rename(&unfinished, path)
        };
        written().map_err(|error| {
            // What is half written is of no use, and its name is ours alone.
            let _ = fs::remove_file(&unfinished);
            wrong(error)
        })
    }
}

/// Number of a work, from its text.
fn number_of(work: &Work) -> u64 {
    fnv(&serde_json::to_vec(work).unwrap_or_default())
}

/// FNV-1a.
fn fnv(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |number: u64, byte| {
        (number ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Lines of a log in an error.
const LAST_LINES: usize = 5;

fn name(index: u32) -> String {
    format!("{index:08}")
}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> ClusterError {
    let path = path.to_owned();
    move |source| ClusterError::Spool { action, path: path.clone(), source }
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, ClusterError> {
    let wrong = failed("read", folder);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(&wrong)? {
        names.push(entry.map_err(&wrong)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Removes all files of a folder, which may not be there.
fn empty(folder: &Path) -> Result<(), ClusterError> {
    if !folder.exists() {
        return Ok(());
    }
    names(folder)?.iter().try_for_each(|name| remove(&folder.join(name)))
}

/// Reads a file; `None` if there is none.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ClusterError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|source| ClusterError::Damaged { path: path.to_owned(), source })
}

/// Removes a file or a folder, which may be gone already.
///
/// A worker may write its heartbeat into a folder while it is emptied; the folder is then emptied
/// again, at most [`EMPTIED_AT_MOST`] times.
fn remove(path: &Path) -> Result<(), ClusterError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
    if !is_folder {
        return unless_gone(path, fs::remove_file(path));
    }
    // Under another name no worker finds it to write into it.
    let mut name = path.as_os_str().to_owned();
    name.push(".removed");
    let aside = PathBuf::from(name);
    let path = if fs::rename(path, &aside).is_ok() { &*aside } else { path };
    let mut removed = fs::remove_dir_all(path);
    for _ in 1..EMPTIED_AT_MOST {
        let is_filled = |error: &io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
        if !removed.as_ref().is_err_and(is_filled) {
            break;
        }
        removed = fs::remove_dir_all(path);
    }
    unless_gone(path, removed)
}

fn unless_gone(path: &Path, removed: io::Result<()>) -> Result<(), ClusterError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
