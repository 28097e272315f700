//! What remains of a run file when records, histograms and series are taken out, and how all of it
//! becomes the file again.
//!
//! Metrics stand in the records too: a number that is found there is taken out of its table.

use super::sqlite::Cell;
use super::{unzip, zip};
use serde_json::Value;

/// An IEEE number in eight bytes, as SQLite calls it.
const REAL: u64 = 7;

/// Where the pieces were, then what is left.
pub(super) fn write(file: &[u8], records: &[String], places: &[Cell], metrics: &[Cell]) -> Vec<u8> {
    let mut map = Vec::new();
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut put = |map: &mut Vec<u8>, cell: &Cell| {
        for piece in &cell.place {
            let gap = piece.start as i64 - at as i64;
            push(map, (gap << 1 ^ gap >> 63).cast_unsigned());
            push(map, piece.len() as u64);
            pieces.push((piece.start, piece.len()));
            at = piece.end;
        }
    };
    places.iter().for_each(|cell| put(&mut map, cell));
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let expected = metrics_of(&records);
    let usable = expected.len() == metrics.len();
    push(&mut map, u64::from(usable));
    if usable {
        for (bytes, cell) in expected.iter().zip(metrics) {
            let same = cell.kind == REAL
                && cell.place.iter().flat_map(|piece| &file[piece.clone()]).eq(bytes);
            push(&mut map, if same { cell.place.len() as u64 } else { 0 });
            if same {
                put(&mut map, cell);
            }
        }
    }
    pieces.sort_unstable();
    let (mut left, mut at) = (Vec::new(), 0);
    for (begin, length) in pieces {
        left.extend(&file[at..begin]);
        at = begin + length;
    }
    left.extend(&file[at..]);
    let map = zip(&map);
    let mut out = u32::try_from(map.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    out.extend(map);
    out.extend(zip(&left));
    out
}

/// The file of this length; `values` in the order in which their places were written.
pub(super) fn read(
    packed: &[u8],
    records: &[&str],
    values: &[&[u8]],
    length: usize,
) -> Option<Vec<u8>> {
    let (size, packed) = packed.split_first_chunk::<4>()?;
    let (map, left) = packed.split_at_checked(u32::from_le_bytes(*size) as usize)?;
    let (map, left) = (unzip(map).ok()?, unzip(left).ok()?);
    let mut map = map.as_slice();
    let mut file = vec![0; length];
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut at = 0_usize;
    let mut put = |map: &mut &[u8], mut value: &[u8]| {
        while !value.is_empty() {
            let gap = pull(map)?;
            let gap = (gap >> 1).cast_signed() ^ -(gap & 1).cast_signed();
            let begin = usize::try_from(i64::try_from(at).ok()?.checked_add(gap)?).ok()?;
            let taken = usize::try_from(pull(map)?).ok().filter(|length| *length > 0)?;
            at = begin.checked_add(taken)?;
            file.get_mut(begin..at)?.copy_from_slice(value.split_off(..taken)?);
            pieces.push((begin, taken));
        }
        Some(())
    };
    values.iter().try_for_each(|value| put(&mut map, value))?;
    if pull(&mut map)? == 1 {
        for bytes in metrics_of(records) {
            if pull(&mut map)? > 0 {
                put(&mut map, &bytes)?;
            }
        }
    }
    pieces.sort_unstable();
    let (mut left, mut at) = (left.as_slice(), 0);
    for (begin, taken) in pieces {
        let between = file.get_mut(at..begin)?;
        between.copy_from_slice(left.split_off(..between.len())?);
        at = begin + taken;
    }
    let behind = file.get_mut(at..)?;
    (left.len() == behind.len()).then(|| behind.copy_from_slice(left))?;
    Some(file)
}

/// The metrics of the records in the order of their table: by attempt, step and name.
fn metrics_of(records: &[&str]) -> Vec<[u8; 8]> {
    let mut found = Vec::new();
    for record in records {
        let record: Value = serde_json::from_str(record).unwrap_or_default();
        let steps = record["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut own: Vec<(&str, &str, f64)> = Vec::new();
        for step in steps {
            let name = step["name"].as_str().unwrap_or_default();
            let metrics = step["metrics"].as_object();
            for (metric, value) in metrics.into_iter().flatten() {
                own.push((name, metric, value.as_f64().unwrap_or(f64::NAN)));
            }
        }
        own.sort_by_key(|(step, metric, _)| (*step, *metric));
        found.extend(own.iter().map(|(_, _, value)| value.to_be_bytes()));
    }
    found
}

/// Seven bits a byte, the lowest first.
fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(7 * at)?;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}
