//! Counts what the test harness printed and what the tests skipped.

use std::collections::BTreeSet;
use std::fmt;

#[cfg(test)]
mod tests;

/// Counts of a test run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// As the harness counts, which takes a skipped test for a passed one.
    passed: usize,
    failed: usize,
    failed_names: Vec<String>,
    failed_checks: Vec<(String, String)>,
    skips: Vec<Skip>,
    /// Inside what the harness repeats of its failed tests, which may contain anything.
    repeating: bool,
}

#[derive(Debug)]
struct Skip {
    test: String,
    reason: String,
    /// Ignored by the harness, which then did not count it as passed.
    ignored: bool,
}

impl Tally {
    /// Takes in what the test program `name` printed, and its exit. One that prints no result, or
    /// fails without a failed test in its result, has died or ended itself inside a test.
    pub(super) fn add_program(&mut self, name: &str, printed: &str, success: bool) {
        let failed_before = self.failed;
        self.repeating = false;
        printed.lines().for_each(|line| self.add_line(line));
        let has_result = printed.lines().any(|line| line.contains("test result: "));
        if !has_result || (!success && self.failed == failed_before) {
            self.fail(name, "the test program ended without a result");
        }
    }

    /// Takes in one line of the harness's output.
    fn add_line(&mut self, line: &str) {
        // Output of a child process may precede it on the same line.
        if line == "failures:" {
            self.repeating = true;
        } else if let Some((_, counts)) = line.rsplit_once("test result: ") {
            self.repeating = false;
            self.passed += count_before(counts, "passed");
            self.failed += count_before(counts, "failed");
        } else if let Some((test, result)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
            && !self.repeating
        {
            self.add_result(test, result);
        }
    }

    fn add_result(&mut self, test: &str, result: &str) {
        if result == "FAILED" {
            self.failed_names.push(test.to_owned());
        } else if result == "ignored" || result.starts_with("ignored, ") {
            let reason = result.strip_prefix("ignored, ").unwrap_or("ignored, no reason given");
            self.skips.push(Skip {
                test: test.to_owned(),
                reason: reason.to_owned(),
                ignored: true,
            });
        }
    }

    /// Takes in the log of skips, one `SKIPPED: <test>: <reason>` per line.
    pub(super) fn add_skips(&mut self, log: &str) {
        for line in log.lines() {
            match line.strip_prefix("SKIPPED: ").and_then(|rest| rest.split_once(": ")) {
                Some((test, reason)) => self.skips.push(Skip {
                    test: test.to_owned(),
                    reason: reason.to_owned(),
                    ignored: false,
                }),
                None => self.fail("skip log", &format!("a line that is no skip: {line}")),
            }
        }
    }

    /// Adds a failure that is not a test's.
    pub(super) fn fail(&mut self, check: &str, reason: &str) {
        self.failed_checks.push((check.to_owned(), reason.to_owned()));
    }

    /// Returns true if nothing failed and at least one test really ran.
    pub(super) fn is_good(&self) -> bool {
        self.failed == 0 && self.failed_checks.is_empty() && self.really_passed() > 0
    }

    fn really_passed(&self) -> usize {
        let returned_early: BTreeSet<&str> =
            self.skips.iter().filter(|skip| !skip.ignored).map(|skip| skip.test.as_str()).collect();
        self.passed.saturating_sub(returned_early.len())
    }
}

/// The number in front of ` word` in `5 passed; 0 failed; …`.
fn count_before(counts: &str, word: &str) -> usize {
    let words: Vec<&str> = counts.split([' ', ';']).collect();
    let number = words.windows(2).find_map(|pair| match pair {
        [number, next] if *next == word => number.parse().ok(),
        _ => None,
    });
    number.unwrap_or(0)
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for skip in &self.skips {
            writeln!(f, "SKIPPED: {}: {}", skip.test, skip.reason)?;
        }
        for name in &self.failed_names {
            writeln!(f, "FAILED: {name}")?;
        }
        for (check, reason) in &self.failed_checks {
            writeln!(f, "FAILED: {check}: {reason}")?;
        }
        let ran = self.really_passed() + self.failed;
        if ran == 0 {
            writeln!(f, "FAILED: no test ran")?;
        }
        let failed = self.failed + self.failed_checks.len();
        writeln!(
            f,
            "{} passed, {failed} failed, {} skipped",
            self.really_passed(),
            self.skips.len()
        )
    }
}
