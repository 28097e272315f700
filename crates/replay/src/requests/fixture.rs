//! Traces of block requests for tests.

use seekwell_trace::meta::{Lost, Meta};
use seekwell_trace::{Limits, Operation, Request, RequestFlags, Trace, TraceWriter};

/// A read of 4096 bytes at the start of device 8:0.
pub(crate) fn request(start_ns: u64, duration_ns: Option<u64>) -> Request {
    Request {
        start_ns,
        duration_ns,
        process: None,
        device: 8 << 20,
        operation: Operation::Read,
        flags: RequestFlags::default(),
        sector: 0,
        bytes: 4096,
        depth: None,
    }
}

/// The trace, and the folder that holds it.
pub(crate) fn trace_of(requests: &[Request]) -> (tempfile::TempDir, Trace) {
    trace_with(requests, Vec::new())
}

/// The same of a recording that lost events.
pub(crate) fn trace_with(requests: &[Request], lost: Vec<Lost>) -> (tempfile::TempDir, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("trace");
    let meta = Meta { requests: true, lost, ..Meta::new("test") };
    let mut writer = TraceWriter::create(&at, &meta, Limits::default()).unwrap();
    for one in requests {
        writer.request(*one).unwrap();
    }
    writer.finish(&meta).unwrap();
    let trace = Trace::open(&at).unwrap();
    (folder, trace)
}
