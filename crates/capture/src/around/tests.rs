use super::*;
use crate::kernel::Select;
use crate::load;

#[test]
fn the_middle_is_that_of_many_calls() {
    assert_eq!(middle((0..999).rev().collect()), 499);
    assert_eq!(middle(vec![7; CALLS / 2 - 1]), 0, "a few may be disturbed");
}

/// Some nanoseconds, on each machine another number; after it no record is left.
#[test]
fn root_calls_without_computing_tell_the_time_around_them() {
    let test = "root_calls_without_computing_tell_the_time_around_them";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root");
    }
    let mut loaded = match load::load(Select::Chosen, 1 << 20, false) {
        Ok(loaded) => loaded,
        Err(error) => return seekwell_testing::skip(test, &error.to_string()),
    };
    loaded.attach().unwrap();
    let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    let around_ns = measure(&mut loaded, thread).unwrap();
    assert!(around_ns > 0, "{around_ns} ns");
    let mut left = 0;
    loaded.rings.iter_mut().for_each(|ring| left += ring.drain(|_| ()));
    assert_eq!(left, 0);
}
