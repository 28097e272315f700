//! Load over time and over places, in fixed room: steps double when the trace outgrows them.

use serde::Serialize;

/// Steps of time.
const COLUMNS: usize = 240;
/// Steps of places.
const ROWS: usize = 96;

/// Load over time. Each list has one value per step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Length of a step.
    pub step_ns: u64,
    /// Calls on files, or block requests.
    pub count: Vec<u64>,
    /// Bytes read.
    pub read_bytes: Vec<u64>,
    /// Bytes written.
    pub written_bytes: Vec<u64>,
    /// Time in those that began then, of all threads together.
    pub time_ns: Vec<u64>,
    /// Time in those that were in progress then, of all threads together.
    pub in_progress_ns: Vec<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            step_ns: 1_000_000,
            count: Vec::new(),
            read_bytes: Vec::new(),
            written_bytes: Vec::new(),
            time_ns: Vec::new(),
            in_progress_ns: Vec::new(),
        }
    }
}

impl Timeline {
    /// Adds a call or a request.
    pub(super) fn add(&mut self, start_ns: u64, read: u64, written: u64, time_ns: u64) {
        let end_ns = start_ns.saturating_add(time_ns);
        while end_ns / self.step_ns >= COLUMNS as u64 {
            self.lists().into_iter().for_each(halve);
            self.step_ns = self.step_ns.saturating_mul(2);
        }
        let step = |ns: u64| usize::try_from(ns / self.step_ns).unwrap_or(0);
        let (at, last) = (step(start_ns), step(end_ns));
        if self.count.len() <= last {
            self.lists().into_iter().for_each(|list| list.resize(last + 1, 0));
        }
        let [count, reads, writes, times, _] = self.lists();
        for (list, value) in [(count, 1), (reads, read), (writes, written), (times, time_ns)] {
            list[at] = list[at].saturating_add(value);
        }
        self.progress(start_ns, end_ns, at, last);
    }

    /// Adds the time from start to end to the steps in which it was.
    fn progress(&mut self, start_ns: u64, end_ns: u64, first: usize, last: usize) {
        for at in first..=last {
            let from_ns = (at as u64).saturating_mul(self.step_ns);
            let to_ns = from_ns.saturating_add(self.step_ns);
            let inside_ns = end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns));
            let sum = &mut self.in_progress_ns[at];
            *sum = sum.saturating_add(inside_ns);
        }
    }

    fn lists(&mut self) -> [&mut Vec<u64>; 5] {
        [
            &mut self.count,
            &mut self.read_bytes,
            &mut self.written_bytes,
            &mut self.time_ns,
            &mut self.in_progress_ns,
        ]
    }
}

/// Sums of neighbours.
fn halve(list: &mut Vec<u64>) {
    *list = list
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |sum, one| u64::saturating_add(sum, *one)))
        .collect();
}

/// Number of accesses by time and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seeks {
    /// Length of a step of time.
    pub step_ns: u64,
    /// Length of a step of places, bytes.
    pub step_bytes: u64,
    /// Accesses, by step of time and then by step of places from 0 on.
    pub accesses: Vec<Vec<u64>>,
}

impl Default for Seeks {
    fn default() -> Self {
        Self { step_ns: 1_000_000, step_bytes: 4096, accesses: Vec::new() }
    }
}

impl Seeks {
    /// Adds an access.
    pub(super) fn add(&mut self, start_ns: u64, place_bytes: u64) {
        while start_ns / self.step_ns >= COLUMNS as u64 {
            let pairs = self.accesses.chunks(2).map(|pair| {
                let rows = pair.iter().map(Vec::len).max().unwrap_or(0);
                let sum = |row: usize| pair.iter().filter_map(|column| column.get(row)).sum();
                (0..rows).map(sum).collect()
            });
            self.accesses = pairs.collect();
            self.step_ns = self.step_ns.saturating_mul(2);
        }
        while place_bytes / self.step_bytes >= ROWS as u64 {
            self.accesses.iter_mut().for_each(halve);
            self.step_bytes = self.step_bytes.saturating_mul(2);
        }
        let column = usize::try_from(start_ns / self.step_ns).unwrap_or(0);
        let row = usize::try_from(place_bytes / self.step_bytes).unwrap_or(0);
        count(&mut self.accesses, column, row);
    }
}

/// Counts an access in a column and row, which may be new.
#[inline]
fn count(accesses: &mut Vec<Vec<u64>>, column: usize, row: usize) {
    if accesses.len() <= column {
        accesses.resize(column + 1, Vec::new());
    }
    let rows = &mut accesses[column];
    if rows.len() <= row {
        rows.resize(row + 1, 0);
    }
    rows[row] += 1;
}

/// Number of accesses by size and duration, each by powers of two: a size of 4 KiB is in the column
/// 12, one of 6 KiB too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Heat {
    /// By size in bytes, and then by duration in nanoseconds.
    pub accesses: Vec<Vec<u64>>,
}

impl Heat {
    /// Adds an access that moved data.
    #[inline]
    pub(super) fn add(&mut self, bytes: u64, ns: u64) {
        let power = |value: u64| value.max(1).ilog2() as usize;
        let (column, row) = (power(bytes), power(ns));
        count(&mut self.accesses, column, row);
    }

    /// The first column and the first row that are not empty, and what is from there on.
    #[must_use]
    pub fn trimmed(&self) -> (u32, u32, Vec<Vec<u64>>) {
        let first = |empty: usize| u32::try_from(empty).unwrap_or(0);
        let columns = self.accesses.iter().take_while(|rows| rows.is_empty()).count();
        let used = || self.accesses.iter().filter(|rows| !rows.is_empty());
        let rows = used().map(|rows| rows.iter().take_while(|count| **count == 0).count()).min();
        let rows = rows.unwrap_or(0);
        let part = |counts: &Vec<u64>| counts.get(rows..).unwrap_or_default().to_vec();
        let kept = self.accesses.iter().skip(columns).map(part).collect();
        (first(columns), first(rows), kept)
    }
}

#[cfg(test)]
mod tests;
