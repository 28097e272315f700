//! The test programs that cargo builds, and which of them touch the machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::lanes::Job;
use crate::program;

#[cfg(test)]
mod tests;

/// Rooms whose tests attach, mount, claim and change nothing outside their temporary folder, or loop devices and mounts
/// that are their own alone.
const ASIDE: [&str; 21] = [
    "bench", "cluster", "device", "engine", "fixtures", "model", "probe", "recordings", "replay",
    "replicate", "report", "runner", "session", "spec", "stats", "store", "testing", "trace",
    "virtual", "workload", "xtask",
];

/// Rooms whose tests run no guest, not even where there is a lab kernel: they begin while it is being built.
const WITHOUT_KERNEL: [&str; 19] = [
    "agent", "capture", "device", "engine", "fixtures", "host", "model", "observe", "probe",
    "recordings", "replay", "report", "spec", "stats", "store", "testing", "trace", "workload",
    "xtask",
];

/// Programs of `cli` of which only some tests touch the machine: target, and the modules or names of those.
const SPLIT: [(&str, &[&str]); 3] = [
    // The others run a cluster in namespaces of its own, with guests.
    ("cluster", &["disks::"]),
    ("everyday", &["capture::", "labs::", "marks::", "probe::", "screen::", "watch::"]),
    (
        "replicate",
        &[
            "the_same_lab_runs_on_a_loop_device_by_changing_the_device_alone",
            "a_filesystem_that_the_machine_lacks_is_left_out_of_a_study",
            "a_study_that_writes_a_disk_whole_shows_its_plan_first",
        ],
    ),
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
    fn touches_the_machine(&self) -> bool {
        match (self.room(), self.target.as_str()) {
            // Attaches loop devices and RAM disks to measure on.
            ("bench", "agreement") | ("session", "probed") => true,
            // Read kept files, and write files for other programs.
            ("cli", "exports" | "kept_verdicts") => false,
            // The unit tests of the program.
            ("cli", "seekwell") => false,
            // Draws made runs in a browser; serves loop devices of its own; runs guests.
            ("cli", "page" | "served" | "virtual") => false,
            // Record programs of their own, in groups and namespaces of their own.
            ("capture", "asynchronous" | "live" | "programs" | "touched") => false,
            (room, _) => !ASIDE.contains(&room),
        }
    }

    /// Returns true if its tests may run guests.
    fn needs_kernel(&self) -> bool {
        match (self.room(), self.target.as_str()) {
            ("cli", "kill" | "served") | ("session", "probed") => false,
            (room, _) => !WITHOUT_KERNEL.contains(&room),
        }
    }

    /// Its jobs: name, command, and true for tests that touch the machine. Together they run every test once.
    pub(super) fn jobs(&self) -> Vec<(Job, bool)> {
        let (name, touches) = (self.name(), self.touches_the_machine());
        let needs_kernel = self.needs_kernel();
        let split = SPLIT.iter().find(|(target, _)| self.room() == "cli" && self.target == *target);
        let Some((_, parts)) = split else {
            return vec![(Job { name, command: self.command(touches), needs_kernel }, touches)];
        };
        let [mut inside, mut outside] = [true, false].map(|touches| self.command(touches));
        inside.args(*parts);
        outside.args(parts.iter().flat_map(|part| ["--skip", *part]));
        let part = Job { name: format!("{name} on the machine"), command: inside, needs_kernel };
        vec![(part, true), (Job { name, command: outside, needs_kernel }, false)]
    }

    /// The command that runs its tests, as cargo runs them. Those that touch the machine run one after another and
    /// decide how long the whole takes, so that the others leave the CPU to them.
    fn command(&self, touches_the_machine: bool) -> Command {
        let mut command = match touches_the_machine {
            true => Command::new(&self.executable),
            false => program::behind(&self.executable),
        };
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    fn room(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Everything that a build made.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// The test programs, in the order in which cargo built them.
    pub(super) programs: Vec<Program>,
    /// Warnings of the compiler and clippy, in their words.
    pub(super) warnings: BTreeSet<String>,
}

/// Targets that are built: libraries, programs, tests and examples, as for `cargo test`, then the benches.
/// (Named with other targets, examples would be built as tests, without the programs that tests run.)
const BUILDS: [&[&str]; 2] = [&[], &["--benches"]];

/// Builds every target of the packages that `selection` names with the lints of clippy; `None` when
/// one did not build, which is then told on standard error.
///
/// # Errors
///
/// When cargo cannot be started, or prints what is no message of its own.
pub(super) fn build(
    root: &Path,
    selection: &[&str],
    environment: &[(String, OsString)],
) -> Result<Option<Built>> {
    let mut built = Built::default();
    let mut all = true;
    for targets in BUILDS {
        let output = program::cargo(root)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .args(["test", "--no-run", "--message-format", "json"])
            .args(targets)
            .args(selection)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo test")?;
        let text = String::from_utf8(output.stdout).context("cargo printed no text")?;
        for line in text.lines() {
            let message = Message::read(line)?;
            built.warnings.extend(message.told());
            let program = message.program();
            built.programs.extend(program.filter(|one| !built.programs.contains(one)));
        }
        all &= output.status.success();
    }
    for warning in &built.warnings {
        eprint!("{warning}");
    }
    Ok(all.then_some(built))
}

/// One line of cargo's messages, as far as it is read here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A word of the compiler on a package of the workspace: cargo silences it on others.
#[derive(Deserialize)]
struct Diagnostic {
    rendered: Option<String>,
    spans: Vec<serde::de::IgnoredAny>,
}

impl Message {
    fn read(line: &str) -> Result<Self> {
        serde_json::from_str(line).with_context(|| format!("no message of cargo: {line}"))
    }

    /// The words of the compiler. Those that name no place only count the others.
    fn told(&self) -> Option<String> {
        let diagnostic = self.message.as_ref().filter(|one| !one.spans.is_empty())?;
        diagnostic.rendered.clone()
    }

    /// The test program of which it speaks, if it speaks of one. A bench is built, and not run.
    fn program(self) -> Option<Program> {
        let is_test = self.profile.is_some_and(|profile| profile.test);
        let target =
            self.target.filter(|target| !target.kind.iter().any(|kind| kind == "bench"))?;
        if self.reason != "compiler-artifact" || !is_test {
            return None;
        }
        let folder = self.manifest_path?.parent()?.to_owned();
        Some(Program { folder, target: target.name, executable: self.executable? })
    }
}
