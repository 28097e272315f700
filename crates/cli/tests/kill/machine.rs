//! What a run must leave as it found it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// State of the machine as far as a run may change it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Loop devices by backing file.
    loops: Vec<String>,
    mounts: Vec<String>,
    /// Scheduler, nr_requests and read_ahead_kb of every loop device that is free.
    queues: BTreeMap<String, String>,
    cgroups: Vec<String>,
    processes: Vec<String>,
    /// Files in the run's directory, run files excepted.
    files: Vec<PathBuf>,
}

/// The state before, and where the run works.
pub struct Machine {
    directory: PathBuf,
    before: State,
}

impl Machine {
    pub fn look(directory: &Path) -> Self {
        let directory = directory.to_owned();
        let before = State::now(&directory);
        Self { directory, before }
    }

    pub fn assert_restored_within(&self, limit: Duration, after: &str) {
        let begun = Instant::now();
        loop {
            let mut now = State::now(&self.directory);
            // A device that exists only since the run is not one whose settings the run changed.
            now.queues.retain(|name, _| self.before.queues.contains_key(name));
            if now == self.before {
                return;
            }
            assert!(
                begun.elapsed() < limit,
                "{limit:?} after {after} the machine is not as it was\nbefore: {:#?}\nnow: {now:#?}",
                self.before
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl State {
    fn now(directory: &Path) -> Self {
        let mut loops = vec![];
        let mut queues = BTreeMap::new();
        for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with("loop") {
                continue;
            }
            match std::fs::read_to_string(entry.path().join("loop/backing_file")) {
                Ok(file) => loops.push(file.trim().to_owned()),
                Err(_) => {
                    let read = |file: &str| {
                        let path = entry.path().join("queue").join(file);
                        std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
                    };
                    let values = ["scheduler", "nr_requests", "read_ahead_kb"].map(read);
                    queues.insert(name, values.join(" "));
                }
            }
        }
        loops.sort();
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        Self {
            loops,
            mounts: mounts.lines().map(str::to_owned).collect(),
            queues,
            cgroups: cgroups(),
            processes: processes(),
            files: files(directory),
        }
    }
}

fn cgroups() -> Vec<String> {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"]
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path().display().to_string())
        .filter(|path| path.contains("seekwell"))
        .collect()
}

/// Processes of the binary under test; zombies that nobody has waited for yet are gone already.
fn processes() -> Vec<String> {
    let binary = Path::new(super::seekwell());
    super::victims::process_ids()
        .into_iter()
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary))
        .map(|pid| pid.to_string())
        .collect()
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
