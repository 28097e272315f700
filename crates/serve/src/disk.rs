//! The served disk without a clock: requests in at a time, answers out at the times that the model says.

use seekwell_device::{Completion, Geometry, Lba, Model, Operation, Piece, Refused, Request};
use seekwell_virtual::Content;
use std::collections::{BTreeMap, VecDeque};
use std::io;

#[cfg(test)]
mod tests;

const SECTOR: u64 = 512;

/// `EIO`, `EINVAL` and `EOPNOTSUPP` of `errno.h`.
const IO: i32 = 5;
const INVALID: i32 = 22;
const UNSUPPORTED: i32 = 95;

/// Data of a request, before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// So many bytes are wanted.
    Read(u64),
    /// These bytes are written.
    Write(&'a [u8]),
    /// Everything written becomes durable.
    Flush,
    /// So many bytes are no longer wanted.
    Discard(u64),
    /// So many bytes become zeroes.
    Zero(u64),
}

impl Ask<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::Read(bytes) | Self::Discard(bytes) | Self::Zero(bytes) => *bytes,
            Self::Write(data) => data.len() as u64,
            Self::Flush => 0,
        }
    }

    const fn operation(&self) -> Operation {
        match self {
            Self::Read(_) => Operation::Read,
            Self::Write(_) => Operation::Write,
            Self::Flush => Operation::Flush,
            Self::Discard(_) => Operation::Discard,
            Self::Zero(_) => Operation::WriteZeroes,
        }
    }
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The caller's number of the request.
    pub unique: u64,
    /// Time at which the model is done with it; `None` when the disk refused it at once.
    pub due_ns: Option<u64>,
    /// A number of `errno.h`; 0 for none.
    pub error: i32,
    /// Data of a read, otherwise empty.
    pub data: Vec<u8>,
    /// Bytes of a write that were written.
    pub written: u32,
}

/// A request of the caller, which is one or more of the model.
#[derive(Debug)]
struct Pending {
    answer: Answer,
    left: u32,
}

/// A modelled disk with its content.
#[derive(Debug)]
pub struct Disk {
    model: Box<dyn Model>,
    geometry: Geometry,
    content: Content,
    last_id: u64,
    /// Requests in the model's queue, by its id: the caller's number.
    submitted: BTreeMap<u64, u64>,
    pending: BTreeMap<u64, Pending>,
    /// Requests that are not in the model's queue yet, with the caller's number.
    waiting: VecDeque<(u64, Request)>,
    completions: Vec<Completion>,
    /// Requests of which the model refused a part.
    refused: Vec<u64>,
    /// Buffers of answered reads, to be used again.
    spare: Vec<Vec<u8>>,
}

impl Disk {
    /// A disk that was just switched on.
    #[must_use]
    pub fn new(model: Box<dyn Model>, content: Content) -> Self {
        let geometry = model.geometry();
        Self {
            model,
            geometry,
            content,
            last_id: 0,
            submitted: BTreeMap::new(),
            pending: BTreeMap::new(),
            waiting: VecDeque::new(),
            completions: Vec::new(),
            refused: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Geometry of the model.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Time of the model's next event; `None` when nothing is outstanding.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        self.model.next_event_ns()
    }

    /// Takes a request at `now_ns`. One that is longer than the model takes becomes several; one that finds
    /// the queue full waits here. Returns the answer if there is one at once: an error.
    ///
    /// # Errors
    /// When the content cannot be kept on this machine.
    pub fn submit(
        &mut self,
        now_ns: u64,
        unique: u64,
        offset: u64,
        ask: Ask<'_>,
    ) -> io::Result<Option<Answer>> {
        let (operation, bytes) = (ask.operation(), ask.bytes());
        let refuse = |error| {
            let (due_ns, data, written) = (None, Vec::new(), 0);
            Ok(Some(Answer { unique, due_ns, error, data, written }))
        };
        let limit = match operation {
            Operation::Read | Operation::Write | Operation::Flush => {
                Some(self.geometry.max_request_bytes / 512)
            }
            Operation::Discard => self.geometry.max_discard_sectors,
            Operation::WriteZeroes => self.geometry.max_write_zeroes_sectors,
        };
        let block = u64::from(self.geometry.logical_block.max(512));
        let Some(limit) = limit.filter(|limit| *limit > 0) else { return refuse(UNSUPPORTED) };
        let end = offset.checked_add(bytes);
        if !offset.is_multiple_of(block) || !bytes.is_multiple_of(block) {
            return refuse(INVALID);
        }
        if end.is_none_or(|end| end > self.geometry.sectors_512 * SECTOR) {
            return refuse(IO);
        }
        let data = self.transfer(offset, ask)?;
        let written = if operation == Operation::Write { bytes as u32 } else { 0 };
        let (mut lba, mut left) = (offset / SECTOR, bytes / SECTOR);
        let mut parts = 0;
        while parts == 0 || left > 0 {
            let sectors = left.min(u64::from(limit)) as u32;
            let request = Request { id: 0, operation, lba: Lba(lba), sectors, fua: false };
            self.waiting.push_back((unique, request));
            lba += u64::from(sectors);
            left -= u64::from(sectors);
            parts += 1;
        }
        let answer = Answer { unique, due_ns: Some(now_ns), error: 0, data, written };
        self.pending.insert(unique, Pending { answer, left: parts });
        self.fill(now_ns);
        Ok(None)
    }

    /// Lets time pass to `now_ns` and appends what is done.
    pub fn advance(&mut self, now_ns: u64, answers: &mut Vec<Answer>) {
        let mut completions = std::mem::take(&mut self.completions);
        self.model.advance(now_ns, &mut completions);
        for completion in completions.drain(..) {
            let Some(unique) = self.submitted.remove(&completion.id) else { continue };
            self.part_is_done(unique, completion.at_ns, 0, answers);
        }
        self.completions = completions;
        self.fill(now_ns);
        for unique in std::mem::take(&mut self.refused) {
            self.part_is_done(unique, now_ns, IO, answers);
        }
    }

    /// Takes the buffer of an answered read back.
    pub fn reuse(&mut self, buffer: Vec<u8>) {
        const MOST: usize = 32;
        if buffer.capacity() > 0 && self.spare.len() < MOST {
            self.spare.push(buffer);
        }
    }

    fn part_is_done(&mut self, unique: u64, at_ns: u64, error: i32, answers: &mut Vec<Answer>) {
        let Some(pending) = self.pending.get_mut(&unique) else { return };
        pending.left -= 1;
        pending.answer.due_ns = pending.answer.due_ns.max(Some(at_ns));
        pending.answer.error = pending.answer.error.max(error);
        if pending.left == 0 {
            answers.extend(self.pending.remove(&unique).map(|pending| pending.answer));
        }
    }

    /// Moves waiting requests into the model's queue, as far as it takes them.
    fn fill(&mut self, now_ns: u64) {
        while let Some(&(unique, request)) = self.waiting.front() {
            let id = self.last_id + 1;
            match self.model.submit(now_ns, Request { id, ..request }) {
                Ok(()) => {
                    self.submitted.insert(id, unique);
                }
                Err(Refused::QueueFull { .. }) => break,
                Err(_) => self.refused.push(unique),
            }
            self.last_id = id;
            self.waiting.pop_front();
        }
    }

    /// Moves the data. Requests that overlap take effect in the order of their submission, so it can move now.
    fn transfer(&mut self, offset: u64, ask: Ask<'_>) -> io::Result<Vec<u8>> {
        let sector = offset / SECTOR;
        let pieces = self.geometry.pieces(sector, ask.bytes() / SECTOR);
        let within = |piece: &Piece| {
            let start = ((piece.sector - sector) * SECTOR) as usize;
            start..start + (piece.sectors * SECTOR) as usize
        };
        match ask {
            Ask::Read(bytes) => {
                let mut data = self.spare.pop().unwrap_or_default();
                data.resize(bytes as usize, 0);
                for piece in pieces {
                    self.content.read(piece.place, &mut data[within(&piece)])?;
                }
                return Ok(data);
            }
            Ask::Write(data) => {
                for piece in pieces {
                    self.content.write(piece.place, &data[within(&piece)])?;
                }
            }
            Ask::Discard(_) | Ask::Zero(_) => {
                for piece in pieces {
                    self.content.zero(piece.place, piece.sectors)?;
                }
            }
            Ask::Flush => {}
        }
        Ok(Vec::new())
    }
}
