//! NFS between the workload and a filesystem: a server of this kernel, a client of this kernel, and
//! the link between them.
//!
//! The link is the loopback device with a delay and a rate (netem). The server's caches of clients
//! and exports are filled beforehand, so that it asks no daemon. On a host, server and link are those of
//! a network namespace of the trial: in any other the server and the link would be that machine's.

use crate::error::{Error, Result};
use crate::export::{STATELESS, kind};
use crate::filesystem::{mount_as, unmount};
use crate::nfs_kept::quoted;
use crate::program;
use crate::sysfs::{System, write};
use rpc::Service;
use seekwell_model::stack::Nfs;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

mod place;
mod rpc;
#[cfg(test)]
mod tests;

pub use place::{FOLDER, Place, rights};

/// Files of its caches.
const CACHES: &str = "/proc/net/rpc";
const KERNEL: &str = "CONFIG_NFS_V3, CONFIG_NFS_V4_2 and CONFIG_NFSD_V4";
/// Debian package of `ip` and `tc`.
const PACKAGE: &str = "iproute2";
/// The only client and server.
const ADDRESS: &str = "127.0.0.1";
const PORT: u16 = 2049;
const MOUNT_PORT: u16 = 20_048;
/// Bytes of the longest handle of NFS v3.
const HANDLE: usize = 64;
/// As many as rpc.nfsd starts by default.
const THREADS: u32 = 8;
/// The end of time of the caches: entries never expire, and flushing removes all.
const FOREVER: &str = "2147483647";
/// Bytes of a packet on an Ethernet.
const MTU: &str = "1500";
/// Bytes of the largest read or write that the server takes: as on a machine with some GiB of memory.
const BLOCK: u32 = 1 << 20;
/// Time in which clients of an earlier server could come back, and new ones wait: the shortest that
/// the kernel takes.
const GRACE: Duration = Duration::from_secs(10);
/// Tells whether that time is over, and ends it.
const END_OF_GRACE: &str = "v4_end_grace";
const POLL: Duration = Duration::from_millis(100);
/// Packets that the link queues: none is lost.
const QUEUE: &str = "100000";

/// `NFSEXP_INSECURE_PORT`, `NFSEXP_GATHERED_WRITES`, `NFSEXP_NOSUBTREECHECK` and `NFSEXP_FSID` of the
/// kernel: rw, no_root_squash, wdelay, no_subtree_check, fsid=0.
const EXPORT_FLAGS: u32 = 0x0002 | 0x0020 | 0x0400 | 0x2000;
/// `NFSEXP_ASYNC`.
const EXPORT_ASYNC: u32 = 0x0010;

/// A mounted export, and its server, which serves until [`NfsMount::unmount`].
#[derive(Debug)]
pub struct NfsMount {
    target: PathBuf,
    place: Place,
    /// The services that [`STATELESS`] needs.
    services: Vec<Service>,
}

/// Exports the filesystem mounted on `base` over the link, and mounts the export on `target`.
///
/// # Errors
/// When the kernel has no NFS or refuses it.
pub fn mount(
    system: &System,
    nfs: &Nfs,
    place: &Place,
    base: &Path,
    target: &Path,
) -> Result<NfsMount> {
    for words in link_commands(nfs) {
        let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        program::run(system, &words[0], PACKAGE, &arguments)?;
    }
    let mut mount =
        NfsMount { target: target.to_owned(), place: place.clone(), services: Vec::new() };
    let source = format!("{ADDRESS}:/");
    let mounted = mount.start(nfs, base).and_then(|()| {
        mount_as(kind(&nfs.version), KERNEL, Path::new(&source), target, &client_options(nfs))
    });
    if let Err(error) = mounted {
        // Its error says more than one of stopping a server that did not start.
        let _ = mount.stop();
        return Err(error);
    }
    Ok(mount)
}

impl NfsMount {
    /// Starts the server, and waits until it answers new clients.
    fn start(&mut self, nfs: &Nfs, base: &Path) -> Result<()> {
        let settings = self.place.settings.clone();
        if nfs.version == STATELESS {
            self.services.push(Service::registry()?);
            if self.place.is_shared {
                self.services.push(Service::registry_at_its_port()?);
            }
        }
        for (file, text) in server_files(nfs, &self.place, base) {
            write(&file, &text)?;
        }
        if nfs.version == STATELESS {
            self.services.push(Service::mounts(root_handle(&settings, base)?)?);
        }
        if self.place.is_shared {
            end_grace(&settings)?;
        }
        await_grace(&settings)
    }

    /// Stops the server and empties its caches, which hold the exported filesystem.
    fn stop(self) -> Result<()> {
        write(&self.place.settings.join("threads"), "0\n")?;
        for cache in ["nfsd.fh", "nfsd.export"] {
            write(&Path::new(CACHES).join(cache).join("flush"), &format!("{FOREVER}\n"))?;
        }
        Ok(())
    }

    /// Folder that the export is mounted on.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Unmounts the export and stops the server, which lets go of its filesystem.
    ///
    /// # Errors
    /// When it is still in use after `timeout`.
    pub fn unmount(self, timeout: Duration) -> Result<()> {
        unmount(&self.target, timeout)?;
        self.stop()
    }
}

/// Asks the server for the handle of the exported folder.
fn root_handle(settings: &Path, base: &Path) -> Result<Vec<u8>> {
    let path = settings.join("filehandle");
    let failed = |source: io::Error| Error::io("ask for a handle", &path)(source);
    let mut file = fs::File::options().read(true).write(true).open(&path).map_err(failed)?;
    file.write_all(format!("seekwell {} {HANDLE}\n", quoted(base)).as_bytes()).map_err(failed)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    bytes_of(&text).ok_or_else(|| Error::Format {
        path: path.clone(),
        content: text.chars().take(80).collect(),
        expected: "a handle in hexadecimal digits",
    })
}

/// Bytes of the server's text: `\x`, then two digits each.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end().strip_prefix("\\x")?;
    let whole = !digits.is_empty() && digits.len() % 2 == 0 && digits.is_ascii();
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    whole.then(|| (0..digits.len()).step_by(2).map(byte).collect())?
}

/// The commands and settings of [`mount`], one text each, for the record.
#[must_use]
pub fn described(nfs: &Nfs) -> Vec<String> {
    let mut lines: Vec<String> = link_commands(nfs).map(|words| words.join(" ")).to_vec();
    let commit = if nfs.is_async { "async" } else { "sync" };
    lines.push(format!("export rw,{commit},wdelay,no_root_squash,no_subtree_check,fsid=0"));
    lines.push(format!("mount -t {} -o {}", kind(&nfs.version), client_options(nfs).join(",")));
    lines
}

/// Commands that make the loopback device a link.
fn link_commands(nfs: &Nfs) -> [Vec<String>; 2] {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let (delay_us, rate) = (nfs.delay.0 as f64 / 1e3, nfs.rate_mbit);
    [
        words(&format!("ip link set dev lo mtu {MTU} up")),
        words(&format!(
            "tc qdisc replace dev lo root netem delay {delay_us}us rate {rate}mbit limit {QUEUE}"
        )),
    ]
}

/// Files to write in this order, each with its text.
fn server_files(nfs: &Nfs, place: &Place, base: &Path) -> Vec<(PathBuf, String)> {
    let server = |name: &str| place.settings.join(name);
    let cache = |name: &str| Path::new(CACHES).join(name).join("channel");
    let base = quoted(base);
    let flags = EXPORT_FLAGS | if nfs.is_async { EXPORT_ASYNC } else { 0 };
    let third = if nfs.version == STATELESS { '+' } else { '-' };
    // All servers of a machine have one largest block: that of a host stays.
    let block = (!place.is_shared).then(|| (server("max_block_size"), format!("{BLOCK}\n")));
    let mut files = vec![(server("versions"), format!("{third}3 +4 +4.1 +4.2\n"))];
    files.extend(block);
    files.extend([
        (server("nfsv4gracetime"), format!("{}\n", GRACE.as_secs())),
        (cache("auth.unix.ip"), format!("nfsd {ADDRESS} {FOREVER} seekwell\n")),
        (cache("nfsd.export"), format!("seekwell {base} {FOREVER} {flags} 65534 65534 0\n")),
        // The file handle of the root is of the kind "number", and the number is 0.
        (cache("nfsd.fh"), format!("seekwell 1 \\x00000000 {FOREVER} {base}\n")),
        (server("portlist"), format!("tcp {PORT}\n")),
        (server("threads"), format!("{THREADS}\n")),
    ]);
    files
}

fn client_options(nfs: &Nfs) -> Vec<String> {
    let mut options: Vec<String> = ["hard", "proto=tcp", "sec=sys"].map(str::to_owned).to_vec();
    options.push(format!("vers={}", nfs.version));
    options.push(format!("addr={ADDRESS}"));
    if nfs.version == STATELESS {
        // Locks are the client's own: no other client has the files.
        options.push(format!("port={PORT}"));
        options.extend(["nolock", "mountproto=tcp", "mountvers=3"].map(str::to_owned));
        options.push(format!("mountaddr={ADDRESS}"));
        options.push(format!("mountport={MOUNT_PORT}"));
    } else {
        options.push(format!("clientaddr={ADDRESS}"));
    }
    options.extend(nfs.rsize.map(|size| format!("rsize={}", size.0)));
    options.extend(nfs.wsize.map(|size| format!("wsize={}", size.0)));
    options
}

/// Ends the time in which clients could come back: a server that was never there before has none. A
/// kernel refuses where that time is over, or where it notes no clients: then it passes by itself.
fn end_grace(settings: &Path) -> Result<()> {
    let path = settings.join(END_OF_GRACE);
    match fs::write(&path, "Y\n") {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => Ok(()),
        done => done.map_err(Error::io("write", &path)),
    }
}

/// Waits until the server answers new clients, so that no step of the workload waits for it.
fn await_grace(settings: &Path) -> Result<()> {
    let path = settings.join(END_OF_GRACE);
    let begun = Instant::now();
    while !fs::read_to_string(&path).map_err(Error::io("read", &path))?.starts_with('Y') {
        if begun.elapsed() > 3 * GRACE {
            return Err(Error::Timeout {
                what: "the grace period of the NFS server does not end".to_owned(),
                waited: begun.elapsed(),
                remedy: "look at the kernel's log".to_owned(),
            });
        }
        sleep(POLL);
    }
    Ok(())
}
