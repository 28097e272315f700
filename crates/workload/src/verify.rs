//! Checks of data that a workload has written before.

use crate::outcome::StepOutcome;
use seekwell_model::warning::{Warning, WarningCode};

/// Unit in which wrong data is counted: a piece with one wrong byte counts in full.
const PIECE: usize = 4096;

/// Bytes that were checked, and the first reason for doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Bytes that were compared.
    pub bytes: u64,
    /// Bytes of them, in pieces of 4 KiB, with another content or none.
    pub wrong: u64,
    /// The first wrong piece, in words.
    first: Option<String>,
}

impl Checked {
    /// Compares data with the data that was written; `place` says where, from a number of bytes.
    pub(crate) fn compare(
        &mut self,
        expected: &[u8],
        found: &[u8],
        place: impl Fn(usize) -> String,
    ) {
        for (index, piece) in expected.chunks(PIECE).enumerate() {
            let at = index * PIECE;
            let found = found.get(at..(at + piece.len()).min(found.len())).unwrap_or_default();
            self.bytes += piece.len() as u64;
            if piece != found {
                self.wrong += piece.len() as u64;
                self.first.get_or_insert_with(|| place(at));
            }
        }
    }

    /// Counts data that cannot be read.
    pub(crate) fn lose(&mut self, bytes: u64, reason: impl FnOnce() -> String) {
        self.bytes += bytes;
        self.wrong += bytes;
        self.first.get_or_insert_with(reason);
    }

    /// The outcome of a step that checked this.
    pub(crate) fn outcome(self, step: &str) -> StepOutcome {
        let mut outcome = StepOutcome { app_bytes_read: self.bytes, ..StepOutcome::default() };
        outcome.metrics.insert("checked_bytes".to_owned(), self.bytes as f64);
        outcome.metrics.insert("wrong_bytes".to_owned(), self.wrong as f64);
        if let Some(first) = self.first {
            let text = format!(
                "{step}: {} of {} bytes checked are not those that were written; first {first}",
                self.wrong, self.bytes
            );
            outcome.warnings.push(Warning::new(WarningCode::WrongData, text));
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
