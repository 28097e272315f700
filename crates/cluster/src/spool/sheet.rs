//! The file of a share on its way: the offer, and behind it a line for each result.
//!
//! A worker adds a result as soon as it has it, so that its death costs no trial but the one under way: whoever takes the
//! file next continues behind the last line. A line that is damaged, because a node died or two workers wrote, is none, and
//! nor is one of other work: its checksum begins with the number of the work.

use super::{Outcome, Share, fnv};
use seekwell_model::plan::PlannedTrial;
use serde::{Deserialize, Serialize};

/// Digits of the checksum before a line.
const SUM_DIGITS: usize = 16;

/// The result of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the trial.
    pub trial: u32,
    /// The worker.
    pub task: String,
    /// Time that its node needed.
    pub wall_ns: Option<u64>,
    /// The record, or the error of a backend that is broken.
    pub result: Outcome,
}

/// A share with the results that it has so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Number of the work that the share belongs to.
    pub(crate) work: u64,
    /// The share.
    pub share: Share,
    /// One for each trial at most. They are behind the first line of the file, which has the rest.
    #[serde(skip)]
    pub lines: Vec<Line>,
}

impl Sheet {
    /// The trials that have no result yet.
    pub(crate) fn missing(&self) -> Vec<PlannedTrial> {
        let has = |trial: &PlannedTrial| self.lines.iter().any(|line| line.trial == trial.index);
        self.share.trials.iter().filter(|trial| !has(trial)).copied().collect()
    }

    /// True if nothing is missing, or no more will come of a worker whose backend is broken.
    pub(crate) fn is_whole(&self) -> bool {
        self.missing().is_empty() || self.lines.iter().any(|line| line.result.is_err())
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        for line in &self.lines {
            text.extend(line.text(self.work)?);
        }
        Ok(text)
    }

    /// Reads the text of a file.
    pub(crate) fn read(text: &[u8]) -> serde_json::Result<Self> {
        let mut parts = text.split(|byte| *byte == b'\n');
        let mut sheet: Self = serde_json::from_slice(parts.next().unwrap_or_default())?;
        let work = sheet.work;
        for line in parts.filter_map(|line| Line::read(line, work)) {
            let is_wanted = sheet.share.trials.iter().any(|trial| trial.index == line.trial);
            if is_wanted && sheet.lines.iter().all(|before| before.trial != line.trial) {
                sheet.lines.push(line);
            }
        }
        Ok(sheet)
    }
}

impl Line {
    /// The line with its checksum. It begins with a line feed, so that what a dead worker left half written stays alone.
    pub(crate) fn text(&self, work: u64) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut text = format!("\n{:016x} ", sum(work, &json)).into_bytes();
        text.extend(json);
        Ok(text)
    }

    fn read(text: &[u8], work: u64) -> Option<Self> {
        let (sum, json) = text.split_at_checked(SUM_DIGITS)?;
        let json = json.strip_prefix(b" ")?;
        let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
        (sum == self::sum(work, json)).then(|| serde_json::from_slice(json).ok()).flatten()
    }
}

/// Checksum of a line of this work.
fn sum(work: u64, json: &[u8]) -> u64 {
    fnv(&[&work.to_le_bytes(), json].concat())
}

#[cfg(test)]
mod tests;
