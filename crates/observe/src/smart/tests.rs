use super::*;
use std::path::PathBuf;

/// A program that stands for smartctl.
fn script(body: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("smartctl");
    seekwell_testing::program(&path, &format!("#!/bin/sh\n{body}\n"));
    (folder, path)
}

fn read(body: &str) -> Result<Option<Value>, ObserveError> {
    let (_folder, path) = script(body);
    read_smart(&path, Path::new("/dev/sda"), SMART_TIMEOUT)
}

#[test]
fn hands_back_what_the_device_said() {
    let answer = read(
        r#"[ "$*" = "-j -a /dev/sda" ] && echo '{"smartctl":{"exit_status":0},"smart_status":{"passed":true}}'"#,
    );
    let value = answer.unwrap().unwrap();
    assert_eq!(value.pointer("/smart_status/passed"), Some(&Value::Bool(true)));
}

#[test]
fn a_failing_disk_is_still_an_answer() {
    let body = r#"echo '{"smartctl":{"exit_status":8},"smart_status":{"passed":false}}'; exit 8"#;
    assert!(read(body).unwrap().is_some());
}

#[test]
fn no_program_no_device_and_no_smart_are_unknown() {
    let missing = read_smart(Path::new("/no/such/smartctl"), Path::new("/dev/sda"), SMART_TIMEOUT);
    assert_eq!(missing.unwrap(), None);
    let no_device =
        r#"echo '{"smartctl":{"exit_status":2},"smart_status":{"passed":true}}'; exit 2"#;
    assert_eq!(read(no_device).unwrap(), None);
    assert_eq!(read(r#"echo '{"smartctl":{"exit_status":4},"device":{}}'; exit 4"#).unwrap(), None);
}

#[test]
fn output_that_is_not_json_says_which_version_is_needed() {
    let error = read("echo 'smartctl 6.6: invalid option -j'; exit 1").unwrap_err().to_string();
    assert!(error.contains("answered for /dev/sda with something other than JSON"), "{error}");
    assert!(error.ends_with("install smartmontools 7.0 or newer"), "{error}");
}

#[test]
fn a_device_that_does_not_answer_is_not_waited_for() {
    let (_folder, path) = script("exec sleep 1000");
    let error = read_smart(&path, Path::new("/dev/sda"), Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.to_string(), format!("{} gave no answer within 0.05 s", path.display()));
}

#[test]
fn long_answers_arrive_whole() {
    let body =
        r#"printf '{"smart_status":{},"x":"'; head -c 300000 /dev/zero | tr '\0' 'a'; printf '"}'"#;
    let value = read(body).unwrap().unwrap();
    assert_eq!(value["x"].as_str().map(str::len), Some(300_000));
}

#[test]
fn the_real_program_knows_no_smart_of_a_file_that_is_no_disk() {
    let test = "the_real_program_knows_no_smart_of_a_file_that_is_no_disk";
    let Some(smartctl) = seekwell_testing::tool("smartctl") else {
        return seekwell_testing::skip(test, "smartctl is not installed (package smartmontools)");
    };
    let answer = read_smart(&smartctl, Path::new("/dev/null"), SMART_TIMEOUT);
    assert_eq!(answer.unwrap(), None);
}
