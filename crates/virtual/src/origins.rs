//! Origins of a guest's requests: the records of its kernel, joined with the events of its disks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};

use seekwell_device::Operation;
use seekwell_model::origin::{Origin, OriginKind, TracedRequest, TracedStep};

use crate::fingerprint::Event;

#[cfg(test)]
mod tests;

/// Bytes of a record before the path: its size, its number, kind, completeness of the path, inode.
const HEAD: usize = 24;

/// Bytes of a record at most.
const MAX_RECORD: usize = 4096;

/// Origins by their number.
pub(crate) type Origins = BTreeMap<u32, Origin>;

/// Reads what the kernel wrote.
///
/// # Errors
///
/// When the file cannot be read, or has something else.
pub(crate) fn read(file: File) -> io::Result<Origins> {
    let mut from = BufReader::new(file);
    let mut all = Origins::new();
    loop {
        let mut head = [0; HEAD];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(all),
            read => read?,
        }
        let [size, number, kind, whole] = [0, 4, 8, 12]
            .map(|at| head[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
        let size = size as usize;
        if !(HEAD..=MAX_RECORD).contains(&size) {
            return Err(io::Error::other("the kernel wrote a malformed origin of a request"));
        }
        let mut names = vec![0; size - HEAD];
        from.read_exact(&mut names)?;
        all.insert(number, Origin { kind: kind_of(kind), path: path(&names, whole == 1) });
    }
}

fn kind_of(number: u32) -> OriginKind {
    match number {
        1 => OriginKind::Data,
        2 => OriginKind::Metadata,
        3 => OriginKind::Journal,
        _ => OriginKind::Unknown,
    }
}

/// The path of names from the file up to the root.
fn path(names: &[u8], is_whole: bool) -> String {
    let names = names.split(|byte| *byte == 0).rev().filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
    let cut = if is_whole || names.is_empty() { "" } else { "\u{2026}/" };
    format!("{cut}{}", names.join("/"))
}

/// A step: its virtual time, and what is known of its devices.
pub(crate) struct Step {
    pub(crate) begin_ns: u64,
    pub(crate) elapsed_ns: u64,
    /// Sectors of each device.
    pub(crate) devices: Vec<u64>,
    /// Origin of all requests to a device; `None` if each has its own.
    pub(crate) only: Vec<Option<OriginKind>>,
}

impl Step {
    /// The requests that were submitted in this step.
    pub(crate) fn of(self, events: &[Event], origins: &Origins) -> TracedStep {
        let end_ns = self.begin_ns + self.elapsed_ns;
        let inside = events.iter().filter(|one| (self.begin_ns..=end_ns).contains(&one.submit_ns));
        let mut places: BTreeMap<Origin, u32> = BTreeMap::new();
        let requests = inside.map(|event| {
            let next = places.len() as u32;
            let origin = *places.entry(self.origin(event, origins)).or_insert(next);
            TracedRequest {
                at_ns: event.submit_ns - self.begin_ns,
                took_ns: event.complete_ns.saturating_sub(event.submit_ns),
                device: event.disk,
                writes: event.operation.writes(),
                sector: event.lba.0,
                sectors: event.sectors,
                origin,
            }
        });
        let requests = requests.collect();
        let mut named: Vec<(Origin, u32)> = places.into_iter().collect();
        named.sort_by_key(|(_, place)| *place);
        TracedStep {
            elapsed_ns: self.elapsed_ns,
            devices: self.devices,
            origins: named.into_iter().map(|(origin, _)| origin).collect(),
            requests,
        }
    }

    fn origin(&self, event: &Event, origins: &Origins) -> Origin {
        let only = self.only.get(usize::from(event.disk)).copied().flatten();
        let kind = match event.operation {
            Operation::Flush => Some(OriginKind::Flush),
            Operation::Discard => Some(OriginKind::Discard),
            _ => only,
        };
        match kind {
            Some(kind) => Origin { kind, path: String::new() },
            None => origins.get(&event.origin).cloned().unwrap_or_default(),
        }
    }
}
