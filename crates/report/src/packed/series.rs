//! Timelines as the counts that they were computed from.
//!
//! A sample holds rates and means; each is a fraction of whole numbers that the kernel counted, and
//! those are small where the fractions have 52 random bits. A value that the formula gives back to
//! the last bit is told by its count, any other one as it is.

use super::coder::{Chance, Coder, Number};
use flate2::read::ZlibDecoder;
use std::io::Read;

pub(super) const COLUMNS: usize = 19;
/// One sample: what the run file keeps of it, in its order of columns.
pub(super) type Sample = [Option<u64>; COLUMNS];

const HEADER: usize = 6;
/// No run file holds longer ones.
const LONGEST: u64 = 1 << 30;

/// How a column is computed.
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

/// The count that gives this value, when there is one.
fn count_of(form: Form, bits: u64, interval_ns: u64, divisor: u64) -> Option<u64> {
    let wanted = f64::from_bits(bits);
    let whole = if let Form::Mean { half: true, .. } | Form::PerSecond { half: true } = form {
        wanted * 2.0
    } else {
        wanted
    };
    let guess = match form {
        Form::Pages => whole,
        Form::PerSecond { .. } => whole * interval_ns as f64 / 1e9,
        Form::Mean { .. } => whole * divisor as f64,
        Form::Share(times) => whole * interval_ns as f64 / 1e6 / times,
        Form::Pressure => whole * interval_ns as f64 / 1e5,
    };
    let guess = guess.round();
    if !(0.0..9e15).contains(&guess) {
        return None;
    }
    let count = guess as u64;
    (value(form, count, interval_ns, divisor).to_bits() == bits).then_some(count)
}

/// The time before the first sample, which is not kept: one that gives its rates.
fn first_interval(row: &Sample) -> u64 {
    let at = row[0].unwrap_or(0);
    let rates = FORMS.iter().zip(row).filter_map(|(form, bits)| match form {
        Form::PerSecond { half } => {
            bits.map(|bits| f64::from_bits(bits) * if *half { 2.0 } else { 1.0 })
        }
        _ => None,
    });
    for rate in rates.filter(|rate| *rate > 0.0) {
        let count = (rate * at as f64 / 1e9).round();
        for count in [count, count - 1.0, count + 1.0] {
            let interval = (count * 1e9 / rate).round();
            if interval >= 1.0 && interval <= at as f64 {
                let interval = interval as u64;
                let fits = FORMS.iter().zip(row).all(|(form, bits)| match (form, bits) {
                    (Form::PerSecond { .. }, Some(bits)) => {
                        count_of(*form, *bits, interval, 1).is_some()
                    }
                    _ => true,
                });
                if fits {
                    return interval;
                }
            }
        }
    }
    at
}

/// What was learnt from the timelines before.
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

/// Lengths of the number before that are told apart.
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

    fn number(&mut self, coder: &mut impl Coder, value: u64, before: u64) -> u64 {
        let length = (u64::BITS - before.leading_zeros()) as usize;
        self.counts[length.min(LENGTHS - 1)].code(coder, value)
    }
}

/// What stands between the rows of one timeline.
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

    /// The rows that are handed in where the coder writes, those that it reads otherwise.
    pub(super) fn code(
        &mut self,
        coder: &mut impl Coder,
        rows: &[Sample],
        most: u64,
    ) -> Option<Vec<Sample>> {
        let count = self.rows.code(coder, rows.len() as u64);
        if count > most {
            return None;
        }
        let mut course = Course::default();
        let mut found = Vec::new();
        for index in 0..count as usize {
            let row = rows.get(index).copied().unwrap_or_default();
            self.time(coder, &mut course, &row, index == 0);
            let mut out: Sample = [None; COLUMNS];
            out[0] = Some(course.at);
            for (column, form) in FORMS.iter().enumerate().skip(1) {
                out[column] = self.value(coder, &mut course, (column, *form), row[column]);
            }
            found.push(out);
        }
        Some(found)
    }

    fn time(&mut self, coder: &mut impl Coder, course: &mut Course, row: &Sample, first: bool) {
        let at = row[0].unwrap_or(0);
        course.counts = [None; COLUMNS];
        if first {
            let interval = first_interval(row);
            course.interval = self.first[0].code(coder, interval);
            course.at = self.first[1]
                .code(coder, at.saturating_sub(interval))
                .saturating_add(course.interval);
            return;
        }
        let interval = at.saturating_sub(course.at);
        let slower = coder.bit(&mut self.slower, interval >= course.interval);
        let change = self.later.code(coder, interval.abs_diff(course.interval));
        course.interval = if slower {
            course.interval.saturating_add(change)
        } else {
            course.interval.saturating_sub(change)
        };
        course.at = course.at.saturating_add(course.interval);
    }

    fn value(
        &mut self,
        coder: &mut impl Coder,
        course: &mut Course,
        (column, form): (usize, Form),
        known: Option<u64>,
    ) -> Option<u64> {
        let own = &mut self.columns[column];
        let (before, had) = course.before[column];
        let divisor = match form {
            Form::Mean { count, .. } => course.counts[count].unwrap_or(0),
            _ => 1,
        };
        let context = usize::from(had) + if divisor > 0 { 2 } else { 0 };
        let present = coder.bit(&mut own.present[context], known.is_some());
        course.before[column].1 = present;
        if !present {
            return None;
        }
        let known = known.unwrap_or(0);
        if form == Form::Pages {
            let found = own.pages(coder, known, before);
            course.before[column].0 = found;
            return Some(found);
        }
        let count = count_of(form, known, course.interval, divisor);
        if !coder.bit(&mut own.exact, count.is_some()) {
            return Some(u64::from_le_bytes(coder.bytes(known.to_le_bytes())));
        }
        let count = count.unwrap_or(0);
        let expected = match form {
            Form::Mean { total: Some(total), .. } => course.counts[total],
            _ => None,
        };
        let count = match expected {
            Some(expected) if coder.bit(&mut own.expected, count == expected) => expected,
            _ => own.number(coder, count, before),
        };
        course.counts[column] = Some(count);
        course.before[column].0 = count;
        Some(value(form, count, course.interval, divisor).to_bits())
    }
}

impl Column {
    /// Bytes of memory: how many pages more or less than before.
    fn pages(&mut self, coder: &mut impl Coder, known: u64, before: u64) -> u64 {
        let whole = known.is_multiple_of(PAGE) && before.is_multiple_of(PAGE) && known < 1 << 53;
        if !coder.bit(&mut self.in_pages, whole) {
            return u64::from_le_bytes(coder.bytes(known.to_le_bytes()));
        }
        let less = coder.bit(&mut self.less, known < before);
        let change = self.number(coder, known.abs_diff(before) / PAGE, before / PAGE);
        let change = change.saturating_mul(PAGE);
        if less { before.saturating_sub(change) } else { before.saturating_add(change) }
    }
}

/// A timeline has no more samples; damaged bytes must not take all memory.
pub(super) const MOST: u64 = 1 << 24;

/// Whether the model gives these rows back: their times rise.
pub(super) fn fits(rows: &[Sample]) -> bool {
    let times = rows.iter().map(|row| row[0].unwrap_or(u64::MAX));
    rows.len() as u64 <= MOST && times.clone().all(|at| at < 1 << 53) && times.is_sorted()
}

/// The rows of a timeline of the run file, when its form is the one known here.
pub(super) fn unpack(blob: &[u8]) -> Option<Vec<Sample>> {
    let header = blob.get(..HEADER)?;
    if header[0] != 1 || usize::from(header[1]) != COLUMNS {
        return None;
    }
    let count = u32::from_le_bytes(header[2..6].try_into().ok()?) as usize;
    let mut plain = Vec::new();
    ZlibDecoder::new(&blob[HEADER..]).take(LONGEST).read_to_end(&mut plain).ok()?;
    let mut rows = vec![[None; COLUMNS]; count.min(plain.len())];
    let mut rest = plain.as_slice();
    for column in 0..COLUMNS {
        let (form, behind) = rest.split_first()?;
        rest = behind;
        let bitmap = if *form == 2 { rest.split_off(..count.div_ceil(8))? } else { &[] };
        let here = |row: &usize| match form {
            0 => true,
            2 => bitmap[row / 8] >> (row % 8) & 1 == 1,
            _ => false,
        };
        let present: Vec<usize> = (0..rows.len()).filter(here).collect();
        let bytes = rest.split_off(..8 * present.len())?;
        let mut before = 0;
        for (index, row) in present.iter().enumerate() {
            let change = std::array::from_fn(|byte| bytes[byte * present.len() + index]);
            before ^= u64::from_le_bytes(change);
            rows[*row][column] = Some(before);
        }
    }
    Some(rows)
}

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
