//! The runner against a small package whose tests do everything that it must notice.

use super::*;

const MANIFEST: &str =
    "[package]\nname = \"fixture\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";

fn plant(root: &Path, tests: &str) {
    fs::create_dir_all(root.join("src")).unwrap();
    fs::create_dir(root.join("tests")).unwrap();
    fs::write(root.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(root.join("src/lib.rs"), "").unwrap();
    fs::write(root.join("tests/t.rs"), tests).unwrap();
    let lock = program::cargo(root).args(["generate-lockfile", "--offline"]).status();
    assert!(lock.unwrap().success());
}

fn run(tests: &str) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("fixture");
    plant(root, tests);
    let mut tally = Tally::default();
    // Packages of the same name in one target folder would run each other's tests.
    let target = folder.path().join("target");
    let environment = vec![("CARGO_TARGET_DIR".to_owned(), target.into())];
    let look = || Ok(Machine::default());
    let mut shown = Vec::new();
    let show = &mut shown;
    let selection = &["--offline"];
    let ready = || Ok(());
    TestRun { root, selection, environment, look, settle: Duration::ZERO, ready, show }
        .run(&mut tally)
        .unwrap();
    assert!(String::from_utf8(shown).unwrap().contains("running"));
    tally
}

#[test]
fn skips_failures_and_forgotten_files_are_counted() {
    let tally = run(r#"
use std::io::Write;
#[test] fn good() {}
#[test] fn bad() { panic!("on purpose") }
#[test] #[ignore = "too slow"] fn slow() {}
#[test] fn skips_itself() {
    let log = std::env::var_os("SEEKWELL_SKIP_LOG").unwrap();
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    log.write_all(b"SKIPPED: skips_itself: needs root\n").unwrap();
}
#[test] fn forgets_a_file() {
    std::fs::write(std::env::temp_dir().join("forgotten"), "").unwrap();
}
"#);
    let summary = tally.to_string();
    let lines: Vec<&str> = summary.lines().collect();
    assert_eq!(lines[..2], ["SKIPPED: slow: too slow", "SKIPPED: skips_itself: needs root"]);
    assert!(lines[2].starts_with("FAILED: bad: "), "{summary}");
    assert!(lines[2].ends_with(": on purpose"), "{summary}");
    assert!(lines[3].starts_with("FAILED: clean-up: file /"), "{summary}");
    assert!(lines[3].ends_with("/tmp/forgotten"), "{summary}");
    assert_eq!(lines[4..], ["2 passed, 2 failed, 2 skipped"]);
    assert!(!tally.is_good());
}

#[test]
fn a_test_that_passes_alone_is_named_unstable() {
    let tally = run(r#"
#[test] fn good() { std::fs::write("seen", "").unwrap(); }
#[test] fn meets_another() {
    if std::env::args().any(|one| one == "--exact") { return std::fs::remove_file("seen").unwrap(); }
    panic!("in the way")
}
"#);
    let summary = tally.to_string();
    let (line, counts) = summary.split_once('\n').unwrap();
    assert!(
        line.starts_with("UNSTABLE: meets_another: passed alone, failed before: "),
        "{summary}"
    );
    assert!(line.ends_with(": in the way"), "{summary}");
    assert_eq!(counts, "2 passed (1 of them unstable), 0 failed, 0 skipped\n");
    assert!(tally.is_good());
}

#[test]
fn a_failed_test_that_skips_itself_alone_stays_failed() {
    let tally = run(r#"
use std::io::Write;
#[test] fn good() {}
#[test] fn hides() {
    assert!(std::env::args().any(|one| one == "--exact"), "before");
    let log = std::env::var_os("SEEKWELL_SKIP_LOG").unwrap();
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    log.write_all(b"SKIPPED: hides: needs root\n").unwrap();
}
"#);
    let summary = tally.to_string();
    assert!(summary.contains("FAILED: hides: ") && !summary.contains("UNSTABLE"), "{summary}");
    assert!(!tally.is_good());
}

#[test]
fn a_warning_of_the_compiler_or_of_clippy_is_a_failure() {
    let tally = run("#[test] fn good() { let unused = 1; assert!(String::new().len() == 0) }");
    assert_eq!(
        tally.to_string(),
        "FAILED: warnings of the compiler and clippy: 2, see above\n1 passed, 1 failed, 0 skipped\n"
    );
}

#[test]
fn a_test_binary_that_dies_is_a_failure() {
    let tally = run("#[test] fn dies() { std::process::abort() }");
    assert_eq!(
        tally.to_string(),
        "FAILED: fixture t: the test program ended without a result\n\
         FAILED: no test ran\n\
         0 passed, 1 failed, 0 skipped\n"
    );
}

#[test]
fn tests_in_order_are_good() {
    let tally = run("#[test] fn good() {}");
    assert_eq!(tally.to_string(), "1 passed, 0 failed, 0 skipped\n");
    assert!(tally.is_good());
}

/// Returns true if the documentation in a package's sources has an example in Rust: a fence without another language.
fn has_examples(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return has_examples(&path);
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let comments = text.lines().map(str::trim_start).filter_map(|line| {
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::trim)
        });
        let fences = comments.filter_map(|line| line.strip_prefix("```"));
        let of_rust = ["", "rust", "no_run", "should_panic", "compile_fail", "ignore"];
        let is_example =
            |language: &str| language.split(',').next().is_some_and(|word| of_rust.contains(&word));
        // Every other fence ends a block.
        fences.step_by(2).any(is_example)
    })
}

/// Looking for examples costs more than the tests of a small room: packages without one say so.
#[test]
fn examples_are_looked_for_where_there_are_some_and_nowhere_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let (mut with, mut without) = (0, 0);
    for folder in crates.chain([root.join("xtask")]) {
        if !folder.join("src/lib.rs").exists() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let is_off = manifest.contains("\ndoctest = false\n");
        let has = has_examples(&folder.join("src"));
        assert!(has != is_off, "{}: doctest off: {is_off}, examples: {has}", folder.display());
        *(if has { &mut with } else { &mut without }) += 1;
    }
    assert!(with >= 3 && without > with, "{with} with examples, {without} without");
}

#[test]
fn what_settles_in_time_is_not_left_behind() {
    let looks = std::cell::Cell::new(0);
    let left = settled(Duration::from_secs(60), || {
        looks.set(looks.get() + 1);
        Ok(if looks.get() < 3 { vec!["loop device".to_owned()] } else { Vec::new() })
    });
    assert_eq!(left.unwrap(), [""; 0]);
    assert_eq!(looks.get(), 3);
    let left = settled(Duration::ZERO, || Ok(vec!["loop device".to_owned()]));
    assert_eq!(left.unwrap(), ["loop device"]);
}
