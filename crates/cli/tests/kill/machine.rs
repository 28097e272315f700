//! What a run must leave as it found it. Other runs of this machine are none of its business: they
//! are told apart by the directory that holds the program and the images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Settings of a queue that outlive a loop device. `read_ahead_kb` is not among them: the kernel
/// itself sets it at the first attachment of a device, from 128 to 2560.
const SETTINGS: [&str; 2] = ["scheduler", "nr_requests"];

/// State of the machine as far as the run may change it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Loop devices over images of the run.
    loops: Vec<String>,
    /// Disks in compressed memory of the size that the labs here give them, or not set up.
    zrams: Vec<String>,
    /// Arrays and mapped devices of the whole machine, their nodes, and mdadm's notes on new ones.
    layers: Vec<String>,
    mounts: Vec<String>,
    /// Threads of the kernel that serve NFS or its locks.
    servers: Vec<String>,
    cgroups: Vec<String>,
    processes: Vec<u32>,
    /// Files in the run's directory, run files excepted.
    files: Vec<PathBuf>,
}

/// The state before, and the queues of all loop devices that were free then.
pub struct Machine {
    directory: PathBuf,
    before: State,
    queues: BTreeMap<String, String>,
    /// Loop devices that the run has used.
    used: Vec<String>,
}

impl Machine {
    pub fn look(directory: &Path) -> Self {
        let directory = directory.to_owned();
        let before = State::now(&directory);
        let free = loop_names().filter(|name| !is_attached(name));
        let queues = free.map(|name| (name.clone(), queue(&name))).collect();
        Self { directory, before, queues, used: vec![] }
    }

    /// Remembers which loop devices the run uses now.
    pub fn note_devices(&mut self) {
        self.used.extend(loops_of(&self.directory));
    }

    /// Arrays, mapped devices, disks in compressed memory and servers of NFS that were not there before.
    pub fn new_layers(&self) -> Vec<String> {
        let mut now = layer_devices();
        now.retain(|name| !self.before.layers.contains(name));
        now.extend(zrams().into_iter().filter(|name| !self.before.zrams.contains(name)));
        let servers = mounts().into_iter().filter(|line| !self.before.mounts.contains(line));
        now.extend(servers.filter(|line| line.starts_with("nfsd ")));
        now
    }

    pub fn assert_restored_within(&self, limit: Duration, after: &str) {
        let begun = Instant::now();
        loop {
            let now = State::now(&self.directory);
            let changed = self.changed_queues();
            if now == self.before && changed.is_empty() {
                return;
            }
            assert!(
                begun.elapsed() < limit,
                "{limit:?} after {after} the machine is not as it was\nqueues: {changed:#?}\nbefore: {:#?}\nnow: {now:#?}",
                self.before
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Queues of devices that the run used and that differ from before. A device that was in use, or exists only
    /// since the run, has the kernel's settings to go back to, which are those of all free ones. One that another
    /// program has attached since may have that program's settings, but not the schedulers of these labs.
    fn changed_queues(&self) -> Vec<String> {
        let usual = self.queues.values().next();
        let changed = |name: &&String| {
            let before = self.queues.get(*name).or(usual);
            let scheduler = |text: &str| text.split('[').nth(1).map(str::to_owned);
            match (self.queues.get(*name), before) {
                _ if is_attached(name) => {
                    LAB_SCHEDULERS.iter().any(|one| queue(name).contains(one))
                }
                (Some(exact), _) => queue(name) != *exact,
                (None, Some(usual)) => scheduler(&queue(name)) != scheduler(usual),
                (None, None) => !queue(name).contains("[none]"),
            }
        };
        self.used.iter().filter(changed).map(|name| format!("{name}: {}", queue(name))).collect()
    }
}

/// Schedulers of the labs of this file, as the kernel shows one in force.
const LAB_SCHEDULERS: [&str; 2] = ["[mq-deadline]", "[bfq]"];

fn is_attached(name: &str) -> bool {
    Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists()
}

fn loop_names() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/sys/block").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("loop"))
}

fn loops_of(directory: &Path) -> Vec<String> {
    let ours = |name: &String| {
        let file = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
        file.is_ok_and(|file| file.contains(directory.to_str().unwrap()))
    };
    loop_names().filter(ours).collect()
}

fn zrams() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/block").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_counted = |name: &String| {
        let size = std::fs::read_to_string(format!("/sys/block/{name}/disksize"));
        let ours = (super::ZRAM_MIB << 20).to_string();
        size.is_ok_and(|size| [ours.as_str(), "0"].contains(&size.trim()))
    };
    names.filter(is_counted).collect()
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).ok().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn is_layer(name: &str) -> bool {
    ["md", "dm-", "bcache"].iter().any(|prefix| name.starts_with(prefix))
}

fn layer_devices() -> Vec<String> {
    names("/sys/block").into_iter().filter(|name| is_layer(name)).collect()
}

fn layers() -> Vec<String> {
    let mut found = layer_devices();
    let nodes = names("/dev").into_iter().filter(|name| is_layer(name));
    found.extend(nodes.map(|name| format!("/dev/{name}")));
    for folder in ["/dev/mapper", "/dev/md", "/run/mdadm"] {
        let inside = names(folder).into_iter().filter(|name| name != "map");
        found.extend(inside.map(|name| format!("{folder}/{name}")));
    }
    found.sort();
    found
}

fn mounts() -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    mounts.lines().map(str::to_owned).collect()
}

/// The mounts, without those of other tests' loop devices and in their temporary folders.
fn mounts_of(directory: &Path) -> Vec<String> {
    let (ours, temporary) = (loops_of(directory), std::env::temp_dir());
    let is_ours = |line: &String| match line.strip_prefix("/dev/") {
        Some(rest) if rest.starts_with("loop") => {
            ours.iter().any(|name| rest.split(' ').next() == Some(name.as_str()))
        }
        _ => !line.split(' ').nth(1).is_some_and(|point| Path::new(point).starts_with(&temporary)),
    };
    mounts().into_iter().filter(is_ours).collect()
}

/// Threads of the kernel that serve NFS or its locks.
fn servers() -> Vec<String> {
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    let mut found: Vec<String> =
        super::victims::process_ids().into_iter().filter_map(name).collect();
    found.retain(|name| ["nfsd", "lockd"].contains(&name.trim()));
    found.sort();
    found
}

fn queue(name: &str) -> String {
    let read = |file: &str| {
        let path = format!("/sys/block/{name}/queue/{file}");
        std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    };
    SETTINGS.map(read).join(" ")
}

impl State {
    fn now(directory: &Path) -> Self {
        Self {
            loops: loops_of(directory),
            zrams: zrams(),
            layers: layers(),
            mounts: mounts_of(directory),
            servers: servers(),
            cgroups: cgroups(),
            processes: processes(directory),
            files: files(directory),
        }
    }
}

/// Memory groups of the labs of this file.
fn cgroups() -> Vec<String> {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"]
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path().display().to_string())
        .filter(|path| path.contains("seekwell-"))
        .filter(|path| {
            ["-kill", "-memory", "-arrays", "-disk", "-kinds", "-dirty", "-over-nfs", "-export"]
                .iter()
                .any(|end| path.ends_with(end))
        })
        .collect()
}

fn processes(directory: &Path) -> Vec<u32> {
    let is_ours = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(directory))
    };
    super::victims::process_ids().into_iter().filter(is_ours).collect()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !path.to_string_lossy().contains(".seekwell"))
        .collect();
    files.sort();
    files
}
