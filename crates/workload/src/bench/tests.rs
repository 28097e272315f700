use super::*;
use seekwell_model::workloads::Durability;
use seekwell_model::workloads::io::{EngineKind, FileContent, Pattern};
use seekwell_model::workloads::mail::MAIL;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

fn io(size: u64) -> IoParams {
    IoParams {
        kind: "seek".to_owned(),
        step: "seek".to_owned(),
        size: Bytes(size),
        count: Some(200),
        time: None,
        threads: 1,
        curve: Vec::new(),
        depth: 1,
        engine: EngineKind::Psync,
        pattern: Pattern::Random,
        read_percent: 100,
        cache: CacheState::Warm,
        rate: None,
        file_size: Some(Bytes::mib(256)),
        fsync_every: 0,
        content: FileContent::Random,
        compressible: 0,
        repeated: 0,
        verify: 0,
        durability: Durability::default(),
    }
}

fn target(path: &Path) -> BenchTarget<'_> {
    BenchTarget { path, writable: None, length: None }
}

fn file_of(folder: &Path, bytes: usize) -> PathBuf {
    let path = folder.join("target");
    std::fs::write(&path, vec![1; bytes]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    path
}

fn codes(result: &BenchResult) -> Vec<&str> {
    result.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

fn told(params: IoParams, target: BenchTarget<'_>) -> String {
    bench(&WorkloadParams::Io(params), target, 1, None).unwrap_err().to_string()
}

#[test]
fn an_existing_file_is_read_over_its_whole_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), 1 << 20);
    let result = bench(&WorkloadParams::Io(io(4096)), target(&path), 1, None).unwrap();
    assert_eq!((result.workload.as_str(), &*result.target), ("seek", &*path.display().to_string()));
    let step = &result.steps[0];
    assert_eq!((step.name.as_str(), step.ops), ("seek", 200));
    let seconds = step.elapsed_ns as f64 / 1e9;
    assert!((step.iops * seconds - 200.0).abs() < 1e-6);
    assert!((step.mb_per_s.unwrap() * seconds - 0.8192).abs() < 1e-9);
    assert!(step.cpu_ns_per_op.unwrap() > 0.0);
    let latency = step.latency_ns.unwrap();
    assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.p999);
    assert!(latency.p999 <= latency.max && latency.mean > 0.0);
    assert_eq!(codes(&result), ["too-short"]);
}

#[test]
fn what_the_cache_answered_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), 1 << 20);
    let mut cold = io(4096);
    cold.cache = CacheState::Cold;
    cold.count = Some(5_000);
    let result = bench(&WorkloadParams::Io(cold), target(&path), 1, None).unwrap();
    // Far more is read than the file holds: most of it must come from memory.
    assert!(codes(&result).contains(&"served-from-cache"), "{:?}", codes(&result));
}

#[test]
fn holes_and_unwritten_space_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    file.write_all_at(&[1; 65_536], 131_072).unwrap();
    file.sync_all().unwrap();
    let result = bench(&WorkloadParams::Io(io(4096)), target(&path), 1, None).unwrap();
    let sparse = result.warnings.iter().find(|warning| warning.code == "sparse-file").unwrap();
    let holes = (1 << 20) - 65_536;
    assert!(sparse.text.starts_with(&format!("{holes} of the 1048576 bytes")), "{}", sparse.text);
}

#[test]
fn a_target_that_is_too_small_or_of_another_kind_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), 4095);
    let small = told(io(4096), target(&path));
    assert!(
        small.contains("the target has 4095 bytes, less than one operation of 4096 bytes"),
        "{small}"
    );
    let null = told(io(4096), target(Path::new("/dev/zero")));
    assert!(null.contains("/dev/zero is neither; name a file or a device"), "{null}");
    let none = told(io(4096), target(Path::new("/no/such/file")));
    assert!(none.starts_with("cannot find /no/such/file: No such file"), "{none}");
    let mail = MAIL.params(&seekwell_model::field::Values::default()).unwrap();
    let told = bench(&mail, target(&path), 1, None).unwrap_err().to_string();
    assert_eq!(
        told,
        "step mail cannot be run on a single file or device; name a directory of the filesystem \
         instead"
    );
}

#[test]
fn a_directory_is_worked_in_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "kept").unwrap();
    let params = IoParams { file_size: Some(Bytes::mib(1)), ..io(4096) };
    let result = bench(&WorkloadParams::Io(params), target(folder.path()), 1, None).unwrap();
    let names: Vec<&str> = result.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["seek-populate", "seek"]);
    assert!(result.steps[0].metrics["elapsed_durable"] >= result.steps[0].metrics["elapsed"]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(std::fs::read(folder.path().join("mine")).unwrap(), b"kept");
    let params = IoParams { file_size: Some(Bytes(1 << 50)), ..io(4096) };
    let large = told(params, target(folder.path()));
    assert!(large.starts_with("step seek needs 1125899906842624 bytes and "), "{large}");
}

#[test]
fn nothing_is_written_without_a_checked_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), 1 << 20);
    let mut write = io(4096);
    write.read_percent = 0;
    let refused = told(write.clone(), target(&path));
    assert!(refused.contains("writes, and") && refused.contains("claim a device"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);

    let checked = File::options().read(true).write(true).open(&path).unwrap();
    let with = BenchTarget { writable: Some(&checked), ..target(&path) };
    let result = bench(&WorkloadParams::Io(write), with, 1, None).unwrap();
    assert_eq!(result.steps[0].ops, 200);
    assert!(codes(&result).contains(&"not-durable"));
    assert_ne!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);
}

#[test]
fn only_the_asked_part_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), 1 << 20);
    let checked = File::options().read(true).write(true).open(&path).unwrap();
    let mut write = io(4096);
    write.read_percent = 0;
    let length = Some(Bytes::kib(64));
    let part = BenchTarget { writable: Some(&checked), length, ..target(&path) };
    bench(&WorkloadParams::Io(write), part, 1, None).unwrap();
    let data = std::fs::read(&path).unwrap();
    assert_eq!(data.len(), 1 << 20);
    assert!(data[65_536..].iter().all(|byte| *byte == 1));
}
