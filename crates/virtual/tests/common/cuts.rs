//! Power cuts in numbers: a guest works once and is recorded; the power fails at many of its events;
//! other guests mount what is left, look for what was promised, and check it.

use std::path::Path;

use seekwell_device::{DeviceFile, Model, SectorRange};
use seekwell_virtual::instant::Instant;
use seekwell_virtual::kernel::Kernel;
use seekwell_virtual::machine::MOST_DISKS;
use seekwell_virtual::{
    Content, Cut, DiskParts, DiskSetup, Keeping, Outcome, Recording, RootBuilder, RootImage,
    Settings, Task, Trial, device_path, run,
};

/// What a filesystem needs in the guest.
pub fn tools(kind: &str) -> [&'static str; 2] {
    match kind {
        // mke2fs, which makes a journal outside, is the same program as mkfs.ext4.
        "ext4" => ["mkfs.ext4", "e2fsck"],
        "xfs" => ["mkfs.xfs", "xfs_repair"],
        _ => ["mkfs.btrfs", "btrfs"],
    }
}

/// Kernel, root image and a place for temporary files.
pub struct Bed {
    kernel: Kernel,
    root: RootImage,
    scratch: tempfile::TempDir,
    /// CPU that guests share with their clock.
    pub cpu: Option<usize>,
}

impl Bed {
    /// With the tools of one filesystem; the error names the tool that is missing.
    pub fn new(kernel: Kernel, kind: &str) -> Result<Self, &'static str> {
        let scratch = tempfile::tempdir().unwrap();
        let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
        let program = Path::new(env!("CARGO_BIN_EXE_seekwell-test-guest"));
        let mut builder = RootBuilder::new(program).unwrap();
        for tool in tools(kind) {
            builder.tool(&seekwell_testing::tool(tool).ok_or(tool)?).unwrap();
        }
        builder.text(Path::new("/etc/mke2fs.conf"), MKE2FS).unwrap();
        let root = builder.build(keeping).unwrap();
        Ok(Self { kernel, root, scratch, cpu: None })
    }

    pub fn settings(&self, seed: u64) -> Settings {
        Settings { seed, cpu: self.cpu, ..Settings::new(self.scratch.path()) }
    }

    pub fn run(
        &self,
        words: &str,
        input: &[u8],
        disks: Vec<DiskSetup>,
        settings: Settings,
    ) -> Outcome {
        let command = std::iter::once("/seekwell").chain(words.split(' '));
        let trial = Trial {
            kernel: &self.kernel.path,
            root: &self.root,
            disks,
            task: Task::Program(command.map(str::to_owned).collect()),
            input,
            settings,
        };
        run(trial, &mut |_| {}).unwrap()
    }

    pub fn keeping(&self) -> Keeping {
        Keeping { memory_bytes: 256 << 20, directory: self.scratch.path().into() }
    }
}

/// What mke2fs would read on this machine may differ from machine to machine.
const MKE2FS: &str = "[defaults]\nbase_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr\n\
    default_mntopts = acl,user_xattr\nenable_periodic_fsck = 0\nblocksize = 4096\ninode_size = 256\ninode_ratio = 16384\n\
    [fs_types]\next4 = {\nfeatures = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize\n}\n";

pub fn device_file(name: &str) -> DeviceFile {
    let path = format!("{}/../../devices/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A guest that worked, recorded.
pub struct Story {
    pub kind: String,
    /// Mount options, or `-`.
    pub options: String,
    pub device: String,
    /// Device of the journal, when it is outside.
    pub journal: Option<String>,
    pub seed: u64,
    pub outcome: Outcome,
    pub recording: Recording,
    pub journal_recording: Option<Recording>,
    /// When each request of any disk was done, in order.
    pub times_ns: Vec<u64>,
    /// Completions before the filesystem was mounted and ready.
    pub before: u64,
}

impl Story {
    /// `device` is the disk and, behind a comma, that of its journal.
    pub fn record(
        bed: &Bed,
        kind: &str,
        options: &str,
        device: &str,
        seed: u64,
        rounds: u64,
    ) -> Self {
        let settings = bed.settings(seed);
        let (device, journal) = match device.split_once(',') {
            Some((device, journal)) => (device, Some(journal)),
            None => (device, None),
        };
        let disk = |role: &str, device: &str| {
            let mut disk = DiskSetup::empty(role, model(device, seed), &settings);
            disk.parts.recording = Some(Recording::default());
            disk
        };
        let mut disks = vec![disk("data", device)];
        disks.extend(journal.map(|journal| disk("journal", journal)));
        let names = if journal.is_some() { "/dev/vda,/dev/vdb" } else { "/dev/vda" };
        let words = format!("endure {names} {kind} {options} {rounds}");
        let mut outcome = bed.run(&words, b"", disks, settings);
        let log = String::from_utf8_lossy(&outcome.log);
        assert!(outcome.end.is_success(), "{}\n{log}\n{}", outcome.end, outcome.console);
        let mut recordings = outcome.disks.iter_mut().map(|disk| disk.parts.recording.take());
        let recording = recordings.next().flatten().unwrap();
        let journal_recording = recordings.next().flatten();
        drop(recordings);
        let ready_ns = outcome.heard[0].at_ns;
        let done = |recording: &Recording| {
            recording.completions().iter().map(|done| done.at_ns).collect::<Vec<_>>()
        };
        let mut times_ns = done(&recording);
        times_ns.extend(journal_recording.iter().flat_map(done));
        times_ns.sort_unstable();
        let before = times_ns.partition_point(|at_ns| *at_ns <= ready_ns) as u64;
        let [kind, options, device] = [kind, options, device].map(str::to_owned);
        let journal = journal.map(str::to_owned);
        Self {
            kind,
            options,
            device,
            journal,
            seed,
            outcome,
            recording,
            journal_recording,
            times_ns,
            before,
        }
    }

    /// Events of the recording from the mounted filesystem on, drawn by the seed: sorted, none twice.
    pub fn draw(&self, count: usize) -> Vec<u64> {
        let last = self.times_ns.len() as u64;
        assert!(last - self.before >= count as u64, "there are not so many events");
        let mut drawn = std::collections::BTreeSet::new();
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while drawn.len() < count {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            drawn.insert(self.before + 1 + (state >> 20) % (last - self.before));
        }
        drawn.into_iter().collect()
    }

    /// When the event is.
    pub fn at_ns(&self, event: u64) -> u64 {
        self.times_ns[event as usize - 1]
    }

    /// The disk after a cut at this event. What it did not complete by then never happened, which is one
    /// of the ways in which power can fail.
    pub fn cut(&self, bed: &Bed, event: u64) -> Cut {
        self.cut_of(bed, &self.device, &self.recording, event)
    }

    /// The journal's device after it.
    pub fn journal_cut(&self, bed: &Bed, event: u64) -> Option<Cut> {
        let (device, recording) = (self.journal.as_ref()?, self.journal_recording.as_ref()?);
        Some(self.cut_of(bed, device, recording, event))
    }

    fn cut_of(&self, bed: &Bed, device: &str, recording: &Recording, event: u64) -> Cut {
        let at_ns = self.at_ns(event);
        let done = recording.completions().iter().filter(|done| done.at_ns <= at_ns).count();
        let model = model(device, self.seed);
        let content = Content::new(model.geometry().sectors_512, bed.keeping());
        recording.cut(model, content, done as u64).unwrap()
    }
}

pub fn model(device: &str, seed: u64) -> Box<dyn Model> {
    seekwell_device::build(&device_file(device), seed)
}

/// What became of a filesystem after a power cut.
#[derive(Clone, Debug)]
pub struct Survival {
    pub event: u64,
    pub at_ns: u64,
    pub submitted: usize,
    pub lost_sectors: u64,
    pub damaged_sectors: u64,
    /// `whole`, or what failed: `mount`, `promise`, `unmount`, `check`, `guest`.
    pub verdict: String,
    /// Number of promises that were looked for, or what went wrong.
    pub told: String,
}

/// Lets guests look at what cuts at these events leave.
pub fn survive(bed: &Bed, story: &Story, events: &[u64]) -> Vec<Survival> {
    let mut found = Vec::new();
    let mut rest = events;
    while !rest.is_empty() {
        let disks = if story.journal.is_some() { 2 } else { 1 };
        let (now, _) = rest.split_at(rest.len().min(MOST_DISKS / disks));
        let seen = look(bed, story, now);
        rest = &rest[seen.len()..];
        found.extend(seen);
    }
    found
}

/// One guest for several cuts; fewer answers than events when one of them ended the guest.
fn look(bed: &Bed, story: &Story, events: &[u64]) -> Vec<Survival> {
    let settings = bed.settings(1);
    let mut input = Vec::new();
    let mut disks = Vec::new();
    let mut found = Vec::new();
    for event in events {
        let cuts: Vec<Cut> =
            std::iter::once(story.cut(bed, *event)).chain(story.journal_cut(bed, *event)).collect();
        let names =
            (disks.len()..).take(cuts.len()).map(|at| device_path(at).display().to_string());
        input.extend(format!("device {}\n", names.collect::<Vec<_>>().join(",")).bytes());
        input.extend(whole_lines(story.outcome.output_by(story.at_ns(*event))));
        let sectors =
            |ranges: &mut dyn Iterator<Item = SectorRange>| ranges.map(|range| range.sectors).sum();
        let lost = || cuts.iter().map(|cut| &cut.lost);
        found.push(Survival {
            event: *event,
            at_ns: story.at_ns(*event),
            submitted: cuts[0].submitted,
            lost_sectors: sectors(&mut lost().flat_map(|lost| &lost.lost).map(|lost| lost.range)),
            damaged_sectors: sectors(&mut lost().flat_map(|lost| &lost.damaged).copied()),
            verdict: String::new(),
            told: String::new(),
        });
        for cut in cuts {
            let instant = Box::new(Instant::new(cut.content.sectors()));
            let mut parts = DiskParts::new(instant, cut.content);
            parts.damaged = cut.lost.damaged;
            disks.push(DiskSetup { role: format!("cut-{}", disks.len()), parts });
        }
    }
    let words = format!("survey {} {}", story.kind, story.options);
    let outcome = bed.run(&words, &input, disks, settings);
    let text = String::from_utf8(outcome.output.clone()).unwrap();
    let told = text.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' '));
    let answered = text.lines().count();
    for (survival, (verdict, told)) in found.iter_mut().zip(told) {
        survival.verdict = verdict.to_owned();
        survival.told = told.to_owned();
    }
    if answered < found.len() {
        found.truncate(answered + 1);
        found[answered].verdict = "guest".to_owned();
        found[answered].told = format!("{} {}", outcome.end, String::from_utf8_lossy(&outcome.log))
            .replace('\n', " | ");
    }
    found
}

/// A line that was not said to its end is no promise.
fn whole_lines(said: &[u8]) -> &[u8] {
    let end = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &said[..end]
}
