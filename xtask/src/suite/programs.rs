//! The test programs that cargo builds, and which of them touch the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// Rooms whose tests attach, mount, claim and change nothing outside their temporary folder.
const ASIDE: [&str; 15] = [
    "bench",
    "device",
    "fixtures",
    "model",
    "replicate",
    "report",
    "runner",
    "session",
    "spec",
    "stats",
    "store",
    "testing",
    "trace",
    "virtual",
    "xtask",
];

/// A test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    /// The name of its target: a library, a binary, or a file below `tests`.
    target: String,
    executable: PathBuf,
}

impl Program {
    /// The room and the target.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.room(), self.target)
    }

    /// Returns true if its tests may change what another test reads: devices, mounts, queues,
    /// control groups, claims. Such programs run one after another.
    pub(super) fn touches_the_machine(&self) -> bool {
        match (self.room(), self.target.as_str()) {
            // Attaches loop devices and RAM disks to measure on.
            ("bench", "agreement") => true,
            // Reads kept files.
            ("cli", "kept_verdicts") => false,
            // Draws made runs in a browser; runs guests.
            ("cli", "page" | "virtual") => false,
            (room, _) => !ASIDE.contains(&room),
        }
    }

    /// The command that runs its tests, as cargo runs them.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    fn room(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Builds the tests of the packages that `selection` names, and returns their programs in the order
/// in which cargo built them; `None` when one did not build, which cargo has then reported.
///
/// # Errors
///
/// When cargo cannot be started, or prints what is no message of its own.
pub(super) fn build(
    root: &Path,
    selection: &[&str],
    environment: &[(String, OsString)],
) -> Result<Option<Vec<Program>>> {
    let output = super::cargo_command(root)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .args(["test", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(selection)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo test")?;
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8(output.stdout).context("cargo printed no text")?;
    text.lines().filter_map(|line| program(line).transpose()).collect::<Result<_>>().map(Some)
}

/// One line of cargo's messages, as far as it is read here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The test program of which `line` speaks, if it speaks of one.
fn program(line: &str) -> Result<Option<Program>> {
    let message: Message =
        serde_json::from_str(line).with_context(|| format!("no message of cargo: {line}"))?;
    if message.reason != "compiler-artifact" || !message.profile.is_some_and(|p| p.test) {
        return Ok(None);
    }
    let folder = message.manifest_path.and_then(|path| path.parent().map(Path::to_owned));
    let found = folder.zip(message.target).zip(message.executable);
    Ok(found.map(|((folder, target), executable)| Program {
        folder,
        target: target.name,
        executable,
    }))
}
