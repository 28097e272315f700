use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn threads_together_keep_the_rate_in_turns(
        rate in 1_u64..5_000_000_000, threads in 1_u32..20, count in 1_u64..200,
    ) {
        let mut due: Vec<u64> = Vec::new();
        for index in 0..count {
            for thread in 0..threads {
                due.push(Schedule::new(rate, thread, threads).due_ns(index));
            }
        }
        let naive: Vec<u64> = (0..count * u64::from(threads))
            .map(|overall| (u128::from(overall) * 1_000_000_000 / u128::from(rate)) as u64)
            .collect();
        prop_assert_eq!(due, naive);
    }

    #[test]
    fn what_is_due_before_a_time_is_counted_exactly(
        rate in 1_u64..2_000_000_000, threads in 1_u32..9, thread in 0_u32..9, elapsed in 0_u64..5_000,
    ) {
        let thread = thread % threads;
        let schedule = Schedule::new(rate, thread, threads);
        let naive = (0..).take_while(|index| schedule.due_ns(*index) < elapsed).count() as u64;
        prop_assert_eq!(schedule.due_before(elapsed), naive);
    }
}

#[test]
fn far_due_times_do_not_wrap() {
    assert_eq!(Schedule::new(1, 0, 1).due_ns(u64::MAX), u64::MAX);
    assert_eq!(Schedule::new(u64::MAX, 0, 1).due_before(u64::MAX), u64::MAX);
}
