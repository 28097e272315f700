//! Running fio and reading what it says, for the rows that compare with it.

use crate::Side;
use serde_json::Value;
use std::process::Command;

/// One run of fio with these flags; `read`, `write` or both are added up.
pub fn fio(flags: &[String]) -> Value {
    let output = Command::new(seekwell_testing::tool("fio").unwrap())
        .args(["--name=x", "--thread", "--output-format=json"])
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // fio says things before its JSON when a file is laid out.
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

/// Accesses per second of the only job, by the mean of its completion latencies: its run time is in
/// whole milliseconds, and holds what fio does between two operations.
pub fn accesses_per_second(told: &Value) -> Side {
    let mut side = Side { value: 0.0, ops: 0, bytes: 0 };
    let mut ns = 0.0;
    for way in ["read", "write"] {
        let told = &told["jobs"][0][way];
        let ops = told["total_ios"].as_u64().unwrap();
        side.ops += ops;
        side.bytes += told["io_bytes"].as_u64().unwrap();
        ns += told["clat_ns"]["mean"].as_f64().unwrap() * ops as f64;
    }
    side.value = side.ops as f64 * 1e9 / ns;
    side
}
