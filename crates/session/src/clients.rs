//! One workload from many clients in step on shared storage: the clients are started here or on the nodes of Slurm.

use crate::error::SessionError;
use crate::machine::Machine;
use seekwell_cluster::{ClusterError, MEETING_TIME, clients_found, prepare_clients};
use seekwell_model::clients::{ClientsPlan, PhaseFound};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

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

/// Measures shared storage with clients in step, in a folder of their own below `storage` that is removed again.
///
/// # Errors
/// When a client cannot be started or fails, or the storage does.
pub fn clients_in_step(
    machine: &Machine,
    storage: &Path,
    plan: &ClientsPlan,
    launch: &Launch,
) -> Result<Vec<PhaseFound>, SessionError> {
    let storage = std::path::absolute(storage).unwrap_or_else(|_| storage.to_owned());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let folder = storage.join(format!("seekwell-clients-{host}-{}", std::process::id()));
    prepare_clients(&folder, plan)?;
    let ran = match launch {
        Launch::Here => here(machine, &folder, plan),
        Launch::Slurm { nodes, options } => slurm(machine, &folder, plan, *nodes, options),
    };
    let found = clients_found(&folder);
    // Its files are as large as the storage allows; an error here must not hide that of a client.
    let removed = std::fs::remove_dir_all(&folder);
    let words = ran.map_err(|source| SessionError::StartClients { source })?;
    let found = found?.ok_or(SessionError::Clients { words })?;
    removed.map_err(|source| ClusterError::Spool { action: "remove", path: folder, source })?;
    Ok(found)
}

/// Runs one client, started by [`clients_in_step`].
///
/// # Errors
/// When another client fails or is lost, or the storage fails.
pub fn client(folder: &Path, rank: u32) -> Result<(), SessionError> {
    Ok(seekwell_cluster::client(folder, rank, MEETING_TIME)?)
}

/// Starts all clients on this machine; the last words of those that failed.
fn here(machine: &Machine, folder: &Path, plan: &ClientsPlan) -> io::Result<String> {
    let start = |rank: u32| {
        let mut command = Command::new(&machine.program);
        command.args(client_words(folder)).args(["--rank", &rank.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    };
    let mut clients: Vec<Child> = Vec::new();
    for rank in 0..plan.clients {
        match start(rank) {
            Ok(client) => clients.push(client),
            Err(error) => {
                clients.iter_mut().for_each(|client| drop(client.kill()));
                clients.iter_mut().for_each(|client| drop(client.wait()));
                return Err(error);
            }
        }
    }
    let ended = clients.into_iter().map(Child::wait_with_output);
    let ended: Vec<Output> = ended.collect::<io::Result<_>>()?;
    // Client 0 knows which one failed first.
    Ok(ended.iter().find(|one| !one.status.success()).map(last_words).unwrap_or_default())
}

/// Starts all clients by `srun`, at once.
fn slurm(
    machine: &Machine,
    folder: &Path,
    plan: &ClientsPlan,
    nodes: u32,
    options: &[String],
) -> io::Result<String> {
    let mut command = Command::new("srun");
    command.args(srun_words(plan, nodes)).args(options).arg(&machine.program);
    command.args(client_words(folder)).stdin(Stdio::null());
    Ok(last_words(&command.output()?))
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
        "--job-name=seekwell".to_owned(),
    ]
}

fn client_words(folder: &Path) -> Vec<OsString> {
    let folder: PathBuf = folder.to_owned();
    vec!["client".into(), folder.into()]
}

/// The first line of an error of our own, else what the program said last.
fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let own = lines().find(|line| line.contains("client ") && line.contains("out of step"));
    own.or_else(|| lines().next_back()).unwrap_or_default().to_owned()
}
