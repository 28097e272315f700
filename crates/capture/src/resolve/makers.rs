//! Descriptors of calls that are in no trace: pipes, sockets and the like.

use super::Resolver;
use crate::processes::Descriptor;
use crate::record::PathRecord;
use seekwell_trace::TraceWriter;

impl Resolver {
    /// Learns descriptors of pipes, sockets and the like.
    pub(super) fn made(&mut self, process: u32, paths: &[PathRecord], writer: &mut TraceWriter) {
        for path in paths {
            let file = self.file(&path.text, Some(path), writer);
            let Some(known) = self.processes.get_mut(&process) else { continue };
            // Those that survive an exec are looked up again.
            let descriptor = Descriptor { file, close_on_exec: true };
            let ends = [path.fd, path.other_fd].into_iter().flatten();
            known.descriptors.extend(ends.map(|fd| (fd, descriptor)));
        }
    }
}
