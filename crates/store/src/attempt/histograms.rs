//! All latency histograms of an attempt in one value: per histogram the position of its step and
//! its length (u32), the length of the operation's name (u16), the name and the histogram; numbers
//! little endian.

use crate::blob::{Cursor, Problem};
use seekwell_model::record::StepRecord;

/// Takes the histograms out of the steps.
pub(super) fn take(steps: &mut [StepRecord]) -> Vec<u8> {
    let mut out = Vec::new();
    for (position, step) in (0_u32..).zip(steps) {
        for (operation, bytes) in std::mem::take(&mut step.histograms) {
            out.extend(position.to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend((operation.len() as u16).to_le_bytes());
            out.extend(operation.as_bytes());
            out.extend(bytes);
        }
    }
    out
}

/// Puts them back.
pub(super) fn put(bytes: &[u8], steps: &mut [StepRecord]) -> Result<(), Problem> {
    let mut cursor = Cursor(bytes);
    while !cursor.0.is_empty() {
        let position = cursor.number(4)?;
        let length = cursor.number(4)?;
        let name = cursor.number(2)?;
        let operation = String::from_utf8(cursor.take(name)?.to_vec())
            .map_err(|_| "has an operation that is not text")?;
        let data = cursor.take(length)?.to_vec();
        let step = steps.get_mut(position).ok_or("has a histogram without its step")?;
        step.histograms.insert(operation, data);
    }
    Ok(())
}
