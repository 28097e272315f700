//! Mappings of files, and the page faults in them.

use super::Resolver;
use crate::mappings::{Mapping, Mappings};
use crate::processes::MappedNow;
use crate::record::{CallRecord, FaultRecord};
use seekwell_trace::calls::{Call, CallId, PAGE_FAULT};
use seekwell_trace::{Event, FileId, TraceError, TraceWriter};

const MAP_TYPE: u64 = 0xf;
const MAP_PRIVATE: u64 = 2;
const MAP_ANONYMOUS: u64 = 0x20;
const PAGE: u64 = 4096;

/// True for a mapping of memory without a file.
pub(super) fn is_memory(call: &Call, record: &CallRecord) -> bool {
    call.name == "mmap" && record.args[3] & MAP_ANONYMOUS != 0
}

/// The length in whole pages.
fn pages(length: u64) -> u64 {
    length.checked_next_multiple_of(PAGE).unwrap_or(length)
}

impl Resolver {
    /// Mappings of a process that runs already.
    pub(super) fn mapped_now(&mut self, all: &[MappedNow], writer: &mut TraceWriter) -> Mappings {
        let mut mappings = Mappings::default();
        for one in all {
            if let Some(file) = self.file(&one.path, None, writer) {
                let MappedNow { start, end, offset, is_shared, .. } = *one;
                mappings.add(start, Mapping { end, file, offset, is_shared });
            }
        }
        mappings
    }

    /// Follows mappings; returns the file of the one that the call works on.
    pub(super) fn map(
        &mut self,
        call: &Call,
        record: &CallRecord,
        file: Option<FileId>,
    ) -> Option<FileId> {
        let mappings = &mut self.processes.get_mut(&record.process)?.mappings;
        let [address, length, to_length, flags, _, offset] = record.args;
        if record.result < 0 {
            return file;
        }
        let result = record.result.cast_unsigned();
        let known = mappings.at(address).map(|(_, mapping)| mapping.file);
        match call.name {
            "mmap" => {
                let end = result.saturating_add(pages(length));
                mappings.cut(result, end);
                let is_shared = flags & MAP_TYPE != MAP_PRIVATE;
                if let Some(file) = file.filter(|_| flags & MAP_ANONYMOUS == 0) {
                    mappings.add(result, Mapping { end, file, offset, is_shared });
                }
                file
            }
            "munmap" => {
                mappings.cut(address, address.saturating_add(pages(length)));
                known
            }
            "mremap" => {
                mappings.resize(address, pages(length), result, pages(to_length));
                known
            }
            _ => known,
        }
    }

    /// Adds a page fault. Those of memory that is no file's, or no longer, are not in the trace.
    pub(super) fn fault(
        &mut self,
        record: &FaultRecord,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        let process = self.processes.get(&record.process);
        let found = process.and_then(|process| process.mappings.at(record.address));
        // The first write to a page of a private mapping copies it.
        let found = found.filter(|(_, one)| one.is_shared || !record.is_protection());
        let Some((start, mapping)) = found.filter(|(_, one)| self.is_regular(one.file)) else {
            self.carry_fault(record);
            return Ok(());
        };
        if !self.limits.is_empty() && !self.inside(mapping.file) {
            self.carry_fault(record);
            return Ok(());
        }
        let Some(id) = CallId::numbered(PAGE_FAULT) else { return Ok(()) };
        let (cpu_ns, waited_ns) = self.take_carried(record.thread);
        self.write_again(Some(mapping.file), writer);
        let offset = mapping.offset.saturating_add(record.address - start) & !(PAGE - 1);
        let event = Event {
            duration_ns: Some(record.slept_ns).filter(|slept_ns| *slept_ns > 0),
            file: Some(mapping.file),
            offset: Some(offset),
            length: Some(PAGE),
            flags: Some(u64::from(mapping.is_shared && record.is_write())),
            cpu_ns: record.cpu_ns.map(|own| own.saturating_add(cpu_ns)),
            waited_ns: record.waited_ns.map(|own| own.saturating_add(waited_ns)),
            ..Event::new(self.since(record.start_ns), record.process, record.thread, id)
        };
        writer.event(event)
    }

    /// Keeps the time before and in a page fault that is not in the trace for the next call.
    fn carry_fault(&mut self, record: &FaultRecord) {
        let (cpu_ns, waited_ns) = self.carried.entry(record.thread).or_default();
        *cpu_ns = cpu_ns.saturating_add(record.cpu_ns.unwrap_or(0));
        let asleep_ns = record.slept_ns.saturating_add(record.waited_ns.unwrap_or(0));
        *waited_ns = waited_ns.saturating_add(asleep_ns);
    }

    /// False for devices: touching their memory reads no file.
    fn is_regular(&self, file: FileId) -> bool {
        const TYPE: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        let mode = self.entries.get(file.0 as usize).and_then(|entry| entry.mode);
        mode.is_none_or(|mode| mode & TYPE == REGULAR)
    }

    /// Addresses where files are mapped into a process; `None` for one without.
    pub(crate) fn mapped_ranges(&self, process: u32) -> Option<impl Iterator<Item = (u64, u64)>> {
        let mappings = &self.processes.get(&process)?.mappings;
        (!mappings.is_empty()).then(|| mappings.ranges())
    }
}
