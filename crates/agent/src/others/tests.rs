use super::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[test]
fn own_work_is_not_that_of_others() {
    let before = cpu_ns().unwrap()[0];
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(60) {
        black_box((0..1000_u64).sum::<u64>());
    }
    let own_ns = cpu_ns().unwrap()[0] - before;
    assert!(own_ns > 0, "the work above is this program's own");
    assert!(Others::now().is_some());
}
