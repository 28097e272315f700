use super::*;

#[test]
fn a_request_that_is_no_request_is_refused_in_words() {
    let error = serve(&b"hello"[..], Vec::new()).unwrap_err();
    assert!(matches!(error, ProcessError::Malformed(_)));
    assert!(error.to_string().contains("same release"));
}

#[test]
fn a_newer_major_format_is_refused_and_a_newer_minor_one_is_not() {
    assert!(check_format("1.7").is_ok());
    for theirs in ["2.0", "0.9", "nonsense", ""] {
        assert!(matches!(check_format(theirs), Err(ProcessError::Newer { .. })), "{theirs}");
    }
}
