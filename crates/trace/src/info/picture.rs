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
    /// Time in them, of all threads together.
    pub time_ns: Vec<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            step_ns: 1_000_000,
            count: Vec::new(),
            read_bytes: Vec::new(),
            written_bytes: Vec::new(),
            time_ns: Vec::new(),
        }
    }
}

impl Timeline {
    /// Adds a call or a request.
    pub(super) fn add(&mut self, start_ns: u64, read: u64, written: u64, time_ns: u64) {
        while start_ns / self.step_ns >= COLUMNS as u64 {
            for list in self.lists() {
                halve(list);
            }
            self.step_ns = self.step_ns.saturating_mul(2);
        }
        let at = usize::try_from(start_ns / self.step_ns).unwrap_or(0);
        let [count, reads, writes, times] = self.lists();
        for (list, value) in [(count, 1), (reads, read), (writes, written), (times, time_ns)] {
            if list.len() <= at {
                list.resize(at + 1, 0);
            }
            list[at] = list[at].saturating_add(value);
        }
    }

    fn lists(&mut self) -> [&mut Vec<u64>; 4] {
        [&mut self.count, &mut self.read_bytes, &mut self.written_bytes, &mut self.time_ns]
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
        if self.accesses.len() <= column {
            self.accesses.resize(column + 1, Vec::new());
        }
        let rows = &mut self.accesses[column];
        if rows.len() <= row {
            rows.resize(row + 1, 0);
        }
        rows[row] += 1;
    }
}

#[cfg(test)]
mod tests;
