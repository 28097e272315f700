//! Workers on nodes that share no folder with the session: an allocation of Slurm whose programs come by `sbcast`, and
//! whose records come back over the standard output of `srun`.
//!
//! The session has its folder alone. For each worker that is ready the relay takes a share there, and it delivers what
//! the worker sends: for the rest of the session nothing is different.

use crate::error::ClusterError;
use crate::pipe::{Word, Words, order};
use crate::queue::{JobId, Live, Queue};
use crate::slurm::{Programs, quoted};
use crate::spool::{Line, Outcome, Share, Spool};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time between two looks for a share for workers that are ready.
const LOOK: Duration = Duration::from_millis(50);

/// Time that the allocation has for its end once its workers have no more to do.
const END_TIME: Duration = Duration::from_secs(10);

/// A log that is a link is not followed.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Name of the log with the words of all workers.
const LOG: &str = "workers.txt";

/// An allocation of workers.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The program.
    pub program: PathBuf,
    /// Id of the lab kernel.
    pub kernel_id: String,
    /// Files of the lab kernel; nodes have them under their own names.
    pub kernel: Vec<PathBuf>,
    /// The session's folder.
    pub spool: PathBuf,
    /// Directory of every node for what is brought there.
    pub local: PathBuf,
    /// Number of workers.
    pub tasks: u32,
    /// Further options of `salloc`.
    pub options: Vec<String>,
}

/// Workers in allocations of Slurm.
#[derive(Debug)]
pub struct Relay {
    allocation: Allocation,
    programs: Programs,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    programs: Programs,
    child: Child,
    state: Arc<Mutex<State>>,
    threads: [JoinHandle<()>; 2],
}

/// State of the workers.
#[derive(Debug, Default)]
struct State {
    /// Number of the job, once it has nodes.
    job: Option<String>,
    /// Workers that were heard and have not ended.
    here: BTreeSet<u32>,
    /// Workers that wait for a share, with their names.
    ready: BTreeMap<u32, String>,
    /// Shares that workers have.
    given: BTreeMap<u32, Given>,
    beats: BTreeMap<u32, u64>,
    names: BTreeMap<u32, String>,
    /// True once no worker will get anything any more.
    is_over: bool,
}

/// A share that a worker has: the trials that had no result.
#[derive(Debug)]
struct Given {
    share: Share,
    task: String,
    /// Trials whose results were not heard yet.
    left: BTreeSet<u32>,
    /// Time of the last one, or of the share.
    since: Instant,
}

impl Given {
    fn new(share: Share, task: String) -> Self {
        let left = share.trials.iter().map(|trial| trial.index).collect();
        Self { share, task, left, since: Instant::now() }
    }
}

impl Allocation {
    /// Arguments of `salloc` before the script.
    fn arguments(&self) -> Vec<OsString> {
        let tasks = format!("--ntasks={}", self.tasks);
        let fixed = ["--job-name=seekwell", "--cpus-per-task=1", "--no-kill", &tasks];
        let given = self.options.iter().map(OsString::from);
        fixed.into_iter().map(OsString::from).chain(given).collect()
    }

    /// Script on this machine inside of the allocation; these are its commands of Slurm.
    fn script(&self, sbcast: &Path, srun: &Path) -> String {
        let (sbcast, srun) = (quoted(sbcast), quoted(srun));
        let spool = &self.spool;
        let mut files = vec![
            (self.program.clone(), "program".to_owned()),
            (spool.join("work.json"), "work.json".to_owned()),
            (spool.join("id"), "id".to_owned()),
        ];
        let name =
            |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.extend(self.kernel.iter().map(|path| (path.clone(), name(path))));
        let bring: String = files
            .iter()
            .map(|(path, name)| format!("{sbcast} --force {} \"$at.{name}\"\n", quoted(path)))
            .collect();
        let kernel: Vec<String> = self.kernel.iter().map(name).collect();
        let (local, id, kernel) = (quoted(&self.local), &self.kernel_id, kernel.join(" "));
        format!(
            r#"#!/bin/sh
set -eu
echo "job $SLURM_JOB_ID"
at={local}/seekwell-$SLURM_JOB_ID
export at
{bring}{srun} --label --input=all --wait=0 sh -c '
    umask 077
    mine=$at.$SLURM_PROCID
    trap "rm -rf \"\$mine\"" EXIT
    trap exit TERM INT HUP
    kernel=$mine/cache/seekwell/kernels/{id}
    mkdir -p "$kernel"
    cp "$at.work.json" "$mine/work.json"
    cp "$at.id" "$mine/id"
    for file in {kernel}; do ln "$at.$file" "$kernel/$file" 2>/dev/null || cp "$at.$file" "$kernel/$file"; done
    task=$SLURM_PROCID--$(uname -n)-$$-$SLURM_JOB_ID
    XDG_CACHE_HOME=$mine/cache TMPDIR=$mine "$at.program" work "$mine" --pipe "$SLURM_PROCID" --task "$task" ||
        printf "%s\n" "=\"Gone\""
' || true
{srun} --input=none --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 sh -c 'rm -f "$at".*' || true
"#
        )
    }
}

impl Relay {
    /// Workers of this allocation, by these commands.
    #[must_use]
    pub fn new(allocation: Allocation, programs: Programs) -> Self {
        Self { allocation, programs, running: None }
    }
}

impl Queue for Relay {
    fn submit(&mut self) -> Result<JobId, ClusterError> {
        if let Some(before) = self.running.take() {
            before.end();
        }
        let (spool, _) = Spool::open(&self.allocation.spool)?;
        let script = self
            .allocation
            .script(&self.programs.needed("sbcast")?, &self.programs.needed("srun")?);
        let wrong = |source| {
            let path = spool.logs().join(LOG);
            ClusterError::Spool { action: "write", path, source }
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(NO_LINK);
        let told = options.open(spool.logs_held().join(LOG)).map_err(wrong)?;
        let running = start(&self.programs, &self.allocation.arguments(), script, told, spool)?;
        let job = JobId(running.child.id().to_string());
        self.running = Some(running);
        Ok(job)
    }

    fn live(&mut self, _job: &JobId) -> Result<Option<Live>, ClusterError> {
        let Some(running) = &mut self.running else { return Ok(Some(Live::default())) };
        if matches!(running.child.try_wait(), Ok(Some(_)) | Err(_)) {
            return Ok(Some(Live::default()));
        }
        let here = lock(&running.state).here.clone();
        let waiting = self.allocation.tasks.saturating_sub(here.len() as u32);
        Ok(Some(Live { on_nodes: here.clone(), running: here, waiting, ..Live::default() }))
    }

    fn cancel(&mut self, _job: &JobId) -> Result<(), ClusterError> {
        if let Some(running) = self.running.take() {
            running.end();
        }
        Ok(())
    }
}

impl Running {
    /// Ends the workers and the allocation.
    fn end(mut self) {
        // The pipe closes: workers end after the trial under way.
        lock(&self.state).is_over = true;
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < END_TIME {
            sleep(LOOK);
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            let job = lock(&self.state).job.clone();
            if let Some(job) = job {
                // A controller that does not answer ends the job by the death of `salloc`, or by its time limit.
                let _ = self.programs.output("scancel", &[job.into()], "");
            }
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        for thread in self.threads {
            // One that panicked has nothing left to end.
            let _ = thread.join();
        }
    }
}

fn start(
    programs: &Programs,
    arguments: &[OsString],
    script: String,
    log: File,
    spool: Spool,
) -> Result<Running, ClusterError> {
    let failed = |words: String| ClusterError::Command { command: "salloc", words };
    let mut command = Command::new(programs.needed("salloc")?);
    // Its text, not the name of a file that could be exchanged.
    command.args(arguments).args(["/bin/sh", "-c"]).arg(script);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    // An interrupt of the terminal is for the session, which ends the workers.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("it has no pipes".to_owned()));
    };
    let state = Arc::new(Mutex::new(State::default()));
    let (of_hearing, of_giving) = (state.clone(), state.clone());
    let heard = spool.clone();
    let hearing = spawn(move || hear(&heard, &of_hearing, stdout));
    let giving = spawn(move || give(&spool, &of_giving, stdin));
    Ok(Running { programs: programs.clone(), child, state, threads: [hearing, giving] })
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears the words of workers until `salloc` ends.
fn hear(spool: &Spool, state: &Mutex<State>, output: ChildStdout) {
    let mut words = Words::default();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        if let Some(job) = line.strip_prefix(b"job ") {
            lock(state).job = Some(String::from_utf8_lossy(job).trim().to_owned());
        } else if let Some((rank, word)) = words.take(&line) {
            // A folder that cannot be written is noticed by the session, which writes it too.
            let _ = lock(state).hear(spool, rank, word);
        }
    }
    let mut state = lock(state);
    state.is_over = true;
    state.here.clear();
}

impl State {
    fn hear(&mut self, spool: &Spool, rank: u32, word: Word) -> Result<(), ClusterError> {
        match word {
            Word::Ready(task) => {
                self.here.insert(rank);
                self.names.insert(rank, task.clone());
                self.ready.insert(rank, task);
            }
            Word::Beat => {
                let count = self.beats.entry(rank).or_default();
                *count += 1;
                if let Some(task) = self.names.get(&rank) {
                    spool.beat(task, *count)?;
                }
            }
            Word::Results(results) => {
                let mut results = results.into_iter();
                results.try_for_each(|(trial, result)| self.take(spool, rank, trial, result))?;
            }
            Word::Gone => {
                self.here.remove(&rank);
                self.ready.remove(&rank);
            }
        }
        Ok(())
    }

    /// Adds a result to the share of a worker; with the last one the share is delivered.
    fn take(
        &mut self,
        spool: &Spool,
        rank: u32,
        trial: u32,
        result: Outcome,
    ) -> Result<(), ClusterError> {
        let Some(given) = self.given.get_mut(&rank) else { return Ok(()) };
        // Of a share that it had before: a word was lost on the way.
        if !given.left.remove(&trial) {
            return Ok(());
        }
        let wall_ns = u64::try_from(given.since.elapsed().as_nanos()).ok();
        let is_last = result.is_err() || given.left.is_empty();
        let line = Line { trial, task: given.task.clone(), wall_ns, result };
        given.since = Instant::now();
        let (index, is_kept) = (given.share.index, spool.add(given.share.index, &line)?);
        if is_last && is_kept {
            spool.hand_over(index, &line.task)?;
        }
        if is_last || !is_kept {
            self.given.remove(&rank);
        }
        Ok(())
    }
}

/// Gives shares to workers that are ready, until the session has no more; then the pipe closes.
fn give(spool: &Spool, state: &Mutex<State>, mut input: ChildStdin) {
    while !lock(state).is_over && !spool.is_stopped() && !spool.is_gone() {
        let ready = lock(state).ready.clone();
        for (rank, task) in ready {
            let sheet = match spool.take(&task) {
                Ok(Some(sheet)) => sheet,
                Err(ClusterError::OtherWork { .. }) => return,
                _ => break,
            };
            let share = Share { index: sheet.share.index, trials: sheet.missing() };
            if share.trials.is_empty() {
                // Its worker died between the last result and the delivery.
                let _ = spool.hand_over(share.index, &task);
                continue;
            }
            let Ok(line) = order(rank, &share) else { continue };
            let mut state = lock(state);
            state.ready.remove(&rank);
            state.given.insert(rank, Given::new(share, task));
            drop(state);
            if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
        sleep(LOOK);
    }
}
