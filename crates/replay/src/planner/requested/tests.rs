use super::*;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Request, RequestFlags, TraceWriter};

/// Bytes read and written of a trace that names these devices.
fn moved(devices: &[u32]) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta { devices: devices.to_vec(), requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let mut add = |device: u32, operation: Operation, bytes: u64| {
        let request = Request {
            start_ns: 0,
            duration_ns: Some(1),
            process: Some(7),
            device,
            operation,
            flags: RequestFlags::SYNC,
            sector: 0,
            bytes,
            depth: Some(1),
        };
        writer.request(request).unwrap();
    };
    add(1, Operation::Write, 4096);
    add(1, Operation::Read, 512);
    add(2, Operation::Write, 8192);
    (0..5).for_each(|_| add(3, Operation::Write, 65_536));
    writer.finish(&meta).unwrap();
    let bytes = device_bytes(&Trace::open(folder.path()).unwrap()).unwrap().unwrap();
    (bytes.read, bytes.written)
}

#[test]
fn bytes_are_those_of_all_devices_of_the_load() {
    assert_eq!(moved(&[1, 2]), (512, 12_288));
    assert_eq!(moved(&[2]), (0, 8192));
    assert_eq!(moved(&[]), (0, 5 * 65_536), "the busiest where none is named");
}
