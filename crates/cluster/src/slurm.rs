//! Slurm: workers as the tasks of a job array, by the commands `sbatch`, `squeue`, `scontrol` and `scancel`.

use crate::error::ClusterError;
use crate::queue::{JobId, Live, Queue};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Options of `sbatch` that Seekwell sets itself.
const OURS: [&str; 9] =
    ["array", "a", "output", "o", "error", "e", "parsable", "wrap", "open-mode"];

/// Attempts to reach a controller that does not answer: a minute of them.
const ATTEMPTS: u32 = 13;
/// The controller is never asked more often.
const UNTIL_NEXT_ATTEMPT: Duration = Duration::from_secs(5);

/// States of tasks that wait for a node or for their turn.
const WAITING: [&str; 4] = ["PENDING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED"];

/// States of tasks that have no process on a node.
const ON_NO_NODE: [&str; 3] = ["PENDING", "REQUEUED", "REQUEUE_HOLD"];

/// States of tasks whose processes run. In every other state they have ended or are being ended.
const RUNNING: [&str; 3] = ["RUNNING", "CONFIGURING", "RESIZING"];

/// A job array of workers.
#[derive(Clone, Debug)]
pub struct Array {
    /// The program, at the same path on every node.
    pub program: PathBuf,
    /// The shared folder.
    pub spool: PathBuf,
    /// Folder of the workers' logs.
    pub logs: PathBuf,
    /// Number of workers.
    pub tasks: u32,
    /// A whole node for each worker, so that no other job disturbs its measurements; otherwise one CPU.
    pub is_exclusive: bool,
    /// Further options of `sbatch`, such as `--partition=batch`.
    pub options: Vec<String>,
}

/// Slurm, by its commands.
#[derive(Clone, Debug)]
pub struct Slurm {
    array: Array,
}

impl Slurm {
    /// Slurm for these workers.
    #[must_use]
    pub fn new(array: Array) -> Self {
        Self { array }
    }

    /// The name of the first option that Seekwell sets itself, if one is among these.
    #[must_use]
    pub fn set_by_us(options: &[String]) -> Option<&str> {
        options.iter().map(String::as_str).find(|option| {
            let name = option.trim_start_matches('-');
            let name = name.split_once('=').map_or(name, |(name, _)| name);
            OURS.contains(&name)
        })
    }

    /// Arguments of `sbatch` before the script.
    fn arguments(&self) -> Vec<OsString> {
        let Array { logs, tasks, options, is_exclusive, .. } = &self.array;
        let mut log = OsString::from("--output=");
        log.push(logs.join("%a.txt"));
        let array = format!("--array=1-{tasks}");
        let share = if *is_exclusive { "--exclusive" } else { "--cpus-per-task=1" };
        let fixed = ["--parsable", "--job-name=seekwell", "--ntasks=1", share];
        // A task whose node fails or is taken away starts again on another one.
        let again = ["--requeue", "--open-mode=append"];
        let fixed = fixed.into_iter().chain(again).map(OsString::from);
        let given = options.iter().map(OsString::from);
        fixed.chain([array.into(), log]).chain(given).collect()
    }

    /// Script of a task.
    fn script(&self) -> String {
        let Array { program, spool, .. } = &self.array;
        format!(
            "#!/bin/sh\nexec {} work {} --task \"$SLURM_ARRAY_TASK_ID-$SLURM_RESTART_COUNT-$(uname -n)-$$-$SLURM_ARRAY_JOB_ID\"\n",
            quoted(program),
            quoted(spool)
        )
    }
}

impl Queue for Slurm {
    fn submit(&mut self) -> Result<JobId, ClusterError> {
        let path = self.array.spool.join("task.sh");
        let wrong = |source| ClusterError::Spool { action: "write", path: path.clone(), source };
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o700);
        let mut file = options.open(&path).map_err(wrong)?;
        file.write_all(self.script().as_bytes()).map_err(wrong)?;
        drop(file);
        let mut arguments = self.arguments();
        arguments.push(path.clone().into());
        let words = output("sbatch", &arguments)?;
        // With several clusters: number;cluster.
        let number = words.trim().split(';').next().unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            let words = format!("its answer {:?} has no job number", words.trim());
            return Err(ClusterError::Command { command: "sbatch", words });
        }
        Ok(JobId(number.to_owned()))
    }

    fn live(&mut self, job: &JobId) -> Result<Option<Live>, ClusterError> {
        let arguments = ["--noheader", "--format=%T %K %r", "--jobs"].map(OsString::from);
        let arguments: Vec<OsString> =
            arguments.into_iter().chain([job.0.clone().into()]).collect();
        match output("squeue", &arguments) {
            Ok(text) => Ok(Some(live(&text))),
            // Slurm forgets a job some minutes after its end.
            Err(ClusterError::Command { words, .. }) if words.contains("Invalid job id") => {
                Ok(Some(Live::default()))
            }
            Err(error) => Err(error),
        }
    }

    fn hasten(&mut self, job: &JobId) -> Result<(), ClusterError> {
        let arguments =
            ["update".to_owned(), format!("jobid={}", job.0), "starttime=now".to_owned()];
        output("scontrol", &arguments.map(OsString::from)).map(drop)
    }

    fn cancel(&mut self, job: &JobId) -> Result<(), ClusterError> {
        let options = which_to_cancel(self.array.is_exclusive).iter().map(OsString::from);
        let arguments: Vec<OsString> = options.chain([job.0.clone().into()]).collect();
        let mut cancel = || output("scancel", &arguments).map(drop);
        match patiently(&mut cancel, &mut || sleep(UNTIL_NEXT_ATTEMPT)) {
            // All its tasks have ended.
            Err(ClusterError::Command { words, .. }) if words.contains("Invalid job id") => Ok(()),
            ended => ended,
        }
    }
}

/// Repeats a command while the controller cannot be reached: it may be starting again.
fn patiently(
    command: &mut dyn FnMut() -> Result<(), ClusterError>,
    pause: &mut dyn FnMut(),
) -> Result<(), ClusterError> {
    for _ in 1..ATTEMPTS {
        match command() {
            Err(ClusterError::Command { words, .. }) if words.contains("Unable to contact") => {
                pause();
            }
            ended => return ended,
        }
    }
    command()
}

/// Options of `scancel`. Workers on the nodes' own kernels end by themselves after the trial under way and put their
/// nodes back; those that only wait for a node are cancelled.
fn which_to_cancel(is_exclusive: bool) -> &'static [&'static str] {
    if is_exclusive { &["--state=PENDING"] } else { &[] }
}

/// Reason of a task that waits until a time.
const DELAYED: &str = "BeginTime";

/// Counts the lines `STATE INDEX REASON` of `squeue`; tasks that wait share a line.
fn live(text: &str) -> Live {
    let mut live = Live::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(state) = words.next() else { continue };
        let tasks = words.next();
        let number = tasks.and_then(|number| number.parse::<u32>().ok());
        if !ON_NO_NODE.contains(&state) {
            live.on_nodes.extend(number);
        }
        if WAITING.contains(&state) {
            let waiting = tasks.map_or(1, elements);
            live.waiting += waiting;
            live.delayed += if words.next() == Some(DELAYED) { waiting } else { 0 };
        } else if RUNNING.contains(&state) {
            live.running.extend(number);
        }
    }
    live
}

/// Number of tasks in a list such as `3,7-9%2`; a list that Slurm cuts short counts as far as it goes.
fn elements(list: &str) -> u32 {
    let list = list.split('%').next().unwrap_or_default();
    let count = |range: &str| match range.split_once('-') {
        Some((first, last)) => match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if last >= first => last - first + 1,
            _ => 1,
        },
        None => 1,
    };
    list.split(',').map(count).sum::<u32>().max(1)
}

/// Standard output of a command that succeeded.
pub(crate) fn output(
    command: &'static str,
    arguments: &[OsString],
) -> Result<String, ClusterError> {
    let failed = |words: String| ClusterError::Command { command, words };
    let ran = Command::new(command)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&ran.stderr);
    Err(failed(words.trim().lines().collect::<Vec<_>>().join("; ")))
}

/// A path as one word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
