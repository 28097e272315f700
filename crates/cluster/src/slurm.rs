//! Slurm: workers as the tasks of a job array, by the commands `sbatch`, `squeue`, `scontrol` and `scancel`.

use crate::error::ClusterError;
use crate::queue::{JobId, Live, Queue};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Options of `sbatch` that Seekwell sets itself, and those with which it would not answer with a number at once.
const OURS: [&str; 7] = ["array", "output", "error", "parsable", "wrap", "wait", "open-mode"];

/// The same by one letter.
const OUR_LETTERS: [char; 4] = ['a', 'o', 'e', 'W'];

/// Letters of options without a value, after which others may follow in one word.
const ALONE: [char; 7] = ['H', 'k', 'K', 'O', 'Q', 's', 'v'];

/// Variables that change what the commands of Slurm print or do, and not where their controller is.
const FORMATS: [&str; 16] = [
    "SBATCH_ERROR", "SBATCH_WAIT", "SINFO_FORMAT", "SINFO_PARTITION", "SINFO_SORT",
    "SLURM_BITSTR_LEN", "SQUEUE_ARRAY_UNIQUE", "SQUEUE_FORMAT", "SQUEUE_FORMAT2",
    "SQUEUE_LICENSES", "SQUEUE_NAMES", "SQUEUE_PARTITION", "SQUEUE_QOS", "SQUEUE_SORT",
    "SQUEUE_STATES", "SQUEUE_USERS",
];

/// Time for an answer of a command. One that asks a controller or an authentication which hangs may never end.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// The same for `sbatch`: one that was ended may have submitted its job.
const SUBMIT_TIME: Duration = Duration::from_secs(120);

/// Time between two looks for the end of a command.
const LOOK: Duration = Duration::from_millis(10);

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

/// Folders in which the commands of Slurm are found. Those of which another user can change a program are passed over, so
/// that a folder of the caller's `PATH` may be among them.
#[derive(Clone, Debug)]
pub struct Programs(Vec<PathBuf>);

impl Programs {
    /// The commands in these folders, the first ones first.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self(folders)
    }

    /// Absolute path of a command that only root and this user can change.
    #[must_use]
    pub fn find(&self, command: &str) -> Option<PathBuf> {
        seekwell_trust::program(&self.0, command)
    }

    /// The same of a command that is needed.
    ///
    /// # Errors
    /// [`ClusterError::Command`] when there is none.
    pub fn needed(&self, command: &'static str) -> Result<PathBuf, ClusterError> {
        let words = "not found in a folder that only root and this user can write";
        let missing = || ClusterError::Command { command, words: words.to_owned() };
        self.find(command).ok_or_else(missing)
    }

    /// Standard output of a command that succeeded, with this text on its standard input.
    pub(crate) fn output(
        &self,
        command: &'static str,
        arguments: &[OsString],
        input: &str,
    ) -> Result<String, ClusterError> {
        let mut words = Command::new(self.needed(command)?);
        words.args(arguments);
        for name in FORMATS {
            words.env_remove(name);
        }
        let longest = if command == "sbatch" { SUBMIT_TIME } else { ANSWER_TIME };
        answer(command, words, input, longest)
    }
}

/// Slurm, by its commands.
#[derive(Clone, Debug)]
pub struct Slurm {
    array: Array,
    programs: Programs,
    /// The cluster of the job, if Slurm has several.
    cluster: Option<String>,
}

impl Slurm {
    /// Slurm for these workers, by these commands.
    #[must_use]
    pub fn new(array: Array, programs: Programs) -> Self {
        Self { array, programs, cluster: None }
    }

    /// The name of the first option that Seekwell sets itself, if one is among these.
    #[must_use]
    pub fn set_by_us(options: &[String]) -> Option<&str> {
        options.iter().map(String::as_str).find(|option| {
            if let Some(long) = option.strip_prefix("--") {
                let name = long.split_once('=').map_or(long, |(name, _)| name);
                // Slurm takes names that are cut short.
                return !name.is_empty() && OURS.iter().any(|ours| ours.starts_with(name));
            }
            let letters = option.strip_prefix('-').unwrap_or_default();
            let last = letters.chars().find(|letter| !ALONE.contains(letter));
            last.is_some_and(|letter| OUR_LETTERS.contains(&letter))
        })
    }

    /// Arguments of `sbatch`, which reads the script from its standard input: no file that could be exchanged.
    fn arguments(&self) -> Vec<OsString> {
        let Array { logs, tasks, options, is_exclusive, .. } = &self.array;
        let mut log = b"--output=".to_vec();
        for byte in logs.as_os_str().as_bytes() {
            // A pattern of Slurm begins with it.
            log.extend(if *byte == b'%' { &b"%%"[..] } else { std::slice::from_ref(byte) });
        }
        log.extend(b"/%a.txt");
        let log = OsString::from_vec(log);
        let array = format!("--array=1-{tasks}");
        let share = if *is_exclusive { "--exclusive" } else { "--cpus-per-task=1" };
        let fixed = ["--parsable", "--job-name=seekwell", "--ntasks=1", share];
        // A task whose node fails or is taken away starts again on another one.
        let again = ["--requeue", "--open-mode=append"];
        let fixed = fixed.into_iter().chain(again).map(OsString::from);
        let given = options.iter().map(OsString::from);
        fixed.chain([array.into(), log]).chain(given).collect()
    }

    /// The option that names the cluster of a job, if there are several.
    fn of_cluster(&self, job: &JobId) -> Vec<OsString> {
        // A worker's name tells the number of its job alone.
        let cluster = job.cluster().or(self.cluster.as_deref());
        cluster.map(|cluster| format!("--clusters={cluster}").into()).into_iter().collect()
    }

    /// Arguments of `squeue` about the tasks of a job.
    fn question(&self, job: &JobId) -> Vec<OsString> {
        let mut arguments = self.of_cluster(job);
        // Also in partitions that are hidden from others.
        let words = ["--noheader", "--all", "--format=%T %K %r", "--jobs", job.number()];
        arguments.extend(words.map(OsString::from));
        arguments
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
        let words = self.programs.output("sbatch", &self.arguments(), &self.script())?;
        // With several clusters: number;cluster.
        let job = JobId(words.trim().to_owned());
        let number = job.number();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            let words = format!("its answer {:?} has no job number", words.trim());
            return Err(ClusterError::Command { command: "sbatch", words });
        }
        self.cluster = job.cluster().map(str::to_owned);
        Ok(job)
    }

    fn live(&mut self, job: &JobId) -> Result<Option<Live>, ClusterError> {
        match self.programs.output("squeue", &self.question(job), "") {
            Ok(text) => Ok(Some(live(&text))),
            // Slurm forgets a job some minutes after its end.
            Err(ClusterError::Command { words, .. }) if words.contains("Invalid job id") => {
                Ok(Some(Live::default()))
            }
            Err(error) => Err(error),
        }
    }

    fn outlives_session(&self) -> bool {
        true
    }

    fn hasten(&mut self, job: &JobId, tasks: &BTreeSet<u32>) -> Result<(), ClusterError> {
        let mut arguments = self.of_cluster(job);
        let update = ["update", &jobid(job, tasks), "starttime=now"];
        arguments.extend(update.map(OsString::from));
        self.programs.output("scontrol", &arguments, "").map(drop)
    }

    fn cancel(&mut self, job: &JobId) -> Result<(), ClusterError> {
        let mut arguments = self.of_cluster(job);
        arguments.extend(which_to_cancel(self.array.is_exclusive).iter().map(OsString::from));
        arguments.push(job.number().into());
        let mut cancel = || self.programs.output("scancel", &arguments, "").map(drop);
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
            let (tasks, others) = tasks.map_or((BTreeSet::new(), 1), elements);
            live.waiting += tasks.len() as u32 + others;
            // Names of nodes may follow.
            let reason = words.next().map(|reason| reason.trim_end_matches(','));
            if reason == Some(DELAYED) {
                live.delayed.extend(tasks);
            }
            let told = reason.filter(|reason| *reason != "None").map(str::to_owned);
            live.reason = live.reason.take().or(told);
        } else if RUNNING.contains(&state) {
            live.running.extend(number);
        }
    }
    live
}

/// Numbers of the tasks in a list such as `3,7-9%2`, and the number of parts that tell none, each a task at least: Slurm
/// cuts long lists short.
fn elements(list: &str) -> (BTreeSet<u32>, u32) {
    let (mut tasks, mut others) = (BTreeSet::new(), 0);
    for range in list.split('%').next().unwrap_or_default().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => {
                tasks.extend(first..=last.min(first.saturating_add(MOST_TASKS)))
            }
            _ => others += 1,
        }
    }
    (tasks, others)
}

/// More tasks than Slurm lets an array have.
const MOST_TASKS: u32 = 4_000_000;

/// Argument of `scontrol` for these tasks of a job.
fn jobid(job: &JobId, tasks: &BTreeSet<u32>) -> String {
    let number = job.number();
    let names: Vec<String> = tasks.iter().map(|task| format!("{number}_{task}")).collect();
    format!("jobid={}", names.join(","))
}

/// Standard output of a command that succeeded and took this input, ended after this time.
fn answer(
    command: &'static str,
    mut words: Command,
    input: &str,
    longest: Duration,
) -> Result<String, ClusterError> {
    let failed = |words: String| ClusterError::Command { command, words };
    words.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = words.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends before it has read a script says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (stdout, stderr) = (child.stdout.take().map(text_of), child.stderr.take().map(text_of));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) => break status,
            None if begun.elapsed() < longest => sleep(LOOK),
            None => {
                // It may have ended just now.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("no answer within {} s", longest.as_secs())));
            }
        }
    };
    let text = |reader: Option<JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    if status.success() {
        return Ok(text(stdout));
    }
    Err(failed(text(stderr).trim().lines().collect::<Vec<_>>().join("; ")))
}

/// Reads a pipe to its end, in a thread.
fn text_of(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error is still worth telling.
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// A path as one word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
