//! The devices of the trial under way, sampled from outside.

use crate::progress::state::State;
use seekwell_model::record::Sample;
use seekwell_observe::clock::monotonic_ns;
use seekwell_observe::timeline::{Live, TimelineOptions};
use seekwell_observe::watched::Watched;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Samples kept for a sparkline.
const KEPT: usize = 240;

/// A device of the run.
pub struct Device {
    pub name: String,
    pub samples: VecDeque<Sample>,
    live: Live,
}

/// Those that exist now: loop devices come and go with every trial.
#[derive(Default)]
pub struct Devices {
    pub all: Vec<Device>,
}

impl Devices {
    /// The counters of the last trial's devices are not to be continued.
    pub fn new_trial(&mut self) {
        self.all.clear();
    }

    /// Takes a sample of each; finds them first where there are none.
    pub fn sample(&mut self, state: &State) {
        if self.all.is_empty() {
            self.all = names(Path::new("/sys/block"), state).into_iter().filter_map(open).collect();
            return;
        }
        self.all.retain_mut(|device| match device.live.sample() {
            Ok(sample) => {
                device.samples.extend(sample);
                let surplus = device.samples.len().saturating_sub(KEPT);
                device.samples.drain(..surplus);
                true
            }
            // It is gone with its trial.
            Err(_) => false,
        });
    }
}

fn open(name: String) -> Option<Device> {
    let options = TimelineOptions {
        root: "/".into(),
        device: name.clone(),
        journal: None,
        interval: std::time::Duration::from_secs(1),
        origin_ns: monotonic_ns(),
    };
    Live::start(&options).ok().map(|live| Device { name, samples: VecDeque::new(), live })
}

/// The disks that the lab names, and the loop devices on nameless images in the run's directory.
fn names(block: &Path, state: &State) -> Vec<String> {
    if state.backend == "virtual" {
        return vec![];
    }
    let disk = |path: &PathBuf| Watched::find(Path::new("/"), path).ok().map(|it| it.kernel_name);
    let mut names: Vec<String> = state.disks.iter().filter_map(disk).collect();
    let entries = std::fs::read_dir(block).into_iter().flatten().flatten();
    let mut loops: Vec<String> = entries
        .filter(|entry| {
            let backing = std::fs::read_to_string(entry.path().join("loop/backing_file"));
            backing.is_ok_and(|text| is_ours(&text, &state.scratch))
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    loops.sort();
    names.append(&mut loops);
    names
}

/// One run at a time on a machine: a nameless image in the run's directory is the run's.
fn is_ours(backing_file: &str, scratch: &Path) -> bool {
    let Some(path) = backing_file.trim_end().strip_suffix(" (deleted)") else { return false };
    Path::new(path).parent() == Some(scratch)
}

#[cfg(test)]
mod tests;
