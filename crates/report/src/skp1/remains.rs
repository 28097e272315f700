//! Joins records, histograms, series and the remaining bytes into the run file again.
//!
//! The records contain the metrics too: a number found there is left out of its table.

use super::unzip;
use serde_json::Value;

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
