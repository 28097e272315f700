//! Bytes that the block requests of a trace moved.

use crate::plan::DeviceBytes;
use seekwell_trace::{Operation, Trace, TraceError};
use std::collections::BTreeMap;

/// Bytes of the block requests of the load's device with the most of them; of any device when the trace names none.
pub(super) fn device_bytes(trace: &Trace) -> Result<Option<DeviceBytes>, TraceError> {
    let mut devices: BTreeMap<u32, (u64, DeviceBytes)> = BTreeMap::new();
    let own = &trace.meta().devices;
    trace.requests(|request| {
        if !own.is_empty() && !own.contains(&request.device) {
            return Ok(());
        }
        let (count, bytes) = devices.entry(request.device).or_default();
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
