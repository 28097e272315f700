//! Mappings of files, and the page faults in them.

use super::Resolver;
use crate::mappings::{Mapping, Mappings};
use crate::processes::MappedNow;
use crate::record::{CallRecord, FaultRecord, SleptRecord};
use seekwell_trace::calls::{Call, CallId, PAGE_FAULT};
use seekwell_trace::{Event, FileId, TraceError, TraceWriter};

const MAP_TYPE: u64 = 0xf;
const MAP_PRIVATE: u64 = 2;
const MAP_ANONYMOUS: u64 = 0x20;
const PAGE: u64 = 4096;

/// True for a mapping of memory without a file, and for advice on it, which allocators give often.
pub(super) fn is_memory(call: &Call, record: &CallRecord, file: Option<FileId>) -> bool {
    match call.name {
        "mmap" => record.args[3] & MAP_ANONYMOUS != 0,
        "madvise" => file.is_none(),
        _ => false,
    }
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

    /// Offset in its file of the address that a call works on.
    pub(super) fn mapped_offset(&self, record: &CallRecord) -> Option<u64> {
        let address = record.args[0];
        let (start, mapping) = self.processes.get(&record.process)?.mappings.at(address)?;
        Some(mapping.offset.saturating_add(address - start))
    }

    /// Adds a page fault, of the file that is mapped there now. Those of memory that is no file's are
    /// not in the trace. A fault between calls waits for the time asleep in it.
    pub(super) fn fault(
        &mut self,
        record: &FaultRecord,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        self.write_held(record.thread, writer)?;
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
        let offset = mapping.offset.saturating_add(record.address - start) & !(PAGE - 1);
        let event = Event {
            file: Some(mapping.file),
            offset: Some(offset),
            length: Some(PAGE),
            flags: Some(u64::from(mapping.is_shared && record.is_write())),
            cpu_ns: record.cpu_ns.map(|own| own.saturating_add(cpu_ns)),
            waited_ns: record.waited_ns.map(|own| own.saturating_add(waited_ns)),
            ..Event::new(self.since(record.start_ns), record.process, record.thread, id)
        };
        if record.is_in_call() {
            return writer.event(event);
        }
        self.held.insert(record.thread, (record.start_ns, event));
        Ok(())
    }

    /// Adds the time asleep to the page fault in which it was, or to the next call of the thread when
    /// the fault is not in the trace or was written already.
    pub(super) fn slept(
        &mut self,
        record: &SleptRecord,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        match self.held.get_mut(&record.thread) {
            Some((start_ns, event)) if *start_ns == record.start_ns => {
                event.duration_ns = Some(record.slept_ns);
                self.write_held(record.thread, writer)
            }
            _ => {
                let (_, waited_ns) = self.carried.entry(record.thread).or_default();
                *waited_ns = waited_ns.saturating_add(record.slept_ns);
                Ok(())
            }
        }
    }

    /// Writes the page fault of a thread, of which there is no more to come.
    pub(super) fn write_held(
        &mut self,
        thread: u32,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.held.remove(&thread).map_or(Ok(()), |(_, event)| writer.event(event))
    }

    /// Writes the page faults of a process, or all.
    pub(crate) fn write_all_held(
        &mut self,
        process: Option<u32>,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        if self.held.is_empty() {
            return Ok(());
        }
        let is_wanted = |event: &Event| process.is_none_or(|process| event.process == process);
        let wanted = self.held.extract_if(|_, (_, event)| is_wanted(event));
        let mut events: Vec<Event> = wanted.map(|(_, (_, event))| event).collect();
        events.sort_unstable_by_key(|event| (event.start_ns, event.thread));
        events.into_iter().try_for_each(|event| writer.event(event))
    }

    /// Keeps the time before a page fault that is not in the trace for the next call.
    fn carry_fault(&mut self, record: &FaultRecord) {
        let (cpu_ns, waited_ns) = self.carried.entry(record.thread).or_default();
        *cpu_ns = cpu_ns.saturating_add(record.cpu_ns.unwrap_or(0));
        *waited_ns = waited_ns.saturating_add(record.waited_ns.unwrap_or(0));
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
