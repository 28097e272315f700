//! What a job allocates does not depend on how long it runs.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use seekwell_engine::{EngineChoice, Job, Span, run};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static BYTES: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated(engine: EngineChoice, depth: u32, count: u64) -> (u64, u64) {
    let file = File::open("/dev/zero").unwrap();
    let mut job = Job::new(file.as_fd(), Span { offset: 0, length: 1 << 20 }, 4096);
    job.engine = engine;
    job.depth = depth;
    job.direct = false;
    job.count = Some(count);
    job.keep_samples = 100;
    let before = (BYTES.load(Ordering::Relaxed), CALLS.load(Ordering::Relaxed));
    let result = run(&job).unwrap();
    let after = (BYTES.load(Ordering::Relaxed), CALLS.load(Ordering::Relaxed));
    assert_eq!(result.ops, count);
    (after.0 - before.0, after.1 - before.1)
}

/// One test alone in its process: another thread's allocations would be counted too.
#[test]
fn a_hundred_times_longer_job_allocates_the_same() {
    for (engine, depth) in
        [(EngineChoice::Null, 1), (EngineChoice::Null, 32), (EngineChoice::Psync, 1)]
    {
        // The first run pays for what a process allocates once.
        allocated(engine, depth, 1_000);
        let short = allocated(engine, depth, 1_000);
        let long = allocated(engine, depth, 100_000);
        // Thread handles and their names may differ by a few machine words, never by operation.
        assert!(long.0.abs_diff(short.0) < 1_000, "{engine:?} {depth}: {short:?} {long:?}");
        assert!(long.1.abs_diff(short.1) < 10, "{engine:?} {depth}: {short:?} {long:?}");
    }
}
