//! The undo list: what was changed on the host and how it was before, on disk before it is changed.
//!
//! Schedulers and queue settings outlive the process, the mount and even the loop device they were
//! made for. Every old value is therefore appended to a file and synced before the new one is
//! written, so that whoever is left can put it back: the agent at its end, the guardian when the
//! agent died, the next start of any command when both died.
//!
//! The file is one JSON object per line: a header, owners, changes, restorations. What was restored
//! is marked; the file goes when nothing is left.

use crate::error::{Error, Result};
use crate::export::Place;
use crate::loop_device::{Candidate, LoopLock};
use crate::state::{self, Draft};
use crate::sysfs::{self, System};
use content::{Change, Content, FORMAT, Line, Owner, load};
use owners::{is_alive, start_ticks, wait_until_gone};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) mod added;
mod allowed;
pub(crate) mod checked;
mod content;
mod layers;
mod lock;
mod owners;
mod put_back;
mod settable;

#[cfg(test)]
mod tests;

pub(crate) use allowed::{sysctl, sysctls};
pub use lock::{holder, lock};
pub(crate) use settable::{settable, settable_while_free};

/// Part of the name of the list of a served device.
pub const OF_SERVED: &str = "-served-";

/// Longest wait for the lock of a loop device whose settings go back.
const LOCKED_FOR_A_MOMENT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// Ending of the names of undo lists.
pub const EXTENSION: &str = "undo";

/// Something that can be put back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// `queue/ATTRIBUTE` of a disk or loop device.
    Queue {
        /// Kernel name.
        device: String,
        /// File in `queue`.
        attribute: String,
    },
    /// `queue/iosched/NAME`, which exists while this scheduler is in force.
    Tunable {
        /// Kernel name.
        device: String,
        /// Scheduler that it belongs to.
        scheduler: String,
        /// File in `queue/iosched`.
        name: String,
    },
    /// A value that `hdparm FLAG` shows and `hdparm FLAGvalue` sets.
    Hdparm {
        /// Kernel name.
        device: String,
        /// For example `-B`.
        flag: String,
    },
    /// Any other file of the kernel that is read and written as a text, for example a sysctl.
    File {
        /// Its path.
        path: PathBuf,
    },
    /// A disk that the kernel added for a run, put back by removing it.
    Added {
        /// Class below `/sys/class` that adds and removes it.
        class: String,
        /// Kernel name.
        device: String,
        /// Number that the kernel gave the disk; before it is known the highest of all disks.
        sequence: u64,
        /// True once the number of the disk itself is known.
        is_known: bool,
    },
    /// Everything above an image of a run, put back by taking it down.
    Above {
        /// Kernel name of the loop device that the image is attached to.
        device: String,
        /// Number that the kernel gave the disk.
        sequence: u64,
    },
    /// Mapped devices with a name that only a run has, put back by removing them.
    Mapped {
        /// The name, or the start of it before a hyphen.
        name: String,
    },
    /// An array with a number that was free, put back by stopping it as long as it has no devices.
    Array {
        /// Kernel name.
        device: String,
    },
    /// The settings of an NFS server that a run starts, mounted on a folder; put back by stopping the
    /// server and unmounting them.
    Server {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A directory that a trial makes in a claimed directory of an NFS server; put back by removing it
    /// with all that is in it.
    TrialDirectory(Place),
    /// A directory that the check of a replay makes on the filesystem of the recording; put back by removing it
    /// with all that is in it.
    CheckDirectory {
        /// Its path.
        path: PathBuf,
    },
    /// A memory group that did not exist; put back by removing it.
    CgroupDirectory {
        /// Its path.
        path: PathBuf,
    },
    /// An empty folder that did not exist; put back by removing it if it is still empty.
    Directory {
        /// Its path.
        path: PathBuf,
    },
}

impl Target {
    /// Kernel name of the device that it is a setting of, if it is one.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Queue { device, .. }
            | Self::Tunable { device, .. }
            | Self::Hdparm { device, .. } => Some(device),
            Self::Added { .. }
            | Self::Above { .. }
            | Self::Mapped { .. }
            | Self::Array { .. }
            | Self::Server { .. }
            | Self::TrialDirectory(_)
            | Self::File { .. }
            | Self::CgroupDirectory { .. }
            | Self::CheckDirectory { .. }
            | Self::Directory { .. } => None,
        }
    }

    /// Returns true for a device that goes, or whose settings go back, with the devices of a trial.
    #[must_use]
    pub fn ends_with_devices(&self) -> bool {
        self.device().is_some()
            || self.is_layer()
            || matches!(self, Self::Added { .. })
            || self.is_of_nfs()
    }

    /// Returns true for a server of a trial, and for a directory of a trial on a server.
    fn is_of_nfs(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::TrialDirectory(_))
    }

    /// Returns true for layers.
    fn is_layer(&self) -> bool {
        matches!(self, Self::Above { .. } | Self::Mapped { .. } | Self::Array { .. })
    }
}

/// An open undo list.
#[derive(Debug)]
pub struct Undo {
    system: System,
    list: Option<(PathBuf, File)>,
    content: Content,
    /// Locks of loop devices by name, until their settings are as they were.
    locks: BTreeMap<String, LoopLock>,
}

/// Result of [`restore`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Restored values, in words.
    pub done: Vec<String>,
    /// Values that could not be restored and how to do it by hand; the list stays for these.
    pub problems: Vec<String>,
    /// Errors of marking restored values in the list.
    pub unmarked: Vec<String>,
}

impl Undo {
    /// Begins a list; this process is its first owner. The name should end in `.undo`.
    ///
    /// # Errors
    /// When the file exists already or cannot be written.
    pub fn create(system: &System, path: &Path, run: &str) -> Result<Self> {
        if path.exists() {
            let exists = std::io::Error::from(ErrorKind::AlreadyExists);
            return Err(Error::io("make the undo list", path)(exists));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            state::folder(folder)?;
        }
        // Under its own name the list appears with header and owner: without them another command
        // would take it for the list of a run that died.
        let draft = Draft::beside(path);
        let list = Some((path.to_owned(), state::create(&draft.0)?));
        let mut undo = Self { list, ..Self::in_memory(system) };
        let boot = system.boot_id()?;
        undo.append(&[Line::Header { format: FORMAT, run: run.to_owned(), boot }])?;
        undo.add_owner(system.own_pid())?;
        renameat_with(CWD, &draft.0, CWD, path, RenameFlags::NOREPLACE)
            .map_err(Error::io("make the undo list", path))?;
        // The name must be on disk too, or a crash loses the list.
        state::sync_folder_of(path)?;
        Ok(undo)
    }

    /// Opens a list that another process made, to record more.
    ///
    /// # Errors
    /// When it is not there, of a newer format, or another user could have written it.
    pub fn open(system: &System, path: &Path) -> Result<Self> {
        let mut file = state::open_own(path)?;
        let content = load(&mut file, path)?;
        let list = Some((path.to_owned(), file));
        let mut undo = Self { list, content, ..Self::in_memory(system) };
        if undo.content.torn {
            undo.append_text("\n")?;
        }
        Ok(undo)
    }

    /// A list without a file, for places whose kernel ends with the trial.
    #[must_use]
    pub fn in_memory(system: &System) -> Self {
        let (content, locks) = (Content::default(), BTreeMap::new());
        Self { system: system.clone(), list: None, content, locks }
    }

    /// Its file, if it has one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.list.as_ref().map(|(path, _)| path.as_path())
    }

    /// Adds a process that will put things back itself: as long as one owner lives, [`pending`]
    /// does not name the list.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn add_owner(&mut self, pid: u32) -> Result<()> {
        let path = self.system.proc.join(pid.to_string()).join("stat");
        let text = sysfs::read(&path)?;
        let started_ticks = start_ticks(&text)
            .ok_or_else(|| Error::format(path, &text, "the fields of proc_pid_stat(5)"))?;
        let owner = Owner { pid, started_ticks };
        self.append(&[Line::Owner(owner)])?;
        self.content.owners.push(owner);
        Ok(())
    }

    /// Notes the present value of something before it is changed. What is already noted stays: its
    /// first old value is the one to go back to. Something that cannot be read now did not exist
    /// or does not apply; there is nothing to go back to, and nothing is noted, except for folders.
    ///
    /// Returns whether it is in the list.
    ///
    /// # Errors
    /// When the list cannot be written: then the change must not be made.
    pub fn record(&mut self, target: &Target) -> Result<bool> {
        self.record_all(std::slice::from_ref(target), false)?;
        Ok(self.content.has(target))
    }

    /// Notes everything that can be set on a queue, because most settings change others too: a
    /// limit or the write cache resets the read-ahead, a scheduler its tunables, the number of
    /// requests and the throttling of write-back. A list without a file is left alone: its kernel
    /// ends with the trial.
    ///
    /// # Errors
    /// When the list cannot be written or there is no such device.
    pub fn record_queue(&mut self, device: &str) -> Result<()> {
        self.record_settings(device, false)
    }

    /// The same for a loop device that is free now and will be attached: both attaching and
    /// detaching change its settings, so they go back when it is free again. Until then its lock is kept, so that no other
    /// Seekwell takes it for free and notes what this one has set. Settings of one that another process took
    /// are forgotten: they are that process's to put back, and may be its own by the time they are noted.
    ///
    /// # Errors
    /// When the list cannot be written or there is no such device.
    pub fn record_candidate(&mut self, candidate: Candidate<'_>) -> Result<()> {
        match candidate {
            Candidate::Free(device, lock) => {
                self.record_settings(device, true)?;
                self.locks.insert(device.to_owned(), lock.clone());
            }
            Candidate::Taken(device) => self.forget_free(device)?,
        }
        self.unlock();
        Ok(())
    }

    /// Keeps the locks of loop devices alone whose settings are still to be put back.
    fn unlock(&mut self) {
        let mut locks = std::mem::take(&mut self.locks);
        locks.retain(|device, _| self.free_of(device).next().is_some());
        self.locks = locks;
    }

    /// Locks the free loop devices among these for as long as they are put back. Those that another Seekwell has locked
    /// have that one's settings by now, and it has noted what was there before this run: their changes are returned apart.
    fn lock_free(&self, changes: Vec<Change>) -> (Vec<Change>, Vec<Change>, Vec<LoopLock>) {
        let mut locks = BTreeMap::new();
        for device in
            changes.iter().filter(|change| change.free).filter_map(|one| one.target.device())
        {
            if !self.locks.contains_key(device) && !locks.contains_key(device) {
                locks.insert(device.to_owned(), self.lock_patiently(device));
            }
        }
        let is_theirs = |change: &Change| {
            let device = change.target.device().filter(|_| change.free);
            device.is_some_and(|device| matches!(locks.get(device), Some(Ok(None))))
        };
        let (theirs, ours) = changes.into_iter().partition(is_theirs);
        (ours, theirs, locks.into_values().filter_map(|lock| lock.ok().flatten()).collect())
    }

    /// Another Seekwell that has just locked the device has time to read this list before its changes are forgotten.
    fn lock_patiently(&self, device: &str) -> std::io::Result<Option<LoopLock>> {
        let begun = Instant::now();
        loop {
            let lock = self.system.nodes.lock_loop(&self.system.dev, device)?;
            if lock.is_some() || begun.elapsed() >= LOCKED_FOR_A_MOMENT {
                return Ok(lock);
            }
            sleep(LOCK_POLL);
        }
    }

    fn forget_free(&mut self, device: &str) -> Result<()> {
        let targets: Vec<Target> =
            self.free_of(device).map(|change| change.target.clone()).collect();
        targets.iter().try_for_each(|target| self.forget(target))
    }

    /// Settings of a device that go back when it is free again.
    fn free_of(&self, device: &str) -> impl Iterator<Item = &Change> {
        let is_of_it =
            move |change: &&Change| change.free && change.target.device() == Some(device);
        self.content.changes.iter().filter(is_of_it)
    }

    fn record_settings(&mut self, device: &str, free: bool) -> Result<()> {
        if self.list.is_none() {
            return Ok(());
        }
        let settable = if free { settable_while_free } else { settable };
        let targets = settable(&self.system, device)?;
        self.record_all(&targets, free)
    }

    /// All of them with one write and one sync.
    fn record_all(&mut self, targets: &[Target], free: bool) -> Result<()> {
        let mut changes = Vec::new();
        for target in targets.iter().filter(|target| !self.content.has(target)) {
            allowed::check(&self.system, target, self.path())?;
            let Some(now) = put_back::present(&self.system, target)? else { continue };
            let old = if free { self.old_of_others(target).unwrap_or(now) } else { now };
            let disk =
                target.device().and_then(|device| put_back::disk_number(&self.system, device));
            changes.push(Change { target: target.clone(), old, disk, free, set: None });
        }
        self.append(&changes.iter().cloned().map(Line::Change).collect::<Vec<_>>())?;
        for change in changes {
            self.content.add(change);
        }
        Ok(())
    }

    /// Notes what a setting is about to be set to that goes back when its loop device is free again: another program may
    /// have attached that device by then, with this value.
    ///
    /// # Errors
    /// When the list cannot be written: then the change must not be made.
    pub(crate) fn note_set(&mut self, target: &Target, value: &str) -> Result<()> {
        let is_lasting = |change: &Change| change.free && put_back::outlives_its_loop(target);
        if self.content.changes.iter().any(|change| change.target == *target && is_lasting(change))
        {
            self.note_all(vec![(target.clone(), value.to_owned())])?;
        }
        Ok(())
    }

    /// Notes these values with one write and one sync.
    fn note_all(&mut self, values: Vec<(Target, String)>) -> Result<()> {
        let line = |(target, value): &(Target, String)| Line::Set {
            target: target.clone(),
            value: value.clone(),
        };
        self.append(&values.iter().map(line).collect::<Vec<_>>())?;
        for (target, value) in values {
            self.content.note_set(&target, value);
        }
        Ok(())
    }

    /// The value that another run of this boot has noted for a free loop device: it was killed, and what it set is still
    /// there. It leaves the device to whoever has locked it since.
    fn old_of_others(&self, target: &Target) -> Option<Option<String>> {
        let own = self.path()?;
        let boot = self.system.boot_id().ok()?;
        let others = lists(own.parent()?).into_iter().filter(|path| path != own);
        let contents =
            others.filter_map(|path| load(&mut state::open_own(&path).ok()?, &path).ok());
        let mut noted = contents
            .filter(|content| content.boot.as_ref() == Some(&boot))
            .flat_map(|content| content.changes)
            .filter(|change| change.free && change.target == *target);
        noted.next().map(|change| change.old)
    }

    /// Returns true if it is in the list.
    pub(crate) fn has(&self, target: &Target) -> bool {
        self.content.has(target)
    }

    /// Marks something as put back.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn forget(&mut self, target: &Target) -> Result<()> {
        self.append(&[Line::Restored { target: target.clone() }])?;
        self.content.forget(target);
        Ok(())
    }

    /// Puts back everything that the question is answered yes for, and marks it.
    ///
    /// # Errors
    /// When the list cannot be written. What cannot be put back is in [`Restored::problems`].
    pub fn restore_where(&mut self, wanted: impl Fn(&Target) -> bool) -> Result<Restored> {
        self.restore_changes(|change| wanted(&change.target))
    }

    /// Restores everything and removes the file, as [`restore`] does, while this list holds the locks of its loop devices.
    /// [`restore`] in the same process would take these devices for another process's and leave them alone.
    ///
    /// # Errors
    /// The same as [`restore`].
    pub fn restore_and_remove(&mut self) -> Result<Restored> {
        let locks = std::mem::take(&mut self.locks);
        match &self.list {
            Some((path, _)) => restore_with(&self.system, path, locks),
            None => self.restore_where(|_| true),
        }
    }

    /// Puts the settings of a device back that is still attached. Those that go back when a loop device is free again
    /// stay in the list; of them, the ones that outlive it are put back now too: the next process may note them in the
    /// moment in which it is free.
    ///
    /// # Errors
    /// When the list cannot be written. What cannot be put back is in [`Restored::problems`].
    pub fn restore_device(&mut self, device: &str) -> Result<Restored> {
        let mut restored =
            self.restore_changes(|change| !change.free && change.target.device() == Some(device))?;
        let free: Vec<Change> = self.free_of(device).cloned().collect();
        put_back::lasting(&self.system, &free, &mut restored);
        // Whoever attaches it next inherits nothing of the run.
        let noted = free.into_iter().filter(|change| change.set.is_some());
        self.note_all(noted.filter_map(|change| Some((change.target, change.old?))).collect())?;
        Ok(restored)
    }

    fn restore_changes(&mut self, wanted: impl Fn(&Change) -> bool) -> Result<Restored> {
        let chosen = |change: &&Change| wanted(change);
        let changes: Vec<Change> = self.content.changes.iter().filter(chosen).cloned().collect();
        let mut restored = Restored::default();
        let (legal, foreign): (Vec<Change>, Vec<Change>) = changes
            .into_iter()
            .partition(|change| allowed::check(&self.system, &change.target, self.path()).is_ok());
        restored.problems.extend(foreign.iter().map(|change| allowed::words(&change.target)));
        let (legal, theirs, _locks) = self.lock_free(legal);
        let mut done = put_back::all(&self.system, &legal, &mut restored);
        done.extend(theirs.into_iter().map(|change| change.target));
        // A full disk must not keep the other values from being put back. What cannot be marked is
        // put back once more some time, which changes nothing.
        let marks: Vec<Line> =
            done.iter().map(|target| Line::Restored { target: target.clone() }).collect();
        if let Err(error) = self.append(&marks) {
            restored.unmarked.push(error.to_string());
        }
        for target in &done {
            self.content.forget(target);
        }
        self.unlock();
        Ok(restored)
    }

    fn append(&mut self, lines: &[Line]) -> Result<()> {
        let Some((path, _)) = self.list.as_ref().filter(|_| !lines.is_empty()) else {
            return Ok(());
        };
        let mut text = String::new();
        for line in lines {
            let line = serde_json::to_string(line).map_err(Error::io("encode a line of", path))?;
            text.push_str(&line);
            text.push('\n');
        }
        self.append_text(&text)
    }

    /// One write call, because runner and agent append to the same file.
    fn append_text(&mut self, text: &str) -> Result<()> {
        let Some((path, file)) = &mut self.list else { return Ok(()) };
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(Error::io("append to the undo list", path.as_path()))
    }
}

/// Makes the private directory in which agents mount, in the folder of the undo lists.
///
/// # Errors
/// When it cannot be made, or belongs to another user.
pub fn mount_folder(folder: &Path) -> Result<PathBuf> {
    state::folder(folder)?;
    let path = folder.join("mnt");
    state::folder(&path)?;
    Ok(path)
}

/// Paths of the undo lists in a folder, sorted. No such folder is no list.
fn lists(folder: &Path) -> Vec<PathBuf> {
    let paths = sysfs::names(folder).into_iter().map(|name| folder.join(name));
    paths.filter(|path| path.extension().is_some_and(|found| found == EXTENSION)).collect()
}

/// The undo lists in a folder whose owners are all dead; sorted. No such folder is no list. Those
/// that cannot be believed or read are in [`unreadable`].
///
/// # Errors
/// When the folder cannot be made private, or belongs to another user.
pub fn pending(system: &System, folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    state::folder(folder)?;
    let boot = system.boot_id()?;
    let is_pending = |path: &PathBuf| {
        let content = state::open_own(path).and_then(|mut file| load(&mut file, path));
        content.is_ok_and(|content| {
            let same_boot = content.boot.as_deref() == Some(boot.as_str());
            !same_boot || !content.owners.iter().any(|owner| is_alive(system, *owner))
        })
    };
    Ok(lists(folder).into_iter().filter(is_pending).collect())
}

/// Removes drafts of lists whose processes were killed before they recorded anything.
pub fn remove_drafts(system: &System, folder: &Path) {
    let is_dead = |name: &String| {
        let maker = Draft::maker(name);
        maker.is_some_and(|pid| !system.proc.join(pid.to_string()).exists())
    };
    for name in sysfs::names(folder).into_iter().filter(is_dead) {
        // The next command tries again.
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// The undo lists in a folder that nothing is put back from, each with the reason: damaged, of a
/// newer release, or possibly written by another user. They stay where they are.
#[must_use]
pub fn unreadable(folder: &Path) -> Vec<Error> {
    lists(folder).iter().filter_map(|path| damage(path)).collect()
}

/// The reason why nothing is put back from a list.
fn damage(path: &Path) -> Option<Error> {
    match state::open_own(path) {
        Ok(mut file) => load(&mut file, path).err(),
        // Put back and removed by another process meanwhile.
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(error),
    }
}

/// Puts back everything in a list, newest folders first, schedulers before what they reset, verifies
/// each value, marks it done and removes the file when nothing is left. Values of another boot are
/// gone with that kernel and are only forgotten. May be called again, and by several at once.
///
/// # Errors
/// When the list cannot be read, written or, after a minute, locked. What cannot be put back is in
/// [`Restored::problems`].
pub fn restore(system: &System, path: &Path) -> Result<Restored> {
    restore_with(system, path, BTreeMap::new())
}

fn restore_with(
    system: &System,
    path: &Path,
    locks: BTreeMap<String, LoopLock>,
) -> Result<Restored> {
    match state::open_own(path) {
        // There is none, or another process was faster.
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Ok(Restored::default())
        }
        opened => restore_opened(system, path, opened?, locks),
    }
}

fn restore_opened(
    system: &System,
    path: &Path,
    mut list: File,
    locks: BTreeMap<String, LoopLock>,
) -> Result<Restored> {
    // Damage is found before anything is changed or removed.
    load(&mut list, path)?;
    if state::is_open_to_others(&list, path)? {
        // An earlier version made it: any user may hold a lock on it.
        state::take_over(path)?;
        list = state::open_own(path)?;
    }
    lock::lock_list(system, &list, path)?;
    // Whoever had the lock may have put everything back.
    if !path.exists() {
        return Ok(Restored::default());
    }
    wait_until_gone(system, &Undo::open(system, path)?.content.owners);
    // Opened again: an ending process may have recorded a last change.
    let mut undo = Undo { locks, ..Undo::open(system, path)? };
    let boot = system.boot_id()?;
    let same_boot = undo.content.boot.as_deref() == Some(boot.as_str());
    let restored = if same_boot {
        undo.restore_where(|_| true)?
    } else {
        undo.restore_where(|target| matches!(target, Target::Directory { .. }))?
    };
    if restored.problems.is_empty() {
        fs::remove_file(path).map_err(Error::io("remove the undo list", path))?;
        state::sync_folder_of(path)?;
    }
    Ok(restored)
}
