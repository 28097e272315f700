//! Time that recording takes around a call: on the way into the programs and out of them, where they
//! read no clock. It would count as computing of the recorded program.

use crate::error::CaptureError;
use crate::load::Loaded;
use crate::record::Record;

/// Calls by which it is measured.
const CALLS: usize = 1000;

/// CPU nanoseconds between two calls of this thread that does nothing between them. Nothing else may
/// be recorded yet: all records at hand are dropped.
///
/// # Errors
/// When the thread cannot be chosen.
pub(crate) fn measure(loaded: &mut Loaded, thread: u32) -> Result<u64, CaptureError> {
    loaded.choose(thread)?;
    let file = std::fs::File::open("/proc/self/comm").map_err(CaptureError::bpf("open a file"))?;
    for _ in 0..CALLS {
        // The position itself does not matter.
        let _ = rustix::fs::tell(&file);
    }
    loaded.leave(thread)?;
    let mut between = Vec::with_capacity(CALLS);
    for ring in &mut loaded.rings {
        ring.drain(|bytes| between.extend(before_call(bytes, thread)));
    }
    Ok(middle(between))
}

/// On-CPU time before a call of the thread.
fn before_call(bytes: &[u8], thread: u32) -> Option<u64> {
    match Record::parse(bytes)? {
        Record::Call(call) if call.thread == thread => call.cpu_ns,
        _ => None,
    }
}

/// The median, that no interrupt moves; 0 of too few.
fn middle(mut between: Vec<u64>) -> u64 {
    if between.len() < CALLS / 2 {
        return 0;
    }
    between.sort_unstable();
    between[between.len() / 2]
}

#[cfg(test)]
mod tests;
