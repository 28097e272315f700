//! Changes of one update to a round-robin file.
//!
//! Rates become primary data points of one step each, these are consolidated in every archive, and
//! an archive with a complete row writes it. The arithmetic is rrdtool's: the same updates leave
//! the same bytes, but for the last digits of floats, which its compiler rounds in an order of its
//! own.

use super::format::{
    Archive, Consolidation, Definition, LAST_VALUE_BYTES, Offsets, Source, SourceKind, get_f64,
    get_text, get_u64, put_f64, put_text, put_u64,
};

/// Offset of the numbers in the state of a source: after the text of the last value.
const UNKNOWN_SECONDS: usize = 32;
const VALUE: usize = 40;
/// Offset of the numbers in the state of a source in an archive.
const CDP_VALUE: usize = 0;
const CDP_UNKNOWN: usize = 8;
const CDP_PRIMARY: usize = 64;
const CDP_SECONDARY: usize = 72;

/// A row that an update completes.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Offset in the file.
    pub offset: u64,
    /// Its values, one per source.
    pub values: Vec<f64>,
}

/// Applies an update of `time_s` with one value per source to the part of a file before its rows.
/// Gives the rows that are to be written; `None` when the last update was not before it or a value is
/// no number: then nothing has changed.
pub fn apply(
    definition: &Definition,
    offsets: &Offsets,
    head: &mut [u8],
    time_s: u64,
    values: &[&str],
) -> Option<Vec<Row>> {
    let (last_s, last_us) = (get_u64(head, offsets.live), get_u64(head, offsets.live + 8));
    if time_s < last_s || (time_s == last_s && last_us == 0) {
        return None;
    }
    let interval = time_s as f64 - last_s as f64 - last_us as f64 / 1e6;
    let amounts = definition
        .sources
        .iter()
        .zip(values)
        .enumerate()
        .map(|(index, (source, text))| {
            let at = offsets.source(index);
            amount(source, get_text(&head[at..at + LAST_VALUE_BYTES]), text, interval)
        })
        .collect::<Option<Vec<f64>>>()?;
    for (index, text) in values.iter().enumerate().take(definition.sources.len()) {
        let at = offsets.source(index);
        put_text(&mut head[at..at + LAST_VALUE_BYTES], text.as_bytes());
    }
    let step_s = definition.step_s;
    let (done_s, due_s) = (last_s - last_s % step_s, time_s - time_s % step_s);
    let mut rows = Vec::new();
    if due_s > done_s {
        let steps = (due_s - done_s) / step_s;
        let before = due_s as f64 - last_s as f64 - last_us as f64 / 1e6;
        let after = (time_s % step_s) as f64;
        let whole = Span { interval, before, after, steps, done: done_s / step_s };
        let begun = last_s != done_s || last_us > 0;
        for (span, share) in whole.parts(step_s, begun) {
            let amounts: Vec<f64> = amounts.iter().map(|amount| share(*amount)).collect();
            let points = points(definition, offsets, head, &amounts, &span);
            for archive in 0..definition.archives.len() {
                consolidate(definition, offsets, head, archive, &points, &span, &mut rows);
            }
        }
    } else {
        add(offsets, head, &amounts, interval);
    }
    put_u64(head, offsets.live, time_s);
    put_u64(head, offsets.live + 8, 0);
    Some(rows)
}

/// Position of an update's time within the steps.
struct Span {
    /// Seconds since the last update.
    interval: f64,
    /// Of these, until the end of the last complete step.
    before: f64,
    /// Of these, after it.
    after: f64,
    /// Steps that are complete now.
    steps: u64,
    /// Steps since 1970 that were complete before.
    done: u64,
}

/// The part of a gain that falls into a span.
type Share = Box<dyn Fn(f64) -> f64>;

impl Span {
    /// The step that was begun gets its part of the gain, so that what was known of it does not
    /// spread over the steps after it.
    fn parts(self, step_s: u64, begun: bool) -> Vec<(Self, Share)> {
        if self.steps < 2 || !begun {
            return vec![(self, Box::new(|amount| amount))];
        }
        let Self { interval, before, after, steps, done } = self;
        let rest = ((steps - 1) * step_s) as f64;
        let (first, second) = (before - rest, rest + after);
        let head = Self { interval: first, before: first, after: 0.0, steps: 1, done };
        let tail = Self { interval: second, before: rest, after, steps: steps - 1, done: done + 1 };
        vec![
            (head, Box::new(move |amount| amount * first / interval)),
            (tail, Box::new(move |amount| amount * second / interval)),
        ]
    }
}

/// Gain of a source since the last update: its rate times the interval. NaN is unknown; `None` is no
/// value.
fn amount(source: &Source, last: &[u8], text: &str, interval: f64) -> Option<f64> {
    if source.heartbeat_s as f64 - interval < 0.0 || text == "U" {
        return Some(f64::NAN);
    }
    let amount = match source.kind {
        SourceKind::Gauge => text.parse::<f64>().ok()? * interval,
        SourceKind::Counter => {
            let now: i128 = text.parse().ok()?;
            let last = std::str::from_utf8(last).ok().and_then(|last| last.parse::<i128>().ok());
            let Some(last) = last else { return Some(f64::NAN) };
            let mut difference = (now - last) as f64;
            // A counter that fell has wrapped, at 32 bits (rrdtool adds 2^32 - 1) or else at 64.
            for wrap in [4_294_967_295.0, 18_446_744_069_414_584_320.0] {
                if difference < 0.0 {
                    difference += wrap;
                }
            }
            difference
        }
    };
    let rate = amount / interval;
    let outside = rate > source.max || rate < source.min;
    Some(if outside { f64::NAN } else { amount })
}

/// No step is complete: the gain is kept for the one that runs.
fn add(offsets: &Offsets, head: &mut [u8], amounts: &[f64], interval: f64) {
    for (index, amount) in amounts.iter().enumerate() {
        let at = offsets.source(index);
        if amount.is_nan() {
            let unknown = get_u64(head, at + UNKNOWN_SECONDS);
            put_u64(head, at + UNKNOWN_SECONDS, unknown + interval.floor() as u64);
            continue;
        }
        let value = get_f64(head, at + VALUE);
        let sum = if value.is_nan() { *amount } else { value + amount };
        put_f64(head, at + VALUE, sum);
    }
}

/// The primary data point of each source for the steps that are complete now.
fn points(
    definition: &Definition,
    offsets: &Offsets,
    head: &mut [u8],
    amounts: &[f64],
    span: &Span,
) -> Vec<f64> {
    let seconds = (span.steps * definition.step_s) as f64;
    let mut points = Vec::with_capacity(amounts.len());
    for (index, (source, amount)) in definition.sources.iter().zip(amounts).enumerate() {
        let at = offsets.source(index);
        let unknown = get_u64(head, at + UNKNOWN_SECONDS) as f64;
        let mut value = get_f64(head, at + VALUE);
        let mut unknown_before = 0.0;
        if amount.is_nan() {
            unknown_before = span.before;
        } else {
            value = if value.is_nan() { 0.0 } else { value };
            value += amount / span.interval * span.before;
        }
        let dumped =
            span.interval > source.heartbeat_s as f64 || definition.step_s as f64 / 2.0 < unknown;
        points.push(if dumped { f64::NAN } else { value / ((seconds - unknown) - unknown_before) });
        if amount.is_nan() {
            put_u64(head, at + UNKNOWN_SECONDS, span.after.floor() as u64);
            put_f64(head, at + VALUE, f64::NAN);
        } else {
            put_u64(head, at + UNKNOWN_SECONDS, 0);
            put_f64(head, at + VALUE, amount / span.interval * span.after);
        }
    }
    points
}

/// Takes the points into an archive; adds the rows that are complete now.
fn consolidate(
    definition: &Definition,
    offsets: &Offsets,
    head: &mut [u8],
    archive: usize,
    points: &[f64],
    span: &Span,
    rows: &mut Vec<Row>,
) {
    let wanted = &definition.archives[archive];
    // Points until the row that is being filled is complete.
    let offset = wanted.steps - span.done % wanted.steps;
    let complete = if offset <= span.steps { (span.steps - offset) / wanted.steps + 1 } else { 0 };
    let sources = definition.sources.len();
    for (source, point) in points.iter().enumerate() {
        let at = offsets.state(sources, archive, source);
        if wanted.steps == 1 {
            put_f64(head, at + CDP_PRIMARY, *point);
            if span.steps > 1 {
                put_f64(head, at + CDP_SECONDARY, *point);
            }
        } else if complete > 0 {
            finish(head, at, wanted, *point, offset, span.steps);
        } else if point.is_nan() {
            let unknown = get_u64(head, at + CDP_UNKNOWN);
            put_u64(head, at + CDP_UNKNOWN, unknown + span.steps);
        } else {
            let value = get_f64(head, at + CDP_VALUE);
            put_f64(head, at + CDP_VALUE, carry(wanted.function, value, *point, span.steps));
        }
    }
    let current = offsets.rows + 8 * archive;
    // More rows than there are would only overwrite each other.
    for number in 0..complete.min(wanted.rows) {
        let row = (get_u64(head, current) + 1) % wanted.rows;
        put_u64(head, current, row);
        let from = if number == 0 { CDP_PRIMARY } else { CDP_SECONDARY };
        let value = |source| get_f64(head, offsets.state(sources, archive, source) + from);
        let values: Vec<f64> = (0..sources).map(value).collect();
        rows.push(Row { offset: offsets.archive_data[archive] + row * 8 * sources as u64, values });
    }
}

/// Adds points to an unfinished row.
fn carry(function: Consolidation, value: f64, point: f64, steps: u64) -> f64 {
    match function {
        Consolidation::Average if value.is_nan() => point * steps as f64,
        Consolidation::Average => value + point * steps as f64,
        Consolidation::Max if value.is_nan() => point,
        Consolidation::Max => value.max(point),
    }
}

/// Completes a row, and begins the next with the points that are left.
fn finish(head: &mut [u8], at: usize, archive: &Archive, point: f64, offset: u64, steps: u64) {
    let or = |value: f64, other: f64| if value.is_nan() { other } else { value };
    let unknown_now = if point.is_nan() { offset } else { 0 };
    let unknown = get_u64(head, at + CDP_UNKNOWN) + unknown_now;
    put_f64(head, at + CDP_SECONDARY, point);
    let value = get_f64(head, at + CDP_VALUE);
    let primary = if unknown as f64 > archive.steps as f64 * archive.unknown {
        f64::NAN
    } else {
        match archive.function {
            Consolidation::Average => {
                let sum = or(value, 0.0) + or(point, 0.0) * offset as f64;
                sum / (archive.steps - unknown) as f64
            }
            Consolidation::Max => or(value, f64::NEG_INFINITY).max(or(point, f64::NEG_INFINITY)),
        }
    };
    put_f64(head, at + CDP_PRIMARY, primary);
    let left = (steps - offset) % archive.steps;
    let begun = left > 0 && !point.is_nan();
    let next = match archive.function {
        Consolidation::Average if begun => point * left as f64,
        Consolidation::Average => 0.0,
        Consolidation::Max if begun => point,
        Consolidation::Max => f64::NEG_INFINITY,
    };
    put_f64(head, at + CDP_VALUE, next);
    put_u64(head, at + CDP_UNKNOWN, if point.is_nan() { left } else { 0 });
}
