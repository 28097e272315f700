//! Signatures of files in the format of OpenSSH (`ssh-keygen -Y`), made and checked by ssh-keygen.

use crate::error::{Error, Result};
use crate::program;
use crate::sysfs::System;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

#[cfg(test)]
mod tests;

/// Purpose of a signature: one for another purpose is not valid here.
const NAMESPACE: &str = "seekwell";
/// Name of the signer in the list that ssh-keygen compares with.
const SIGNER: &str = "signer";
const PROGRAM: &str = "ssh-keygen";
const PACKAGE: &str = "openssh-client";

/// The file with the signature of a file: its name with `.sig`.
#[must_use]
pub fn path_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

/// Longest file with a public key that is read.
const KEY_BYTES: u64 = 1 << 20;

/// Signs a file's bytes with a private key, and returns the signature as text.
///
/// # Errors
/// [`Error::MissingProgram`] without ssh-keygen; [`Error::Program`] with its words, as when the key has a
/// passphrase: ssh-keygen cannot ask for it.
pub fn sign(system: &System, key: &Path, file: &Path) -> Result<Vec<u8>> {
    let path = program::find(system, PROGRAM, PACKAGE)?;
    let input = seekwell_trust::open(file, u64::MAX).map_err(Error::io("read", file))?;
    let output = program::command(system, &path)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(absolute(key)?)
        .stdin(input)
        .stderr(Stdio::piped())
        .output()
        .map_err(Error::io("run", &path))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(program::failed(format!("{PROGRAM} -Y sign -f {}", key.display()), &output)),
    }
}

/// Outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The owner of the key signed these bytes.
    Good,
    /// He did not, or did not sign them as they are; in the program's words.
    Bad(String),
}

/// Checks a file's bytes against its signature and a public key (a line of OpenSSH's `.pub` files).
///
/// # Errors
/// [`Error::MissingProgram`] without ssh-keygen; when a file cannot be read.
pub fn check(system: &System, key: &Path, file: &Path, signature: &Path) -> Result<Checked> {
    let path = program::find(system, PROGRAM, PACKAGE)?;
    let public = seekwell_trust::read_text(key, KEY_BYTES).map_err(Error::io("read", key))?;
    let line = public.lines().find(|line| is_public_key(line)).ok_or_else(|| {
        Error::Argument(format!(
            "{} has no public key of OpenSSH; give the file that ends in .pub",
            key.display()
        ))
    })?;
    // ssh-keygen has words of its own for one that is missing, and would wait for a FIFO.
    if signature.exists() {
        seekwell_trust::check(signature).map_err(Error::io("read", signature))?;
    }
    let (list, allowed) = list_of(line)?;
    let input = seekwell_trust::open(file, u64::MAX).map_err(Error::io("read", file))?;
    let output = program::command(system, &path)
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", SIGNER, "-f"])
        .arg(&allowed)
        .arg("-s")
        .arg(absolute(signature)?)
        .stdin(input)
        .output()
        .map_err(Error::io("run", &path))?;
    drop(list);
    if output.status.success() {
        return Ok(Checked::Good);
    }
    let said = [output.stdout, output.stderr].concat();
    Ok(Checked::Bad(String::from_utf8_lossy(&said).trim().replace('\n', "; ")))
}

/// A list of signers with this key alone, in memory, and the path at which another process finds it.
fn list_of(key: &str) -> Result<(File, PathBuf)> {
    let name = Path::new("a list of signers in memory");
    let memory = rustix::fs::memfd_create("signers", rustix::fs::MemfdFlags::CLOEXEC);
    let mut list = File::from(memory.map_err(Error::errno("make", name))?);
    writeln!(list, "{SIGNER} namespaces=\"{NAMESPACE}\" {key}")
        .map_err(Error::io("write", name))?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), list.as_raw_fd());
    Ok((list, PathBuf::from(path)))
}

/// A key type of OpenSSH and its data, without the options that a list of signers may have.
fn is_public_key(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let known = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"];
    known.iter().any(|prefix| kind.starts_with(prefix)) && words.next().is_some()
}

/// The program runs in `/`.
fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(Error::io("find", path))
}
