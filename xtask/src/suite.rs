//! `cargo xtask test`: every check and every test in one run, ended by one line of counts.
//!
//! A test that could not run here is counted as skipped, with its reason: the harness's own
//! `ignored`, and what [`seekwell_testing::skip`] wrote to its log. What the tests leave on the
//! machine (loop devices, mounts, queue settings, processes, temporary files) fails the run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use seekwell_testing::{SEED, SKIP_LOG};

use crate::{docs, program, tidy};

mod kernel;
mod lanes;
mod machine;
mod programs;
mod tally;
#[cfg(test)]
mod tests;

use lanes::Job;
use machine::Machine;
use programs::Program;
use tally::Tally;

/// Time within which a detached loop device or a guardian must disappear.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs everything and prints the counts; whether nothing failed and something ran.
///
/// # Errors
///
/// When cargo cannot be started or the machine's state cannot be read.
pub fn command(root: &Path) -> Result<bool> {
    let mut tally = Tally::default();
    let started = Instant::now();
    let mut kernel = headed("lab kernel", || kernel::begin(root))?;
    let show = &mut io::stdout();
    let run = TestRun {
        root,
        selection: &["--workspace", "--locked"],
        environment: environment(),
        look: Machine::look,
        settle: SETTLE,
        ready: || kernel.finish(),
        show,
    };
    let checked = thread::scope(|scope| {
        let checks = scope.spawn(|| checks(root));
        headed("cargo test", || run.run(&mut tally))?;
        checks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    for (name, found) in &checked.found {
        if !found.is_empty() {
            print!("\n== {name}\n{found}");
            tally.fail(name, "see above");
        }
    }
    tally.add_time("(formatting, tidy, documents)", checked.seconds);
    tally.add_time("(all)", started.elapsed().as_secs_f64());
    let times = tally.times();
    keep(root, &times)?;
    print!("{times}{tally}");
    Ok(tally.is_good())
}

/// Findings of the checks of the text.
struct Checked {
    /// Name and findings of each; nothing where all is in order.
    found: [(&'static str, String); 3],
    seconds: f64,
}

/// Checks the text, and prints nothing: that would mix with the output of the tests.
fn checks(root: &Path) -> Result<Checked> {
    let started = Instant::now();
    let found = [
        ("formatting", unformatted(root)?),
        ("tidy", lines(&tidy::findings(root)?)),
        ("generated documents", lines(&docs::stale_generated(root)?)),
    ];
    Ok(Checked { found, seconds: started.elapsed().as_secs_f64() })
}

fn lines<T: ToString>(all: &[T]) -> String {
    all.iter().map(|one| one.to_string() + "\n").collect()
}

/// Changes that cargo fmt would make.
fn unformatted(root: &Path) -> Result<String> {
    let colour = if io::stdout().is_terminal() { "always" } else { "never" };
    let fmt = ["fmt", "--all", "--check", "--", "--color", colour];
    let output = program::cargo(root).args(fmt).output().context("cannot run cargo fmt")?;
    if output.status.success() {
        return Ok(String::new());
    }
    let all = [output.stdout, output.stderr].concat();
    Ok(format!("{}cargo fmt: {}\n", String::from_utf8_lossy(&all), output.status))
}

/// The table of times, next to what cargo builds.
fn times_file(root: &Path) -> PathBuf {
    root.join(program::target()).join("test-seconds.txt")
}

fn keep(root: &Path, times: &str) -> Result<()> {
    let file = times_file(root);
    fs::write(&file, times).with_context(|| format!("cannot write {}", file.display()))
}

/// Seconds of the longer programs in a run of the maintainers, by which the first run on a machine is ordered.
const KEPT_SECONDS: &str = include_str!("suite/seconds.txt");

/// Seconds of the longer programs in the last run here, or of [`KEPT_SECONDS`] before the first.
fn last_seconds(root: &Path) -> BTreeMap<String, f64> {
    let times = fs::read_to_string(times_file(root));
    tally::seconds_of(times.as_deref().unwrap_or(KEPT_SECONDS))
}

/// Environment variables of every test.
fn environment() -> Vec<(String, OsString)> {
    // A snapshot that differs is a failure; it must not also be written into the checkout.
    let mut all = vec![("INSTA_UPDATE".to_owned(), "no".into())];
    // The whole test takes the same one every time, so that it speaks of the checkout and not of chance.
    if std::env::var_os(SEED).is_none() {
        all.push((SEED.to_owned(), "1".into()));
    }
    all
}

fn headed<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {title}");
    work()
}

/// A run of the tests.
struct TestRun<'a, L, R> {
    root: &'a Path,
    /// Arguments of cargo that select the packages.
    selection: &'a [&'a str],
    environment: Vec<(String, OsString)>,
    /// Reads the state of the machine.
    look: L,
    /// Time within which things must disappear.
    settle: Duration,
    /// Provides what the tests need in addition to their programs.
    ready: R,
    /// Gets what the tests print, each test program's output in one piece.
    show: &'a mut (dyn Write + Send),
}

impl<L: Fn() -> Result<Machine>, R: FnMut() -> Result<()> + Send> TestRun<'_, L, R> {
    /// Runs all tests, with a temporary folder and a skip log of their own.
    fn run(mut self, tally: &mut Tally) -> Result<()> {
        let started = Instant::now();
        let built = programs::build(self.root, self.selection, &self.environment)?;
        tally.add_time("(compiling)", started.elapsed().as_secs_f64());
        let Some(built) = built else {
            tally.fail("cargo test", "a target did not build");
            return Ok(());
        };
        if !built.warnings.is_empty() {
            let count = built.warnings.len();
            tally.fail("warnings of the compiler and clippy", &format!("{count}, see above"));
        }
        let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
        let temporary = scratch.path().join("tmp");
        fs::create_dir(&temporary)?;
        let log = scratch.path().join("skips");
        let before = (self.look)()?;
        self.environment.push(("TMPDIR".to_owned(), temporary.clone().into()));
        self.environment.push((SKIP_LOG.to_owned(), log.clone().into()));
        let jobs = self.commands(&built.programs);
        let (last, idle) = (last_seconds(self.root), &machine::has_idle_cpu);
        lanes::run(jobs, &last, &mut self.ready, idle, self.show, tally)?;
        for (program, test) in tally.to_repeat() {
            if self.passes_alone(&built.programs, (&program, &test), &log)? {
                tally.passed_alone(&program, &test);
            }
        }
        match fs::read_to_string(&log) {
            Ok(text) => tally.add_skips(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).context("cannot read the log of skipped tests"),
        }
        let marker = format!("{SKIP_LOG}={}", log.display());
        let left = settled(self.settle, || {
            let mut left = (self.look)()?.new_since(&before);
            left.extend(machine::processes_with(&marker)?);
            left.extend(files_in(&temporary)?);
            Ok(left)
        })?;
        for thing in left {
            tally.fail("clean-up", &thing);
        }
        Ok(())
    }

    /// Runs a failed test again, alone; true when it passes and does not skip itself. Once: chance must not pass what
    /// fails often.
    fn passes_alone(
        &mut self,
        programs: &[Program],
        (name, test): (&str, &str),
        log: &Path,
    ) -> Result<bool> {
        let skipped = || fs::metadata(log).map_or(0, |log| log.len());
        let parts = programs.iter().flat_map(Program::jobs);
        let Some((mut job, _)) = parts.into_iter().find(|(job, _)| job.name == name) else {
            return Ok(false);
        };
        writeln!(self.show, "\n== {name}, alone: {test}")?;
        let test = test.trim_end_matches(" - should panic");
        job.command.args([test, "--exact"]);
        job.command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let before = skipped();
        let output = job.command.output().with_context(|| format!("cannot run {name}"))?;
        self.show.write_all(&output.stdout)?;
        self.show.write_all(&output.stderr)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let passes = output.status.success() && printed.contains("test result: ok. 1 passed");
        Ok(passes && skipped() == before)
    }

    /// The commands of the two lanes: the tests that touch the machine, and those that do not, with
    /// the examples of the documentation.
    fn commands(&self, programs: &[Program]) -> [Vec<Job>; 2] {
        let mut lanes = [Vec::new(), Vec::new()];
        for program in programs {
            for (job, touches_the_machine) in program.jobs() {
                lanes[usize::from(!touches_the_machine)].push(job);
            }
        }
        let mut command = program::cargo(self.root);
        command.args(["test", "--doc", "--no-fail-fast"]).args(self.selection);
        lanes[1].push(Job {
            name: "examples of the documentation".to_owned(),
            command,
            needs_kernel: false,
        });
        for job in lanes.iter_mut().flatten() {
            job.command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        }
        lanes
    }
}

/// Returns the leftovers after the time `settle`, or none as soon as there are none.
fn settled(settle: Duration, left: impl Fn() -> Result<Vec<String>>) -> Result<Vec<String>> {
    let started = Instant::now();
    loop {
        let left = left()?;
        if left.is_empty() || started.elapsed() > settle {
            return Ok(left);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn files_in(folder: &Path) -> Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(format!("file {}", entry?.path().display()))).collect()
}
