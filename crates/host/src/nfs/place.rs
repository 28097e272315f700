//! Folders of a server's settings, and the network that it is alone in.
//!
//! In a kernel of its own a server may have them all. On a host it lives in a network namespace that
//! was made for its trial; its settings are mounted in the host's mount namespace, too, so that the
//! server outlives a killed trial: the client writes back what is dirty before the undo list ends both.

use super::KERNEL;
use crate::confine;
use crate::error::{Error, Result};
use crate::filesystem::mount_as;
use crate::guard;
use crate::nfs_kept::{EXTENSION, is_mounted, on_the_host};
use crate::sysfs::System;
use crate::undo::{Target, Undo};
use rustix::thread::CapabilitySet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Files of the server of a kernel of its own.
const USUAL: &str = "/proc/fs/nfsd";
/// Folder below the work directory with the files of a host's server.
pub const FOLDER: &str = "server";
/// Sockets of rpcbind that kernels try. They are files, which a network namespace does not hide.
const REGISTRIES: [&str; 2] = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"];

/// Place of a server: its settings, and the rights it has over its machine.
#[derive(Clone, Debug)]
pub struct Place {
    pub(super) settings: PathBuf,
    /// True on a host, where another server may be at work in another network.
    pub(super) is_shared: bool,
}

impl Place {
    /// Finds it, and makes it on a host, noted in the undo list before.
    ///
    /// # Errors
    /// On a host outside a network namespace of this process, and when the kernel has no server.
    pub fn find(system: &System, undo: &mut Undo, work: &Path) -> Result<Self> {
        if guard::is_first_process(system) {
            if !Path::new(USUAL).join("threads").exists() {
                mount_as("nfsd", KERNEL, Path::new("nfsd"), Path::new(USUAL), &[])?;
            }
            return Ok(Self { settings: USUAL.into(), is_shared: false });
        }
        if !has_own_network(system) {
            return Err(Error::Argument(
                "an NFS server is started only in a network namespace of its own, or by the first process of a kernel of its own"
                    .to_owned(),
            ));
        }
        hide_registry(&work.join("nothing"))?;
        keep(system, undo)?;
        let settings = work.join(FOLDER);
        mount_as("nfsd", KERNEL, Path::new("nfsd"), &settings, &[])?;
        Ok(Self { settings, is_shared: true })
    }
}

/// Capabilities that an agent keeps: more for a server, but only where the link and the ports are not
/// the host's.
#[must_use]
pub fn rights(system: &System, serves: bool) -> CapabilitySet {
    if serves && has_own_network(system) { confine::SERVER } else { confine::AGENT }
}

/// Returns true if this process and the first one are in different networks.
fn has_own_network(system: &System) -> bool {
    let network = |process: &str| fs::read_link(system.proc.join(process).join("ns/net")).ok();
    match (network("self"), network("1")) {
        (Some(own), Some(first)) => own != first,
        _ => false,
    }
}

/// Hides rpcbind of the host, with which the kernel would register this server, from this mount
/// namespace.
fn hide_registry(nothing: &Path) -> Result<()> {
    File::create(nothing).map_err(Error::io("make", nothing))?;
    for socket in REGISTRIES.map(Path::new).into_iter().filter(|socket| socket.exists()) {
        rustix::mount::mount_bind(nothing, socket)
            .map_err(Error::io("hide rpcbind's socket", socket))?;
    }
    Ok(())
}

/// Mounts the settings where they outlive this process.
fn keep(system: &System, undo: &mut Undo) -> Result<()> {
    let Some(path) = undo.path().map(|list| list.with_extension(EXTENSION)) else {
        return Err(Error::Argument("an NFS server on a host needs an undo list".to_owned()));
    };
    undo.record(&Target::Directory { path: path.clone() })?;
    undo.record(&Target::Server { path: path.clone() })?;
    fs::create_dir_all(&path).map_err(Error::io("make", &path))?;
    if is_mounted(system, &path) {
        return Ok(());
    }
    let text = path.display().to_string();
    on_the_host(system, &["mount", "-i", "-n", "-t", "nfsd", "nfsd", &text])
}
