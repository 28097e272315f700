//! What the commands need of this machine: paths of state, the host as a place, interrupts.

use crate::failure::Failure;
use crate::terminal;
use seekwell_agent::host_place::{HostOptions, HostPlace};
use seekwell_host::facts;
use seekwell_host::sysfs::System;
use seekwell_host::undo::{self, Restored};
use seekwell_model::lab::Lab;
use seekwell_model::plan::{PlaceFacts, Plan};
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_store::RunFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How long killed processes may take to be gone: their end closes what they wrote.
const DYING: Duration = Duration::from_secs(30);
const DYING_POLL: Duration = Duration::from_millis(20);
/// A wait that nobody notices needs no word.
const UNSAID: Duration = Duration::from_secs(1);

/// This machine.
pub fn system() -> System {
    System::host()
}

/// Where undo lists are kept while a run lasts, and claims until they are released.
pub fn state_directory() -> PathBuf {
    PathBuf::from("/var/lib/seekwell")
}

/// Where claims are kept.
pub fn claims_directory() -> PathBuf {
    state_directory().join("claims")
}

fn undo_directory() -> PathBuf {
    state_directory().join("undo")
}

/// What this machine can do, and the sizes of the disks that a lab names.
pub fn facts(lab: &Lab) -> PlaceFacts {
    let journals = lab.journals.iter().filter_map(|journal| journal.external.as_ref());
    let backings = lab.devices.iter().map(|device| &device.backing).chain(journals);
    let disks: Vec<PathBuf> = backings
        .filter_map(|backing| match backing {
            Backing::Disk { path } | Backing::Partition { path } => Some(path.clone()),
            Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => None,
        })
        .collect();
    facts::gather(&system(), &disks)
}

/// Puts one device in the place of all devices of a lab, and another in that of the journals
/// outside of filesystems. What is then alike stays once.
///
/// # Errors
/// When one of them is not written as it must be, or a journal has no device.
pub fn use_device(lab: &mut Lab, device: &str, journal: Option<&str>) -> Result<(), Failure> {
    let (new, outside) = (backing(device)?, journal.map(backing).transpose()?);
    for device in &mut lab.devices {
        device.backing = new.clone();
    }
    let mut kept = Vec::new();
    lab.devices.retain(|device| {
        let first = !kept.contains(&device.settings);
        kept.push(device.settings.clone());
        first
    });
    for journal in &mut lab.journals {
        let name = &journal.name;
        if journal.external.is_some() {
            let text =
                || format!("journal {name} is outside of the filesystem; give --journal-device");
            journal.external = Some(outside.clone().ok_or_else(|| Failure::Usage(text()))?);
        }
    }
    Ok(())
}

/// `loop:SIZE`, `ram:SIZE` or a stable path.
fn backing(text: &str) -> Result<Backing, Failure> {
    let sector = Bytes(512);
    let size = |size: &str| {
        let wrong = |_| Failure::Usage(format!("'{text}' has no size; write loop:1GiB"));
        size.parse::<Bytes>().map_err(wrong)
    };
    Ok(match text.split_once(':') {
        Some(("loop", end)) => Backing::Loop { size: size(end)?, directory: None, sector },
        Some(("ram", end)) => Backing::Ram { size: size(end)?, sector },
        _ if text.contains("-part") || text.contains("by-part") => {
            Backing::Partition { path: PathBuf::from(text) }
        }
        _ if !text.starts_with("/dev/") => {
            return Err(Failure::Usage(format!(
                "'{text}' is no device; write loop:SIZE, ram:SIZE or a stable path below /dev/disk"
            )));
        }
        _ => Backing::Disk { path: PathBuf::from(text) },
    })
}

/// Description of this machine for the run file, with what no run controls on it.
pub fn environment() -> serde_json::Value {
    let found = facts::environment(&system());
    let mut uncontrolled =
        vec!["other processes of this machine, its temperature and its CPU frequency"];
    if found.swap.is_some_and(|swap| swap.0 > 0) {
        uncontrolled.push("swap, which is on");
    }
    if found.memory_cgroup.as_deref() == Some("v1") {
        uncontrolled.push("write-back, which a version 1 memory cgroup does not limit");
    }
    serde_json::json!({
        "place": "host",
        "kernel": found.kernel_release,
        "cpu": found.cpu_model,
        "ram": found.ram,
        "uncontrolled": uncontrolled,
        "machine": found,
    })
}

/// Puts back what a run left behind whose three processes all died, and removes the tracing
/// instances of watchers that were killed. Only root can have left something, and only root can put
/// it back.
pub fn put_back_what_died() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // Where tracing is not to be had nothing can have been left.
    let _ = seekwell_observe::block_events::remove_dead_watchers();
    let system = system();
    let (begun, mut said) = (Instant::now(), false);
    loop {
        match undo::lock(&undo_directory()) {
            Ok(Some(held)) => {
                put_back_lists(&system);
                drop(held);
                return;
            }
            // A run is under way: it has put back what it found, and its own list is its own.
            Ok(None) if !something_died(&system) => return,
            // Its processes were killed and are not quite gone.
            Ok(None) if begun.elapsed() < DYING => {
                if !said && begun.elapsed() > UNSAID {
                    said = true;
                    terminal::talk("waiting for the end of an interrupted run, to put it back");
                }
                std::thread::sleep(DYING_POLL);
            }
            Ok(None) => {
                return terminal::talk(
                    "an interrupted run still holds the machine; try again later",
                );
            }
            Err(error) => {
                return terminal::talk(&format!("cannot look for interrupted runs: {error}"));
            }
        }
    }
}

fn something_died(system: &System) -> bool {
    undo::pending(system, &undo_directory()).is_ok_and(|lists| !lists.is_empty())
}

fn put_back_lists(system: &System) {
    let lists = match undo::pending(system, &undo_directory()) {
        Ok(lists) => lists,
        Err(error) => return terminal::talk(&format!("cannot look for interrupted runs: {error}")),
    };
    if !lists.is_empty() {
        seekwell_agent::guardian::remove_tracing_instances();
    }
    for list in lists {
        match undo::restore(system, &list) {
            Ok(restored) => say_restored(&list, &restored),
            Err(error) => {
                terminal::talk(&format!("cannot put back what {} lists: {error}", list.display()))
            }
        }
    }
}

fn say_restored(list: &Path, restored: &Restored) {
    for done in &restored.done {
        terminal::talk(&format!("put back after an interrupted run: {done}"));
    }
    for problem in &restored.problems {
        terminal::talk(&format!("cannot put back ({}): {problem}", list.display()));
    }
}

/// The host as a place for this plan.
///
/// # Errors
/// When it is not root, or the scratch directory cannot be used.
pub fn host(plan: &Plan, run_file: &Path, scratch: Option<&Path>) -> Result<HostPlace, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::Error(
            "a run on this kernel attaches loop devices, formats and mounts, which needs root; run it with sudo"
                .to_owned(),
        ));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::Error(format!("cannot find the program itself: {error}")))?;
    let options = HostOptions {
        program,
        scratch: scratch_directory(run_file, scratch),
        undo_directory: undo_directory(),
        claims_directory: claims_directory(),
        run_file: run_file.to_owned(),
    };
    HostPlace::new(plan, options).map_err(|error| Failure::from_error(&error))
}

/// Where scratch images are made: where the user says, else beside the run file.
pub fn scratch_directory(run_file: &Path, scratch: Option<&Path>) -> PathBuf {
    let beside = run_file.parent().filter(|parent| !parent.as_os_str().is_empty());
    scratch.or(beside).unwrap_or_else(|| Path::new(".")).to_owned()
}

/// A flag that the first Ctrl-C or SIGTERM raises: the trial under way is finished. The second one
/// ends the program at once, and the guardian puts everything back.
///
/// # Errors
/// When the handler cannot be installed.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let second =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
        let first = signal_hook::flag::register(signal, Arc::clone(&stop));
        second
            .and(first)
            .map_err(|error| Failure::Error(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}

/// Refuses to go on with a run that was begun on another kernel or machine: its rounds would compare
/// old trials with new ones.
///
/// # Errors
/// With what differs.
pub fn same_machine(file: &RunFile, now: &serde_json::Value) -> Result<(), Failure> {
    let then = file.environment().map_err(|error| Failure::from_error(&error))?;
    let image = || differs_in(&then, now, "image", "root image of the guests");
    match differs(&then, now).or_else(image) {
        Some(difference) => Err(Failure::Error(format!(
            "{} was begun with another {difference}, and its rounds do not compare with new ones; begin a new run with -o",
            file.path().display(),
        ))),
        None => Ok(()),
    }
}

/// What decides results and is not the same in the environments of two runs: its name, with what it
/// was and what it is. The programs of guests are not looked at: every build has others.
pub fn differs(then: &serde_json::Value, now: &serde_json::Value) -> Option<String> {
    let parts = [("place", "place"), ("kernel", "kernel"), ("cpu", "CPU"), ("ram", "memory")];
    let part = parts.iter().find_map(|(key, name)| differs_in(then, now, key, name));
    part.or_else(|| other_model(then, now))
}

fn differs_in(
    then: &serde_json::Value,
    now: &serde_json::Value,
    key: &str,
    name: &str,
) -> Option<String> {
    let value = |of: &serde_json::Value| of.get(key).cloned().unwrap_or(serde_json::Value::Null);
    let (was, is) = (value(then), value(now));
    (was != is).then(|| format!("{name} ({was} then, {is} now)"))
}

/// The first value of a modelled device that is not what it was.
fn other_model(then: &serde_json::Value, now: &serde_json::Value) -> Option<String> {
    let none = serde_json::Map::new();
    let table = |of: &'_ serde_json::Value| of.as_object().cloned().unwrap_or_default();
    let of = |environment: &serde_json::Value| environment.get("models").map(&table);
    let (was, is) = match (of(then), of(now)) {
        (None, Some(is)) if !is.is_empty() => {
            return Some("set of devices, or a version that did not keep their values".to_owned());
        }
        (was, is) => (was.unwrap_or_default(), is.unwrap_or_default()),
    };
    for device in was.keys().chain(is.keys()) {
        let values = |all: &serde_json::Map<_, _>| all.get(device).map_or(none.clone(), &table);
        let (was, is) = (values(&was), values(&is));
        let key = was.keys().chain(is.keys()).find(|key| was.get(*key) != is.get(*key));
        if let Some(key) = key {
            let word = |of: &serde_json::Map<String, serde_json::Value>| {
                of.get(key).and_then(|value| value.as_str()).unwrap_or("nothing").to_owned()
            };
            return Some(format!("{key} of {device} ({} then, {} now)", word(&was), word(&is)));
        }
    }
    None
}

/// A refusal of the guard is one; anything else that fails is an error.
pub fn refused_or_failed(error: &seekwell_host::Error) -> Failure {
    match error {
        seekwell_host::Error::Refused(refusal) => Failure::from_refusal(refusal),
        other => Failure::from_error(other),
    }
}
