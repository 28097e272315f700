//! Undo log for power cuts: the contents before and after each write that is still volatile.

use std::collections::VecDeque;
use std::io;

use seekwell_device::{LostRange, Piece};

use crate::content::Content;

#[cfg(test)]
mod tests;

#[derive(Debug)]
struct LoggedWrite {
    id: u64,
    piece: Piece,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Writes, in the order of their submission.
#[derive(Debug, Default)]
pub struct WriteLog {
    writes: VecDeque<LoggedWrite>,
}

impl WriteLog {
    /// Remembers what a piece of the request `id` is about to replace.
    ///
    /// # Errors
    ///
    /// As [`Content::read`].
    pub fn before(&mut self, id: u64, piece: Piece, content: &Content) -> io::Result<()> {
        let mut before = vec![0; piece.sectors as usize * 512];
        content.read(piece.place, &mut before)?;
        self.writes.push_back(LoggedWrite { id, piece, before, after: Vec::new() });
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
        content.read(write.piece.place, &mut write.after)
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
            content.write(write.piece.place, &write.before)?;
        }
        for write in &self.writes {
            let sectors = (write.after.len() / 512) as u64;
            let mut kept = vec![true; write.after.len() / 512];
            for part in lost.iter().filter(|part| part.id == write.id) {
                let within = |sector: u64| sector.saturating_sub(write.piece.sector).min(sectors);
                let start = within(part.range.lba.0);
                let end = within(part.range.lba.0 + part.range.sectors);
                kept[start as usize..end as usize].fill(false);
            }
            for (index, data) in write.after.chunks(512).enumerate() {
                if kept[index] {
                    content.write(write.piece.place + index as u64, data)?;
                }
            }
        }
        Ok(())
    }
}
