use super::*;
use serde_json::json;
use std::io::Write as _;
use std::process::{Command, Stdio};

#[test]
fn tables_and_lists_are_read_as_people_write_them() {
    let value = json!({
        "kind": "Job",
        "lab.toml": "[lab]\n  name = \"a\"\n\n\tend\n",
        "list": ["/bin/sh", "-c", {"name": "a", "of": [1, 2]}, [], "true", ""],
        "none": {},
        "size": "1Gi",
    });
    let expected = r#"---
kind: Job
lab.toml: |2+
  [lab]
    name = "a"

  	end
list:
  - /bin/sh
  - "-c"
  - name: a
    of:
      - 1
      - 2
  - []
  - "true"
  - ""
none: {}
size: "1Gi"
"#;
    assert_eq!(document(&value), expected);
}

/// Values read back by another reader of YAML, where it is installed.
#[test]
fn another_reader_gets_the_same_values() {
    let test = "another_reader_gets_the_same_values";
    let value = json!({
        "plain": ["a", "/x y", "no", "1", "-", "a: b", "# c", "\u{7f}", "é", "~", "=", "0x1f", "1e3"],
        "blocks": {
            "first": "  indented\n", "last": "ends\n\n\n", "tabs": "\tx\n", "one": "\n",
            "control": "a\u{1}\n", "separator": "a\u{2028}b\n", "returns": "a\r\nb\n", "accents": "é ü\n"
        },
        "deep": [[["x"], {}], {"a": [{"b": "c\nd\n"}]}],
        "numbers": [0, -1, 1.5, true, null],
    });
    let words = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))";
    let Ok(mut python) = Command::new("/usr/bin/python3")
        .args(["-c", words])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        return seekwell_testing::skip(test, "python3 is not installed");
    };
    python.stdin.take().unwrap().write_all(document(&value).as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("No module named") {
        return seekwell_testing::skip(test, "python3-yaml is not installed");
    }
    assert!(output.status.success(), "{said}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), value);
}
