//! One workload from many clients in step on shared storage.
//!
//! All clients are processes of this program, on any nodes that see the folder. The one with rank 0 hears the others
//! over TCP; its host and port are in the folder, with a word that strangers do not know. A phase begins when all
//! clients are ready and have been told so, so that no clock of one node is compared with that of another: each
//! client counts from the moment at which it was told.
//!
//! | from | words | meaning |
//! | --- | --- | --- |
//! | client | `Hello` | its rank and node |
//! | client | `Ready` | the phase may begin |
//! | hub | `Go` | it begins |
//! | client | `Done` | the time that it took |
//! | hub | `First` | the time of the fastest |
//! | client | `Found` | its figures |

mod data;
mod hub;
mod line;
mod phase;

use crate::error::ClusterError;
use hub::Hub;
use line::Line;
use phase::Work;
use seekwell_model::clients::{ClientFound, ClientsPhase, ClientsPlan, PhaseFound};
use serde::{Deserialize, Serialize};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

const PLAN: &str = "plan.json";
const MEETING: &str = "meeting.json";
const FOUND: &str = "found.json";
const FILES: &str = "files";

/// Time between two looks for rank 0.
const LOOK: Duration = Duration::from_millis(50);

/// Time within which all clients have to be there.
pub const MEETING_TIME: Duration = Duration::from_secs(120);

/// Address of rank 0.
#[derive(Debug, Serialize, Deserialize)]
struct Meeting {
    host: String,
    port: u16,
    word: String,
}

/// Words of a client.
#[derive(Debug, Serialize, Deserialize)]
enum FromClient {
    Hello { word: String, rank: u32, node: String },
    Ready,
    Done { ns: u64 },
    Found(Box<ClientFound>),
    Failed(String),
}

/// Words of rank 0.
#[derive(Debug, Serialize, Deserialize)]
enum FromHub {
    Go,
    First { ns: u64 },
}

/// Makes the folder of a measurement below shared storage; it must not be there yet.
///
/// # Errors
/// [`ClusterError::Spool`].
pub fn prepare_clients(folder: &Path, plan: &ClientsPlan) -> Result<(), ClusterError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |source| ClusterError::Spool { action: "make", path, source }
    };
    std::fs::DirBuilder::new().mode(0o700).create(folder).map_err(wrong(folder))?;
    let files = folder.join(FILES);
    std::fs::create_dir(&files).map_err(wrong(&files))?;
    put(&folder.join(PLAN), plan)
}

/// Figures that rank 0 has left in the folder; `None` if the clients did not come to their end.
///
/// # Errors
/// [`ClusterError::Spool`], [`ClusterError::Damaged`].
pub fn clients_found(folder: &Path) -> Result<Option<Vec<PhaseFound>>, ClusterError> {
    get(&folder.join(FOUND))
}

/// Returns true once the first client of a measurement runs.
#[must_use]
pub fn clients_have_met(folder: &Path) -> bool {
    folder.join(MEETING).exists()
}

/// Runs one client to its end. Rank 0 leaves the figures of all in the folder.
///
/// # Errors
/// When another client fails or is lost, or the storage fails.
pub fn client(folder: &Path, rank: u32, patience: Duration) -> Result<(), ClusterError> {
    let plan: ClientsPlan = get(&folder.join(PLAN))?.ok_or_else(|| {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        ClusterError::Spool { action: "read", path: folder.join(PLAN), source }
    })?;
    if rank != 0 {
        return in_step(folder, &plan, rank, patience);
    }
    let hub = Hub::open(folder, plan.clone(), patience)?;
    std::thread::scope(|scope| {
        let hub = scope.spawn(|| hub.run());
        let own = in_step(folder, &plan, rank, patience);
        // The hub knows which client failed first; this one may only have lost its line.
        let found = hub.join().unwrap_or(Err(ClusterError::Step("the hub ended".to_owned())))?;
        own?;
        put(&folder.join(FOUND), &found)
    })
}

/// Takes part in every phase.
fn in_step(
    folder: &Path,
    plan: &ClientsPlan,
    rank: u32,
    patience: Duration,
) -> Result<(), ClusterError> {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let (mut line, word) = meet(folder, &node, patience)?;
    line.say(&FromClient::Hello { word, rank, node: node.clone() })?;
    let mut work = Work::new(folder.join(FILES), plan.clone(), rank);
    for phase in ClientsPhase::of(plan) {
        if let Err(error) = one_phase(&mut line, &mut work, phase, &node) {
            // The others then hear why; without a line they see that this one is gone.
            let _ = line.say(&FromClient::Failed(error.to_string()));
            return Err(error);
        }
    }
    Ok(())
}

fn one_phase(
    line: &mut Line,
    work: &mut Work,
    phase: ClientsPhase,
    node: &str,
) -> Result<(), ClusterError> {
    work.prepare(phase)?;
    line.say(&FromClient::Ready)?;
    let FromHub::Go = line.hear()? else { return Err(line.unexpected()) };
    let done = work.run(phase)?;
    line.say(&FromClient::Done { ns: done.ns })?;
    let FromHub::First { ns } = line.hear()? else { return Err(line.unexpected()) };
    line.say(&FromClient::Found(Box::new(done.found(work.rank(), node, ns))))
}

/// A line to rank 0, and the word to say there.
fn meet(folder: &Path, node: &str, patience: Duration) -> Result<(Line, String), ClusterError> {
    let begun = Instant::now();
    loop {
        if let Some(meeting) = get::<Meeting>(&folder.join(MEETING))? {
            let host = if meeting.host == node { "127.0.0.1" } else { meeting.host.as_str() };
            let stream = TcpStream::connect((host, meeting.port)).map_err(|error| {
                ClusterError::Step(format!("cannot reach {host}:{}: {error}", meeting.port))
            })?;
            return Ok((Line::new(stream)?, meeting.word));
        }
        if begun.elapsed() > patience {
            let seconds = patience.as_secs();
            return Err(ClusterError::Step(format!("client 0 was not there within {seconds} s")));
        }
        std::thread::sleep(LOOK);
    }
}

/// Writes a file that appears whole.
fn put(path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
    let text = serde_json::to_vec(value)
        .map_err(|source| ClusterError::Damaged { path: path.to_owned(), source })?;
    let unfinished: PathBuf = path.with_extension("unfinished");
    let written =
        std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, path));
    written.map_err(|source| ClusterError::Spool { action: "write", path: path.to_owned(), source })
}

/// Reads a file; `None` if there is none.
fn get<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, ClusterError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(ClusterError::Spool { action: "read", path: path.to_owned(), source });
        }
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|source| ClusterError::Damaged { path: path.to_owned(), source })
}
