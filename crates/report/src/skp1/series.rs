//! Timelines as the counts that they were computed from.
//!
//! A sample holds rates and means; each is a fraction of whole numbers that the kernel counted, and
//! those are small where the fractions have 52 random bits. Values that the formula does not give to
//! the last bit are there as they are.

use super::coder::{Chance, Number, Reader};

const COLUMNS: usize = 19;
/// One sample: what the run file keeps of it, in its order of columns.
pub(super) type Sample = [Option<u64>; COLUMNS];

/// Formula of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Bytes of memory, in pages.
    Pages,
    /// A count per second, or half of it (sectors as KiB).
    PerSecond { half: bool },
    /// The total of something over the count of another column, or half of it.
    Mean { count: usize, total: Option<usize>, half: bool },
    /// Milliseconds per millisecond, times this.
    Share(f64),
    /// Microseconds in percent of the time.
    Pressure,
}

/// `at_ns` and the 18 columns behind it.
const FORMS: [Form; COLUMNS] = [
    Form::Pages,
    Form::PerSecond { half: false },
    Form::PerSecond { half: false },
    Form::PerSecond { half: true },
    Form::PerSecond { half: true },
    Form::PerSecond { half: false },
    Form::PerSecond { half: false },
    Form::Mean { count: 1, total: None, half: false },
    Form::Mean { count: 2, total: None, half: false },
    Form::Share(1.0),
    Form::Mean { count: 1, total: Some(3), half: true },
    Form::Mean { count: 2, total: Some(4), half: true },
    Form::PerSecond { half: false },
    Form::Share(100.0),
    Form::Pages,
    Form::Pages,
    Form::Pressure,
    Form::Pressure,
    Form::Pressure,
];

const PAGE: u64 = 4_096;

fn value(form: Form, count: u64, interval_ns: u64, divisor: u64) -> f64 {
    let interval_ms = interval_ns as f64 / 1e6;
    let halved = |value: f64, half: bool| if half { value / 2.0 } else { value };
    match form {
        Form::Pages => count as f64,
        Form::PerSecond { half } => halved(count as f64 / interval_ms * 1e3, half),
        Form::Mean { half, .. } => halved(count as f64 / divisor as f64, half),
        Form::Share(times) => count as f64 / interval_ms * times,
        Form::Pressure => count as f64 * 1e3 / interval_ns as f64 * 100.0,
    }
}

/// Adaptive model of the timelines read so far.
pub(super) struct Model {
    rows: Number,
    first: [Number; 2],
    later: Number,
    slower: Chance,
    columns: Vec<Column>,
}

struct Column {
    present: [Chance; 4],
    exact: Chance,
    counts: Vec<Number>,
    expected: Chance,
    in_pages: Chance,
    less: Chance,
}

/// Number of distinguished lengths of the preceding number.
const LENGTHS: usize = 20;

impl Column {
    fn new() -> Self {
        let chance = Chance::default();
        Self {
            present: [chance; 4],
            exact: chance,
            counts: vec![Number::default(); LENGTHS],
            expected: chance,
            in_pages: chance,
            less: chance,
        }
    }

    fn number(&mut self, coder: &mut Reader<'_>, before: u64) -> u64 {
        let length = (u64::BITS - before.leading_zeros()) as usize;
        self.counts[length.min(LENGTHS - 1)].read(coder)
    }
}

/// State between the rows of one timeline.
#[derive(Default)]
struct Course {
    at: u64,
    interval: u64,
    /// Counts of the row at hand, where they are known.
    counts: [Option<u64>; COLUMNS],
    /// By column: what the number of the row before was, and whether it had one.
    before: [(u64, bool); COLUMNS],
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            rows: Number::default(),
            first: [Number::default(), Number::default()],
            later: Number::default(),
            slower: Chance::default(),
            columns: (0..COLUMNS).map(|_| Column::new()).collect(),
        }
    }

    /// The rows; `None` when there are too many.
    pub(super) fn read(&mut self, coder: &mut Reader<'_>) -> Option<Vec<Sample>> {
        let count = self.rows.read(coder);
        if count > MOST {
            return None;
        }
        let mut course = Course::default();
        let mut found = Vec::new();
        for index in 0..count {
            self.time(coder, &mut course, index == 0);
            let mut out: Sample = [None; COLUMNS];
            out[0] = Some(course.at);
            for (column, form) in FORMS.iter().enumerate().skip(1) {
                out[column] = self.value(coder, &mut course, column, *form);
            }
            found.push(out);
        }
        Some(found)
    }

    fn time(&mut self, coder: &mut Reader<'_>, course: &mut Course, first: bool) {
        course.counts = [None; COLUMNS];
        if first {
            course.interval = self.first[0].read(coder);
            course.at = self.first[1].read(coder).saturating_add(course.interval);
            return;
        }
        let slower = coder.bit(&mut self.slower);
        let change = self.later.read(coder);
        course.interval = if slower {
            course.interval.saturating_add(change)
        } else {
            course.interval.saturating_sub(change)
        };
        course.at = course.at.saturating_add(course.interval);
    }

    fn value(
        &mut self,
        coder: &mut Reader<'_>,
        course: &mut Course,
        column: usize,
        form: Form,
    ) -> Option<u64> {
        let own = &mut self.columns[column];
        let (before, had) = course.before[column];
        let divisor = match form {
            Form::Mean { count, .. } => course.counts[count].unwrap_or(0),
            _ => 1,
        };
        let context = usize::from(had) + if divisor > 0 { 2 } else { 0 };
        let present = coder.bit(&mut own.present[context]);
        course.before[column].1 = present;
        if !present {
            return None;
        }
        if form == Form::Pages {
            let found = own.pages(coder, before);
            course.before[column].0 = found;
            return Some(found);
        }
        if !coder.bit(&mut own.exact) {
            return Some(u64::from_le_bytes(coder.bytes()));
        }
        let expected = match form {
            Form::Mean { total: Some(total), .. } => course.counts[total],
            _ => None,
        };
        let count = match expected {
            Some(expected) if coder.bit(&mut own.expected) => expected,
            _ => own.number(coder, before),
        };
        course.counts[column] = Some(count);
        course.before[column].0 = count;
        Some(value(form, count, course.interval, divisor).to_bits())
    }
}

impl Column {
    /// Bytes of memory: how many pages more or less than before.
    fn pages(&mut self, coder: &mut Reader<'_>, before: u64) -> u64 {
        if !coder.bit(&mut self.in_pages) {
            return u64::from_le_bytes(coder.bytes());
        }
        let less = coder.bit(&mut self.less);
        let change = self.number(coder, before / PAGE).saturating_mul(PAGE);
        if less { before.saturating_sub(change) } else { before.saturating_add(change) }
    }
}

/// A timeline has no more samples; damaged bytes must not take all memory.
const MOST: u64 = 1 << 24;

/// As the run file keeps it.
pub(super) fn pack(rows: &[Sample]) -> Vec<u8> {
    let mut plain = Vec::new();
    for column in 0..COLUMNS {
        let values: Vec<u64> = rows.iter().filter_map(|row| row[column]).collect();
        plain.push(match values.len() {
            all if all == rows.len() => 0,
            0 => 1,
            _ => 2,
        });
        if plain.last() == Some(&2) {
            let bit = |row: &Sample| u8::from(row[column].is_some());
            let bits =
                |chunk: &[Sample]| chunk.iter().rev().fold(0, |bits, row| bits << 1 | bit(row));
            plain.extend(rows.chunks(8).map(bits));
        }
        let mut before = 0;
        let changes: Vec<[u8; 8]> = values
            .iter()
            .map(|value| (value ^ std::mem::replace(&mut before, *value)).to_le_bytes())
            .collect();
        for byte in 0..8 {
            plain.extend(changes.iter().map(|change| change[byte]));
        }
    }
    let mut blob = vec![1, COLUMNS as u8];
    blob.extend(u32::try_from(rows.len()).unwrap_or(u32::MAX).to_le_bytes());
    blob.extend(super::deflate(&plain));
    blob
}
