//! Symbolic links that calls make: where they lead, and the length of their text.

use super::Resolver;
use crate::record::{CallRecord, PathRecord, Slot};
use seekwell_trace::calls::Call;
use seekwell_trace::path::plain;
use seekwell_trace::{FileId, TraceWriter};

impl Resolver {
    /// File that the text of a symbolic link leads to: from the directory of the link on.
    pub(super) fn target(
        &mut self,
        link: Option<FileId>,
        text: &str,
        writer: &mut TraceWriter,
    ) -> Option<FileId> {
        let whole = if text.starts_with('/') {
            plain(text.to_owned())
        } else {
            let link = &self.entries.get(link?.0 as usize)?.path;
            let (directory, _) = link.rsplit_once('/')?;
            plain(format!("{directory}/{text}"))
        };
        self.file(&whole, None, writer)
    }
}

/// Requested length of a call; of one that makes a symbolic link that of its text.
pub(super) fn length(call: &Call, record: &CallRecord, paths: &[PathRecord]) -> Option<u64> {
    if call.is_symlink() {
        let text = paths.iter().find(|path| path.slot == Slot::Second);
        return text.map(|path| path.text.len() as u64);
    }
    call.length.map(|at| record.args[usize::from(at) % 6])
}
