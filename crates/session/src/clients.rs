//! One workload from many clients in step on shared storage: the clients are started here or on the nodes of Slurm.

mod queued;

use crate::error::SessionError;
use crate::machine::Machine;
use queued::Queued;
use rustix::process::{Pid, Signal, kill_process};
use seekwell_cluster::{ClusterError, MEETING_TIME, clients_found, prepare_clients};
use seekwell_model::clients::{ClientsPlan, PhaseFound};
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The one that starts the clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// This machine.
    Here,
    /// `srun`, on so many nodes.
    Slurm {
        /// Number of nodes.
        nodes: u32,
        /// Further options of `srun`.
        options: Vec<String>,
    },
}

/// Time between two looks for an end or an interrupt.
const LOOK: Duration = Duration::from_millis(20);

/// Time that clients have for their end after an interrupt, and their folder for its removal.
const END_TIME: Duration = Duration::from_secs(10);

/// Measures shared storage with clients in step, in a folder of their own below `storage` that is removed again, also
/// when `stop` is raised. `say` is told when the clients wait for nodes.
///
/// # Errors
/// When a client cannot be started or fails, the storage does, Slurm can never give the nodes, or the measurement is
/// interrupted.
pub fn clients_in_step(
    machine: &Machine,
    storage: &Path,
    plan: &ClientsPlan,
    launch: &Launch,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<PhaseFound>, SessionError> {
    let storage = std::path::absolute(storage).unwrap_or_else(|_| storage.to_owned());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let folder = storage.join(format!("seekwell-clients-{host}-{}", std::process::id()));
    prepare_clients(&folder, plan)?;
    let (started, mut queued) = match launch {
        Launch::Here => (here(machine, &folder, plan), None),
        Launch::Slurm { nodes, options } => {
            let started = slurm(machine, &folder, plan, *nodes, options);
            (started, Some(Queued::new(&folder, plan, (*nodes, options), machine.slurm(), say)))
        }
    };
    let mut is_over = || {
        let is_in_vain = queued.as_mut().is_some_and(Queued::is_in_vain);
        is_in_vain || stop.load(Ordering::Relaxed)
    };
    let ran = started.and_then(|started| started.wait(&mut is_over));
    let found = clients_found(&folder);
    // Its files are as large as the storage allows; an error here must not hide that of a client.
    let removed = remove(&folder);
    let words = ran.map_err(|source| SessionError::StartClients { source })?;
    let found = found?;
    let in_vain = queued.filter(|_| found.is_none() && !stop.load(Ordering::Relaxed));
    if let Some(error) = in_vain.and_then(|queued| queued.error(&words)) {
        return Err(error);
    }
    if found.is_none() && removed.is_ok() && stop.load(Ordering::Relaxed) {
        return Err(SessionError::ClientsStopped { folder });
    }
    if found.is_none() && !stop.load(Ordering::Relaxed) {
        return Err(SessionError::Clients { words });
    }
    removed.map_err(|source| ClusterError::Spool { action: "remove", path: folder, source })?;
    Ok(found.unwrap_or_default())
}

/// Removes the folder of a measurement. A client that was told to end may still be making a file.
fn remove(folder: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match std::fs::remove_dir_all(folder) {
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty
                    && begun.elapsed() < END_TIME => {}
            ended => return ended,
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs one client, started by [`clients_in_step`].
///
/// # Errors
/// When another client fails or is lost, or the storage fails.
pub fn client(folder: &Path, rank: u32) -> Result<(), SessionError> {
    Ok(seekwell_cluster::client(folder, rank, MEETING_TIME)?)
}

/// Processes on this machine: the clients, or `srun`.
struct Started(Vec<(Child, JoinHandle<String>)>);

impl Started {
    fn add(&mut self, command: &mut Command) -> io::Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let errors = child.stderr.take();
        let read = move || {
            let mut text = Vec::new();
            // What was read before an error is still worth telling.
            let _ = errors.map(|mut errors| errors.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        };
        self.0.push((child, std::thread::spawn(read)));
        Ok(())
    }

    /// Waits for all, or ends them when `is_over`; the last words of the first one that failed.
    fn wait(mut self, is_over: &mut dyn FnMut() -> bool) -> io::Result<String> {
        let mut told: Option<Instant> = None;
        let mut failed = None;
        for index in 0..self.0.len() {
            let status = loop {
                if let Some(status) = self.0[index].0.try_wait()? {
                    break status;
                }
                if told.is_none() && is_over() {
                    told = Some(Instant::now());
                    // `srun` ends its clients before itself.
                    self.tell(Signal::TERM);
                }
                if told.is_some_and(|told| told.elapsed() > END_TIME) {
                    self.tell(Signal::KILL);
                }
                std::thread::sleep(LOOK);
            };
            if !status.success() && failed.is_none() {
                failed = Some(index);
            }
        }
        // Client 0 knows which one failed first.
        let words = self.0.into_iter().map(|(_, words)| words.join().unwrap_or_default());
        let mut words: Vec<String> = words.collect();
        Ok(failed.map(|index| last_words(&words.swap_remove(index))).unwrap_or_default())
    }

    /// Sends a signal to those that have not ended.
    fn tell(&mut self, signal: Signal) {
        for (child, _) in &mut self.0 {
            if matches!(child.try_wait(), Ok(None)) {
                // One that ends at this moment has what it should have.
                let _ = kill_process(Pid::from_child(child), signal);
            }
        }
    }
}

/// Starts all clients on this machine.
fn here(machine: &Machine, folder: &Path, plan: &ClientsPlan) -> io::Result<Started> {
    let mut started = Started(Vec::new());
    for rank in 0..plan.clients {
        let mut command = Command::new(&machine.program);
        command.args(client_words(folder)).args(["--rank", &rank.to_string()]);
        if let Err(error) = started.add(&mut command) {
            started.tell(Signal::KILL);
            started.wait(&mut || false)?;
            return Err(error);
        }
    }
    Ok(started)
}

/// Starts all clients by `srun`, at once.
fn slurm(
    machine: &Machine,
    folder: &Path,
    plan: &ClientsPlan,
    nodes: u32,
    options: &[String],
) -> io::Result<Started> {
    let mut command = Command::new(machine.slurm().needed("srun").map_err(io::Error::other)?);
    command
        .args(srun_words(plan, nodes))
        .arg(format!("--job-name={}", job_name(folder)))
        .args(options)
        .arg(&machine.program);
    let mut started = Started(Vec::new());
    started.add(command.args(client_words(folder)))?;
    Ok(started)
}

/// Options of `srun`. A client that fails ends the others.
fn srun_words(plan: &ClientsPlan, nodes: u32) -> Vec<String> {
    vec![
        format!("--nodes={nodes}"),
        format!("--ntasks={}", plan.clients),
        format!("--ntasks-per-node={}", plan.clients.div_ceil(nodes.max(1))),
        // Consecutive ranks share a node, so that a shift by their number leads to another one.
        "--distribution=block".to_owned(),
        // Clients wait for the storage, not for a CPU.
        "--overcommit".to_owned(),
        "--kill-on-bad-exit=1".to_owned(),
        "--quiet".to_owned(),
    ]
}

/// Name of the job of a measurement, that of its folder.
fn job_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn client_words(folder: &Path) -> Vec<OsString> {
    let folder: PathBuf = folder.to_owned();
    vec!["client".into(), folder.into()]
}

/// The first line of an error of our own, else what the program said last.
fn last_words(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let own = lines().find(|line| line.contains("client ") && line.contains("out of step"));
    own.or_else(|| lines().next_back()).unwrap_or_default().to_owned()
}
