use super::*;
use proptest::prelude::*;

#[test]
fn a_line_has_thread_time_and_text() {
    let read = |text: &'static str| {
        let line = line(text);
        (line.thread, line.clock, line.text)
    };
    let second = 1_000_000_000;
    assert_eq!(
        read("[pid  1234] 1700000000.000123 close(3) = 0"),
        (Some(1234), Some(Clock::Epoch(1_700_000_000 * second + 123_000)), "close(3) = 0")
    );
    assert_eq!(
        read("77 12:00:01.5 close(3) = 0"),
        (Some(77), Some(Clock::Day(43_201 * second + second / 2)), "close(3) = 0")
    );
    assert_eq!(
        read("     0.000210 close(3) = 0"),
        (None, Some(Clock::Relative(210_000)), "close(3) = 0")
    );
    assert_eq!(read("close(3) = 0"), (None, None, "close(3) = 0"));
}

#[test]
fn a_call_has_arguments_result_and_duration() {
    let said =
        call(r#"pwrite64(3</srv/a,b)>, "x\"),("..., 8192, 4096) = 8192 <0.000012>"#).unwrap();
    assert_eq!(said.name, "pwrite64");
    assert_eq!(said.arguments, ["3</srv/a,b)>", r#""x\"),("..."#, "8192", "4096"]);
    assert_eq!((said.result, said.duration_ns), (Some(8192), Some(12_000)));
    assert_eq!(descriptor(said.arguments[0]).unwrap().path.as_deref(), Some("/srv/a,b)"));
    let said = call(r#"openat(AT_FDCWD</srv>, "a", O_RDONLY) = 3</srv/a> <0.1>"#).unwrap();
    assert_eq!((said.result, said.opened.as_deref()), (Some(3), Some("/srv/a")));
    let said = call(r#"sendfile(5, 3, [0] => [1000], 1000) = 1000"#).unwrap();
    assert_eq!(said.arguments, ["5", "3", "[0] => [1000]", "1000"]);
    let said = call(r#"readv(3, [{iov_base="a,b", iov_len=3}, {iov_base="", iov_len=0}], 2) = 3"#);
    assert_eq!(said.unwrap().arguments[2], "2");
}

#[test]
fn failures_are_negative_error_numbers_and_unknown_results_unknown() {
    let result = |text: &str| call(text).unwrap().result;
    assert_eq!(result("access(\"a\", F_OK) = -1 ENOENT (No such file or directory)"), Some(-2));
    assert_eq!(result("getxattr(\"a\", \"b\") = -1 ENODATA (No data available)"), Some(-61));
    assert_eq!(result("read(3, \"\", 1) = -1 ENEWER (Newer than this program)"), None);
    assert_eq!(result("exit_group(0) = ?"), None);
    assert_eq!(result("mmap(NULL, 1, 0, 0, 3, 0) = 0x7f0000000000"), Some(0x7f00_0000_0000));
}

#[test]
fn strings_and_paths_lose_their_escapes() {
    assert_eq!(string(r#""\303\244 \"q\"\n""#).as_deref(), Some("ä \"q\"\n"));
    assert_eq!(string("0x7ffd"), None);
    let terminal = descriptor("1</dev/pts/0<char 136:0>>").unwrap();
    assert_eq!(terminal, Descriptor { fd: 1, path: Some("/dev/pts/0".to_owned()) });
    assert_eq!(descriptor("0xffffff9c").unwrap().fd, -100);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r#"[ -~é]{0,60}|[0-9.: ]{0,20}[a-z]{1,6}\([ -~]{0,30}\) = [ -~]{0,20}"#) {
        let line = line(&text);
        let _ = call(line.text);
        let _ = string(&text);
        let _ = descriptor(&text);
    }
}
