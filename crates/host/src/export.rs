//! A directory that another machine exports by NFS: its claim, and the directory of a trial inside it.
//!
//! A claimed directory belongs to Seekwell, but nothing in it is removed except the directory that a
//! trial made for itself. That one has a random name, and is removed by way of a mount without a mount
//! point, which ends with the process that has it open.

use crate::detached::detached;
use crate::error::{Error, Result};
use crate::refusal::{Refusal, RefusalKind};
use claim::{CLAIM, ExportClaim};
use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use seekwell_model::filesystems::NFS_CLIENT;
use seekwell_model::stack::Export;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

pub mod claim;
#[cfg(test)]
mod tests;

const PORT: u16 = 2049;
/// The version that needs no state in the server. Its locks are local: no other client has the files.
pub(crate) const STATELESS: &str = "3";
/// Versions in the order in which a command tries them.
const VERSIONS: [&str; 4] = ["4.2", "4.1", "4.0", STATELESS];
/// Start of the names of trial directories; random digits follow.
const PREFIX: &str = "seekwell-trial-";
/// Random bytes of a name or of a claim.
const RANDOM: usize = 16;
/// Names that a server itself puts into directories.
const OF_SERVERS: [&str; 3] = ["lost+found", ".snapshot", ".zfs"];
/// Options of a mount that must not wait for a dead server: a minute at most.
const IMPATIENT: [&str; 3] = ["soft", "timeo=100", "retrans=1"];

/// A reachable directory of a server, mounted without a mount point.
#[derive(Debug)]
pub struct Reached {
    from: String,
    address: IpAddr,
    version: String,
    root: OwnedFd,
}

/// The directory that a trial makes in a claimed one, with everything needed to remove it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Server and path of the claimed directory.
    pub from: String,
    /// Address of the server.
    pub address: IpAddr,
    /// Version of the protocol.
    pub version: String,
    /// Digits of the claim.
    pub claim: String,
    /// Name of the directory.
    pub name: String,
}

impl Place {
    /// A new place in a claimed directory. Nothing is made.
    ///
    /// # Errors
    /// As [`Reached::check`].
    pub(crate) fn new(reached: &Reached) -> Result<Self> {
        let claim = reached.check()?.id;
        let name = format!("{PREFIX}{}", random()?);
        let (from, version) = (reached.from.clone(), reached.version.clone());
        Ok(Self { from, address: reached.address, version, claim, name })
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// When it is there, or the server refuses.
    pub(crate) fn make(&self, reached: &Reached) -> Result<()> {
        let path = format!("{}/{}", self.from, self.name);
        let made = mkdirat(&reached.root, &self.name, Mode::from_raw_mode(0o755));
        made.map_err(|errno| match errno {
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Error::Argument(format!(
                "cannot make {path}: {errno}; export it rw, and with no_root_squash or writable for the user that root becomes"
            )),
            other => Error::io("make", path)(other),
        })
    }

    /// Removes the directory of a trial that has ended. Returns what was done; the error says what to do
    /// by hand.
    pub(crate) fn remove(&self) -> std::result::Result<Option<String>, String> {
        let path = format!("{}/{}", self.from, self.name);
        let reached = Reached::at(&self.from, self.address, &self.version);
        match reached.and_then(|reached| reached.remove(&self.claim, &self.name)) {
            Ok(true) => Ok(Some(format!("removed {path}"))),
            Ok(false) => Ok(None),
            Err(error) => Err(format!("cannot remove {path}: {error}; remove it by hand")),
        }
    }

    /// Returns true for one that a trial can have made.
    pub(crate) fn is_allowed(&self) -> bool {
        is_export(&self.from)
            && VERSIONS.contains(&self.version.as_str())
            && is_random(&self.claim)
            && is_trial_name(&self.name)
    }

    /// Type and source of its mounts.
    pub(crate) fn source(&self) -> Result<(&'static str, PathBuf)> {
        Ok((kind(&self.version), source(&self.from, self.address)?))
    }

    /// Options of its mounts.
    pub(crate) fn options(&self) -> Vec<String> {
        client_options(self.address, &self.version)
    }
}

impl Reached {
    /// Mounts a directory without a mount point.
    ///
    /// # Errors
    /// When the server has no address, does not answer or refuses.
    pub fn mount(from: &str, version: &str) -> Result<Self> {
        Self::at(from, address(from)?, version)
    }

    /// The same with the newest version that the server takes.
    ///
    /// # Errors
    /// The error of the newest version.
    pub fn newest(from: &str) -> Result<Self> {
        let address = address(from)?;
        let mut first = None;
        for version in VERSIONS {
            match Self::at(from, address, version) {
                Ok(reached) => return Ok(reached),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| not_an_export(from)))
    }

    fn at(from: &str, address: IpAddr, version: &str) -> Result<Self> {
        let mut options = client_options(address, version);
        options.extend(IMPATIENT.map(str::to_owned));
        let mounted = detached(kind(version), NFS_CLIENT, &source(from, address)?, &options)?;
        let root = openat(&mounted, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Error::io("open", from))?;
        Ok(Self { from: from.to_owned(), address, version: version.to_owned(), root })
    }

    /// A directory of this machine in place of one of a server.
    #[cfg(test)]
    pub(crate) fn of_folder(folder: &Path, from: &str) -> Self {
        let address = IpAddr::from([127, 0, 0, 1]);
        let root = File::open(folder).unwrap().into();
        Self { from: from.to_owned(), address, version: VERSIONS[0].to_owned(), root }
    }

    /// A path to it, as long as it is open.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()))
    }

    /// Names in it that belong to neither Seekwell nor the server, sorted.
    fn strangers(&self) -> Result<Vec<String>> {
        let failed = |source: io::Error| Error::io("list", &self.from)(source);
        let mut found = Vec::new();
        for entry in fs::read_dir(self.path()).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if name != CLAIM && !is_trial_name(&name) && !OF_SERVERS.contains(&name.as_str()) {
                found.push(name);
            }
        }
        found.sort();
        Ok(found)
    }

    /// The claim, if labs may use the directory.
    ///
    /// # Errors
    /// [`Error::Refused`] without a claim, with one of another directory, and where other files are.
    pub fn check(&self) -> Result<ExportClaim> {
        let refused = |kind, reason: String, remedy: String| {
            Error::from(Refusal::new(Path::new(&self.from), kind, reason, remedy))
        };
        let Some(claim) = self.claim()? else {
            let reason = "it has no claim, so labs do not use it".to_owned();
            let remedy = format!("claim it with: seekwell claim {}", self.from);
            return Err(refused(RefusalKind::NotClaimed, reason, remedy));
        };
        if claim.inode != self.inode()? {
            let reason = format!("its claim was made for another directory ({})", claim.from);
            let remedy =
                format!("remove {CLAIM} from it, then claim it: seekwell claim {}", self.from);
            return Err(refused(RefusalKind::Changed, reason, remedy));
        }
        let strangers = self.strangers()?;
        if !strangers.is_empty() {
            let reason = format!("it has files that are not Seekwell's ({})", some(&strangers));
            let remedy = "move them away, or claim an empty directory".to_owned();
            return Err(refused(RefusalKind::NotOurs, reason, remedy));
        }
        Ok(claim)
    }

    /// Removes the directory of a trial with all that is in it. Returns false if it is not there.
    ///
    /// # Errors
    /// When the directory is no longer claimed by this claim, or the server refuses.
    fn remove(&self, claim: &str, name: &str) -> Result<bool> {
        let path = self.path().join(name);
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            found => found.map_err(Error::io("examine", format!("{}/{name}", self.from)))?,
        };
        if self.claim()?.is_none_or(|now| now.id != claim || self.inode().ok() != Some(now.inode)) {
            let text = format!("{} has another claim than at the trial", self.from);
            return Err(Error::Argument(text));
        }
        if !found.is_dir() {
            return Err(Error::Argument(format!("{name} in {} is not a directory", self.from)));
        }
        // Follows no symbolic links, and leaves other mounts alone.
        fs::remove_dir_all(&path).map_err(Error::io("remove", format!("{}/{name}", self.from)))?;
        Ok(true)
    }
}

/// Returns true for a text such as `nas:/srv/bench`, which is no path of this machine.
#[must_use]
pub fn is_export(text: &str) -> bool {
    !text.starts_with('/') && Export::server_and_path(text).is_some()
}

/// Checks that labs may use these directories, each with one version.
///
/// # Errors
/// When a server does not answer, and as [`Reached::check`].
pub fn check(export: &Export) -> Result<()> {
    Reached::mount(&export.from, &export.version)?.check().map(drop)
}

fn is_trial_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(is_random)
}

fn is_random(text: &str) -> bool {
    text.len() == 2 * RANDOM && text.bytes().all(|one| matches!(one, b'0'..=b'9' | b'a'..=b'f'))
}

/// Random hexadecimal digits.
pub(crate) fn random() -> Result<String> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; RANDOM];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Error::io("read", path))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A few of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

fn not_an_export(from: &str) -> Error {
    Error::Argument(format!("'{from}' is not a directory of a server; write SERVER:/PATH"))
}

/// The first address of the server.
fn address(from: &str) -> Result<IpAddr> {
    let (server, _) = Export::server_and_path(from).ok_or_else(|| not_an_export(from))?;
    let action = format!("find the address of the server '{server}'");
    let found = (server, PORT)
        .to_socket_addrs()
        .map_err(Error::call(action, "check its name, or write its address"))?;
    let mut addresses: Vec<IpAddr> = found.map(|one| one.ip()).collect();
    // As the kernel's own tools do: IPv4 where a server has both.
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| not_an_export(from))
}

fn source(from: &str, address: IpAddr) -> Result<PathBuf> {
    let (_, path) = Export::server_and_path(from).ok_or_else(|| not_an_export(from))?;
    Ok(match address {
        IpAddr::V4(address) => format!("{address}:{path}").into(),
        IpAddr::V6(address) => format!("[{address}]:{path}").into(),
    })
}

/// Type of the mounts of a version.
pub(crate) fn kind(version: &str) -> &'static str {
    if version == STATELESS { "nfs" } else { "nfs4" }
}

/// Options of every mount. Its caches are its own: those of other mounts of the server stay out.
fn client_options(address: IpAddr, version: &str) -> Vec<String> {
    let protocol = if address.is_ipv6() { "tcp6" } else { "tcp" };
    let mut options = vec![format!("vers={version}"), format!("proto={protocol}")];
    options.push(format!("addr={address}"));
    options.push("nosharecache".to_owned());
    if version == STATELESS {
        options.extend(["nolock".to_owned(), format!("mountproto={protocol}")]);
        options.extend([format!("mountaddr={address}"), "mountvers=3".to_owned()]);
    }
    options
}
