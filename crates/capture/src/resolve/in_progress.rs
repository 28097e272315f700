//! Calls that have not ended when a capture ends.

use super::{Known, Resolver, descriptor};
use crate::load::InProgress;
use crate::processes;
use seekwell_trace::TraceWriter;

impl Resolver {
    /// The name of a call on a stored file, or on a name, that has not ended; `None` for those that the
    /// trace would not hold, and for the waits for a pipe or a socket.
    pub(crate) fn unfinished(
        &mut self,
        one: &InProgress,
        writer: &mut TraceWriter,
    ) -> Option<&'static str> {
        let process = processes::process_of(one.thread)?;
        let Known { call, .. } = self.calls.get(one.number as usize).copied().flatten()?;
        if process == self.own {
            return None;
        }
        let Some(fd) = call.fd else {
            // The name is in the memory of the program: it is not known where it is.
            return (call.path.is_some() && self.limits.is_empty()).then_some(call.name);
        };
        if !self.processes.contains_key(&process) {
            self.seed(process, writer);
        }
        let fd = descriptor(one.args[usize::from(fd) % 6]);
        let file = self.descriptor_file(process, fd, writer)?;
        let entry = self.entries.get(file.0 as usize)?;
        let is_stored = entry.path.starts_with('/') && !entry.path.starts_with("/dev/");
        (is_stored && (self.limits.is_empty() || entry.inside)).then_some(call.name)
    }
}
