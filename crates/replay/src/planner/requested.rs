//! Bytes that the block requests of a trace moved.

use crate::plan::DeviceBytes;
use seekwell_trace::{Operation, Trace, TraceError};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Bytes of the block requests to the load's devices, of which a trace names each once: the members of an array or
/// the array. Where it names none, those of the device with the most requests. Requests of other programs to the same
/// devices count.
pub(super) fn device_bytes(trace: &Trace) -> Result<Option<DeviceBytes>, TraceError> {
    let mut devices: BTreeMap<u32, (u64, DeviceBytes)> = BTreeMap::new();
    let own = &trace.meta().devices;
    trace.requests(|request| {
        // All named devices are one.
        let device = match own.is_empty() {
            true => request.device,
            false if own.contains(&request.device) => own[0],
            false => return Ok(()),
        };
        let (count, bytes) = devices.entry(device).or_default();
        *count += 1;
        match request.operation {
            Operation::Read => bytes.read = bytes.read.saturating_add(request.bytes),
            Operation::Write => bytes.written = bytes.written.saturating_add(request.bytes),
            _ => {}
        }
        Ok(())
    })?;
    Ok(devices.into_values().max_by_key(|(count, _)| *count).map(|(_, bytes)| bytes))
}
