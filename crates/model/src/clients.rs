//! One workload from many clients in step on shared storage: the request, and the figures found.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Work of every client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientsPlan {
    /// Number of clients in all.
    pub clients: u32,
    /// Clients on each node. Clients read what those of another node wrote, as far as there is one.
    pub per_node: u32,
    /// Files that each client makes, looks at, reads and removes; 0 leaves these phases out.
    pub files: u32,
    /// Size of each of these files.
    pub file_bytes: Bytes,
    /// True if all clients make their files in one directory.
    pub shared_directory: bool,
    /// Data that each client writes and reads in one file of its own; 0 leaves these phases out.
    pub block: Bytes,
    /// Size of a request.
    pub transfer: Bytes,
    /// Ends each writing or making phase after so many nanoseconds.
    pub stonewall_ns: Option<u64>,
}

/// A phase: all clients begin it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientsPhase {
    /// Makes files, with their data.
    Create,
    /// Asks for the attributes of files.
    Stat,
    /// Reads files.
    ReadFiles,
    /// Removes files.
    Remove,
    /// Writes a large file and syncs it.
    Write,
    /// Reads a large file.
    Read,
}

impl ClientsPhase {
    /// The phases of a plan, in their order.
    #[must_use]
    pub fn of(plan: &ClientsPlan) -> Vec<Self> {
        let files = [Self::Create, Self::Stat, Self::ReadFiles, Self::Remove];
        let data = [Self::Write, Self::Read];
        let files = files.into_iter().filter(|_| plan.files > 0);
        files.chain(data.into_iter().filter(|_| plan.block.0 > 0)).collect()
    }

    /// Returns true for phases of IOR, whose figure is bandwidth; the others are those of mdtest, whose figure is
    /// operations per second.
    #[must_use]
    pub fn is_data(self) -> bool {
        matches!(self, Self::Write | Self::Read)
    }
}

/// One client in one phase. Times count from the moment at which the client was told to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientFound {
    /// Its number, from 0.
    pub rank: u32,
    /// Its node.
    pub node: String,
    /// Time at which it was done, file closed or synced.
    pub done_ns: u64,
    /// Operations.
    pub operations: u64,
    /// Data moved.
    pub bytes: u64,
    /// Operations that were done when the first client was done.
    pub operations_at_first: u64,
    /// Data moved by then.
    pub bytes_at_first: u64,
    /// Latencies of its operations, as HDR histogram V2 bytes, values in nanoseconds.
    pub histogram: Vec<u8>,
}

/// All clients in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseFound {
    /// The phase.
    pub phase: ClientsPhase,
    /// Its clients by rank.
    pub clients: Vec<ClientFound>,
}

/// A rate in operations or bytes per second, and the time it is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientsRate {
    /// Operations per second of all clients together.
    pub operations_per_s: f64,
    /// Bytes per second of all clients together.
    pub bytes_per_s: f64,
    /// The time.
    pub ns: u64,
}

impl PhaseFound {
    /// All operations over the time of the last client: the rate of mdtest, and the bandwidth of IOR. `None` if
    /// nothing was done.
    #[must_use]
    pub fn at_last(&self) -> Option<ClientsRate> {
        let ns = self.clients.iter().map(|client| client.done_ns).max()?;
        let all = |of: fn(&ClientFound) -> u64| self.clients.iter().map(of).sum::<u64>();
        rate(all(|client| client.operations), all(|client| client.bytes), ns)
    }

    /// The operations done when the first client was done, over its time: the stonewall.
    #[must_use]
    pub fn at_first(&self) -> Option<ClientsRate> {
        let ns = self.clients.iter().map(|client| client.done_ns).min()?;
        let all = |of: fn(&ClientFound) -> u64| self.clients.iter().map(of).sum::<u64>();
        rate(all(|client| client.operations_at_first), all(|client| client.bytes_at_first), ns)
    }
}

fn rate(operations: u64, bytes: u64, ns: u64) -> Option<ClientsRate> {
    let seconds = ns as f64 / 1e9;
    let (operations_per_s, bytes_per_s) = (operations as f64 / seconds, bytes as f64 / seconds);
    (ns > 0 && operations > 0).then_some(ClientsRate { operations_per_s, bytes_per_s, ns })
}

#[cfg(test)]
mod tests;
