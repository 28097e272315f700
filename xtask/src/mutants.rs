//! Mutants of the code that protects disks, settings and verdicts: guard, undo and judge.
//!
//! Every place that can be changed is changed at once, in a copy of the tree, behind a switch that the environment
//! sets. So the copy is built once, and each mutant costs one run of the tests. A mutant is killed when they fail.

mod places;
mod rendered;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::areas::{AREAS, Area, program};
pub use places::{Place, places};
pub use rendered::rendered;

#[cfg(test)]
mod tests;

/// Variable with the number of the mutant that is switched on.
const SWITCH: &str = "SEEKWELL_MUTANT";

/// Longest run of the tests of a mutant: one that does not end is noticed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Size and seed of a draw of mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Mutants that are tried, of all areas together.
    pub count: usize,
    /// Seed of the draw.
    pub seed: u64,
}

/// End of a run of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Every test passed.
    Passed,
    /// A test failed.
    Failed,
    /// It took longer than [`PATIENCE`] and was ended.
    Overdue,
}

/// Mutants of an area that were tried, by the end of their runs.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    passed: usize,
    failed: usize,
    overdue: usize,
}

impl Tried {
    fn add(&mut self, ending: Ending) {
        match ending {
            Ending::Passed => self.passed += 1,
            Ending::Failed => self.failed += 1,
            Ending::Overdue => self.overdue += 1,
        }
    }

    fn killed(self) -> usize {
        self.failed + self.overdue
    }

    /// `12 of 13 mutants killed (11 by a failing test, 1 ended after 120 s)`.
    fn words(self) -> String {
        format!(
            "{} of {} mutants killed ({} by a failing test, {} ended after {} s)",
            self.killed(),
            self.killed() + self.passed,
            self.failed,
            self.overdue,
            PATIENCE.as_secs()
        )
    }
}

/// A mutant: its number in its crate, its area, file and place.
struct Mutant {
    number: u32,
    area: usize,
    file: String,
    place: Place,
}

/// Tries mutants and lists those that the tests do not notice. False when more than one in twenty survives.
///
/// # Errors
/// When the copy cannot be made or built, or its tests fail without any mutant.
pub fn command(root: &Path, choice: Choice) -> Result<bool> {
    let copy = root.join("target/mutants");
    copy_tree(root, &copy)?;
    let all = plant(&copy)?;
    let mut programs = BTreeMap::new();
    for area in &AREAS {
        if !programs.contains_key(area.room) {
            programs.insert(area.room, build(&copy, root, area.room)?);
        }
    }
    for area in &AREAS {
        let begun = Instant::now();
        let ending = attempt(&copy, area, &programs[area.room], None)?;
        ensure!(
            ending == Ending::Passed,
            "without any mutant the tests of {}: {ending:?}",
            area.name
        );
        eprintln!("{}: {:.0} s without any mutant", area.name, begun.elapsed().as_secs_f64());
    }
    let (total, drawn) = (all.len(), drawn(all, choice));
    let mut tried = BTreeMap::<&str, Tried>::new();
    let mut all = Tried::default();
    for mutant in &drawn {
        let area = &AREAS[mutant.area];
        let ending = attempt(&copy, area, &programs[area.room], Some(mutant.number))?;
        tried.entry(area.name).or_default().add(ending);
        all.add(ending);
        let verb = match ending {
            Ending::Passed => "survives",
            Ending::Overdue => "is ended",
            Ending::Failed => continue,
        };
        let done = all.killed() + all.passed;
        eprintln!(
            "{verb} ({done}): {}:{}: {}",
            mutant.file, mutant.place.line, mutant.place.change
        );
    }
    for (area, tried) in &tried {
        eprintln!("{area}: {}", tried.words());
    }
    eprintln!("{}, drawn from {total}", all.words());
    Ok(all.killed() * 20 >= drawn.len() * 19)
}

/// Copies every file that git knows, but for recorded runs.
fn copy_tree(root: &Path, copy: &Path) -> Result<()> {
    let listed = Command::new("git").arg("ls-files").current_dir(root).output()?;
    ensure!(listed.status.success(), "git ls-files failed");
    for name in String::from_utf8(listed.stdout)?.lines() {
        if name.starts_with("benches/") || name.starts_with("docs/") {
            continue;
        }
        let (from, to) = (root.join(name), copy.join(name));
        let mut text = fs::read(&from).with_context(|| format!("cannot read {name}"))?;
        if name == "Cargo.toml" || name == "Cargo.lock" {
            text = with_own_version(&String::from_utf8(text)?).into_bytes();
        }
        // An unchanged file keeps its time, and its crate is not built again.
        if fs::read(&to).is_ok_and(|before| before == text) {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::write(to, text)?;
    }
    Ok(())
}

/// A manifest or lock file with another version of the crates of this project. Cargo takes crates of
/// one name and version for the same, and would run the changed tests as those of the real tree.
fn with_own_version(text: &str) -> String {
    let own = |block: &str| {
        let is_foreign = block.contains("\nsource = ");
        let lines = block.split_inclusive('\n').map(|line| match line.strip_suffix("\"\n") {
            Some(start) if start.starts_with("version = \"") && !is_foreign => {
                format!("{start}-mutants\"\n")
            }
            _ => line.to_owned(),
        });
        lines.collect::<String>()
    };
    text.split("[[package]]").map(own).collect::<Vec<_>>().join("[[package]]")
}

/// Changes the files of all areas in the copy, and numbers what was changed.
fn plant(copy: &Path) -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for (index, area) in AREAS.iter().enumerate() {
        let source = copy.join("crates").join(area.room).join("src");
        for file in area.files {
            let path = source.join(file);
            let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
            let found = places(&text)?;
            let first = u32::try_from(all.len())?;
            fs::write(&path, rendered(&text, &found, first))?;
            let file = format!("crates/{}/src/{file}", area.room);
            let numbered = found.into_iter().zip(first..);
            all.extend(numbered.map(|(place, number)| Mutant {
                number,
                area: index,
                file: file.clone(),
                place,
            }));
        }
    }
    let rooms: std::collections::BTreeSet<&str> = AREAS.iter().map(|area| area.room).collect();
    for room in rooms {
        add_switch(&copy.join("crates").join(room).join("src/lib.rs"))?;
    }
    Ok(all)
}

/// Adds the function that every place asks.
fn add_switch(library: &Path) -> Result<()> {
    let text = fs::read_to_string(library)?;
    let body = "\n#[doc(hidden)]\npub(crate) fn mutant(number: u32) -> bool {\n    static ON: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();\n    *ON.get_or_init(|| std::env::var(\"SWITCH\").ok()?.parse().ok()) == Some(number)\n}\n";
    let attributes = "#![allow(warnings, clippy::all)]\n";
    // Attributes of a crate come after its comment.
    let after =
        text.lines().take_while(|line| line.starts_with("//!")).map(|line| line.len() + 1).sum();
    let (head, rest) = text.split_at(after);
    let body = body.replace("SWITCH", SWITCH);
    Ok(fs::write(library, format!("{head}{attributes}{rest}{body}"))?)
}

/// Builds the tests of a crate and returns their program.
fn build(copy: &Path, root: &Path, room: &str) -> Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["test", "--locked", "--lib", "--no-run", "--message-format=json", "--package"])
        .arg(format!("seekwell-{room}"))
        .arg("--target-dir")
        .arg(root.join("target"))
        .current_dir(copy)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(built.status.success(), "the mutants of {room} cannot be built");
    program(&built.stdout, room)
}

/// Runs the tests of an area up to the first that fails.
fn attempt(copy: &Path, area: &Area, program: &Path, mutant: Option<u32>) -> Result<Ending> {
    let mut command = Command::new(program);
    command.args(area.tests).args(["--test-threads", "2"]);
    // Tests on loop devices are for one at a time, and a mutant may leave one attached.
    command.args(["--skip", "kernel", "--skip", "real_"]);
    // An option of the test programs that a stable toolchain has behind this variable.
    command.args(["-Z", "unstable-options", "--fail-fast"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(copy.join("crates").join(area.room));
    command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_FAILURE_PERSISTENCE", "off");
    command.env("PROPTEST_MAX_SHRINK_ITERS", "0");
    command.env("INSTA_UPDATE", "no").env("INSTA_FORCE_PASS", "0");
    if let Some(number) = mutant {
        command.env(SWITCH, number.to_string());
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ending::Passed } else { Ending::Failed });
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(Ending::Overdue);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A part of all mutants, drawn with a seed.
fn drawn(mut all: Vec<Mutant>, choice: Choice) -> Vec<Mutant> {
    let mut state = choice.seed;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut keyed: Vec<(u64, Mutant)> = all.drain(..).map(|mutant| (next(), mutant)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().take(choice.count).map(|(_, mutant)| mutant).collect()
}
