//! Random programs run on a real directory, whose trace is replayed in every order that its plan
//! allows: no result may differ. A missing order, or a wrong initial tree, shows itself.

use super::{Choice, Plan, Script, assert_ordered};
use crate::action::Action;
use crate::jail;
use crate::perform::{Buffer, Performer};
use crate::rebuild::{Content, rebuild};
use crate::slot::{Slot, close};
use proptest::prelude::*;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, SeekFrom};
use rustix::io::Errno;
use seekwell_trace::FileId;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const PATHS: [&str; 9] = ["/a", "/b", "/d", "/d/a", "/d/b", "/d/e", "/d/e/a", "/f", "/f/a"];

/// A program that runs for real and writes down its calls.
struct Recorder {
    root: PathBuf,
    script: Script,
    open: HashMap<(u32, i32), (OwnedFd, &'static str, FileId)>,
    inodes: HashMap<&'static str, (String, u64)>,
    versions: u64,
}

fn value<T>(done: &Result<T, Errno>, of: impl Fn(&T) -> i64) -> i64 {
    done.as_ref().map_or_else(|errno| -i64::from(errno.raw_os_error()), of)
}

impl Recorder {
    fn real(&self, path: &str) -> PathBuf {
        self.root.join(&path[1..])
    }

    /// As the recorder of live loads: a new inode at a path is a new file.
    fn opened(&mut self, path: &'static str, file: &OwnedFd) -> FileId {
        let facts = rustix::fs::fstat(file).unwrap();
        let known = self.inodes.get(path).map(|(_, inode)| *inode);
        if known != Some(facts.st_ino) {
            self.versions += 1;
            self.inodes.insert(path, (format!("{path}#{}", self.versions), facts.st_ino));
        }
        let key = self.inodes[path].0.clone();
        let id = self.script.file(&key);
        let entry = &mut self.script.files[id.0 as usize];
        entry.path = Some(path.to_owned());
        entry.mode.get_or_insert(facts.st_mode);
        entry.bytes.get_or_insert(facts.st_size.cast_unsigned());
        id
    }

    fn id(&mut self, path: &'static str) -> FileId {
        let key = self.inodes.get(path).map_or(path.to_owned(), |(key, _)| key.clone());
        self.script.file(&key)
    }

    fn open(&mut self, process: u32, path: &'static str, flags: OFlags) {
        let opened = rustix::fs::open(self.real(path), flags, Mode::from_raw_mode(0o644));
        let id = match &opened {
            Ok(file) => self.opened(path, file),
            Err(_) => self.id(path),
        };
        let fd = (3..).find(|fd| !self.open.contains_key(&(process, *fd))).unwrap();
        let result = value(&opened, |_| fd.into());
        let event = self.script.call(process, "openat", result);
        (event.file, event.flags) = (Some(id), Some(flags.bits().into()));
        if let Ok(file) = opened {
            event.fd = Some(fd);
            self.open.insert((process, fd), (file, path, id));
        }
    }

    fn path(&mut self, process: u32, call: &str, path: &'static str, done: Result<(), Errno>) {
        let id = self.id(path);
        let event = self.script.call(process, call, value(&done, |()| 0));
        event.file = Some(id);
        if call == "unlinkat" {
            event.flags = Some(0x200);
        }
        if call.starts_with("mk") {
            event.flags = Some(0o755);
        }
    }

    fn two(&mut self, process: u32, call: &str, from: &'static str, to: &'static str) {
        let (real, real_to) = (self.real(from), self.real(to));
        let done = match call {
            "link" => rustix::fs::link(real, real_to),
            _ => rustix::fs::renameat_with(CWD, real, CWD, real_to, RenameFlags::empty()),
        };
        let (from, to) = (self.id(from), self.id(to));
        let event = self.script.call(process, call, value(&done, |()| 0));
        (event.file, event.to_file) = (Some(from), Some(to));
    }

    fn on_file(&mut self, process: u32, kind: u8, pick: usize, size: u64) {
        let mut own: Vec<i32> =
            self.open.keys().filter(|(owner, _)| *owner == process).map(|(_, fd)| *fd).collect();
        own.sort_unstable();
        let Some(fd) = own.get(pick % own.len().max(1)).copied() else { return };
        let (file, _, id) = &self.open[&(process, fd)];
        let id = *id;
        let position = rustix::fs::seek(file, SeekFrom::Current(0)).ok();
        let mut data = vec![1_u8; size as usize];
        let (call, result, offset, length) = match kind {
            0 => ("read", value(&rustix::io::read(file, &mut data), |n| *n as i64), position, size),
            1 => ("write", value(&rustix::io::write(file, &data), |n| *n as i64), position, size),
            2 => {
                let done = rustix::io::pread(file, &mut data, size / 2);
                ("pread64", value(&done, |n| *n as i64), Some(size / 2), size)
            }
            3 => {
                let done = rustix::io::pwrite(file, &data, size * 2);
                ("pwrite64", value(&done, |n| *n as i64), Some(size * 2), size)
            }
            4 => {
                let done = rustix::fs::seek(file, SeekFrom::Start(size));
                ("lseek", value(&done, |at| *at as i64), Some(size), 0)
            }
            5 => ("ftruncate", value(&rustix::fs::ftruncate(file, size), |()| 0), None, size),
            6 => ("fsync", value(&rustix::fs::fsync(file), |()| 0), None, 0),
            _ => {
                drop(self.open.remove(&(process, fd)));
                ("close", 0, None, 0)
            }
        };
        let event = self.script.call(process, call, result);
        (event.fd, event.file, event.offset) = (Some(fd), Some(id), offset);
        event.length = Some(length);
        event.flags = Some(0).filter(|_| call == "lseek");
    }

    fn step(&mut self, (kind, process, path, other, size): Step) {
        let (path, other) = (PATHS[path % PATHS.len()], PATHS[other % PATHS.len()]);
        let real = self.real(path);
        let mode = Mode::from_raw_mode(0o755);
        match kind {
            0 => self.open(process, path, OFlags::RDWR | OFlags::CREATE),
            1 => self.open(process, path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL),
            2 => self.open(process, path, OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC),
            3 => self.open(process, path, OFlags::RDONLY),
            4 => self.path(process, "mkdir", path, rustix::fs::mkdir(real, mode)),
            5 => self.path(process, "unlinkat", path, rustix::fs::rmdir(real)),
            6 | 7 => self.path(process, "unlink", path, rustix::fs::unlink(real)),
            8 | 9 => self.two(process, "rename", path, other),
            10 => self.two(process, "link", path, other),
            11 => self.path(process, "newfstatat", path, rustix::fs::stat(real).map(drop)),
            12 => self.path(process, "truncate", path, Err(Errno::NOENT)),
            kind => self.on_file(process, kind - 13, other.len() + path.len(), size),
        }
    }
}

type Step = (u8, u32, usize, usize, u64);

/// Runs a program; returns its trace and the tree it left.
fn record(before: &[(usize, u64)], steps: &[Step]) -> (Script, BTreeMap<PathBuf, u64>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    for (path, bytes) in before {
        let path = root.join(&PATHS[path % PATHS.len()][1..]);
        if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
            // A directory may be in its place.
            let _ = std::fs::write(path, vec![0; *bytes as usize]);
        }
    }
    let (open, inodes) = (HashMap::new(), HashMap::new());
    let script = Script::default();
    let mut recorder = Recorder { root, script, open, inodes, versions: 0 };
    for step in steps.iter().filter(|step| step.0 != 12) {
        recorder.step(*step);
    }
    let left = tree(folder.path());
    (recorder.script, left)
}

/// Files and their sizes; directories have none.
fn tree(root: &Path) -> BTreeMap<PathBuf, u64> {
    let mut all = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let facts = entry.metadata().unwrap();
            if facts.is_dir() {
                left.push(entry.path());
            }
            let bytes = if facts.is_dir() { 0 } else { facts.len() };
            all.insert(entry.path().strip_prefix(root).unwrap().to_owned(), bytes);
        }
    }
    all
}

/// Replays in an order that the seed draws among those that the plan allows; returns the operations
/// whose result differs.
fn replay_in_some_order(plan: &Plan, target: &Path, seed: u64) -> Vec<String> {
    let work = || {
        let slots: Vec<Slot> = (0..plan.slots).map(|_| Slot::new(-1)).collect();
        let data = Buffer::new(&Content::Zeros.piece(4096));
        let mut performer = Performer::new(&slots, &plan.paths, &data);
        let lanes: Vec<_> = (0..plan.lanes()).map(|lane| plan.operations(lane)).collect();
        let mut done = vec![0_usize; lanes.len()];
        let mut rng = seekwell_stats::seeded(seed);
        let mut differing = Vec::new();
        loop {
            let ready: Vec<usize> = (0..lanes.len())
                .filter(|lane| {
                    lanes[*lane].get(done[*lane]).is_some_and(|one| {
                        let is_done =
                            |(other, number): &(u32, u64)| done[*other as usize] as u64 >= *number;
                        one.after.iter().all(is_done)
                    })
                })
                .collect();
            let Some(lane) = ready.get(rng.next_u64() as usize % ready.len().max(1)) else { break };
            let one = &lanes[*lane][done[*lane]];
            done[*lane] += 1;
            let result = performer.perform(one);
            let exact = !matches!(one.action, Action::Open);
            let same = match result {
                Ok(result) if exact => result == one.expected,
                Ok(result) => result.min(0) == one.expected.min(0),
                Err(_) => false,
            };
            if !same && !one.added && one.action != Action::Order {
                let path = plan.path(one.path).unwrap_or_default();
                differing.push(format!("lane {lane} {:?} {path} {one:?}: {result:?}", one.action));
            }
        }
        for slot in &slots {
            close(slot.take());
        }
        Ok(differing)
    };
    jail::within(target, work).unwrap()
}

/// Says once that this machine cannot run the cases.
static SKIPPED: std::sync::Once = std::sync::Once::new();

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_order_that_the_plan_allows_gives_the_recorded_results(
        before in proptest::collection::vec((0_usize..9, 0_u64..5000), 0..1),
        steps in proptest::collection::vec(
            (0_u8..21, 1_u32..5, 0_usize..9, 0_usize..9, 0_u64..5000), 1..60),
        seed: u64,
    ) {
        if !seekwell_testing::root() {
            SKIPPED.call_once(|| {
                let why = "needs root to change the root directory";
                seekwell_testing::skip("every_order_that_the_plan_allows", why);
            });
            return Ok(());
        }
        let (script, left) = record(&before, &steps);
        // Other errors do not tell which part of a path they are about, and change nothing.
        let mut script = script;
        let told = [libc::ENOENT, libc::EEXIST].map(|error| Some(-i64::from(error)));
        script.events.retain(|event| !event.failed() || told.contains(&event.result));
        prop_assume!(!script.events.is_empty());
        let Ok(plan) = script.plan(&Choice::default()) else { return Ok(()) };
        assert_ordered(&plan);
        for attempt in 0..3 {
            let target = tempfile::tempdir().unwrap();
            rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
            let differing = replay_in_some_order(&plan, target.path(), seed.wrapping_add(attempt));
            prop_assert!(differing.is_empty(), "{:#?}\n{:#?}\n{:#?}", plan.tree, script.events.iter().map(|e| (e.process, e.call.call().name, e.fd, e.file, e.to_file, e.offset, e.length, e.result)).collect::<Vec<_>>(), differing);
            let now = tree(target.path());
            // A directory that could not be removed holds something that no call names; and a call that
            // fails tells of files that are not in the way later.
            let made = now.keys().filter(|path| !path.ends_with("not recorded"));
            let wrong: Vec<_> = made.filter(|path| !left.contains_key(*path)).collect();
            prop_assert!(wrong.is_empty(), "{wrong:?}");
        }
    }
}
