//! What `report` writes for other programs: opened by DuckDB where `make duckdb` fetched it, and the run
//! file out of a page.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "page/made.rs"]
mod made;

use made::{Wanted, make};
use std::path::Path;
use std::process::{Command, Output};

fn seekwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seekwell"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn well(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A small run in a folder of its own.
fn run() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let wanted = Wanted {
        texts: vec!["a/<b>".to_owned(), "it's \"b\"".to_owned()],
        workloads: vec![(4, 64)],
        rounds: 6,
        samples: 3,
        operations: 50,
        single: true,
    };
    make(&folder.path().join("run.seekwell"), &wanted);
    folder
}

#[test]
fn duckdb_reads_every_table() {
    let test = "duckdb_reads_every_table";
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let node = seekwell_testing::tool("node");
    let Some(node) = node.filter(|_| web.join("duckdb/node_modules/@duckdb/node-api").is_dir())
    else {
        return seekwell_testing::skip(test, "DuckDB is not there: make duckdb, with Node.js");
    };
    let folder = run();
    well(&seekwell(folder.path(), &["report", "run.seekwell", "--parquet", "tables"]));
    let script = web.join("duckdb/read.mjs");
    let output =
        Command::new(node).arg(script).arg("tables").current_dir(&folder).output().unwrap();
    well(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let counts = [
        r#"[["trials",12]]"#,
        r#"[["samples",48]]"#,
        r#"[["timelines",72]]"#,
        lines[3],
        r#"[["operations",600]]"#,
        r#"[["events",4800]]"#,
        r#"[["run",1]]"#,
        r#"[["a/<b>"],["it's \"b\""]]"#,
        "[[600]]",
    ];
    assert_eq!(lines, counts);
    assert!(lines[3].starts_with(r#"[["histograms","#), "{said}");
}

#[test]
fn a_run_file_comes_out_of_its_page_as_it_went_in() {
    let folder = run();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let before = read("run.seekwell");
    let formats =
        ["--html", "page.html", "--markdown", "page.md", "--csv", "run.csv", "--parquet", "tables"];
    well(&seekwell(folder.path(), &[&["report", "run.seekwell"][..], &formats].concat()));
    assert_eq!(read("run.seekwell"), before);
    well(&seekwell(folder.path(), &["extract", "page.html"]));
    assert_eq!(read("page.seekwell"), before);
    let page = String::from_utf8(read("page.html")).unwrap();
    assert!(page.contains("application/x-seekwell-packed"), "the run file was not packed");

    let again = seekwell(folder.path(), &["extract", "page.html"]);
    assert_eq!(again.status.code(), Some(1));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("cannot create page.seekwell: File exists"), "{said}");

    well(&seekwell(folder.path(), &["report", "run.seekwell", "--html", "lean.html", "--lean"]));
    let lean = seekwell(folder.path(), &["extract", "lean.html"]);
    assert_eq!(lean.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&lean.stderr).contains("--lean"));
    assert!(read("lean.html").len() < read("page.html").len());
}

#[test]
fn the_schema_is_what_the_definitions_say() {
    let folder = tempfile::tempdir().unwrap();
    let output = seekwell(folder.path(), &["documents", "--schema"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        String::from_utf8_lossy(&output.stdout) == committed,
        "docs/run.schema.json is out of date: cargo xtask docs"
    );
}

#[test]
fn outputs_follow_no_links_and_replace_only_what_they_are() {
    let folder = run();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("thesis.md"), "# Thesis\n").unwrap();
    std::fs::write(path("shadow"), "precious").unwrap();
    std::os::unix::fs::symlink("shadow", path("report.html")).unwrap();
    std::os::unix::fs::symlink("shadow", path("new.html.part")).unwrap();
    let report = |arguments: &[&str]| {
        seekwell(folder.path(), &[&["report", "run.seekwell"], arguments].concat())
    };
    for flags in [
        &["--html", "report.html"][..],
        &["--html", "report.html", "--force"],
        &["--markdown", "thesis.md"],
        &["--csv", "thesis.md"],
        &["--html", "run.seekwell", "--force"],
    ] {
        assert!(!report(flags).status.success(), "{flags:?}");
    }
    well(&report(&["--html", "new.html", "--csv", "new.csv", "--markdown", "new.md"]));
    // Again in place of what it wrote, and in place of anything when told so.
    well(&report(&["--html", "new.html", "--csv", "new.csv", "--markdown", "new.md"]));
    well(&report(&["--parquet", "tables"]));
    well(&report(&["--parquet", "tables"]));
    well(&report(&["--csv", "/dev/stdout"]));
    assert_eq!(std::fs::read(path("thesis.md")).unwrap(), b"# Thesis\n");
    assert_eq!(std::fs::read(path("shadow")).unwrap(), b"precious");
    well(&report(&["--markdown", "thesis.md", "--force"]));
    assert_ne!(std::fs::read(path("thesis.md")).unwrap(), b"# Thesis\n");
    let drafts = std::fs::read_dir(folder.path()).unwrap().flatten();
    let drafts: Vec<_> = drafts
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.contains("draft"))
        .collect();
    assert_eq!(drafts, [""; 0]);
}
