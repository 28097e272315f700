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
use crate::sysfs::{self, System};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

mod put_back;

#[cfg(test)]
mod tests;

/// Ending of the names of undo lists.
pub const EXTENSION: &str = "undo";

/// Raised when an older reader would misread the list.
const FORMAT: u32 = 1;

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
    /// What `hdparm FLAG` shows and `hdparm FLAGvalue` sets.
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
            Self::File { .. } | Self::CgroupDirectory { .. } | Self::Directory { .. } => None,
        }
    }
}

/// A process that will put things back itself while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    pid: u32,
    /// Start time in clock ticks since boot, so that a later process of the same number is not
    /// taken for it.
    started_ticks: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    Header {
        format: u32,
        run: String,
        boot: String,
    },
    Owner(Owner),
    Change {
        target: Target,
        old: Option<String>,
        /// Sequence number of the disk; absent for loop devices, whose settings outlive what is
        /// attached to them, and in lists of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<u64>,
    },
    Restored {
        target: Target,
    },
}

/// A change that has not been put back; `old` is `None` for what did not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub target: Target,
    pub old: Option<String>,
    /// Sequence number of the disk whose setting it is.
    pub disk: Option<u64>,
}

/// What a list says, lines applied in order.
#[derive(Debug, Default)]
struct Content {
    boot: Option<String>,
    format: Option<u32>,
    owners: Vec<Owner>,
    changes: Vec<Change>,
    torn: bool,
}

impl Content {
    fn parse(text: &str) -> Self {
        let mut content =
            Self { torn: !text.is_empty() && !text.ends_with('\n'), ..Self::default() };
        for line in text.lines() {
            // A line that was cut off by a crash was not followed by the change it announces.
            let Ok(line) = serde_json::from_str(line) else { continue };
            match line {
                Line::Header { format, boot, .. } => {
                    content.format = Some(format);
                    content.boot = Some(boot);
                }
                Line::Owner(owner) => content.owners.push(owner),
                Line::Change { target, old, disk } => {
                    content.add(Change { target, old, disk });
                }
                Line::Restored { target } => content.forget(&target),
            }
        }
        content
    }

    /// The first old value is the one from before the run.
    fn add(&mut self, change: Change) {
        if !self.changes.iter().any(|known| known.target == change.target) {
            self.changes.push(change);
        }
    }

    fn forget(&mut self, target: &Target) {
        self.changes.retain(|change| change.target != *target);
    }
}

/// An open undo list.
#[derive(Debug)]
pub struct Undo {
    system: System,
    list: Option<(PathBuf, File)>,
    content: Content,
}

/// What [`restore`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// What was put back, in words.
    pub done: Vec<String>,
    /// What could not be put back and how to do it by hand; the list stays for these.
    pub problems: Vec<String>,
    /// What was put back and could not be marked so in the list.
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
        // Under its own name the list appears with header and owner: without them another command
        // would take it for the list of a run that died.
        let draft = path.with_extension("draft");
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .open(&draft)
            .map_err(Error::io("make the undo list", &draft))?;
        let list = Some((path.to_owned(), file));
        let mut undo = Self { system: system.clone(), list, content: Content::default() };
        let boot = system.boot_id()?;
        undo.append(&Line::Header { format: FORMAT, run: run.to_owned(), boot })?;
        undo.add_owner(system.own_pid())?;
        renameat_with(CWD, &draft, CWD, path, RenameFlags::NOREPLACE)
            .map_err(Error::errno("make the undo list", path))?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // The name must be on disk too, or a crash loses the list.
        File::open(folder)
            .and_then(|opened| opened.sync_all())
            .map_err(Error::io("sync the folder", folder))?;
        Ok(undo)
    }

    /// Opens a list that another process made, to record more.
    ///
    /// # Errors
    /// When it is not there, or of a newer format.
    pub fn open(system: &System, path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(Error::io("open the undo list", path))?;
        let content = load(&mut file, path)?;
        let mut undo =
            Self { system: system.clone(), list: Some((path.to_owned(), file)), content };
        if undo.content.torn {
            undo.append_text("\n")?;
        }
        Ok(undo)
    }

    /// A list without a file, for places whose kernel ends with the trial.
    #[must_use]
    pub fn in_memory(system: &System) -> Self {
        Self { system: system.clone(), list: None, content: Content::default() }
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
        let started_ticks = start_ticks(&text).ok_or_else(|| Error::Format {
            path,
            content: sysfs::shortened(&text),
            expected: "the fields of proc_pid_stat(5)",
        })?;
        let owner = Owner { pid, started_ticks };
        self.append(&Line::Owner(owner))?;
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
        if self.content.changes.iter().any(|change| change.target == *target) {
            return Ok(true);
        }
        let Some(old) = put_back::present(&self.system, target)? else { return Ok(false) };
        let disk = target.device().and_then(|device| put_back::disk_number(&self.system, device));
        self.append(&Line::Change { target: target.clone(), old: old.clone(), disk })?;
        self.content.add(Change { target: target.clone(), old, disk });
        Ok(true)
    }

    /// Marks something as put back.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn forget(&mut self, target: &Target) -> Result<()> {
        self.append(&Line::Restored { target: target.clone() })?;
        self.content.forget(target);
        Ok(())
    }

    /// Puts back everything that the question is answered yes for, and marks it.
    ///
    /// # Errors
    /// When the list cannot be written. What cannot be put back is in [`Restored::problems`].
    pub fn restore_where(&mut self, wanted: impl Fn(&Target) -> bool) -> Result<Restored> {
        let chosen = |change: &&Change| wanted(&change.target);
        let changes: Vec<Change> = self.content.changes.iter().filter(chosen).cloned().collect();
        let mut restored = Restored::default();
        for change in put_back::in_order(&changes) {
            match put_back::put_back(&self.system, change) {
                Ok(what) => {
                    restored.done.extend(what);
                    // A full disk must not keep the other values from being put back. What cannot
                    // be marked is put back once more some time, which changes nothing.
                    if let Err(error) = self.forget(&change.target) {
                        self.content.forget(&change.target);
                        restored.unmarked.push(error.to_string());
                    }
                }
                Err(problem) => restored.problems.push(problem),
            }
        }
        Ok(restored)
    }

    fn append(&mut self, line: &Line) -> Result<()> {
        let Some((path, _)) = &self.list else { return Ok(()) };
        let mut text = serde_json::to_string(line).map_err(|source| Error::Io {
            action: "encode a line of",
            path: path.clone(),
            source: source.into(),
        })?;
        text.push('\n');
        self.append_text(&text)
    }

    /// One write call per line, because runner and agent append to the same file.
    fn append_text(&mut self, text: &str) -> Result<()> {
        let Some((path, file)) = &mut self.list else { return Ok(()) };
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(Error::io("append to the undo list", path.as_path()))
    }
}

fn load(file: &mut File, path: &Path) -> Result<Content> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::io("read the undo list", path))?;
    let content = Content::parse(&String::from_utf8_lossy(&bytes));
    if content.format.is_some_and(|format| format > FORMAT) {
        return Err(Error::Format {
            path: path.to_owned(),
            content: format!("format {}", content.format.unwrap_or_default()),
            expected: "format 1; a newer seekwell wrote this list and can restore it",
        });
    }
    Ok(content)
}

/// Field 22 of `/proc/PID/stat`; the name in field 2 may hold blanks and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// How long the last system call of a killed process may take: switching a scheduler waits until the
/// queue is empty.
const LAST_CALL: Duration = Duration::from_secs(30);
const LAST_CALL_POLL: Duration = Duration::from_millis(10);
/// `PF_EXITING` of `linux/sched.h`, in field 9 of `/proc/PID/stat`.
const EXITING: u64 = 4;
/// `SIGKILL` in the masks of `/proc/PID/status`.
const KILL_PENDING: u64 = 1 << 8;

/// Whether a process will still put things back: it is the one that was noted, and neither a zombie
/// nor on its way to become one.
fn is_alive(system: &System, owner: Owner) -> bool {
    let folder = system.proc.join(owner.pid.to_string());
    let Some(stat) = sysfs::read_optional(&folder.join("stat")) else { return false };
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
    let flags: u64 = fields.get(6).and_then(|text| text.parse().ok()).unwrap_or(0);
    let dead = matches!(fields.first(), Some(&("Z" | "X"))) || flags & EXITING != 0;
    let status = sysfs::read_optional(&folder.join("status")).unwrap_or_default();
    let killed = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")))
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask & KILL_PENDING != 0);
    start_ticks(&stat) == Some(owner.started_ticks) && !dead && !killed
}

/// Waits until the processes of a list that were killed are gone. One of them may still be inside
/// the system call that changes a setting: put back before that ends, it would be changed after all.
fn wait_until_gone(system: &System, owners: &[Owner]) {
    let begin = Instant::now();
    let still_there = |owner: &Owner| {
        let path = system.proc.join(owner.pid.to_string()).join("stat");
        sysfs::read_optional(&path).is_some_and(|stat| {
            let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
            start_ticks(&stat) == Some(owner.started_ticks) && !matches!(state, Some("Z" | "X"))
        })
    };
    let dying = |owner: &Owner| !is_alive(system, *owner) && still_there(owner);
    while owners.iter().any(dying) && begin.elapsed() < LAST_CALL {
        sleep(LAST_CALL_POLL);
    }
}

/// The undo lists in a folder whose owners are all dead; sorted. No such folder is no list.
///
/// # Errors
/// When the folder or a list cannot be read.
pub fn pending(system: &System, folder: &Path) -> Result<Vec<PathBuf>> {
    let boot = system.boot_id()?;
    let mut lists = Vec::new();
    for name in sysfs::names(folder) {
        let path = folder.join(name);
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io("open the undo list", &path)(error)),
        };
        // A list that cannot be read, or that a newer release wrote, is for that release.
        let Ok(content) = load(&mut file, &path) else { continue };
        let same_boot = content.boot.as_deref() == Some(boot.as_str());
        if !same_boot || !content.owners.iter().any(|owner| is_alive(system, *owner)) {
            lists.push(path);
        }
    }
    Ok(lists)
}

/// The right to change this machine: one run at a time. Two runs would measure each other, and the
/// second would take what the first has set for what there was before.
///
/// The lock lasts as long as a descriptor of it is open in any process, so that a guardian that
/// inherits it keeps the machine until everything is put back. `None` when somebody has it.
///
/// # Errors
/// When the folder or the file cannot be made or locked.
pub fn lock(folder: &Path) -> Result<Option<File>> {
    fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
    let path = folder.join("lock");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(Error::io("open the lock", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(Error::errno("lock", &path)(error)),
    }
}

/// Puts back everything in a list, newest folders first, schedulers before what they reset, verifies
/// each value, marks it done and removes the file when nothing is left. Values of another boot are
/// gone with that kernel and are only forgotten. May be called again, and by several at once.
///
/// # Errors
/// When the list cannot be read or written. What cannot be put back is in [`Restored::problems`].
pub fn restore(system: &System, path: &Path) -> Result<Restored> {
    let lock = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Restored::default()),
        Err(error) => return Err(Error::io("open the undo list", path)(error)),
    };
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(Error::errno("lock the undo list", path))?;
    if !path.exists() {
        return Ok(Restored::default());
    }
    wait_until_gone(system, &Undo::open(system, path)?.content.owners);
    // Opened anew: a process on its way out may have noted a last change.
    let mut undo = Undo::open(system, path)?;
    let boot = system.boot_id()?;
    let same_boot = undo.content.boot.as_deref() == Some(boot.as_str());
    let restored = if same_boot {
        undo.restore_where(|_| true)?
    } else {
        undo.restore_where(|target| matches!(target, Target::Directory { .. }))?
    };
    if restored.problems.is_empty() {
        fs::remove_file(path).map_err(Error::io("remove the undo list", path))?;
    }
    Ok(restored)
}
