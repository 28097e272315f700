//! Pages of mapped files that a program touches. It needs root, eBPF and a C compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{captured, of_command, rows};
use seekwell_capture::Target;
use seekwell_testing::{Cgroup, NO_CGROUP};
use seekwell_trace::Trace;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// A fault: name of the file, page and 1 for a write to it.
type Fault = (String, u64, u64);

/// Runs a program of `tests` with files of these names, and records it. Returns the faults in the files
/// and its output; `None` after a skip.
fn faults(test: &str, source: &str, files: &[&str]) -> Option<(Vec<Fault>, String)> {
    let Some(cc) = seekwell_testing::tool("cc") else {
        seekwell_testing::skip(test, "cc is not installed");
        return None;
    };
    let work = tempfile::tempdir().unwrap();
    let path = work.path().canonicalize().unwrap();
    let (program, said) = (path.join("program"), path.join("said"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let built = Command::new(cc).arg("-pthread").arg("-o").args([&program, &source]).status();
    assert!(built.unwrap().success());
    let script = format!("cd {} && ./program {} >said", path.display(), files.join(" "));
    let options = of_command(&path.join("trace"), &["sh", "-c", &script]);
    let captured = captured(test, &options)?;
    assert_eq!(captured.status.and_then(|status| status.code()), Some(0));
    assert_eq!(captured.lost, []);
    let trace = Trace::open(&path.join("trace")).unwrap();
    if !trace.meta().faults {
        seekwell_testing::skip(test, "this kernel has no tracepoints of page faults");
        return None;
    }
    let name = |row: &common::Row| {
        let name = Path::new(&row.1).strip_prefix(&path).ok()?.to_str()?;
        files.contains(&name).then(|| name.to_owned())
    };
    let fault = |row: &common::Row| {
        let (page, is_write) = (row.0.offset? / 4096, row.0.flags?);
        (row.0.call.call().name == "page_fault").then_some((name(row)?, page, is_write))
    };
    let found = rows(&trace).iter().filter_map(fault).collect();
    Some((found, std::fs::read_to_string(said).unwrap()))
}

#[test]
fn the_pages_that_fault_are_recorded_and_no_others() {
    let test = "the_pages_that_fault_are_recorded_and_no_others";
    let Some((found, said)) = faults(test, "touched.c", &["file"]) else { return };
    let touched: Vec<(u64, u64)> =
        found.into_iter().map(|(_, page, is_write)| (page, is_write)).collect();
    let apart = [(0, 0), (40, 0), (80, 1), (120, 0)];
    let expected = [&apart[..], &[(160, 0), (130, 0), (240, 1)]].concat();
    assert_eq!(touched, expected);
    // As many as the kernel counted in the program.
    let counted: usize = said.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(counted, apart.len());
}

#[test]
fn a_fault_is_of_the_file_at_its_time_and_the_first_thread_may_end_before() {
    let test = "a_fault_is_of_the_file_at_its_time_and_the_first_thread_may_end_before";
    let Some((found, _)) = faults(test, "moved.c", &["one", "other"]) else { return };
    let expected = [("one", 8, 0), ("other", 40, 0), ("other", 48, 0)];
    assert_eq!(found, expected.map(|(name, page, write)| (name.to_owned(), page, write)));
}

/// A program that has mapped a file, and makes no more calls on files.
struct Kept(std::process::Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes to pages of a file that was mapped before the start, as a target's processes are found; `None` after a skip.
fn kept(test: &str, enter: &str, target: impl Fn(u32) -> Target) -> Option<usize> {
    let Some(cc) = seekwell_testing::tool("cc") else {
        seekwell_testing::skip(test, "cc is not installed");
        return None;
    };
    let work = tempfile::tempdir().unwrap();
    let path = work.path().canonicalize().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept.c");
    let built = Command::new(cc).arg("-o").arg(path.join("program")).arg(source).status();
    assert!(built.unwrap().success());
    let script = format!("{enter}\nexec ./program file ready");
    let child = Command::new("sh").args(["-c", &script]).current_dir(&path).spawn().unwrap();
    let mut kept = Kept(child);
    while !path.join("ready").exists() {
        assert!(kept.0.try_wait().unwrap().is_none(), "the program has ended");
        sleep(Duration::from_millis(5));
    }
    let mut options = of_command(&path.join("trace"), &[]);
    options.target = target(kept.0.id());
    options.block = false;
    options.time = Some(Duration::from_millis(900));
    captured(test, &options)?;
    let trace = Trace::open(&path.join("trace")).unwrap();
    if !trace.meta().faults {
        seekwell_testing::skip(test, "this kernel has no tracepoints of page faults");
        return None;
    }
    let of_file = |row: &&common::Row| {
        let is_fault = row.0.call.call().name == "page_fault" && row.0.flags == Some(1);
        is_fault && Path::new(&row.1) == path.join("file") && row.0.process == kept.0.id()
    };
    Some(rows(&trace).iter().filter(of_file).count())
}

#[test]
fn pages_of_files_that_were_mapped_before_the_start_are_recorded() {
    let test = "pages_of_files_that_were_mapped_before_the_start_are_recorded";
    let Some(cgroup) = Cgroup::make(&format!("recorded-kept-{}", std::process::id())) else {
        return seekwell_testing::skip(test, NO_CGROUP);
    };
    let of_cgroup = |_| Target::Cgroup(cgroup.path().to_owned());
    for found in [
        kept(test, "", Target::Process),
        kept(test, &cgroup.enter(), of_cgroup),
        kept(test, "", |_| Target::System),
    ] {
        let Some(faults) = found else { return };
        assert!(faults > 3, "{faults}");
    }
}
