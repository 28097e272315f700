//! Operations as bytes: a field that is zero takes no space, so that a plan of millions fits.

use crate::action::Action;
use seekwell_trace::calls::CallId;

/// An operation of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Call of the engine.
    pub action: Action,
    /// Recorded call.
    pub call: CallId,
    /// True for an operation that the plan added: no recorded call has its result.
    pub added: bool,
    /// Place in the table of descriptors, from 1.
    pub slot: u64,
    /// Second place, of copies.
    pub to_slot: u64,
    /// Number of the path, from 1.
    pub path: u64,
    /// Number of the second path.
    pub to_path: u64,
    /// Offset, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
    /// Flags or mode.
    pub flags: u64,
    /// Permissions of a file that is made.
    pub mode: u64,
    /// Result of the recorded call.
    pub expected: i64,
    /// Recorded start of the call, nanoseconds from the start of the trace; for operations without a
    /// call, the recorded end.
    pub start_ns: u64,
    /// Time from the moment that nothing held the thread back to the start of the call, without that
    /// in which it was ready and others ran, and without `wait_ns`.
    pub think_ns: u64,
    /// Part of that time in which the thread was asleep: no faster CPU makes it shorter.
    pub wait_ns: u64,
    /// Part of `think_ns`, its start, in which the thread that this one waited for computed, and this one slept.
    pub beside_ns: u64,
    /// True when nothing but the thread itself held it back in the recording: it pauses while it
    /// waits for the operations of other lanes, and not after them.
    pub pauses_first: bool,
    /// True for the first operation of a thread whose lane another thread of the recording had before.
    pub renews: bool,
    /// Operations of other lanes that must be over: lane and number from 1.
    pub after: Vec<(u32, u64)>,
}

/// Bits of marks below the number of the call.
const MARKS: u32 = 3;

impl Operation {
    /// An operation with nothing but its action.
    #[must_use]
    pub fn new(action: Action, call: CallId) -> Self {
        Self { action, call, ..Self::default() }
    }

    fn fields(&self, last_start_ns: u64) -> [u64; 13] {
        [
            self.slot,
            self.to_slot,
            self.path,
            self.to_path,
            self.offset,
            self.length,
            self.flags,
            self.mode,
            // Many calls return their length.
            zigzag(self.expected.wrapping_sub(self.length.cast_signed())),
            self.start_ns.wrapping_sub(last_start_ns),
            self.think_ns,
            self.wait_ns,
            self.beside_ns,
        ]
    }

    /// Appends the bytes.
    pub(crate) fn encode(&self, last_start_ns: u64, to: &mut Vec<u8>) {
        let fields = self.fields(last_start_ns);
        let mask = fields.iter().enumerate().filter(|(_, value)| **value != 0);
        let mask: u64 = mask.map(|(at, _)| 1 << at).sum();
        to.push(self.action as u8);
        let marks = [self.added, self.pauses_first, self.renews];
        let marks = (0..).zip(marks).map(|(bit, is_set)| u64::from(is_set) << bit).sum::<u64>();
        put(to, u64::from(self.call.0) << MARKS | marks);
        put(to, mask << 1 | u64::from(!self.after.is_empty()));
        fields.iter().filter(|value| **value != 0).for_each(|value| put(to, *value));
        if !self.after.is_empty() {
            put(to, self.after.len() as u64);
            for (lane, number) in &self.after {
                put(to, u64::from(*lane));
                put(to, *number);
            }
        }
    }

    /// Reads into `self` the operation at the start of `bytes` and moves past it; `None` at the end.
    pub(crate) fn decode(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let (action, rest) = bytes.split_first()?;
        *bytes = rest;
        self.action = Action::numbered(*action)?;
        let call = take(bytes)?;
        self.call = CallId(u16::try_from(call >> MARKS).ok()?);
        self.added = call & 1 == 1;
        self.pauses_first = call & 2 == 2;
        self.renews = call & 4 == 4;
        let mask = take(bytes)?;
        let mut field = |at: u32| if mask >> (at + 1) & 1 == 1 { take(bytes) } else { Some(0) };
        self.slot = field(0)?;
        self.to_slot = field(1)?;
        self.path = field(2)?;
        self.to_path = field(3)?;
        self.offset = field(4)?;
        self.length = field(5)?;
        self.flags = field(6)?;
        self.mode = field(7)?;
        self.expected = unzigzag(field(8)?).wrapping_add(self.length.cast_signed());
        self.start_ns = self.start_ns.wrapping_add(field(9)?);
        self.think_ns = field(10)?;
        self.wait_ns = field(11)?;
        self.beside_ns = field(12)?;
        self.after.clear();
        if mask & 1 == 1 {
            for _ in 0..take(bytes)? {
                let lane = u32::try_from(take(bytes)?).ok()?;
                self.after.push((lane, take(bytes)?));
            }
        }
        Some(())
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn put(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
