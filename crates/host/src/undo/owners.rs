//! The processes that own an undo list: whether one of them still lives and will put things back.

use super::content::Owner;
use crate::sysfs::{self, System};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Field 22 of `/proc/PID/stat`; the name in field 2 may hold blanks and parentheses.
pub(super) fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// Longest wait for the last system call of a killed process: switching a scheduler waits until the
/// queue is empty.
const LAST_CALL: Duration = Duration::from_secs(30);
const LAST_CALL_POLL: Duration = Duration::from_millis(10);
/// `PF_EXITING` of `linux/sched.h`, in field 9 of `/proc/PID/stat`.
const EXITING: u64 = 4;
/// `SIGKILL` in the masks of `/proc/PID/status`.
const KILL_PENDING: u64 = 1 << 8;

/// True while a process can still restore its changes: it is the one that was noted, and neither a zombie
/// nor on its way to become one.
pub(super) fn is_alive(system: &System, owner: Owner) -> bool {
    let folder = system.proc.join(owner.pid.to_string());
    let Some(stat) = sysfs::read_optional(&folder.join("stat")) else { return false };
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
    let flags: u64 = fields.get(6).and_then(|text| text.parse().ok()).unwrap_or(0);
    let dead = matches!(fields.first(), Some(&("Z" | "X"))) || flags & EXITING != 0;
    let status = sysfs::read_optional(&folder.join("status")).unwrap_or_default();
    let killed = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")))
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask & KILL_PENDING != 0);
    start_ticks(&stat) == Some(owner.started_ticks) && !dead && !killed
}

/// Waits until the processes of a list that were killed are gone. One of them may still be inside
/// the system call that changes a setting: put back before that ends, it would be changed after all.
pub(super) fn wait_until_gone(system: &System, owners: &[Owner]) {
    let begin = Instant::now();
    while owners.iter().any(|owner| is_dying(system, *owner)) && begin.elapsed() < LAST_CALL {
        sleep(LAST_CALL_POLL);
    }
}

/// True for a killed process that may still be inside its last system call, or still has its descriptors and so the
/// locks of its loop devices. The first thread of a process is a zombie while the others end.
pub(super) fn is_dying(system: &System, owner: Owner) -> bool {
    let folder = system.proc.join(owner.pid.to_string());
    let Some(stat) = sysfs::read_optional(&folder.join("stat")) else { return false };
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    let is_same = start_ticks(&stat) == Some(owner.started_ticks);
    let has_ended =
        || matches!(state, Some("Z" | "X")) && sysfs::names(&folder.join("task")).len() < 2;
    is_same && !has_ended() && !is_alive(system, owner)
}
