//! Debts paid in exact microseconds.

use super::*;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn what_is_owed_is_paid_once_with_the_computing_that_follows() {
    let mut debt = Debt::default();
    assert_eq!(debt.pay(us(3)), us(3));
    debt.late(us(2));
    debt.late(us(4));
    assert_eq!(debt.pay(us(5)), us(0));
    assert_eq!(debt.pay(us(5)), us(4));
    assert_eq!(debt.pay(us(5)), us(5));
}

#[test]
fn a_lost_processor_and_a_device_are_not_owed() {
    let mut debt = Debt::default();
    debt.late(us(8_000));
    assert_eq!(debt.pay(us(100)), us(95));
    assert!(!debt.touched(us(20)));
    assert_eq!(debt.pay(us(100)), us(100));
    assert!(debt.touched(us(19)));
    assert_eq!(debt.pay(us(100)), us(81));
}

#[test]
fn the_engine_s_own_time_of_calls_is_owed_and_bounded() {
    let mut debt = Debt::default();
    (0..3).for_each(|_| debt.own(us(1)));
    assert_eq!(debt.pay(us(10)), us(7));
    assert!(own_time(&Buffer::empty()) <= MOST_IN_CALL);
}
