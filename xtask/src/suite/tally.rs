//! Counts what the test harness printed and what the tests skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[cfg(test)]
mod tests;

/// Counts of a test run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// As the harness counts, which takes a skipped test for a passed one.
    passed: usize,
    failed: usize,
    failures: Vec<Failure>,
    /// Failed while other tests ran, and passed alone.
    unstable: Vec<Failure>,
    failed_checks: Vec<(String, String)>,
    skips: Vec<Skip>,
    /// Inside what the harness repeats of its failed tests, which may contain anything.
    repeating: bool,
    /// Number of the failure that is repeated, and whether its panic is being told.
    repeated: Option<(usize, bool)>,
    /// Phases and test programs with their seconds.
    times: Vec<(String, f64)>,
}

/// Seconds below which a phase or program has no line of its own.
const SHOWN_FROM_S: f64 = 5.0;

/// The long ones of a table of times, by name.
pub(super) fn seconds_of(times: &str) -> BTreeMap<String, f64> {
    let entry = |line: &str| {
        let (seconds, name) = line.trim_start().split_once(" s  ")?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    times.lines().filter_map(entry).collect()
}

/// A test that failed, with the words of its first panic on one line.
#[derive(Debug)]
struct Failure {
    /// Name of the test program.
    program: String,
    test: String,
    reason: String,
}

/// Most failed tests that are run again. More have a common cause.
const MOST_REPEATED: usize = 2;

/// Bytes of a reason; the output above has all of it.
const MOST_OF_A_REASON: usize = 600;

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
        (self.repeating, self.repeated) = (false, None);
        printed.lines().for_each(|line| self.add_line(name, line));
        let has_result = printed.lines().any(|line| line.contains("test result: "));
        if !has_result || (!success && self.failed == failed_before) {
            self.fail(name, "the test program ended without a result");
        }
    }

    /// Takes in one line of the output of `program`'s harness.
    fn add_line(&mut self, program: &str, line: &str) {
        // Output of a child process may precede it on the same line.
        if line == "failures:" {
            (self.repeating, self.repeated) = (true, None);
        } else if let Some((_, counts)) = line.rsplit_once("test result: ") {
            self.repeating = false;
            self.passed += count_before(counts, "passed");
            self.failed += count_before(counts, "failed");
        } else if let Some((test, result)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
            && !self.repeating
        {
            self.add_result(program, test, result);
        } else if self.repeating {
            self.add_repeated(line);
        }
    }

    /// Takes in one line of what the harness repeats of a failed test.
    fn add_repeated(&mut self, line: &str) {
        let named = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(test) = named {
            let is_it = |failure: &Failure| failure.test == test;
            self.repeated = self.failures.iter().rposition(is_it).map(|index| (index, false));
            return;
        }
        let Some((index, is_panic)) = self.repeated else { return };
        let failure = &mut self.failures[index];
        if let Some((_, place)) = line.split_once(" panicked at ") {
            // Later panics follow from the first.
            if failure.reason.is_empty() {
                place.clone_into(&mut failure.reason);
                self.repeated = Some((index, true));
            }
        } else if ends_a_panic(line) {
            self.repeated = Some((index, false));
        } else if is_panic && failure.reason.len() + line.len() < MOST_OF_A_REASON {
            failure.reason.push(' ');
            failure.reason.push_str(line.trim());
        }
    }

    fn add_result(&mut self, program: &str, test: &str, result: &str) {
        if result == "FAILED" {
            let (program, test) = (program.to_owned(), test.to_owned());
            self.failures.push(Failure { program, test, reason: String::new() });
        } else if result == "ignored" || result.starts_with("ignored, ") {
            let reason = result.strip_prefix("ignored, ").unwrap_or("ignored, no reason given");
            self.add_skip(test, reason, true);
        }
    }

    fn add_skip(&mut self, test: &str, reason: &str, ignored: bool) {
        self.skips.push(Skip { test: test.to_owned(), reason: reason.to_owned(), ignored });
    }

    /// Takes in the log of skips, one `SKIPPED: <test>: <reason>` per line.
    pub(super) fn add_skips(&mut self, log: &str) {
        for line in log.lines() {
            match line.strip_prefix("SKIPPED: ").and_then(|rest| rest.split_once(": ")) {
                Some((test, reason)) => self.add_skip(test, reason, false),
                None => self.fail("skip log", &format!("a line that is no skip: {line}")),
            }
        }
    }

    /// Program and name of each failed test, when they are so few that they are run again alone.
    pub(super) fn to_repeat(&self) -> Vec<(String, String)> {
        if self.failed != self.failures.len() || self.failed > MOST_REPEATED {
            return Vec::new();
        }
        let place = |failure: &Failure| (failure.program.clone(), failure.test.clone());
        self.failures.iter().map(place).collect()
    }

    /// Takes in that a failed test passed alone. It counts as passed, and has a line of its own.
    pub(super) fn passed_alone(&mut self, program: &str, test: &str) {
        let is_it = |failure: &Failure| failure.program == program && failure.test == test;
        let Some(index) = self.failures.iter().position(is_it) else { return };
        self.unstable.push(self.failures.remove(index));
        (self.failed, self.passed) = (self.failed - 1, self.passed + 1);
    }

    /// Adds a failure that is not a test's.
    pub(super) fn fail(&mut self, check: &str, reason: &str) {
        self.failed_checks.push((check.to_owned(), reason.to_owned()));
    }

    /// Adds the seconds that a phase or test program took.
    pub(super) fn add_time(&mut self, name: &str, seconds: f64) {
        self.times.push((name.to_owned(), seconds));
    }

    /// Seconds by phase and test program, longest first; all short ones on one line.
    pub(super) fn times(&self) -> String {
        let mut times: Vec<&(String, f64)> = self.times.iter().collect();
        times.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (long, short): (Vec<_>, Vec<_>) =
            times.into_iter().partition(|(_, seconds)| *seconds >= SHOWN_FROM_S);
        let rest: f64 = short.iter().map(|(_, seconds)| seconds).sum();
        let lines = long.iter().map(|(name, seconds)| format!("{seconds:7.1} s  {name}\n"));
        lines.chain([format!("{rest:7.1} s  {} others\n", short.len())]).collect()
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

/// After the words of a panic, its callers or the way to see them.
fn ends_a_panic(line: &str) -> bool {
    line == "stack backtrace:" || line.starts_with("note: run with `RUST_BACKTRACE")
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
        for Failure { test, reason, .. } in &self.unstable {
            writeln!(f, "UNSTABLE: {test}: passed alone, failed before: {reason}")?;
        }
        for Failure { test, reason, .. } in &self.failures {
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            writeln!(f, "FAILED: {test}{reason}")?;
        }
        for (check, reason) in &self.failed_checks {
            writeln!(f, "FAILED: {check}: {reason}")?;
        }
        let ran = self.really_passed() + self.failed;
        if ran == 0 {
            writeln!(f, "FAILED: no test ran")?;
        }
        let failed = self.failed + self.failed_checks.len();
        let unstable = match self.unstable.len() {
            0 => String::new(),
            count => format!(" ({count} of them unstable)"),
        };
        writeln!(
            f,
            "{} passed{unstable}, {failed} failed, {} skipped",
            self.really_passed(),
            self.skips.len()
        )
    }
}
