use super::*;
use crate::scripted::ScriptedClock;

#[test]
fn the_cost_of_a_reading_is_what_readings_take() {
    assert_eq!(clock_cost_ns(&ScriptedClock::new(5, 17)), 17.0);
}

#[test]
fn the_kernels_clock_never_goes_back_and_sleeps_long_enough() {
    let clock = MonotonicClock;
    let begin_ns = clock.now_ns();
    clock.sleep_until_ns(begin_ns + 2_000_000);
    assert!(clock.now_ns() >= begin_ns + 2_000_000);
    // A time that is over is not waited for.
    clock.sleep_until_ns(begin_ns);
}

#[test]
fn the_kernels_clock_costs_something() {
    let cost_ns = clock_cost_ns(&MonotonicClock);
    assert!(cost_ns > 0.0, "{cost_ns}");
}

#[test]
fn cpu_time_grows_with_work() {
    let before_ns = thread_cpu_ns();
    let mut sum = 0_u64;
    while thread_cpu_ns() == before_ns {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
    let worked_ns = thread_cpu_ns();
    assert!(worked_ns > before_ns);
}
