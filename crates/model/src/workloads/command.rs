//! `command`: any shell command, timed, with metrics read from its output.

use super::{CacheState, FieldConflict, StepOutline, WorkloadKind, WorkloadParams, conflict};
use crate::field::{Values, field};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parameters of `command`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandParams {
    /// Name of the measured step.
    pub step: String,
    /// Command that prepares; not measured.
    pub prepare: Option<String>,
    /// Command that is measured.
    pub run: String,
    /// State of the page cache when the measured command starts.
    pub cache: CacheState,
    /// Metrics by name: a regular expression whose first group is a number in the output.
    pub metrics: BTreeMap<String, String>,
    /// Exit status that counts as success.
    pub expect_status: u8,
    /// The command is ended after this time and the trial is marked failed.
    pub timeout: Option<Nanos>,
    /// True if the command can run on a raw device: it names `{dev}` and not `{dir}`.
    pub raw: bool,
    /// True if the commands keep all rights of the agent and see all of `/dev`.
    #[serde(default)]
    pub privileged: bool,
}

/// The user's own command.
pub const COMMAND: WorkloadKind = WorkloadKind {
    name: "command",
    doc: "Any shell command, run with /bin/sh: wall time, exit status, I/O, and metrics read from its output. `{dir}` stands for the mounted directory, `{dev}` for the block device.",
    fields: &[
        field!("step": Text, default "\"command\"", "Name of the measured step."),
        field!("run": Text, required,
            "The command. `{dir}` is the mounted directory and also the working directory; `{dev}` is the block device, which may be written to only on a raw stack."),
        field!("prepare": Text,
            "A command that is run before, not measured; a failure fails the trial."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "`cold`: remounted and caches dropped after `prepare`. `warm`: as it is."),
        field!("metrics": TextTable,
            "Metrics by name: a regular expression whose first group is a number in the command's output. Judge them as STEP.NAME."),
        field!("expect_status": integer(0, 255), default "0",
            "Exit status that counts as success; any other fails the trial."),
        field!("timeout": Duration,
            "Stops the command after this time and marks the trial failed."),
        field!("privileged": Bool, default "false",
            "Runs the commands with all capabilities of root and the whole `/dev`. Without it they have CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETUID, SETGID and KILL, and see no block device but `{dev}` and nothing of Seekwell below `/var/lib`."),
    ],
    on_raw: true,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let run = values.text("run").unwrap_or_default().to_owned();
    let step = values.text("step").unwrap_or("command").to_owned();
    let metrics = values.table("metrics");
    let taken = |name: &&String| crate::metrics::metric(name).is_some();
    if let Some(name) = metrics.keys().find(taken) {
        let problem = format!("'{name}' is the name of a metric that every command already has");
        return conflict("metrics", problem, format!("choose another name, for example my_{name}"));
    }
    let status = values.count("expect_status");
    Ok(WorkloadParams::Command(CommandParams {
        raw: !run.contains("{dir}"),
        step,
        prepare: values.text("prepare").map(str::to_owned),
        run,
        cache: CacheState::of(values),
        metrics,
        expect_status: u8::try_from(status).unwrap_or(0),
        timeout: values.duration("timeout"),
        privileged: values.bool("privileged"),
    }))
}

impl CommandParams {
    /// The preparing step, if there is one, and the measured step.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let mut steps = Vec::new();
        if self.prepare.is_some() {
            let prepare = StepOutline::new(format!("{}-prepare", self.step), &[]);
            steps.push(StepOutline { measured: false, ..prepare });
        }
        let mut run = StepOutline::new(&self.step, &["exit_status"]);
        run.metrics.extend(self.metrics.keys().cloned());
        steps.push(StepOutline { cache: self.cache, ..run });
        steps
    }
}
