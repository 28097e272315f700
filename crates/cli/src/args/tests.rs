use super::*;

#[test]
fn a_time_of_zero_is_refused() {
    assert_eq!(some_time("90s"), Ok(Nanos::seconds(90)));
    assert_eq!(some_time("0s"), Err("the time must be above 0, for example 2min".to_owned()));
    assert!(some_time("soon").is_err());
    assert_eq!(some_trace("1MiB"), Ok(Bytes::mib(1)));
    assert_eq!(some_trace("0"), Err("the size must be above 0, for example 500MiB".to_owned()));
    assert!(some_trace("large").is_err());
}

#[test]
fn an_interval_that_the_kernel_cannot_resolve_is_refused() {
    assert_eq!(interval("10ms"), Ok(Nanos(10_000_000)));
    assert_eq!(
        interval("9ms"),
        Err(
            "an interval must be 10ms or more, because the kernel counts busy time in milliseconds"
                .to_owned()
        )
    );
}

#[test]
fn a_negative_time_is_refused_in_one_message_without_a_tip() {
    use clap::Parser;
    let all: [&[&str]; 5] = [
        &["seekwell", "capture", "-o", "t", "--for", "-1s", "--", "true"],
        &["seekwell", "trace", "filter", "t", "-o", "u", "--from", "-1s"],
        &["seekwell", "trace", "filter", "t", "-o", "u", "--to", "-1s"],
        &["seekwell", "try", ".", "--for", "-1s"],
        &["seekwell", "replay", ".", "--for", "-1s"],
    ];
    for words in all {
        let said = Cli::try_parse_from(words).unwrap_err().to_string();
        assert!(said.contains("a time cannot be negative; write 1s"), "{words:?}: {said}");
        assert!(!said.contains("tip"), "{said}");
    }
    assert_eq!(any_time("0s"), Ok(Nanos(0)));
    let replay = Cli::try_parse_from(["seekwell", "replay", "t.trace"]).unwrap().command;
    assert!(matches!(replay, Command::Try(words) if words.work == "t.trace"));
}
