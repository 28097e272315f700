//! `run_file_cuts [COUNT]`: cuts the power of modelled disks at COUNT seeded instants (1,000) while a run file is
//! written to ext4, xfs and btrfs, and resumes each. Fails unless every trial that was kept is there, at most one
//! trial runs again, and the verdict is that of the uninterrupted run.
//!
//! The program runs twice: here, and in guests of the lab kernel (`seekwell kernel build`) as the first process.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a measurement that cannot be made must not look like one"
)]

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use seekwell_device::Model;
use seekwell_model::lab::Effort;
use seekwell_model::plan::Plan;
use seekwell_model::record::Record;
use seekwell_store::{Integrity, RunFile};
use seekwell_virtual::instant::Instant;
use seekwell_virtual::kernel::{self, Kernel};
use seekwell_virtual::machine::MOST_DISKS;
use seekwell_virtual::{
    Content, DiskParts, DiskSetup, Keeping, Outcome, Recording, RootBuilder, RootImage, Settings,
    Task, Trial, device_path, run,
};

/// Filesystems, their programs, and the device of each.
const KINDS: [(&str, [&str; 2], &str); 3] = [
    ("ext4", ["mkfs.ext4", "e2fsck"], "ide-40gb-2005"),
    ("xfs", ["mkfs.xfs", "xfs_repair"], "sata-2tb-5400"),
    ("btrfs", ["mkfs.btrfs", "btrfs"], "ssd-sata-250gb"),
];

const COUNT: usize = 1000;
/// Cuts in one recorded guest.
const CUTS_PER_STORY: usize = 50;
const ROUNDS: u32 = 10;
const POINT: &str = "/mnt/disk";

fn main() {
    if seekwell_virtual::guest::is_first_process() {
        let error = seekwell_virtual::guest::serve().err();
        panic!("the guest could not serve: {error:?}");
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["keep", device, kind] => keep(device, kind),
        ["resume", kind] => resume(kind),
        ["--bench"] | [] => cut(COUNT),
        [count] => cut(count.parse().unwrap()),
        other => panic!("unknown: {other:?}"),
    }
}

// In the guest.

fn the_plan() -> Plan {
    let effort = Effort::Rounds(ROUNDS);
    let lab =
        seekwell_fixtures::lab("unpack.elapsed_durable", effort, vec![seekwell_fixtures::mail()]);
    let stacks = ["ext4", "xfs", "btrfs"].map(|kind| seekwell_fixtures::stack(kind, "none"));
    seekwell_fixtures::plan(lab, stacks.to_vec(), ROUNDS)
}

/// The scripted record of a trial: stacks 2 % apart, with noise that follows from the index.
fn the_record(index: u32) -> Record {
    let noise = f64::from(index.wrapping_mul(2_654_435_761) >> 24) / 25_600.0;
    let value = 1.0 + 0.02 * f64::from(index % 3) + noise;
    let mut step = seekwell_fixtures::step("unpack", "elapsed_durable", value);
    // Bytes that do not compress give each record pages of its own.
    let mut state = u64::from(index) + 1;
    let noise = (0..6_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as u8
    });
    step.histograms.insert("write".to_owned(), noise.collect());
    seekwell_fixtures::record(vec![step])
}

fn attach(device: &str, kind: &str) -> std::io::Result<()> {
    fs::create_dir_all(POINT)?;
    Ok(mount(device, POINT, kind, MountFlags::NOATIME, CString::default().as_c_str())?)
}

fn run_file() -> PathBuf {
    Path::new(POINT).join("run.seekwell")
}

/// Makes a filesystem and a run on it; says after each trial that it is kept.
fn keep(device: &str, kind: &str) {
    let words: &[&str] = match kind {
        "ext4" => &["mkfs.ext4", "-q", "-F", "-b", "4096", device, "256M"],
        "xfs" => &["mkfs.xfs", "-q", "-f", "-d", "size=512m", device],
        _ => &["mkfs.btrfs", "-q", "-f", "-b", "256M", device],
    };
    let made = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    attach(device, kind).unwrap();
    println!("mounted");
    let plan = the_plan();
    let environment = serde_json::json!({ "place": "virtual" });
    let mut file = RunFile::create(&run_file(), &plan, &environment).unwrap();
    println!("created");
    for trial in &plan.trials {
        file.append(trial, &the_record(trial.index)).unwrap();
        println!("kept {}", trial.index);
    }
    drop(file);
    unmount(POINT, UnmountFlags::empty()).unwrap();
}

/// Takes lines `DEVICE KEPT`, where KEPT is the number of trials that were said to be kept, or `-` before the
/// file was made; resumes each run and tells how many trials it had.
fn resume(kind: &str) {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    for line in input.lines() {
        let (device, said) = line.split_once(' ').unwrap();
        attach(device, kind).unwrap();
        let told = match resumed(said.parse().ok()) {
            Ok(found) => format!("whole {found}"),
            Err(problem) => format!("wrong {}", problem.replace('\n', " | ")),
        };
        unmount(POINT, UnmountFlags::empty()).unwrap();
        if kind == "btrfs" {
            // Every image has the same identity; the kernel must not take the next for this one.
            let _ = Command::new("btrfs").args(["device", "scan", "--forget", device]).output();
        }
        println!("{told}");
        std::io::stdout().flush().unwrap();
    }
}

/// Number of trials found.
fn resumed(said: Option<usize>) -> Result<usize, String> {
    let plan = the_plan();
    let exists = run_file().exists();
    if said.is_some() && !exists {
        return Err("the run file is gone".to_owned());
    }
    let mut file = if exists {
        RunFile::open_for_append(&run_file())
    } else {
        RunFile::create(&run_file(), &plan, &serde_json::json!({ "place": "virtual" }))
    }
    .map_err(|error| error.to_string())?;
    let wrong = |error: seekwell_store::StoreError| error.to_string();
    if !matches!(file.verify().map_err(wrong)?, Integrity::Intact { .. }) {
        return Err("the digests do not match".to_owned());
    }
    let completed = file.completed().map_err(wrong)?;
    let (found, said) = (completed.len(), said.unwrap_or(0));
    if found < said || found > said + 1 {
        return Err(format!("{found} trials are there, and {said} were kept"));
    }
    for trial in plan.trials.iter().filter(|trial| !completed.contains(&trial.index)) {
        file.append(trial, &the_record(trial.index)).map_err(wrong)?;
    }
    let judged = |records: Vec<_>| {
        let outcomes = seekwell_runner::records::outcomes(&plan, records);
        seekwell_runner::judge::judge(
            &plan,
            &seekwell_runner::records::worth_keeping(&plan, outcomes, false),
        )
    };
    let whole = plan.trials.iter().map(|trial| (*trial, the_record(trial.index))).collect();
    let again = file.records().map_err(wrong)?;
    if judged(again) != judged(whole) {
        return Err("the verdict differs from that of the uninterrupted run".to_owned());
    }
    Ok(found)
}

// On this machine.

struct Bed {
    kernel: Kernel,
    root: RootImage,
    scratch: tempfile::TempDir,
}

impl Bed {
    fn new(tools: &[&str]) -> Self {
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home =
            home.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
        let kernels = kernel::list(&home.join("seekwell/kernels")).unwrap_or_default();
        let kernel = kernels.into_iter().find(Kernel::is_current);
        let Some(kernel) = kernel else {
            eprintln!("no lab kernel of this version; build it with: seekwell kernel build");
            std::process::exit(1);
        };
        let scratch = tempfile::tempdir().unwrap();
        let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
        let mut builder = RootBuilder::new(&std::env::current_exe().unwrap()).unwrap();
        for tool in tools {
            builder
                .tool(&seekwell_testing::tool(tool).unwrap_or_else(|| panic!("{tool} is missing")))
                .unwrap();
        }
        builder.file(Path::new("/etc/mke2fs.conf"), Path::new("/etc/mke2fs.conf")).unwrap();
        let root = builder.build(keeping).unwrap();
        Self { kernel, root, scratch }
    }

    fn settings(&self, seed: u64) -> Settings {
        Settings { seed, ..Settings::new(self.scratch.path()) }
    }

    fn run(&self, words: &[&str], input: &[u8], disks: Vec<DiskSetup>, seed: u64) -> Outcome {
        let command = std::iter::once("/seekwell").chain(words.iter().copied());
        let trial = Trial {
            kernel: &self.kernel.path,
            root: &self.root,
            disks,
            task: Task::Program(command.map(str::to_owned).collect()),
            input,
            settings: self.settings(seed),
        };
        let outcome = run(trial, &mut |_| {}).unwrap();
        let log = String::from_utf8_lossy(&outcome.log);
        assert!(outcome.end.is_success(), "{}\n{log}\n{}", outcome.end, outcome.console);
        outcome
    }

    fn empty(&self, model: &dyn Model) -> Content {
        let directory = self.scratch.path().into();
        Content::new(model.geometry().sectors_512, Keeping { memory_bytes: 256 << 20, directory })
    }
}

fn model(name: &str, seed: u64) -> Box<dyn Model> {
    let catalogue = seekwell_device::catalogue().unwrap();
    seekwell_device::build(&catalogue[name], seed)
}

fn cut(count: usize) {
    println!("filesystem,device,seed,at_ns,lost_sectors,kept,found");
    let stories = count.div_ceil(CUTS_PER_STORY);
    let (mut cuts, mut wrong, mut again) = (0, 0, 0);
    for story in 0..stories {
        let (kind, tools, device) = KINDS[story % KINDS.len()];
        let wanted = (count - cuts).min(CUTS_PER_STORY);
        for (kept, found) in tell(&Bed::new(&tools), kind, device, story as u64 + 1, wanted) {
            cuts += 1;
            match found {
                Ok(found) => again += usize::from(found < kept.unwrap_or(0)),
                Err(_) => wrong += 1,
            }
        }
    }
    eprintln!("{cuts} power cuts, {wrong} runs not resumed as promised, {again} with a trial lost");
    std::process::exit(i32::from(wrong + again > 0));
}

/// Trials that were said to be kept before a cut, and the trials that the resumed run found.
type Told = (Option<usize>, Result<usize, String>);

/// Records a guest that keeps a run, and resumes the run after so many cuts.
fn tell(bed: &Bed, kind: &str, device: &str, seed: u64, count: usize) -> Vec<Told> {
    let settings = bed.settings(seed);
    let mut disk = DiskSetup::empty("data", model(device, seed), &settings);
    disk.parts.recording = Some(Recording::default());
    let mut outcome = bed.run(&["keep", "/dev/vda", kind], b"", vec![disk], seed);
    let recording = outcome.disks[0].parts.recording.take().unwrap();
    let ready_ns = outcome.heard[0].at_ns;
    let done: Vec<u64> = recording.completions().iter().map(|done| done.at_ns).collect();
    let before = done.partition_point(|at_ns| *at_ns <= ready_ns);
    let mut events = std::collections::BTreeSet::new();
    let mut number = 0;
    while events.len() < count.min(done.len() - before) {
        let drawn = seekwell_stats::derive_seed(seed, &format!("cut {number}"));
        events.insert(before as u64 + 1 + drawn % (done.len() - before) as u64);
        number += 1;
    }
    let events: Vec<u64> = events.into_iter().collect();
    events
        .chunks(MOST_DISKS)
        .flat_map(|events| look(bed, (kind, device, seed), (&recording, &done, &outcome), events))
        .collect()
}

/// One guest that resumes the runs of several cuts.
fn look(
    bed: &Bed,
    (kind, device, seed): (&str, &str, u64),
    (recording, done, outcome): (&Recording, &[u64], &Outcome),
    events: &[u64],
) -> Vec<Told> {
    let (mut input, mut disks, mut asked) = (String::new(), Vec::new(), Vec::new());
    for (position, event) in events.iter().enumerate() {
        let model = model(device, seed);
        let content = bed.empty(&*model);
        let cut = recording.cut(model, content, *event).unwrap();
        let at_ns = done[*event as usize - 1];
        let said = String::from_utf8_lossy(outcome.output_by(at_ns)).into_owned();
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        let created = whole.lines().any(|line| line == "created");
        let kept = created.then(|| whole.lines().filter(|line| line.starts_with("kept ")).count());
        let path = device_path(position);
        let text = kept.map_or_else(|| "-".to_owned(), |kept| kept.to_string());
        input.push_str(&format!("{} {text}\n", path.display()));
        let lost: u64 = cut.lost.lost.iter().map(|lost| lost.range.sectors).sum();
        let mut parts = DiskParts::new(Box::new(Instant::new(cut.content.sectors())), cut.content);
        parts.damaged = cut.lost.damaged;
        disks.push(DiskSetup { role: format!("cut-{position}"), parts });
        asked.push((kept, at_ns, lost));
    }
    let outcome = bed.run(&["resume", kind], input.as_bytes(), disks, 1);
    let text = String::from_utf8_lossy(&outcome.output).into_owned();
    assert_eq!(text.lines().count(), asked.len(), "{text}");
    let told = |((kept, at_ns, lost), line): ((Option<usize>, u64, u64), &str)| {
        let found = match line.split_once(' ') {
            Some(("whole", found)) => Ok(found.parse().unwrap()),
            _ => Err(line.to_owned()),
        };
        let kept_text = kept.map_or_else(|| "-".to_owned(), |kept: usize| kept.to_string());
        let found_text = line.strip_prefix("whole ").unwrap_or(line).replace(',', ";");
        println!("{kind},{device},{seed},{at_ns},{lost},{kept_text},{found_text}");
        (kept, found)
    };
    asked.into_iter().zip(text.lines()).map(told).collect()
}
