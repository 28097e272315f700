//! Rank 0 as the meeting point of all clients.

use super::line::Line;
use super::{FromClient, FromHub, MEETING, Meeting, put};
use crate::error::ClusterError;
use seekwell_model::clients::{ClientFound, ClientsPhase, ClientsPlan, PhaseFound};
use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two looks for a client that comes.
const LOOK: Duration = Duration::from_millis(5);

/// Time within which one that comes says its name.
const HELLO: Duration = Duration::from_secs(10);

/// The meeting point, open.
pub(super) struct Hub {
    listener: TcpListener,
    word: String,
    plan: ClientsPlan,
    patience: Duration,
}

/// A client that is there.
struct Guest {
    rank: u32,
    node: String,
    line: Line,
}

impl Guest {
    /// Hears words; an error names the client.
    fn hear(&mut self) -> Result<FromClient, ClusterError> {
        match self.line.hear() {
            Ok(FromClient::Failed(words)) => Err(self.failed(&words)),
            Ok(words) => Ok(words),
            Err(_) => Err(self.failed("it is gone")),
        }
    }

    fn failed(&self, words: &str) -> ClusterError {
        ClusterError::Step(format!("client {} on {}: {words}", self.rank, self.node))
    }
}

impl Hub {
    /// Opens the meeting point and tells its address in the folder.
    pub(super) fn open(
        folder: &Path,
        plan: ClientsPlan,
        patience: Duration,
    ) -> Result<Self, ClusterError> {
        let wrong = |error: std::io::Error| ClusterError::Step(format!("cannot listen: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        let mut random = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .map_err(wrong)?;
        let word: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        put(&folder.join(MEETING), &Meeting { host, port, word: word.clone() })?;
        Ok(Self { listener, word, plan, patience })
    }

    /// Leads all clients through all phases.
    pub(super) fn run(&self) -> Result<Vec<PhaseFound>, ClusterError> {
        let mut guests = self.gather()?;
        ClientsPhase::of(&self.plan).into_iter().map(|phase| lead(&mut guests, phase)).collect()
    }

    /// Waits until all clients are there.
    fn gather(&self) -> Result<Vec<Guest>, ClusterError> {
        let begun = Instant::now();
        let mut guests: Vec<Guest> = Vec::new();
        while guests.len() < self.plan.clients as usize {
            if let Ok((stream, _)) = self.listener.accept() {
                let is_blocking = stream.set_nonblocking(false).is_ok();
                // Strangers, such as scanners of ports, are not answered.
                let guest = is_blocking.then(|| self.greet(Line::new(stream).ok()?)).flatten();
                let is_new = |guest: &Guest| guests.iter().all(|one| one.rank != guest.rank);
                guests.extend(guest.filter(is_new));
                continue;
            }
            if begun.elapsed() > self.patience {
                let (here, all) = (guests.len(), self.plan.clients);
                let seconds = self.patience.as_secs();
                return Err(ClusterError::Step(format!(
                    "only {here} of {all} clients were there within {seconds} s"
                )));
            }
            std::thread::sleep(LOOK);
        }
        guests.sort_by_key(|guest| guest.rank);
        Ok(guests)
    }

    /// A client that knows the word.
    fn greet(&self, mut line: Line) -> Option<Guest> {
        line.wait_for(Some(HELLO)).ok()?;
        let FromClient::Hello { word, rank, node } = line.hear().ok()? else { return None };
        line.wait_for(None).ok()?;
        (word == self.word && rank < self.plan.clients).then_some(Guest { rank, node, line })
    }
}

/// Leads all clients through one phase.
fn lead(guests: &mut [Guest], phase: ClientsPhase) -> Result<PhaseFound, ClusterError> {
    for guest in guests.iter_mut() {
        let FromClient::Ready = guest.hear()? else { return Err(guest.line.unexpected()) };
    }
    guests.iter_mut().try_for_each(|guest| guest.line.say(&FromHub::Go))?;
    let mut first = u64::MAX;
    for guest in guests.iter_mut() {
        let FromClient::Done { ns } = guest.hear()? else { return Err(guest.line.unexpected()) };
        first = first.min(ns);
    }
    guests.iter_mut().try_for_each(|guest| guest.line.say(&FromHub::First { ns: first }))?;
    let found = |guest: &mut Guest| -> Result<ClientFound, ClusterError> {
        let FromClient::Found(found) = guest.hear()? else { return Err(guest.line.unexpected()) };
        Ok(*found)
    };
    let clients = guests.iter_mut().map(found).collect::<Result<_, _>>()?;
    Ok(PhaseFound { phase, clients })
}
