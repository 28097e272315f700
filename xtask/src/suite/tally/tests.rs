use super::*;

fn tally(output: &str, skips: &str) -> Tally {
    let mut tally = Tally::default();
    tally.add_program("some tests", output, !output.contains("FAILED"));
    tally.add_skips(skips);
    tally
}

const GOOD: &str = "\
running 3 tests
test tests::a ... ok
test tests::b ... ok
test tests::needs_disk ... ignored, needs a spare disk

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 40 tests
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.52s
";

#[test]
fn counts_are_summed_over_all_binaries() {
    let tally = tally(GOOD, "");
    assert!(tally.is_good());
    assert_eq!(
        tally.to_string(),
        "SKIPPED: tests::needs_disk: needs a spare disk\n42 passed, 0 failed, 1 skipped\n"
    );
}

#[test]
fn a_test_that_skipped_itself_did_not_pass() {
    let skips = "SKIPPED: a: needs root\nSKIPPED: two_cases: no mkfs.jfs: here\nSKIPPED: two_cases: no fio\n";
    let tally = tally(GOOD, skips);
    assert!(tally.is_good());
    assert_eq!(
        tally.to_string(),
        "SKIPPED: tests::needs_disk: needs a spare disk\n\
         SKIPPED: a: needs root\n\
         SKIPPED: two_cases: no mkfs.jfs: here\n\
         SKIPPED: two_cases: no fio\n\
         40 passed, 0 failed, 4 skipped\n"
    );
}

#[test]
fn failures_are_named_and_fail_the_run() {
    let output = "\
test tests::a ... FAILED
test tests::c - should panic ... FAILED
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
    let mut tally = tally(output, "");
    tally.fail("tidy", "see above");
    assert!(!tally.is_good());
    assert_eq!(
        tally.to_string(),
        "FAILED: tests::a\nFAILED: tests::c - should panic\nFAILED: tidy: see above\n\
         3 passed, 3 failed, 0 skipped\n"
    );
}

#[test]
fn a_few_failed_tests_are_run_again_and_more_are_not() {
    let of = |count: usize| {
        let lines: String = (0..count).map(|at| format!("test t{at} ... FAILED\n")).collect();
        tally(&format!("{lines}test result: FAILED. 3 passed; {count} failed;"), "").to_repeat()
    };
    let place = |test: &str| ("some tests".to_owned(), test.to_owned());
    assert_eq!((of(0), of(2), of(3)), (vec![], vec![place("t0"), place("t1")], vec![]));
    let mut died = tally("test result: FAILED. 3 passed; 2 failed;\ntest t0 ... FAILED\n", "");
    assert_eq!(died.to_repeat(), vec![]);
    died.passed_alone("other tests", "t0");
    assert!(!died.is_good());
}

#[test]
fn a_failure_has_the_words_of_its_first_panic() {
    let output = "\
test tests::a ... FAILED
test tests::b ... FAILED

failures:

---- tests::a stdout ----
mkfs said something

thread '<unnamed>' (7) panicked at crates/a.rs:12:9:
assertion `left == right` failed: xfs
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

thread 'tests::a' (6) panicked at crates/b.rs:3:1:
a scoped thread panicked

---- tests::b stdout ----
Error: \"no disk\"

failures:
    tests::a
    tests::b

test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
    assert_eq!(
        tally(output, "").to_string(),
        "FAILED: tests::a: crates/a.rs:12:9: assertion `left == right` failed: xfs left: 1 right: 2\n\
         FAILED: tests::b\n0 passed, 2 failed, 0 skipped\n"
    );
}

#[test]
fn a_failed_check_alone_fails_the_run() {
    let mut tally = tally(GOOD, "");
    tally.fail("clippy", "see above");
    assert!(!tally.is_good());
}

#[test]
fn a_run_without_tests_or_with_skips_alone_is_no_success() {
    let empty = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    assert!(!tally(empty, "").is_good());
    assert_eq!(
        tally(empty, "").to_string(),
        "FAILED: no test ran\n0 passed, 0 failed, 0 skipped\n"
    );
    let one = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    assert!(!tally(one, "SKIPPED: only: needs root\n").is_good());
}

#[test]
fn a_result_behind_the_output_of_a_child_process_counts() {
    let output = "writing superblock... donetest result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    assert_eq!(tally(output, "").to_string(), "7 passed, 0 failed, 0 skipped\n");
}

#[test]
fn an_ignored_test_without_a_reason_says_so() {
    let output = format!("{GOOD}test src/lib.rs - f (line 3) ... ignored\n");
    assert!(
        tally(&output, "")
            .to_string()
            .contains("SKIPPED: src/lib.rs - f (line 3): ignored, no reason given\n")
    );
}

#[test]
fn a_broken_skip_log_is_a_failure() {
    let tally = tally(GOOD, "SKIPPED: cut off");
    assert!(!tally.is_good());
    assert!(
        tally.to_string().contains("FAILED: skip log: a line that is no skip: SKIPPED: cut off\n")
    );
}

#[test]
fn what_a_failed_test_printed_names_no_test() {
    let output = "\
test tests::a ... FAILED

failures:

---- tests::a stdout ----
test of the disk ... FAILED
test of the other ... ignored, broken

failures:
    tests::a

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

test tests::b ... ignored, needs a disk
";
    assert_eq!(
        tally(output, "").to_string(),
        "SKIPPED: tests::b: needs a disk\nFAILED: tests::a\n0 passed, 1 failed, 1 skipped\n"
    );
}

#[test]
fn a_program_that_dies_without_a_result_is_a_failure() {
    let mut tally = tally(GOOD, "");
    tally.add_program("cli kill", "test a ... FAILED\n", false);
    assert!(!tally.is_good());
    assert!(
        tally.to_string().contains("FAILED: cli kill: the test program ended without a result\n")
    );
    // A test that calls exit(0) takes the tests behind it along.
    let mut tally = self::tally(GOOD, "");
    tally.add_program("cli kill", "running 2 tests\ntest a ... ", true);
    assert!(!tally.is_good());
}

#[test]
fn times_are_a_table_with_the_longest_first_and_short_ones_together() {
    let mut tally = Tally::default();
    for (name, seconds) in [("trust", 0.5), ("cli kill", 61.25), ("model", 1.0), ("(all)", 700.0)] {
        tally.add_time(name, seconds);
    }
    assert_eq!(tally.times(), "  700.0 s  (all)\n   61.2 s  cli kill\n    1.5 s  2 others\n");
    let read = seconds_of(&tally.times());
    assert_eq!((read["(all)"], read["cli kill"], read.len()), (700.0, 61.2, 3));
}
