//! Contract between a device model and its caller, which submits requests to it.

use std::fmt;

use seekwell_model::laws::LawSet;
pub use seekwell_model::units::Lba;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;

/// A block device whose timing is computed: a pure function of the requests, their times and a seed.
///
/// # Time
///
/// All times are nanoseconds since the device was switched on and never decrease from call to call.
/// A model has no clock; it does whatever it would have done by itself (destaging, reading ahead,
/// collecting garbage) when a call tells it how late it is. Calling [`advance`](Model::advance) more
/// often than needed changes nothing.
///
/// # How to drive it
///
/// 1. [`submit`](Model::submit) each request at its time; several may share one instant.
/// 2. Ask [`next_event_ns`](Model::next_event_ns); let time pass to that instant or to the next
///    submission, whichever is earlier.
/// 3. [`advance`](Model::advance) to that instant and hand on the completions. An event need not
///    complete anything: the device may only have chosen what to do next.
///
/// # Content
///
/// A model keeps no content. A read that starts after a write completed returns what was written, and
/// requests that overlap, one of them writing, take effect in the order of their submission. What
/// a power cut leaves is content in the order of submission, less [`LostWrites::lost`], with
/// [`LostWrites::damaged`] unreadable.
pub trait Model: fmt::Debug + Send {
    /// A device in the same state, which from now on has a life of its own.
    fn duplicate(&self) -> Box<dyn Model>;

    /// Geometry that the device presents to the block layer. Never changes.
    fn geometry(&self) -> Geometry;

    /// Hands a request over at `now_ns`.
    ///
    /// # Errors
    ///
    /// A refused request leaves the model unchanged and never completes. A device answers it with an
    /// error, except [`Refused::TimeWentBack`] and [`Refused::DuplicateId`], which are faults of the caller.
    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused>;

    /// Returns the time to which the model wants to be advanced next; `None` when no request is
    /// outstanding.
    ///
    /// Never before the latest time passed to the model. Exact: unless something is submitted
    /// earlier, no request completes before it.
    fn next_event_ns(&self) -> Option<u64>;

    /// Lets time pass to `now_ns` and appends what completed since the last call, in order of time, then
    /// of the device's own order. A time earlier than one already passed counts as that one.
    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>);

    /// Power fails at `now_ns`: returns the writes that are not on the medium, drops every outstanding
    /// request and all volatile state, and is ready for requests again, as after switching on. Time
    /// continues.
    ///
    /// Completions that fell due and were not yet fetched are dropped with the requests.
    fn power_cut(&mut self, now_ns: u64) -> LostWrites;

    /// Returns the counters of the device's actions so far.
    fn evidence(&self) -> Evidence;

    /// Laws that take time on this device; none unless a model names them.
    fn laws(&self) -> LawSet {
        LawSet::NONE
    }

    /// Switches laws off, from now on, for an experiment: each takes no time, and nothing else changes, the
    /// geometry included. Call it while no request is outstanding. Laws of other devices are ignored.
    fn switch_off(&mut self, _laws: LawSet) {}
}

/// Operation of a request; its number is part of a trial's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Data from the device.
    Read = 0,
    /// Data to the device.
    Write = 1,
    /// Everything completed before becomes durable before this completes. Address and length are 0.
    Flush = 2,
    /// The content is no longer wanted; reads return zeroes in these models.
    Discard = 3,
    /// The content becomes zeroes, without a transfer.
    WriteZeroes = 4,
}

impl Operation {
    /// Returns true if it changes content.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Discard | Self::WriteZeroes)
    }
}

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The caller's name for it, increasing from one submission to the next.
    pub id: u64,
    /// Operation.
    pub operation: Operation,
    /// First sector.
    pub lba: Lba,
    /// Length in sectors of 512 bytes; 0 for a flush only.
    pub sectors: u32,
    /// Force unit access: a write completes when it is durable. Ignored by other operations.
    pub fua: bool,
}

impl Request {
    /// One past the last sector, in sectors.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.lba.0.saturating_add(self.sectors as u64)
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Completion {
    /// The request's id.
    pub id: u64,
    /// Completion time in nanoseconds; never before the submission.
    pub at_ns: u64,
}

/// Properties that the device presents to the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Capacity in sectors of 512 bytes.
    pub sectors_512: u64,
    /// Smallest unit of a request, in bytes.
    pub logical_block: u32,
    /// Smallest unit the medium writes without reading first, in bytes.
    pub physical_block: u32,
    /// Requests the device takes at once; a further one is refused.
    pub queue_depth: u32,
    /// Longest read or write, in bytes.
    pub max_request_bytes: u32,
    /// True if the block layer should treat it as a rotating disk.
    pub rotational: bool,
    /// True if a completed write may still be volatile, so that flushes matter.
    pub write_cache: bool,
    /// Longest discard in sectors; `None` when the device knows no discard.
    pub max_discard_sectors: Option<u32>,
    /// Longest write-zeroes in sectors; `None` when the device cannot.
    pub max_write_zeroes_sectors: Option<u32>,
    /// Sectors of 512 bytes that a fake really has; `None` for an honest device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wraps_at: Option<u64>,
}

/// Sectors of a request that are in one row on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First sector, as the host counts.
    pub sector: u64,
    /// First sector on the medium: another one on a fake that wraps around.
    pub place: u64,
    /// Sectors.
    pub sectors: u64,
}

impl Geometry {
    /// Places of sectors on the medium, in order: one piece, except on a fake that wraps around inside of them.
    pub fn pieces(&self, sector: u64, sectors: u64) -> impl Iterator<Item = Piece> + Clone + use<> {
        let (mut next, end) = (sector, sector.saturating_add(sectors));
        let wraps_at = self.wraps_at.filter(|sectors| *sectors > 0);
        std::iter::from_fn(move || {
            let (sector, left) = (next, end.checked_sub(next)?);
            let (place, sectors) = match wraps_at {
                Some(wraps_at) => (sector % wraps_at, left.min(wraps_at - sector % wraps_at)),
                None => (sector, left),
            };
            next += sectors;
            (sectors > 0).then_some(Piece { sector, place, sectors })
        })
    }

    /// Judges a request by what the device presents, as every model does on submission.
    ///
    /// # Errors
    ///
    /// [`Refused::Malformed`], [`Refused::OutOfRange`], [`Refused::TooLong`] or [`Refused::Unsupported`].
    pub fn check(&self, request: &Request) -> Result<(), Refused> {
        let Request { id, operation, lba, sectors, .. } = *request;
        if operation == Operation::Flush {
            return if sectors == 0 { Ok(()) } else { Err(Refused::Malformed { id }) };
        }
        let block = u64::from(self.logical_block / 512).max(1);
        if sectors == 0 || !lba.0.is_multiple_of(block) || !u64::from(sectors).is_multiple_of(block)
        {
            return Err(Refused::Malformed { id });
        }
        let end = lba.0.checked_add(u64::from(sectors));
        if end.is_none_or(|end| end > self.sectors_512) {
            return Err(Refused::OutOfRange { id, capacity: self.sectors_512 });
        }
        let limit = match operation {
            Operation::Discard => self.max_discard_sectors,
            Operation::WriteZeroes => self.max_write_zeroes_sectors,
            _ => Some(self.max_request_bytes / 512),
        };
        match limit {
            None => Err(Refused::Unsupported { id, operation }),
            Some(limit) if sectors > limit => Err(Refused::TooLong { id, limit }),
            Some(_) => Ok(()),
        }
    }
}

/// Reasons for which a device refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The length is zero or no multiple of the logical block, or the address is not aligned to it, or a
    /// flush has a length.
    #[error("request {id} is not made of whole logical blocks; align its address and length")]
    Malformed {
        /// The request.
        id: u64,
    },
    /// It reaches beyond the end.
    #[error("request {id} reaches beyond the device's {capacity} sectors; stay below its capacity")]
    OutOfRange {
        /// The request.
        id: u64,
        /// Capacity in sectors of 512 bytes.
        capacity: u64,
    },
    /// It is longer than the device takes.
    #[error("request {id} is longer than {limit} sectors; split it at the device's limit")]
    TooLong {
        /// The request.
        id: u64,
        /// The limit in sectors of 512 bytes.
        limit: u32,
    },
    /// The device does not know the operation.
    #[error(
        "request {id}: the device does not support {operation:?}; look at its geometry before asking"
    )]
    Unsupported {
        /// The request.
        id: u64,
        /// Refused operation.
        operation: Operation,
    },
    /// As many requests are outstanding as the device takes.
    #[error(
        "request {id} is one more than the device's queue of {depth} takes; wait for a completion"
    )]
    QueueFull {
        /// The request.
        id: u64,
        /// The queue's depth.
        depth: u32,
    },
    /// The time is earlier than one passed to the model before.
    #[error(
        "request {id} comes at {at_ns} ns, but the device is already at {now_ns} ns; time must not go back"
    )]
    TimeWentBack {
        /// The request.
        id: u64,
        /// Its time.
        at_ns: u64,
        /// The model's time.
        now_ns: u64,
    },
    /// The id is not larger than that of an earlier request.
    #[error("request id {0} was used before; ids must increase from one submission to the next")]
    DuplicateId(u64),
}

/// Sectors that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SectorRange {
    /// First sector.
    pub lba: Lba,
    /// Number of sectors of 512 bytes.
    pub sectors: u64,
}

/// A part of a write that a power cut undid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LostRange {
    /// The write, discard or write-zeroes.
    pub id: u64,
    /// The sectors of it that did not reach the medium: they hold what they held before it.
    pub range: SectorRange,
}

/// Effect of a power cut.
///
/// The content afterwards is that of all writes ever submitted, in order, less `lost`; sectors in `damaged`
/// answer reads with a medium error until they are written again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWrites {
    /// By id, then address. A write may be lost in some sectors and kept in others.
    pub lost: Vec<LostRange>,
    /// Destroyed whichever write they came from: the sector under the head, or flash cells half programmed.
    pub damaged: Vec<SectorRange>,
}
