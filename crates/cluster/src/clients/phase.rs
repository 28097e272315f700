//! The work of one client in a phase.

use super::data::Data;
use crate::error::ClusterError;
use rustix::fs::{Advice, fadvise};
use seekwell_model::clients::{ClientFound, ClientsPhase, ClientsPlan};
use seekwell_stats::histogram::Histogram;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The files of a client, and how far it came.
pub(super) struct Work {
    folder: PathBuf,
    plan: ClientsPlan,
    rank: u32,
    data: Data,
}

/// A phase of one client that is over.
pub(super) struct Done {
    /// From the word to begin to the end.
    pub(super) ns: u64,
    /// End of each operation and the bytes that it moved.
    ends: Vec<(u64, u64)>,
    histogram: Histogram,
}

impl Done {
    /// The figures, with those at the time at which the first client was done.
    pub(super) fn found(&self, rank: u32, node: &str, first_ns: u64) -> ClientFound {
        let bytes = |ends: &[(u64, u64)]| ends.iter().map(|(_, bytes)| bytes).sum();
        let by_then = self.ends.partition_point(|(end, _)| *end <= first_ns);
        ClientFound {
            rank,
            node: node.to_owned(),
            done_ns: self.ns,
            operations: self.ends.len() as u64,
            bytes: bytes(&self.ends),
            operations_at_first: by_then as u64,
            bytes_at_first: bytes(&self.ends[..by_then]),
            histogram: self.histogram.to_bytes(),
        }
    }
}

/// Operations under the clock.
struct Clock {
    begun: Instant,
    stonewall_ns: Option<u64>,
    done: Done,
}

impl Clock {
    fn new(stonewall_ns: Option<u64>) -> Self {
        let done = Done { ns: 0, ends: Vec::new(), histogram: Histogram::new() };
        Self { begun: Instant::now(), stonewall_ns, done }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Runs an operation that returns the bytes it moved; false when there is no time for another one.
    fn one(&mut self, run: impl FnOnce() -> io::Result<u64>) -> io::Result<bool> {
        let begun = self.now();
        let bytes = run()?;
        let end = self.now();
        self.done.histogram.record(end - begun);
        self.done.ends.push((end, bytes));
        Ok(self.stonewall_ns.is_none_or(|limit| end < limit))
    }

    fn end(mut self) -> Done {
        self.done.ns = self.now();
        self.done
    }
}

impl Work {
    pub(super) fn new(folder: PathBuf, plan: ClientsPlan, rank: u32) -> Self {
        let longest = plan.file_bytes.0.max(plan.transfer.0) as usize;
        let data = Data::new(rank, longest);
        Self { folder, plan, rank, data }
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// Makes the directory of the files, outside measured time.
    pub(super) fn prepare(&self, phase: ClientsPhase) -> Result<(), ClusterError> {
        if phase != ClientsPhase::Create {
            return Ok(());
        }
        let own = self.directory(self.rank);
        fs::create_dir_all(&own).map_err(failed("make", &own))
    }

    pub(super) fn run(&mut self, phase: ClientsPhase) -> Result<Done, ClusterError> {
        let ran = match phase {
            ClientsPhase::Create => self.create(),
            ClientsPhase::Stat => self.each(self.other(), |path, _| fs::metadata(path).map(|_| 0)),
            ClientsPhase::ReadFiles => self.each(self.other(), read_file),
            ClientsPhase::Remove => {
                self.each(self.rank, |path, _| fs::remove_file(path).map(|()| 0))
            }
            ClientsPhase::Write => self.write(),
            ClientsPhase::Read => self.read(),
        };
        ran.map_err(failed("use", &self.folder))
    }

    /// The client whose files this one reads: that of the next node, so that they are in no cache here.
    fn other(&self) -> u32 {
        (self.rank + self.plan.per_node.max(1)) % self.plan.clients.max(1)
    }

    fn directory(&self, rank: u32) -> PathBuf {
        let name = if self.plan.shared_directory { "all".to_owned() } else { format!("{rank}") };
        self.folder.join(name)
    }

    fn file(&self, rank: u32, number: u32) -> PathBuf {
        self.directory(rank).join(format!("{rank}.{number}"))
    }

    fn large(&self, rank: u32) -> PathBuf {
        self.folder.join(format!("large.{rank}"))
    }

    fn create(&mut self) -> io::Result<Done> {
        let size = self.plan.file_bytes.0 as usize;
        let mut clock = Clock::new(self.plan.stonewall_ns);
        for number in 0..self.plan.files {
            let path = self.file(self.rank, number);
            let data = self.data.next(size);
            let goes_on = clock.one(|| {
                let mut file = File::create_new(path)?;
                file.write_all(data)?;
                Ok(data.len() as u64)
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(clock.end())
    }

    /// An operation on each file of a client; after a stonewall there may be fewer.
    fn each(&self, rank: u32, run: impl Fn(&Path, usize) -> io::Result<u64>) -> io::Result<Done> {
        let size = self.plan.file_bytes.0 as usize;
        let mut clock = Clock::new(None);
        for number in 0..self.plan.files {
            let path = self.file(rank, number);
            match clock.one(|| run(&path, size)) {
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && self.plan.stonewall_ns.is_some() =>
                {
                    break;
                }
                ran => ran?,
            };
        }
        Ok(clock.end())
    }

    fn write(&mut self) -> io::Result<Done> {
        let transfer = self.plan.transfer.0.max(1);
        let mut clock = Clock::new(self.plan.stonewall_ns);
        let file = File::create_new(self.large(self.rank))?;
        for (offset, length) in requests(self.plan.block.0, transfer) {
            let data = self.data.next(length as usize);
            if !clock.one(|| file.write_all_at(data, offset).map(|()| length))? {
                break;
            }
        }
        file.sync_all()?;
        drop(file);
        Ok(clock.end())
    }

    fn read(&self) -> io::Result<Done> {
        let transfer = self.plan.transfer.0.max(1);
        let mut buffer = vec![0; transfer as usize];
        let mut clock = Clock::new(None);
        let file = File::open(self.large(self.other()))?;
        // A cache of this node does not count, if the filesystem honours the advice.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        let length = file.metadata()?.len();
        for (offset, length) in requests(length, transfer) {
            let part = &mut buffer[..length as usize];
            clock.one(|| file.read_exact_at(part, offset).map(|()| length))?;
        }
        drop(file);
        Ok(clock.end())
    }
}

/// Offsets and lengths of requests over a file.
fn requests(length: u64, transfer: u64) -> impl Iterator<Item = (u64, u64)> {
    let step = usize::try_from(transfer).unwrap_or(usize::MAX);
    (0..length).step_by(step).map(move |offset| (offset, transfer.min(length - offset)))
}

fn read_file(path: &Path, size: usize) -> io::Result<u64> {
    let mut data = Vec::with_capacity(size);
    Ok(File::open(path)?.read_to_end(&mut data)? as u64)
}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> ClusterError {
    let path = path.to_owned();
    move |source| ClusterError::Spool { action, path: path.clone(), source }
}
