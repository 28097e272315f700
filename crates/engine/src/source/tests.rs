use super::*;
use crate::job::Span;
use proptest::prelude::*;
use seekwell_model::workloads::io::Pattern;
use std::fs::File;
use std::os::fd::AsFd;

fn with_job<T>(change: impl FnOnce(&mut Job<'_>), body: impl FnOnce(&Job<'_>) -> T) -> T {
    let file = File::open("/dev/null").unwrap();
    let mut job = Job::new(file.as_fd(), Span { offset: 0, length: 1 << 20 }, 4096);
    change(&mut job);
    body(&job)
}

fn kinds(source: &mut Source, count: usize) -> Vec<OperationKind> {
    (0..count)
        .map(|_| match source.next(0, false) {
            Next::Issue { kind, .. } => kind,
            other => panic!("{other:?}"),
        })
        .collect()
}

proptest! {
    #[test]
    fn the_count_is_shared_out_exactly(count in 0_u64..500, threads in 1_u32..40) {
        let mut shares = Vec::new();
        with_job(|job| { job.count = Some(count); job.threads = threads; }, |job| {
            for thread in 0..threads {
                let mut source = Source::new(job, thread).unwrap();
                let mut issued = 0;
                while source.next(0, false) != Next::Finished {
                    issued += 1;
                }
                shares.push(issued);
            }
        });
        prop_assert_eq!(shares.iter().sum::<u64>(), count);
        prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
    }
}

#[test]
fn the_mix_has_the_asked_share_of_reads() {
    for (percent, low, high) in [(0, 0, 0), (100, 10_000, 10_000), (70, 6_850, 7_150)] {
        with_job(
            |job| job.read_percent = percent,
            |job| {
                let mut source = Source::new(job, 0).unwrap();
                let reads = kinds(&mut source, 10_000)
                    .into_iter()
                    .filter(|kind| *kind == OperationKind::Read)
                    .count();
                assert!((low..=high).contains(&reads), "{percent} %: {reads}");
            },
        );
    }
}

#[test]
fn the_mix_does_not_change_the_offsets() {
    let offsets = |percent: u8| {
        with_job(
            |job| job.read_percent = percent,
            |job| {
                let mut source = Source::new(job, 0).unwrap();
                (0..50)
                    .map(|_| match source.next(0, false) {
                        Next::Issue { offset, .. } => offset,
                        other => panic!("{other:?}"),
                    })
                    .collect::<Vec<_>>()
            },
        )
    };
    assert_eq!(offsets(100), offsets(50));
}

#[test]
fn an_fsync_waits_for_the_writes_before_it_and_comes_after_every_so_many() {
    use OperationKind::{Fsync, Write};
    with_job(
        |job| {
            job.read_percent = 0;
            job.fsync_every = 2;
            job.count = Some(5);
            job.pattern = Pattern::Sequential;
        },
        |job| {
            let mut source = Source::new(job, 0).unwrap();
            assert_eq!(kinds(&mut source, 2), [Write, Write]);
            assert_eq!(source.next(0, true), Next::Drain);
            assert_eq!(source.next(0, true), Next::Drain);
            assert_eq!(kinds(&mut source, 5), [Fsync, Write, Write, Fsync, Write]);
            assert_eq!(source.next(0, false), Next::Finished);
        },
    );
}

#[test]
fn a_finished_source_still_gives_the_fsync_that_is_due() {
    with_job(
        |job| {
            job.read_percent = 0;
            job.fsync_every = 1;
        },
        |job| {
            let mut source = Source::new(job, 0).unwrap();
            assert_eq!(kinds(&mut source, 1), [OperationKind::Write]);
            source.finish();
            assert_eq!(kinds(&mut source, 1), [OperationKind::Fsync]);
            assert_eq!(source.next(0, false), Next::Finished);
        },
    );
}

#[test]
fn nothing_comes_before_it_is_due_or_when_it_is_due_after_the_end() {
    with_job(
        |job| {
            job.rate = Some(1_000_000);
            job.time_ns = Some(2_500);
        },
        |job| {
            let mut source = Source::new(job, 0).unwrap();
            assert!(matches!(source.next(0, false), Next::Issue { due_ns: Some(0), .. }));
            assert_eq!(source.next(999, false), Next::NotBefore(1_000));
            assert!(matches!(source.next(2_400, false), Next::Issue { due_ns: Some(1_000), .. }));
            assert_eq!(source.owed(10_000), 1);
            assert!(matches!(source.next(2_400, false), Next::Issue { due_ns: Some(2_000), .. }));
            assert_eq!(source.next(2_400, false), Next::Finished);
            assert_eq!(source.owed(10_000), 0);
            assert!(!source.is_over(2_499));
            assert!(source.is_over(2_500));
        },
    );
}
