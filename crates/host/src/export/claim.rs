//! Claims of directories of servers: a file in the directory, made by a person's command.
//!
//! It has the number of the directory's inode, so that a copy of the file claims nothing.

use super::{Reached, not_an_export, random, some};
use crate::error::{Error, Result};
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::shortened;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use seekwell_model::stack::Export;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the file.
pub const CLAIM: &str = ".seekwell-claim";
/// Largest file that is read.
const LONGEST: u64 = 4096;

/// A claim as it is in the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportClaim {
    /// Raised when an older reader would misread it.
    pub format: u32,
    /// Random digits.
    pub id: String,
    /// Server and path as they were claimed.
    pub from: String,
    /// Number of the directory's inode.
    pub inode: u64,
    /// The machine on which the command ran.
    pub machine: String,
    /// Time of the claim, in seconds since 1970.
    pub claimed_unix_s: u64,
}

/// Facts that a person sees before claiming a directory.
#[derive(Debug)]
pub struct ExportCard {
    reached: Reached,
    /// Entries of the directory that are not Seekwell's.
    pub strangers: Vec<String>,
    /// An earlier claim.
    pub claim: Option<ExportClaim>,
}

impl ExportCard {
    /// Looks at a directory of a server.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub fn of(from: &str) -> Result<Self> {
        Self::seen(Reached::newest(from)?)
    }

    pub(crate) fn seen(reached: Reached) -> Result<Self> {
        let strangers = reached.strangers()?;
        let claim = reached.claim()?;
        Ok(Self { reached, strangers, claim })
    }

    /// Address of the server and version of the protocol.
    #[must_use]
    pub fn server(&self) -> String {
        format!("{}, NFS {}", self.reached.address, self.reached.version)
    }

    /// The entries in a few words.
    #[must_use]
    pub fn content(&self) -> String {
        if self.strangers.is_empty() { "nothing".to_owned() } else { some(&self.strangers) }
    }

    /// Word to type: the last name of the path, or the server.
    #[must_use]
    pub fn word(&self) -> &str {
        let parts = Export::server_and_path(&self.reached.from);
        let (server, path) = parts.unwrap_or((&self.reached.from, ""));
        path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(server)
    }

    /// Reason why it cannot be claimed; `None` if it can.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        let refused = |kind, reason: String, remedy: &str| {
            Some(Refusal::new(Path::new(&self.reached.from), kind, reason, remedy))
        };
        if let Some(claim) = &self.claim {
            let reason = format!("it was claimed on {} as {}", claim.machine, claim.from);
            return refused(
                RefusalKind::Held,
                reason,
                "use it as it is, or release it first: seekwell release SERVER:/PATH",
            );
        }
        if !self.strangers.is_empty() {
            let reason = format!("it is not empty ({})", some(&self.strangers));
            return refused(RefusalKind::NotOurs, reason, "make an empty directory and claim that");
        }
        None
    }

    /// Makes the claim when what was typed is the word.
    ///
    /// # Errors
    /// The refusal, that the word is wrong, or that the server refuses the file.
    pub fn confirm(&self, typed: &str) -> Result<ExportClaim> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal.into());
        }
        if typed.trim() != self.word() {
            return Err(Error::Argument(format!(
                "'{}' is not '{}': nothing was claimed",
                shortened(typed),
                self.word()
            )));
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let claim = ExportClaim {
            format: 1,
            id: random()?,
            from: self.reached.from.clone(),
            inode: self.reached.inode()?,
            machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            claimed_unix_s: since.map_or(0, |since| since.as_secs()),
        };
        self.reached.write(&claim)?;
        Ok(claim)
    }
}

impl Reached {
    /// The path of the claim, for messages.
    fn claim_path(&self) -> String {
        format!("{}/{CLAIM}", self.from)
    }

    /// Number of the directory's inode.
    pub(super) fn inode(&self) -> Result<u64> {
        let found = fs::metadata(self.path()).map_err(Error::io("examine", &self.from))?;
        Ok(found.ino())
    }

    /// The claim in the directory; `None` without one. A symbolic link is none that anybody made here.
    pub(super) fn claim(&self) -> Result<Option<ExportClaim>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = self.claim_path();
        let file: File = match openat(&self.root, CLAIM, flags, Mode::empty()) {
            Ok(opened) => opened.into(),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(Error::io("open", path)(errno)),
        };
        let mut text = String::new();
        let is_file = file.metadata().map_err(Error::io("examine", &path))?.is_file();
        if is_file {
            file.take(LONGEST).read_to_string(&mut text).map_err(Error::io("read", &path))?;
        }
        let claim =
            serde_json::from_str(&text).ok().filter(|claim: &ExportClaim| claim.format == 1);
        let expected = "a claim; remove the file and claim the directory again";
        claim.map(Some).ok_or_else(|| Error::format(path, &text, expected))
    }

    fn write(&self, claim: &ExportClaim) -> Result<()> {
        let path = self.claim_path();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.root, CLAIM, flags, Mode::from_raw_mode(0o644));
        let mut file: File = opened.map_err(Error::io("make", &path))?.into();
        let text = serde_json::to_string_pretty(claim).map_err(Error::io("encode", &path))?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|source| {
            // Half a claim is none.
            let _ = unlinkat(&self.root, CLAIM, AtFlags::empty());
            Error::io("write", path)(source)
        })
    }
}

/// Takes a claim back. Returns it, or `None` when there was none.
///
/// # Errors
/// When the server does not answer, or the file is no claim or cannot be removed.
pub fn release(from: &str) -> Result<Option<ExportClaim>> {
    if !super::is_export(from) {
        return Err(not_an_export(from));
    }
    release_in(&Reached::newest(from)?)
}

pub(super) fn release_in(reached: &Reached) -> Result<Option<ExportClaim>> {
    let Some(claim) = reached.claim()? else { return Ok(None) };
    unlinkat(&reached.root, CLAIM, AtFlags::empty())
        .map_err(Error::io("remove", reached.claim_path()))?;
    Ok(Some(claim))
}
