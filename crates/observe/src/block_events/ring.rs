//! Decoding pages of the kernel's trace ring buffer.
//!
//! The layout is stated by the kernel in `events/header_page`, `events/header_event` and
//! `Documentation/trace/ring-buffer-design.rst`: a 64-bit time, a word with the number of bytes,
//! then events, each with a word of 5 bits type and 27 bits of time since the one before.

use seekwell_model::record::BlockEvent;

/// Time and length in front of a page's events, on 64-bit kernels.
const PAGE_HEADER: usize = 16;
/// The upper bits of a page's length tell that events were missed (`RB_MISSED_EVENTS`); the
/// instance's statistics count them.
const LENGTH_MASK: u64 = 0x3fff_ffff;

const TYPE_LARGE: u32 = 0;
const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;

/// The position of a field in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: usize,
    size: usize,
}

impl Place {
    fn bytes<'a>(&self, event: &'a [u8]) -> Option<&'a [u8]> {
        event.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// An unsigned number of 1 to 8 bytes in the machine's order.
    fn number(&self, event: &[u8]) -> Option<u64> {
        match *self.bytes(event)? {
            [a] => Some(u64::from(a)),
            [a, b] => Some(u64::from(u16::from_ne_bytes([a, b]))),
            [a, b, c, d] => Some(u64::from(u32::from_ne_bytes([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }
}

/// One kind of event: its number and the places of the fields that we keep.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EventFormat {
    id: u64,
    pid: Place,
    device: Place,
    sector: Place,
    sectors: Place,
    rwbs: Place,
}

impl EventFormat {
    /// Reads `events/block/NAME/format`.
    fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let place = |name: &str| {
            let line = text.lines().find(|line| {
                let declared =
                    line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
                let word = declared.and_then(|words| words.rsplit(' ').next());
                word.and_then(|word| word.split('[').next()) == Some(name)
            })?;
            let part = |key: &str| -> Option<usize> {
                line.split(';').find_map(|part| part.trim().strip_prefix(key))?.parse().ok()
            };
            Some(Place { offset: part("offset:")?, size: part("size:")? })
        };
        Some(Self {
            id,
            pid: place("common_pid")?,
            device: place("dev")?,
            sector: place("sector")?,
            sectors: place("nr_sector")?,
            rwbs: place("rwbs")?,
        })
    }
}

/// The two kinds of events that we read, and the device they must be of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventFormats {
    issue: EventFormat,
    complete: EventFormat,
    device: u64,
}

/// The operation in the kernel's letters (`blk_fill_rwbs`): a first `F` in front of another
/// operation is a flush that goes before it.
fn operation(rwbs: &[u8]) -> Option<char> {
    let letters = rwbs.split(|byte| *byte == 0).next()?;
    match letters {
        [b'F', b'N', ..] => Some('F'),
        [b'F', next @ (b'R' | b'W' | b'D' | b'F'), ..] => Some(char::from(*next)),
        [first, ..] => Some(char::from(*first)),
        [] => None,
    }
}

fn word(page: &[u8], at: usize) -> Option<u32> {
    page.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn long(page: &[u8], at: usize) -> Option<u64> {
    page.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

impl EventFormats {
    /// From the two format files; `None` when a field is not there.
    pub(super) fn parse(issue: &str, complete: &str, device: u32) -> Option<Self> {
        Some(Self {
            issue: EventFormat::parse(issue)?,
            complete: EventFormat::parse(complete)?,
            device: u64::from(device),
        })
    }

    /// Appends the events of one page. Skips events that Seekwell did not ask for. Reads a page that ends
    /// inside an event up to that event.
    pub(super) fn decode_page(&self, page: &[u8], origin_ns: u64, events: &mut Vec<BlockEvent>) {
        let (Some(mut now_ns), Some(length)) = (long(page, 0), long(page, 8)) else { return };
        let length = usize::try_from(length & LENGTH_MASK).unwrap_or(usize::MAX);
        let end = PAGE_HEADER.saturating_add(length).min(page.len());
        let page = &page[..end];
        let mut at = PAGE_HEADER;
        while let Some(header) = word(page, at) {
            let (kind, delta) = (header & 0x1f, u64::from(header >> 5));
            let next = word(page, at + 4);
            let (data, size) = match kind {
                TYPE_PADDING if delta == 0 => return,
                TYPE_LARGE | TYPE_PADDING => {
                    let Some(stated) = next else { return };
                    (at + 8, (stated as usize).saturating_sub(4))
                }
                TYPE_TIME_EXTEND | TYPE_TIME_STAMP => (at + 8, 0),
                _ => (at + 4, kind as usize * 4),
            };
            match (kind, next) {
                (TYPE_TIME_EXTEND, Some(high)) => {
                    now_ns = now_ns.wrapping_add(delta + (u64::from(high) << 27))
                }
                (TYPE_TIME_STAMP, Some(high)) => {
                    // 59 bits; the 5 above come from the time so far.
                    let stamp = delta | (u64::from(high) << 27);
                    now_ns = stamp | (now_ns & (0x1f << 59));
                }
                _ => now_ns = now_ns.wrapping_add(delta),
            }
            let Some(event) = data.checked_add(size).and_then(|stop| page.get(data..stop)) else {
                return;
            };
            if kind < TYPE_PADDING {
                events.extend(self.decode(event, now_ns.saturating_sub(origin_ns)));
            }
            at = data + size;
        }
    }

    fn decode(&self, event: &[u8], at_ns: u64) -> Option<BlockEvent> {
        let id = u64::from(u16::from_ne_bytes(event.get(..2)?.try_into().ok()?));
        let (format, complete) = if id == self.issue.id {
            (&self.issue, false)
        } else if id == self.complete.id {
            (&self.complete, true)
        } else {
            return None;
        };
        if format.device.number(event)? != self.device {
            return None;
        }
        // A completion runs in the process that was interrupted.
        let pid = if complete { 0 } else { format.pid.number(event)? };
        Some(BlockEvent {
            at_ns,
            complete,
            sector: format.sector.number(event)?,
            sectors: u32::try_from(format.sectors.number(event)?).ok()?,
            operation: operation(format.rwbs.bytes(event)?)?,
            pid: u32::try_from(pid).ok()?,
        })
    }
}

#[cfg(test)]
mod tests;
