//! The trace that a capture writes.

use crate::Options;
use crate::error::CaptureError;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Anonymizer, Limits, TraceError, TraceWriter};

/// Makes the trace.
///
/// # Errors
/// When the output cannot be made.
pub(crate) fn create(options: &Options, meta: &Meta) -> Result<TraceWriter, CaptureError> {
    let anonymizer = if options.anonymize {
        let failed = |source| CaptureError::Target { path: "/dev/urandom".into(), source };
        Some(Anonymizer::new().map_err(failed)?)
    } else {
        None
    };
    let is_empty =
        std::fs::read_dir(&options.output).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty {
        return Err(TraceError::Exists(options.output.clone()).into());
    }
    Ok(TraceWriter::create_anonymous(&options.output, meta, limits(options), anonymizer)?)
}

/// Limits of a writer: little of a trace of limited size is in memory, where its bytes are not counted.
fn limits(options: &Options) -> Limits {
    /// Bytes of the trace for each row in memory, of which a row takes about ten.
    const PER_ROW: u64 = 256;
    const LEAST_ROWS: usize = 256;
    /// Files are written when segments are sealed.
    const SEGMENTS: u64 = 8;
    const LEAST_SEGMENT: u64 = 64 << 10;
    let usual = Limits::default();
    let Some(most) = options.max_bytes else { return usual };
    let rows = usize::try_from(most / PER_ROW).unwrap_or(usize::MAX).max(LEAST_ROWS);
    let bytes = (most / SEGMENTS).max(LEAST_SEGMENT);
    Limits { bytes: usual.bytes.min(bytes), rows: usual.rows.min(rows), ..usual }
}

#[cfg(test)]
mod tests;
