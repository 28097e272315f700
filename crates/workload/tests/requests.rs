//! Block requests of a trace on a file in the place of a raw device.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use seekwell_model::field::{Value, Values};
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Operation, Request, RequestFlags, TraceWriter};
use seekwell_workload::{StepContext, StepOutcome, steps};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// Pairs of a write of 4 KiB and a read of 8 KiB behind it, the last ones at the end of 64 MiB; a flush
/// and a discard at the end.
fn trace(folder: &Path, pairs: u64) -> PathBuf {
    let at = folder.join("trace");
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(&at, &meta, Limits::default()).unwrap();
    let mut add = |nth: u64, operation, sector, bytes| {
        let request = Request {
            start_ns: nth * 100_000,
            duration_ns: Some(50_000),
            process: None,
            device: 8 << 20,
            operation,
            flags: if nth == 0 {
                RequestFlags::FUA.with(RequestFlags::PREFLUSH)
            } else {
                RequestFlags::default()
            },
            sector,
            bytes,
            depth: None,
        };
        writer.request(request).unwrap();
    };
    for pair in 0..pairs {
        let offset = (64 * MIB - 16384) * pair / (pairs - 1) / 4096 * 4096;
        add(pair * 2, Operation::Write, offset / 512, 4096);
        add(pair * 2 + 1, Operation::Read, offset / 512 + 8, 8192);
    }
    add(pairs * 2, Operation::Flush, 0, 0);
    add(pairs * 2 + 1, Operation::Discard, 0, 4096);
    writer.finish(&meta).unwrap();
    at
}

fn params(trace: &Path, values: &[(&'static str, Value)]) -> WorkloadParams {
    let mut given = Values::default();
    given.set("trace", Value::Text(trace.to_string_lossy().into_owned()));
    for (name, value) in values {
        given.set(name, value.clone());
    }
    workload_kind("requests").unwrap().params(&given).unwrap()
}

/// A file of this size, opened as a checked device is.
fn device(folder: &Path, bytes: u64) -> (PathBuf, File) {
    let path = folder.join("device");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
    let file = file.unwrap();
    file.set_len(bytes).unwrap();
    (path, file)
}

fn run(params: &WorkloadParams, path: &Path, checked: &File, bytes: u64) -> Vec<StepOutcome> {
    let context = StepContext {
        directory: None,
        device: path,
        device_file: Some(checked),
        raw: true,
        seed: 5,
        stop: None,
        device_bytes: bytes,
        sector_bytes: 4096,
        scratch: None,
        acknowledged: None,
    };
    steps(params).into_iter().map(|mut step| step.run(&context).unwrap()).collect()
}

/// A folder on the filesystem of the build: direct I/O does not work in memory everywhere.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn every_request_is_issued_at_its_place() {
    let folder = folder();
    let trace = trace(folder.path(), 20);
    let (path, file) = device(folder.path(), 64 * MIB);
    for speed in ["open", "recorded", "asap"] {
        let speed = [("speed", Value::Text(speed.into()))];
        let outcomes = run(&params(&trace, &speed), &path, &file, 64 * MIB);
        // 20 places, each with the read behind it in the same MiB.
        assert_eq!(outcomes[0].app_bytes_written, 20 * MIB);
        let measured = &outcomes[1];
        // The device is a file here, which discards nothing.
        let warned: Vec<&str> = measured.warnings.iter().map(|one| one.text.as_str()).collect();
        let zeroed = "requests: 0 of 42 recorded requests left out, 0 failed: 1 × discard issued \
                      as a write of zeroes";
        assert_eq!(warned, [zeroed]);
        assert_eq!(measured.ops, 42);
        assert_eq!((measured.app_bytes_written, measured.app_bytes_read), (20 * 4096, 20 * 8192));
        assert_eq!(measured.metrics["requests_failed"], 0.0);
        assert_eq!(measured.metrics["concurrency_recorded"], 42.0 * 50e3 / (41.0 * 100e3 + 50e3));
        assert_eq!(
            measured.metrics.contains_key("drift"),
            speed[0].1 == Value::Text("open".into())
        );
    }
    let mut end = vec![0; 4096];
    file.read_exact_at(&mut end, 64 * MIB - 16384).unwrap();
    assert!(end.iter().any(|byte| *byte != 0));
}

#[test]
fn a_smaller_device_takes_all_of_it_and_one_that_is_too_small_is_refused() {
    let folder = folder();
    let trace = trace(folder.path(), 20);
    let (path, file) = device(folder.path(), 16 * MIB);
    let outcomes = run(&params(&trace, &[]), &path, &file, 16 * MIB);
    assert_eq!(outcomes[1].ops, 42);
    assert_eq!(outcomes[1].metrics["requests_failed"], 0.0);
    assert_eq!(file.metadata().unwrap().len(), 16 * MIB);
    let context = StepContext {
        directory: None,
        device: &path,
        device_file: Some(&file),
        raw: true,
        seed: 5,
        stop: None,
        device_bytes: MIB / 2,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    };
    let told = steps(&params(&trace, &[]))[0].run(&context).unwrap_err().to_string();
    assert_eq!(
        told,
        "step requests-fill: the requests of the trace need a device of at least 1048576 B, this one has 524288 B; use a larger device"
    );
    let mounted = StepContext { raw: false, device_bytes: 16 * MIB, ..context };
    let told = steps(&params(&trace, &[]))[0].run(&mounted).unwrap_err().to_string();
    assert!(told.contains("would destroy a filesystem; use a raw device"), "{told}");
    let unchecked = StepContext { device_file: None, raw: true, ..mounted };
    let told = steps(&params(&trace, &[]))[0].run(&unchecked).unwrap_err().to_string();
    assert!(told.contains("which was not opened for writing; claim the device first"), "{told}");
}
