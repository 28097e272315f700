//! Restores the settings that an interrupted run left changed; the next command does it.

use crate::machine::Machine;
use seekwell_host::undo::{self, Restored};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time that killed processes have to end: their end closes the files that they wrote.
const DYING: Duration = Duration::from_secs(30);
const DYING_POLL: Duration = Duration::from_millis(20);
/// A shorter wait needs no message.
const UNSAID: Duration = Duration::from_secs(1);

/// Restores what a run left behind if all three of its processes died, and removes the tracing
/// instances of killed watchers. `say` gets a line for each thing that was done or failed. Only
/// root can leave something behind, and only root can restore it. Returns false if something stays changed.
pub fn put_back(machine: &Machine, say: &mut dyn FnMut(&str)) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // Without tracing no instance can have been left.
    let _ = seekwell_observe::block_events::remove_dead_watchers();
    let (begun, mut said) = (Instant::now(), false);
    loop {
        match undo::lock(&machine.system, &machine.undo()) {
            Ok(Some(held)) => {
                let is_done = put_back_lists(machine, say);
                drop(held);
                return is_done;
            }
            // A run is under way: it has put back what it found, and its own list is its own.
            Ok(None) if !something_died(machine) => return true,
            // Its processes were killed and are not quite gone.
            Ok(None) if begun.elapsed() < DYING => {
                if !said && begun.elapsed() > UNSAID {
                    said = true;
                    say("waiting for an interrupted run to end, then its settings are restored");
                }
                std::thread::sleep(DYING_POLL);
            }
            Ok(None) => {
                say(&format!(
                    "{} is still cleaning up after an interrupted run; wait until it has finished, \
                     or end it and run seekwell doctor as root",
                    undo::holder(&machine.system, &machine.undo())
                ));
                return false;
            }
            Err(error) => {
                say(&format!("cannot look for interrupted runs: {error}"));
                return false;
            }
        }
    }
}

fn something_died(machine: &Machine) -> bool {
    undo::pending(&machine.system, &machine.undo()).is_ok_and(|lists| !lists.is_empty())
}

fn put_back_lists(machine: &Machine, say: &mut dyn FnMut(&str)) -> bool {
    undo::remove_drafts(&machine.system, &machine.undo());
    let lists = match undo::pending(&machine.system, &machine.undo()) {
        Ok(lists) => lists,
        Err(error) => {
            say(&format!("cannot look for interrupted runs: {error}"));
            return false;
        }
    };
    let unreadable = undo::unreadable(&machine.undo());
    for error in &unreadable {
        say(&format!("cannot restore settings of an earlier run: {error}"));
    }
    if !lists.is_empty() {
        seekwell_agent::guardian::remove_tracing_instances();
    }
    let mut is_done = unreadable.is_empty();
    for list in lists {
        match undo::restore(&machine.system, &list) {
            Ok(restored) => {
                say_restored(&list, &restored, say);
                is_done &= restored.problems.is_empty();
            }
            Err(error) => {
                say(&format!("cannot restore the settings listed in {}: {error}", list.display()));
                is_done = false;
            }
        }
    }
    is_done
}

fn say_restored(list: &Path, restored: &Restored, say: &mut dyn FnMut(&str)) {
    for done in &restored.done {
        say(&format!("restored after an interrupted run: {done}"));
    }
    for problem in &restored.problems {
        say(&format!("cannot restore ({}): {problem}", list.display()));
    }
}
