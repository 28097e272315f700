//! Parts of trials that a page shows and that need not stay in their records.

use super::draw;
use crate::page::Page;
use crate::program::PROGRAM;
use crate::view::RunView;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};
use seekwell_stats::estimate::median;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Metrics and drawings of trials, taken while the records are read: as numbers in rows they need a tenth of the memory
/// that they need in records.
#[derive(Debug)]
pub struct PageTrials {
    /// Numbers of metrics by step and name.
    numbers: BTreeMap<String, BTreeMap<String, u32>>,
    known: u32,
    /// By trial.
    seen: BTreeMap<u32, Seen>,
    /// True if the page shows a drawing of each trial.
    drawn: bool,
}

#[derive(Debug)]
struct Seen {
    candidate: u32,
    /// Number of a metric and its value; empty for trials that did not end well.
    values: Box<[(u32, f64)]>,
    drawing: Option<Page>,
}

/// Step and name of a metric.
pub(super) type Path<'a> = (&'a str, &'a str);

impl Default for PageTrials {
    /// For the page of this program.
    fn default() -> Self {
        Self::for_page(PROGRAM.is_none())
    }
}

impl PageTrials {
    /// For a page with a drawing of each trial, or without.
    pub(super) fn for_page(drawn: bool) -> Self {
        Self { numbers: BTreeMap::new(), known: 0, seen: BTreeMap::new(), drawn }
    }

    /// True if the page shows a drawing of each trial, which needs the whole timeline.
    #[must_use]
    pub fn are_drawn(&self) -> bool {
        self.drawn
    }

    /// The trials of a view whose records are whole.
    #[must_use]
    pub fn of(view: &RunView) -> Self {
        Self::default().with(view)
    }

    /// The same, after these.
    pub(super) fn with(mut self, view: &RunView) -> Self {
        view.records.iter().for_each(|(trial, record)| self.see(trial, record));
        self
    }

    /// Takes what a page shows of a trial; a later record of the same trial replaces an earlier one.
    pub fn see(&mut self, trial: &PlannedTrial, record: &Record) {
        let mut values = Vec::new();
        for step in record.steps.iter().filter(|_| record.status == Status::Ok) {
            for (name, value) in &step.metrics {
                values.push((self.number(&step.name, name), *value));
            }
        }
        let drawing = self.drawn.then(|| {
            let mut page = Page::fragment();
            draw::timeline(&mut page, &record.timeline);
            page.shrunk()
        });
        let values = values.into_boxed_slice();
        self.seen.insert(trial.index, Seen { candidate: trial.candidate, values, drawing });
    }

    fn number(&mut self, step: &str, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(step).and_then(|names| names.get(name)) {
            return *number;
        }
        let number = self.known;
        self.known += 1;
        self.numbers.entry(step.to_owned()).or_default().insert(name.to_owned(), number);
        number
    }

    /// The drawing of a trial's timeline, on a page that has such.
    pub(super) fn draw(&self, page: &mut Page, trial: u32) {
        if let Some(drawing) = self.seen.get(&trial).and_then(|seen| seen.drawing.as_ref()) {
            page.append(drawing);
        }
    }

    /// The metrics of trials that ended well, sorted, and by candidate the median of each.
    pub(super) fn medians(&self, candidates: usize) -> (Vec<Path<'_>>, Vec<Vec<Option<f64>>>) {
        let mut values: Vec<BTreeMap<u32, Vec<f64>>> = vec![BTreeMap::new(); candidates];
        for seen in self.seen.values() {
            let Some(found) = values.get_mut(seen.candidate as usize) else { continue };
            for (number, value) in &seen.values {
                found.entry(*number).or_default().push(*value);
            }
        }
        let used: BTreeSet<u32> = values.iter().flat_map(BTreeMap::keys).copied().collect();
        let all = self.numbers.iter().flat_map(|(step, names)| {
            names.iter().map(move |(name, number)| ((step.as_str(), name.as_str()), *number))
        });
        let (paths, numbers): (Vec<_>, Vec<_>) =
            all.filter(|(_, number)| used.contains(number)).unzip();
        let row = |found: &mut BTreeMap<u32, Vec<f64>>| {
            let median = |number| found.get_mut(number).and_then(|all| median(all));
            numbers.iter().map(median).collect()
        };
        (paths, values.iter_mut().map(row).collect())
    }
}
