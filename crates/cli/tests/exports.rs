//! What `report` writes for other programs: opened by DuckDB where it is installed, and the run
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
    let program = "import duckdb, sys\n\
                   d = duckdb.connect()\n\
                   q = lambda sql: d.execute(sql).fetchall()\n\
                   for name in ['trials', 'samples', 'timelines', 'histograms', 'operations', 'events', 'run']:\n\
                   \x20   print(name, q(f\"select count(*) from '{sys.argv[1]}/{name}.parquet'\")[0][0])\n\
                   print(q(f\"select distinct stack from '{sys.argv[1]}/trials.parquet' order by 1\"))\n\
                   print(q(f\"select sum(count) from '{sys.argv[1]}/histograms.parquet' where operation = 'read'\")[0][0])\n";
    let has = |python: &Path| {
        Command::new(python)
            .args(["-c", "import duckdb"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let Some(python) = seekwell_testing::tool("python3").filter(|python| has(python)) else {
        return seekwell_testing::skip(test, "python3 with the package duckdb is not installed");
    };
    let folder = run();
    well(&seekwell(folder.path(), &["report", "run.seekwell", "--parquet", "tables"]));
    let output =
        Command::new(python).args(["-c", program, "tables"]).current_dir(&folder).output().unwrap();
    well(&output);
    let expected = "trials 12\nsamples 48\ntimelines 72\nhistograms ";
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with(expected), "{said}");
    let rest = "operations 600\nevents 4800\nrun 1\n[('a/<b>',), ('it\\'s \"b\"',)]\n600\n";
    assert!(said.ends_with(rest), "{said}");
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
