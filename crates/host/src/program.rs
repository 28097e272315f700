//! Running the system's own programs: found in the system's folders, without a shell, without the
//! caller's environment, nothing on standard input.

use crate::error::{Error, Result};
use crate::sysfs::System;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

#[cfg(test)]
mod tests;

/// Lines of a failed program's output that an error carries: the first, because some programs let
/// their usage text follow, and the last.
const FIRST_LINES: usize = 3;
const LAST_LINES: usize = 5;

/// A command that begins with nothing of the caller's environment, so that its behaviour and its
/// messages are the same everywhere.
pub(crate) fn command(system: &System, path: &Path) -> Command {
    let folders: Vec<OsString> =
        system.programs.iter().map(|folder| folder.clone().into_os_string()).collect();
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", folders.join(&OsString::from(":")))
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

/// Finds a program, or says which package brings it.
pub(crate) fn find(system: &System, name: &str, package: &str) -> Result<std::path::PathBuf> {
    system.program(name).ok_or_else(|| Error::MissingProgram {
        program: name.to_owned(),
        install: install(package),
    })
}

/// The command that installs a Debian package.
pub(crate) fn install(package: &str) -> String {
    format!("apt-get install {package}")
}

/// Runs a program to its end and gives its standard output.
///
/// # Errors
/// When it is missing, and with its last lines when it fails.
pub(crate) fn run(
    system: &System,
    name: &str,
    package: &str,
    arguments: &[&str],
) -> Result<String> {
    let path = find(system, name, package)?;
    let output =
        command(system, &path).args(arguments).output().map_err(Error::io("run", &path))?;
    if !output.status.success() {
        let line = line(std::iter::once(name).chain(arguments.iter().copied()));
        return Err(failed(line, &output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The error for a program that failed.
pub(crate) fn failed(command: String, output: &Output) -> Error {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    // Some programs complain on standard output.
    let talk = if stderr.trim().is_empty() { stdout } else { stderr };
    Error::Program { command, status: status(output.status), stderr: excerpt(&talk) }
}

/// `exit status 1` or `killed by signal 9`.
pub(crate) fn status(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended for an unknown reason".to_owned(),
    }
}

fn excerpt(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    if lines.len() <= FIRST_LINES + LAST_LINES {
        return lines.join("\n");
    }
    let (first, last) = (&lines[..FIRST_LINES], &lines[lines.len() - LAST_LINES..]);
    [first, &["…"], last].concat().join("\n")
}

/// A command line that can be pasted into a shell.
pub(crate) fn line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%^".contains(c);
    let quoted = words.map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
