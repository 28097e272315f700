//! A mailbox: `tmp`, `new` and `cur`, and the mails that are in `cur`.

use crate::error::WorkloadError;
use crate::mail::content::Content;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use seekwell_model::workloads::DeliverySync;
use std::collections::VecDeque;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Mark of a mail that was seen. Maildir has a colon here, which FAT does not allow in names.
const SEEN: &str = ";2,S";

/// Bytes that a fetch reads at a time.
const READ_BYTES: usize = 64 << 10;

/// A mail in `cur`.
#[derive(Debug)]
struct Mail {
    name: String,
    /// True if the measured step has delivered or fetched it.
    is_cached: bool,
}

/// A fetched mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// Its bytes.
    pub(super) bytes: u64,
    /// True if the step had it in memory before.
    pub(super) is_cached: bool,
}

/// A mailbox of one session.
#[derive(Debug)]
pub(super) struct Mailbox {
    path: PathBuf,
    /// Mails in `cur`, oldest first.
    seen: VecDeque<Mail>,
    /// Mails that the mailbox ever had, for their names.
    made: u64,
}

impl Mailbox {
    /// Makes an empty mailbox below `root`.
    pub(super) fn make(root: &Path, number: u64) -> Result<Self, WorkloadError> {
        let path = root.join(format!("user{number:06}"));
        for part in ["tmp", "new", "cur"] {
            let folder = path.join(part);
            fs::create_dir_all(&folder)
                .map_err(WorkloadError::file("make the directory", &folder))?;
        }
        Ok(Self { path, seen: VecDeque::new(), made: 0 })
    }

    /// True if no mail is in `cur`.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Mails in `cur`.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Adds a mail that was there before.
    pub(super) fn add_seen(
        &mut self,
        content: &mut Content,
        size: u64,
    ) -> Result<(), WorkloadError> {
        let name = format!("{}{SEEN}", self.next_name());
        let path = self.path.join("cur").join(&name);
        let file = create(&path)?;
        write(&file, &path, content, size)?;
        self.seen.push_back(Mail { name, is_cached: false });
        Ok(())
    }

    /// Delivers a mail: it is whole, and as durable as asked for, before it appears in `new`.
    pub(super) fn deliver(
        &mut self,
        content: &mut Content,
        size: u64,
        sync: DeliverySync,
    ) -> Result<(), WorkloadError> {
        let name = self.next_name();
        let draft = self.path.join("tmp").join(&name);
        let file = create(&draft)?;
        write(&file, &draft, content, size)?;
        if sync != DeliverySync::None {
            rustix::fs::fsync(&file).map_err(WorkloadError::file("sync", &draft))?;
        }
        drop(file);
        let new = self.path.join("new");
        let path = new.join(&name);
        fs::rename(&draft, &path).map_err(WorkloadError::file("rename", &draft))?;
        if sync == DeliverySync::Directory {
            let folder = fs::File::open(&new).map_err(WorkloadError::file("open", &new))?;
            folder.sync_all().map_err(WorkloadError::file("sync", &new))?;
        }
        Ok(())
    }

    /// Lists `new` and moves what is there to `cur`, marked as seen. Returns the number of mails moved.
    pub(super) fn take_in(&mut self) -> Result<u64, WorkloadError> {
        let new = self.path.join("new");
        let listed = fs::read_dir(&new).map_err(WorkloadError::file("list", &new))?;
        let mut names = Vec::new();
        for entry in listed {
            let entry = entry.map_err(WorkloadError::file("list", &new))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        let moved = names.len() as u64;
        for name in names {
            let (from, seen) = (new.join(&name), format!("{name}{SEEN}"));
            fs::rename(&from, self.path.join("cur").join(&seen))
                .map_err(WorkloadError::file("rename", &from))?;
            self.seen.push_back(Mail { name: seen, is_cached: true });
        }
        Ok(moved)
    }

    /// Opens a mail of `cur`, reads it whole and closes it.
    pub(super) fn fetch(
        &mut self,
        position: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Fetched, WorkloadError> {
        let mail = &mut self.seen[position];
        let is_cached = std::mem::replace(&mut mail.is_cached, true);
        let path = self.path.join("cur").join(&mail.name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(WorkloadError::file("open", &path))?;
        buffer.resize(READ_BYTES, 0);
        let mut bytes = 0;
        loop {
            let read = retry_on_intr(|| rustix::io::read(&file, buffer.as_mut_slice()))
                .map_err(WorkloadError::file("read", &path))?;
            if read == 0 {
                return Ok(Fetched { bytes, is_cached });
            }
            bytes += read as u64;
        }
    }

    /// Removes the oldest mail of `cur`.
    pub(super) fn remove_oldest(&mut self) -> Result<(), WorkloadError> {
        let Some(mail) = self.seen.pop_front() else { return Ok(()) };
        let path = self.path.join("cur").join(mail.name);
        fs::remove_file(&path).map_err(WorkloadError::file("remove", &path))
    }

    fn next_name(&mut self) -> String {
        self.made += 1;
        format!("{:010}.mail", self.made)
    }
}

fn create(path: &Path) -> Result<OwnedFd, WorkloadError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
        .map_err(WorkloadError::file("create", path))
}

/// Writes a mail of so many bytes.
fn write(
    file: &OwnedFd,
    path: &Path,
    content: &mut Content,
    size: u64,
) -> Result<(), WorkloadError> {
    content.file(size, |mut bytes| {
        while !bytes.is_empty() {
            let written = retry_on_intr(|| rustix::io::write(file, bytes))
                .and_then(|written| if written == 0 { Err(Errno::NOSPC) } else { Ok(written) })
                .map_err(WorkloadError::file("write to", path))?;
            bytes = &bytes[written..];
        }
        Ok(())
    })
}
