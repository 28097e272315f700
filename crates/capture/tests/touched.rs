//! Pages of mapped files that a program touches. It needs root, eBPF and a C compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{captured, of_command, rows};
use seekwell_trace::Trace;
use std::path::Path;

#[test]
fn the_pages_that_fault_are_recorded_and_no_others() {
    let test = "the_pages_that_fault_are_recorded_and_no_others";
    let Some(cc) = seekwell_testing::tool("cc") else {
        return seekwell_testing::skip(test, "cc is not installed");
    };
    let work = tempfile::tempdir().unwrap();
    let path = work.path().canonicalize().unwrap();
    let (program, file, said) = (path.join("touched"), path.join("file"), path.join("said"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/touched.c");
    let built = std::process::Command::new(cc).arg("-o").args([&program, &source]).status();
    assert!(built.unwrap().success());
    let script = format!("{} {} >{}", program.display(), file.display(), said.display());
    let options = of_command(&path.join("trace"), &["sh", "-c", &script]);
    let Some(captured) = captured(test, &options) else { return };
    assert_eq!(captured.status.and_then(|status| status.code()), Some(0));
    assert_eq!(captured.lost, []);
    let trace = Trace::open(&path.join("trace")).unwrap();
    if !trace.meta().faults {
        return seekwell_testing::skip(test, "this kernel has no tracepoints of page faults");
    }
    let name = file.to_string_lossy();
    let touched: Vec<(u64, u64)> = rows(&trace)
        .iter()
        .filter(|row| row.0.call.call().name == "page_fault" && row.1 == name)
        .map(|row| (row.0.offset.unwrap() / 4096, row.0.flags.unwrap()))
        .collect();
    let apart = [(0, 0), (40, 0), (80, 1), (120, 0)];
    let expected = [&apart[..], &[(160, 0), (130, 0), (240, 1)]].concat();
    assert_eq!(touched, expected);
    // As many as the kernel counted in the program.
    let said = std::fs::read_to_string(said).unwrap();
    let counted: usize = said.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(counted, apart.len());
}
