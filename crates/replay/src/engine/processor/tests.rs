//! Threads in turn by a scripted clock.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ALL: Ordering = Ordering::SeqCst;

/// A clock that only the thread with the processor moves on. Before it does, all others that have still to compute
/// wait in line.
struct Scripted<'a> {
    zero: Instant,
    processor: &'a Processor,
    passed_us: &'a AtomicUsize,
    computing: &'a AtomicUsize,
    /// True when all threads are in line.
    begins: &'a AtomicBool,
}

impl Clock for Scripted<'_> {
    fn now(&self) -> Instant {
        self.zero + Duration::from_micros(self.passed_us.load(ALL) as u64)
    }

    fn sleep(&self, time: Duration) {
        let all_wait = || self.processor.line().waiting.len() + 1 == self.computing.load(ALL);
        while !self.begins.load(ALL) || !all_wait() {
            std::thread::yield_now();
        }
        self.passed_us.fetch_add(usize::try_from(time.as_micros()).unwrap(), ALL);
    }
}

/// Microseconds at which threads end that compute so long and come in this order, all at time 0.
fn ends_us(computing_us: &[u64]) -> Vec<u128> {
    let (processor, passed_us) = Default::default();
    let (computing, begins) = (AtomicUsize::new(computing_us.len()), AtomicBool::new(false));
    let clock = &Scripted {
        zero: Instant::now(),
        processor: &processor,
        passed_us: &passed_us,
        computing: &computing,
        begins: &begins,
    };
    let run = |us: u64| {
        let time = Duration::from_micros(us);
        let end = clock.processor.compute(clock.zero, time, clock, || false);
        clock.computing.fetch_sub(1, ALL);
        (end - clock.zero).as_micros()
    };
    let in_line = |count: usize| {
        let line = clock.processor.line();
        line.is_taken && line.waiting.len() + 1 == count
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (nth, us) in computing_us.iter().enumerate() {
            threads.push(scope.spawn(move || run(*us)));
            while !in_line(nth + 1) {
                std::thread::yield_now();
            }
        }
        clock.begins.store(true, ALL);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn threads_that_compute_at_the_same_time_alternate() {
    assert_eq!(ends_us(&[10_000]), [10_000]);
    // 4 + 4 + 4 + 2 + 2 ms.
    assert_eq!(ends_us(&[10_000, 6_000]), [16_000, 14_000]);
    // The short one waits for one slice, and no one for it.
    assert_eq!(ends_us(&[9_000, 1]), [9_001, 4_001]);
    assert_eq!(ends_us(&[8_000, 4_000, 5_000]), [16_000, 8_000, 17_000]);
}

#[test]
fn a_thread_without_computing_waits_for_none() {
    let processor = Processor::default();
    assert!(!processor.take());
    let start = Instant::now();
    assert_eq!(processor.compute(start, Duration::ZERO, &Machine, || false), start);
    processor.leave();
    assert!(!processor.line().is_taken);
}

#[test]
fn a_thread_that_is_stopped_leaves_the_processor() {
    let processor = Processor::default();
    processor.compute(Instant::now(), Duration::from_secs(3600), &Machine, || true);
    assert!(!processor.line().is_taken);
}
