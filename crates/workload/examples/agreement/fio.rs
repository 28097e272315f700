//! Running fio and reading what it says, for the rows that compare with it.

use crate::Side;
use serde_json::Value;
use std::process::Command;

/// One run of fio with these flags; `read`, `write` or both are added up.
pub fn fio(flags: &[String]) -> Value {
    let output = Command::new(seekwell_testing::tool("fio").unwrap())
        .args(["--name=x", "--thread", "--output-format=json", "--ioengine=psync"])
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // fio says things before its JSON when a file is laid out.
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

/// Operations per second of all jobs, from their counts and the longest run time; fio's own rates
/// are rounded to milliseconds in the same way.
pub fn operations_per_second(told: &Value) -> Side {
    let (mut ops, mut bytes, mut runtime_ms) = (0.0, 0.0, 0.0_f64);
    for job in told["jobs"].as_array().unwrap() {
        for way in ["read", "write"] {
            let number = |name: &str| job[way][name].as_f64().unwrap();
            ops += number("total_ios");
            bytes += number("io_bytes");
            runtime_ms = runtime_ms.max(number("runtime"));
        }
    }
    Side { value: ops * 1e3 / runtime_ms, ops: ops as u64, bytes: bytes as u64 }
}
