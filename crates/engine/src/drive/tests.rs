use super::*;
use crate::buffer::Arena;
use crate::job::Span;
use crate::operation::OperationKind::{Fsync, Read, Write};
use crate::scripted::{Scripted, ScriptedClock, ScriptedEngine, Seen};
use proptest::prelude::*;
use seekwell_model::workloads::io::Pattern;
use std::fs::File;
use std::os::fd::AsFd;

/// Start of the scripted clock: not 0, so that a forgotten start shows.
const BEGIN_NS: u64 = 1_000_000;

struct Run {
    tally: Tally,
    seen: Vec<Seen>,
    clock: ScriptedClock,
}

/// Runs one thread of a job on a script. `reading_ns` is what reading the clock costs.
fn run_with_clock(
    reading_ns: u64,
    change: impl FnOnce(&mut Job<'_>),
    script: impl FnMut(&Operation) -> Scripted,
) -> Run {
    let file = File::open("/dev/null").unwrap();
    let mut job = Job::new(file.as_fd(), Span { offset: 8192, length: 64 * 512 }, 512);
    job.pattern = Pattern::Sequential;
    change(&mut job);
    let mut arena = Arena::new(job.arena_shape(), job.seed).unwrap();
    let clock = ScriptedClock::new(BEGIN_NS, reading_ns);
    let mut engine = ScriptedEngine::new(clock.clone(), script);
    let driver = Driver::new(Source::new(&job, 0).unwrap(), &mut arena, &job);
    let failed = Separated::default();
    let signals =
        Signals { stop: job.stop.as_deref(), failed: &failed, progress: job.progress.as_deref() };
    let tally = driver.drive(&clock, &mut engine, signals, 0);
    Run { tally, seen: engine.seen, clock }
}

fn run(change: impl FnOnce(&mut Job<'_>), script: impl FnMut(&Operation) -> Scripted) -> Run {
    run_with_clock(0, change, script)
}

/// Latencies in turn, again and again.
fn in_turn(latencies: &'static [u64]) -> impl FnMut(&Operation) -> Scripted {
    let mut next = latencies.iter().cycle();
    move |_| Scripted::from(*next.next().unwrap())
}

fn counts(histogram: &Histogram) -> Vec<(u64, u64)> {
    histogram.iter().collect()
}

#[test]
fn known_latencies_give_exact_statistics() {
    let Run { tally, seen, .. } = run(|job| job.count = Some(8), in_turn(&[100, 200, 300, 1_400]));
    assert_eq!(counts(&tally.read), [(100, 2), (200, 2), (300, 2), (1_400, 2)]);
    assert_eq!(tally.read.mean_ns(), Some(500.0));
    assert_eq!(tally.read.percentile_ns(0.5), Some(200));
    assert_eq!(tally.read.max_ns(), Some(1_400));
    assert!(tally.write.is_empty() && tally.fsync.is_empty());
    assert_eq!((tally.ops, tally.bytes_read, tally.bytes_written), (8, 8 * 512, 0));
    assert_eq!((tally.started_ns, tally.ended_ns), (BEGIN_NS, BEGIN_NS + 4_000));
    assert!(!tally.stopped && tally.failure.is_none() && tally.owed == 0);
    let offsets: Vec<u64> = seen.iter().map(|seen| seen.operation.offset).collect();
    assert_eq!(offsets, (0..8).map(|block| 8192 + block * 512).collect::<Vec<u64>>());
}

#[test]
fn a_latency_holds_one_reading_of_the_clock() {
    let Run { tally, .. } = run_with_clock(25, |job| job.count = Some(4), in_turn(&[100]));
    assert_eq!(counts(&tally.read), [(125, 4)]);
}

#[test]
fn operations_side_by_side_are_refilled_one_by_one() {
    // Two slots: 100, 100 | 300 … each is replaced when it completes.
    let Run { tally, seen, .. } = run(
        |job| {
            job.depth = 2;
            job.count = Some(5);
        },
        in_turn(&[100, 300, 150, 100, 50]),
    );
    let times: Vec<(u64, u64)> =
        seen.iter().map(|s| (s.submitted_ns - BEGIN_NS, s.completed_ns - BEGIN_NS)).collect();
    assert_eq!(times, [(0, 100), (0, 300), (100, 250), (250, 350), (300, 350)]);
    assert_eq!(counts(&tally.read), [(50, 1), (100, 2), (150, 1), (300, 1)]);
    assert_eq!(tally.ended_ns - tally.started_ns, 350);
}

#[test]
fn a_time_bound_counts_what_was_begun_before_it() {
    let Run { tally, .. } = run(|job| job.time_ns = Some(1_000), in_turn(&[300]));
    // Begun at 0, 300, 600 and 900; the last completes at 1200.
    assert_eq!(counts(&tally.read), [(300, 4)]);
    assert_eq!(tally.ended_ns - tally.started_ns, 1_200);
    assert!(!tally.stopped);
}

#[test]
fn the_count_ends_a_job_before_its_time() {
    let Run { tally, .. } = run(
        |job| {
            job.time_ns = Some(1_000);
            job.count = Some(2);
        },
        in_turn(&[300]),
    );
    assert_eq!((tally.ops, tally.ended_ns - tally.started_ns), (2, 600));
}

#[test]
fn an_open_loop_that_keeps_up_measures_the_operation_alone() {
    let Run { tally, seen, clock } = run(
        |job| {
            job.rate = Some(1_000_000);
            job.time_ns = Some(4_000);
        },
        in_turn(&[700]),
    );
    let submitted: Vec<u64> = seen.iter().map(|seen| seen.submitted_ns - BEGIN_NS).collect();
    assert_eq!(submitted, [0, 1_000, 2_000, 3_000]);
    assert_eq!(counts(&tally.read), [(700, 4)]);
    assert_eq!(tally.owed, 0);
    assert_eq!(clock.peek_ns() - BEGIN_NS, 3_700);
}

#[test]
fn an_open_loop_that_falls_behind_counts_the_time_in_the_queue() {
    let Run { tally, seen, .. } = run(
        |job| {
            job.rate = Some(1_000_000);
            job.time_ns = Some(4_000);
        },
        in_turn(&[1_500]),
    );
    // Due at 0, 1000, 2000, 3000; done at 1500, 3000, 4500; the fourth never began.
    let submitted: Vec<u64> = seen.iter().map(|seen| seen.submitted_ns - BEGIN_NS).collect();
    assert_eq!(submitted, [0, 1_500, 3_000]);
    assert_eq!(counts(&tally.read), [(1_500, 1), (2_000, 1), (2_500, 1)]);
    assert_eq!(tally.owed, 1);
}

#[test]
fn an_open_loop_with_depth_issues_on_time_while_others_are_in_flight() {
    let Run { tally, seen, .. } = run(
        |job| {
            job.rate = Some(1_000_000);
            job.depth = 8;
            job.count = Some(5);
        },
        in_turn(&[1_800]),
    );
    let submitted: Vec<u64> = seen.iter().map(|seen| seen.submitted_ns - BEGIN_NS).collect();
    assert_eq!(submitted, [0, 1_000, 2_000, 3_000, 4_000]);
    assert_eq!(counts(&tally.read), [(1_800, 5)]);
}

#[test]
fn an_fsync_is_timed_by_itself_after_the_writes_are_done() {
    let Run { tally, seen, .. } = run(
        |job| {
            job.read_percent = 0;
            job.depth = 2;
            job.fsync_every = 2;
            job.count = Some(4);
        },
        |operation| Scripted::from(if operation.kind == Fsync { 1_000 } else { 100 }),
    );
    let order: Vec<(OperationKind, u64)> =
        seen.iter().map(|seen| (seen.operation.kind, seen.submitted_ns - BEGIN_NS)).collect();
    assert_eq!(
        order,
        [(Write, 0), (Write, 0), (Fsync, 100), (Write, 1_100), (Write, 1_100), (Fsync, 1_200)]
    );
    assert_eq!(counts(&tally.write), [(100, 4)]);
    assert_eq!(counts(&tally.fsync), [(1_000, 2)]);
    // Each write is durable when the sync after it has returned.
    assert_eq!(counts(&tally.commit), [(1_100, 4)]);
    assert_eq!((tally.ops, tally.bytes_written), (4, 4 * 512));
    assert_eq!(tally.ended_ns - tally.started_ns, 2_200);
}

#[test]
fn a_commit_lasts_from_the_start_of_the_write_to_the_end_of_its_sync() {
    let Run { tally, .. } = run(
        |job| {
            job.read_percent = 0;
            job.fsync_every = 3;
            job.count = Some(7);
        },
        |operation| Scripted::from(if operation.kind == Fsync { 1_000 } else { 100 }),
    );
    // Three writes at 0, 100 and 200, synced at 1300; again; the seventh was never synced.
    assert_eq!(counts(&tally.commit), [(1_100, 2), (1_200, 2), (1_300, 2)]);
    assert_eq!((tally.write.count(), tally.fsync.count(), tally.ops), (7, 2, 7));
}

#[test]
fn a_commit_counts_from_when_its_write_was_due() {
    let Run { tally, .. } = run(
        |job| {
            job.read_percent = 0;
            job.fsync_every = 1;
            job.rate = Some(1_000_000);
            job.count = Some(2);
        },
        |operation| Scripted::from(if operation.kind == Fsync { 2_000 } else { 500 }),
    );
    // Due at 0 and at 1000; the first ends at 2500, the second write at 3000 and its sync at 5000.
    assert_eq!(counts(&tally.commit), [(2_500, 1), (4_000, 1)]);
}

#[test]
fn an_error_ends_the_thread_and_what_is_in_flight_is_awaited() {
    let mut number = 0;
    let Run { tally, seen, clock } = run(
        |job| {
            job.depth = 3;
            job.count = Some(100);
        },
        |_| {
            number += 1;
            match number {
                4 => Scripted { latency_ns: 50, result: Some(-libc::EIO) },
                _ => Scripted::from(100 * number),
            }
        },
    );
    // 100, 200, 300; the fourth begins at 100 and fails at 150 with two in flight.
    assert_eq!(seen.len(), 4);
    let Some(JobError::Operation { operation, source, .. }) = tally.failure else {
        panic!("{tally:?}")
    };
    assert_eq!((operation.kind, operation.offset), (Read, 8192 + 3 * 512));
    assert_eq!(source.raw_os_error(), Some(libc::EIO));
    assert_eq!(tally.ops, 3);
    assert_eq!(clock.peek_ns() - BEGIN_NS, 300);
}

#[test]
fn a_short_transfer_is_an_error_and_the_first_failure_is_kept() {
    let Run { tally, .. } = run(
        |job| {
            job.depth = 2;
            job.count = Some(100);
        },
        |operation| match operation.offset {
            8192 => Scripted { latency_ns: 10, result: Some(100) },
            _ => Scripted { latency_ns: 20, result: Some(-libc::EIO) },
        },
    );
    let Some(JobError::Short { operation, transferred, .. }) = tally.failure else {
        panic!("{tally:?}")
    };
    assert_eq!((operation.offset, operation.length, transferred), (8192, 512, 100));
    assert_eq!(tally.ops, 0);
}

#[test]
fn a_stop_ends_an_endless_job() {
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let seen_by_script = std::sync::Arc::clone(&stop);
    let mut number = 0;
    let Run { tally, .. } = run(
        |job| job.stop = Some(stop),
        |_| {
            number += 1;
            seen_by_script.store(number == 5, Ordering::Relaxed);
            Scripted::from(100)
        },
    );
    assert_eq!(tally.ops, 5);
    assert!(tally.stopped);
}

#[test]
fn progress_tells_operations_and_bytes() {
    let progress = std::sync::Arc::new(Progress::new(1));
    let watched = std::sync::Arc::clone(&progress);
    let mut told = Vec::new();
    run(
        |job| {
            job.count = Some(3);
            job.progress = Some(progress);
        },
        |_| {
            told.push(watched.total());
            Scripted::from(1)
        },
    );
    assert_eq!(told, [(0, 0), (1, 512), (2, 1_024)]);
    assert_eq!(watched.total(), (3, 1_536));
    assert_eq!((watched.threads(), watched.of_thread(1)), (1, None));
}

#[test]
fn single_operations_are_kept_up_to_the_limit() {
    let Run { tally, .. } = run(
        |job| {
            job.count = Some(5);
            job.keep_samples = 2;
        },
        in_turn(&[100, 200]),
    );
    let kept = |begun_ns, latency_ns, block: u64| SingleOperation {
        begun_ns: BEGIN_NS + begun_ns,
        latency_ns,
        kind: Read,
        offset: 8192 + block * 512,
    };
    assert_eq!(tally.samples, [kept(0, 100, 0), kept(100, 200, 1)]);
}

#[test]
fn nothing_to_do_takes_no_time() {
    let Run { tally, seen, .. } = run(|job| job.count = Some(0), in_turn(&[1]));
    assert!(seen.is_empty());
    assert_eq!((tally.ops, tally.started_ns, tally.ended_ns), (0, BEGIN_NS, BEGIN_NS));
}

proptest! {
    #[test]
    fn percentiles_lie_within_one_percent_of_the_exact_ones(
        latencies in prop::collection::vec(1_u64..10_000_000_000, 1..400),
        depth in 1_u32..9,
    ) {
        let mut script = latencies.clone().into_iter();
        let count = latencies.len() as u64;
        let Run { tally, seen, .. } = run(
            |job| { job.count = Some(count); job.depth = depth; },
            |_| Scripted::from(script.next().unwrap()),
        );
        let mut exact: Vec<u64> = seen.iter().map(|s| s.completed_ns - s.submitted_ns).collect();
        exact.sort_unstable();
        prop_assert_eq!(exact.len() as u64, tally.read.count());
        for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = ((quantile * exact.len() as f64).ceil() as usize).clamp(1, exact.len());
            let (exact, told) = (exact[rank - 1] as f64, tally.read.percentile_ns(quantile).unwrap());
            let error = (told as f64 - exact).abs() / exact;
            prop_assert!(error <= 0.01, "{quantile}: {told} for {exact}");
        }
    }
}
