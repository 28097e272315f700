//! Every lab that `init`, `try` and `advise` draft and every lab of the folder passes its own marks on both backends:
//! all its trials can be ranked. Each runs few rounds of a small amount of work, with one scheduler, on a small
//! device.
//!
//! `make marks` runs all of them; `cargo test` a seeded sample.

#![allow(clippy::print_stderr, reason = "a test says which labs it ran")]

use super::labs::{import, labs, with_trace};
use super::{data, seekwell, talk};
use rustix::process::{Pid, Signal, kill_process};
use seekwell_model::units::{Bytes, Nanos};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::PoisonError;

/// Doubts about the amounts of a lab, which its author can avoid.
const OF_THE_LAB: [&str; 5] = [
    "data-set-in-memory", "device-nearly-full", "device-small-for-filesystem",
    "judged-by-fixed-time", "judged-without-durability",
];

/// The lab's author.
#[derive(Clone, Debug)]
enum Author {
    Folder(PathBuf),
    /// Workload, further axis, time.
    Init([&'static str; 3]),
    /// Arguments of `try`.
    Try(&'static [&'static str]),
    Advise,
}

const RUNS: [&str; 9] = [
    "mail", "database", "log", "monitoring", "photos", "build", "desktop", "containers", "command",
];

const TRIED: [&[&str]; 4] = [
    &["mail"],
    &["seek"],
    &["stream"],
    &["cp {dir}/a {dir}/b", "--prepare", "dd if=/dev/urandom of={dir}/a bs=64k count=99"],
];

/// Every author with a lab for each answer that changes the workload or its memory.
fn authors() -> Vec<Author> {
    let mut all: Vec<Author> = labs()
        .into_iter()
        .filter(|path| !path.parent().is_some_and(|folder| folder.ends_with("replicate")))
        .map(Author::Folder)
        .collect();
    for runs in RUNS {
        for (vary, time) in
            [("nothing", "10min"), ("nothing", "1h"), ("memory", "10min"), ("journal", "10min")]
        {
            all.push(Author::Init([runs, vary, time]));
        }
    }
    all.extend(TRIED.map(Author::Try));
    all.push(Author::Advise);
    all
}

impl Author {
    fn name(&self) -> String {
        match self {
            Self::Folder(path) => format!("labs/{}", path.file_name().unwrap().to_string_lossy()),
            Self::Init(answers) => format!("init {}", answers.join(" ")),
            Self::Try(words) => format!("try {}", words[0]),
            Self::Advise => "advise".to_owned(),
        }
    }

    /// The text of the lab; `Err` with the reason why it cannot be drafted here.
    fn draft(&self, here: &Path, place: &str) -> Result<String, String> {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let file = match self {
            Self::Folder(path) => return Ok(read(&with_trace(here, path.clone(), &read(path)))),
            Self::Init([runs, vary, time]) => {
                let words = ["init", "lab.toml", "--runs", runs, "--vary", vary, "--time", time];
                // A virtual trial says nothing about the amount of work that suits this machine.
                let measured: &[&str] = if place == "host" { &[] } else { &["--estimate"] };
                spoken(here, &[&words, &["--defaults"][..], measured].concat())?;
                "lab.toml"
            }
            Self::Try(words) => {
                let model: &[&str] =
                    if place == "host" { &[] } else { &["--model", "ssd-sata-250gb"] };
                let options = ["--fs", "ext4", "--for", "5s", "--size", "256MiB", "--place", place];
                let all = [&["try"], *words, &options, model, &["-o", "lab.seekwell"]].concat();
                spoken(here, &all)?;
                "lab.toml"
            }
            Self::Advise => {
                import(here, "strace", "load", &synced());
                return spoken(here, &["advise", "load.trace", "--place", place]);
            }
        };
        Ok(read(&here.join(file)))
    }
}

/// The log of a program that syncs every write of a file.
fn synced() -> String {
    let open = "7 1700000001.000050 openat(AT_FDCWD</srv>, \"a\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</srv/a> <0.00002>\n";
    let write = |nth: u32| {
        format!(
            "7 1700000001.0{nth:02}100 write(3</srv/a>, \"x\", 4096) = 4096 <0.00005>\n\
             7 1700000001.0{nth:02}200 fsync(3</srv/a>) = 0 <0.0007>\n"
        )
    };
    open.to_owned() + &(0..20).map(write).collect::<String>()
}

/// Standard output of a command; `Err` with its message if it fails.
fn spoken(here: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = seekwell(here).args(arguments).output().unwrap();
    match output.status.code() {
        Some(0 | 4) => Ok(data(&output)),
        _ => Err(talk(&output)),
    }
}

/// Most files or operations of a workload, bytes of a file and seconds of a step.
const MOST: [f64; 3] = [1_000.0, (64 << 20) as f64, 1.0];

/// Makes a workload of the folder small: all its amounts by the same share.
fn shrink(workload: &mut toml::Table) {
    let number = |workload: &toml::Table, key: &str| -> Option<f64> {
        let value = workload.get(key)?;
        let text = value.as_str().map(str::to_owned);
        let bytes = text.as_ref().and_then(|text| text.parse::<Bytes>().ok()).map(|size| size.0);
        let time = text
            .as_ref()
            .and_then(|text| text.parse::<Nanos>().ok())
            .map(|time| time.0 as f64 / 1e9);
        time.or(bytes.map(|bytes| bytes as f64)).or(value.as_integer().map(|number| number as f64))
    };
    let share = |key: &str, most: f64| number(workload, key).map_or(1.0, |found| most / found);
    let [amount, bytes, seconds] = MOST;
    let files = ["files", "mails", "mailboxes"].map(|key| share(key, amount));
    let share = files.into_iter().chain([share("file_size", bytes)]).fold(1.0, f64::min);
    let time = number(workload, "time").map(|time| time.min(seconds));
    for key in ["files", "mails", "mailboxes", "count", "file_size"] {
        let Some(found) = number(workload, key) else { continue };
        let less = (found * share).ceil() as i64;
        workload.insert(
            key.to_owned(),
            if key == "file_size" { less.to_string().into() } else { less.into() },
        );
    }
    if let Some(time) = time {
        workload.insert("time".to_owned(), format!("{time}s").into());
    }
    // Work in the background of a step keeps its size: a reader that finds all in the cache takes no virtual time.
    for step in workload.get_mut("then").and_then(|all| all.as_array_mut()).into_iter().flatten() {
        shrink(step.as_table_mut().unwrap());
    }
}

/// The lab with one scheduler, six rounds and a device for this backend; with a size, its device has this one and its
/// work is small.
fn adapted(text: &str, place: &str, size: Option<&str>) -> String {
    let mut lab: toml::Table = toml::from_str(text).unwrap();
    let judge = lab.entry("judge").or_insert_with(|| toml::Table::new().into());
    let judge = judge.as_table_mut().unwrap();
    for key in ["budget", "rounds", "method"] {
        judge.remove(key);
    }
    judge.insert("rounds".to_owned(), 6.into());
    judge.insert("method".to_owned(), "rounds".into());
    let scheduler =
        lab.get("scheduler").map_or("none", |table| table["choose"][0].as_str().unwrap());
    let scheduler = toml::toml! { choose = [scheduler] };
    lab.insert("scheduler".to_owned(), scheduler.into());
    if size.is_some() {
        for workload in lab["workload"].as_array_mut().unwrap() {
            shrink(workload.as_table_mut().unwrap());
        }
        if let Some(cuts) = lab.get_mut("trial").and_then(|trial| trial.get_mut("power_cut")) {
            *cuts = 1.into();
        }
    }
    for device in lab["device"].as_array_mut().unwrap() {
        on(device.as_table_mut().unwrap(), place, size);
    }
    for journal in lab.get_mut("journal").and_then(|all| all.as_array_mut()).into_iter().flatten() {
        on(journal.as_table_mut().unwrap(), place, None);
    }
    lab.to_string()
}

/// Replaces a device of the other backend.
fn on(device: &mut toml::Table, place: &str, size: Option<&str>) {
    let own = ["loop", "ram"].iter().find_map(|key| device.remove(*key));
    let modelled = device.get("model").map(|model| model["size"].clone());
    let Some(own) = own.or(modelled) else { return };
    let size = size.map_or(own, toml::Value::from);
    if place == "host" {
        device.remove("model");
        device.insert("ram".to_owned(), size);
    } else {
        let name =
            device.get("model").map_or("ssd-sata-250gb".into(), |model| model["name"].clone());
        let model = toml::Table::from_iter([("name".to_owned(), name), ("size".to_owned(), size)]);
        device.insert("model".to_owned(), model.into());
    }
}

/// Runs the first round of a lab, and returns the run; `Err` with the reason why this machine cannot.
pub(super) fn run(here: &Path, place: &str) -> Result<Value, String> {
    let mut command = seekwell(here);
    command.args(["run", "small.toml", "--no-screen", "-o", "small.seekwell", "--place", place]);
    if place == "host" {
        command.arg("--wait");
    } else {
        for tool in ["cp", "dd", "mkdir", "rm"].into_iter().filter_map(seekwell_testing::tool) {
            command.arg("--bring").arg(tool);
        }
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains(SECOND) && !said.contains(SECOND) {
            // It ends after the trial that it begins.
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        }
        said.push_str(&line);
        said.push('\n');
    }
    let status = child.wait().unwrap();
    let report = spoken(here, &["report", "small.seekwell", "--json"]);
    report.map_err(|_| said.clone()).map(|text| {
        let found: Value = serde_json::from_str(&text).unwrap();
        assert!(matches!(status.code(), Some(0 | 1 | 4)), "{said}");
        found
    })
}

/// Part of the lines of the second round.
const SECOND: &str = "  round 2  ";

/// Sizes of a device to try, smallest first.
const SIZES: [&str; 4] = ["512MiB", "1GiB", "2GiB", "4GiB"];

/// Words by which a command says that the machine or its lab kernel lacks something.
const LACKS: [&str; 5] = [
    "seekwell kernel build",
    "run the lab with --place virtual",
    "this kernel does not mount",
    "is not in the guest's root image",
    "is not installed",
];

/// Why a lab has no trials that can be ranked.
enum Failure {
    /// This machine lacks something.
    Skipped(String),
    Wrong(String),
}

impl Failure {
    fn of(why: String) -> Self {
        let is_lack = LACKS.iter().any(|words| why.contains(words));
        if is_lack { Self::Skipped(why) } else { Self::Wrong(why) }
    }
}

/// Doubts of a plan about the amounts of the lab.
fn doubts(plan: &Value) -> Vec<String> {
    let warnings = plan["warnings"].as_array().unwrap().iter();
    let of_lab = |one: &&Value| OF_THE_LAB.iter().any(|code| one["code"] == **code);
    warnings.filter(of_lab).map(|one| format!("{}: {}", one["code"], one["text"])).collect()
}

/// Drafts a lab and runs it at its smallest; `Ok` with the number of trials.
fn try_lab(author: &Author, place: &str) -> Result<usize, Failure> {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let text = author.draft(here, place).map_err(Failure::of)?;
    let plan = |size: Option<&str>| {
        std::fs::write(here.join("small.toml"), adapted(&text, place, size)).unwrap();
        let planned = spoken(here, &["plan", "small.toml", "--json", "--place", place]);
        planned.map(|text| doubts(&serde_json::from_str(&text).unwrap()))
    };
    let mut wrong = plan(None).map_err(Failure::of)?;
    // On the smallest device that it fits on.
    let fits = |size: &&&str| plan(Some(size)).is_ok_and(|doubts| doubts.is_empty());
    let fitting = SIZES.iter().find(fits);
    fitting.ok_or_else(|| Failure::Wrong("it fits on no device".to_owned()))?;
    let found = run(here, place).map_err(Failure::of)?;
    let trials = found["trials"].as_array().unwrap();
    let warned = |step: &Value| -> Vec<String> {
        let codes = step["warnings"].as_array().unwrap().iter();
        codes.map(|one| format!("{} of {}", one["code"], step["name"])).collect()
    };
    let steps = trials.iter().flat_map(|trial| trial["steps"].as_array().unwrap());
    let codes: BTreeSet<String> = steps.flat_map(warned).collect();
    eprintln!("  {place} {}: {} trials, {codes:?}", author.name(), trials.len());
    for trial in trials.iter().filter(|trial| trial["status"] != "ok") {
        wrong.push(format!("{} is {}", trial["stack"], trial["status"]));
    }
    match wrong.is_empty() && !trials.is_empty() {
        true => Ok(trials.len()),
        false => Err(Failure::Wrong(format!("{wrong:?} {codes:?}"))),
    }
}

/// Runs the labs of all authors, or a seeded sample of this many.
fn try_all(test: &str, place: &str, sample: usize) {
    let chosen = std::env::var("SEEKWELL_MARKS").ok();
    let mut all = authors();
    match chosen.as_deref() {
        Some("all") => {}
        Some(word) => all.retain(|author| author.name().contains(word)),
        None => {
            let kept = seekwell_testing::sample(all.len(), sample, seekwell_testing::seed());
            all = kept.into_iter().map(|at| all[at].clone()).collect();
        }
    }
    let (mut wrong, mut trials, mut skipped) = (Vec::new(), 0, 0);
    for author in &all {
        match try_lab(author, place) {
            Ok(count) => trials += count,
            Err(Failure::Wrong(what)) => wrong.push(format!("{}: {what}", author.name())),
            Err(Failure::Skipped(why)) => {
                skipped += 1;
                seekwell_testing::skip(&format!("{test}: {}", author.name()), &why);
            }
        }
    }
    eprintln!(
        "{place}: {} labs, {skipped} skipped, {trials} trials, {} labs wrong",
        all.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn labs_pass_their_own_marks_on_the_host() {
    let test = "labs_pass_their_own_marks_on_the_host";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root for loop devices and mounts");
    }
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    try_all(test, "host", 1);
}

#[test]
fn labs_pass_their_own_marks_in_guests() {
    try_all("labs_pass_their_own_marks_in_guests", "virtual", 2);
}
