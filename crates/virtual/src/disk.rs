//! One disk of the guest: requests out of its ring, through the model and the content, and back.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use seekwell_device::evidence::Evidence;
use seekwell_device::{
    Completion, Geometry, Lba, Model, Operation, Piece, Refused, Request, SectorRange,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::block::{self, Command, Frame, FrameFault};
use crate::content::{Content, Frozen, Keeping};
use crate::cuts::Recording;
use crate::fingerprint::Event;
use crate::memory::{GuestMemory, OutOfRange};
use crate::ring::{Ring, RingFault, Segment};

#[cfg(test)]
mod tests;

/// Errors after which a disk cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum DiskFault {
    #[error("a disk's virtqueue is malformed: {0}")]
    Ring(#[from] RingFault),
    #[error("malformed request to a disk: {0}")]
    Frame(#[from] FrameFault),
    #[error("a request's buffer is outside the guest's memory: {0}")]
    Buffer(#[from] OutOfRange),
    #[error(
        "cannot store the content of a modelled disk: {0}; free some space in the scratch directory"
    )]
    Content(#[from] io::Error),
    #[error("the device model completed request {0}, which is not outstanding")]
    UnknownCompletion(u64),
    #[error("the device model rejected a time: {0}")]
    Time(Refused),
}

/// A request taken from the ring that the model does not have yet.
#[derive(Debug)]
struct Taken {
    head: u16,
    frame: Frame,
    segments: Vec<Segment>,
}

/// A request in the model's hands, or one whose time is up.
#[derive(Debug)]
struct Outstanding {
    id: u64,
    head: u16,
    status_address: u64,
    status: u8,
    written: u32,
    event: Option<Event>,
}

/// A disk of the guest.
#[derive(Debug)]
pub struct Disk {
    /// Position among the machine's disks.
    index: u8,
    serial: [u8; block::SERIAL_BYTES],
    geometry: Geometry,
    read_only: bool,
    model: Box<dyn Model>,
    content: Content,
    recording: Option<Recording>,
    damaged: Vec<SectorRange>,
    age_ns: u64,
    latest_ns: u64,
    backlog: VecDeque<Taken>,
    outstanding: Vec<Outstanding>,
    /// Answers that need no time.
    immediate: Vec<Outstanding>,
    next_id: u64,
    segments: Vec<Segment>,
    buffer: Vec<u8>,
    completions: Vec<Completion>,
}

/// The parts of a disk, given at its start and returned at its end.
#[derive(Debug)]
pub struct DiskParts {
    /// Model of the device's timing.
    pub model: Box<dyn Model>,
    /// Content of the disk.
    pub content: Content,
    /// Sectors that answer reads with an error until they are written.
    pub damaged: Vec<SectorRange>,
    /// Takes every request while the disk runs; `None` when nothing is to be recorded.
    pub recording: Option<Recording>,
    age_ns: u64,
    next_id: u64,
}

impl DiskParts {
    /// A disk that was never switched on.
    #[must_use]
    pub fn new(model: Box<dyn Model>, content: Content) -> Self {
        Self { model, content, damaged: Vec::new(), recording: None, age_ns: 0, next_id: 0 }
    }

    /// Nanoseconds that the disk has lived when it is switched on.
    #[must_use]
    pub fn age_ns(&self) -> u64 {
        self.age_ns
    }

    /// Ends all change; what was recorded is dropped.
    #[must_use]
    pub fn freeze(self) -> FrozenDisk {
        let Self { model, content, damaged, age_ns, next_id, .. } = self;
        FrozenDisk { model, content: content.freeze(), damaged, age_ns, next_id }
    }
}

/// A disk that no longer changes, and that any number of others can start from: with the content, and
/// with the device's own state (its head's position, its cells' wear).
#[derive(Debug)]
pub struct FrozenDisk {
    model: Box<dyn Model>,
    content: Arc<Frozen>,
    damaged: Vec<SectorRange>,
    age_ns: u64,
    next_id: u64,
}

impl FrozenDisk {
    /// Bytes of its content in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.content.memory_bytes()
    }

    /// Moves its content from memory to a file, unless another disk was started from it already.
    ///
    /// # Errors
    /// When the file cannot be made or written; everything is then as it was.
    pub fn move_to_file(&mut self) -> io::Result<()> {
        Arc::get_mut(&mut self.content).map_or(Ok(()), Frozen::move_to_file)
    }

    /// Returns a disk in the same state; its changes are stored as `keeping` says.
    #[must_use]
    pub fn thaw(&self, keeping: Keeping) -> DiskParts {
        DiskParts {
            model: self.model.duplicate(),
            content: Content::thaw(self.content.clone(), keeping),
            damaged: self.damaged.clone(),
            recording: None,
            age_ns: self.age_ns,
            next_id: self.next_id,
        }
    }
}

impl Disk {
    /// A disk whose serial number is `serial`, cut to 20 bytes.
    #[must_use]
    pub fn new(index: u8, serial: &str, parts: DiskParts, read_only: bool) -> Self {
        let DiskParts { model, content, damaged, recording, age_ns, next_id } = parts;
        let mut padded = [0; block::SERIAL_BYTES];
        for (to, from) in padded.iter_mut().zip(serial.bytes()) {
            *to = from;
        }
        Self {
            index,
            serial: padded,
            geometry: model.geometry(),
            read_only,
            model,
            content,
            recording,
            damaged,
            age_ns,
            latest_ns: 0,
            backlog: VecDeque::new(),
            outstanding: Vec::new(),
            immediate: Vec::new(),
            next_id,
            segments: Vec::new(),
            buffer: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// Feature bits to offer.
    #[must_use]
    pub fn features(&self) -> u64 {
        block::features(&self.geometry, self.read_only)
    }

    /// Configuration to offer.
    #[must_use]
    pub fn config(&self) -> [u8; block::CONFIG_BYTES] {
        block::config(&self.geometry)
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Changes the content under a guest that uses none of it.
    pub fn replace(&mut self, content: Content, damaged: Vec<SectorRange>) {
        (self.content, self.damaged) = (content, damaged);
    }

    /// Returns the work that the model has done so far.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        self.model.evidence()
    }

    /// Returns the time of the disk's next own event; `None` if there is none.
    #[must_use]
    pub fn next_event_ns(&self, now_ns: u64) -> Option<u64> {
        if self.immediate.is_empty() {
            self.model.next_event_ns().map(|at_ns| at_ns.saturating_sub(self.age_ns))
        } else {
            Some(now_ns)
        }
    }

    /// Takes every request that the guest made available.
    ///
    /// # Errors
    ///
    /// [`DiskFault`]; the trial cannot continue.
    pub fn kicked(
        &mut self,
        now_ns: u64,
        ring: &mut Ring,
        memory: &mut impl GuestMemory,
    ) -> Result<(), DiskFault> {
        while let Some(head) = ring.next_head(memory)? {
            let mut segments = std::mem::take(&mut self.segments);
            ring.chain(memory, head, &mut segments)?;
            let frame = block::parse(memory, &mut segments)?;
            self.backlog.push_back(Taken { head, frame, segments });
            self.submit_backlog(now_ns, memory)?;
        }
        Ok(())
    }

    /// Lets time pass to `now_ns`, answers what is done and calls `record` for each. Returns
    /// whether anything was.
    ///
    /// # Errors
    ///
    /// [`DiskFault`]; the trial cannot continue.
    pub fn advance(
        &mut self,
        now_ns: u64,
        ring: &mut Ring,
        memory: &mut impl GuestMemory,
        record: &mut impl FnMut(Event),
    ) -> Result<bool, DiskFault> {
        let mut answered = false;
        for done in std::mem::take(&mut self.immediate) {
            finish(&done, ring, memory)?;
            answered = true;
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.latest_ns = self.latest_ns.max(now_ns);
        self.model.advance(now_ns + self.age_ns, &mut completions);
        for Completion { id, at_ns } in completions.drain(..) {
            let position = self.outstanding.iter().position(|request| request.id == id);
            let position = position.ok_or(DiskFault::UnknownCompletion(id))?;
            let done = self.outstanding.remove(position);
            if let Some(recording) = &mut self.recording {
                recording.completed(Completion { id, at_ns });
            }
            finish(&done, ring, memory)?;
            answered = true;
            if let Some(event) = done.event {
                record(Event { complete_ns: at_ns.saturating_sub(self.age_ns), ..event });
            }
        }
        self.completions = completions;
        self.submit_backlog(now_ns, memory)?;
        Ok(answered)
    }

    /// Takes the disk apart, in its state at the latest time that it was given.
    #[must_use]
    pub fn into_parts(self) -> DiskParts {
        let Self { model, content, damaged, recording, next_id, .. } = self;
        let age_ns = self.age_ns + self.latest_ns;
        DiskParts { model, content, damaged, recording, age_ns, next_id }
    }

    fn submit_backlog(
        &mut self,
        now_ns: u64,
        memory: &mut impl GuestMemory,
    ) -> Result<(), DiskFault> {
        while let Some(taken) = self.backlog.pop_front() {
            if !self.submit(now_ns, &taken, memory)? {
                self.backlog.push_front(taken);
                break;
            }
            self.segments = taken.segments;
        }
        Ok(())
    }

    /// Offers a request to the model, or answers it at once; false when the model's queue is full.
    fn submit(
        &mut self,
        now_ns: u64,
        taken: &Taken,
        memory: &mut impl GuestMemory,
    ) -> Result<bool, DiskFault> {
        let Taken { head, frame, segments } = taken;
        let mut answer = Outstanding {
            id: self.next_id,
            head: *head,
            status_address: frame.status_address,
            status: block::STATUS_OK,
            written: 1,
            event: None,
        };
        let (operation, sector, sectors) = match frame.command {
            Command::Disk { operation, sector, sectors } => (operation, sector, sectors),
            Command::Identify => {
                block::scatter(memory, segments, &self.serial)?;
                answer.written += block::SERIAL_BYTES as u32;
                return Ok(self.answer_now(answer, block::STATUS_OK));
            }
            Command::Unknown => return Ok(self.answer_now(answer, block::STATUS_UNSUPPORTED)),
            Command::Malformed => return Ok(self.answer_now(answer, block::STATUS_IO_ERROR)),
        };
        if self.read_only && operation.writes() {
            return Ok(self.answer_now(answer, block::STATUS_IO_ERROR));
        }
        let lba = Lba(sector);
        let request = Request { id: answer.id, operation, lba, sectors, fua: false };
        self.latest_ns = self.latest_ns.max(now_ns);
        match self.model.submit(now_ns + self.age_ns, request) {
            Ok(()) => {}
            Err(Refused::QueueFull { .. }) => return Ok(false),
            Err(Refused::Unsupported { .. }) => {
                return Ok(self.answer_now(answer, block::STATUS_UNSUPPORTED));
            }
            Err(
                Refused::Malformed { .. } | Refused::OutOfRange { .. } | Refused::TooLong { .. },
            ) => return Ok(self.answer_now(answer, block::STATUS_IO_ERROR)),
            Err(fault @ (Refused::TimeWentBack { .. } | Refused::DuplicateId { .. })) => {
                return Err(DiskFault::Time(fault));
            }
        }
        self.next_id += 1;
        let (status, data) = self.transfer(&request, segments, memory)?;
        if let Some(recording) = &mut self.recording {
            let data = if operation == Operation::Write { &self.buffer[..] } else { &[] };
            recording.submitted(now_ns + self.age_ns, &request, data);
        }
        answer.status = status;
        if operation == Operation::Read && status == block::STATUS_OK {
            answer.written += sectors * 512;
        }
        answer.event = Some(Event {
            disk: self.index,
            operation,
            lba,
            sectors,
            submit_ns: now_ns,
            complete_ns: 0,
            status,
            data,
            origin: frame.origin,
        });
        self.outstanding.push(answer);
        Ok(true)
    }

    /// Answers a request that needs no time, which is then taken.
    fn answer_now(&mut self, answer: Outstanding, status: u8) -> bool {
        self.immediate.push(Outstanding { status, ..answer });
        true
    }

    /// Moves the data of a request that the model took. Models promise that overlapping requests
    /// take effect in the order of their submission, so it can move now.
    fn transfer(
        &mut self,
        request: &Request,
        segments: &[Segment],
        memory: &mut impl GuestMemory,
    ) -> Result<(u8, u64), DiskFault> {
        let mut pieces = self.geometry.pieces(request.lba.0, request.sectors.into());
        let mut data = 0;
        match request.operation {
            Operation::Read => {
                if pieces.clone().any(|piece| overlaps(&self.damaged, piece.place, piece.sectors)) {
                    return Ok((block::STATUS_IO_ERROR, 0));
                }
                self.buffer.resize(request.sectors as usize * 512, 0);
                for piece in pieces {
                    self.content.read(piece.place, &mut self.buffer[within(request, piece)])?;
                }
                data = xxh3_64(&self.buffer);
                block::scatter(memory, segments, &self.buffer)?;
            }
            Operation::Write => {
                self.buffer.resize(request.sectors as usize * 512, 0);
                block::gather(memory, segments, &mut self.buffer)?;
                data = xxh3_64(&self.buffer);
                pieces.try_for_each(|piece| self.change(request, piece))?;
            }
            Operation::Discard | Operation::WriteZeroes => {
                pieces.try_for_each(|piece| self.change(request, piece))?;
            }
            Operation::Flush => {}
        }
        Ok((block::STATUS_OK, data))
    }

    /// Writes a piece of a request from the buffer, or makes it zero.
    fn change(&mut self, request: &Request, piece: Piece) -> io::Result<()> {
        if request.operation == Operation::Write {
            self.content.write(piece.place, &self.buffer[within(request, piece)])?;
        } else {
            self.content.zero(piece.place, piece.sectors)?;
        }
        mend(&mut self.damaged, piece.place, piece.sectors);
        Ok(())
    }
}

fn finish(
    done: &Outstanding,
    ring: &mut Ring,
    memory: &mut impl GuestMemory,
) -> Result<(), DiskFault> {
    memory.write(done.status_address, &[done.status])?;
    ring.push_used(memory, done.head, done.written)?;
    Ok(())
}

/// Bytes of a piece in the data of its request.
fn within(request: &Request, piece: Piece) -> std::ops::Range<usize> {
    let start = (piece.sector - request.lba.0) as usize * 512;
    start..start + piece.sectors as usize * 512
}

fn overlaps(ranges: &[SectorRange], sector: u64, count: u64) -> bool {
    let end = sector.saturating_add(count);
    ranges.iter().any(|range| range.lba.0 < end && sector < range.lba.0 + range.sectors)
}

/// Written sectors can be read again.
fn mend(ranges: &mut Vec<SectorRange>, sector: u64, count: u64) {
    if !overlaps(ranges, sector, count) {
        return;
    }
    let end = sector.saturating_add(count);
    let parts = |range: &SectorRange| {
        let (start, stop) = (range.lba.0, range.lba.0 + range.sectors);
        [(start, stop.min(sector.max(start))), (start.max(end.min(stop)), stop)]
    };
    let left = ranges.iter().flat_map(parts).filter(|(start, stop)| start < stop);
    *ranges =
        left.map(|(start, stop)| SectorRange { lba: Lba(start), sectors: stop - start }).collect();
}
