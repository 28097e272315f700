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
        let whole = attempt(&copy, area, &programs[area.room], None)?;
        ensure!(whole, "the tests of {} fail without any mutant", area.name);
    }
    let (total, drawn) = (all.len(), drawn(all, choice));
    let mut survivors = Vec::new();
    let mut tried = BTreeMap::<&str, (usize, usize)>::new();
    for mutant in &drawn {
        let area = &AREAS[mutant.area];
        let survives = attempt(&copy, area, &programs[area.room], Some(mutant.number))?;
        let counts = tried.entry(area.name).or_default();
        counts.0 += usize::from(!survives);
        counts.1 += 1;
        if survives {
            let line = format!("{}:{}: {}", mutant.file, mutant.place.line, mutant.place.change);
            eprintln!("survives: {line}");
            survivors.push(line);
        }
    }
    for (area, (killed, tried)) in &tried {
        eprintln!("{area}: {killed} of {tried} mutants killed");
    }
    let killed = drawn.len() - survivors.len();
    eprintln!("{killed} of {} mutants killed (drawn from {total})", drawn.len());
    Ok(killed * 20 >= drawn.len() * 19)
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
        let text = fs::read(&from).with_context(|| format!("cannot read {name}"))?;
        // An unchanged file keeps its time, and its crate is not built again.
        if fs::read(&to).is_ok_and(|before| before == text) {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::write(to, text)?;
    }
    Ok(())
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

/// True if the tests of an area pass.
fn attempt(copy: &Path, area: &Area, program: &Path, mutant: Option<u32>) -> Result<bool> {
    let mut command = Command::new(program);
    command.args(area.tests).args(["--test-threads", "2"]);
    // Tests on loop devices are for one at a time, and a mutant may leave one attached.
    command.args(["--skip", "kernel", "--skip", "real_"]);
    command.current_dir(copy.join("crates").join(area.room));
    command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_FAILURE_PERSISTENCE", "off");
    command.env("INSTA_UPDATE", "no").env("INSTA_FORCE_PASS", "0");
    if let Some(number) = mutant {
        command.env(SWITCH, number.to_string());
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(false);
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
