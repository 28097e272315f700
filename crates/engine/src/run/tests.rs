use super::*;
use crate::job::Span;
use crate::operation::{Operation, OperationKind};
use crate::progress::Progress;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

fn null_job(file: &File) -> Job<'_> {
    let mut job = Job::new(file.as_fd(), Span { offset: 0, length: 1 << 20 }, 4096);
    job.engine = EngineChoice::Null;
    job.count = Some(10_000);
    job
}

#[test]
fn threads_are_added_up() {
    let file = File::open("/dev/null").unwrap();
    let mut job = null_job(&file);
    job.threads = 3;
    job.depth = 4;
    job.read_percent = 50;
    job.progress = Some(Arc::new(Progress::new(3)));
    let result = run(&job).unwrap();
    assert_eq!(result.ops, 10_000);
    assert_eq!(result.read.count() + result.write.count(), 10_000);
    assert_eq!(result.bytes_read, result.read.count() * 4096);
    assert_eq!(result.bytes_written, result.write.count() * 4096);
    assert_eq!(result.latencies().count(), 10_000);
    assert_eq!(result.threads, [3_334, 3_333, 3_333]);
    assert_eq!(result.elapsed_ns, result.ended_ns - result.started_ns);
    assert!(result.clock_cost_ns > 0.0);
    assert_eq!(job.progress.unwrap().total(), (10_000, 10_000 * 4096));
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let file = File::open("/dev/null").unwrap();
    let offsets = |seed| {
        let mut job = null_job(&file);
        job.seed = seed;
        job.read_percent = 30;
        job.keep_samples = 100;
        let samples = run(&job).unwrap().samples;
        samples.into_iter().map(|sample| (sample.kind, sample.offset)).collect::<Vec<_>>()
    };
    assert_eq!(offsets(1).len(), 100);
    assert_eq!(offsets(1), offsets(1));
    assert_ne!(offsets(1), offsets(2));
}

#[test]
fn a_rate_is_reported_as_asked_and_as_achieved() {
    let file = File::open("/dev/null").unwrap();
    let mut job = null_job(&file);
    job.rate = Some(100_000);
    job.count = Some(2_000);
    let result = run(&job).unwrap();
    let rate = result.rate.unwrap();
    assert_eq!((rate.requested, rate.owed), (100_000, 0));
    // The last operation is due after 19.99 ms, so it cannot have been faster.
    assert!(result.elapsed_ns >= 19_990_000, "{}", result.elapsed_ns);
    assert!(rate.achieved <= 100_051.0, "{rate:?}");
}

#[test]
fn a_share_without_a_block_is_an_error_not_a_hang() {
    let file = File::open("/dev/null").unwrap();
    let mut job = null_job(&file);
    job.pattern = seekwell_model::workloads::io::Pattern::Sequential;
    job.threads = 300;
    assert!(matches!(run(&job), Err(JobError::Invalid { .. })));
}

#[test]
fn failures_tell_operation_offset_and_how_many_were_completed() {
    let operation = Operation { kind: OperationKind::Write, offset: 8192, length: 4096, buffer: 0 };
    let source = std::io::Error::from_raw_os_error(libc::ENOSPC);
    let full = JobError::Operation { operation, completed: 0, source }.after(17);
    assert_eq!(
        full.to_string(),
        "write of 4096 bytes at offset 8192 failed after 17 operations: No space left on device \
         (os error 28); it is full: use less data or a larger device"
    );
    let operation = Operation { kind: OperationKind::Read, ..operation };
    assert_eq!(
        JobError::Short { operation, transferred: 512, completed: 0 }.after(3).to_string(),
        "read at offset 8192 transferred 512 of 4096 bytes after 3 operations; the target ends \
         there: it is smaller than stated, or was truncated meanwhile"
    );
}

#[test]
fn the_gate_opens_for_those_that_came_and_lets_late_ones_pass() {
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gate.pass());
        gate.open(1);
        first.join().unwrap();
        gate.pass();
    });
}
