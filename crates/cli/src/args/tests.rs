use super::*;

#[test]
fn a_time_in_which_nothing_can_happen_is_refused() {
    assert_eq!(some_time("90s"), Ok(Nanos::seconds(90)));
    assert_eq!(
        some_time("0s"),
        Err("nothing can happen in no time; write a longer one, such as 2min".to_owned())
    );
    assert!(some_time("soon").is_err());
}

#[test]
fn an_interval_that_the_kernel_cannot_resolve_is_refused() {
    assert_eq!(interval("10ms"), Ok(Nanos(10_000_000)));
    assert_eq!(
        interval("9ms"),
        Err("the kernel counts busy time in milliseconds; write 10ms or more, such as 1s"
            .to_owned())
    );
}
