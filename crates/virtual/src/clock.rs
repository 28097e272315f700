//! The protocol between a User-Mode Linux guest and the controller of its clock
//! (`include/uapi/linux/um_timetravel.h`): messages of 16 bytes, and numbers in shared memory that
//! make most of them unnecessary.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;

use crate::mapped::SharedNumbers;

#[cfg(test)]
mod tests;

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 16;

/// Later than any time a guest reaches; half of the range, because guests compare with sums.
pub const FOREVER_NS: u64 = i64::MAX as u64 / 2;

/// Operation of a message (`enum um_timetravel_ops`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOperation {
    /// Answer to any other.
    Ack,
    /// The guest is there; its time field is a name.
    Start,
    /// The guest wants to run at this time; the last request counts.
    Request,
    /// The guest waits for its turn.
    Wait,
    /// Ask for the current time.
    Get,
    /// The guest's time is this.
    Update,
    /// The guest's turn, at this time.
    Run,
    /// The guest may run by itself until this time.
    FreeUntil,
    /// Nanoseconds since 1970 at virtual time 0.
    TimeOfDay,
    /// To everybody.
    Broadcast,
}

const OPERATIONS: [TimeOperation; 10] = [
    TimeOperation::Ack,
    TimeOperation::Start,
    TimeOperation::Request,
    TimeOperation::Wait,
    TimeOperation::Get,
    TimeOperation::Update,
    TimeOperation::Run,
    TimeOperation::FreeUntil,
    TimeOperation::TimeOfDay,
    TimeOperation::Broadcast,
];

/// One message (`struct um_timetravel_msg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeMessage {
    /// The operation.
    pub operation: TimeOperation,
    /// Returned in the answer.
    pub sequence: u32,
    /// Nanoseconds, or what else the operation carries.
    pub time_ns: u64,
}

impl TimeMessage {
    /// The answer to this message.
    #[must_use]
    pub fn ack(&self, time_ns: u64) -> Self {
        Self { operation: TimeOperation::Ack, sequence: self.sequence, time_ns }
    }

    /// As it goes over the socket: little-endian, as the guest's architecture is this machine's.
    #[must_use]
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let number = OPERATIONS.iter().position(|known| *known == self.operation).unwrap_or(0);
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&(number as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes
    }

    /// Reads a message; `None` when its operation is unknown.
    #[must_use]
    pub fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let [o0, o1, o2, o3, s0, s1, s2, s3, t0, t1, t2, t3, t4, t5, t6, t7] = *bytes;
        let number = u32::from_le_bytes([o0, o1, o2, o3]);
        Some(Self {
            operation: *OPERATIONS.get(number as usize)?,
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            time_ns: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        })
    }
}

/// The layout of the shared memory (`struct um_timetravel_schedshm`, version 2).
mod layout {
    pub const VERSION: u64 = 0;
    pub const LENGTH: u64 = 4;
    pub const FREE_UNTIL: u64 = 8;
    pub const CURRENT_TIME: u64 = 16;
    pub const RUNNING_ID: u64 = 24;
    pub const MAX_CLIENTS: u64 = 26;
    const CLIENTS: u64 = 4096;
    const CLIENT_BYTES: u64 = 128;
    pub const TOTAL_BYTES: u64 = 8192;

    pub const fn capabilities(id: u16) -> u64 {
        CLIENTS + CLIENT_BYTES * id as u64
    }

    pub const fn flags(id: u16) -> u64 {
        capabilities(id) + 4
    }

    pub const fn request_time(id: u16) -> u64 {
        capabilities(id) + 8
    }

    /// `struct um_timetravel_bells` of the lab kernel.
    pub const KICKS: u64 = CLIENTS + 64;
    pub const CALLS: u64 = KICKS + 8;
}

/// `UM_TIMETRAVEL_SCHEDSHM_VERSION`
const SHARED_VERSION: u32 = 2;

/// `UM_TIMETRAVEL_SCHEDSHM_CAP_TIME_SHARE`
const CAPABILITY_TIME_SHARE: u32 = 1;

/// `UM_TIMETRAVEL_SCHEDSHM_CAP_BELLS`, of the lab kernel only.
const CAPABILITY_BELLS: u32 = 1 << 31;

/// `UM_TIMETRAVEL_SCHEDSHM_FLAGS_REQ_RUN`
const FLAG_REQUEST: u32 = 1;

/// The side that has the clock, in shared memory.
const CONTROLLER: u16 = 0;

/// The guest, in shared memory.
pub const GUEST: u16 = 1;

/// Transport between clock and guest. It has no effect on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// By messages alone.
    Messages,
    /// The clock in shared memory, the disks by messages.
    SharedClock,
    /// Clock and disks in shared memory: two messages per request that is waited for.
    Bells,
}

/// Holder of the clock's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// The controller.
    Controller,
    /// The guest.
    Guest,
}

/// The clock as numbers that guest and controller share.
#[derive(Debug)]
pub struct SharedClock {
    numbers: SharedNumbers,
    file: OwnedFd,
}

impl SharedClock {
    /// A clock at time 0, with the guest running. What `transport` does without is not offered; a
    /// clock of which nothing may be used has a version that no guest takes.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(transport: Transport) -> Result<Self, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(c"seekwell-clock", flags)?;
        ftruncate(&file, layout::TOTAL_BYTES)?;
        // The guest gets this file: it may write the numbers, not take them away.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let numbers = SharedNumbers::new(&file, layout::TOTAL_BYTES as usize)?;
        let version = if transport == Transport::Messages { 0 } else { SHARED_VERSION };
        numbers.u32_at(layout::VERSION).store(version, Ordering::Release);
        numbers.u32_at(layout::LENGTH).store(layout::TOTAL_BYTES as u32, Ordering::Release);
        numbers.u16_at(layout::MAX_CLIENTS).store(2, Ordering::Release);
        let bells = if transport == Transport::Bells { CAPABILITY_BELLS } else { 0 };
        let capabilities = numbers.u32_at(layout::capabilities(CONTROLLER));
        capabilities.store(CAPABILITY_TIME_SHARE | bells, Ordering::Release);
        let clock = Self { numbers, file };
        clock.set_free_until(FOREVER_NS);
        clock.set_running(Running::Guest);
        Ok(clock)
    }

    /// The file to hand to the guest.
    #[must_use]
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Returns true if the guest uses the shared clock.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        let capabilities = self.numbers.u32_at(layout::capabilities(GUEST));
        capabilities.load(Ordering::Acquire) & CAPABILITY_TIME_SHARE != 0
    }

    /// The time in nanoseconds, as whoever ran last left it.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.numbers.get_u64(layout::CURRENT_TIME)
    }

    /// Sets the time.
    pub fn set_now(&self, now_ns: u64) {
        self.numbers.set_u64(layout::CURRENT_TIME, now_ns);
    }

    /// Until when the guest may run by itself.
    pub fn set_free_until(&self, time_ns: u64) {
        self.numbers.set_u64(layout::FREE_UNTIL, time_ns);
    }

    /// Passes the token.
    pub fn set_running(&self, who: Running) {
        let id = match who {
            Running::Controller => CONTROLLER,
            Running::Guest => GUEST,
        };
        self.numbers.u16_at(layout::RUNNING_ID).store(id, Ordering::Release);
    }

    /// Returns the time at which the guest asked to run; `None` if it did not.
    #[must_use]
    pub fn request_ns(&self) -> Option<u64> {
        let flags = self.numbers.u32_at(layout::flags(GUEST)).load(Ordering::Acquire);
        let wants = flags & FLAG_REQUEST != 0;
        wants.then(|| self.numbers.get_u64(layout::request_time(GUEST)))
    }

    /// Takes the bells that the guest has rung: a bit for each disk that has something to do.
    #[must_use]
    pub fn take_kicks(&self) -> u64 {
        let kicks = self.numbers.u64_at(layout::KICKS);
        if kicks.load(Ordering::Acquire) == 0 { 0 } else { kicks.swap(0, Ordering::AcqRel) }
    }

    /// Rings the bells of disks that have answered; the guest hears them when it runs.
    pub fn ring_calls(&self, disks: u64) {
        self.numbers.u64_at(layout::CALLS).fetch_or(disks, Ordering::AcqRel);
    }
}
