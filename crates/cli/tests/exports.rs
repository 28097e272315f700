//! What `report` writes for other programs: opened by DuckDB where `make duckdb` fetched it, and the run
//! file out of a page.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "page/made.rs"]
mod made;

use made::{Wanted, make};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{
    Content, Event, FileEntry, FileId, InitialEntry, Limits, Operation, ProcessEntry, Request,
    RequestFlags, TraceWriter,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// Calls of the trace that DuckDB reads.
const CALLS: u32 = 60_000;

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
        r#"[["events",4800]]"#,
        r#"[["run",1]]"#,
        r#"[["a/<b>"],["it's \"b\""]]"#,
        "[[600]]",
    ];
    assert_eq!(lines, counts);
    assert!(lines[3].starts_with(r#"[["histograms","#), "{said}");
}

/// Name, calls, their durations, known offsets, their sum, and the sum of results.
type Sums = (&'static str, u64, u64, u64, Option<u64>, i64);

/// Calls of several segments on a thousand files; their sums by name, and the files with the most.
fn calls(writer: &mut TraceWriter) -> [String; 2] {
    let path = |id: u32| format!("/srv/long/shared/path/{:03}/ü {id}", id / 10);
    for id in 0..1000 {
        writer.file(FileEntry {
            id: FileId(id),
            path: Some(path(id)),
            device: (id % 3 == 0).then_some(8 << 20),
            inode: None,
            mode: Some(0o100_644),
            bytes: Some(u64::from(id) << 33),
        });
    }
    let (mut of_calls, mut of_files) = (BTreeMap::new(), BTreeMap::new());
    for nth in 0..CALLS {
        let scattered = nth.wrapping_mul(2_654_435_761);
        let name = ["fsync", "openat", "pread64", "write"][(scattered >> 28) as usize % 4];
        let offset = (name != "fsync").then_some(u64::from(scattered));
        let file = scattered % 1000 * (scattered % 1000) / 1000;
        let (duration, result) = (u64::from(scattered % 5000), i64::from(scattered % 7) - 3);
        let event = Event {
            duration_ns: Some(duration),
            file: Some(FileId(file)),
            offset,
            result: Some(result),
            ..Event::new(u64::from(nth) * 500, 1, 1, CallId::named(name).unwrap())
        };
        writer.event(event).unwrap();
        // Of no value DuckDB makes no sum.
        let sums = of_calls.entry(name).or_insert((name, 0, 0, 0, None, 0));
        sums.1 += 1;
        sums.2 += duration;
        sums.3 += u64::from(offset.is_some());
        sums.4 = offset.map(|offset| sums.4.unwrap_or(0) + offset).or(sums.4);
        sums.5 += result;
        *of_files.entry(path(file)).or_insert(0) += 1;
    }
    let of_calls: Vec<Sums> = of_calls.into_values().collect();
    let mut of_files: Vec<(String, u64)> = of_files.into_iter().collect();
    of_files.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    of_files.truncate(3);
    [serde_json::to_string(&of_calls).unwrap(), serde_json::to_string(&of_files).unwrap()]
}

/// Two kinds of requests, a walked directory and two processes.
fn others(writer: &mut TraceWriter) {
    for nth in 0..1000 {
        let writes = nth % 2 == 1;
        let request = Request {
            start_ns: 5,
            duration_ns: None,
            process: None,
            device: 1,
            operation: if writes { Operation::Write } else { Operation::Read },
            flags: RequestFlags::SYNC.with(RequestFlags::FUA),
            sector: u64::from(writes) << 40,
            bytes: 4096,
            depth: Some(1),
        };
        writer.request(request).unwrap();
    }
    let directory = InitialEntry {
        path: "/srv".to_owned(),
        device: None,
        inode: None,
        mode: 0o040_755,
        owner: None,
        group: None,
        bytes: 0,
        allocated_bytes: 0,
        content: Some(Content::Compressible(40)),
        birth_ms: None,
        target: None,
        attributes: Vec::new(),
        data: Vec::new(),
    };
    writer.initial(directory).unwrap();
    for (process, parent, name) in [(1, None, Some("tar")), (2, Some(1), None)] {
        let name = name.map(str::to_owned);
        writer.process(ProcessEntry { process, parent, start_ns: 0, name });
    }
}

/// A trace, and what has to be in its tables.
fn trace(folder: &Path) -> Vec<String> {
    let limits = Limits { bytes: 64 << 10, rows: 16 << 10, ..Limits::default() };
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder, &meta, limits).unwrap();
    let sums = calls(&mut writer);
    others(&mut writer);
    writer.finish(&meta).unwrap();
    let counts =
        [("calls", CALLS), ("files", 1000), ("processes", 2), ("initial", 1), ("requests", 1000)];
    let counts = counts.iter().map(|(name, count)| format!(r#"[["{name}",{count}]]"#));
    let (bytes, sectors) = (500 * 4096, 500_u64 << 40);
    let rest = [
        format!(r#"[["read","SF",500,{bytes},0],["write","SF",500,{bytes},{sectors}]]"#),
        r#"[["/srv","compressible",40]]"#.to_owned(),
        r#"[[1,null,"tar"],[2,1,null]]"#.to_owned(),
    ];
    counts.chain(sums).chain(rest).collect()
}

#[test]
fn duckdb_reads_a_trace() {
    let test = "duckdb_reads_a_trace";
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let node = seekwell_testing::tool("node");
    let Some(node) = node.filter(|_| web.join("duckdb/node_modules/@duckdb/node-api").is_dir())
    else {
        return seekwell_testing::skip(test, "DuckDB is not there: make duckdb, with Node.js");
    };
    let folder = tempfile::tempdir().unwrap();
    let expected = trace(&folder.path().join("t"));
    let segments = std::fs::read_dir(folder.path().join("t")).unwrap().flatten();
    let is_of_calls = |name: std::ffi::OsString| name.to_string_lossy().starts_with("calls-");
    assert!(segments.filter(|entry| is_of_calls(entry.file_name())).count() > 1);
    let script = web.join("duckdb/trace.mjs");
    let output = Command::new(node).arg(script).arg("t").current_dir(&folder).output().unwrap();
    well(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

/// Halves of a run become the run: with all its trials, judged, and intact.
#[test]
fn parts_of_a_run_are_merged_and_judged() {
    let folder = run();
    let path = |name: &str| folder.path().join(name);
    let whole = seekwell_store::RunFile::open(&path("run.seekwell")).unwrap();
    let (plan, environment) = (whole.plan().unwrap(), whole.environment().unwrap());
    let records = whole.records().unwrap();
    for (name, half) in [("a.seekwell", &records[..5]), ("b.seekwell", &records[5..])] {
        let mut part = seekwell_store::RunFile::create(&path(name), &plan, &environment).unwrap();
        half.iter().for_each(|(trial, record)| part.append(trial, record).unwrap());
    }
    let merged =
        seekwell(folder.path(), &["merge", "a.seekwell", "b.seekwell", "-o", "all.seekwell"]);
    well(&merged);
    let said = String::from_utf8(merged.stdout).unwrap();
    assert_eq!(said, "12 trials in all.seekwell; show it with: seekwell report all.seekwell\n");
    well(&seekwell(folder.path(), &["verify", "all.seekwell"]));
    let report = seekwell(folder.path(), &["report", "all.seekwell", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["trials"].as_array().unwrap().len(), 12);
    assert!(
        report["verdict"]["decision"].is_string() && report["finished"] != false,
        "{}",
        report["verdict"]
    );

    let part =
        seekwell(folder.path(), &["merge", "a.seekwell", "a.seekwell", "-o", "part.seekwell"]);
    well(&part);
    let said = String::from_utf8(part.stdout).unwrap();
    let expected = "5 trials (5 more were the same) in part.seekwell; 7 of the plan are missing; run them with: \
                    seekwell run --resume -o part.seekwell";
    assert!(said.starts_with(expected), "{said}");
    let again =
        seekwell(folder.path(), &["merge", "a.seekwell", "b.seekwell", "-o", "all.seekwell"]);
    assert_eq!(again.status.code(), Some(1));
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
    assert!(page.contains("application/x-seekwell-run"), "the run file is not in the page");

    let again = seekwell(folder.path(), &["extract", "page.html"]);
    assert_eq!(again.status.code(), Some(1));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("page.seekwell exists; name another file"), "{said}");

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

/// A run file that was edited by SQL, through the library that the program uses.
fn edited(folder: &Path, statement: &str) {
    let path = folder.join("run.seekwell");
    let connection = rusqlite::Connection::open(path).unwrap();
    assert_eq!(connection.execute(statement, []).unwrap(), 1, "{statement}");
}

/// A run file to write to. A program that another test starts holds its lock until it is loaded.
fn opened(path: &Path) -> seekwell_store::RunFile {
    let locked = |error: &_| matches!(error, seekwell_store::StoreError::Locked { .. });
    for _ in 0..200 {
        match seekwell_store::RunFile::open_for_append(path) {
            Err(error) if locked(&error) => {
                std::thread::sleep(std::time::Duration::from_millis(50))
            }
            other => return other.unwrap(),
        }
    }
    panic!("{} stays locked", path.display());
}

#[test]
fn an_edited_run_file_does_not_speak() {
    let folder = run();
    let path = folder.path().join("run.seekwell");
    let mut file = opened(&path);
    let plan = file.plan().unwrap();
    let outcomes = seekwell_runner::records::outcomes(&plan, file.records().unwrap());
    file.set_verdict(&seekwell_runner::judge::judge(&plan, &outcomes)).unwrap();
    drop(file);
    let whole = std::fs::read(&path).unwrap();
    let verify = || seekwell(folder.path(), &["verify", "run.seekwell"]);
    let shown = || seekwell(folder.path(), &["report", "run.seekwell"]);

    let output = verify();
    well(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(
            "run.seekwell is intact: plan, environment and verdict and 12 trial attempts"
        )
    );
    assert!(said.contains("its trials give the same verdict with this version"), "{said}");
    let report = String::from_utf8(shown().stdout).unwrap();
    assert!(!report.contains("file-changed") && !report.contains("verdict-differs"), "{report}");

    edited(
        folder.path(),
        "UPDATE verdict SET value = replace(value, '\"rounds\":6', '\"rounds\":60')",
    );
    let output = verify();
    assert_eq!(output.status.code(), Some(6));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("the verdict is not the one that was written"), "{said}");
    let report = shown();
    assert_eq!(report.status.code(), Some(6));
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(report.contains("file-changed"), "{report}");

    std::fs::write(&path, whole).unwrap();
    edited(
        folder.path(),
        "UPDATE verdict SET value = replace(value, '\"confidence\":0.95,\"tie\"', '\"confidence\":0.99,\"tie\"')",
    );
    assert_eq!(verify().status.code(), Some(6));
}

/// Each edit, each reader: the status of a changed file, its words, and nothing written.
#[test]
fn no_reader_takes_an_edited_run_file() {
    let folder = run();
    let at = |name: &str| folder.path().join(name);
    let mut file = opened(&at("run.seekwell"));
    let plan = file.plan().unwrap();
    let outcomes = seekwell_runner::records::outcomes(&plan, file.records().unwrap());
    file.set_verdict(&seekwell_runner::judge::judge(&plan, &outcomes)).unwrap();
    drop(file);
    let whole = std::fs::read(at("run.seekwell")).unwrap();
    std::fs::write(at("whole.seekwell"), &whole).unwrap();
    let readers: [&[&str]; 10] = [
        &["verify", "run.seekwell"],
        &["report", "run.seekwell"],
        &["report", "run.seekwell", "--json"],
        &["report", "run.seekwell", "--html", "out"],
        &["report", "run.seekwell", "--csv", "out"],
        &["report", "run.seekwell", "--markdown", "out"],
        &["report", "run.seekwell", "--parquet", "out"],
        &["compare", "whole.seekwell", "run.seekwell", "--fail-above", "500%"],
        &["compare", "run.seekwell", "whole.seekwell", "--json"],
        &["merge", "run.seekwell", "whole.seekwell", "-o", "out"],
    ];
    for edit in [
        "DELETE FROM attempt WHERE trial = 3",
        "UPDATE attempt SET status = 'failed' WHERE trial = 3",
        "DELETE FROM verdict",
        "CREATE TABLE notes (text)",
    ] {
        std::fs::write(at("run.seekwell"), &whole).unwrap();
        rusqlite::Connection::open(at("run.seekwell")).unwrap().execute_batch(edit).unwrap();
        for reader in readers {
            let output = seekwell(folder.path(), reader);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(6), "{edit}: {reader:?}: {said}");
            assert!(said.contains("was changed after it was written"), "{edit}: {said}");
            assert!(!at("out").exists(), "{edit}: {reader:?} wrote");
        }
    }
    // A page of a whole run, and one that another program made of an edited run.
    std::fs::write(at("run.seekwell"), &whole).unwrap();
    well(&seekwell(folder.path(), &["report", "run.seekwell", "--html", "page.html"]));
    well(&seekwell(folder.path(), &["extract", "page.html", "-o", "out"]));
    assert_eq!(std::fs::read(at("out")).unwrap(), whole);
    std::fs::remove_file(at("out")).unwrap();
    rusqlite::Connection::open(at("run.seekwell"))
        .unwrap()
        .execute_batch("DELETE FROM verdict")
        .unwrap();
    let page = r#"{ printf '<script type="application/x-seekwell-run" id="run">'
        gzip -c run.seekwell | base64 -w0; printf '</script>\n'; } >edited.html"#;
    let made = std::process::Command::new("sh").args(["-c", page]).current_dir(&folder).status();
    assert!(made.unwrap().success());
    let output = seekwell(folder.path(), &["extract", "edited.html", "-o", "out"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("edited.html was changed after it was written"), "{said}");
    assert!(!at("out").exists());
}

#[test]
fn the_good_trials_of_a_damaged_run_are_saved_in_a_new_file() {
    let folder = run();
    let change = "UPDATE attempt SET digest = zeroblob(32) WHERE id = 3";
    let damaged = rusqlite::Connection::open(folder.path().join("run.seekwell")).unwrap();
    damaged.execute_batch(change).unwrap();
    drop(damaged);
    let shown = seekwell(folder.path(), &["report", "run.seekwell"]);
    assert_eq!(shown.status.code(), Some(6), "{}", String::from_utf8_lossy(&shown.stderr));

    let repaired = seekwell(folder.path(), &["repair", "run.seekwell"]);
    well(&repaired);
    let said = String::from_utf8(repaired.stdout).unwrap();
    assert!(
        said.starts_with("11 trials saved, 12 planned; wrote run-repaired.seekwell."),
        "{said}"
    );
    well(&seekwell(folder.path(), &["verify", "run-repaired.seekwell"]));
    well(&seekwell(folder.path(), &["repair", "run.seekwell", "-o", "other.seekwell"]));
    let again = seekwell(folder.path(), &["repair", "run.seekwell"]);
    assert!(!again.status.success(), "an existing file was written over");
}
