//! Undo log for power cuts: the contents before and after each write that is still volatile.

use std::collections::VecDeque;
use std::io;

use seekwell_device::{LostRange, Request};

use crate::content::Content;

#[cfg(test)]
mod tests;

#[derive(Debug)]
struct LoggedWrite {
    id: u64,
    sector: u64,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Writes, in the order of their submission.
#[derive(Debug, Default)]
pub struct WriteLog {
    writes: VecDeque<LoggedWrite>,
}

impl WriteLog {
    /// Remembers what `request` is about to replace.
    ///
    /// # Errors
    ///
    /// As [`Content::read`].
    pub fn before(&mut self, request: &Request, content: &Content) -> io::Result<()> {
        let mut before = vec![0; request.sectors as usize * 512];
        content.read(request.lba.0, &mut before)?;
        let write =
            LoggedWrite { id: request.id, sector: request.lba.0, before, after: Vec::new() };
        self.writes.push_back(write);
        Ok(())
    }

    /// Remembers what the write last announced to [`before`](Self::before) left.
    ///
    /// # Errors
    ///
    /// As [`Content::read`].
    pub fn after(&mut self, content: &Content) -> io::Result<()> {
        let Some(write) = self.writes.back_mut() else { return Ok(()) };
        write.after.resize(write.before.len(), 0);
        content.read(write.sector, &mut write.after)
    }

    /// Forgets the writes submitted before the one called `id`: no power cut undoes them.
    pub fn forget_before(&mut self, id: u64) {
        while self.writes.front().is_some_and(|write| write.id < id) {
            self.writes.pop_front();
        }
    }

    /// Makes `content` that of all writes, in order, less what was lost.
    ///
    /// # Errors
    ///
    /// As [`Content::write`].
    pub fn undo(self, lost: &[LostRange], content: &mut Content) -> io::Result<()> {
        for write in self.writes.iter().rev() {
            content.write(write.sector, &write.before)?;
        }
        for write in &self.writes {
            let sectors = (write.after.len() / 512) as u64;
            let mut kept = vec![true; write.after.len() / 512];
            for part in lost.iter().filter(|part| part.id == write.id) {
                let start = part.range.lba.0.saturating_sub(write.sector).min(sectors);
                let end = (start + part.range.sectors).min(sectors);
                kept[start as usize..end as usize].fill(false);
            }
            for (index, data) in write.after.chunks(512).enumerate() {
                if kept[index] {
                    content.write(write.sector + index as u64, data)?;
                }
            }
        }
        Ok(())
    }
}
